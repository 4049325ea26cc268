"""`tf.data.Dataset`: each method calls one op, whose variant tensor stands for the new dataset.

Nothing is computed until an iterator asks for elements (iterator.py); what happens then is in
elements.py.

Told about: `tensorflow/python/data/ops/dataset_ops.py` and the `*_op.py` beside it.
NB: TensorFlow has a class per transformation (`_MapDataset`); here `kind` says which one this would
be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tflogscope.runtime import dtypes
from tflogscope.runtime.api.missing import MissingName
from tflogscope.runtime.constant_value import constant_value
from tflogscope.runtime.context import executing_eagerly, inside_function, op_scope
from tflogscope.runtime.conversion import convert_to_tensor
from tflogscope.runtime.data import making, ops, structure
from tflogscope.runtime.data.for_loops import for_dataset
from tflogscope.runtime.data.functions import MappedFunction, dataset_function, function_with_state
from tflogscope.runtime.data.iterator import OwnedIterator
from tflogscope.runtime.data.making import deterministic_attribute, int64, tensor_dtypes
from tflogscope.runtime.data.options import Options
from tflogscope.runtime.data.regrouping import Regrouping
from tflogscope.runtime.data.seeds import get_seeds
from tflogscope.runtime.data.sources import Sources, made_by
from tflogscope.runtime.errors import NotInThisRuntime
from tflogscope.runtime.release import since
from tflogscope.runtime.shapes import SCALAR, as_shape
from tflogscope.runtime.tensors import TensorSpec

__all__ = ["AUTOTUNE", "INFINITE_CARDINALITY", "UNKNOWN_CARDINALITY", "Dataset", "DatasetSpec"]

AUTOTUNE = -1
INFINITE_CARDINALITY, UNKNOWN_CARDINALITY = -1, -2


class Dataset(Sources, Regrouping):
    """A sequence of elements of one structure, made when asked for."""

    def __init__(
        self,
        variant: Any,
        element_spec: Any,
        kind: str = "_VariantDataset",
        inputs: Sequence[Dataset] = (),
    ) -> None:
        self._variant_tensor = variant
        self.element_spec = element_spec
        self._kind = kind
        self._options = Options()
        self._inputs = tuple(inputs)
        # The op's attribute alone would not keep what the functions captured.
        self._functions: list[MappedFunction] = []
        for source in inputs:
            self._options.merge(source._options)

    # Transformations with a function

    def map(
        self,
        map_func: Callable[..., Any],
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Each element through a function; `num_parallel_calls` of them at a time."""
        function = MappedFunction(map_func, "Dataset_map", self.element_spec)
        attributes: Any = {"use_inter_op_parallelism": True, "preserve_cardinality": True}
        if num_parallel_calls is None:
            attributes |= {"force_synchronous": False} if since(2, 18) else {}
            return self._with("_MapDataset", function.output_spec, name, f=function, **attributes)
        calls = {"num_parallel_calls": int64(num_parallel_calls, "num_parallel_calls")}
        return self._with(
            "_ParallelMapDataset",
            function.output_spec,
            name,
            calls,
            op="ParallelMapDatasetV2",
            f=function,
            deterministic=deterministic_attribute(deterministic),
            **attributes,
        )

    def filter(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """The elements for which a function says true. Raises ValueError unless it gives a scalar
        bool.
        """
        return self._tested("filter", predicate, name)

    def take_while(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """The elements before the first for which a function says false."""
        return self._tested("take_while", predicate, name)

    def _tested(self, method: str, predicate: Callable[..., Any], name: str | None) -> Dataset:
        function = MappedFunction(predicate, f"Dataset_{method}", self.element_spec)
        spec = function.output_spec
        if not (
            isinstance(spec, TensorSpec)
            and spec.is_compatible_with(TensorSpec(SCALAR, dtypes.bool_))
        ):
            raise ValueError(
                "Invalid `predicate`. `predicate` must return a `tf.bool` scalar tensor, but its "
                f"return type is {spec}."
            )
        kind = {"filter": "_FilterDataset", "take_while": "_TakeWhileDataset"}[method]
        return self._with(kind, self.element_spec, name, predicate=function)

    def flat_map(self, map_func: Callable[..., Any], name: str | None = None) -> Dataset:
        """The elements of the datasets that a function makes of each element, one dataset after the
        other.
        """
        function = dataset_function(map_func, "Dataset_flat_map", self.element_spec)
        return self._with("_FlatMapDataset", function.output_spec.element_spec, name, f=function)

    def interleave(
        self,
        map_func: Callable[..., Any],
        cycle_length: Any = None,
        block_length: Any = None,
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """As `flat_map`, with `cycle_length` datasets in turn, `block_length` elements of each."""
        function = dataset_function(map_func, "Dataset_interleave", self.element_spec)
        spec = function.output_spec.element_spec
        numbers = {
            "cycle_length": int64(
                AUTOTUNE if cycle_length is None else cycle_length, "cycle_length"
            ),
            "block_length": int64(1 if block_length is None else block_length, "block_length"),
        }
        if num_parallel_calls is None:
            return self._with("_InterleaveDataset", spec, name, numbers, f=function)
        for what in ("buffer_output_elements", "prefetch_input_elements"):
            numbers[what] = int64(AUTOTUNE, what)
        numbers["num_parallel_calls"] = int64(num_parallel_calls, "num_parallel_calls")
        return self._with(
            "_ParallelInterleaveDataset",
            spec,
            name,
            numbers,
            op="ParallelInterleaveDatasetV4",
            f=function,
            deterministic=deterministic_attribute(deterministic),
        )

    def scan(
        self, initial_state: Any, scan_func: Callable[..., Any], name: str | None = None
    ) -> Dataset:
        """`new_state, result = scan_func(state, element)` for each element; the results are the
        elements.
        """
        return self._scanned(initial_state, scan_func, name)

    def _scanned(
        self, initial_state: Any, scan_func: Callable[..., Any], name: str | None, **extra: Any
    ) -> Dataset:
        state = structure.normalize_element(initial_state)
        function, state_spec = function_with_state(
            scan_func, "Dataset_scan", state, self.element_spec, state_at=0
        )
        spec = function.output_spec[1]
        return self._with(
            "_ScanDataset", spec, name, {}, f=function, state=structure.to_tensors(state),
            Tstate=structure.dtypes(state_spec), preserve_cardinality=True, **extra,
        )  # fmt: skip

    def reduce(
        self, initial_state: Any, reduce_func: Callable[..., Any], name: str | None = None
    ) -> Any:
        """The last state, where `reduce_func(state, element)` gives the next. An op: it runs
        through all elements.
        """
        del name
        with op_scope(None, "initial_state"):
            state = structure.normalize_element(initial_state)
        function, state_spec = function_with_state(reduce_func, "reduce", state, self.element_spec)
        inputs = {
            "input_dataset": self._variant_tensor,
            "initial_state": structure.to_tensors(state),
            "other_arguments": function.captured_inputs,
        }
        attributes = {
            "f": function.function,
            "use_inter_op_parallelism": True,
            "metadata": b"",
            "Tstate": structure.dtypes(state_spec),
            "Targuments": tensor_dtypes(function.captured_inputs),
            "output_types": structure.dtypes(state_spec),
            "output_shapes": structure.shapes(state_spec),
        }
        return structure.from_tensors(state_spec, ops.call("ReduceDataset", inputs, attributes))

    # Transformations with a number

    def batch(
        self,
        batch_size: Any,
        drop_remainder: bool = False,
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """`batch_size` elements at a time, stacked."""
        size = int64(batch_size, "batch_size")
        dropping = convert_to_tensor(drop_remainder, dtypes.bool_, "drop_remainder")
        known = constant_value(size) if constant_value(dropping) else None
        spec = making.batched(self.element_spec, None if known is None else int(known))
        if num_parallel_calls is None:
            inputs = {"batch_size": size, "drop_remainder": dropping}
            return self._with(
                "_BatchDataset", spec, name, inputs, op="BatchDatasetV2", parallel_copy=False
            )
        inputs = {
            "batch_size": size,
            "num_parallel_calls": int64(num_parallel_calls, "num_parallel_calls"),
            "drop_remainder": dropping,
        }
        return self._with(
            "_ParallelBatchDataset", spec, name, inputs, parallel_copy=False,
            deterministic=deterministic_attribute(deterministic),
        )  # fmt: skip

    def shuffle(
        self,
        buffer_size: Any,
        seed: int | None = None,
        reshuffle_each_iteration: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Elements drawn at random from a buffer of `buffer_size`; in another order each time."""
        size = int64(buffer_size, "buffer_size")
        seed1, seed2 = get_seeds(seed)
        inputs = {"buffer_size": size, "seed": seed1, "seed2": seed2}
        inputs["seed_generator"] = ops.call("DummySeedGenerator", {}, {})[0]
        again = True if reshuffle_each_iteration is None else reshuffle_each_iteration
        return self._with(
            "_ShuffleDataset",
            self.element_spec,
            name,
            inputs,
            op="ShuffleDatasetV3",
            reshuffle_each_iteration=again,
        )

    def repeat(self, count: Any = None, name: str | None = None) -> Dataset:
        """The elements `count` times; without end if it is None or -1."""
        number = {"count": int64(-1 if count is None else count, "count")}
        return self._with("_RepeatDataset", self.element_spec, name, number)

    def take(self, count: Any, name: str | None = None) -> Dataset:
        """The first `count` elements."""
        return self._with("_TakeDataset", self.element_spec, name, {"count": int64(count, "count")})

    def skip(self, count: Any, name: str | None = None) -> Dataset:
        """The elements after the first `count`."""
        return self._with("_SkipDataset", self.element_spec, name, {"count": int64(count, "count")})

    def prefetch(self, buffer_size: Any, name: str | None = None) -> Dataset:
        """The same elements, made before they are asked for."""
        size = {
            "buffer_size": int64(AUTOTUNE if buffer_size is None else buffer_size, "buffer_size")
        }
        return self._with(
            "_PrefetchDataset",
            self.element_spec,
            name,
            size,
            slack_period=0,
            legacy_autotune=True,
            buffer_size_min=0,
        )

    # Others

    def concatenate(self, dataset: Dataset, name: str | None = None) -> Dataset:
        """These elements, then those of `dataset`."""
        spec = making.most_general(self.element_spec, dataset.element_spec)
        inputs = {"input_dataset": self._variant_tensor, "another_dataset": dataset._variant_tensor}
        return made_by("_ConcatenateDataset", (self, dataset), spec, inputs, name)

    def enumerate(self, start: Any = 0, name: str | None = None) -> Dataset:
        """Pairs of a number and an element."""
        numbers = Dataset.range(start, np.iinfo(np.int64).max)
        rewritten = {"rewrite_name": "replicate_on_split"}
        numbers = numbers._with("_RewriteDataset", numbers.element_spec, None, rewritten)
        return Dataset.zip((numbers, self), name=name)

    def cache(self, filename: str = "", name: str | None = None) -> Dataset:
        """The elements, made in the first iteration and kept for the others. Only in memory."""
        if filename:
            raise NotInThisRuntime("Dataset.cache(filename)")
        inputs = {"filename": convert_to_tensor(filename, dtypes.string, "filename")}
        inputs["cache"] = ops.call("DummyMemoryCache", {}, {})[0]
        return self._with("CacheDataset", self.element_spec, name, inputs, op="CacheDatasetV2")

    def with_options(self, options: Options, name: str | None = None) -> Dataset:
        """The same elements, made with these options."""
        made = self._with(
            "_OptionsDataset", self.element_spec, name, serialized_options=options.serialized()
        )
        made._options.merge(options)
        return made

    def options(self) -> Options:
        """The options set so far."""
        return self._options

    def apply(self, transformation_func: Callable[[Dataset], Dataset]) -> Dataset:
        """`transformation_func(self)`."""
        return transformation_func(self)

    def cardinality(self) -> Any:
        """How many elements, as a scalar int64 tensor: INFINITE_CARDINALITY or UNKNOWN_CARDINALITY
        where that is so.
        """
        return ops.call(
            "DatasetCardinality",
            {"input_dataset": self._variant_tensor},
            {"cardinality_options": b""},
        )[0]

    # As Python sees it

    def get_single_element(self, name: str | None = None) -> Any:
        """The element of a dataset that has one. Raises InvalidArgumentError for another number."""
        flat = making.tensors_of("DatasetToSingleElement", self, name)
        return structure.from_tensors(self.element_spec, flat)

    def __iter__(self) -> OwnedIterator:
        if executing_eagerly() or inside_function():
            return OwnedIterator.over(self)
        raise RuntimeError(
            "`tf.data.Dataset` only supports Python-style iteration in eager mode or within "
            "tf.function."
        )

    def __len__(self) -> int:
        if not executing_eagerly():
            raise TypeError(
                "`tf.data.Dataset` only supports `len` in eager mode. Use "
                "`tf.data.Dataset.cardinality()`."
            )
        number = int(self.cardinality())
        if number == INFINITE_CARDINALITY:
            raise TypeError("The dataset is infinite.")
        if number == UNKNOWN_CARDINALITY:
            raise TypeError("The dataset length is unknown.")
        return number

    def __bool__(self) -> bool:
        return True

    def __autograph_for__(
        self, extra_test: Any, body: Any, get_state: Any, set_state: Any, names: Any, options: Any
    ) -> None:
        """`for` over it in a function that AutoGraph converts."""
        for_dataset(self, extra_test, body, get_state, set_state, names, options)

    def as_numpy_iterator(self) -> Iterator[Any]:
        """The elements with arrays in place of tensors."""
        for element in self:
            yield structure.map_structure(lambda tensor: tensor.numpy(), element)

    def __repr__(self) -> str:
        return f"<{self._kind} element_spec={self.element_spec!r}>"

    def __getattr__(self, name: str) -> Any:
        if name in _ABSENT:
            raise MissingName(f"tf.data.Dataset.{name}")
        raise AttributeError(f"'{self._kind}' object has no attribute {name!r}")

    @property
    def _type_spec(self) -> DatasetSpec:
        return DatasetSpec(self.element_spec)

    def _with(
        self,
        kind: str,
        spec: Any,
        name: str | None,
        inputs: dict[str, Any] | None = None,
        **attributes: Any,
    ) -> Dataset:
        """A dataset made of this one by an op."""
        first = {"input_dataset": self._variant_tensor}
        function = attributes.get("f", attributes.get("predicate"))
        if "state" in attributes:
            first["initial_state"] = attributes.pop("state")
        if function is not None:
            first["other_arguments"] = function.captured_inputs
            attributes["f" if "f" in attributes else "predicate"] = function.function
            attributes["Targuments"] = tensor_dtypes(function.captured_inputs)
        made = made_by(kind, (self,), spec, first | (inputs or {}), name, **attributes)
        made._functions += [function] if function is not None else []
        return made


class DatasetSpec:
    """The spec of a dataset that is itself a component, or what a function returns."""

    def __init__(self, element_spec: Any, dataset_shape: Any = ()) -> None:
        self.element_spec = element_spec
        self.dataset_shape = as_shape(dataset_shape)

    @property
    def _component_specs(self) -> tuple[TensorSpec]:
        return (TensorSpec(self.dataset_shape, dtypes.variant),)

    def _to_components(self, value: Dataset) -> list[Any]:
        return [value._variant_tensor]

    def _from_components(self, components: list[Any]) -> Dataset:
        return Dataset(components[0], self.element_spec)

    def is_subtype_of(self, other: object) -> bool:
        """Would a dataset of this spec do where one of `other` is asked for?"""
        return isinstance(other, DatasetSpec) and structure.is_subtype(
            self.element_spec, other.element_spec
        )

    def common_supertype(self, other: object) -> DatasetSpec | None:
        """The narrowest spec that includes both, None if there is none."""
        if not isinstance(other, DatasetSpec):
            return None
        spec = structure.common_supertype(self.element_spec, other.element_spec)
        return None if spec is None else DatasetSpec(spec)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DatasetSpec) and self.element_spec == other.element_spec

    def __hash__(self) -> int:
        return hash((DatasetSpec, *structure.flatten(self.element_spec)))

    def __repr__(self) -> str:
        return f"DatasetSpec({self.element_spec!r}, {self.dataset_shape!r})"


class _Absent:
    """A method that the real `Dataset` has. Raises MissingName, which names it."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, dataset: Any, kind: type) -> Any:
        raise MissingName(f"tf.data.Dataset.{self._name}")


_ABSENT = (
    "list_files", "load", "ragged_batch", "rejection_resample", "save", "snapshot", "sparse_batch",
)  # fmt: skip
for _name in _ABSENT:
    _absent = _Absent()
    _absent.__set_name__(Dataset, _name)
    setattr(Dataset, _name, _absent)
