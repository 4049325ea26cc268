"""The ops of datasets and iterators. A dataset's value is an `Elements`: something that can be iterated
again and again, each element a list of arrays. See `core/ops/dataset_ops.cc`, `core/kernels/data/`.
"""

from __future__ import annotations

import itertools
import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tflogscope.runtime import executor
from tflogscope.runtime.core.definition import FunctionDef
from tflogscope.runtime.core.errors import InvalidArgumentError, OutOfRangeError
from tflogscope.runtime.core.registry import op
from tflogscope.runtime.core.shapes import SCALAR, as_shape
from tflogscope.runtime.ops.lists import OptionalValue
from tflogscope.runtime.ops.random import generator_of

INFINITE, UNKNOWN = -1, -2
Element = list[Any]


class Elements:
    """A dataset."""

    shape = ()

    def __init__(self, iterate: Callable[[], Iterator[Element]], count: int = UNKNOWN) -> None:
        self._iterate, self.count = iterate, count

    def __iter__(self) -> Iterator[Element]:
        return self._iterate()


class _Iterator:
    """A resource: a dataset that is being iterated."""

    shape = ()

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._elements: Iterator[Element] = iter(())

    def start(self, source: Elements) -> None:
        self._elements = iter(source)

    def next(self) -> Element:
        with self._lock:
            element = next(self._elements, None)
        if element is None:
            raise OutOfRangeError(None, None, "End of sequence")
        return element


def _function(definition: FunctionDef, captured: Sequence[Any]) -> Callable[..., Element]:
    """The function on an element. One that only hands on its arguments does not run: see
    `core/data/captured_function.cc` (`short_circuit`).
    """
    executor.instantiate(definition)
    passed = _passed_on(definition)

    def call(*components: Any) -> Element:
        values = [*components, *captured]
        if passed is not None:
            return [values[index] for index in passed]
        return list(executor.run(definition, values))

    return call


def _passed_on(definition: FunctionDef) -> list[int] | None:
    if definition.stateful:
        return None
    nodes = {node.name: node for node in definition.nodes}
    found = []
    for result in definition.of_type("_Retval"):
        node = nodes[result.inputs[0][0]]
        while node.type == "Identity":
            node = nodes[node.inputs[0][0]]
        if node.type != "_Arg":
            return None
        found.append(node.attributes["index"])
    return found


# -- what the ops make


def _slices(*components: Any, **_: Any) -> Elements:
    count = len(components[0])

    def iterate() -> Iterator[Element]:
        return ([np.asarray(each[k], each.dtype) for each in components] for k in range(count))

    return Elements(iterate, count)


def _range(start: Any, stop: Any, step: Any, output_types: Any, **_: Any) -> Elements:
    numbers, kind = range(int(start), int(stop), int(step)), output_types[0].as_numpy_dtype
    return Elements(lambda: ([np.asarray(each, kind)] for each in numbers), len(numbers))


def _map(source: Elements, *captured: Any, f: FunctionDef, **attributes: Any) -> Elements:
    captured = captured[: len(attributes["Targuments"])]

    def iterate() -> Iterator[Element]:
        return itertools.starmap(_function(f, captured), source)

    return Elements(iterate, source.count)


def _flat_map(source: Elements, *captured: Any, f: FunctionDef, **_: Any) -> Elements:
    def iterate() -> Iterator[Element]:
        call = _function(f, captured)
        return (each for element in source for each in call(*element)[0])

    return Elements(iterate)


def _interleave(source: Elements, *others: Any, f: FunctionDef, **attributes: Any) -> Elements:
    captured = others[: len(attributes["Targuments"])]
    length, block = (int(each) for each in others[len(captured) : len(captured) + 2])
    length = length if length > 0 else 2  # NB: TensorFlow takes the number of cores

    def iterate() -> Iterator[Element]:
        call, left = _function(f, captured), iter(source)
        slots: list[Any] = [None] * length
        ended = False
        for slot in itertools.cycle(range(length)):
            if slots[slot] is None:
                element = next(left, None)
                ended = element is None
                slots[slot] = None if element is None else iter(call(*element)[0])
            taken = list(itertools.islice(slots[slot] or (), block))
            yield from taken
            slots[slot] = slots[slot] if len(taken) == block else None
            if ended and not any(slots):
                return

    return Elements(iterate)


