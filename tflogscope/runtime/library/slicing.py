"""Pieces of tensors: `x[1:, ..., None]`, `tf.slice`, `tf.gather`, `tf.scatter_nd` and others.

Told about: `_slice_helper`, `strided_slice`, `gather` of `python/ops/array_ops.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np

from tflogscope.runtime import dtypes
from tflogscope.runtime.constant_value import constant_value
from tflogscope.runtime.context import name_scope, op_scope
from tflogscope.runtime.conversion import constant, convert_to_tensor
from tflogscope.runtime.errors import NotInThisRuntime
from tflogscope.runtime.library import arrays, elementary
from tflogscope.runtime.library.joining import concat, stack
from tflogscope.runtime.ops.call import call, generated
from tflogscope.runtime.tensors import Tensor

scatter_nd = generated("ScatterNd")
slice = generated("Slice")
tensor_scatter_nd_add = generated("TensorScatterAdd")
tensor_scatter_nd_max = generated("TensorScatterMax")
tensor_scatter_nd_min = generated("TensorScatterMin")
tensor_scatter_nd_sub = generated("TensorScatterSub")
tensor_scatter_nd_update = generated("TensorScatterUpdate")

_builtin_slice = type(np.s_[0:1])


@dataclass
class _Spec:
    """What stands between the brackets, as StridedSlice wants it: three lists, and a bit per entry
    in each mask.
    """

    begin: list[Any] = field(default_factory=list)
    end: list[Any] = field(default_factory=list)
    strides: list[Any] = field(default_factory=list)
    begin_mask: int = 0
    end_mask: int = 0
    ellipsis_mask: int = 0
    new_axis_mask: int = 0
    shrink_axis_mask: int = 0

    def add(self, key: Any) -> None:
        bit = 1 << len(self.begin)
        if isinstance(key, _builtin_slice):
            self._add_slice(key, bit)
            return
        if key is Ellipsis or key is None:
            self._entry(0, 0, 1)
            if key is None:
                self.new_axis_mask |= bit
            else:
                self.ellipsis_mask |= bit
            return
        _check_index(key)
        wide = isinstance(key, Tensor) and key.dtype in (dtypes.int16, dtypes.int64)
        self.begin.append(key)
        self.end.append(key + 1)
        self.strides.append(constant(1, key.dtype) if wide else 1)
        self.shrink_axis_mask |= bit

    def _add_slice(self, key: Any, bit: int) -> None:
        dtype = _widest([key.start, key.stop, key.step])
        missing = [part is None for part in (key.start, key.stop, key.step)]
        for part, absent in zip((key.start, key.stop, key.step), missing, strict=True):
            if not absent:
                _check_index(part)
        default = (
            (0, 0, 1)
            if dtype is None
            else tuple(
                constant(number, dtype) if absent else number
                for number, absent in zip((0, 0, 1), missing, strict=True)
            )
        )
        given = (key.start, key.stop, key.step)
        self._entry(
            *(
                other if absent else part
                for part, other, absent in zip(given, default, missing, strict=True)
            )
        )
        self.begin_mask |= bit if missing[0] else 0
        self.end_mask |= bit if missing[1] else 0

    def _entry(self, begin: Any, end: Any, stride: Any) -> None:
        self.begin.append(begin)
        self.end.append(end)
        self.strides.append(stride)


def _widest(parts: list[Any]) -> Any:
    found = {part.dtype for part in parts if isinstance(part, Tensor)}
    return next(
        (dtype for dtype in (dtypes.int64, dtypes.int32, dtypes.int16) if dtype in found), None
    )


def _check_index(key: Any) -> None:
    if isinstance(key, Integral):
        return
    dtype = getattr(key, "dtype", None)
    supported = (dtypes.int16, dtypes.int32, dtypes.int64)
    if (
        dtype is None
        or dtypes.as_dtype(dtype) not in supported
        or (key.shape and len(key.shape) == 1)
    ):
        raise TypeError(
            "Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar "
            f"tf.int32/tf.int64 tensors are valid indices, got {key!r}"
        )


def getitem(tensor: Any, key: Any, variable: Any = None) -> Tensor:
    """`tensor[key]`: an op StridedSlice, or a mask. Raises TypeError for keys that are no index.

    If the tensor is the value of a variable, the result can be assigned to.
    """
    from tflogscope.runtime.library.comparison import boolean_mask

    tensor = convert_to_tensor(tensor)
    if isinstance(key, bool) or getattr(key, "dtype", None) in (dtypes.bool_, np.dtype(bool)):
        return boolean_mask(tensor, key)
    spec = _Spec()
    for part in key if isinstance(key, (list, tuple)) else [key]:
        spec.add(part)
    # this scope is opened eagerly too: errors name it
    with name_scope("strided_slice") as scope:
        parts = [spec.begin, spec.end, spec.strides]
        packed = [stack(part) for part in parts] if spec.begin else [constant([], dtypes.int32)] * 3
        if any(each.dtype is dtypes.int64 for each in packed):
            packed = [
                each if each.dtype is dtypes.int64 else call("Cast", each, DstT=dtypes.int64)
                for each in packed
            ]
        masks = {name: value for name, value in vars(spec).items() if name.endswith("_mask")}
        result: Any = call("StridedSlice", tensor, *packed, **masks, name=scope)
    if variable is not None:

        def assign(value: Any, name: str | None = None) -> Any:
            return variable.assign_slice(packed, value, name or f"{scope}_assign", **masks)

        result.assign = assign
    return result  # type: ignore[no-any-return]


def strided_slice(
    input_: Any,
    begin: Any,
    end: Any,
    strides: Any = None,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    var: Any = None,
    name: str | None = None,
) -> Tensor:
    """The op behind `x[a:b:c]`: see `tf.strided_slice` for the masks."""
    del var
    if strides is None:
        strides = arrays.ones_like(begin)
    return call(
        "StridedSlice", input_, begin, end, strides,
        begin_mask=begin_mask, end_mask=end_mask, ellipsis_mask=ellipsis_mask,
        new_axis_mask=new_axis_mask, shrink_axis_mask=shrink_axis_mask, name=name,
    )  # fmt: skip


def gather(
    params: Any,
    indices: Any,
    validate_indices: Any = None,
    axis: Any = None,
    batch_dims: int = 0,
    name: str | None = None,
) -> Tensor:
    """The slices of `params` at these indices along `axis`."""
    del validate_indices
    if axis is None:
        axis = batch_dims
    fixed = constant_value(axis) if isinstance(axis, Tensor) else axis
    if fixed is None or fixed != 0:
        return call("GatherV2", params, indices, axis, batch_dims=batch_dims, name=name)
    if hasattr(type(params), "sparse_read"):  # a variable reads just the slices
        return params.sparse_read(indices, name=name)  # type: ignore[no-any-return]
    return call("GatherV2", params, indices, axis, name=name)


def gather_nd(params: Any, indices: Any, batch_dims: int = 0, name: str | None = None) -> Tensor:
    """The elements or slices at these coordinates; of each batch at its own."""
    if batch_dims:
        # NB: TensorFlow makes the same coordinates by other ops
        with op_scope(name, "BatchGatherND"):
            params = convert_to_tensor(params, name="params")
            indices = convert_to_tensor(indices, name="indices")
            return call("GatherNd", params, _within_batches(indices, int(batch_dims)))
    if hasattr(type(params), "gather_nd"):
        return params.gather_nd(indices, name=name)  # type: ignore[no-any-return]
    return call("GatherNd", params, indices, name=name)


def _within_batches(indices: Tensor, batch_dims: int) -> Tensor:
    """The coordinates with those of the batch in front. Raises NotInThisRuntime if the rank is not
    known.
    """
    rank = indices.shape.rank
    if rank is None:
        raise NotInThisRuntime("tf.gather_nd with batch_dims, of unknown rank")
    whole: Any = arrays.shape(indices)
    ones = [1] * rank
    places = []
    for k in range(batch_dims):
        steps = elementary.cast(call("Range", 0, whole[k], 1), indices.dtype)
        along = arrays.reshape(steps, [*ones[:k], -1, *ones[k + 1 :]])
        places.append(arrays.broadcast_to(along, concat([whole[:-1], [1]], axis=0)))
    return concat([*places, indices], axis=-1)


def searchsorted(
    sorted_sequence: Any,
    values: Any,
    side: str = "left",
    out_type: Any = dtypes.int32,
    name: str | None = None,
) -> Tensor:
    """Where to insert the values so that the rows stay sorted.

    Raises ValueError for another side.
    """
    if side not in ("left", "right"):
        raise ValueError(
            f"Argument `side` must be either 'right' or 'left'. Received: `side` = '{side}'."
        )
    length = arrays.shape_internal(sorted_sequence)[-1]
    count = arrays.shape_internal(values)[-1]
    rows = arrays.reshape(sorted_sequence, [-1, length])
    wanted = arrays.reshape(values, [-1, count])
    found = call(
        "LowerBound" if side == "left" else "UpperBound", rows, wanted, out_type=out_type, name=name
    )
    return arrays.reshape(found, arrays.shape_internal(values))
