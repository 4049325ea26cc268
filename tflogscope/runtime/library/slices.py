"""`x[1:, 0]`, gathering, choosing; gradients as slices of rows. See `array_ops.py`, `indexed_slices.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tflogscope.runtime.core.calls import O, call, generated
from tflogscope.runtime.core.context import name_scope, op_scope
from tflogscope.runtime.core.conversion import constant, convert_to_tensor, register_conversion
from tflogscope.runtime.core.dtypes import as_dtype, bool_, int16, int32, int64
from tflogscope.runtime.core.errors import NotInThisRuntime
from tflogscope.runtime.core.known import known_shape, known_value
from tflogscope.runtime.core.shapes import UNKNOWN
from tflogscope.runtime.core.tensors import OPERATORS, Tensor
from tflogscope.runtime.library import arrays, numbers
from tflogscope.runtime.library.matrices import matmul
from tflogscope.runtime.library.numbers import add_n


class _Spec:
    """What a key means: begin, end and stride of each dimension, and masks."""

    def __init__(self, key: Any) -> None:
        self.limits: list[tuple[Any, Any, Any]] = []
        self.masks = dict.fromkeys(
            ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"), 0
        )
        for part in key if isinstance(key, (list, tuple)) else [key]:
            self._add(part, 1 << len(self.limits))

    def _add(self, part: Any, bit: int) -> None:
        if isinstance(part, slice):
            given = (part.start, part.stop, part.step)
            dtype = next((each.dtype for each in given if isinstance(each, Tensor)), None)
            default = [each if dtype is None else constant(each, dtype) for each in (0, 0, 1)]
            found = [a if b is None else b for a, b in zip(default, given, strict=True)]
            self.limits.append((found[0], found[1], found[2]))
            self.masks["begin_mask"] |= bit if part.start is None else 0
            self.masks["end_mask"] |= bit if part.stop is None else 0
        elif part is None or part is Ellipsis:
            self.limits.append((0, 0, 1))
            self.masks["new_axis_mask" if part is None else "ellipsis_mask"] |= bit
        elif isinstance(part, (int, np.integer, Tensor)) or hasattr(part, "handle"):
            wide = isinstance(part, Tensor) and part.dtype in {int16, int64}
            self.limits.append((part, part + 1, constant(1, part.dtype) if wide else 1))
            self.masks["shrink_axis_mask"] |= bit
        else:
            raise TypeError(f"Not a valid index: {part!r}")


def getitem(tensor: Any, key: Any) -> Any:
    """`tensor[key]`."""
    tensor = convert_to_tensor(tensor)
    if getattr(key, "dtype", None) is not None and as_dtype(key.dtype) is bool_:
        raise NotInThisRuntime("A tensor indexed by a mask")
    spec = _Spec(key)
    with name_scope("strided_slice") as scope:
        parts = zip(*spec.limits, strict=True) if spec.limits else [[]] * 3
        packed = [arrays.stack(part) if part else constant([], int32) for part in map(list, parts)]
        if any(each.dtype is int64 for each in packed):
            packed = [e if e.dtype is int64 else O.Cast(e, DstT=int64) for e in packed]
        return O.StridedSlice(tensor, *packed, **spec.masks, name=scope)


def gather(params: Any, indices: Any, axis: Any = 0, name: str | None = None) -> Any:
    """The parts of `params` at these places along `axis`."""
    fixed = known_value(axis) if isinstance(axis, Tensor) else axis
    if fixed is not None and fixed == 0 and hasattr(type(params), "sparse_read"):
        return params.sparse_read(indices, name=name)  # a variable reads just the parts
    return O.GatherV2(params, indices, axis, name=name)


def where(condition: Any, x: Any, y: Any, name: str | None = None) -> Any:
    """`x` where the condition holds, else `y`."""
    return O.SelectV2(condition, x, y, name=name)


# -- gradients that are zero but for some rows: what a gather gives


class IndexedSlices:
    """Rows of a tensor: `values` at the places `indices`, zeros elsewhere."""

    def __init__(self, values: Any, indices: Any, dense_shape: Any = None) -> None:
        self.values, self.indices, self.dense_shape = values, indices, dense_shape

    dtype = property(lambda self: self.values.dtype)
    op = property(lambda self: self.values.op)

    @property
    def shape(self) -> Any:
        return UNKNOWN if self.dense_shape is None else known_shape(self.dense_shape)


def dense(value: Any) -> Any:
    return convert_to_tensor(value) if isinstance(value, IndexedSlices) else value


def _to_tensor(value: IndexedSlices, dtype: Any, name: str | None) -> Any:
    del dtype
    if value.dense_shape is None:
        raise ValueError("Tensor conversion requested for IndexedSlices without dense_shape.")
    return O.UnsortedSegmentSum(value.values, value.indices, value.dense_shape[0], name=name)


def add_gradients(gradients: list[Any]) -> Any:
    """Their sum. NB: rows that several gave become whole tables."""
    return add_n([dense(each) for each in gradients])


register_conversion(IndexedSlices, _to_tensor)


# What `x + y` means for tensors. See `tensorflow/python/ops/tensor_math_operator_overrides.py`.

Binary = Callable[..., Any]


def _operator(function: Binary, name: str) -> Binary:
    def operator(x: Any, y: Any) -> Any:
        with op_scope(None, name) as scope:
            return function(x, y, name=scope)

    return operator


def _reversed(function: Binary, name: str) -> Binary:
    def converted(y: Any, x: Any, name: Any) -> Any:
        return function(convert_to_tensor(x, y.dtype, name="x"), y, name=name)

    return _operator(converted, name)


def _equal(type: str) -> Binary:
    def function(x: Any, y: Any) -> Any:
        return type == "NotEqual" if y is None else call(type, x, y, incompatible_shape_error=False)

    return function


_BINARY: dict[str, Binary] = {
    "add": numbers.add,
    "sub": generated("Sub"),
    "mul": generated("Mul"),
    "truediv": numbers.truediv,
    "floordiv": numbers.floordiv,
    "mod": generated("FloorMod"),
    "pow": numbers.pow_,
    "matmul": matmul,
    "and": generated("LogicalAnd"),
    "or": generated("LogicalOr"),
}
for _name, _function in _BINARY.items():
    OPERATORS[_name] = _operator(_function, _name)
    OPERATORS[f"r{_name}"] = _reversed(_function, _name)
OPERATORS.update(
    abs=numbers.abs_,
    neg=O.Neg,
    invert=O.LogicalNot,
    eq=_equal("Equal"),
    ne=_equal("NotEqual"),
    lt=O.Less,
    le=O.LessEqual,
    gt=O.Greater,
    ge=O.GreaterEqual,
    getitem=getitem,
)
