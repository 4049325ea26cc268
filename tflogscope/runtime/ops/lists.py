"""Lists of tensors: what a TensorArray is in a function, and how a loop keeps values for its
gradient. Optionals: what a conditional keeps. See `core/ops/list_ops.cc`, `python/ops/list_ops.py`.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from tflogscope.runtime.core.calls import O
from tflogscope.runtime.core.conversion import constant
from tflogscope.runtime.core.dtypes import int32
from tflogscope.runtime.core.errors import NotInThisRuntime
from tflogscope.runtime.core.known import known_shape
from tflogscope.runtime.core.registry import Inference, op
from tflogscope.runtime.core.shapes import SCALAR, UNKNOWN, TensorShape, merged
from tflogscope.runtime.core.tensors import HandleData, Tensor
from tflogscope.runtime.library import arrays
from tflogscope.runtime.ops.rules import invalid, scalar


class TensorList:
    """A list of arrays, or of None where nothing was set. It never changes: pushing shares the
    items with the list before, as a loop would be slow otherwise.
    """

    __slots__ = ("_items", "dtype", "element_shape", "length")
    shape = ()

    def __init__(self, items: list[Any], dtype: Any, shape: TensorShape, length: int = -1) -> None:
        self._items, self.dtype, self.element_shape = items, dtype, shape
        self.length = len(items) if length < 0 else length

    def items(self) -> list[Any]:
        return self._items[: self.length]

    def with_items(self, items: list[Any]) -> TensorList:
        return TensorList(items, self.dtype, self.element_shape)

    def pushed(self, item: Any) -> TensorList:
        items = self._items if len(self._items) == self.length else self.items()
        items.append(item)
        return TensorList(items, self.dtype, self.element_shape, self.length + 1)

    def popped(self) -> tuple[TensorList, Any]:
        if not self.length:
            raise invalid("Trying to pop from an empty list.")
        shorter = TensorList(self._items, self.dtype, self.element_shape, self.length - 1)
        return shorter, self._items[self.length - 1]

    def item(self, index: Any, wanted: TensorShape) -> Any:
        if not 0 <= index < self.length:
            raise invalid(f"There is no element {index} in a list of {self.length}.")
        found = self._items[int(index)]
        return self.zeros(wanted) if found is None else found

    def zeros(self, wanted: TensorShape) -> Any:
        """What an item is that was never set."""
        known = [TensorShape(item.shape) for item in self.items() if item is not None]
        shape = reduce(merged, known, merged(self.element_shape, wanted))
        if not shape.is_fully_defined():
            raise invalid("Trying to read an uninitialized tensor whose shape is not known")
        return np.zeros(shape.sizes(), self.dtype.as_numpy_dtype)

    def zeros_like(self) -> TensorList:
        return self.with_items([None if x is None else _zeros(x) for x in self.items()])

    def __add__(self, other: TensorList) -> TensorList:
        pairs = zip(self.items(), other.items(), strict=True)
        return self.with_items([b if a is None else a if b is None else a + b for a, b in pairs])


class OptionalValue:
    """Values, or None."""

    __slots__ = ("values",)
    shape = ()

    def __init__(self, values: Any) -> None:
        self.values = values


def _zeros(item: Any) -> Any:
    return item.zeros_like() if hasattr(item, "zeros_like") else np.zeros_like(item)


def _as_shape(value: Any) -> TensorShape:
    return UNKNOWN if np.ndim(value) == 0 else TensorShape([None if d < 0 else d for d in value])


# -- shape rules


def _given(i: Inference, at: int) -> TensorShape:
    return UNKNOWN if i.shape(at).rank == 0 else known_shape(i.inputs[at])


def _new(i: Inference) -> Any:
    return [(SCALAR, HandleData(_given(i, 0), i["element_dtype"]))]


def _from_rows(i: Inference) -> Any:
    rows = i.shape(0)[1:] if i.shape(0).rank else UNKNOWN
    return [(SCALAR, HandleData(merged(_given(i, 1), rows), i["element_dtype"]))]


def _same_list(i: Inference) -> Any:
    return [(SCALAR, i.inputs[0].handle_data)]


def _element(i: Inference, at: int) -> TensorShape:
    data, wanted = i.inputs[0].handle_data, _given(i, at)
    return wanted if data is None else merged(wanted, data.shape)


def _popped(i: Inference) -> Any:
    return [(SCALAR, i.inputs[0].handle_data), _element(i, 1)]


def _stacked(i: Inference) -> TensorShape:
    count = i["num_elements"]
    return TensorShape([None if count < 0 else count]).concatenate(_element(i, 1))


def _shape_vector(i: Inference) -> TensorShape:
    data = i.inputs[0].handle_data
    return UNKNOWN if data is None or data.shape.rank is None else TensorShape([data.shape.rank])


# -- kernels


def _element_shape(handle: TensorList, shape_type: Any) -> Any:
    dims = handle.element_shape.dims
    sizes = -1 if dims is None else [-1 if dim is None else dim for dim in dims]
    return np.array(sizes, shape_type.as_numpy_dtype)


def _pop(handle: TensorList, shape: Any) -> Any:
    rest, item = handle.popped()
    return rest, handle.zeros(_as_shape(shape)) if item is None else item


def _set(handle: TensorList, index: Any, item: Any, resize_if_index_out_of_bounds: bool) -> Any:
    items = handle.items()
    if resize_if_index_out_of_bounds:
        items += [None] * (int(index) + 1 - len(items))
    if not 0 <= index < len(items):
        raise invalid(f"Trying to modify element {index} in a list with {len(items)} elements.")
    items[int(index)] = item
    return handle.with_items(items)


def _stack(handle: TensorList, shape: Any) -> Any:
    wanted = _as_shape(shape)
    items = [handle.item(index, wanted) for index in range(handle.length)]
    if len({item.shape for item in items}) > 1:
        raise invalid("Tried to stack list which only contains tensors with unequal shapes")
    return np.stack(items) if items else handle.zeros(wanted)[None][:0]


# -- gradients


def _list_shape(handle: Any) -> Any:
    return O.TensorListElementShape(handle, shape_type=int32)


def shape_input(shape: Any) -> Any:
    """The shape of elements as an input: -1 where it is not known."""
    if isinstance(shape, Tensor):
        return shape
    dims = TensorShape(shape).dims
    return -1 if dims is None else constant([-1 if d is None else d for d in dims], int32)


def _push_gradient(op: Any, g: Any) -> Any:
    shape = arrays.shape(op.inputs[1])
    return O.TensorListPopBack(g, shape, element_dtype=op.get_attr("element_dtype"))


def _pop_gradient(op: Any, list_grad: Any, g: Any) -> list[Any]:
    if list_grad is None:
        list_grad = O.EmptyTensorList(_list_shape(op.outputs[0]), -1, element_dtype=g.dtype)
    g = arrays.zeros_like(op.outputs[1]) if g is None else g
    return [O.TensorListPushBack(list_grad, g), None]


def _from_tensor_gradient(op: Any, g: Any) -> list[Any]:
    tensor = op.inputs[0]
    count = tensor.shape[0] if tensor.shape.rank else None
    options = {"element_dtype": tensor.dtype, "num_elements": -1 if count is None else count}
    shape = O.Slice(arrays.shape(tensor), [1], [-1])
    return [O.TensorListStack(g, shape, **options), None]


def _get_gradient(op: Any, g: Any) -> list[Any]:
    length = O.TensorListLength(op.inputs[0])
    zeros = O.TensorListReserve(_list_shape(op.inputs[0]), length, element_dtype=g.dtype)
    return [O.TensorListSetItem(zeros, op.inputs[1], g), None, None]


def _set_gradient(op: Any, g: Any) -> list[Any]:
    _, index, item = op.inputs
    list_grad = O.TensorListSetItem(g, index, arrays.zeros_like(item))
    item_grad = O.TensorListGetItem(g, index, arrays.shape(item), element_dtype=item.dtype)
    if op.get_attr("resize_if_index_out_of_bounds"):
        raise NotInThisRuntime("the gradient of a tf.TensorArray with dynamic_size")
    return [list_grad, None, item_grad]


_TO_LIST = "element_dtype, shape_type=int32) -> handle: variant"
op(f"EmptyTensorList(element_shape: shape_type, max_num_elements: int32; {_TO_LIST}", _new,
   lambda shape, limit, element_dtype: TensorList([], element_dtype, _as_shape(shape)))  # fmt: skip
op(f"TensorListReserve(element_shape: shape_type, num_elements: int32; {_TO_LIST}", _new,
   lambda shape, count, element_dtype:
       TensorList([None] * int(count), element_dtype, _as_shape(shape)))  # fmt: skip
op(f"TensorListFromTensor(tensor: element_dtype, element_shape: shape_type; {_TO_LIST}",
   _from_rows, lambda tensor, shape, element_dtype:
       TensorList([np.asarray(row) for row in tensor], element_dtype, _as_shape(shape)),
   _from_tensor_gradient)  # fmt: skip
op("TensorListPushBack(input_handle: variant, tensor: element_dtype) -> output_handle: variant",
   _same_list, lambda handle, tensor: handle.pushed(tensor), _push_gradient)  # fmt: skip
op("TensorListPopBack(input_handle: variant, element_shape: int32; element_dtype) -> "
   "output_handle: variant, tensor: element_dtype", _popped, _pop, _pop_gradient)  # fmt: skip
op("TensorListLength(input_handle: variant) -> length: int32", scalar,
   lambda handle: handle.length)  # fmt: skip
op("TensorListElementShape(input_handle: variant; shape_type) -> element_shape: shape_type",
   _shape_vector, _element_shape)  # fmt: skip
op("TensorListGetItem(input_handle: variant, index: int32, element_shape: int32; element_dtype) "
   "-> item: element_dtype", lambda i: _element(i, 2),
   lambda handle, index, shape: handle.item(index, _as_shape(shape)), _get_gradient)  # fmt: skip
op("TensorListSetItem(input_handle: variant, index: int32, item: element_dtype; "
   "resize_if_index_out_of_bounds=False) -> output_handle: variant", _same_list, _set,
   _set_gradient)  # fmt: skip
op("TensorListStack(input_handle: variant, element_shape: int32; element_dtype, num_elements=-1) "
   "-> tensor: element_dtype", _stacked, _stack,
   lambda op, g: [O.TensorListFromTensor(g, shape_input(g.shape[1:])), None])  # fmt: skip


# -- optionals


def _value(optional: OptionalValue) -> Any:
    if optional.values is None:
        raise invalid("The given optional does not have a value.")
    return tuple(optional.values)


op("OptionalFromValue(components: list(Toutput_types)) -> optional: variant", scalar,
   lambda *components: OptionalValue(components),
   lambda op, g: O.OptionalGetValue(
       g, output_types=tuple(each.dtype for each in op.inputs),
       output_shapes=tuple(each.shape for each in op.inputs)))  # fmt: skip
op("OptionalNone() -> optional: variant", scalar, lambda: OptionalValue(None))
op("OptionalHasValue(optional: variant) -> has_value: bool", scalar,
   lambda optional: np.array(optional.values is not None))  # fmt: skip
op("OptionalGetValue(optional: variant; output_types, output_shapes) -> components: "
   "list(output_types)", lambda i: [TensorShape(each) for each in i["output_shapes"]], _value,
   lambda op, *grads: [O.OptionalFromValue(list(grads))])  # fmt: skip
