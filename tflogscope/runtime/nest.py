"""Nested structures: lists, tuples, named tuples and mappings as one, with everything else as a
leaf (`tf.nest`).

The leaves of a mapping come in the order of its sorted keys. Told about:
`tensorflow/python/util/nest.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

__all__ = ["assert_same_structure", "flatten", "is_nested", "map_structure", "pack_sequence_as"]


def is_nested(value: Any) -> bool:
    """A list, tuple, named tuple or mapping?"""
    return isinstance(value, (list, tuple, Mapping))


def flatten(structure: Any) -> list[Any]:
    """The leaves, in order; a leaf alone gives a list of one."""
    leaves: list[Any] = []
    _collect(structure, leaves)
    return leaves


def pack_sequence_as(structure: Any, flat_sequence: Sequence[Any]) -> Any:
    """The same structure with these leaves. Raises ValueError if their number differs."""
    count = len(flatten(structure))
    if count != len(flat_sequence):
        raise ValueError(
            f"Could not pack sequence. Structure had {count} atoms, but flat_sequence had "
            f"{len(flat_sequence)} items.  Structure: {structure}, flat_sequence: {flat_sequence}."
        )
    return _rebuild(structure, iter(flat_sequence))


def map_structure(function: Callable[..., Any], *structures: Any, check_types: bool = True) -> Any:
    """The structure of the first, with `function` of the corresponding leaves of all.

    Raises ValueError or TypeError if the structures differ.
    """
    if not callable(function):
        raise TypeError(f"func must be callable, got: {function}")
    if not structures:
        raise ValueError("Must provide at least one structure")
    for other in structures[1:]:
        assert_same_structure(structures[0], other, check_types=check_types)
    results = [function(*leaves) for leaves in zip(*map(flatten, structures), strict=True)]
    return pack_sequence_as(structures[0], results)


def assert_same_structure(first: Any, second: Any, *, check_types: bool = True) -> None:
    """Raise ValueError if the structures differ, TypeError if only types of sequences do."""
    try:
        _check(first, second, check_types)
    except (ValueError, TypeError) as error:
        shapes = [str(map_structure(lambda _: _DOT, each)) for each in (first, second)]
        raise type(error)(
            "The two structures don't have the same nested structure.\n\n"
            f"First structure: {_shown(first)}\n\nSecond structure: {_shown(second)}\n\n"
            f"More specifically: {error}\nEntire first structure:\n{shapes[0]}\n"
            f"Entire second structure:\n{shapes[1]}"
        ) from None


class _Dot:
    """Stands for any leaf."""

    def __repr__(self) -> str:
        return "."


_DOT = _Dot()


def _check(first: Any, second: Any, check_types: bool) -> None:
    """Told about: `AssertSameStructureHelper` of `python/util/util.cc`."""
    if is_nested(first) != is_nested(second):
        nested, leaf = (first, second) if is_nested(first) else (second, first)
        raise ValueError(
            f'Substructure "{_shown(nested)}" is a sequence, while substructure "{_shown(leaf)}" '
            "is not"
        )
    if not is_nested(first):
        return
    if check_types and not _same_type(first, second):
        raise TypeError(
            "The two namedtuples don't have the same sequence type. First structure "
            f"{_shown(first)} has type {type(first).__name__}, while second structure "
            f"{_shown(second)} has type {type(second).__name__}"
        )
    if isinstance(first, Mapping) and isinstance(second, Mapping) and set(first) != set(second):
        raise ValueError(
            "The two dictionaries don't have the same set of keys. First structure has keys "
            f"{_shown(list(first))}, while second structure has keys {_shown(list(second))}"
        )
    for one, other in zip(_children(first), _children(second), strict=False):
        _check(one, other, check_types)
    if len(first) != len(second):
        raise ValueError(
            "The two structures don't have the same number of elements. First structure: "
            f"{_shown(first)}. Second structure: {_shown(second)}"
        )


def _same_type(first: Any, second: Any) -> bool:
    return type(first) is type(second) or (
        isinstance(first, Mapping) and isinstance(second, Mapping)
    )


def _shown(structure: Any) -> str:
    return f"type={type(structure).__name__} str={structure!s}"


def _children(structure: Any) -> list[Any]:
    if isinstance(structure, Mapping):
        return [structure[key] for key in _sorted(structure)]
    return list(structure)


def _sorted(mapping: Mapping[Any, Any]) -> list[Any]:
    try:
        return sorted(mapping)
    except TypeError:
        raise TypeError(f"nest only supports dicts with sortable keys: {list(mapping)}") from None


def _collect(structure: Any, leaves: list[Any]) -> None:
    if not is_nested(structure):
        leaves.append(structure)
        return
    for child in _children(structure):
        _collect(child, leaves)


def _rebuild(structure: Any, leaves: Iterator[Any]) -> Any:
    if not is_nested(structure):
        return next(leaves)
    children = [_rebuild(child, leaves) for child in _children(structure)]
    if isinstance(structure, Mapping):
        values = dict(zip(_sorted(structure), children, strict=True))
        ordered = {key: values[key] for key in structure}  # a mapping keeps its own order of keys
        return ordered if type(structure) is dict else type(structure)(ordered)  # type: ignore[call-arg]
    if hasattr(structure, "_fields"):
        return type(structure)(*children)
    return type(structure)(children)
