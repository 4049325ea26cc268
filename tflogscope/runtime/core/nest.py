"""Nested structures: lists, tuples, named tuples and dictionaries, whose keys are sorted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any


def is_nested(value: Any) -> bool:
    return isinstance(value, (list, tuple, Mapping))


def children(value: Any) -> list[Any]:
    if isinstance(value, Mapping):
        return [value[key] for key in sorted(value)]
    return list(value)


def like(value: Any, children: Sequence[Any]) -> Any:
    if isinstance(value, Mapping):
        found = dict(zip(sorted(value), children, strict=True))
        ordered = {key: found[key] for key in value}
        return ordered if type(value) is dict else type(value)(ordered)  # type: ignore[call-arg]
    if hasattr(value, "_fields"):
        return type(value)(*children)
    return tuple(children) if isinstance(value, tuple) else list(children)


def flatten(value: Any, *_: Any) -> list[Any]:
    if not is_nested(value):
        return [value]
    return [leaf for child in children(value) for leaf in flatten(child)]


def map_structure(function: Callable[..., Any], *values: Any, **_: Any) -> Any:
    """The same structure with `function` of each leaf (of the leaves of several structures)."""
    first = values[0]
    if not is_nested(first):
        return function(*values)
    columns = zip(*(children(value) for value in values), strict=True)
    return like(first, [map_structure(function, *column) for column in columns])


def pack_sequence_as(structure: Any, flat: Sequence[Any], *_: Any) -> Any:
    leaves = iter(flat)
    return map_structure(lambda _: next(leaves), structure)


def assert_same_structure(one: Any, other: Any, *_: Any, **__: Any) -> None:
    """Raises ValueError if they are nested in different ways."""
    nested = is_nested(one)
    alike = nested == is_nested(other) and (not nested or len(one) == len(other))
    if not alike or (isinstance(one, Mapping) and one.keys() != other.keys()):
        raise ValueError(f"The two structures are not nested alike: {one} and {other}")
    for a, b in zip(children(one), children(other), strict=True) if nested else ():
        assert_same_structure(a, b)
