"""Static shapes: `tf.TensorShape`, where None stands for what is not known.

Told about: `tensorflow/python/framework/tensor_shape.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from operator import index, mul
from typing import Any, overload

__all__ = ["TensorShape", "as_shape", "broadcast_shapes", "dims_text", "merged"]


class TensorShape:
    """A tuple of dimensions, each an int or None; or of unknown rank. It never changes."""

    __slots__ = ("sizes",)

    def __init__(self, dims: Any) -> None:
        """`dims`: None for an unknown rank, an int for a vector, a TensorShape, or an iterable of
        int and None.

        Raises TypeError for anything else, ValueError for a negative dimension.
        """
        self.sizes: tuple[int | None, ...] | None
        if dims is None:
            self.sizes = None
        elif isinstance(dims, TensorShape):
            self.sizes = dims.sizes
        elif isinstance(dims, Iterable) and not isinstance(dims, (str, bytes)):
            self.sizes = tuple(_dimension(dim) for dim in dims)
        else:
            self.sizes = (_dimension(dims),)

    @property
    def rank(self) -> int | None:
        """How many dimensions; None if not known."""
        return None if self.sizes is None else len(self.sizes)

    @property
    def ndims(self) -> int | None:
        """The same as `rank`."""
        return self.rank

    @property
    def dims(self) -> list[int | None] | None:
        """The dimensions as a list, None for an unknown rank."""
        return None if self.sizes is None else list(self.sizes)

    def as_list(self) -> list[int | None]:
        """The dimensions. Raises ValueError for an unknown rank."""
        if self.sizes is None:
            raise ValueError("as_list() is not defined on an unknown TensorShape.")
        return list(self.sizes)

    def as_tuple(self) -> tuple[int, ...]:
        """The dimensions of a shape known in full. Raises ValueError otherwise."""
        if self.sizes is None or None in self.sizes:
            raise ValueError(f"The shape {self} is not known in full.")
        return self.sizes  # type: ignore[return-value]

    def is_fully_defined(self) -> bool:
        """Is every dimension known?"""
        return self.sizes is not None and None not in self.sizes

    def num_elements(self) -> int | None:
        """The product of the dimensions; None if one is not known."""
        return reduce(mul, self.as_tuple(), 1) if self.is_fully_defined() else None

    def is_compatible_with(self, other: Any) -> bool:
        """Could both be the shape of the same tensor?"""
        other = as_shape(other)
        if self.sizes is None or other.sizes is None:
            return True
        return len(self.sizes) == len(other.sizes) and all(
            a is None or b is None or a == b for a, b in zip(self.sizes, other.sizes, strict=True)
        )

    def assert_is_compatible_with(self, other: Any) -> None:
        """Raise ValueError if no tensor can have both shapes."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {other} are incompatible")

    def merge_with(self, other: Any) -> TensorShape:
        """What both know together. Raises ValueError if they contradict each other."""
        if self.sizes is None:
            return as_shape(other)
        other = as_shape(other)
        if other.sizes is None:
            return self
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {other} are not compatible")
        return TensorShape(
            b if a is None else a for a, b in zip(self.sizes, other.sizes, strict=True)
        )

    def concatenate(self, other: Any) -> TensorShape:
        """This shape's dimensions and then the other's."""
        other = as_shape(other)
        if self.sizes is None or other.sizes is None:
            return TensorShape(None)
        return TensorShape(self.sizes + other.sizes)

    def with_rank(self, rank: int) -> TensorShape:
        """The same shape, now of a known rank. Raises ValueError if it has another."""
        if self.sizes is None:
            return TensorShape([None] * rank)
        if len(self.sizes) != rank:
            raise ValueError(f"Shape {self} must have rank {rank}")
        return self

    def with_rank_at_least(self, rank: int) -> TensorShape:
        """The same shape. Raises ValueError if it has fewer dimensions."""
        if self.sizes is not None and len(self.sizes) < rank:
            raise ValueError(f"Shape {self} must have rank at least {rank}")
        return self

    def with_rank_at_most(self, rank: int) -> TensorShape:
        """The same shape. Raises ValueError if it has more dimensions."""
        if self.sizes is not None and len(self.sizes) > rank:
            raise ValueError(f"Shape {self} must have rank at most {rank}")
        return self

    def assert_has_rank(self, rank: int) -> None:
        """Raise ValueError unless the rank is `rank` or unknown."""
        if self.rank not in (None, rank):
            raise ValueError(f"Shape {self} must have rank {rank}")

    def assert_is_fully_defined(self) -> None:
        """Raise ValueError unless every dimension is known."""
        if not self.is_fully_defined():
            raise ValueError(f"Shape {self} is not fully defined")

    def most_specific_compatible_shape(self, other: Any) -> TensorShape:
        """The narrowest shape that includes both: None where they differ."""
        other = as_shape(other)
        if self.sizes is None or other.sizes is None or len(self.sizes) != len(other.sizes):
            return TensorShape(None)
        return TensorShape(
            a if a == b else None for a, b in zip(self.sizes, other.sizes, strict=True)
        )

    def is_subtype_of(self, other: TensorShape) -> bool:
        """Does `other` include every tensor that this shape includes?"""
        if other.sizes is None:
            return True
        return self.rank == other.rank and all(
            b is None or a == b for a, b in zip(self.sizes or (), other.sizes, strict=True)
        )

    def __bool__(self) -> bool:
        return self.sizes is not None

    def __len__(self) -> int:
        if self.sizes is None:
            raise ValueError("Cannot take the length of shape with unknown rank.")
        return len(self.sizes)

    def __iter__(self) -> Iterator[Any]:
        if self.sizes is None:
            raise ValueError("Cannot iterate over a shape with unknown rank.")
        return iter(self.sizes)

    @overload
    def __getitem__(self, key: int) -> Any: ...
    @overload
    def __getitem__(self, key: slice) -> TensorShape: ...
    def __getitem__(self, key: int | slice) -> Any:
        if self.sizes is None:
            # NB: TensorFlow gives [None]*n for a slice with a known length; the rank is not known
            # either way.
            return TensorShape(None) if isinstance(key, slice) else None
        return TensorShape(self.sizes[key]) if isinstance(key, slice) else self.sizes[key]

    def __add__(self, other: Any) -> TensorShape:
        return self.concatenate(other)

    def __radd__(self, other: Any) -> TensorShape:
        return as_shape(other).concatenate(self)

    def __eq__(self, other: object) -> bool:
        try:
            return self.sizes == as_shape(other).sizes
        except (TypeError, ValueError):
            return NotImplemented

    def __hash__(self) -> int:
        return hash(self.sizes)

    def __str__(self) -> str:
        if self.sizes is None:
            return "<unknown>"
        dims = [_unknown if size is None else str(size) for size in self.sizes]
        return f"({dims[0]},)" if len(dims) == 1 else f"({', '.join(dims)})"

    def __repr__(self) -> str:
        return f"TensorShape({self.dims})"


