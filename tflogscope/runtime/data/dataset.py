"""`tf.data.Dataset`: each transformation is an op on the variant tensor of the dataset before it. See
`tensorflow/python/data/ops/dataset_ops.py`, `iterator_ops.py`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tflogscope.runtime.core import nest
from tflogscope.runtime.core.calls import O, call
from tflogscope.runtime.core.context import op_scope
from tflogscope.runtime.core.conversion import constant, convert_to_tensor
from tflogscope.runtime.core.dtypes import bool_, int64
from tflogscope.runtime.core.errors import OutOfRangeError, missing
from tflogscope.runtime.core.known import known_value
from tflogscope.runtime.core.shapes import SCALAR, TensorShape
from tflogscope.runtime.core.tensors import TensorSpec
from tflogscope.runtime.function.autograph.conversion import convert
from tflogscope.runtime.function.polymorphic import PolymorphicFunction
from tflogscope.runtime.library import random
from tflogscope.runtime.library.slices import where
from tflogscope.runtime.passes import DATA_FUNCTION

AUTOTUNE = -1


# -- the structure of an element: tuples and dictionaries of tensors and datasets; a list is a tensor


class DatasetSpec(TensorSpec):
    """What a dataset is: a variant tensor, whose elements are described."""

    def __init__(self, element_spec: Any) -> None:
        super().__init__(SCALAR, "variant")
        self.element_spec = element_spec


def normalized(value: Any) -> Any:
    """The structure with tensors in it."""
    numbers = itertools.count()

    def walk(part: Any) -> Any:
        if isinstance(part, (tuple, Mapping)):
            return nest.like(part, [walk(each) for each in nest.children(part)])
        name = f"component_{next(numbers)}"
        return part if isinstance(part, Dataset) else convert_to_tensor(part, name=name)

    with op_scope(None, "normalize_element"):
        return walk(value)


def spec_of(element: Any) -> Any:
    def describe(each: Any) -> TensorSpec:
        if isinstance(each, Dataset):
            return DatasetSpec(each.element_spec)
        return TensorSpec(each.shape, each.dtype)

    return nest.map_structure(describe, element)


def tensors_of(element: Any) -> list[Any]:
    return [getattr(each, "variant", each) for each in nest.flatten(element)]


def restored(spec: Any, tensors: Sequence[Any]) -> Any:
    """The element that is made of these tensors."""
    left = iter(tensors)

    def leaf(each: Any) -> Any:
        tensor = next(left)
        tensor.set_shape(each.shape)
        return Dataset(tensor, each.element_spec) if isinstance(each, DatasetSpec) else tensor

    return nest.map_structure(leaf, spec)


def outputs_of(spec: Any) -> dict[str, Any]:
    pairs = [(each.dtype, each.shape) for each in nest.flatten(spec)]
    return dict(zip(("output_types", "output_shapes"), zip(*pairs, strict=True), strict=True))


class _Function:
    """A function that a dataset calls, traced."""

    def __init__(self, function: Callable[..., Any], name: str, input_spec: Any) -> None:
        self.output_spec: Any = None
        converted = convert(function)

        def wrapped(*args: Any) -> list[Any]:
            given = restored(input_spec, args)
            result = normalized(converted(*given) if type(given) is tuple else converted(given))
            self.output_spec = spec_of(result)
            return tensors_of(result)

        label = f"{name}_{function.__name__}".replace("<lambda>", "lambda")
        specs = [TensorSpec(each.shape, each.dtype) for each in nest.flatten(input_spec)]
        options: Any = {"name": label, "autograph": False}
        staged = PolymorphicFunction(wrapped, specs, {DATA_FUNCTION: True}, **options)
        traced = staged.get_concrete_function()
        self.definition = traced.inference.definition
        self.captured = list(traced.captured_inputs)


class Dataset:
    """A sequence of elements."""

    def __init__(self, variant: Any, element_spec: Any, keeps: Any = ()) -> None:
        self.variant, self.element_spec, self._keeps = variant, element_spec, keeps

    # -- sources

    @staticmethod
    def from_tensors(tensors: Any) -> Dataset:
        element = normalized(tensors)
        return _made("TensorDataset", spec_of(element), tensors_of(element))

    @staticmethod
    def from_tensor_slices(tensors: Any) -> Dataset:
        element = normalized(tensors)
        rows = nest.map_structure(lambda e: TensorSpec(e.shape[1:], e.dtype), spec_of(element))
        return _made("TensorSliceDataset", rows, tensors_of(element))

    @staticmethod
    def range(*args: Any, output_type: Any = int64) -> Dataset:
        limits = {1: (0, *args, 1), 2: (*args, 1), 3: args}[len(args)]
        numbers = _int64(**dict(zip(("start", "stop", "step"), limits, strict=True)))
        return _made("RangeDataset", TensorSpec(SCALAR, output_type), *numbers)

    @staticmethod
    def zip(datasets: Any) -> Dataset:
        flat = nest.flatten(datasets)
        spec = nest.map_structure(lambda each: each.element_spec, datasets)
        return _made("ZipDataset", spec, [each.variant for each in flat], keeps=flat)

    # -- with a function

    def map(self, map_func: Callable[..., Any], num_parallel_calls: Any = None) -> Dataset:
        function = _Function(map_func, "Dataset_map", self.element_spec)
        spec, numbers = function.output_spec, _int64(num_parallel_calls=num_parallel_calls)
        type_ = "ParallelMapDatasetV2" if numbers else "MapDataset"
        return self._then(type_, spec, function.captured, *numbers, f=function)

    def filter(self, predicate: Callable[..., Any]) -> Dataset:
        function = _Function(predicate, "Dataset_filter", self.element_spec)
        return self._then("FilterDataset", None, function.captured, predicate=function)

    def flat_map(self, map_func: Callable[..., Any]) -> Dataset:
        function = _Function(map_func, "Dataset_flat_map", self.element_spec)
        spec = function.output_spec.element_spec
        return self._then("FlatMapDataset", spec, function.captured, f=function)

    def interleave(
        self,
        map_func: Callable[..., Any],
        cycle_length: Any = AUTOTUNE,
        block_length: Any = 1,
        num_parallel_calls: Any = None,
    ) -> Dataset:
        function = _Function(map_func, "Dataset_interleave", self.element_spec)
        type_, spec = "InterleaveDataset", function.output_spec.element_spec
        numbers = _int64(cycle_length=cycle_length, block_length=block_length)
        if num_parallel_calls is not None:
            type_ = "ParallelInterleaveDatasetV4"
            numbers += _int64(
                buffer_output_elements=AUTOTUNE,
                prefetch_input_elements=AUTOTUNE,
                num_parallel_calls=num_parallel_calls,
            )
        return self._then(type_, spec, function.captured, *numbers, f=function)

    def reduce(self, initial_state: Any, reduce_func: Callable[..., Any]) -> Any:
        with op_scope(None, "initial_state"):
            state = normalized(initial_state)
        spec = spec_of(state)
        function = _Function(reduce_func, "reduce", (spec, self.element_spec))
        inputs = self.variant, tensors_of(state), function.captured
        found = O.ReduceDataset(*inputs, f=function.definition, **outputs_of(spec))
        return restored(spec, found)

    # -- with a number

    def batch(self, batch_size: Any, drop_remainder: bool = False) -> Dataset:
        (size,) = _int64(batch_size=batch_size)
        drops = convert_to_tensor(drop_remainder, bool_, "drop_remainder")
        known = known_value(size) if drop_remainder else None
        first = TensorShape([None if known is None else int(known)])
        spec = nest.map_structure(
            lambda each: TensorSpec(first + each.shape, each.dtype), self.element_spec
        )
        return self._then("BatchDatasetV2", spec, size, drops)

    def shuffle(self, buffer_size: Any, seed: Any = None) -> Dataset:
        given = *_int64(buffer_size=buffer_size), *_seeds(seed), O.DummySeedGenerator()
        return self._then("ShuffleDatasetV3", None, *given)

    def repeat(self, count: Any = -1) -> Dataset:
        return self._then("RepeatDataset", None, *_int64(count=-1 if count is None else count))

    def take(self, count: Any) -> Dataset:
        return self._then("TakeDataset", None, *_int64(count=count))

    def prefetch(self, buffer_size: Any) -> Dataset:
        """The same. NB: nothing is made ahead here."""
        return self._then("PrefetchDataset", None, *_int64(buffer_size=buffer_size))

    # -- others

    def concatenate(self, dataset: Dataset) -> Dataset:
        def common(one: Any, other: Any) -> Any:
            return TensorSpec(one.shape.most_specific_compatible_shape(other.shape), one.dtype)

        spec = nest.map_structure(common, self.element_spec, dataset.element_spec)
        return self._then("ConcatenateDataset", spec, dataset.variant)

    def with_options(self) -> Dataset:
        """With other options. NB: they change nothing."""
        return self._then("OptionsDataset", None)

    def cardinality(self) -> Any:
        return O.DatasetCardinality(self.variant)

    def __iter__(self) -> OwnedIterator:
        resource = O.AnonymousIteratorV3(**outputs_of(self.element_spec))
        O.MakeIterator(self.variant, resource)
        return OwnedIterator(resource, self.element_spec, self)

    def __autograph_for__(self, over: Callable[[Any], None]) -> None:
        over(iter(self))  # NB: TensorFlow reduces a dataset by scan and reduce

    def __getattr__(self, name: str) -> Any:
        return missing("tf.data.Dataset", name)

    def _then(self, type_: str, spec: Any, *inputs: Any, **functions: Any) -> Dataset:
        """What another op makes of it; the spec of its elements is the same if that is None."""
        spec = self.element_spec if spec is None else spec
        definitions = {label: each.definition for label, each in functions.items()}
        keeps = (self, functions)
        return _made(type_, spec, self.variant, *inputs, keeps=keeps, **definitions)


def _int64(**numbers: Any) -> list[Any]:
    """Those that are given, as tensors of these names."""
    given = {label: value for label, value in numbers.items() if value is not None}
    return [convert_to_tensor(value, int64, label) for label, value in given.items()]


def _made(type_: str, spec: Any, *inputs: Any, keeps: Any = (), **attributes: Any) -> Dataset:
    return Dataset(call(type_, *inputs, **outputs_of(spec), **attributes), spec, keeps)


def _seeds(seed: int | None) -> list[Any]:
    """`tf.data`'s seeds: by ops. See `python/data/util/random_seed.py`."""
    first, second = random.get_seed(seed)
    seed1 = convert_to_tensor(first, int64, name="seed")
    if seed is None and not first and not second:
        return [seed1, convert_to_tensor(0, int64, name="seed2")]
    with op_scope(None, "seed2") as scope:
        seed2 = convert_to_tensor(second, int64)
        zero = O.LogicalAnd(O.Equal(seed1, 0), O.Equal(seed2, 0))
        return [seed1, where(zero, constant(2**31 - 1, int64), seed2, name=scope)]


