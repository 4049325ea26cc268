"""Shapes of which perhaps not all is known, and what shape rules compute with them. A dimension is a
number, or None if it is not known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from math import prod
from typing import Any

Dim = int | None


def known(dim: Dim) -> bool:
    return dim is not None


class TensorShape:
    """The shape of a tensor. `dims` is None if not even the rank is known."""

    __slots__ = ("dims",)

    def __init__(self, dims: Any = None) -> None:
        dims = dims.dims if isinstance(dims, TensorShape) else dims
        listed = dims if dims is None or hasattr(dims, "__iter__") else [dims]
        self.dims: tuple[Dim, ...] | None = (
            None if listed is None else tuple(None if d is None else int(d) for d in listed)
        )

    @property
    def rank(self) -> int | None:
        return None if self.dims is None else len(self.dims)

    def as_list(self) -> list[Dim]:
        if self.dims is None:
            raise ValueError("as_list() is not defined on an unknown TensorShape.")
        return list(self.dims)

    def is_fully_defined(self) -> bool:
        return self.dims is not None and None not in self.dims

    def sizes(self) -> tuple[int, ...]:
        assert self.is_fully_defined(), self
        return self.dims  # type: ignore[return-value]

    def num_elements(self) -> int | None:
        return prod(self.sizes()) if self.is_fully_defined() else None

    def is_compatible_with(self, other: Any) -> bool:
        other = as_shape(other)
        if self.dims is None or other.dims is None:
            return True
        return len(self.dims) == len(other.dims) and all(
            a is None or b is None or a == b for a, b in zip(self.dims, other.dims, strict=True)
        )

    def assert_is_compatible_with(self, other: Any) -> None:
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {as_shape(other)} are incompatible")

    def is_subtype_of(self, other: TensorShape) -> bool:
        return other.dims is None or (
            self.dims is not None and self.most_specific_compatible_shape(other) == other
        )

    def merge_with(self, other: Any) -> TensorShape:
        self.assert_is_compatible_with(other)
        return merged(self, as_shape(other))

    def concatenate(self, other: Any) -> TensorShape:
        other = as_shape(other)
        if self.dims is None or other.dims is None:
            return UNKNOWN
        return TensorShape(self.dims + other.dims)

    def most_specific_compatible_shape(self, other: Any) -> TensorShape:
        other = as_shape(other)
        if self.dims is None or other.dims is None or len(self.dims) != len(other.dims):
            return UNKNOWN
        return TensorShape(
            [a if a == b else None for a, b in zip(self.dims, other.dims, strict=True)]
        )

    def with_rank(self, rank: int) -> TensorShape:
        if self.dims is None:
            return TensorShape([None] * rank)
        if len(self.dims) != rank:
            raise ValueError(f"Shape must be rank {rank} but is rank {len(self.dims)}")
        return self

    def __len__(self) -> int:
        return len(self.as_list())

    def __iter__(self) -> Iterator[Dim]:
        return iter(self.as_list())

    def __getitem__(self, key: Any) -> Any:
        found = None if self.dims is None else self.dims[key]
        return TensorShape(found) if isinstance(key, slice) else found

    __add__ = concatenate

    def __eq__(self, other: object) -> bool:
        listed = other is None or isinstance(other, (list, tuple, TensorShape))
        return listed and self.dims == as_shape(other).dims

    def __hash__(self) -> int:
        return hash(self.dims)

    def __str__(self) -> str:
        return "<unknown>" if self.dims is None else str(self.dims)

    def __repr__(self) -> str:
        return f"TensorShape({None if self.dims is None else list(self.dims)})"


UNKNOWN = TensorShape(None)
SCALAR = TensorShape([])


def as_shape(value: Any) -> TensorShape:
    return value if isinstance(value, TensorShape) else TensorShape(value)


def merged(one: TensorShape, other: TensorShape) -> TensorShape:
    if one.dims is None or other.dims is None or len(one.dims) != len(other.dims):
        return other if one.dims is None else one
    pairs = zip(one.dims, other.dims, strict=True)
    return TensorShape([b if a is None else a for a, b in pairs])


def broadcast(*shapes: TensorShape) -> TensorShape:
    """The shape of an element-wise op on tensors of these shapes. Raises ValueError if they don't
    go together.
    """
    result: Sequence[Dim] = ()
    for shape in shapes:
        if shape.dims is None:
            return UNKNOWN
        pairs = zip_longest(reversed(result), reversed(shape.dims), fillvalue=1)
        result = [_common(a, b) for a, b in pairs][::-1]
    return TensorShape(result)


def _common(a: Dim, b: Dim) -> Dim:
    if a == 1 or b == 1:
        return b if a == 1 else a
    if a is not None and b is not None and a != b:
        raise ValueError(f"Dimensions must be equal, but are {a} and {b}")
    return b if a is None else a
