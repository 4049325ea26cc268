"""The eager context: an op call runs its kernel at once.

A kernel is made once for each op, set of attributes and dtypes of the inputs, and kept. See
`EagerExecute` and `GetOrCreateKernelAndDevice` of `core/common_runtime/eager/execute.cc`. NB: since
2.8 TensorFlow wraps each eager op in a function of one node, and may run another op instead
(`passes/remapper.py`); values don't depend on that, so only the emitter looks at it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tflogscope.runtime.core import telling
from tflogscope.runtime.core.dtypes import DType
from tflogscope.runtime.core.errors import KERNEL_ERRORS, as_op_error
from tflogscope.runtime.core.registry import OpDef, bind, output_values
from tflogscope.runtime.core.tensors import EagerTensor


class Done(NamedTuple):
    """An op that has run."""

    inputs: Sequence[Any]
    attributes: Any
    outputs: list[Any]


class EagerContext:
    """Runs ops as they are called."""

    building_function = False

    def __init__(self) -> None:
        self._kernels: dict[Any, tuple[Callable[..., Any], list[DType]]] = {}

    def create_operation(
        self, definition: OpDef, inputs: Sequence[Any], attributes: dict[str, Any], name: str | None
    ) -> Done:
        """Run it. Raises the kernel's OpError, which says where."""
        values = [_value(tensor) for tensor in inputs]
        (run, dtypes), cached = self._kernel(definition, inputs, attributes)
        listener = telling.listener
        listener.op_dispatched(definition.type, inputs, attributes, dtypes, cached)
        try:
            with np.errstate(all="ignore"):
                result = output_values(run(*values), dtypes)
        except KERNEL_ERRORS as raised:
            error = as_op_error(raised)
            listener.op_finished(definition.type, (), error)
            message = f"{error.message} [Op:{definition.type}]"  # NB: without the function's name
            raise type(error)(error.node_def, error.op, message) from None
        outputs = [EagerTensor(each, dtype) for each, dtype in zip(result, dtypes, strict=True)]
        listener.op_finished(definition.type, outputs, None)
        return Done(inputs, attributes, outputs)

    def clear_kernels(self) -> None:
        """Make all kernels anew: random ops begin from the start of their seeds."""
        self._kernels.clear()

    def _kernel(self, definition: OpDef, inputs: Sequence[Any], attributes: Any) -> Any:
        dtypes = tuple([tensor.dtype for tensor in inputs])
        key = (definition.type, frozen(tuple(attributes.values())), dtypes)
        cached = key in self._kernels
        if not cached:
            self._kernels[key] = bind(definition, attributes), definition.dtypes(attributes)
        return self._kernels[key], cached


def _value(tensor: Any) -> Any:
    if isinstance(tensor, EagerTensor):
        return tensor.value
    raise TypeError(f"{tensor!r} is out of scope and cannot be used here.")


def frozen(value: Any) -> Any:
    """A hashable copy of an attribute."""
    if isinstance(value, (list, tuple)):
        return tuple([frozen(item) for item in value])
    if isinstance(value, np.ndarray):
        return value.shape, value.dtype.str, value.tobytes() if value.dtype != object else id(value)
    return value


EAGER = EagerContext()
"""The one eager context of the process."""
