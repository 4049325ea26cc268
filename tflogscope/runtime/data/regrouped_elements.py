"""How elements are made where they are cut up, put together or left out in other ways.

Told about: `tensorflow/core/kernels/data/window_dataset_op.cc`, `padded_batch_dataset_op.cc`,
`shard_dataset_op.cc`; `experimental/unbatch_dataset_op.cc`, `ignore_errors_dataset_op.cc`,
`unique_dataset_op.cc`, `group_by_window_dataset_op.cc`, `directed_interleave_dataset_op.cc`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tflogscope.runtime.data.elements import UNKNOWN, Captured, Element, Elements, stacked
from tflogscope.runtime.errors import DataLossError, FailedPreconditionError, OpError

__all__ = [
    "DirectedInterleave", "GroupByWindow", "IgnoreErrors", "PaddedBatch", "Rebatch", "Shard",
    "Unbatch", "Unique", "Window",
]  # fmt: skip


@dataclass(frozen=True)
class Listed(Elements):
    """Elements that are there already: one component of a window."""

    items: list[Element]

    def __iter__(self) -> Iterator[Element]:
        return iter(self.items)

    def cardinality(self) -> int:
        return len(self.items)


@dataclass(frozen=True)
class Window(Elements):
    """`size` elements at a time, each component as a dataset; `shift` on for the next window."""

    source: Elements
    size: int
    shift: int
    stride: int
    drop_remainder: bool

    def __iter__(self) -> Iterator[Element]:
        kept: list[Element] = []
        source = iter(self.source)
        skip, ended = 0, False
        span = (self.size - 1) * self.stride + 1
        while not ended or kept:
            while len(kept) < span and not ended:
                element = next(source, None)
                if element is None:
                    ended = True
                elif skip:
                    skip -= 1
                else:
                    kept.append(element)
            chosen = kept[: span : self.stride]
            if not chosen or (len(chosen) < self.size and self.drop_remainder):
                return
            yield [Listed([[each] for each in one]) for one in zip(*chosen, strict=True)]
            skip = max(self.shift - len(kept), 0)
            kept = kept[self.shift :]


@dataclass(frozen=True)
class PaddedBatch(Elements):
    """Elements stacked, each padded to a shape, or to the largest of the batch where that is -1."""

    source: Elements
    size: int
    shapes: tuple[Any, ...]
    values: tuple[Any, ...]
    drop_remainder: bool

    def __iter__(self) -> Iterator[Element]:
        """Raises DataLossError for an element that is larger than its shape."""
        batch: list[Element] = []
        for element in self.source:
            batch.append(element)
            if len(batch) == self.size:
                yield self._padded(batch)
                batch = []
        if batch and not self.drop_remainder:
            yield self._padded(batch)

    def _padded(self, batch: list[Element]) -> Element:
        columns = zip(*batch, strict=True)
        return [
            stacked(_same_shape(column, shape, value))
            for column, shape, value in zip(columns, self.shapes, self.values, strict=True)
        ]

    def cardinality(self) -> int:
        number = self.source.cardinality()
        if number < 0:
            return number
        return number // self.size if self.drop_remainder else -(-number // self.size)


def _same_shape(column: tuple[Any, ...], shape: Any, value: Any) -> list[Any]:
    largest = np.max([np.shape(each) for each in column], axis=0, initial=0)
    wanted = [int(big) if dim < 0 else int(dim) for big, dim in zip(largest, shape, strict=True)]
    padded = []
    for each in column:
        if any(size > dim for size, dim in zip(np.shape(each), wanted, strict=True)):
            raise DataLossError(
                message="Attempted to pad to a smaller size than the input element."
            )
        full = np.full(wanted, value, each.dtype)
        full[tuple(slice(size) for size in np.shape(each))] = each
        padded.append(full)
    return padded


@dataclass(frozen=True)
class Unbatch(Elements):
    """Each slice of each element."""

    source: Elements

    def __iter__(self) -> Iterator[Element]:
        for element in self.source:
            for index in range(len(element[0])):
                yield [np.asarray(component[index]) for component in element]


@dataclass(frozen=True)
class Rebatch(Elements):
    """Batches of other sizes, which follow each other in a circle."""

    source: Elements
    sizes: tuple[int, ...]
    drop_remainder: bool

    def __iter__(self) -> Iterator[Element]:
        waiting: list[Element] = []
        turn = 0
        for element in Unbatch(self.source):
            waiting.append(element)
            if len(waiting) == self.sizes[turn % len(self.sizes)]:
                yield [stacked(column) for column in zip(*waiting, strict=True)]
                waiting, turn = [], turn + 1
        if waiting and not self.drop_remainder:
            yield [stacked(column) for column in zip(*waiting, strict=True)]


@dataclass(frozen=True)
class Shard(Elements):
    """Every `count`th element."""

    source: Elements
    count: int
    index: int

    def __iter__(self) -> Iterator[Element]:
        for place, element in enumerate(self.source):
            if place % self.count == self.index:
                yield element

    def cardinality(self) -> int:
        number = self.source.cardinality()
        return number if number < 0 else (number - self.index + self.count - 1) // self.count


@dataclass(frozen=True)
class IgnoreErrors(Elements):
    """The elements that can be made."""

    source: Elements

    def __iter__(self) -> Iterator[Element]:
        source = iter(self.source)
        while True:
            try:
                yield next(source)
            except StopIteration:
                return
            except OpError:
                pass  # NB: what batches elements that fail ends here, and goes on in TensorFlow


@dataclass(frozen=True)
class AssertCardinality(Elements):
    """So many elements, or an error. `AssertCardinalityDataset`."""

    source: Elements
    expected: int

    def __iter__(self) -> Iterator[Element]:
        count = 0
        for count, element in enumerate(self.source, 1):
            if count > self.expected >= 0:
                self._fail(f"more than {self.expected}")
            yield element
        if count != self.expected:
            self._fail(str(count))

    def _fail(self, found: str) -> None:
        number = "an infinite number of" if self.expected < 0 else str(self.expected)
        elements = "element" if self.expected == 1 else "elements"
        text = f"Input dataset was expected to contain {number} {elements} but contained {found} "
        raise FailedPreconditionError(None, None, f"{text}element{'' if found == '1' else 's'}.")

    def cardinality(self) -> int:
        return self.expected


@dataclass(frozen=True)
class Unique(Elements):
    """Each element when it is first seen."""

    source: Elements

    def __iter__(self) -> Iterator[Element]:
        seen = set()
        for element in self.source:
            key = np.asarray(element[0]).tobytes() if element[0].dtype != object else element[0][()]
            if key not in seen:
                seen.add(key)
                yield element


@dataclass(frozen=True)
class GroupByWindow(Elements):
    """Elements with the same key together; a function makes a dataset of each full window."""

    source: Elements
    key: Captured
    reduce: Captured
    size: Captured

    def __iter__(self) -> Iterator[Element]:
        groups: dict[int, list[Element]] = {}
        for element in self.source:
            key = self.key(*element)[0]
            group = groups.setdefault(int(key), [])
            group.append(element)
            if len(group) == int(self.size(key)[0]):
                yield from self._reduced(int(key), groups.pop(int(key)))
        for number, group in sorted(groups.items()):  # a std::map, in `GroupByWindowDatasetOp`
            yield from self._reduced(number, group)

    def _reduced(self, key: int, group: list[Element]) -> Iterator[Element]:
        return iter(self.reduce(np.asarray(key, np.int64), Listed(group))[0])


@dataclass(frozen=True)
class DirectedInterleave(Elements):
    """The next element of the dataset that the selector says."""

    selector: Elements
    sources: tuple[Elements, ...]
    stop_on_empty: bool

    def __iter__(self) -> Iterator[Element]:
        sources: list[Iterator[Element] | None] = [iter(source) for source in self.sources]
        for (chosen,) in self.selector:
            source = sources[int(chosen)]
            element = None if source is None else next(source, None)
            if element is not None:
                yield element
            elif self.stop_on_empty:
                return
            else:
                sources[int(chosen)] = None
                if not any(sources):
                    return

    def cardinality(self) -> int:
        return UNKNOWN
