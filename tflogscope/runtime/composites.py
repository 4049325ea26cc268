"""Composite values: a dataset, an iterator, slices of a tensor are made of tensors and travel as
these.

Each has a `_type_spec` that takes it apart and puts it together again; the names are TensorFlow's.

Told about: `tensorflow/python/framework/composite_tensor.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tflogscope.runtime import nest

__all__ = [
    "components", "flatten", "from_components", "is_composite", "map_structure", "pack_sequence_as",
    "specs", "type_spec",
]  # fmt: skip


def is_composite(value: Any) -> bool:
    """Is it made of tensors?"""
    return hasattr(value, "_type_spec")


def type_spec(value: Any) -> Any:
    """What kind of composite it is: hashable, and equal for two of which one can take the other's
    place.
    """
    return value._type_spec  # noqa: SLF001


def components(value: Any) -> list[Any]:
    """The tensors that it is made of."""
    return list(type_spec(value)._to_components(value))  # noqa: SLF001


def from_components(spec: Any, parts: Sequence[Any]) -> Any:
    """One of that kind made of these tensors."""
    return spec._from_components(list(parts))  # noqa: SLF001


def specs(spec: Any) -> list[Any]:
    """The TensorSpecs of what one of that kind is made of."""
    return list(spec._component_specs)  # noqa: SLF001


def flatten(structure: Any, expand_composites: bool = False) -> list[Any]:
    """The leaves of a nested structure; if so wanted, what composites are made of instead."""
    leaves = nest.flatten(structure)
    if not expand_composites:
        return leaves
    return [
        part for leaf in leaves for part in (components(leaf) if is_composite(leaf) else [leaf])
    ]


def pack_sequence_as(
    structure: Any, flat_sequence: Sequence[Any], expand_composites: bool = False
) -> Any:
    """The same structure with these leaves. Raises ValueError if their number differs."""
    if not expand_composites:
        return nest.pack_sequence_as(structure, flat_sequence)
    count = len(flatten(structure, expand_composites=True))
    if count != len(flat_sequence):
        return nest.pack_sequence_as([None] * count, flat_sequence)  # which refuses it
    rest = iter(flat_sequence)

    def packed(leaf: Any) -> Any:
        if not is_composite(leaf):
            return next(rest)
        return from_components(type_spec(leaf), [next(rest) for _ in components(leaf)])

    return nest.map_structure(packed, structure)


def map_structure(
    func: Callable[..., Any],
    *structure: Any,
    check_types: bool = True,
    expand_composites: bool = False,
) -> Any:
    """The structure of the first, with `func` of the corresponding leaves of all."""
    if not expand_composites:
        return nest.map_structure(func, *structure, check_types=check_types)
    flat = [flatten(each, expand_composites=True) for each in structure]
    found = [func(*leaves) for leaves in zip(*flat, strict=True)]
    return pack_sequence_as(structure[0], found, expand_composites=True)