def _filter(source: Elements, *captured: Any, predicate: FunctionDef, **_: Any) -> Elements:
    def iterate() -> Iterator[Element]:
        call = _function(predicate, captured)
        return (element for element in source if call(*element)[0])

    return Elements(iterate)


def _batch(source: Elements, size: Any, drop_remainder: Any, **_: Any) -> Elements:
    size, drops = int(size), bool(drop_remainder)

    def iterate() -> Iterator[Element]:
        left = iter(source)
        while elements := list(itertools.islice(left, size)):
            if len(elements) == size or not drops:
                yield [_stacked(column) for column in zip(*elements, strict=True)]

    count = source.count
    return Elements(iterate, count if count < 0 else count // size if drops else -(-count // size))


def _stacked(column: Sequence[Any]) -> Any:
    if len({np.shape(each) for each in column}) > 1:
        raise InvalidArgumentError(None, None, "Cannot batch tensors of different shapes.")
    return np.stack(column)


def _shuffle(source: Elements, size: Any, seed: Any, seed2: Any, *_: Any, **__: Any) -> Elements:
    seeds = int(seed), int(seed2)
    draws = generator_of(*(seeds if any(seeds) else (secrets.randbits(63),)))

    def iterate() -> Iterator[Element]:
        left, held = iter(source), list[Element]()
        while True:
            held += itertools.islice(left, max(1, int(size)) - len(held))
            if not held:
                return
            yield held.pop(int(draws.integers(len(held))))

    return Elements(iterate, source.count)


def _repeat(source: Elements, count: Any, **_: Any) -> Elements:
    times = int(count)

    def iterate() -> Iterator[Element]:
        for _ in itertools.count() if times < 0 else range(times):
            empty = True
            for element in source:
                empty = False
                yield element
            if empty:
                return

    known = source.count
    return Elements(
        iterate, INFINITE if times < 0 and known else known if known < 0 else known * times
    )


def _take(source: Elements, count: Any, **_: Any) -> Elements:
    most, known = int(count), source.count
    total = most if known == INFINITE else known if known < 0 else min(known, most)
    return Elements(lambda: itertools.islice(source, most), total)


def _zip(*sources: Elements, **_: Any) -> Elements:
    def iterate() -> Iterator[Element]:
        return (list(itertools.chain(*each)) for each in zip(*sources, strict=False))

    counts = [source.count for source in sources]
    known = min((count for count in counts if count >= 0), default=INFINITE)
    return Elements(iterate, UNKNOWN if UNKNOWN in counts else known)


def _concatenate(first: Elements, second: Elements, **_: Any) -> Elements:
    counts = first.count, second.count
    known = min(counts) if min(counts) < 0 else sum(counts)
    return Elements(lambda: itertools.chain(first, second), known)


def _same(source: Elements, *_: Any, **__: Any) -> Elements:
    return source


# -- the table

_INPUT, _CAPTURED = "input_dataset: variant", "other_arguments: list(Targuments)"


def _dataset(
    type: str, inputs: str, attributes: str, kernel: Any, *, stateful: bool = False
) -> None:
    every = ", ".join(filter(None, (attributes, "output_types, output_shapes, metadata=''")))
    op(f"{type}({inputs}; {every}) -> handle: variant", lambda _: SCALAR, kernel, stateful=stateful)


# fmt: off
_PARALLEL = "deterministic='default', use_inter_op_parallelism=True, preserve_cardinality=True"
_dataset("TensorDataset", "components: list(Toutput_types)", "",
         lambda *components, **_: Elements(lambda: iter([list(components)]), 1), stateful=True)
_dataset("TensorSliceDataset", "components: list(Toutput_types)",
         "is_files=False, replicate_on_split=False", _slices, stateful=True)
_dataset("RangeDataset", "start: int64, stop: int64, step: int64", "replicate_on_split=False",
         _range, stateful=True)
_dataset("MapDataset", f"{_INPUT}, {_CAPTURED}",
         "f, use_inter_op_parallelism=True, preserve_cardinality=True", _map)
_dataset("ParallelMapDatasetV2", f"{_INPUT}, {_CAPTURED}, num_parallel_calls: int64",
         f"f, {_PARALLEL}", _map)
_dataset("FlatMapDataset", f"{_INPUT}, {_CAPTURED}", "f", _flat_map)
_dataset("InterleaveDataset", f"{_INPUT}, {_CAPTURED}, cycle_length: int64, block_length: int64",
         "f", _interleave)
_dataset("ParallelInterleaveDatasetV4",
         f"{_INPUT}, {_CAPTURED}, cycle_length: int64, block_length: int64, buffer_output_elements: "
         "int64, prefetch_input_elements: int64, num_parallel_calls: int64",
         "f, deterministic='default'", _interleave)
_dataset("FilterDataset", f"{_INPUT}, {_CAPTURED}", "predicate", _filter)
_dataset("BatchDatasetV2", f"{_INPUT}, batch_size: int64, drop_remainder: bool",
         "parallel_copy=False", _batch)
_dataset("ShuffleDatasetV3",
         f"{_INPUT}, buffer_size: int64, seed: int64, seed2: int64, seed_generator: resource",
         "reshuffle_each_iteration=True", _shuffle, stateful=True)
_dataset("RepeatDataset", f"{_INPUT}, count: int64", "", _repeat)
_dataset("TakeDataset", f"{_INPUT}, count: int64", "", _take)
_dataset("ZipDataset", "input_datasets: N*variant", "", _zip)
_dataset("ConcatenateDataset", f"{_INPUT}, another_dataset: variant", "", _concatenate)
_dataset("PrefetchDataset", f"{_INPUT}, buffer_size: int64",
         "slack_period=0, legacy_autotune=True, buffer_size_min=0", _same)
_dataset("OptionsDataset", _INPUT, "serialized_options=''", _same)
# fmt: on
op("DummySeedGenerator() -> handle: resource", lambda _: SCALAR, object, stateful=True)


# -- iterators, and what takes a whole dataset


def _shapes(i: Any) -> Any:
    return [as_shape(each) for each in i["output_shapes"]]


def _optional(iterator: _Iterator) -> OptionalValue:
    try:
        return OptionalValue(iterator.next())
    except OutOfRangeError:
        return OptionalValue(None)


def _reduce(source: Elements, *others: Any, f: FunctionDef, Tstate: Any) -> tuple[Any, ...]:  # noqa: N803
    state, call = others[: len(Tstate)], _function(f, others[len(Tstate) :])
    for element in source:
        state = tuple(call(*state, *element))
    return state


_OUTPUTS = "output_types, output_shapes"
op(f"AnonymousIteratorV3(; {_OUTPUTS}) -> handle: resource", lambda _: SCALAR,
   lambda **_: _Iterator(), stateful=True)  # fmt: skip
op("MakeIterator(dataset: variant, iterator: resource)", lambda _: [],
   lambda dataset, iterator: iterator.start(dataset), stateful=True)  # fmt: skip
op(f"IteratorGetNext(iterator: resource; {_OUTPUTS}) -> components: list(output_types)", _shapes,
   lambda iterator: tuple(iterator.next()), stateful=True)  # fmt: skip
op(f"IteratorGetNextAsOptional(iterator: resource; {_OUTPUTS}) -> optional: variant",
   lambda _: SCALAR, _optional, stateful=True)  # fmt: skip
op(f"ReduceDataset(input_dataset: variant, initial_state: list(Tstate), {_CAPTURED}; f, {_OUTPUTS}, "
   "use_inter_op_parallelism=True, metadata='') -> components: list(output_types)", _shapes,
   _reduce, stateful=True)  # fmt: skip
op("DatasetCardinality(input_dataset: variant; cardinality_options='') -> cardinality: int64",
   lambda _: SCALAR, lambda dataset: np.asarray(dataset.count, np.int64))  # fmt: skip
