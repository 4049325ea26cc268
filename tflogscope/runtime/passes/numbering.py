"""Which dimensions are the same, though nobody knows how large they are.

Each dimension that is not known gets a number that nothing else has, and shape functions are asked
as if that were its size. Where the number turns up again in an output, it is the same dimension;
what was computed from it (twice as large, one less) is another one, and gets a number of its own.

Told about: `SymbolicShapeManager` of `graph_properties.cc`; there each dimension that is not known
is an object of its own, which shape functions hand on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count, zip_longest
from math import prod

from tflogscope.runtime.shapes import TensorShape

__all__ = ["NumberedShape", "Numbers", "is_number", "numbers_of"]

_FIRST, _STEP = 1_500_000_007, 1_009
"""Numbers that no size is by chance; int32s, since shapes are values in a graph."""
_MERGING = frozenset(
    {
        *("AddN", "AccumulateNV2", "Pack", "Select", "SparseSoftmaxCrossEntropyWithLogits"),
        *("ReluGrad", "Relu6Grad", "EluGrad", "SeluGrad", "LeakyReluGrad", "SoftplusGrad"),
        *("SoftsignGrad",),
    }
)
"""Ops whose inputs agree in shape, or the op would fail: so the shape functions merge them."""


class NumberedShape(TensorShape):
    """A shape in which dimensions that are not known can be told apart."""

    __slots__ = ("numbers",)

    def __init__(self, known: TensorShape, numbers: tuple[int, ...]) -> None:
        super().__init__(known)
        self.numbers = numbers


def numbers_of(shape: TensorShape) -> tuple[int, ...] | None:
    """The sizes, or the numbers of what is not known; None where that can't be told."""
    if isinstance(shape, NumberedShape):
        return shape.numbers
    return shape.as_tuple() if shape.is_fully_defined() else None


def is_number(dim: int) -> bool:
    """Does it stand for what is not known? No size that is known beforehand is as large."""
    return dim >= _FIRST


class Numbers:
    """The numbers given to the unknown dimensions of one graph."""

    def __init__(self) -> None:
        self._fresh = count(_FIRST, _STEP)
        self._same: dict[int, int] = {}
        """Each number that was given, and the one that it turned out to be the same as."""

    def new(self) -> int:
        """A number for another dimension."""
        number = next(self._fresh)
        self._same[number] = number
        return number

    def found(self, number: int) -> int:
        """The number of the dimension it is the same as, itself at first; a size as it is."""
        while (same := self._same.get(number, number)) != number:
            number = same
        return number

    def unify(self, type: str, shapes: Sequence[TensorShape], but_for: int | None = None) -> None:
        """Where the inputs of the op must agree, they do: their dimensions are the same.

        Args:
            type: the op's.
            shapes: its inputs'.
            but_for: the axis along which a concatenation's inputs may differ, if it is known.
        """
        with_dims = [shape for shape in shapes if shape.rank]
        if type == "ConcatV2" and but_for is not None and with_dims:
            free = but_for % (with_dims[0].rank or 1)
        elif type in _MERGING:
            free = -1
        else:
            return
        for axis, dims in enumerate(_aligned(with_dims)):
            if axis == free:
                continue
            first, *others = {self.found(dim) for dim in dims if dim in self._same} or {0}
            self._same.update(dict.fromkeys(others, first))

    def number(
        self,
        type: str,
        known: TensorShape,
        inputs: Sequence[TensorShape],
        guesses: Sequence[TensorShape],
    ) -> TensorShape:
        """The output with all dimensions numbered. `guesses` is what the shape function said of it
        when it saw numbered inputs.
        """
        if known.rank is None:
            return known
        sizes = known.as_list()
        if type == "Reshape" and (same := self._reshaped(sizes, inputs[0])) is not None:
            guesses = [same]
        fitting = [guess.as_list() for guess in guesses if guess.rank == known.rank]
        numbers = []
        for axis, size in enumerate(sizes):
            found = {
                self.found(dim) for dim in (guess[axis] for guess in fitting) if dim in self._same
            }
            unknown = found.pop() if len(found) == 1 else self.new()
            numbers.append(unknown if size is None else size)
        return TensorShape(numbers)

    def _reshaped(self, sizes: list[int | None], source: TensorShape) -> TensorShape | None:
        """If only one dimension is not known before, and one after, and all others have the same
        product, it is the same one. Told about: `SetOutputShapeForReshape`.
        """
        before = [dim for dim in source.sizes or () if dim in self._same]
        rest = prod(dim for dim in source.sizes or () if dim and dim not in self._same)
        if not (len(before) == sizes.count(None) == 1):
            return None
        if rest != prod(size for size in sizes if size is not None):
            return None
        return TensorShape(before[0] if size is None else size for size in sizes)


def _aligned(shapes: Sequence[TensorShape]) -> Iterator[tuple[int | None, ...]]:
    return zip_longest(*(shape.as_list() for shape in shapes))
