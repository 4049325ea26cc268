"""What the variant tensor of a dataset holds: how its elements are made, anew for each iterator.

One small class per transformation, each a Python generator over its source. An element is a list of
arrays (its flat components). A function is run for each element, in a step of its own, without a
call that anybody asked for: that is why a log shows its nodes and no line that says it was entered.

Told about: `tensorflow/core/kernels/data/*_dataset_op.cc` (`DatasetBase`, `IteratorBase`).
NB: TensorFlow first rewrites the pipeline (`map_and_batch_fusion`, …), runs parallel ones on
threads and reads ahead; the elements and their order are the same.
"""

from __future__ import annotations

import copy
import functools
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count as counting
from itertools import islice
from typing import Any

import numpy as np

from tflogscope.runtime.errors import InvalidArgumentError
from tflogscope.runtime.shapes import TensorShape, dims_text

__all__ = [
    "INFINITE", "UNKNOWN", "Batch", "Cached", "Concatenate", "Element", "Elements", "Filter",
    "FlatMap", "Interleave", "Map", "Range", "Repeat", "Scan", "Skip", "Slices", "Take",
    "TakeWhile", "Tensors", "Unchanged", "Zip", "reduce", "stacked",
]  # fmt: skip

Element = list[Any]
INFINITE, UNKNOWN = -1, -2


class Elements:
    """How to make elements. Iterate over it as often as you like; each time makes them anew."""

    def __iter__(self) -> Iterator[Element]:
        raise NotImplementedError

    def cardinality(self) -> int:
        """How many elements; INFINITE or UNKNOWN where that is so."""
        return UNKNOWN

    def for_one_iterator(self) -> Elements:
        """The same for one iterator alone: with instances of its functions, the sources' first."""
        mine = copy.copy(self)
        for name, value in vars(self).items():
            parts = value if isinstance(value, tuple) else (value,)
            made = tuple(
                part.for_one_iterator() if isinstance(part, Elements | Captured) else part
                for part in parts
            )
            object.__setattr__(mine, name, made if isinstance(value, tuple) else made[0])
        return mine

    def functions(self) -> Iterator[Any]:
        """The traced functions that making elements will run, those of the sources first."""
        for value in vars(self).values():
            for item in value if isinstance(value, tuple) else (value,):
                if isinstance(item, Elements):
                    yield from item.functions()
                elif isinstance(item, Captured):
                    yield item.function


@dataclass(frozen=True)
class Captured:
    """A traced function and the values of what it captured when the dataset was made."""

    function: Any
    captures: tuple[Any, ...]

    def __call__(self, *components: Any) -> Element:
        values = [*components, *self.captures]
        if self.passed_on is not None:
            return [values[index] for index in self.passed_on]
        return list(self.function.run(values))

    @functools.cached_property
    def passed_on(self) -> list[int] | None:
        """The arguments that are its results, if it does no more than to pass some on: then it
        need not run. Told about: `CreateShortCircuitInfo` of `core/data/captured_function.cc`.
        """
        function = getattr(self.function, "inference", self.function)
        definition = function.definition
        if definition.stateful:
            return None
        nodes = {node.name: node for node in definition.nodes}
        arguments = [node.name for node in definition.arguments]
        found = []
        for name, _ in definition.results:
            while name in nodes and nodes[name].op.type == "Identity":
                name = nodes[name].inputs[0][0]  # noqa: PLW2901
            if name not in arguments:
                return None
            found.append(arguments.index(name))
        return found

    def for_one_iterator(self) -> Captured:
        """The same with an instance of the function for one iterator alone."""
        return Captured(self.function.instance(), self.captures)


@dataclass(frozen=True)
class Tensors(Elements):
    """One element. `TensorDataset`."""

    components: tuple[Any, ...]

    def __iter__(self) -> Iterator[Element]:
        yield list(self.components)

    def cardinality(self) -> int:
        return 1


@dataclass(frozen=True)
class Slices(Elements):
    """An element for each index of the first dimension. `TensorSliceDataset`."""

    components: tuple[Any, ...]

    def __iter__(self) -> Iterator[Element]:
        for index in range(self.cardinality()):
            yield [np.asarray(component[index], component.dtype) for component in self.components]

    def cardinality(self) -> int:
        return len(self.components[0])


