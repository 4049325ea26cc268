"""Python inside a graph: `tf.py_function` and `tf.numpy_function`.

Each makes a node that calls the Python function whenever it runs. A `py_function` is called with
eager tensors, and can be differentiated: a tape watches what it does, and its gradient is another
such node that asks that tape. A `numpy_function` is called with arrays.

Told about: `python/ops/script_ops.py`, `python/lib/core/py_func.cc`.
"""

from __future__ import annotations

import itertools
import traceback
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tflogscope.runtime import context, errors, nest, stacks, tape
from tflogscope.runtime.autograph.conversion import do_not_convert
from tflogscope.runtime.conversion import constant, convert_to_tensor
from tflogscope.runtime.devices import CPU
from tflogscope.runtime.dtypes import DType, as_dtype
from tflogscope.runtime.eager import EAGER
from tflogscope.runtime.gradients import gradient, not_differentiable
from tflogscope.runtime.gradients.gradient_tape import GradientTape
from tflogscope.runtime.operations import Inference
from tflogscope.runtime.ops.call import control_dependencies, results
from tflogscope.runtime.ops.declare import op
from tflogscope.runtime.record import OpRecord
from tflogscope.runtime.shapes import UNKNOWN
from tflogscope.runtime.tensors import EagerTensor, Tensor
from tflogscope.runtime.values import to_array
from tflogscope.runtime.variables import Variable

__all__ = ["numpy_function", "py_function"]

_functions: weakref.WeakValueDictionary[str, _PythonFunction] = weakref.WeakValueDictionary()
"""The functions by the token that stands in the node. The graph that has the node keeps them."""
_numbers = itertools.count()
_HOST = "/job:localhost/replica:0/task:0"
"""Where Python is: any device there will do."""
_kept_for_ever: list[
    _PythonFunction
] = []  # those called eagerly: TensorFlow's default graph has them


def py_function(
    func: Callable[..., Any],
    inp: Sequence[Any],
    Tout: Any,  # noqa: N803
    name: str | None = None,
) -> Any:
    """`func(*inp)` run as Python on eager tensors, whenever the node runs.

    `Tout` is the dtype of the result, or a list of them. Raises ValueError for what is no function;
    what `func` raises comes out of the function's call: as the TensorFlow error that stands for it
    (`UnknownError` for most).
    """
    return _call("EagerPyFunc", func, inp, Tout, name, is_gradient=False)


def numpy_function(
    func: Callable[..., Any],
    inp: Sequence[Any],
    Tout: Any,  # noqa: N803
    stateful: bool = True,
    name: str | None = None,
) -> Any:
    """`func(*inp)` run on NumPy arrays; no gradient flows through it.

    Eagerly `func` is called at once. Raises ValueError for what is no function.
    """
    if context.executing_eagerly():
        return _eagerly(func, inp)
    return _call("PyFunc" if stateful else "PyFuncStateless", func, inp, Tout, name)


def _call(
    type: str,
    func: Callable[..., Any],
    inp: Sequence[Any],
    types: Any,
    name: str | None,
    *,
    is_gradient: bool = False,
) -> Any:
    if not callable(func):
        raise ValueError(f"Expected func to be callable. Received func={func} of type {func!r}.")
    several = isinstance(types, (list, tuple))
    dtypes = [as_dtype(each) for each in (types if several else [types])]
    function = _PythonFunction(do_not_convert(func), dtypes, is_gradient)
    token = f"pyfunc_{next(_numbers)}"
    _functions[token] = function
    _keep(function)
    inputs = [each.read_value() if isinstance(each, Variable) else each for each in inp]
    attributes: dict[str, Any] = {"is_async": False} if type == "EagerPyFunc" else {}
    with context.device(_HOST):
        outputs = results(type, inputs, token=token, Tout=dtypes, name=name, **attributes)
    return outputs if several else outputs[0]


def _keep(function: _PythonFunction) -> None:
    """Functions live as long as the outermost graph that calls them."""
    graph: Any = context.current()
    while getattr(graph, "outer_graph", None) is not None:
        graph = graph.outer_graph
    if context.executing_eagerly():
        _kept_for_ever.append(function)
    else:
        graph.collections.setdefault("python functions", []).append(function)


def _eagerly(func: Callable[..., Any], inp: Sequence[Any]) -> Any:
    """NB: TensorFlow runs no op for an eager `numpy_function` either: it calls the function, and
    takes what that returns, whatever dtypes were promised.
    """
    found = nest.flatten(func(*[np.array(each) for each in inp]))
    values = [each if each is None else convert_to_tensor(each) for each in found]
    return values[0] if len(values) == 1 else values