# -- iterating


class _OfElements:
    """A tensor that leads to elements."""

    def __init__(self, variant: Any, element_spec: Any, keeps: Any = ()) -> None:
        self.variant, self.element_spec, self._keeps = variant, element_spec, keeps

    def composite(self) -> tuple[Any, list[Any], Callable[..., Any]]:
        kind, spec = type(self), self.element_spec
        return (kind.__name__, str(spec)), [self.variant], lambda tensor: kind(tensor, spec)


class OwnedIterator(_OfElements):
    """Goes through a dataset once."""

    def get_next(self) -> Any:
        found = O.IteratorGetNext(self.variant, **outputs_of(self.element_spec))
        return restored(self.element_spec, found)

    def get_next_as_optional(self) -> Optional:
        found = O.IteratorGetNextAsOptional(self.variant, **outputs_of(self.element_spec))
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


class Optional(_OfElements):
    """An element, or nothing."""

    @classmethod
    def from_value(cls, value: Any) -> Optional:
        with op_scope(None, "optional") as scope:
            element = normalized(value)
            return cls(O.OptionalFromValue(tensors_of(element), name=scope), spec_of(element))

    def has_value(self) -> Any:
        return O.OptionalHasValue(self.variant)

    def get_value(self) -> Any:
        found = O.OptionalGetValue(self.variant, **outputs_of(self.element_spec))
        return restored(self.element_spec, found)