_unknown = "None"


def show_unknown_dimensions_as(text: str) -> None:
    """What an unknown dimension is printed as: `?` with TensorFlow 1's behaviour."""
    global _unknown  # noqa: PLW0603 - it is said once, at the start of a program
    _unknown = text


UNKNOWN = TensorShape(None)
SCALAR = TensorShape(())


def _dimension(value: Any) -> int | None:
    if value is None:
        return None
    number = index(value)
    if number < 0:
        raise ValueError(f"Dimension {number} must be >= 0")
    return number


def as_shape(value: Any) -> TensorShape:
    """`value` as a TensorShape."""
    return value if isinstance(value, TensorShape) else TensorShape(value)


def broadcast_shapes(first: TensorShape, second: TensorShape) -> TensorShape:
    """The shape of an element-wise op on both, by NumPy's rules with unknowns.

    Raises ValueError if they can't be broadcast. Told about: `BroadcastBinaryOpOutputShapeFn`.
    """
    if first.rank is None or second.rank is None:
        return UNKNOWN
    longest = max(first.rank, second.rank)
    left = [1] * (longest - first.rank) + first.as_list()
    right = [1] * (longest - second.rank) + second.as_list()
    return TensorShape(_broadcast(a, b) for a, b in zip(left, right, strict=True))


def _broadcast(a: int | None, b: int | None) -> int | None:
    if a is None or b is None:
        known = b if a is None else a
        # The unknown one may be 1, or that.
        return known if known is not None and known > 1 else None
    if b in {a, 1}:
        return a
    if a == 1:
        return b
    raise ValueError(f"Dimensions must be equal, but are {a} and {b}")


def merged(first: TensorShape, second: TensorShape) -> TensorShape:
    """What both know together. Raises ValueError, in the words of C++, if they contradict.

    Told about: `InferenceContext::Merge`.
    """
    if None not in (first.rank, second.rank) and first.rank != second.rank:
        raise ValueError(f"Shapes must be equal rank, but are {first.rank} and {second.rank}")
    try:
        return first.merge_with(second)
    except ValueError:
        pairs = enumerate(zip(first, second, strict=False))
        at, (a, b) = next((k, pair) for k, pair in pairs if None not in pair and pair[0] != pair[1])
        one, other = (dims_text("?" if dim is None else dim for dim in s) for s in (first, second))
        raise ValueError(
            f"Dimension {at} in both shapes must be equal, but are {a} and {b}. Shapes are {one} "
            f"and {other}."
        ) from None


TensorShape.__module__ = "tensorflow.python.framework.tensor_shape"  # as types are printed


def dims_text(dims: Iterable[Any]) -> str:
    """The shape of a value as TensorFlow's C++ prints it: `[2,3]`."""
    return f"[{','.join(map(str, dims))}]"
