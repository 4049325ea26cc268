"""Lists of tensors as values of a graph: what a TensorArray is in a function, and what the gradient
of a loop keeps.

A list never changes: an op that adds to it gives another one. The tensor that holds it is a
variant; which dtype and shape its elements have is known from its handle data. Told about:
`core/kernels/list_kernels.cc`, `core/ops/list_ops.cc`, `python/ops/list_ops.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tflogscope.runtime.constant_value import constant_shape, constant_value
from tflogscope.runtime.dtypes import DType
from tflogscope.runtime.errors import InvalidArgumentError
from tflogscope.runtime.node_text import shape_text
from tflogscope.runtime.operations import Inference
from tflogscope.runtime.ops.declare import op
from tflogscope.runtime.shapes import SCALAR, UNKNOWN, TensorShape
from tflogscope.runtime.tensors import HandleData

__all__ = ["TensorList"]


class TensorList:
    """A list of arrays; None where nothing was written.

    `limit`: how many elements it may have, -1 for any number. Lists share their storage: one is the
    first `length` elements of it, and the longest may grow in place.
    """

    __slots__ = ("_items", "dtype", "element_shape", "length", "limit")

    shape = ()
    """As the value of a tensor: a list may be an element of another list."""

    def __init__(
        self,
        items: list[Any],
        dtype: DType,
        shape: TensorShape,
        limit: int = -1,
        length: int | None = None,
    ) -> None:
        self._items = items
        self.dtype = dtype
        self.element_shape = shape
        self.limit = limit
        self.length = len(items) if length is None else length

    def items(self) -> list[Any]:
        """The elements."""
        return self._items[: self.length]

    def with_items(self, items: list[Any]) -> TensorList:
        """A list of the same kind."""
        return TensorList(items, self.dtype, self.element_shape, self.limit)

    def pushed(self, item: Any) -> TensorList:
        """One element more. Raises InvalidArgumentError for one of another shape, or too many."""
        if not self.element_shape.is_compatible_with(np.shape(item)):
            raise _invalid(
                "Tried to append a tensor with incompatible shape to a list. Op element shape: "
                f"{list(np.shape(item))} list shape: {_shown(self.element_shape)}"
            )
        if 0 <= self.limit <= self.length:
            raise _invalid(
                f"Tried to push item into a full list list size: {self.length} max_num_elements: "
                f"{self.limit}"
            )
        items = self._items if len(self._items) == self.length else self.items()
        items.append(item)
        return TensorList(items, self.dtype, self.element_shape, self.limit, self.length + 1)

    def popped(self) -> tuple[TensorList, Any]:
        """The list without its last element, and that."""
        if not self.length:
            raise _invalid("Trying to pop from an empty list.")
        return TensorList(
            self._items, self.dtype, self.element_shape, self.limit, self.length - 1
        ), self._items[self.length - 1]

    def filled(self, shape: TensorShape) -> list[Any]:
        """The elements, with zeros where nothing was written. Raises InvalidArgumentError if no
        shape is known for those.
        """
        items = self.items()
        for item in items:
            if item is not None:
                shape = shape.merge_with(item.shape)
        return [self.zeros(shape) if item is None else item for item in items]

    def zeros(self, shape: TensorShape) -> Any:
        """An element that was not written."""
        shape = shape.merge_with(self.element_shape)
        if not shape.is_fully_defined():
            raise _invalid(
                "Trying to read an uninitialized tensor but element_shape is not fully defined: "
                f"{'<unknown>' if shape.rank is None else shape_text(shape)} and no list element "
                "is set."
            )
        return np.zeros(shape.as_tuple(), self.dtype.as_numpy_dtype)

    def zeros_like(self) -> TensorList:
        """Zeros for each element: what the op ZerosLike gives for a list."""
        return self.with_items([_zeros(item) for item in self.items()])

    def __add__(self, other: TensorList) -> TensorList:
        """Element by element: what the op AddN does with lists."""
        return self.with_items(
            [_sum(one, another) for one, another in zip(self.items(), other.items(), strict=True)]
        )

    def __repr__(self) -> str:
        return f"TensorList({self.length} of {self.dtype.name}{_shown(self.element_shape)})"


def _zeros(item: Any) -> Any:
    if item is None:
        return None
    return item.zeros_like() if hasattr(item, "zeros_like") else np.zeros_like(item)


def _sum(one: Any, another: Any) -> Any:
    if one is None or another is None:
        return another if one is None else one
    return one + another


def _shown(shape: TensorShape) -> str:
    return (
        "<unknown>"
        if shape.rank is None
        else "[" + ",".join("?" if d is None else str(d) for d in shape) + "]"
    )


def _invalid(message: str) -> InvalidArgumentError:
    return InvalidArgumentError(None, None, message)


def as_shape(value: Any) -> TensorShape:
    """What an `element_shape` input says: -1 stands for what is not known."""
    if np.ndim(value) == 0:
        return UNKNOWN
    return TensorShape([None if dim < 0 else int(dim) for dim in value])


# -- shape functions -----------------------------------------------------------


def _shape_input(i: Inference, at: int) -> TensorShape:
    if i.shape(at).rank == 0:
        return UNKNOWN
    return constant_shape(i.inputs[at])


def _new_list(i: Inference) -> list[Any]:
    """A list whose element shape is the first input."""
    return [(SCALAR, HandleData(_shape_input(i, 0), i.attributes["element_dtype"]))]


def _listed(i: Inference) -> list[Any]:
    """A list of the slices of the first input, of the shape that the last one says."""
    tensor = i.shape(0)
    shape = _shape_input(i, 1)
    if tensor.rank:
        shape = shape.merge_with(tensor[1:])
    return [(SCALAR, HandleData(shape, i.attributes["element_dtype"]))]


def _same_list(i: Inference) -> list[Any]:
    return [(SCALAR, i.inputs[0].handle_data)]


def _known(i: Inference) -> TensorShape:
    data = i.inputs[0].handle_data
    return UNKNOWN if data is None else data.shape


def _element_shape(i: Inference, at: int) -> TensorShape:
    known, wanted = _known(i), _shape_input(i, at)
    return known.merge_with(wanted) if known.is_compatible_with(wanted) else wanted


def _item(i: Inference) -> list[Any]:
    return [_element_shape(i, 2)]


def _popped(i: Inference) -> list[Any]:
    return [(SCALAR, i.inputs[0].handle_data), _element_shape(i, 1)]


def _stacked(i: Inference) -> list[Any]:
    count = i.attributes["num_elements"]
    return [
        TensorShape([None if count is None or count < 0 else count]).concatenate(
            _element_shape(i, 1)
        )
    ]


def _gathered(i: Inference) -> list[Any]:
    count = i.shape(1)
    rows = count[:1] if count.rank else TensorShape([None])
    return [rows.concatenate(_element_shape(i, 2))]


def _concatenated(i: Inference) -> list[Any]:
    element = _shape_input(i, 1)
    return [
        TensorShape([None]).concatenate(element[1:]) if element.rank else UNKNOWN,
        TensorShape([None]),
    ]


def _shape_vector(i: Inference) -> list[Any]:
    return [TensorShape([_known(i).rank]) if _known(i).rank is not None else UNKNOWN]


def _scalar_output(i: Inference) -> list[Any]:  # noqa: ARG001 - a shape function
    return [SCALAR]


# -- the ops -------------------------------------------------------------------


@op(
    "EmptyTensorList(element_shape: shape_type, max_num_elements: int32; element_dtype, "
    "shape_type) -> handle: variant",
    _new_list,
)
def _empty(element_shape: Any, max_num_elements: Any, element_dtype: DType) -> TensorList:
    return TensorList([], element_dtype, as_shape(element_shape), int(max_num_elements))


@op(
    "TensorListReserve(element_shape: shape_type, num_elements: int32; element_dtype, "
    "shape_type) -> handle: variant",
    _new_list,
)
def _reserve(element_shape: Any, num_elements: Any, element_dtype: DType) -> TensorList:
    if num_elements < 0:
        raise _invalid(
            f"The num_elements to reserve must be a non negative number, but got {num_elements}"
        )
    return TensorList([None] * int(num_elements), element_dtype, as_shape(element_shape))


@op(
    "TensorListPushBack(input_handle: variant, tensor: element_dtype; element_dtype) -> "
    "output_handle: variant",
    _same_list,
)
def _push_back(input_handle: TensorList, tensor: Any) -> TensorList:
    return input_handle.pushed(tensor)


@op(
    "TensorListPopBack(input_handle: variant, element_shape: int32; element_dtype)"
    " -> output_handle: variant, tensor: element_dtype",
    _popped,
)
def _pop_back(input_handle: TensorList, element_shape: Any) -> tuple[TensorList, Any]:
    rest, item = input_handle.popped()
    return rest, input_handle.zeros(as_shape(element_shape)) if item is None else item


@op("TensorListLength(input_handle: variant) -> length: int32", _scalar_output)
def _length(input_handle: TensorList) -> Any:
    return np.array(input_handle.length, np.int32)


@op(
    "TensorListElementShape(input_handle: variant; shape_type) -> element_shape: shape_type",
    _shape_vector,
)
def _shape_of(input_handle: TensorList, shape_type: DType) -> Any:
    shape = input_handle.element_shape
    if shape.rank is None:
        return np.array(-1, shape_type.as_numpy_dtype)
    return np.array([-1 if dim is None else dim for dim in shape], shape_type.as_numpy_dtype)


@op(
    "TensorListGetItem(input_handle: variant, index: int32, element_shape: int32; element_dtype) "
    "-> item: element_dtype",
    _item,
)
def _get_item(input_handle: TensorList, index: Any, element_shape: Any) -> Any:
    if not 0 <= index < input_handle.length:
        raise _invalid(
            f"Trying to access element {index} in a list with {input_handle.length} elements."
        )
    item = input_handle.items()[index]
    return input_handle.zeros(as_shape(element_shape)) if item is None else item


@op(
    "TensorListSetItem(input_handle: variant, index: int32, item: element_dtype;"
    " element_dtype, resize_if_index_out_of_bounds=False) -> output_handle: variant",
    _same_list,
)
def _set_item(
    input_handle: TensorList, index: Any, item: Any, resize_if_index_out_of_bounds: bool
) -> TensorList:
    items = input_handle.items()
    if resize_if_index_out_of_bounds and index >= len(items):
        items += [None] * (int(index) + 1 - len(items))
    if not 0 <= index < len(items):
        raise _invalid(f"Trying to modify element {index} in a list with {len(items)} elements.")
    if not input_handle.element_shape.is_compatible_with(item.shape):
        raise _invalid(
            "Tried to set a tensor with incompatible shape at a list index. Item element shape: "
            f"{list(item.shape)} list shape: {_shown(input_handle.element_shape)}"
        )
    items[int(index)] = item
    return input_handle.with_items(items)


@op("TensorListResize(input_handle: variant, size: int32) -> output_handle: variant", _same_list)
def _resize(input_handle: TensorList, size: Any) -> TensorList:
    items = input_handle.items()[: int(size)]
    return input_handle.with_items(items + [None] * (int(size) - len(items)))


@op(
    "TensorListFromTensor(tensor: element_dtype, element_shape: shape_type; element_dtype, "
    "shape_type) -> output_handle: variant",
    _listed,
)
def _from_tensor(tensor: Any, element_shape: Any, element_dtype: DType) -> TensorList:
    if not tensor.ndim:
        raise _invalid(f"Tensor must be at least a vector, but saw shape: {list(tensor.shape)}")
    return TensorList([np.asarray(row) for row in tensor], element_dtype, as_shape(element_shape))


@op(
    "TensorListStack(input_handle: variant, element_shape: int32; element_dtype, "
    "num_elements=-1) -> tensor: element_dtype",
    _stacked,
)
def _stack(input_handle: TensorList, element_shape: Any, num_elements: Any) -> Any:
    count = input_handle.length
    if num_elements is not None and num_elements not in (-1, count):
        raise _invalid(
            f"Operation expected a list with {num_elements} elements but got a list with {count} "
            "elements."
        )
    shape = as_shape(element_shape).merge_with(input_handle.element_shape)
    items = input_handle.filled(shape)
    if items:
        _check_same_shape(items)
        return np.stack(items)
    if not shape.is_fully_defined():
        raise _invalid(
            "Tried to stack elements of an empty list with non-fully-defined element_shape: "
            f"{_shown(shape)}"
        )
    return np.zeros((0, *shape.as_tuple()), input_handle.dtype.as_numpy_dtype)


def _check_same_shape(items: Sequence[Any]) -> None:
    for at, item in enumerate(items):
        if item.shape != items[0].shape:
            raise _invalid(
                "Tried to stack list which only contains tensors with unequal shapes: "
                f"{list(items[0].shape)} and, at index {at}, {list(item.shape)}"
            )


@op(
    "TensorListGather(input_handle: variant, indices: int32, element_shape: int32; "
    "element_dtype) -> values: element_dtype",
    _gathered,
)
def _gather(input_handle: TensorList, indices: Any, element_shape: Any) -> Any:
    shape = as_shape(element_shape).merge_with(input_handle.element_shape)
    items = input_handle.filled(shape)
    chosen = [items[_checked(at, len(items))] for at in indices]
    if chosen:
        return np.stack(chosen)
    return np.zeros((0, *shape.as_tuple()), input_handle.dtype.as_numpy_dtype)


def _checked(index: Any, length: int) -> int:
    if not 0 <= index < length:
        raise _invalid(f"Trying to gather element {index} in a list with {length} elements.")
    return int(index)


def _scattered(items: list[Any], rows: Iterable[Any], indices: Any) -> list[Any]:
    for at, row in zip(indices, rows, strict=True):
        if at < 0:
            raise _invalid(f"Indices in TensorListScatter must all be non-negative: {at}")
        items += [None] * (int(at) + 1 - len(items))
        items[int(at)] = np.asarray(row)
    return items


@op(
    "TensorListScatterV2(tensor: element_dtype, indices: int32, element_shape: shape_type, "
    "num_elements: int32; element_dtype, shape_type) -> output_handle: variant",
    lambda i: [(SCALAR, HandleData(_shape_input(i, 2), i.dtype(0)))],
)
def _scatter(
    tensor: Any, indices: Any, element_shape: Any, num_elements: Any, element_dtype: DType
) -> TensorList:
    items: list[Any] = [None] * max(int(num_elements), 0)
    return TensorList(_scattered(items, tensor, indices), element_dtype, as_shape(element_shape))


@op(
    "TensorListScatterIntoExistingList(input_handle: variant, tensor: element_dtype, indices: "
    "int32; element_dtype) -> output_handle: variant",
    _same_list,
)
def _scatter_into(input_handle: TensorList, tensor: Any, indices: Any) -> TensorList:
    return input_handle.with_items(_scattered(input_handle.items(), tensor, indices))


@op(
    "TensorListConcatV2(input_handle: variant, element_shape: shape_type, leading_dims: int64; "
    "element_dtype, shape_type) -> tensor: element_dtype, lengths: int64",
    _concatenated,
)
def _concat(input_handle: TensorList, element_shape: Any, leading_dims: Any) -> tuple[Any, Any]:
    shape = as_shape(element_shape)
    items = []
    for at, item in enumerate(input_handle.items()):
        if item is None:
            rows = int(leading_dims[at]) if at < len(leading_dims) else shape[0]
            item = np.zeros((rows, *shape[1:].as_tuple()), input_handle.dtype.as_numpy_dtype)  # noqa: PLW2901
        items.append(item)
    if not items:
        empty = np.zeros((0, *shape[1:].as_tuple()), input_handle.dtype.as_numpy_dtype)
        return empty, np.zeros(0, np.int64)
    return np.concatenate(items), np.array([len(item) for item in items], np.int64)


@op(
    "TensorListSplit(tensor: element_dtype, element_shape: shape_type, lengths: int64; "
    "element_dtype, shape_type) -> output_handle: variant",
    lambda i: [(SCALAR, HandleData(_shape_input(i, 1), i.dtype(0)))],
)
def _split(tensor: Any, element_shape: Any, lengths: Any, element_dtype: DType) -> TensorList:
    if lengths.sum() != len(tensor):
        raise _invalid(
            "Invalid `tensor` and `lengths`: the sum of lengths "
            f"({lengths.sum()}) is not the size of the first dimension ({len(tensor)})"
        )
    parts = np.split(tensor, np.cumsum(lengths)[:-1])
    return TensorList(list(parts), element_dtype, as_shape(element_shape))


def list_length(tensor: Any) -> int | None:
    """How many elements a list is known to have."""
    value = constant_value(tensor)
    return None if value is None else int(value)
