"""The eager context: an op call runs its kernel at once.

A kernel is made once for each op, set of attributes, dtypes of the inputs and device, and kept in a
cache; a later call only looks it up. Told about: `EagerExecute` and `GetOrCreateKernelAndDevice` of
`core/common_runtime/eager/execute.cc`. NB: since 2.8 TensorFlow wraps each eager op in a function
of one node (`__wrapped__AddV2_device_…`) and runs that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tflogscope.runtime import stacks, telling
from tflogscope.runtime.devices import CPU
from tflogscope.runtime.dtypes import DType, bfloat16, round_to_bfloat16
from tflogscope.runtime.errors import KERNEL_ERRORS, OpError, as_op_error
from tflogscope.runtime.operations import Inference, OpDef, bind
from tflogscope.runtime.record import EagerRecord
from tflogscope.runtime.resources import Resource
from tflogscope.runtime.shapes import UNKNOWN
from tflogscope.runtime.tensors import EagerTensor, Tensor

__all__ = ["EAGER", "EagerContext", "as_value", "output_values"]


@dataclass(frozen=True, slots=True)
class CachedKernel:
    """A kernel that is ready for any inputs of certain dtypes."""

    run: Callable[..., Any]
    dtypes: tuple[DType, ...]


class EagerContext:
    """Runs ops as they are called."""

    building_function = False

    def __init__(self) -> None:
        self._kernels: dict[Any, CachedKernel] = {}

    def create_operation(
        self,
        definition: OpDef,
        inputs: Sequence[Tensor],
        attributes: dict[str, Any],
        name: str | None,
    ) -> EagerRecord:
        """Run the op. Raises OpError if its kernel does."""
        values = [_value(tensor) for tensor in inputs]
        kernel, cached = self._kernel(definition, inputs, attributes, name)
        listener = telling.listener
        shown = definition.type
        if listener is not None:
            shown = _told_as(definition, inputs, attributes, kernel, cached=cached)
            listener.op_dispatched(shown, inputs, attributes, CPU, cached)
        try:
            with np.errstate(all="ignore"):
                result = kernel.run(*values)
        except KERNEL_ERRORS as raised:
            error = as_op_error(raised)
            if listener is not None:
                listener.op_finished(shown, (), error)
            lists = _lengths(definition.type, attributes, kernel.dtypes)
            raise _located(error, definition.type, attributes, lists, name) from None
        outputs = [
            EagerTensor(value, dtype, CPU)
            for value, dtype in zip(
                output_values(result, kernel.dtypes), kernel.dtypes, strict=True
            )
        ]
        if listener is not None:
            listener.op_finished(shown, outputs, None)
        return EagerRecord(definition.type, inputs, attributes, outputs)

    def scope(self, name: str | None) -> Any:
        """The eager name scope."""
        from tflogscope.runtime.context import eager_scope

        return eager_scope(name)

    def clear_kernels(self) -> None:
        """Drop all kernels, and with them the state of random ones: `tf.random.set_seed` does."""
        self._kernels.clear()

    def forget(self, op: str) -> None:
        """Drop the kernels of that op: of a function that is being deleted."""
        for key in [key for key in self._kernels if key[0] == op]:
            self._kernels.pop(key, None)

    def _kernel(
        self,
        definition: OpDef,
        inputs: Sequence[Tensor],
        attributes: dict[str, Any],
        name: str | None,
    ) -> tuple[CachedKernel, bool]:
        key = (
            definition.type,
            tuple(attributes.values()),
            tuple([tensor.dtype for tensor in inputs]),
        )
        try:
            kernel = self._kernels.get(key)
        except TypeError:  # an attribute that is a list
            key = (key[0], _frozen(key[1]), key[2])
            kernel = self._kernels.get(key)
        if kernel is not None:
            return kernel, True
        try:
            dtypes = _dtypes(definition, inputs, attributes)
        except ValueError as error:  # the attributes alone are wrong
            raise _located(as_op_error(error), definition.type, attributes, "", name) from None
        kernel = CachedKernel(bind(definition, attributes), dtypes)
        self._kernels[key] = kernel
        return kernel, False


def _told_as(
    definition: OpDef,
    inputs: Sequence[Tensor],
    attributes: dict[str, Any],
    kernel: CachedKernel,
    *,
    cached: bool,
) -> str:
    """The op that TensorFlow would say it dispatches: oneDNN's, if the run is like one with it."""
    from tflogscope.runtime import passes
    from tflogscope.runtime.passes import eager_ops

    settings = passes.current()
    if settings is None or definition.type.startswith("__"):  # a function is no op
        return definition.type
    dtypes = (tuple(tensor.dtype for tensor in inputs), kernel.dtypes)
    return eager_ops.tell(definition.type, attributes, dtypes, settings, cached=cached)


