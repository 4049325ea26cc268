"""Python functions as ops: `tf.py_function`, `tf.numpy_function`. See
`tensorflow/python/ops/script_ops.py`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from tflogscope.runtime.core import context, tape
from tflogscope.runtime.core.calls import call
from tflogscope.runtime.core.conversion import constant, convert_to_tensor, to_array
from tflogscope.runtime.core.dtypes import as_dtype
from tflogscope.runtime.core.eager import EAGER
from tflogscope.runtime.core.graph import control_dependencies
from tflogscope.runtime.core.registry import op, set_gradient
from tflogscope.runtime.core.shapes import UNKNOWN
from tflogscope.runtime.core.tensors import EagerTensor
from tflogscope.runtime.function.autograph.conversion import do_not_convert
from tflogscope.runtime.function.backprop import GradientTape
from tflogscope.runtime.function.variables import values_of

_functions: dict[str, _PythonFunction] = {}
_numbers = itertools.count()


def py_function(func: Callable[..., Any], inp: Sequence[Any], Tout: Any, name: Any = None) -> Any:  # noqa: N803
    """Call a Python function with eager tensors, where the op runs."""
    return _call("EagerPyFunc", func, inp, Tout, name)


def numpy_function(func: Callable[..., Any], inp: Any, Tout: Any, name: Any = None) -> Any:  # noqa: N803
    """Call a Python function with NumPy arrays."""
    if context.executing_eagerly():
        return convert_to_tensor(func(*[np.array(each) for each in inp]), Tout)
    return _call("PyFunc", func, inp, Tout, name)


def _call(type: str, func: Callable[..., Any], inp: Any, types: Any, name: Any) -> Any:
    several = isinstance(types, (list, tuple))
    dtypes = tuple(as_dtype(each) for each in (types if several else [types]))
    token = f"pyfunc_{next(_numbers)}"
    _functions[token] = _PythonFunction(do_not_convert(func), dtypes)
    with context.device("/job:localhost/replica:0/task:0"):
        outputs = call(type, values_of(list(inp)), token=token, Tout=dtypes, name=name)
    return outputs if several else outputs[0]


class _PythonFunction:
    """The function, and what a tape saw of its last call, for its gradient."""

    def __init__(self, function: Callable[..., Any], dtypes: Sequence[Any]) -> None:
        self.function, self.dtypes = function, dtypes
        self.differentiated = False
        self.watched: Any = None

    def with_tensors(self, arrays: Sequence[Any], dtypes: Sequence[Any]) -> list[Any]:
        tensors = [EagerTensor(array, d) for array, d in zip(arrays, dtypes, strict=True)]
        watches = self.differentiated or tape.recording()
        with context.enter(EAGER), GradientTape() if watches else nullcontext() as watching:
            if watching is not None:
                watching.watch([each for each in tensors if tape.trainable(each.dtype)])
            results = self.function(*tensors)
            results = results if isinstance(results, (list, tuple)) else [results]
            pairs = zip(results, self.dtypes, strict=True)
            outputs = [convert_to_tensor(value, dtype) for value, dtype in pairs]
        self.watched = watching, tensors, outputs
        return [each.value for each in outputs]

    def with_arrays(self, arrays: Sequence[Any], dtypes: Sequence[Any]) -> list[Any]:
        results = self.function(*arrays)
        results = results if isinstance(results, (list, tuple)) else [results]
        pairs = zip(results, self.dtypes, strict=True)
        return [to_array(np.asarray(value), dtype)[0] for value, dtype in pairs]

    def gradient(self, *grads: Any) -> Any:
        """The gradient of the last call."""
        (watching, inputs, outputs), self.watched = self.watched, None
        found = watching.gradient(outputs, inputs, output_gradients=list(grads))
        pairs = zip(found, inputs, strict=True)
        return [constant(0.0, each.dtype) if grad is None else grad for grad, each in pairs]


_RUNS = {"EagerPyFunc": _PythonFunction.with_tensors, "PyFunc": _PythonFunction.with_arrays}
for _type, _run in _RUNS.items():
    op(
        f"{_type}(input: list(Tin); token, Tout) -> output: list(Tout)",
        lambda i: [UNKNOWN] * len(i["Tout"]),
        lambda *arrays, token, Tin, run=_run: tuple(run(_functions[token], arrays, Tin)),  # noqa: N803
        stateful=True,
    )


@set_gradient("EagerPyFunc")
def _gradient(op: Any, *grads: Any) -> Any:
    function = _functions[op.get_attr("token")]
    function.differentiated = True
    types = [tensor.dtype for tensor in op.inputs]
    with control_dependencies(op.outputs):
        return _call("EagerPyFunc", function.gradient, grads, types, None)
