"""Methods of `Dataset` that cut elements up, put them together or leave some out in other ways than
`batch`, `filter` and `take`.

Told about: `tensorflow/python/data/ops/window_op.py`, `padded_batch_op.py`, `shard_op.py`,
`unbatch_op.py`, `rebatch_op.py`, `ignore_errors_op.py`, `unique_op.py`, `group_by_window_op.py`,
`choose_from_datasets_op.py`, `sample_from_datasets_op.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tflogscope.runtime import dtypes
from tflogscope.runtime.conversion import convert_to_tensor
from tflogscope.runtime.data import making, structure
from tflogscope.runtime.data.functions import MappedFunction, dataset_function
from tflogscope.runtime.data.making import int64, tensor_dtypes
from tflogscope.runtime.data.sources import made_by
from tflogscope.runtime.errors import NotInThisRuntime
from tflogscope.runtime.shapes import SCALAR, TensorShape, as_shape
from tflogscope.runtime.tensors import TensorSpec

if TYPE_CHECKING:
    from tflogscope.runtime.data.dataset import Dataset

__all__ = ["Regrouping"]


class Regrouping:
    """The part of `Dataset` that is about groups of elements."""

    element_spec: Any
    _variant_tensor: Any
    _with: Any
    _functions: list[MappedFunction]

    def window(
        self,
        size: Any,
        shift: Any = None,
        stride: Any = 1,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """`size` elements at a time, each component as a dataset of its own."""
        from tflogscope.runtime.data.dataset import DatasetSpec

        inputs = {
            "size": int64(size, "size"),
            "shift": int64(size if shift is None else shift, "shift"),
            "stride": int64(stride, "stride"),
            "drop_remainder": convert_to_tensor(drop_remainder, dtypes.bool_, "drop_remainder"),
        }
        spec = structure.map_structure(DatasetSpec, self.element_spec)
        return self._with("_WindowDataset", spec, name, inputs)  # type: ignore[no-any-return]

    def padded_batch(
        self,
        batch_size: Any,
        padded_shapes: Any = None,
        padding_values: Any = None,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """`batch_size` elements stacked, padded to `padded_shapes`; to the largest where those are
        None.
        """
        specs = structure.flatten(self.element_spec)
        shapes = [spec.shape for spec in specs]
        if padded_shapes is not None:
            given = _flat_shapes(padded_shapes, len(specs))
            shapes = [as_shape(each) for each in given]
            _check_padded(shapes, [spec.shape for spec in specs])
        values: list[Any] = [None] * len(specs)
        if padding_values is not None:
            values = structure.flatten(padding_values)
            values = values * len(specs) if len(values) == 1 else values
        paddings = [
            convert_to_tensor(_default(spec.dtype) if value is None else value, spec.dtype)
            for spec, value in zip(specs, values, strict=True)
        ]
        dims = [
            convert_to_tensor([-1 if dim is None else dim for dim in shape], dtypes.int64)
            for shape in shapes
        ]
        inputs = {
            "batch_size": int64(batch_size, "batch_size"),
            "padded_shapes": dims,
            "padding_values": paddings,
            "drop_remainder": convert_to_tensor(drop_remainder, dtypes.bool_, "drop_remainder"),
        }
        padded = [TensorSpec(shape, spec.dtype) for shape, spec in zip(shapes, specs, strict=True)]
        element = structure.pack_as(self.element_spec, padded)
        spec = making.batched(element, int(batch_size) if drop_remainder else None)
        return self._with(  # type: ignore[no-any-return]
            "_PaddedBatchDataset", spec, name, inputs, op="PaddedBatchDatasetV2",
            types="Toutput_types", parallel_copy=False, N=len(specs),
        )  # fmt: skip

    def unbatch(self, name: str | None = None) -> Dataset:
        """Each slice of each element. Raises ValueError for scalars."""
        for each in structure.flatten(self.element_spec):
            making.size_of(each)
        spec = structure.map_structure(
            lambda each: TensorSpec(each.shape[1:], each.dtype), self.element_spec
        )
        return self._dense()._with("_UnbatchDataset", spec, name)  # type: ignore[no-any-return]

    def _dense(self) -> Any:
        """The components as they are: TensorFlow makes dense here what is sparse or ragged, and
        maps the others all the same. Told about: `normalize_to_dense` of `dataset_ops.py`.
        """

        def normalize(*components: Any) -> Any:
            whole = components if type(self.element_spec) is tuple else components[0]
            return structure.to_tensors(whole)

        made: Any = self.map(normalize)  # type: ignore[attr-defined]
        made.element_spec = self.element_spec
        return made

    def rebatch(
        self, batch_size: Any, drop_remainder: bool = False, name: str | None = None
    ) -> Dataset:
        """Batches of another size; of several sizes in turn if it is a list."""
        sizes = batch_size if isinstance(batch_size, (list, tuple)) else [batch_size]
        inputs = {
            "batch_sizes": int64(list(sizes), "batch_sizes"),
            "drop_remainder": convert_to_tensor(drop_remainder, dtypes.bool_, "drop_remainder"),
        }
        slices = structure.map_structure(
            lambda each: TensorSpec(each.shape[1:], each.dtype), self.element_spec
        )
        known = int(sizes[0]) if drop_remainder and len(set(sizes)) == 1 else None
        spec = making.batched(slices, known)
        return self._dense()._with(  # type: ignore[no-any-return]
            "_RebatchDataset", spec, name, inputs, op="RebatchDatasetV2"
        )

    def shard(self, num_shards: Any, index: Any, name: str | None = None) -> Dataset:
        """Every `num_shards`th element, beginning with number `index`."""
        numbers = {"num_shards": int64(num_shards, "num_shards"), "index": int64(index, "index")}
        return self._with(  # type: ignore[no-any-return]
            "_ShardDataset", self.element_spec, name, numbers, require_non_empty=False
        )

    def ignore_errors(self, log_warning: bool = False, name: str | None = None) -> Dataset:
        """The elements that can be made."""
        return self._with(  # type: ignore[no-any-return]
            "_IgnoreErrorsDataset", self.element_spec, name, log_warning=log_warning
        )

    def unique(self, name: str | None = None) -> Dataset:
        """Each element once."""
        return self._with("_UniqueDataset", self.element_spec, name)  # type: ignore[no-any-return]

    def group_by_window(
        self,
        key_func: Callable[..., Any],
        reduce_func: Callable[..., Any],
        window_size: int | None = None,
        window_size_func: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Elements with the same key together: `reduce_func(key, window)` makes a dataset of up to
        `window_size` of them. Raises ValueError unless one of the two last is given.
        """
        from tflogscope.runtime.data.dataset import DatasetSpec

        if (window_size is None) == (window_size_func is None):
            raise ValueError("Either the `window_size` or the `window_size_func` must be set.")
        number = TensorSpec(SCALAR, dtypes.int64)

        def key_of(*element: Any) -> Any:
            return convert_to_tensor(key_func(*element), dtypes.int64)

        def size_of(key: Any) -> Any:
            size = window_size if window_size_func is None else window_size_func(key)
            return convert_to_tensor(size, dtypes.int64)

        key = MappedFunction(key_of, "Dataset_group_by_window", self.element_spec)
        reduce = dataset_function(
            reduce_func, "Dataset_group_by_window", (number, DatasetSpec(self.element_spec))
        )
        size = MappedFunction(size_of, "Dataset_group_by_window", number)
        functions = {"key": key, "reduce": reduce, "window_size": size}
        inputs: dict[str, Any] = {"input_dataset": self._variant_tensor}
        attributes: dict[str, Any] = {}
        for what, function in functions.items():
            inputs[f"{what}_func_other_arguments"] = function.captured_inputs
            attributes[f"{what}_func"] = function.function
            attributes[f"T{what}_func_other_arguments"] = tensor_dtypes(function.captured_inputs)
        made = made_by(
            "_GroupByWindowDataset", (self,), reduce.output_spec.element_spec, inputs, name,  # type: ignore[arg-type]
            **attributes,
        )  # fmt: skip
        made._functions += functions.values()
        return made

    def bucket_by_sequence_length(
        self,
        element_length_func: Callable[..., Any],
        bucket_boundaries: Sequence[int],
        bucket_batch_sizes: Sequence[int],
        padded_shapes: Any = None,
        padding_values: Any = None,
        pad_to_bucket_boundary: bool = False,
        no_padding: bool = False,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Elements of about the same length in a batch. Raises ValueError unless there is one batch
        size more than boundaries.
        """
        import tflogscope.runtime.api as tf

        if len(bucket_batch_sizes) != len(bucket_boundaries) + 1:
            raise ValueError(
                "`len(bucket_batch_sizes)` must equal `len(bucket_boundaries) + 1` but "
                f"`len(bucket_batch_sizes)={len(bucket_batch_sizes)}` and "
                f"`len(bucket_boundaries)={len(bucket_boundaries)}`."
            )
        if pad_to_bucket_boundary:
            raise NotInThisRuntime("bucket_by_sequence_length(pad_to_bucket_boundary=True)")
        sizes = convert_to_tensor(list(bucket_batch_sizes), dtypes.int64)
        limits = dtypes.int32.min, *bucket_boundaries, dtypes.int32.max

        def bucket_of(*element: Any) -> Any:
            length = element_length_func(*element)
            inside = tf.logical_and(
                tf.less_equal(list(limits[:-1]), length), tf.less(length, list(limits[1:]))
            )
            return tf.reduce_min(tf.where(inside))

        def batch(bucket: Any, group: Any) -> Any:
            if no_padding:
                return group.batch(sizes[bucket], drop_remainder=drop_remainder)
            return group.padded_batch(sizes[bucket], padded_shapes, padding_values, drop_remainder)

        return self.group_by_window(
            bucket_of, batch, window_size_func=lambda bucket: sizes[bucket], name=name
        )

    @staticmethod
    def sample_from_datasets(
        datasets: Sequence[Dataset],
        weights: Any = None,
        seed: int | None = None,
        stop_on_empty_dataset: bool = False,
        rerandomize_each_iteration: bool | None = None,
    ) -> Dataset:
        """Each time the next element of one of them, drawn at random. Raises NotInThisRuntime for
        weights that are a dataset.
        """
        import tflogscope.runtime.api as tf
        from tflogscope.runtime.data.dataset import Dataset

        if isinstance(weights, Dataset):
            raise NotInThisRuntime("Dataset.sample_from_datasets(weights=a dataset)")
        if weights is None:
            logits: Any = [[1.0] * len(datasets)]
        else:
            weights = convert_to_tensor(weights, name="weights")
            logits = tf.expand_dims(tf.math.log(weights, name="logits"), 0)
        if len(datasets) == 1:
            return datasets[0]

        def choose(seed: Any) -> Any:
            drawn = tf.raw_ops.StatelessMultinomial(logits=logits, num_samples=1, seed=seed)
            return tf.squeeze(drawn, axis=[0, 1])

        seeds = Dataset.random(seed, rerandomize_each_iteration).batch(2)
        return _in_turn(seeds.map(choose), datasets, stop_on_empty_dataset)

    @staticmethod
    def choose_from_datasets(
        datasets: Sequence[Dataset], choice_dataset: Dataset, stop_on_empty_dataset: bool = True
    ) -> Dataset:
        """The next element of the dataset whose number `choice_dataset` says."""
        rewritten = {"rewrite_name": convert_to_tensor("replicate_on_split")}
        choices = choice_dataset._with(
            "_RewriteDataset", choice_dataset.element_spec, None, rewritten
        )
        return _in_turn(choices, datasets, stop_on_empty_dataset)


def _in_turn(
    selector: Dataset, datasets: Sequence[Dataset], stop_on_empty_dataset: bool
) -> Dataset:
    spec = datasets[0].element_spec
    for each in datasets[1:]:
        spec = making.most_general(spec, each.element_spec)
    inputs = {
        "selector_input_dataset": selector._variant_tensor,
        "data_input_datasets": [each._variant_tensor for each in datasets],
    }
    return made_by(
        "_DirectedInterleaveDataset", (selector, *datasets), spec, inputs, None,
        stop_on_empty_dataset=stop_on_empty_dataset, N=len(datasets),
    )  # fmt: skip


def _flat_shapes(shapes: Any, count: int) -> list[Any]:
    """One shape for each component. A shape may be a list, or a tuple where there is one."""
    if count == 1 and not isinstance(shapes, dict):
        one_in_a_tuple = (
            isinstance(shapes, tuple)
            and len(shapes) == 1
            and not isinstance(shapes[0], (int, type(None)))
        )
        return [shapes[0] if one_in_a_tuple else shapes]
    return structure.flatten(shapes) if isinstance(shapes, dict) else list(shapes)


def _check_padded(shapes: Sequence[TensorShape], components: Sequence[TensorShape]) -> None:
    for padded, shape in zip(shapes, components, strict=True):
        if padded.rank is None or shape.rank is None:
            continue
        if padded.rank != shape.rank or any(
            None not in (large, small) and large < small
            for large, small in zip(padded, shape, strict=True)
        ):
            raise ValueError(
                f"The padded shape {_as_tuple(padded)} is not compatible with the shape "
                f"{_as_tuple(shape)} of the corresponding input component."
            )


def _as_tuple(shape: TensorShape) -> tuple[int | None, ...]:
    return tuple(shape.as_list())


def _default(dtype: dtypes.DType) -> Any:
    return "" if dtype is dtypes.string else False if dtype.is_bool else 0
