"""The ops of datasets and iterators. A dataset's value is an `Elements`: something that can be iterated
again and again, each element a list of arrays. See `core/ops/dataset_ops.cc`, `core/kernels/data/`.
"""

from __future__ import annotations

import inspect
import itertools
import secrets
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tflogscope.runtime import executor
from tflogscope.runtime.core.errors import OutOfRangeError
from tflogscope.runtime.core.graph import FunctionDef
from tflogscope.runtime.core.registry import op
from tflogscope.runtime.core.shapes import SCALAR, as_shape
from tflogscope.runtime.ops.lists import OptionalValue
from tflogscope.runtime.ops.random import generator_of

Element = list[Any]


class Elements:
    """A dataset."""

    shape = ()

    def __init__(self, iterate: Callable[[], Iterator[Element]], count: float) -> None:
        self._iterate = iterate
        self.count = count
        """How many elements it has; NaN if that is not known."""

    def __iter__(self) -> Iterator[Element]:
        return self._iterate()


class _Iterator:
    """A resource: a dataset that is being iterated."""

    shape = ()

    def start(self, source: Elements) -> None:
        self._elements = iter(source)

    def next(self) -> Element:
        element = next(self._elements, None)
        if element is None:
            raise OutOfRangeError(None, None, "End of sequence")
        return element


def _function(definition: FunctionDef, captured: Sequence[Any]) -> Callable[..., Element]:
    """The function on an element. See `core/data/captured_function.cc`. NB: one that only hands on its
    arguments runs, too.
    """
    executor.instantiate(definition)
    return lambda *components: list(executor.run(definition, [*components, *captured]))


# -- what the ops make: functions of their inputs, called whenever it is iterated


def _slices(*components: Any) -> Iterator[Element]:
    return ([np.asarray(part) for part in row] for row in zip(*components, strict=True))


def _range(*limits: Any, output_types: Any) -> Iterator[Element]:
    kind = output_types[0].as_numpy_dtype
    return ([np.asarray(number, kind)] for number in range(*map(int, limits)))


def _map(source: Elements, *captured: Any, f: FunctionDef) -> Iterator[Element]:
    return itertools.starmap(_function(f, captured), source)


def _flat_map(source: Elements, *captured: Any, f: FunctionDef) -> Iterator[Element]:
    call = _function(f, captured)
    return (each for element in source for each in call(*element)[0])


def _interleave(
    source: Elements,
    *others: Any,
    f: FunctionDef,
    Targuments: Any,  # noqa: N803
) -> Iterator[Element]:
    length, block = (int(each) for each in others[len(Targuments) :][:2])
    call, left = _function(f, others), iter(source)
    slots: list[Any] = [None] * (length if length > 0 else 2)  # NB: TensorFlow: the number of cores
    ended = False
    for slot in itertools.cycle(range(len(slots))):
        if slots[slot] is None:
            element = next(left, None)
            ended = element is None
            slots[slot] = None if element is None else iter(call(*element)[0])
        taken = list(itertools.islice(slots[slot] or (), block))
        yield from taken
        slots[slot] = slots[slot] if len(taken) == block else None
        if ended and not any(slots):
            return


def _filter(source: Elements, *captured: Any, predicate: FunctionDef) -> Iterator[Element]:
    call = _function(predicate, captured)
    return (element for element in source if call(*element)[0])


def _batch(source: Elements, size: Any, drops: Any) -> Iterator[Element]:
    left = iter(source)
    while elements := list(itertools.islice(left, int(size))):
        if len(elements) == size or not drops:
            yield [np.stack(column) for column in zip(*elements, strict=True)]


def _shuffle(
    source: Elements, size: Any, seed: Any, seed2: Any, generator: dict[str, Any]
) -> Iterator[Element]:
    seeds = (int(seed), int(seed2)) if seed or seed2 else (secrets.randbits(63),)
    draws = generator.setdefault("draws", generator_of(*seeds))
    left, held = iter(source), list[Element]()
    while True:
        held += itertools.islice(left, max(1, int(size)) - len(held))
        if not held:
            return
        yield held.pop(int(draws.integers(len(held))))


def _repeat(source: Elements, count: Any) -> Iterator[Element]:
    rounds = itertools.count() if count < 0 else range(int(count))
    return (element for _ in rounds for element in source)


# -- the table: how an op iterates, and how many elements there are


def _same_count(source: Elements, *_: Any) -> float:
    return source.count


