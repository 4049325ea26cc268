"""`tf.data.Dataset`: each transformation is an op on the variant tensor of the dataset before it. See
`tensorflow/python/data/ops/dataset_ops.py`, `iterator_ops.py`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

from tflogscope.runtime.core.calls import O, call
from tflogscope.runtime.core.context import op_scope
from tflogscope.runtime.core.conversion import constant, convert_to_tensor
from tflogscope.runtime.core.dtypes import bool_, int64
from tflogscope.runtime.core.errors import OutOfRangeError, missing
from tflogscope.runtime.core.known import known_value
from tflogscope.runtime.core.shapes import SCALAR, TensorShape
from tflogscope.runtime.core.tensors import TensorSpec
from tflogscope.runtime.data.structure import (
    DatasetSpec,
    flatten,
    mapped,
    normalized,
    outputs_of,
    restored,
    spec_of,
    tensors_of,
)
from tflogscope.runtime.function.autograph.conversion import convert
from tflogscope.runtime.function.compiler import Compiler
from tflogscope.runtime.library import random
from tflogscope.runtime.library.slices import where
from tflogscope.runtime.passes import DATA_FUNCTION

AUTOTUNE = -1


class _Function:
    """A function that a dataset calls, traced."""

    def __init__(self, function: Callable[..., Any], name: str, input_spec: Any) -> None:
        self.output_spec: Any = None
        converted = convert(function)

        def wrapped(*args: Any) -> list[Any]:
            given = restored(input_spec, args)
            result = converted(*given) if type(given) is tuple else converted(given)
            result = normalized(tuple(result) if isinstance(result, list) else result)
            self.output_spec = spec_of(result)
            return tensors_of(result)

        own = getattr(function, "__name__", str(type(function)))
        if inspect.ismethod(function):
            own = f"{type(function.__self__).__name__}.{own}"
        label = "".join(letter for letter in f"{name}_{own}" if letter not in "<>\\' ")
        specs = [TensorSpec(each.shape, each.dtype) for each in flatten(input_spec)]
        compiler = Compiler(wrapped, label, specs, {DATA_FUNCTION: True})
        traced = compiler.concrete((), {})[0]
        self.definition = traced.inference.definition
        self.captured = list(traced.captured_inputs)


class Dataset:
    """A sequence of elements."""

    def __init__(self, variant: Any, element_spec: Any, keeps: Any = ()) -> None:
        self.variant, self.element_spec, self._keeps = variant, element_spec, keeps

    spec = property(lambda self: DatasetSpec(self.element_spec, Dataset))

    # -- sources

    @staticmethod
    def from_tensors(tensors: Any, name: Any = None) -> Dataset:
        element = normalized(tensors)
        return _made("TensorDataset", spec_of(element), tensors_of(element))

    @staticmethod
    def from_tensor_slices(tensors: Any, name: Any = None) -> Dataset:
        element = normalized(tensors)
        spec = mapped(lambda each: TensorSpec(each.shape[1:], each.dtype), spec_of(element))
        return _made("TensorSliceDataset", spec, tensors_of(element))

    @staticmethod
    def range(*args: Any, output_type: Any = int64, name: Any = None) -> Dataset:
        limits = {1: (0, *args, 1), 2: (*args, 1), 3: args}[len(args)]
        labels = zip(limits, ("start", "stop", "step"), strict=True)
        numbers = [convert_to_tensor(each, int64, label) for each, label in labels]
        return _made("RangeDataset", TensorSpec(SCALAR, output_type), *numbers)

    @staticmethod
    def zip(*args: Any, datasets: Any = None, name: Any = None) -> Dataset:
        nested = datasets if datasets is not None else args[0] if len(args) == 1 else args
        spec = mapped(lambda each: each.element_spec, nested)
        flat = flatten(nested)
        return _made("ZipDataset", spec, [each.variant for each in flat], keeps=flat)

    # -- with a function

    def map(
        self,
        map_func: Callable[..., Any],
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        name: Any = None,
    ) -> Dataset:
        """`map_func` of each element."""
        function = _Function(map_func, "Dataset_map", self.element_spec)
        if num_parallel_calls is None:
            return self._with("MapDataset", function.output_spec, function=function)
        calls = convert_to_tensor(num_parallel_calls, int64, "num_parallel_calls")
        how, spec = str(deterministic).lower(), function.output_spec
        how = "default" if deterministic is None else how
        return self._with("ParallelMapDatasetV2", spec, calls, function=function, deterministic=how)

    def filter(self, predicate: Callable[..., Any], name: Any = None) -> Dataset:
        function = _Function(predicate, "Dataset_filter", self.element_spec)
        return self._with("FilterDataset", self.element_spec, function=function, label="predicate")

    def flat_map(self, map_func: Callable[..., Any], name: Any = None) -> Dataset:
        function = _Function(map_func, "Dataset_flat_map", self.element_spec)
        return self._with("FlatMapDataset", function.output_spec.element_spec, function=function)

    def interleave(
        self,
        map_func: Callable[..., Any],
        cycle_length: Any = None,
        block_length: Any = None,
        num_parallel_calls: Any = None,
        deterministic: Any = None,
        name: Any = None,
    ) -> Dataset:
        function = _Function(map_func, "Dataset_interleave", self.element_spec)
        numbers = {"cycle_length": cycle_length or AUTOTUNE, "block_length": block_length or 1}
        type_ = "InterleaveDataset"
        if num_parallel_calls is not None:
            type_ = "ParallelInterleaveDatasetV4"
            numbers |= {"buffer_output_elements": AUTOTUNE, "prefetch_input_elements": AUTOTUNE}
            numbers["num_parallel_calls"] = num_parallel_calls
        given = [convert_to_tensor(each, int64, label) for label, each in numbers.items()]
        return self._with(type_, function.output_spec.element_spec, *given, function=function)

    def reduce(self, initial_state: Any, reduce_func: Callable[..., Any], name: Any = None) -> Any:
        with op_scope(None, "initial_state"):
            state = normalized(initial_state)
        spec = spec_of(state)
        function = _Function(reduce_func, "reduce", (spec, self.element_spec))
        inputs = self.variant, tensors_of(state), function.captured
        found = O.ReduceDataset(*inputs, f=function.definition, **outputs_of(spec))
        return restored(spec, found)

    # -- with a number

    def batch(
        self, batch_size: Any, drop_remainder: bool = False, name: Any = None, **_: Any
    ) -> Dataset:
        size = convert_to_tensor(batch_size, int64, "batch_size")
        drops = convert_to_tensor(drop_remainder, bool_, "drop_remainder")
        known = known_value(size) if drop_remainder else None
        first = [None if known is None else int(known)]
        spec = mapped(
            lambda e: TensorSpec(TensorShape(first) + e.shape, e.dtype), self.element_spec
        )
        return self._with("BatchDatasetV2", spec, size, drops)

    def shuffle(
        self,
        buffer_size: Any,
        seed: Any = None,
        reshuffle_each_iteration: Any = None,
        name: Any = None,
    ) -> Dataset:
        size = convert_to_tensor(buffer_size, int64, "buffer_size")
        seeds = _seeds(seed)
        again = reshuffle_each_iteration is not False
        given = (size, *seeds, O.DummySeedGenerator())
        spec = self.element_spec
        return self._with("ShuffleDatasetV3", spec, *given, reshuffle_each_iteration=again)

    def repeat(self, count: Any = None, name: Any = None) -> Dataset:
        return self._numbered("RepeatDataset", "count", -1 if count is None else count)

    def take(self, count: Any, name: Any = None) -> Dataset:
        return self._numbered("TakeDataset", "count", count)

    def prefetch(self, buffer_size: Any, name: Any = None) -> Dataset:
        """The same. NB: nothing is made ahead here."""
        return self._numbered("PrefetchDataset", "buffer_size", buffer_size)

    # -- others

    def concatenate(self, dataset: Dataset, name: Any = None) -> Dataset:
        others = iter(flatten(dataset.element_spec))

        def common(each: Any) -> Any:
            shape = each.shape.most_specific_compatible_shape(next(others).shape)
            return TensorSpec(shape, each.dtype)

        spec = mapped(common, self.element_spec)
        return self._with("ConcatenateDataset", spec, dataset.variant)

    def with_options(self, options: Any = None) -> Dataset:
        """With other options. NB: they change nothing."""
        del options
        return self._with("OptionsDataset", self.element_spec, serialized_options="")

    def cardinality(self) -> Any:
        return O.DatasetCardinality(self.variant)

    def __len__(self) -> int:
        number = int(self.cardinality())
        if number < 0:
            raise TypeError("The length of the dataset is infinite or unknown.")
        return number

    def __iter__(self) -> OwnedIterator:
        return OwnedIterator(self)

    def __autograph_for__(self, over: Callable[[Any], None]) -> None:
        over(OwnedIterator(self))  # NB: TensorFlow reduces a dataset by scan and reduce

    def as_numpy_iterator(self) -> Iterator[Any]:
        for element in self:
            yield mapped(lambda tensor: tensor.numpy(), element)

    def __getattr__(self, name: str) -> Any:
        return missing("tf.data.Dataset", name)

    def _numbered(self, type_: str, label: str, value: Any) -> Dataset:
        return self._with(type_, self.element_spec, convert_to_tensor(value, int64, label))

    def _with(
        self,
        type_: str,
        spec: Any,
        *inputs: Any,
        function: _Function | None = None,
        label: str = "f",
        **attributes: Any,
    ) -> Dataset:
        before = [self.variant]
        if function is not None:
            attributes[label] = function.definition
            before.append(function.captured)
        return _made(type_, spec, *before, *inputs, keeps=(self, function), **attributes)


def _made(type_: str, spec: Any, *inputs: Any, keeps: Any = (), **attributes: Any) -> Dataset:
    return Dataset(call(type_, *inputs, **outputs_of(spec), **attributes), spec, keeps)


def _seeds(seed: int | None) -> list[Any]:
    """`tf.data`'s seeds: by ops. See `python/data/util/random_seed.py`."""
    first, second = random.get_seed(seed)
    seed1 = convert_to_tensor(first, int64, name="seed")
    if not first and not second and seed is None:
        return [seed1, convert_to_tensor(0, int64, name="seed2")]
    with op_scope(None, "seed2") as scope:
        seed2 = convert_to_tensor(second, int64)
        zero = O.LogicalAnd(O.Equal(seed1, 0), O.Equal(seed2, 0))
        return [seed1, where(zero, constant(2**31 - 1, int64), seed2, name=scope)]


