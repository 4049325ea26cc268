"""`tf.TensorArray`: tensors by index, to be written and read in loops.

In graphs it is a list of tensors that flows through the ops (each write gives another); eagerly a
Python list. Told about: `python/ops/tensor_array_ops.py` (`_GraphTensorArrayV2`,
`_EagerTensorArray`).
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np

from tflogscope.runtime.constant_value import constant_value
from tflogscope.runtime.context import executing_eagerly, op_scope
from tflogscope.runtime.control_flow.tensor_list_gradients import (
    concatenated,
    element_shape_input,
    list_from_tensor,
    reserved_list,
    scattered,
)
from tflogscope.runtime.conversion import constant, convert_to_tensor
from tflogscope.runtime.dtypes import DType, as_dtype, int32, int64
from tflogscope.runtime.errors import InvalidArgumentError, OutOfRangeError
from tflogscope.runtime.library import arrays, elementary, joining
from tflogscope.runtime.ops.call import call
from tflogscope.runtime.shapes import TensorShape
from tflogscope.runtime.tensors import EagerTensor, Tensor

__all__ = ["TensorArray"]


class TensorArray:
    """Tensors of one dtype by index. What writes gives the array to go on with."""

    def __init__(
        self,
        dtype: Any,
        size: Any = None,
        dynamic_size: bool | None = None,
        clear_after_read: bool | None = None,
        tensor_array_name: str | None = None,
        handle: Any = None,
        flow: Tensor | None = None,
        infer_shape: bool = True,
        element_shape: Any = None,
        colocate_with_first_write_call: bool = True,
        name: str | None = None,
    ) -> None:
        """`size` elements, more if `dynamic_size`; read once only unless `clear_after_read` is
        False (eagerly).

        Raises ValueError without `size` (or `flow`, the list of a graph's array).
        """
        del tensor_array_name, handle, colocate_with_first_write_call
        self.dtype: DType = as_dtype(dtype)
        kind = (
            _EagerArray
            if executing_eagerly() and (flow is None or flow.dtype is int32)
            else _GraphArray
        )
        shape = TensorShape(element_shape)
        self._implementation: _EagerArray | _GraphArray = kind(
            self.dtype,
            size,
            bool(dynamic_size),
            shape,
            infer_shape,
            flow,
            clear_after_read is not False,
            name,
        )

    @property
    def flow(self) -> Tensor:
        """The tensor that stands for it in graphs."""
        return self._implementation.flow

    @property
    def handle(self) -> None:
        """Arrays of TensorFlow 2 have none."""
        return

    @property
    def element_shape(self) -> TensorShape:
        """What is known of the shape of the elements."""
        return self._implementation.element_shape

    @property
    def dynamic_size(self) -> bool:
        """Whether it may grow."""
        return self._implementation.dynamic

    def with_flow(self, flow: Tensor) -> TensorArray:
        """The same array with another list. Told about: `build_ta_with_new_flow`."""
        return self._copy(self._implementation.with_flow(flow))

    def _next(self, implementation: _EagerArray | _GraphArray) -> TensorArray:
        return self if implementation is self._implementation else self._copy(implementation)

    def _copy(self, implementation: _EagerArray | _GraphArray) -> TensorArray:
        other = copy(self)
        other._implementation = implementation  # noqa: SLF001
        return other

    def identity(self) -> TensorArray:
        """The same array."""
        return self._next(self._implementation.identity())

    def read(self, index: Any, name: str | None = None) -> Any:
        """One element."""
        return self._implementation.read(index, name)

    def write(self, index: Any, value: Any, name: str | None = None) -> TensorArray:
        """With an element replaced. Raises for an index that is not there, and a value of another
        dtype or shape.
        """
        return self._next(self._implementation.write(index, value, name))

    def stack(self, name: str | None = None) -> Any:
        """All elements as one tensor."""
        return self._implementation.stack(name)

    def gather(self, indices: Any, name: str | None = None) -> Any:
        """Some elements as one tensor."""
        return self._implementation.gather(indices, name)

    def concat(self, name: str | None = None) -> Any:
        """All elements, one after the other."""
        return self._implementation.concat(name)

    def unstack(self, value: Any, name: str | None = None) -> TensorArray:
        """With the slices of `value` as elements."""
        return self._next(self._implementation.unstack(value, name))

    def scatter(self, indices: Any, value: Any, name: str | None = None) -> TensorArray:
        """With the slices of `value` at those indices."""
        return self._next(self._implementation.scatter(indices, value, name))

    def split(self, value: Any, lengths: Any, name: str | None = None) -> TensorArray:
        """With consecutive parts of `value` as elements."""
        return self._next(self._implementation.split(value, lengths, name))

    def size(self, name: str | None = None) -> Any:
        """How many elements."""
        return self._implementation.size(name)

    def close(self, name: str | None = None) -> None:
        """Nothing to do: what nobody holds is gone."""


class _GraphArray:
    """A list of tensors in a graph."""

    def __init__(
        self,
        dtype: DType,
        size: Any,
        dynamic: bool,
        element_shape: TensorShape,
        infer_shape: bool,
        flow: Tensor | None,
        clear_after_read: bool,
        name: str | None,
    ) -> None:
        del clear_after_read  # reading does not change a list
        if flow is None and size is None:
            raise ValueError("Argument `size` must be provided if argument `flow` is not provided.")
        self.dtype, self._size, self.dynamic, self._infer_shape = dtype, size, dynamic, infer_shape
        self._shape = [element_shape]  # shared by all arrays that come of this one
        with op_scope(name, "TensorArrayV2") as scope:
            self.flow = reserved_list(element_shape, size, dtype, scope) if flow is None else flow

    @property
    def element_shape(self) -> TensorShape:
        return self._shape[0]

    def with_flow(self, flow: Tensor) -> _GraphArray:
        other = copy(self)
        other.flow = flow
        return other

    def _converted(self, value: Any) -> Tensor:
        tensor: Tensor = convert_to_tensor(value, dtype_hint=self.dtype, name="value")
        if tensor.dtype is not self.dtype:
            raise ValueError(
                f"Invalid data type {tensor.dtype.name}, expected {self.dtype.name} (value: "
                f"{value!r})"
            )
        return tensor

    def _check(self, shape: TensorShape) -> None:
        if not shape.is_compatible_with(self.element_shape):
            raise ValueError(f"Inconsistent shapes: saw {shape} but expected {self.element_shape} ")
        if self._infer_shape:
            self._shape[0] = self.element_shape.merge_with(shape)

    def identity(self) -> _GraphArray:
        return self.with_flow(arrays.identity(self.flow))

    def read(self, index: Any, name: str | None) -> Tensor:
        with op_scope(name, "TensorArrayV2Read"):
            shape = element_shape_input(self.element_shape)
            return call(
                "TensorListGetItem", self.flow, index, shape, element_dtype=self.dtype, name=name
            )

    def write(self, index: Any, value: Any, name: str | None) -> _GraphArray:
        with op_scope(name, "TensorArrayV2Write"):
            value = self._converted(value)
            self._check(value.shape)
            flow = call(
                "TensorListSetItem",
                self.flow,
                index,
                value,
                resize_if_index_out_of_bounds=self.dynamic,
                name=name,
            )
            return self.with_flow(flow)

    def stack(self, name: str | None) -> Tensor:
        with op_scope(name, "TensorArrayV2Stack"):
            count: Any = -1
            if not self.dynamic and self._size is not None:
                count = constant_value(self._size) if isinstance(self._size, Tensor) else self._size
            shape = element_shape_input(self.element_shape)
            return call(
                "TensorListStack",
                self.flow,
                shape,
                element_dtype=self.dtype,
                num_elements=-1 if count is None else int(count),
            )

    def gather(self, indices: Any, name: str | None) -> Tensor:
        shape = element_shape_input(self.element_shape)
        return call(
            "TensorListGather", self.flow, indices, shape, element_dtype=self.dtype, name=name
        )

    def concat(self, name: str | None) -> Tensor:
        shape = self.element_shape
        wanted = [None, *shape.as_list()[1:]] if shape.rank is not None else None
        return concatenated(self.flow, self.dtype, wanted, name)

    def unstack(self, value: Any, name: str | None) -> _GraphArray:
        with op_scope(name, "TensorArrayUnstack"):
            value = self._converted(value)
            self._check(value.shape[1:])
            return self.with_flow(list_from_tensor(value, value.shape[1:]))

    def scatter(self, indices: Any, value: Any, name: str | None) -> _GraphArray:
        with op_scope(name, "TensorArrayScatter"):
            value = self._converted(value)
            self._check(value.shape[1:])
            return self.with_flow(scattered(value, indices, self.flow))

    def split(self, value: Any, lengths: Any, name: str | None) -> _GraphArray:
        with op_scope(name, "TensorArraySplit"):
            value = self._converted(value)
            wide = elementary.cast(lengths, int64)
            known = constant_value(wide)
            if (
                value.shape.rank is not None
                and known is not None
                and known.size
                and known.max() == known.min()
            ):
                self._check(TensorShape([int(known[0])]).concatenate(value.shape[1:]))
            shape = element_shape_input(self.element_shape)
            return self.with_flow(call("TensorListSplit", value, shape, wide, name=name))

    def size(self, name: str | None) -> Tensor:
        if not self.dynamic and self._size is not None:
            return convert_to_tensor(self._size, int32)  # type: ignore[no-any-return]
        return call("TensorListLength", self.flow, name=name)


class _EagerArray:
    """A Python list of tensors."""

    def __init__(
        self,
        dtype: DType,
        size: Any,
        dynamic: bool,
        element_shape: TensorShape,
        infer_shape: bool,
        flow: Tensor | None,
        clear_after_read: bool,
        name: str | None,
    ) -> None:
        del name
        if size is None:
            raise ValueError(
                "Size must be declared for TensorArrays when eager execution is enabled."
            )
        self.dtype, self.dynamic, self.element_shape, self._infer_shape = (
            dtype,
            dynamic,
            element_shape,
            infer_shape,
        )
        self.flow: Tensor = constant(0, int32) if flow is None else flow
        self._clear_after_read = clear_after_read
        self._cleared: set[int] = set()
        self._elements: list[Tensor | None] = [None] * int(size)

    def with_flow(self, flow: Tensor) -> _EagerArray:
        del flow
        return self

    def identity(self) -> _EagerArray:
        return self

    def read(self, index: Any, name: str | None) -> Tensor:
        del name
        index = _number(index)
        if index < 0:
            raise OutOfRangeError(
                None, None, f"Reading from negative indices (index {index}) is not allowed."
            )
        if index >= len(self._elements):
            raise OutOfRangeError(
                None,
                None,
                f"Tried to read from index {index} but array size is: {len(self._elements)} ",
            )
        if self._elements[index] is None and index in self._cleared:
            raise InvalidArgumentError(
                None,
                None,
                f"Could not read index {index} twice because it was cleared after a previous read "
                "(perhaps try setting clear_after_read = false?)",
            )
        element = self._element(index)
        if self._clear_after_read:
            self._elements[index] = None
            self._cleared.add(index)
        return element

    def _element(self, index: int) -> Tensor:
        element = self._elements[index]
        if element is None:
            element = self._elements[index] = arrays.zeros(self.element_shape, self.dtype)
        return element

    def write(self, index: Any, value: Any, name: str | None) -> _EagerArray:
        del name
        index = _number(index)
        if index < 0:
            raise OutOfRangeError(
                None, None, f"Writing to negative indices (index {index}) is not allowed."
            )
        size = len(self._elements)
        if index >= size:
            if not self.dynamic:
                raise OutOfRangeError(
                    None,
                    None,
                    f"Tried to write to index {index} but array is not resizeable and size is: "
                    f"{size} ",
                )
            self._elements += [None] * (index - size + 1)
        value = convert_to_tensor(value, dtype_hint=self.dtype, name="value")
        if value.dtype is not self.dtype:
            raise InvalidArgumentError(
                None,
                None,
                f"TensorArray dtype is {self.dtype.name} but Op is trying to write dtype "
                f"{value.dtype.name} ",
            )
        if not self.element_shape.is_compatible_with(value.shape):
            raise ValueError(
                f"Incompatible shape for value ({value.shape}), expected ({self.element_shape})"
            )
        if self._infer_shape:
            self.element_shape = self.element_shape.merge_with(value.shape)
        self._elements[index] = value
        return self

    def _all(self) -> list[Tensor]:
        return [self._element(index) for index in range(len(self._elements))]

    def stack(self, name: str | None) -> Tensor:
        elements: Any = self._all()
        if not elements and self.element_shape.is_fully_defined():
            elements = np.zeros([0, *self.element_shape.as_list()], self.dtype.as_numpy_dtype)
        return convert_to_tensor(elements, self.dtype, name)  # type: ignore[no-any-return]

    def gather(self, indices: Any, name: str | None) -> Tensor:
        del name
        return joining.stack([self._element(_number(index)) for index in _numbers(indices)])

    def concat(self, name: str | None) -> Tensor:
        return joining.concat(self._all(), 0, name=name or "concat")

    def unstack(self, value: Any, name: str | None) -> _EagerArray:
        elements: Sequence[Tensor] = joining.unstack(value, name=name or "unstack")
        if len(elements) > len(self._elements) and not self.dynamic:
            raise ValueError(
                f"Cannot unstack {len(elements)} tensors into a TensorArray of static size "
                f"{len(self._elements)} "
            )
        self._elements = list(elements)
        return self

    def scatter(self, indices: Any, value: Any, name: str | None) -> _EagerArray:
        for index, element in zip(_numbers(indices), joining.unstack(value), strict=False):
            self.write(index, element, name)
        return self

    def split(self, value: Any, lengths: Any, name: str | None) -> _EagerArray:
        value = convert_to_tensor(value, dtype_hint=self.dtype, name="value")
        self._elements = list(joining.split(value, lengths, name=name or "split"))
        return self

    def size(self, name: str | None) -> Tensor:
        del name
        return constant(len(self._elements))


def _number(index: Any) -> int:
    return int(index.numpy()) if isinstance(index, EagerTensor) else int(index)


def _numbers(indices: Any) -> Sequence[Any]:
    return indices.numpy() if isinstance(indices, EagerTensor) else indices  # type: ignore[no-any-return]


TensorArray.__module__ = "tensorflow.python.ops.tensor_array_ops"  # as types are printed
