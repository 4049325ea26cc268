"""The ops of tf.data: entries of the registry, and the one way in which `Dataset` calls them.

A dataset op gives a variant tensor that holds `Elements`. An iterator is a resource:
`AnonymousIteratorV3` makes it, `MakeIterator` ties it to a dataset, `IteratorGetNext` takes an
element.

Told about: `tensorflow/core/ops/dataset_ops.cc`, `experimental_dataset_ops.cc`,
`core/kernels/data/iterator_ops.cc`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tflogscope.runtime import dtypes
from tflogscope.runtime.context import execute, op_scope
from tflogscope.runtime.control_flow.optionals import OptionalValue
from tflogscope.runtime.conversion import convert_to_tensor
from tflogscope.runtime.data import elements as e
from tflogscope.runtime.data import regrouped_elements as r
from tflogscope.runtime.data.generator import Generated
from tflogscope.runtime.data.shuffling import RandomNumbers, SeedGenerator, Shuffle
from tflogscope.runtime.errors import FailedPreconditionError, InvalidArgumentError, OutOfRangeError
from tflogscope.runtime.operations import Inference, Spec, register
from tflogscope.runtime.resources import kept
from tflogscope.runtime.shapes import SCALAR, TensorShape

__all__ = ["IteratorResource", "call"]


def call(type: str, inputs: Mapping[str, Any], attributes: Mapping[str, Any]) -> list[Any]:
    """Call an op as TensorFlow's generated wrappers do: inputs are converted below a scope of the
    op's name.

    An input that is a list is laid flat, each item under a name of its own.
    """
    with op_scope(None, type) as scope:
        tensors = []
        for name, value in inputs.items():
            if isinstance(value, list):
                tensors += [
                    convert_to_tensor(item, name=f"{name}_{i}") for i, item in enumerate(value)
                ]
            else:
                tensors.append(convert_to_tensor(value, name=name))
        return execute(type, tensors, attributes, scope)


class IteratorResource:
    """Where an iteration stands. Threads may share it: each element goes to one of them."""

    def __init__(self, shapes: Sequence[TensorShape]) -> None:
        self._shapes = shapes
        self._lock = threading.Lock()
        self._elements: Iterator[e.Element] | None = None

    def start(self, source: e.Elements) -> None:
        """Begin at the first element of `source`; its functions are instantiated now."""
        self._elements = iter(source.for_one_iterator())

    def next(self) -> e.Element:
        """The next element. Raises OutOfRangeError after the last."""
        if self._elements is None:
            raise FailedPreconditionError(
                message="GetNext() failed because the iterator has not been initialized. "
                "Ensure that you have run the initializer operation for this iterator before "
                "getting the next element."
            )
        with self._lock:
            element = next(self._elements, None)
        if element is None:
            raise OutOfRangeError(message="End of sequence")
        return e.checked(element, self._shapes)


# Datasets
# ------------------------------------------------------------------------------


def _variant(_: Inference) -> Sequence[Spec]:
    return [(dtypes.variant, SCALAR)]


def _dataset(
    type: str, kernel: Callable[..., Any], *attributes: str, stateful: bool = False
) -> None:
    types = () if "Toutput_types" in attributes else ("output_types",)
    names = sorted(("metadata", "output_shapes", *types, *attributes))
    register(type, _variant, kernel, attributes=names, stateful=stateful)


def _mapped(kind: type[Any], inputs: int = 0) -> Callable[..., Any]:
    """A kernel for ops with a source, captured values, `inputs` numbers that play no role here, and
    a function `f`.
    """

    def kernel(source: e.Elements, *others: Any, f: Any) -> Any:
        return kind(source, e.Captured(f, others[: len(others) - inputs]))

    return kernel


def _tested(kind: type[Any]) -> Callable[..., Any]:
    def kernel(source: e.Elements, *others: Any, predicate: Any) -> Any:
        return kind(source, e.Captured(predicate, others))

    return kernel


def _interleave(following: int) -> Callable[..., Any]:
    """Cycle and block length, and `following` inputs after them."""

    def kernel(source: e.Elements, *others: Any, f: Any) -> e.Interleave:
        captures, numbers = others[: -2 - following], others[-2 - following :]
        cycle, block = int(numbers[0]), int(numbers[1])
        if block <= 0:
            raise InvalidArgumentError(message=f"`block_length` must be > 0 but is {block}.")
        return e.Interleave(
            source, e.Captured(f, captures), cycle if cycle > 0 else _PARALLELISM, block
        )

    return kernel


_PARALLELISM = 2  # NB: TensorFlow takes the number of cores where `cycle_length` is AUTOTUNE


def _slices(*components: Any) -> e.Slices:
    if len({len(component) for component in components}) > 1:
        raise InvalidArgumentError(
            message="All components must have the same size in the 0th dimension."
        )
    return e.Slices(components)


def _range(start: Any, stop: Any, step: Any, *, output_types: Sequence[dtypes.DType]) -> e.Range:
    if int(step) == 0:
        raise InvalidArgumentError(message="step must be a non-zero integer.")
    return e.Range(range(int(start), int(stop), int(step)), output_types[0].as_numpy_dtype)


def _batch(source: e.Elements, size: Any, drop_remainder: Any, *_: Any) -> e.Batch:
    if size <= 0:
        raise InvalidArgumentError(message=f"Batch size must be greater than zero, but got {size}.")
    return e.Batch(source, int(size), bool(drop_remainder))


def _parallel_batch(source: e.Elements, size: Any, _: Any, drop_remainder: Any) -> e.Batch:
    return _batch(source, size, drop_remainder)


def _shuffle(
    source: e.Elements, size: Any, seed: Any, seed2: Any, _: Any, *, reshuffle_each_iteration: bool
) -> Shuffle:
    if size < 1 and size != e.UNKNOWN:
        raise InvalidArgumentError(
            message=f"buffer_size must be greater than zero or UNKNOWN_CARDINALITY: {size}"
        )
    seeds = (int(seed), int(seed2))
    if seeds == (0, 0):
        low, high = np.random.default_rng().integers(1, 2**63, 2)
        seeds = (int(low), int(high))
    return Shuffle(source, int(size), SeedGenerator(*seeds, reshuffle=reshuffle_each_iteration))


def _scan(source: e.Elements, *others: Any, f: Any, Tstate: Sequence[Any]) -> e.Scan:  # noqa: N803
    return e.Scan(source, others[: len(Tstate)], e.Captured(f, others[len(Tstate) :]))


def _of_source(kind: type[Any]) -> Callable[..., Any]:
    def kernel(source: e.Elements, number: Any) -> Any:
        return kind(source, int(number))

    return kernel


def _unchanged(source: e.Elements, *_: Any) -> e.Unchanged:
    return e.Unchanged(source)


def _padded_batch(source: e.Elements, size: Any, *others: Any, N: int) -> r.PaddedBatch:  # noqa: N803
    shapes, values, drop_remainder = others[:N], others[N : 2 * N], others[-1]
    return r.PaddedBatch(source, int(size), shapes, values, bool(drop_remainder))


def _window(
    source: e.Elements, size: Any, shift: Any, stride: Any, drop_remainder: Any
) -> r.Window:
    return r.Window(source, int(size), int(shift), int(stride), bool(drop_remainder))


_FUNCTIONS = ("key", "reduce", "window_size")


def _group_by_window(source: e.Elements, *captured: Any, **attributes: Any) -> r.GroupByWindow:
    functions = []
    for each in _FUNCTIONS:
        count = len(attributes[f"T{each}_func_other_arguments"])
        functions.append(e.Captured(attributes[f"{each}_func"], captured[:count]))
        captured = captured[count:]
    return r.GroupByWindow(source, *functions)


def _directed(
    selector: e.Elements, *sources: Any, stop_on_empty_dataset: bool
) -> r.DirectedInterleave:
    return r.DirectedInterleave(selector, sources, stop_on_empty_dataset)


_OF_GENERATOR = ("init", "next", "finalize")


def _generator(*inputs: Any, **attributes: Any) -> Generated:
    count = len(attributes["init_func"].inputs) - len(attributes["init_func"].captured_inputs)
    arguments, captured = inputs[:count], inputs[count:]
    functions = []
    for each in _OF_GENERATOR:
        count = len(attributes[f"{each}_func"].captured_inputs)
        functions.append(e.Captured(attributes[f"{each}_func"], captured[:count]))
        captured = captured[count:]
    return Generated(arguments, *functions)


_PARALLEL = ("deterministic", "use_inter_op_parallelism", "preserve_cardinality")
_dataset("RandomDataset", lambda seed, seed2: RandomNumbers(int(seed), int(seed2)), stateful=True)
_dataset("TensorDataset", lambda *components: e.Tensors(components), "Toutput_types", stateful=True)
_dataset(
    "TensorSliceDataset", _slices, "Toutput_types", "is_files", "replicate_on_split", stateful=True
)
_dataset("RangeDataset", _range, "replicate_on_split", stateful=True)
_dataset(
    "MapDataset",
    _mapped(e.Map),
    "Targuments",
    "f",
    "preserve_cardinality",
    "use_inter_op_parallelism",
)
_dataset("ParallelMapDatasetV2", _mapped(e.Map, inputs=1), "Targuments", "f", *_PARALLEL)
_dataset("FlatMapDataset", _mapped(e.FlatMap), "Targuments", "f")
_dataset("InterleaveDataset", _interleave(0), "Targuments", "f")
_dataset("ParallelInterleaveDatasetV4", _interleave(3), "Targuments", "deterministic", "f")
_dataset("FilterDataset", _tested(e.Filter), "Targuments", "predicate")
_dataset("TakeWhileDataset", _tested(e.TakeWhile), "Targuments", "predicate")
_dataset(
    "ScanDataset", _scan, "Targuments", "Tstate", "f", "preserve_cardinality", "use_default_device"
)
_dataset("BatchDatasetV2", _batch, "parallel_copy")
_dataset("ParallelBatchDataset", _parallel_batch, "deterministic", "parallel_copy")
_dataset("ShuffleDatasetV3", _shuffle, "reshuffle_each_iteration", stateful=True)
_dataset("RepeatDataset", _of_source(e.Repeat))
_dataset("TakeDataset", _of_source(e.Take))
_dataset("SkipDataset", _of_source(e.Skip))
_dataset("ConcatenateDataset", e.Concatenate)
_dataset("ZipDataset", lambda *sources: e.Zip(sources), "N")
_dataset("PrefetchDataset", _unchanged, "buffer_size_min", "legacy_autotune", "slack_period")
_dataset("CacheDatasetV2", lambda source, *_: e.Cached(source), stateful=True)
_dataset("OptionsDataset", _unchanged, "serialized_options")
_dataset("RewriteDataset", _unchanged)
_dataset(
    "GeneratorDataset",
    _generator,
    *(f"{each}_func" for each in _OF_GENERATOR),
    *(f"T{each}_func_args" for each in _OF_GENERATOR),
    stateful=True,
)
_dataset("WindowDataset", _window)
_dataset("PaddedBatchDatasetV2", _padded_batch, "N", "Toutput_types", "parallel_copy")
_dataset("UnbatchDataset", r.Unbatch)
_dataset(
    "RebatchDatasetV2", lambda source, sizes, drop: r.Rebatch(source, tuple(sizes), bool(drop))
)
_dataset(
    "ShardDataset",
    lambda source, count, k: r.Shard(source, int(count), int(k)),
    "require_non_empty",
)
_dataset("IgnoreErrorsDataset", r.IgnoreErrors, "log_warning")
_dataset("AssertCardinalityDataset", _of_source(r.AssertCardinality))
_dataset("UniqueDataset", r.Unique)
_dataset(
    "GroupByWindowDataset",
    _group_by_window,
    *(f"{each}_func" for each in _FUNCTIONS),
    *(f"T{each}_func_other_arguments" for each in _FUNCTIONS),
)
_dataset("DirectedInterleaveDataset", _directed, "N", "stop_on_empty_dataset")
register("DummySeedGenerator", lambda _: [(dtypes.resource, SCALAR)], object, stateful=True)
register("DummyMemoryCache", lambda _: [(dtypes.resource, SCALAR)], object, stateful=True)


# Iterators and what consumes a whole dataset
# -----------------------------------------------------------------------


def _outputs(inference: Inference) -> Sequence[Spec]:
    attributes = inference.attributes
    return list(zip(attributes["output_types"], attributes["output_shapes"], strict=True))


def _cardinality(source: e.Elements) -> Any:
    return np.asarray(source.cardinality(), np.int64)


def _next_as_optional(iterator: IteratorResource) -> OptionalValue:
    """The iterator's next element, or nothing at its end."""
    try:
        return OptionalValue(iterator.next())
    except OutOfRangeError:
        return OptionalValue(None)