class _PythonFunction:
    """A Python function that nodes call, and the tape of its last call."""

    def __init__(
        self, function: Callable[..., Any], dtypes: Sequence[DType], is_gradient: bool
    ) -> None:
        self.function = function
        self.dtypes = dtypes
        self.is_gradient = is_gradient
        self.differentiated = False
        """Whether a graph holds its gradient: then each call is watched by a tape."""
        self.watched: tuple[GradientTape, list[Tensor], Any] | None = None

    def call_eagerly(self, arrays: Sequence[Any], dtypes: Sequence[DType]) -> list[Any]:
        """Call it with eager tensors."""
        watched = self.differentiated or tape.recording()
        with context.enter(EAGER), tape.own_stack():
            tensors: list[Tensor] = [
                EagerTensor(array, dtype, CPU) for array, dtype in zip(arrays, dtypes, strict=True)
            ]
            if not watched:
                return self._values(self._converted(self.function(*tensors)))
            with GradientTape() as watching:
                watching.watch([each for each in tensors if tape.trainable(each.dtype)])
                outputs = self._converted(self.function(*tensors))
            self.watched = watching, tensors, outputs
            return self._values(outputs)

    def call_with_arrays(self, arrays: Sequence[Any]) -> list[Any]:
        """Call it with arrays."""
        result = self.function(*arrays)
        if not self.dtypes:
            return []
        values = result if isinstance(result, (list, tuple)) else [result]
        found = [np.asarray(value) for value in values]
        return [
            to_array(value, dtype)[0] if dtype.name == "string" else _checked(value, dtype)
            for value, dtype in zip(found, self.dtypes, strict=True)
        ]

    def gradient(self, *grads: Tensor) -> Any:
        """The gradients of the inputs of the last call."""
        assert self.watched is not None
        (watching, inputs, outputs), self.watched = self.watched, None
        return watching.gradient(outputs, inputs, output_gradients=list(grads))

    def _converted(self, result: Any) -> list[Tensor]:
        if result is None or not self.dtypes:
            return []
        values = result if isinstance(result, (list, tuple)) else [result]
        return [self._convert(v, dtype) for v, dtype in zip(values, self.dtypes, strict=False)]

    def _convert(self, value: Any, dtype: DType) -> Tensor:
        if isinstance(value, Variable):
            raise RuntimeError(
                "Attempting to return a variable from an eagerly executed py_func. Only numeric "
                "data structures like Tensors or NumPy arrays should be returned; to return the "
                "value of a variable, make sure to obtain the Tensor backing it by calling "
                f"`.read_value()` on the variable in question: {value}"
            )
        if value is None and self.is_gradient:
            return constant(0.0, dtype)
        return convert_to_tensor(value, dtype)  # type: ignore[no-any-return]

    @staticmethod
    def _values(tensors: Sequence[Any]) -> list[Any]:
        return [each.value for each in tensors]


def _checked(value: Any, dtype: DType) -> Any:
    if value.dtype != dtype.as_numpy_dtype:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"0-th value returned by pyfunc_0 is {value.dtype.name}, but expects {dtype.name}",
        )
    return value


# -- the ops


def _unknown(i: Inference) -> list[Any]:
    return [UNKNOWN] * len(i.attributes["Tout"])


class _Kernel:
    """Calls the function of the token; a Python exception becomes an error of TensorFlow."""

    def __init__(self, *, eager: bool) -> None:
        self.eager = eager

    def __call__(self, *arrays: Any, token: str, Tin: Sequence[DType]) -> Any:  # noqa: N803
        function = _functions[token]
        try:
            if self.eager:
                return tuple(function.call_eagerly(arrays, Tin))
            return tuple(function.call_with_arrays(arrays))
        except errors.NotInThisRuntime:
            raise
        except Exception as error:
            raise from_python(error) from error


_KINDS: tuple[tuple[type[Exception], type[errors.OpError]], ...] = (
    (StopIteration, errors.OutOfRangeError),
    (ValueError, errors.InvalidArgumentError),
    (TypeError, errors.InvalidArgumentError),
    (MemoryError, errors.ResourceExhaustedError),
    (NotImplementedError, errors.UnimplementedError),
)


def from_python(error: Exception) -> errors.OpError:
    """The error that an op ends with whose Python function raised this one, with the user's part of
    the traceback. Told about: `py_func.cc`.
    """
    kind = next((to for of, to in _KINDS if isinstance(error, of)), errors.UnknownError)
    users = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if stacks.is_users(frame.filename)
    ]
    told = [
        f"{type(error).__name__}: {error}\nTraceback (most recent call last):\n",
        *traceback.format_list(users),
        *traceback.format_exception_only(error),
    ]
    return kind(None, None, "\n".join(told) + "\n")


op(
    "EagerPyFunc(input: list(Tin); token, is_async=False, Tout) -> output: list(Tout)",
    _unknown,
    stateful=True,
)(_Kernel(eager=True))
op("PyFunc(input: list(Tin); token, Tout) -> output: list(Tout)", _unknown, stateful=True)(
    _Kernel(eager=False)
)
op("PyFuncStateless(input: list(Tin); token, Tout) -> output: list(Tout)", _unknown)(
    _Kernel(eager=False)
)


not_differentiable("PyFunc", "PyFuncStateless")


@gradient("EagerPyFunc")
def _eager_py_func_gradient(op: OpRecord, *grads: Tensor) -> Sequence[Tensor | None]:
    function = _functions[op.get_attr("token")]
    types = [tensor.dtype for tensor in op.inputs]
    with control_dependencies(op.outputs):
        found: Sequence[Tensor | None] = _call(
            "EagerPyFunc", function.gradient, grads, types, None, is_gradient=True
        )
    if not context.executing_eagerly():
        function.differentiated = True
    return found
