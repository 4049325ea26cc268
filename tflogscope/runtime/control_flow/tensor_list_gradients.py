"""The functions by which Python makes lists of tensors, and how gradients go back through their
ops.

The gradient of a list is a list. Told about: `python/ops/list_ops.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tflogscope.runtime.control_flow import tensor_list  # noqa: F401 - registers the ops
from tflogscope.runtime.conversion import constant, convert_to_tensor
from tflogscope.runtime.dtypes import DType, int32, int64
from tflogscope.runtime.gradients import gradient, not_differentiable
from tflogscope.runtime.library import arrays
from tflogscope.runtime.ops.call import call, results
from tflogscope.runtime.record import OpRecord
from tflogscope.runtime.shapes import TensorShape
from tflogscope.runtime.tensors import Tensor

__all__ = ["element_shape_input", "empty_list", "list_from_tensor", "reserved_list"]

Gradients = Sequence[Tensor | None]

not_differentiable("TensorListElementShape", "TensorListLength")


def element_shape_input(shape: Any) -> Any:
    """A shape as the ops take it: -1 for what is not known. Told about: `_build_element_shape`."""
    if isinstance(shape, Tensor):
        return shape
    if isinstance(shape, TensorShape):
        shape = None if shape.rank is None else shape.as_list()
    if shape is None:
        return -1
    if isinstance(shape, np.ndarray) or not shape:
        return convert_to_tensor(shape, int32)
    return [-1 if dim is None else dim for dim in shape]


def empty_list(shape: Any, dtype: DType, limit: Any = None, name: str | None = None) -> Tensor:
    """A list without elements; `limit` of them may be pushed."""
    return call(
        "EmptyTensorList",
        element_shape_input(shape),
        -1 if limit is None else limit,
        element_dtype=dtype,
        name=name,
    )


def reserved_list(shape: Any, count: Any, dtype: DType, name: str | None = None) -> Tensor:
    """A list of so many elements that have not been written."""
    return call(
        "TensorListReserve", element_shape_input(shape), count, element_dtype=dtype, name=name
    )


def list_from_tensor(tensor: Any, shape: Any, name: str | None = None) -> Tensor:
    """The list of a tensor's slices."""
    return call(
        "TensorListFromTensor", convert_to_tensor(tensor), element_shape_input(shape), name=name
    )


def scattered(tensor: Any, indices: Any, into: Tensor) -> Tensor:
    """The list with slices of the tensor at those places."""
    return call("TensorListScatterIntoExistingList", into, convert_to_tensor(tensor), indices)


def _slice_shape(tensor: Tensor) -> Tensor:
    """The shape of a tensor's slices, as a tensor."""
    return call("Slice", arrays.shape(tensor), [1], [-1])


def _list_shape(handle: Tensor) -> Tensor:
    return call("TensorListElementShape", handle, shape_type=int32)


@gradient("TensorListPushBack")
def _push_back(op: OpRecord, grad: Tensor) -> Gradients:
    return list(
        results(
            "TensorListPopBack",
            grad,
            arrays.shape(op.inputs[1]),
            element_dtype=op.get_attr("element_dtype"),
        )
    )


@gradient("TensorListPopBack")
def _pop_back(op: OpRecord, list_grad: Tensor | None, grad: Tensor | None) -> Gradients:
    if list_grad is None:
        assert grad is not None
        list_grad = empty_list(_list_shape(op.outputs[0]), grad.dtype)
    if grad is None:
        grad = arrays.zeros_like(op.outputs[1])
    return call("TensorListPushBack", list_grad, grad), None


@gradient("TensorListStack")
def _stack(op: OpRecord, grad: Tensor) -> Gradients:  # noqa: ARG001
    return list_from_tensor(grad, grad.shape[1:]), None


@gradient("TensorListFromTensor")
def _from_tensor(op: OpRecord, grad: Tensor | None) -> Gradients:
    tensor = op.inputs[0]
    count = tensor.shape[0] if tensor.shape.rank else None
    if grad is None:
        grad = empty_list(_list_shape(op.outputs[0]), tensor.dtype)
    stacked = call(
        "TensorListStack",
        grad,
        _slice_shape(tensor),
        element_dtype=tensor.dtype,
        num_elements=-1 if count is None else count,
    )
    return stacked, None


@gradient("TensorListGetItem")
def _get_item(op: OpRecord, grad: Tensor) -> Gradients:
    length = call("TensorListLength", op.inputs[0])
    zeros = call("TensorListReserve", _list_shape(op.inputs[0]), length, element_dtype=grad.dtype)
    return call("TensorListSetItem", zeros, op.inputs[1], grad), None, None


@gradient("TensorListSetItem")
def _set_item(op: OpRecord, grad: Tensor) -> Gradients:
    handle, index, item = op.inputs
    list_grad = call("TensorListSetItem", grad, index, arrays.zeros_like(item))
    item_grad = call("TensorListGetItem", grad, index, arrays.shape(item), element_dtype=item.dtype)
    if op.get_attr("resize_if_index_out_of_bounds"):
        list_grad = call("TensorListResize", list_grad, call("TensorListLength", handle))
    return list_grad, None, item_grad


@gradient("TensorListResize")
def _resize(op: OpRecord, grad: Tensor) -> Gradients:
    return call("TensorListResize", grad, call("TensorListLength", op.inputs[0])), None


@gradient("TensorListGather")
def _gather(op: OpRecord, grad: Tensor) -> Gradients:
    handle, indices, _ = op.inputs
    shape = _list_shape(handle)
    zeros = reserved_list(shape, call("TensorListLength", handle), grad.dtype)
    return scattered(grad, indices, zeros), None, None


@gradient("TensorListScatterV2")
def _scatter(op: OpRecord, grad: Tensor) -> Gradients:
    tensor, indices = op.inputs[:2]
    rows = call("TensorListGather", grad, indices, _slice_shape(tensor), element_dtype=tensor.dtype)
    return rows, None, None, None


@gradient("TensorListScatterIntoExistingList")
def _scatter_into(op: OpRecord, grad: Tensor) -> Gradients:
    _, tensor, indices = op.inputs
    rows = call("TensorListGather", grad, indices, _slice_shape(tensor), element_dtype=tensor.dtype)
    return scattered(arrays.zeros_like(tensor), indices, grad), rows, None


@gradient("TensorListConcatV2")
def _concat(op: OpRecord, grad: Tensor, lengths_grad: Tensor | None) -> Gradients:  # noqa: ARG001
    return call("TensorListSplit", grad, _list_shape(op.inputs[0]), op.outputs[1]), None, None


@gradient("TensorListSplit")
def _split(op: OpRecord, grad: Tensor) -> Gradients:
    tensor, _, lengths = op.inputs
    rest = call("Slice", arrays.shape(tensor), [1], [-1])
    shape = call("ConcatV2", [constant([-1], int32), rest], 0)
    return (
        results("TensorListConcatV2", grad, shape, lengths, element_dtype=tensor.dtype)[0],
        None,
        None,
    )


def concatenated(handle: Tensor, dtype: DType, shape: Any, name: str | None = None) -> Tensor:
    """The elements of a list, one after the other."""
    leading = convert_to_tensor([], int64)
    outputs = results(
        "TensorListConcatV2",
        handle,
        element_shape_input(shape),
        leading,
        element_dtype=dtype,
        name=name,
    )
    return outputs[0]  # type: ignore[no-any-return]
