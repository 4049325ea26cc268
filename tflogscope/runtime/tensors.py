"""Tensors: handles to values. An `EagerTensor` has its value, a `SymbolicTensor` will get one when
its graph runs.

RFC 184 calls both an *abstract tensor handle*: ops take and give them without asking which kind
they are. `TensorSpec` describes a tensor without being one.

Told about: `tensorflow/python/framework/ops.py` (`Tensor`, `_EagerTensorBase`) and
`tensor_spec.py`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, NoReturn

import numpy as np

from tflogscope.runtime import printing
from tflogscope.runtime.dtypes import DType, as_dtype, float32
from tflogscope.runtime.errors import OperatorNotAllowedInGraphError
from tflogscope.runtime.operators import OPERATORS, Operators
from tflogscope.runtime.release import since
from tflogscope.runtime.shapes import TensorShape, as_shape

if TYPE_CHECKING:
    from tflogscope.runtime.graph import Graph, Node

__all__ = [
    "OPERATORS",
    "EagerTensor",
    "HandleData",
    "SymbolicTensor",
    "Tensor",
    "TensorSpec",
    "uid",
    "uncounted",
]

_uids = [itertools.count(0)]
_elsewhere = itertools.count(1 << 48)


def uid() -> int:
    """The next number of the process: each tensor, graph and function name takes one (TensorFlow's
    `ops.uid()`).
    """
    return next(_uids[-1])


@contextmanager
def uncounted() -> Iterator[None]:
    """Within, numbers come from elsewhere: for what TensorFlow learns without making anything."""
    _uids.append(_elsewhere)
    try:
        yield
    finally:
        _uids.pop()


class HandleData(NamedTuple):
    """What a resource or variant tensor leads to: the shape and dtype of its value."""

    shape: TensorShape
    dtype: DType


class Tensor(Operators):
    """What ops take and give. Never made directly."""

    __slots__ = (
        "__weakref__",
        "_keras_history",
        "_keras_logits",
        "_keras_mask",
        "dtype",
        "handle_data",
        "is_zeros",
        "uid",
    )
    __array_priority__: ClassVar[int] = 100  # NumPy asks us first in `array + tensor`

    dtype: DType
    handle_data: HandleData | None
    is_zeros: bool  # set where it is known to be
    _keras_history: Any  # what Keras notes on tensors
    _keras_logits: Any
    _keras_mask: Any

    def __init__(self, dtype: DType) -> None:
        self.uid = uid()
        self.dtype = dtype
        self.handle_data = None

    @property
    def shape(self) -> TensorShape:
        """The static shape."""
        raise NotImplementedError

    @property
    def device(self) -> str:
        """Where it lives."""
        raise NotImplementedError

    @property
    def ndim(self) -> int | None:
        """How many dimensions; None if not known."""
        return self.shape.rank

    def get_shape(self) -> TensorShape:
        """The same as `shape`."""
        return self.shape

    def set_shape(self, shape: Any) -> None:
        """Say what is known of the shape. Raises ValueError if it can't be that."""
        raise NotImplementedError

    def ref(self) -> Reference:
        """A hashable stand-in, to use tensors as keys."""
        return Reference(self)

    def __hash__(self) -> int:
        raise TypeError("Tensor is unhashable. Instead, use tensor.ref() as the key.")

    def __len__(self) -> int:
        raise NotImplementedError


class Reference:
    """A tensor or variable as a dictionary key: equal only to itself."""

    __slots__ = ("_value",)

    def __init__(self, value: Any) -> None:
        self._value = value

    def deref(self) -> Any:
        """The tensor or variable."""
        return self._value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reference) and self._value is other._value

    def __hash__(self) -> int:
        return id(self._value)

    def __repr__(self) -> str:
        return f"<Reference wrapping {self._value!r}>"


_EAGER_CLASS = "'tensorflow.python.framework.ops.EagerTensor'"
_NUMPY_NAMES = frozenset(
    {"T", "astype", "ravel", "transpose", "reshape", "clip", "size", "tolist", "data"}
)


def _no_numpy_name(kind: str, name: str) -> str:
    return (
        f"{kind} object has no attribute '{name}'. \n        If you are looking for numpy-related "
        "methods, please run the following:\n        from tensorflow.python.ops.numpy_ops import "
        "np_config\n        np_config.enable_numpy_behavior()\n      "
    )