# -- iterating


class OwnedIterator:
    """Goes through a dataset once."""

    def __init__(self, dataset: Any = None, resource: Any = None, spec: Any = None) -> None:
        self._dataset, self.resource, self.element_spec = dataset, resource, spec
        if dataset is not None:
            self.element_spec = dataset.element_spec
            self.resource = O.AnonymousIteratorV3(**outputs_of(self.element_spec))
            O.MakeIterator(dataset.variant, self.resource)

    def composite(self) -> tuple[Any, list[Any], Callable[..., Any]]:
        spec = self.element_spec
        key = ("iterator", str(spec))
        return key, [self.resource], lambda resource: OwnedIterator(None, resource, spec)

    def get_next(self) -> Any:
        found = O.IteratorGetNext(self.resource, **outputs_of(self.element_spec))
        return restored(self.element_spec, found)

    def get_next_as_optional(self) -> Optional:
        found = O.IteratorGetNextAsOptional(self.resource, **outputs_of(self.element_spec))
        return Optional(found, self.element_spec)

    def __iter__(self) -> OwnedIterator:
        return self

    def __next__(self) -> Any:
        try:
            return self.get_next()
        except OutOfRangeError:
            raise StopIteration from None

    def __autograph_for__(self, over: Callable[[Any], None]) -> None:
        over(self)


class Optional:
    """An element, or nothing."""

    def __init__(self, variant: Any, element_spec: Any) -> None:
        self.variant, self.element_spec = variant, element_spec

    @classmethod
    def from_value(cls, value: Any) -> Optional:
        with op_scope(None, "optional") as scope:
            spec = spec_of(normalized(value))
            return cls(O.OptionalFromValue(tensors_of(value), name=scope), spec)

    def composite(self) -> tuple[Any, list[Any], Callable[..., Any]]:
        spec = self.element_spec
        return ("optional", str(spec)), [self.variant], lambda variant: Optional(variant, spec)

    def has_value(self) -> Any:
        return O.OptionalHasValue(self.variant)

    def get_value(self) -> Any:
        found = O.OptionalGetValue(self.variant, **outputs_of(self.element_spec))
        return restored(self.element_spec, found)
