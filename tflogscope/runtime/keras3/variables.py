"""Keras' own variable: a `tf.Variable`, its path among the layers, and what Keras keeps on it.

Its arithmetic is that of `ops.py`; where TensorFlow needs a tensor it becomes one, by a
`ReadVariableOp` in the scope of the op that needs it.

Told about: `keras/src/backend/common/variables.py`, `backend/tensorflow/core.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tflogscope.runtime.api as tf
from tflogscope.runtime.conversion import register_conversion
from tflogscope.runtime.keras3 import dtypes, ops
from tflogscope.runtime.keras3.state import auto_name, path, state

__all__ = ["Variable"]


class Variable:
    """A variable. `initializer` is a value, or a function of shape and dtype that gives one."""

    __array_priority__ = 100

    def __init__(
        self,
        initializer: Any,
        shape: Any = None,
        dtype: Any = None,
        trainable: bool = True,
        autocast: bool = True,
        name: str | None = None,
        **_: Any,
    ) -> None:
        """Raises ValueError for a function without a shape, or a value in a stateless scope."""
        self.name = name or auto_name(type(self).__name__)
        scope = path()
        self.path = f"{scope}/{self.name}" if scope else self.name
        self._trainable, self._autocast = bool(trainable), bool(autocast)
        self.regularizer: Any = None
        self.constraint: Any = None
        self._value: Any = None
        self._initializer: Callable[..., Any] | None = None
        if not callable(initializer):
            if state.stateless:
                raise ValueError(
                    "You are attempting to create a variable while in a stateless scope. This is "
                    "disallowed. Make sure that all variables are created before you start using "
                    "your layer/model objects."
                )
            initializer = ops.convert_to_tensor(initializer, dtype)
            self._dtype = dtypes.standardize(dtype or initializer.dtype)
            self._make(initializer)
            self._shape: Any = initializer.shape
            return
        if shape is None:
            raise ValueError(
                "When creating a Variable from an initializer, the `shape` argument should be "
                f"specified. Received: initializer={initializer} and shape={shape}"
            )
        self._dtype = dtypes.standardize(dtype)
        self._shape = tf.TensorShape(shape)
        self._initializer = initializer
        if state.stateless:
            state.uninitialized.append(self)
        else:
            self._make_by_initializer()

    def _make(self, value: Any) -> None:
        self._value = tf.Variable(
            value, dtype=self._dtype, trainable=self._trainable, name=self.name
        )

    def _make_by_initializer(self) -> None:
        initialize = self._initializer
        assert initialize is not None
        shape = tuple(self._shape)
        self._make(lambda: initialize(shape, dtype=self._dtype))
        self._initializer = None

    def initialize_now(self) -> None:
        """Give it its first value, outside of the function that is traced."""
        with tf.init_scope():
            self._make_by_initializer()

    # What it is

    @property
    def value(self) -> Any:
        """The `tf.Variable`; before it has a value, what its initializer gives. Within a layer that
        computes in another dtype: that, cast.
        """
        value = self._value
        if value is None:
            assert self._initializer is not None
            value = self._initializer(tuple(self._shape), dtype=self._dtype)
        return value if self._read_as() is None else tf.cast(value, self._read_as())

    def _read_as(self) -> str | None:
        """The dtype that it is cast to here."""
        return state.autocast if self._autocast and dtypes.is_float(self._dtype) else None

    @property
    def handle(self) -> Any:
        """The handle of the resource: what tapes watch."""
        return self._value.handle

    @property
    def dtype(self) -> str:
        """The name of its dtype, or of that to which it is cast here."""
        return self._read_as() or self._dtype

    @property
    def shape(self) -> Any:
        """Its shape."""
        return self._shape

    @property
    def ndim(self) -> int:
        """How many dimensions it has."""
        return len(self._shape)

    @property
    def trainable(self) -> bool:
        """Does training change it?"""
        return self._trainable

    @trainable.setter
    def trainable(self, value: bool) -> None:
        self._trainable = bool(value)

    def ref(self) -> Any:
        """A hashable stand-in."""
        return self._value.ref()

    def read_value(self) -> Any:
        """The value as a tensor."""
        return tf.convert_to_tensor(self.value)

    def numpy(self) -> Any:
        """The value as an array."""
        return self._value.numpy()

    # Changing it

    def assign(self, value: Any) -> Any:
        """Give it this value. Raises ValueError if the shape differs."""
        value = ops.convert_to_tensor(value, self.dtype)
        if not self.shape.is_compatible_with(value.shape):
            raise ValueError(
                "The shape of the target variable and the shape of the target value in "
                f"`variable.assign(value)` must match. variable.shape={self.shape}, Received: "
                f"value.shape={value.shape}. Target variable: {self}"
            )
        if not state.stateless:
            self._value.assign(tf.cast(value, self._value.dtype))
        return value

    def assign_add(self, value: Any) -> Any:
        """Add this: NB read, add and assign; TensorFlow's own variable has an op for it."""
        return self.assign(self + value)

    def assign_sub(self, value: Any) -> Any:
        """Take this from it."""
        return self.assign(self - value)

    # As a Python value

    def __repr__(self) -> str:
        shape = tuple(self.shape)
        value = "" if self._value is None else f", value={np.asarray(self.numpy())}"
        return f"<Variable path={self.path}, shape={shape}, dtype={self.dtype}{value}>"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        del copy
        return np.asarray(self.numpy(), dtype)

    def __int__(self) -> int:
        return int(self.value)

    def __float__(self) -> float:
        return float(self.value)

    def __bool__(self) -> bool:
        raise TypeError("A Keras Variable cannot be used as a boolean.")

    def __getitem__(self, key: Any) -> Any:
        return self.value[key]

    def __neg__(self) -> Any:
        return -self.value

    def __abs__(self) -> Any:
        return abs(self.value)

    __hash__ = object.__hash__


def _operators(name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """An operator with the variable on its left, and with it on its right."""

    def left(self: Variable, other: Any) -> Any:
        return getattr(ops, name)(self.value, other)

    def right(self: Variable, other: Any) -> Any:
        return getattr(ops, name)(other, self.value)

    return left, right


for _symbol, _name in {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide",
    "floordiv": "floor_divide", "mod": "mod", "pow": "power", "matmul": "matmul",
}.items():  # fmt: skip
    for _prefix, _function in zip(("", "r"), _operators(_name), strict=True):
        setattr(Variable, f"__{_prefix}{_symbol}__", _function)
for _symbol, _name in {
    "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal",
    "ne": "not_equal",
}.items():  # fmt: skip
    setattr(Variable, f"__{_symbol}__", _operators(_name)[0])


def _to_tensor(variable: Variable, dtype: Any, name: str | None) -> Any:
    return tf.convert_to_tensor(variable.value, dtype, name)


register_conversion(Variable, _to_tensor)