_INPUT, _CAPTURED = "input_dataset: variant", "other_arguments: list(Targuments)"


def _dataset(
    type: str,
    inputs: str,
    attributes: str,
    iterate: Callable[..., Iterator[Element]],
    count: Callable[..., Any] = lambda *_: np.nan,
    *,
    stateful: bool = False,
) -> None:
    every = ", ".join(filter(None, (attributes, "output_types, output_shapes, metadata=''")))
    wanted = inspect.signature(iterate).parameters

    def kernel(*inputs: Any, **given: Any) -> Elements:
        chosen = {name: value for name, value in given.items() if name in wanted}
        return Elements(lambda: iterate(*inputs, **chosen), count(*inputs))

    op(f"{type}({inputs}; {every}) -> handle: variant", lambda _: SCALAR, kernel, stateful=stateful)


# fmt: off
_PARALLEL = "deterministic='default', use_inter_op_parallelism=True, preserve_cardinality=True"
_dataset("TensorDataset", "components: list(Toutput_types)", "",
         lambda *components: iter([list(components)]), lambda *_: 1, stateful=True)
_dataset("TensorSliceDataset", "components: list(Toutput_types)",
         "is_files=False, replicate_on_split=False", _slices,
         lambda *components: len(components[0]), stateful=True)
_dataset("RangeDataset", "start: int64, stop: int64, step: int64", "replicate_on_split=False",
         _range, lambda *limits: len(range(*map(int, limits))), stateful=True)
_dataset("MapDataset", f"{_INPUT}, {_CAPTURED}",
         "f, use_inter_op_parallelism=True, preserve_cardinality=True", _map, _same_count)
_dataset("ParallelMapDatasetV2", f"{_INPUT}, {_CAPTURED}, num_parallel_calls: int64",
         f"f, {_PARALLEL}", _map, _same_count)
_dataset("FlatMapDataset", f"{_INPUT}, {_CAPTURED}", "f", _flat_map)
_dataset("InterleaveDataset", f"{_INPUT}, {_CAPTURED}, cycle_length: int64, block_length: int64",
         "f", _interleave)
_dataset("ParallelInterleaveDatasetV4",
         f"{_INPUT}, {_CAPTURED}, cycle_length: int64, block_length: int64, buffer_output_elements: "
         "int64, prefetch_input_elements: int64, num_parallel_calls: int64",
         "f, deterministic='default'", _interleave)
_dataset("FilterDataset", f"{_INPUT}, {_CAPTURED}", "predicate", _filter)
_dataset("BatchDatasetV2", f"{_INPUT}, batch_size: int64, drop_remainder: bool",
         "parallel_copy=False", _batch,
         lambda source, size, drops: (np.floor if drops else np.ceil)(source.count / int(size)))
_dataset("ShuffleDatasetV3",
         f"{_INPUT}, buffer_size: int64, seed: int64, seed2: int64, seed_generator: resource",
         "reshuffle_each_iteration=True", _shuffle, _same_count, stateful=True)
_dataset("RepeatDataset", f"{_INPUT}, count: int64", "", _repeat,
         lambda source, count: source.count * (np.inf if count < 0 else int(count)))
_dataset("TakeDataset", f"{_INPUT}, count: int64", "",
         lambda source, count: itertools.islice(source, int(count)),
         lambda source, count: np.minimum(source.count, int(count)))
_dataset("ZipDataset", "input_datasets: N*variant", "",
         lambda *sources: (list(itertools.chain(*each)) for each in zip(*sources, strict=False)),
         lambda *sources: np.min([source.count for source in sources]))
_dataset("ConcatenateDataset", f"{_INPUT}, another_dataset: variant", "",
         lambda first, second: itertools.chain(first, second),
         lambda first, second: first.count + second.count)
_dataset("PrefetchDataset", f"{_INPUT}, buffer_size: int64",
         "slack_period=0, legacy_autotune=True, buffer_size_min=0",
         lambda source, size: iter(source), _same_count)
_dataset("OptionsDataset", _INPUT, "serialized_options=''", lambda source: iter(source), _same_count)
# fmt: on
op("DummySeedGenerator() -> handle: resource", lambda _: SCALAR, dict, stateful=True)


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


def _cardinality(dataset: Elements) -> Any:
    known = -2 if np.isnan(dataset.count) else -1 if np.isinf(dataset.count) else dataset.count
    return np.asarray(known, np.int64)


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
   lambda _: SCALAR, _cardinality)  # fmt: skip