@dataclass(frozen=True)
class Range(Elements):
    """Numbers. `RangeDataset`."""

    numbers: range
    numpy_type: type[Any]

    def __iter__(self) -> Iterator[Element]:
        for number in self.numbers:
            yield [np.asarray(number, self.numpy_type)]

    def cardinality(self) -> int:
        return len(self.numbers)


@dataclass(frozen=True)
class Map(Elements):
    """Each element through a function. `MapDataset`, `ParallelMapDatasetV2`."""

    source: Elements
    function: Captured

    def __iter__(self) -> Iterator[Element]:
        # no generator: that would end with the first element that fails (`ignore_errors`)
        return itertools.starmap(self.function, self.source)

    def cardinality(self) -> int:
        return self.source.cardinality()


@dataclass(frozen=True)
class Filter(Elements):
    """The elements for which a function says true. `FilterDataset`."""

    source: Elements
    predicate: Captured

    def __iter__(self) -> Iterator[Element]:
        return (element for element in self.source if self.predicate(*element)[0])


@dataclass(frozen=True)
class TakeWhile(Elements):
    """The elements before the first for which a function says false. `TakeWhileDataset`."""

    source: Elements
    predicate: Captured

    def __iter__(self) -> Iterator[Element]:
        for element in self.source:
            if not self.predicate(*element)[0]:
                return
            yield element


@dataclass(frozen=True)
class FlatMap(Elements):
    """A dataset made of each element, one after the other. `FlatMapDataset`."""

    source: Elements
    function: Captured

    def __iter__(self) -> Iterator[Element]:
        for element in self.source:
            yield from self.function(*element)[0]


@dataclass(frozen=True)
class Interleave(Elements):
    """As `FlatMap`, with `cycle_length` of them open at a time, in turn. `InterleaveDataset` and
    its parallel kin.
    """

    source: Elements
    function: Captured
    cycle_length: int
    block_length: int

    def __iter__(self) -> Iterator[Element]:
        source: Iterator[Element] | None = iter(self.source)
        slots: list[Iterator[Element] | None] = [None] * self.cycle_length
        for place in counting():
            slot = place % self.cycle_length
            if slots[slot] is None and source is not None:
                if (element := next(source, None)) is None:
                    source = None
                else:
                    slots[slot] = iter(self.function(*element)[0])
            taken = 0
            for result in islice(slots[slot] or (), self.block_length):
                taken += 1
                yield result
            if taken < self.block_length:
                slots[slot] = None
            if source is None and not any(slots):
                return


@dataclass(frozen=True)
class Scan(Elements):
    """A function of a state and an element gives the next state and an element. `ScanDataset`."""

    source: Elements
    state: tuple[Any, ...]
    function: Captured

    def __iter__(self) -> Iterator[Element]:
        state: Sequence[Any] = self.state
        for element in self.source:
            results = self.function(*state, *element)
            state = results[: len(state)]
            yield results[len(state) :]

    def cardinality(self) -> int:
        return self.source.cardinality()


@dataclass(frozen=True)
class Batch(Elements):
    """Elements stacked. `BatchDatasetV2`."""

    source: Elements
    size: int
    drop_remainder: bool

    def __iter__(self) -> Iterator[Element]:
        source = iter(self.source)
        while elements := list(islice(source, self.size)):
            if len(elements) == self.size or not self.drop_remainder:
                yield [stacked(components) for components in zip(*elements, strict=True)]

    def cardinality(self) -> int:
        number = self.source.cardinality()
        if number < 0:
            return number
        return number // self.size if self.drop_remainder else -(-number // self.size)


def stacked(components: Sequence[Any]) -> Any:
    """One array of arrays. Raises InvalidArgumentError if their shapes differ."""
    first = np.shape(components[0])
    for component in components:
        if np.shape(component) != first:
            raise InvalidArgumentError(
                message="Cannot add tensor to the batch: number of elements does not match. "
                f"Shapes are: [tensor]: {dims_text(np.shape(component))}, "
                f"[batch]: {dims_text(first)}"
            )
    return np.stack(components)