class EagerTensor(Tensor):
    """A tensor with its value: an array, or for resources and variants any Python object."""

    __slots__ = ("_device", "_shape", "assign", "value")
    assign: Any
    """Only a part of a variable has it: `variable[1:].assign(…)`."""

    def __init__(self, value: Any, dtype: DType, device: str) -> None:
        super().__init__(dtype)
        self.value = value
        self._device = device
        self._shape: TensorShape | None = None

    @property
    def shape(self) -> TensorShape:
        """The shape of the value; of a resource or variant, ()."""
        if self._shape is None:
            self._shape = TensorShape(
                getattr(self.value, "shape", ()) if self.dtype.is_array else ()
            )
        return self._shape

    @property
    def device(self) -> str:
        """The full name of the device that made it."""
        return self._device

    def set_shape(self, shape: Any) -> None:
        """Check that the shape fits. Raises ValueError if it doesn't."""
        if not self.shape.is_compatible_with(shape):
            raise ValueError(
                f"Tensor's shape {self.shape} is not compatible with supplied shape {shape}."
            )

    def numpy(self) -> Any:
        """The value: an array that may be changed, or a NumPy scalar, or `bytes`."""
        if not self.dtype.is_array:
            raise ValueError(
                f"Cannot convert a tensor of dtype {self.dtype.name} to a NumPy array."
            )
        return self.value.copy() if self.value.ndim else self.value[()]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if not self.dtype.is_array:
            raise ValueError(
                f"Cannot convert a tensor of dtype {self.dtype.name} to a NumPy array."
            )
        array = np.asarray(self.value, dtype)
        return array.copy() if copy else array

    def __bool__(self) -> bool:
        # NB: of nothing NumPy 2 does not say, as NumPy 1 did, that it is false.
        value = self.numpy()
        return bool(np.size(value)) and bool(value)

    def __int__(self) -> int:
        return int(self._only_element())

    def __index__(self) -> int:
        return self.value[()].__index__()  # type: ignore[no-any-return]

    def __float__(self) -> float:
        return float(self._only_element())

    def __complex__(self) -> complex:
        return complex(self._only_element())

    def _only_element(self) -> Any:
        value = self.numpy()
        if np.size(value) != 1:
            raise TypeError("only size-1 arrays can be converted to Python scalars")
        return value if np.ndim(value) == 0 else value.reshape(-1)[0]

    def __format__(self, specification: str) -> str:
        return format(self.numpy(), specification)

    def __round__(self, digits: int | None = None) -> Any:
        return round(self.numpy()) if digits is None else round(self.numpy(), digits)

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        raise TypeError(f"{_EAGER_CLASS} object does not support item assignment")

    def __getattr__(self, name: str) -> Any:
        if name in _NUMPY_NAMES:
            raise AttributeError(_no_numpy_name("EagerTensor", name))
        raise AttributeError(f"{_EAGER_CLASS} object has no attribute {name!r}")

    def __len__(self) -> int:
        if not self.shape.rank:
            raise TypeError("Scalar tensor has no `len()`")
        return int(self.shape[0])

    def __iter__(self) -> Iterator[Tensor]:
        if not self.shape.rank:
            raise TypeError("Cannot iterate over a scalar tensor.")
        return (self[row] for row in range(len(self)))

    def __copy__(self) -> EagerTensor:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> EagerTensor:
        return self

    @property
    def backing_device(self) -> str:
        """Where its memory is."""
        return self._device

    def cpu(self) -> EagerTensor:
        """Itself: every device here is a CPU."""
        return self

    def __str__(self) -> str:
        return f"tf.Tensor({printing.text(self)}, shape={self.shape}, dtype={self.dtype.name})"

    def __repr__(self) -> str:
        value = printing.named_value(self)
        return f"<tf.Tensor: shape={self.shape}, dtype={self.dtype.name}, {value}>"


def _type_name() -> str:
    """What Python's own conversions call a symbolic tensor."""
    return "SymbolicTensor" if since(2, 15) else "Tensor"