def _value(tensor: Tensor) -> Any:
    if isinstance(tensor, EagerTensor):
        return tensor.value
    raise TypeError(stacks.out_of_scope(tensor, "here"))


def _dtypes(
    definition: OpDef, inputs: Sequence[Tensor], attributes: dict[str, Any]
) -> tuple[DType, ...]:
    """The dtypes of the outputs: they hold for inputs of any shape, so that the kernel can be used
    again.
    """
    blank = tuple(_Blank(tensor) for tensor in inputs)
    return tuple(
        spec[0] for spec in definition.infer(Inference(definition.type, blank, attributes))
    )


class _Blank(Tensor):
    """An input of which only the dtype is known."""

    __slots__ = ()
    shape = UNKNOWN

    def __init__(self, of: Tensor) -> None:
        self.dtype = of.dtype
        self.handle_data = of.handle_data


def output_values(result: Any, dtypes: Sequence[DType]) -> list[Any]:
    """What a kernel returned, as a list of values of these dtypes."""
    if len(dtypes) == 1 and not isinstance(result, (tuple, list)):
        return [as_value(result, dtypes[0])]
    results = () if result is None else result
    return [as_value(value, dtype) for value, dtype in zip(results, dtypes, strict=True)]


def as_value(value: Any, dtype: DType) -> Any:
    """A kernel's output as tensors hold it: an array (NumPy gives scalars for 0-d), rounded if
    bfloat16. A reference (ops/references.py) stays one.
    """
    if isinstance(value, Resource) or not dtype.is_array:
        return value
    if dtype is bfloat16:
        return round_to_bfloat16(value)
    if type(value) is np.ndarray:
        return value
    return np.asarray(value, dtype.as_numpy_dtype)


def _frozen(value: Any) -> Any:
    """A hashable copy of an attribute."""
    if isinstance(value, (list, tuple)):
        return tuple(_frozen(item) for item in value)
    if isinstance(value, dict):
        return tuple((key, _frozen(item)) for key, item in value.items())
    if isinstance(value, np.ndarray):
        return value.shape, value.dtype.str, value.tobytes()
    return value


def _located(
    error: OpError, op: str, attributes: dict[str, Any], lists: str, name: str | None
) -> OpError:
    """The same error, saying where: as TensorFlow's message does."""
    message = error.message
    if op.startswith("__"):  # a function
        message = f"{{{{function_node {op}}}}} {message} [Op:{op}]"
        return type(error)(error.node_def, error.op, message)
    if not message.startswith("{{function_node"):
        from tflogscope.runtime.passes.eager_ops import rewritten

        run = rewritten(op, attributes).replace("_", "__")
        wrapper = f"__wrapped__{run}{lists}_device_{CPU}"
        message = f"{{{{function_node {wrapper}}}}} {message}"
    return type(error)(error.node_def, error.op, f"{message} [Op:{op}] name: {name or ''}")


def _lengths(op: str, attributes: dict[str, Any], dtypes: tuple[DType, ...]) -> str:
    """`_N_2`: what the name of the function around an op says of its lists."""
    from tflogscope.runtime.ops.declare import signature_of

    signature = signature_of(op)
    found: dict[str, int] = {}
    if signature is None:  # an op of tf.data: its lists of inputs, and of outputs, of these dtypes
        for key, value in sorted(attributes.items()):
            if key == "N":
                found[key] = value
            elif (key[0] == "T" and isinstance(value, tuple)) or (
                key == "output_types" and tuple(value) == dtypes
            ):
                found[key] = len(value)
        return _numbered(found)
    for argument in (*signature.inputs, *signature.outputs):
        if argument.count:
            found[argument.count] = attributes[argument.count]
        elif argument.list_of_types:
            found[argument.type] = len(attributes[argument.type])
    return _numbered(found)


def _numbered(lists: dict[str, int]) -> str:
    return "".join(f"_{key}_{length}" for key, length in lists.items())


EAGER = EagerContext()
"""The one eager context of the process."""
