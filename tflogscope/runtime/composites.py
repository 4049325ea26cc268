"""Composite values: a dataset, an iterator, slices of a tensor are made of tensors and travel as
these.

Each has a `_type_spec` that takes it apart and puts it together again; the names are TensorFlow's.

Told about: `tensorflow/python/framework/composite_tensor.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["components", "from_components", "is_composite", "specs", "type_spec"]


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