def _single(source: e.Elements) -> tuple[Any, ...]:
    """The one element. Raises InvalidArgumentError if there are none or several."""
    elements = iter(source.for_one_iterator())
    element = next(elements, None)
    if element is None:
        raise InvalidArgumentError(None, None, "Dataset was empty.")
    if next(elements, None) is not None:
        raise InvalidArgumentError(None, None, "Dataset had more than one element.")
    return tuple(element)


def _reduce(source: e.Elements, *others: Any, f: Any, Tstate: Sequence[Any]) -> tuple[Any, ...]:  # noqa: N803
    for function in (*source.functions(), f):
        function.instantiate()
    return tuple(e.reduce(source, others[: len(Tstate)], e.Captured(f, others[len(Tstate) :])))


def _started(factory: Any, shapes: Sequence[TensorShape]) -> IteratorResource:
    """An iterator at the first element of the dataset that the function makes."""
    factory.instantiate()
    iterator = IteratorResource(shapes)
    iterator.start(e.Captured(factory, ())()[0])
    return iterator


_ITERATOR = ("output_shapes", "output_types")
register(
    "AnonymousIteratorV3",
    lambda _: [(dtypes.resource, SCALAR)],
    lambda *, output_shapes: IteratorResource(output_shapes),
    attributes=_ITERATOR,
    stateful=True,
)
register(
    "IteratorV2",
    lambda _: [(dtypes.resource, SCALAR)],
    lambda *, shared_name, output_shapes: kept(
        shared_name, lambda: IteratorResource(output_shapes)
    ),
    attributes=("shared_name", *_ITERATOR),
    stateful=True,
)
register(
    "OneShotIterator",
    lambda _: [(dtypes.resource, SCALAR)],
    lambda *, dataset_factory, shared_name, output_shapes: kept(
        shared_name, lambda: _started(dataset_factory, output_shapes)
    ),
    attributes=("dataset_factory", "shared_name", *_ITERATOR),
    stateful=True,
)
register(
    "MakeIterator", lambda _: [], lambda dataset, iterator: iterator.start(dataset), stateful=True
)
register(
    "IteratorGetNext",
    _outputs,
    lambda iterator: tuple(iterator.next()),
    attributes=_ITERATOR,
    stateful=True,
)
register(
    "IteratorGetNextAsOptional",
    lambda _: [(dtypes.variant, SCALAR)],
    _next_as_optional,
    attributes=_ITERATOR,
    stateful=True,
)
register(
    "DatasetToSingleElement",
    _outputs,
    _single,
    attributes=("metadata", *_ITERATOR),
    stateful=True,
)
register(
    "ReduceDataset",
    _outputs,
    _reduce,
    attributes=("Targuments", "Tstate", "f", "metadata", *_ITERATOR, "use_inter_op_parallelism"),
    stateful=True,
)
register(
    "DatasetCardinality",
    lambda _: [(dtypes.int64, SCALAR)],
    _cardinality,
    attributes=("cardinality_options",),
)