class SymbolicTensor(Tensor):
    """Output `value_index` of a node of a graph."""

    __slots__ = ("_shape", "assign", "op", "value_index")
    assign: Any

    def __init__(self, op: Node, value_index: int, dtype: DType, shape: TensorShape) -> None:
        super().__init__(dtype)
        self.op = op
        self.value_index = value_index
        self._shape = shape

    @property
    def shape(self) -> TensorShape:
        """What is known of the shape."""
        return self._shape

    @property
    def graph(self) -> Graph:
        """The graph it belongs to."""
        return self.op.graph

    def __hash__(self) -> int:
        if self.graph.building_function:
            return super().__hash__()
        return id(self)  # in a TF1 graph tensors are keys: `session.run(y, {x: 1.0})`

    @property
    def name(self) -> str:
        """`node:index`."""
        return f"{self.op.name}:{self.value_index}"

    @property
    def device(self) -> str:
        """The device asked for, perhaps none."""
        return self.op.device

    def set_shape(self, shape: Any) -> None:
        """Say what is known of the shape. Raises ValueError if it can't be that."""
        self._shape = self._shape.merge_with(shape)

    def consumers(self) -> list[Node]:
        """The nodes that take it as input."""
        return [node for node in self.graph.nodes if any(i is self for i in node.inputs)]

    def __bool__(self) -> NoReturn:  # noqa: PLE0304
        self._refuse("Using a symbolic `tf.Tensor` as a Python `bool`")

    def __iter__(self) -> NoReturn:
        self._refuse("Iterating over a symbolic `tf.Tensor`")

    def _refuse(self, task: str) -> NoReturn:
        from tflogscope.runtime.autograph.conversion import Status, control_status

        why = {
            Status.DISABLED: (
                "AutoGraph is disabled in this function. Try decorating it directly with "
                "@tf.function."
            ),
            Status.ENABLED: (
                "AutoGraph did convert this function. This might indicate you are trying to use an "
                "unsupported feature."
            ),
        }.get(control_status(), "AutoGraph did not convert this function.")
        raise OperatorNotAllowedInGraphError(f"{task} is not allowed: {why}")

    def __len__(self) -> int:
        raise TypeError(
            f"len is not well defined for a symbolic Tensor ({self.name}). Please call `x.shape` "
            "rather than `len(x)` for shape information."
        )

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError(
            f"Cannot convert a symbolic tf.Tensor ({self.name}) to a numpy array. This error may "
            "indicate that you're trying to pass a Tensor to a NumPy call, which is not supported."
        )

    def __float__(self) -> float:
        raise TypeError(f"float() argument must be a string or a real number, not {_type_name()!r}")

    def __int__(self) -> int:
        raise TypeError(
            "int() argument must be a string, a bytes-like object or a real number, not "
            f"{_type_name()!r}"
        )

    def __index__(self) -> int:
        raise TypeError(f"The symbolic tensor {self.name} has no value to use as an index.")

    def __getattr__(self, name: str) -> Any:
        # What TensorFlow 2.13 calls the class: a newcomer should find the text.
        if name in _NUMPY_NAMES:
            raise AttributeError(_no_numpy_name("Tensor", name))
        raise AttributeError(f"'Tensor' object has no attribute {name!r}")

    def __copy__(self) -> SymbolicTensor:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> SymbolicTensor:
        return self

    def __str__(self) -> str:
        shape = "" if self._shape.rank is None else f", shape={self._shape}"
        device = f", device={self.op.device}" if self.op.device else ""
        return f'Tensor("{self.name}"{shape}, dtype={self.dtype.name}{device})'

    def __repr__(self) -> str:
        return f"<tf.Tensor '{self.name}' shape={self._shape} dtype={self.dtype.name}>"


class TensorSpec:
    """The dtype and shape that a tensor may have, and perhaps its name."""

    __slots__ = ("dtype", "name", "shape")

    def __init__(self, shape: Any, dtype: Any = float32, name: str | None = None) -> None:
        self.shape = as_shape(shape)
        self.dtype = as_dtype(dtype)
        self.name = name

    @classmethod
    def from_tensor(cls, tensor: Tensor, name: str | None = None) -> TensorSpec:
        """The spec of that tensor."""
        node = getattr(tensor, "op", None)
        return cls(tensor.shape, tensor.dtype, name or (node and node.name))

    @classmethod
    def from_spec(cls, spec: TensorSpec, name: str | None = None) -> TensorSpec:
        """The same spec, perhaps with another name."""
        return cls(spec.shape, spec.dtype, name or spec.name)

    def is_compatible_with(self, value: Any) -> bool:
        """Could this tensor (or a tensor of this spec) be one of ours?"""
        return bool(value.dtype == self.dtype) and self.shape.is_compatible_with(value.shape)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorSpec) and (self.shape, self.dtype, self.name) == (
            other.shape,
            other.dtype,
            other.name,
        )

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype))

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self.shape}, dtype={self.dtype!r}, name={self.name!r})"


# As TensorFlow names them where a type is printed.
TensorSpec.__module__ = "tensorflow.python.framework.tensor"
EagerTensor.__module__ = SymbolicTensor.__module__ = "tensorflow.python.framework.ops"
SymbolicTensor.__name__ = SymbolicTensor.__qualname__ = "Tensor"
