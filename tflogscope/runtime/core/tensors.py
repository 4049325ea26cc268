"""Tensors: an `EagerTensor` has its value, a `SymbolicTensor` will get one when its graph runs.

Ops take and give both without asking which kind they are. `TensorSpec` describes a tensor without
being one. See `tensorflow/python/framework/ops.py` and `tensor_spec.py`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, NoReturn

import numpy as np

from tflogscope.runtime.core.dtypes import DType, as_dtype, float32
from tflogscope.runtime.core.errors import OperatorNotAllowedInGraphError, missing
from tflogscope.runtime.core.shapes import TensorShape, as_shape, merged

CPU = "/job:localhost/replica:0/task:0/device:CPU:0"
OPERATORS: dict[str, Callable[..., Any]] = {}
"""The function behind each operator, filled by `library/slices.py`: they are made of ops."""
uid = itertools.count(1).__next__


class HandleData(NamedTuple):
    """What a resource or variant tensor leads to: the shape and dtype of its value."""

    shape: TensorShape
    dtype: DType


class Operators:
    """What Python looks for when it meets an operator: `x + y`, `x[1:]`, `-x`."""

    __slots__ = ()
    __array_priority__ = 100  # NumPy asks us first in `array + tensor`

    def _operand(self) -> Any:
        return self


def _operator(name: str) -> Callable[..., Any]:
    def apply(self: Any, *others: Any) -> Any:
        return OPERATORS[name](self._operand(), *others)

    return apply


_BINARY = "add sub mul truediv floordiv mod pow matmul and or"
for _name in (
    *_BINARY.split(),
    *(f"r{each}" for each in _BINARY.split()),
    *"lt le gt ge eq ne neg abs invert getitem".split(),
):
    setattr(Operators, f"__{_name}__", _operator(_name))


class Tensor(Operators):
    """What ops take and give. Never made directly."""

    __slots__ = ("__weakref__", "_keras_logits", "_keras_mask", "dtype", "handle_data", "uid")
    _keras_mask: Any
    _keras_logits: Any
    shape: Any

    def __init__(self, dtype: DType) -> None:
        self.uid = uid()
        self.dtype = dtype
        self.handle_data: HandleData | None = None

    def __hash__(self) -> int:
        raise TypeError("Tensor is unhashable.")


class EagerTensor(Tensor):
    """A tensor that has a value: an array, or an object if it is a resource or a variant."""

    __slots__ = ("value",)
    device = CPU

    def __init__(self, value: Any, dtype: DType) -> None:
        super().__init__(dtype)
        self.value = value

    @property
    def shape(self) -> TensorShape:
        return TensorShape(np.shape(self.value) if self.dtype.is_array else ())

    def set_shape(self, shape: Any) -> None:
        self.shape.assert_is_compatible_with(shape)

    def numpy(self) -> Any:
        if not self.dtype.is_array:
            raise ValueError(f"Cannot convert a tensor of dtype {self.dtype.name} to NumPy.")
        return self.value.copy() if self.value.ndim else self.value[()]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        del copy
        return np.array(self.numpy(), dtype)

    def __bool__(self) -> bool:
        return bool(self.numpy())

    def __int__(self) -> int:
        return int(np.reshape(self.numpy(), ()))

    __index__ = __int__

    def __float__(self) -> float:
        return float(np.reshape(self.numpy(), ()))

    def __format__(self, specification: str) -> str:
        return format(self.numpy(), specification)

    def __len__(self) -> int:
        return len(self.value)

    def __iter__(self) -> Iterator[Any]:
        return (self[row] for row in range(len(self)))  # type: ignore[index]

    def __str__(self) -> str:
        text = _text(self.value) if self.dtype.is_array else "<unprintable>"
        return f"tf.Tensor({text}, shape={self.shape}, dtype={self.dtype.name})"

    def __repr__(self) -> str:
        shown = _own_line(repr(self.value)) if np.ndim(self.value) else _text(self.value)
        return f"<tf.Tensor: shape={self.shape}, dtype={self.dtype.name}, numpy={shown}>"


def _text(value: Any) -> str:
    if np.ndim(value):
        return _own_line(str(value))
    item = value[()]
    return repr(item) if isinstance(item, bytes) else str(item)


def _own_line(shown: str) -> str:
    return "\n" + shown if "\n" in shown else shown


class SymbolicTensor(Tensor):
    """An output of a node in a graph."""

    __slots__ = ("_shape", "op", "value_index")

    def __init__(self, op: Any, value_index: int, dtype: DType, shape: TensorShape) -> None:
        super().__init__(dtype)
        self.op = op
        self.value_index = value_index
        self._shape = shape

    shape = property(lambda self: self._shape)
    graph = property(lambda self: self.op.graph)
    name = property(lambda self: f"{self.op.name}:{self.value_index}")
    device = property(lambda self: self.op.device)

    def set_shape(self, shape: Any) -> None:
        self._shape.assert_is_compatible_with(shape)
        self._shape = merged(self._shape, as_shape(shape))

    def __hash__(self) -> int:
        return id(self) if not self.graph.building_function else super().__hash__()

    def _refuse(self, *_: Any) -> NoReturn:
        raise OperatorNotAllowedInGraphError(
            "Using a symbolic `tf.Tensor` as a Python value is not allowed: AutoGraph did not convert "
            "this function. Try decorating it directly with @tf.function."
        )

    __bool__ = __iter__ = _refuse

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        raise NotImplementedError(
            f"Cannot convert a symbolic tf.Tensor ({self.name}) to a numpy array."
        )

    def __getattr__(self, name: str) -> Any:
        return missing("tf.Tensor", name)

    def __str__(self) -> str:
        shape = f"shape={self.shape}, " if self.shape.rank is not None else "shape=<unknown>, "
        return f'Tensor("{self.name}", {shape}dtype={self.dtype.name})'

    def __repr__(self) -> str:
        return f"<tf.Tensor {self.name!r} shape={self.shape} dtype={self.dtype.name}>"


class TensorSpec:
    """The dtype and shape of a tensor, and perhaps a name: `tf.TensorSpec`."""

    def __init__(self, shape: Any, dtype: Any = float32, name: str | None = None) -> None:
        self.shape = as_shape(shape)
        self.dtype = as_dtype(dtype)
        self.name = name

    @classmethod
    def from_tensor(cls, tensor: Any, name: str | None = None) -> TensorSpec:
        return cls(tensor.shape, tensor.dtype, name)

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self.shape}, dtype={self.dtype!r}, name={self.name!r})"