@dataclass(frozen=True)
class Repeat(Elements):
    """The source `count` times; without end if it is negative. `RepeatDataset`."""

    source: Elements
    count: int

    def __iter__(self) -> Iterator[Element]:
        for _ in counting() if self.count < 0 else range(self.count):
            empty = True
            for element in self.source:
                empty = False
                yield element
            if empty:
                return

    def cardinality(self) -> int:
        number = self.source.cardinality()
        if self.count < 0:
            return 0 if number == 0 else INFINITE
        if self.count == 0:
            return 0
        return number if number < 0 else number * self.count


@dataclass(frozen=True)
class Take(Elements):
    """The first `count`; all if it is negative. `TakeDataset`."""

    source: Elements
    count: int

    def __iter__(self) -> Iterator[Element]:
        return iter(self.source) if self.count < 0 else islice(self.source, self.count)

    def cardinality(self) -> int:
        number = self.source.cardinality()
        if number == UNKNOWN:
            return UNKNOWN
        if self.count < 0:
            return number
        return self.count if number == INFINITE else min(number, self.count)


@dataclass(frozen=True)
class Skip(Elements):
    """All but the first `count`; none if it is negative. `SkipDataset`."""

    source: Elements
    count: int

    def __iter__(self) -> Iterator[Element]:
        return islice(self.source, self.count, None) if self.count >= 0 else iter(())

    def cardinality(self) -> int:
        number = self.source.cardinality()
        if self.count < 0:
            return 0
        return number if number < 0 else max(0, number - self.count)


@dataclass(frozen=True)
class Concatenate(Elements):
    """One dataset, then another. `ConcatenateDataset`."""

    first: Elements
    second: Elements

    def __iter__(self) -> Iterator[Element]:
        yield from self.first
        yield from self.second

    def cardinality(self) -> int:
        numbers = self.first.cardinality(), self.second.cardinality()
        if INFINITE in numbers:
            return INFINITE
        return UNKNOWN if UNKNOWN in numbers else sum(numbers)


@dataclass(frozen=True)
class Zip(Elements):
    """An element of each, side by side, until one ends. `ZipDataset`."""

    sources: tuple[Elements, ...]

    def __iter__(self) -> Iterator[Element]:
        for elements in zip(*self.sources, strict=False):
            yield [component for element in elements for component in element]

    def cardinality(self) -> int:
        numbers = [source.cardinality() for source in self.sources]
        if UNKNOWN in numbers:
            return UNKNOWN
        return min((number for number in numbers if number >= 0), default=INFINITE)


@dataclass(frozen=True)
class Unchanged(Elements):
    """The same elements: what changes is when or with which options they are made.
    `PrefetchDataset`, `OptionsDataset`.
    """

    source: Elements

    def __iter__(self) -> Iterator[Element]:
        return iter(self.source)

    def cardinality(self) -> int:
        return self.source.cardinality()


@dataclass(frozen=True)
class Cached(Elements):
    """The elements of the first iteration, kept for all others. `CacheDatasetV2` in memory."""

    source: Elements
    kept: list[Element] = field(default_factory=list)
    complete: list[bool] = field(default_factory=list)

    def __iter__(self) -> Iterator[Element]:
        if self.complete:
            yield from self.kept
            return
        self.kept.clear()
        for element in self.source:
            self.kept.append(element)
            yield element
        self.complete.append(True)

    def cardinality(self) -> int:
        return self.source.cardinality()


def reduce(source: Elements, state: Sequence[Any], function: Captured) -> list[Any]:
    """The last state, after a function of state and element gave the next one for each.
    `ReduceDataset`.
    """
    for element in source:
        state = function(*state, *element)
    return list(state)


def checked(element: Element, shapes: Sequence[TensorShape]) -> Element:
    """The element, if its components have the shapes that the iterator was promised.

    Raises InvalidArgumentError otherwise.
    """
    for index, (component, shape) in enumerate(zip(element, shapes, strict=True)):
        if isinstance(component, np.ndarray) and not shape.is_compatible_with(component.shape):
            raise InvalidArgumentError(
                message=f"Incompatible shapes at component {index}: expected {shape} but got "
                f"{dims_text(component.shape)}."
            )
    return element
