"""`tf.TensorArray`: a list of tensors (`ops/lists.py`). And what loops over it: `tf.map_fn`. See
`tensorflow/python/ops/tensor_array_ops.py`, `map_fn.py`. NB: eagerly TensorFlow has a Python list.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

from tflogscope.runtime.core import context, nest
from tflogscope.runtime.core.calls import O
from tflogscope.runtime.core.context import op_scope
from tflogscope.runtime.core.conversion import constant, convert_to_tensor
from tflogscope.runtime.core.dtypes import as_dtype
from tflogscope.runtime.core.errors import missing
from tflogscope.runtime.core.known import known_value
from tflogscope.runtime.core.shapes import TensorShape
from tflogscope.runtime.core.tensors import Tensor
from tflogscope.runtime.function.loops import while_loop
from tflogscope.runtime.library import arrays
from tflogscope.runtime.ops.lists import shape_input


class TensorArray:
    """Tensors by number, each written once; writing gives another array."""

    def __init__(
        self,
        dtype: Any,
        size: Any = 0,
        dynamic_size: bool = False,
        *,
        element_shape: Any = None,
        name: str | None = None,
        **_: Any,
    ) -> None:
        self.dtype, self.dynamic_size, self._size = as_dtype(dtype), dynamic_size, size
        self._shape = [TensorShape(element_shape)]  # shared by all arrays that come of this one
        with op_scope(name, "TensorArrayV2") as scope:
            shape, dtype = shape_input(self._shape[0]), self.dtype
            self.flow = O.TensorListReserve(shape, size, element_dtype=dtype, name=scope)

    element_shape = property(lambda self: self._shape[0])

    def with_flow(self, flow: Any) -> TensorArray:
        other = copy(self)
        other.flow = flow
        return other

    def composite(self) -> tuple[Any, list[Any], Callable[..., Any]]:
        return (self.dtype, str(self.element_shape)), [self.flow], self.with_flow

    def read(self, index: Any, name: str | None = None) -> Any:
        with op_scope(name, "TensorArrayV2Read"):
            shape = shape_input(self.element_shape)
            return O.TensorListGetItem(self.flow, index, shape, element_dtype=self.dtype, name=name)

    def write(self, index: Any, value: Any, name: str | None = None) -> TensorArray:
        with op_scope(name, "TensorArrayV2Write"):
            value = convert_to_tensor(value, self.dtype, "value")
            self._shape[0] = self.element_shape.merge_with(value.shape)
            resize = {"resize_if_index_out_of_bounds": self.dynamic_size}
            return self.with_flow(O.TensorListSetItem(self.flow, index, value, **resize, name=name))

    def stack(self, name: str | None = None) -> Any:
        with op_scope(name, "TensorArrayV2Stack"):
            known = known_value(self._size) if isinstance(self._size, Tensor) else self._size
            count = -1 if self.dynamic_size or known is None else int(known)
            options = {"element_dtype": self.dtype, "num_elements": count}
            return O.TensorListStack(self.flow, shape_input(self.element_shape), **options)

    def unstack(self, value: Any, name: str | None = None) -> TensorArray:
        with op_scope(name, "TensorArrayUnstack"):
            value = convert_to_tensor(value, self.dtype, name="value")
            self._shape[0] = self.element_shape.merge_with(value.shape[1:])
            shape = shape_input(value.shape[1:])
            return self.with_flow(O.TensorListFromTensor(value, shape, element_dtype=self.dtype))

    def size(self) -> Any:
        return O.TensorListLength(self.flow) if self.dynamic_size else convert_to_tensor(self._size)

    def __getattr__(self, name: str) -> Any:
        return missing("tf.TensorArray", name)


TensorArray.__module__ = "tensorflow.python.ops.tensor_array_ops"  # as types are printed


# -- loops over rows


def map_fn(
    fn: Callable[[Any], Any], elems: Any, *, fn_output_signature: Any = None, name: Any = None
) -> Any:
    """`fn` of each row."""
    like = elems if fn_output_signature is None else fn_output_signature
    with context.name_scope(name or "map"):
        tensors = [convert_to_tensor(each, name="elem") for each in nest.flatten(elems)]
        first = tensors[0].shape[0]
        count = arrays.shape(tensors[0])[0] if first is None else first
        rows = [TensorArray(each.dtype, count).unstack(each) for each in tensors]
        dtypes = [getattr(e, "dtype", None) or as_dtype(e) for e in nest.flatten(like)]

        def step(i: Any, written: Any) -> Any:
            value = nest.flatten(fn(nest.pack_sequence_as(elems, [each.read(i) for each in rows])))
            return i + 1, [a.write(i, part) for a, part in zip(written, value, strict=True)]

        start = constant(0), [TensorArray(each, count) for each in dtypes]
        _, results = while_loop(lambda i, _: i < count, step, start, maximum_iterations=count)
        return nest.pack_sequence_as(like, [each.stack() for each in results])
