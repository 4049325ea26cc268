"""Variables: a handle leads to a resource, which outlives the ops that use it. See
`core/ops/resource_variable_ops.cc`.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from tflogscope.runtime.core.calls import O
from tflogscope.runtime.core.conversion import constant
from tflogscope.runtime.core.dtypes import int32
from tflogscope.runtime.core.errors import FailedPreconditionError
from tflogscope.runtime.core.registry import Inference, op
from tflogscope.runtime.core.shapes import SCALAR, UNKNOWN, TensorShape
from tflogscope.runtime.core.shapes import broadcast as broadcast_shapes
from tflogscope.runtime.core.tensors import HandleData
from tflogscope.runtime.library import arrays
from tflogscope.runtime.library.slices import IndexedSlices
from tflogscope.runtime.ops.gathering import check
from tflogscope.runtime.ops.rules import invalid, same, scalar, unknown

ANONYMOUS = "cd2c89b7-88b7-44c8-ad83-06c2a9158347"
"""The name of resources that are found by their handle only."""


class Resource:
    """Where a variable's value is; None until it is initialised."""

    __slots__ = ("__weakref__", "lock", "name", "value")
    shape = ()

    def __init__(self, name: str) -> None:
        self.name = name
        self.value: Any = None
        self.lock = threading.RLock()

    def read(self) -> Any:
        """The value. Raises FailedPreconditionError if there is none."""
        if self.value is None:
            raise FailedPreconditionError(
                None, None, f"Could not find variable {self.name}. It may not be initialized."
            )
        return self.value

    def change(self, function: Callable[..., Any], *values: Any) -> None:
        """Replace the value by `function` of it and of these values."""
        with self.lock:
            old = self.read()
            self.value = np.asarray(function(old, *values), old.dtype)


_named: dict[str, Any] = {}


def named(name: str, make: Callable[[str], Any]) -> Any:
    """What the session that runs has under that name, made if it is not there."""
    if name not in _named:
        _named[name] = make(name)
    return _named[name]


@contextmanager
def of_session(resources: dict[str, Any]) -> Iterator[None]:
    """Names lead to these resources. NB: one session runs at a time."""
    global _named  # noqa: PLW0603 - all threads of the session's step see it
    previous, _named = _named, resources
    try:
        yield
    finally:
        _named = previous


def _value_shape(i: Inference) -> TensorShape:
    data = i.inputs[0].handle_data
    return UNKNOWN if data is None else data.shape


def _handle(shared_name: str) -> Resource:
    return Resource(shared_name) if shared_name == ANONYMOUS else named(shared_name, Resource)


def _row(line: str, shape: Any, kernel: Any, gradient: Any = None) -> None:
    op(line, shape, kernel, gradient, stateful=True)


def _assign(resource: Any, value: Any) -> None:
    with resource.lock:
        resource.value = value


def _changed_by(function: Callable[[Any, Any], Any]) -> Callable[..., None]:
    def kernel(resource: Any, value: Any) -> None:
        if resource.read().shape != value.shape:
            raise invalid("Cannot update a variable with a tensor of another shape.")
        resource.change(function, value)

    return kernel


_row("VarHandleOp(; dtype, shape, shared_name='', container='', allowed_devices=[]) -> "
     "resource: resource",
     lambda i: [(SCALAR, HandleData(TensorShape(i["shape"]), i["dtype"]))], _handle)  # fmt: skip
_row("VarIsInitializedOp(resource: resource) -> is_initialized: bool", scalar,
     lambda resource: np.array(resource.value is not None))  # fmt: skip
_row("ReadVariableOp(resource: resource; dtype) -> value: dtype", _value_shape,
     lambda resource: resource.read(), lambda op, g: [g])  # fmt: skip
_row("VariableShape(input: resource; out_type=int32) -> output: out_type",
     lambda i: TensorShape([_value_shape(i).rank]), lambda input: np.array(input.read().shape))  # fmt: skip
_row("AssignVariableOp(resource: resource, value: dtype; validate_shape=False)", unknown, _assign)
_row("AssignAddVariableOp(resource: resource, value: dtype)", unknown, _changed_by(np.add))
_row("AssignSubVariableOp(resource: resource, value: dtype)", unknown, _changed_by(np.subtract))
_row("ResourceApplyGradientDescent(var: resource, alpha: T, delta: T; use_locking=False)", unknown,
     lambda var, alpha, delta: var.change(lambda old: old - alpha * delta))  # fmt: skip


# -- some rows of it


def _rows(resource: Any, indices: Any) -> Any:
    value = resource.read()
    check(indices, len(value))
    return value


def _gathered_shape(i: Inference) -> TensorShape:
    shape = _value_shape(i)
    return UNKNOWN if shape.rank is None else i.shape(1).concatenate(shape[1 + i["batch_dims"] :])


def _gather_gradient(op: Any, g: Any) -> list[Any]:
    handle, indices = op.inputs
    data = handle.handle_data
    known = data is not None and data.shape.is_fully_defined()
    shape = constant(data.shape.as_list(), int32) if known else O.VariableShape(handle)
    size = O.ExpandDims(arrays.size(indices), 0)
    values = arrays.reshape(g, arrays.concat([size, shape[1:]], 0))
    return [IndexedSlices(values, arrays.reshape(indices, size), shape), None]


_row("ResourceGather(resource: resource, indices: Tindices; dtype, batch_dims=0, "
     "validate_indices=True) -> output: dtype", _gathered_shape,
     lambda resource, indices: _rows(resource, indices)[indices], _gather_gradient)  # fmt: skip


# What conditionals and loops are lowered to: Switch, Merge, Enter, Exit. The ops that run a
# function are in `executor/__init__.py`. See `core/ops/control_flow_ops.cc`.


class _Dead:
    def __repr__(self) -> str:
        return "DEAD"


DEAD = _Dead()
"""What comes out of a branch that was not taken."""


# -- lowered: kernels hand on values, and the executor knows which branch and which iteration


def _merged(i: Inference) -> Any:
    shapes = {each.shape for each in i.inputs}
    return [shapes.pop() if len(shapes) == 1 else UNKNOWN, SCALAR]


def _merge(*inputs: Any) -> Any:
    which = next(at for at, value in enumerate(inputs) if value is not DEAD)
    return inputs[which], np.array(which, np.int32)


op("Switch(data: T, pred: bool) -> output_false: T, output_true: T", lambda i: [i.shape(0)] * 2,
   lambda data, pred: (DEAD, data) if pred else (data, DEAD))  # fmt: skip
op("Merge(inputs: N*T) -> output: T, value_index: int32", _merged, _merge)
op("Enter(data: T; frame_name, is_constant=False, parallel_iterations=10) -> output: T", same,
   lambda data: data)  # fmt: skip
op("LoopCond(input: bool) -> output: bool", same, lambda data: data)
for _type in ("Exit", "NextIteration"):
    op(f"{_type}(data: T) -> output: T", same, lambda data: data)
LOWERED = frozenset({"Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond"})

# -- the ends of a function, and what is fed and fetched
op("_Arg(; T, index=0) -> output: T", unknown, lambda: None)
op("_Retval(input: T; index=0)", lambda _: [], lambda input: ())
op("_Recv(; tensor_type, tensor_name='') -> tensor: tensor_type", unknown, lambda: None)
op("_Send(tensor: T; tensor_name='')", lambda _: [], lambda tensor: ())


# Strings, printing, assertions: the little that programs say while they run. See
# `core/kernels/string_format_op.cc`, `logging_ops.cc`.


def _each(function: Callable[..., Any], *arrays: Any) -> Any:
    """`function` of each element, as strings."""
    result = np.empty(np.broadcast_shapes(*(np.shape(each) for each in arrays)), object)
    flat = zip(*(np.broadcast_to(each, result.shape).ravel() for each in arrays), strict=True)
    result.ravel()[:] = [function(*each) for each in flat]
    return result


def shown(value: Any) -> str:
    """One element as `tf.print` shows it."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, (bool, np.bool_)):
        return "1" if value else "0"
    return f"{value:.9g}" if isinstance(value, (float, np.floating)) else str(value)


def summary(array: Any, count: int) -> str:
    """`Tensor::SummarizeValue`: the first and last elements of each dimension, if there are many."""
    if array.ndim == 0:
        return shown(array[()])
    parts = [summary(part, count) for part in array]
    if count >= 0 and len(parts) > 2 * count:
        parts = [*parts[:count], "...", *parts[len(parts) - count :]]
    between = " " if array.ndim == 1 else "\n" * (array.ndim - 1) + " "
    return f"[{between.join(parts)}]"


def _format(*inputs: Any, template: str, placeholder: str, summarize: int) -> Any:
    pieces = template.split(placeholder)
    texts = [*(summary(each, summarize) for each in inputs), ""]
    joined = "".join(a + b for a, b in zip(pieces, texts, strict=True))
    return np.array(joined.encode(), object)


def _print(input: Any, output_stream: str, end: str) -> None:
    stream = sys.stdout if output_stream == "stdout" else sys.stderr
    stream.write(input[()].decode("utf-8", "replace") + end)
    stream.flush()


def _assert(condition: Any, *data: Any, summarize: int) -> None:
    if not condition:
        parts = " ".join(f"[{_flat(each, summarize)}]" for each in data)
        raise invalid(f"assertion failed: {parts}")


def _flat(array: Any, count: int) -> str:
    texts = [shown(each) for each in array.ravel()]
    return " ".join(texts[:count]) + ("..." if len(texts) > count >= 0 else "")


op("StringJoin(inputs: N*string; separator='') -> output: string",
   lambda i: broadcast_shapes(*(each.shape for each in i.inputs)),
   lambda *inputs, separator: _each(lambda *parts: separator.encode().join(parts),
                                    *inputs))  # fmt: skip
op("StringFormat(inputs: list(T); template='%s', placeholder='%s', summarize=3) -> output: string",
   scalar, _format)  # fmt: skip
op("PrintV2(input: string; output_stream='stderr', end='\\n')", unknown, _print, stateful=True)
op("Assert(condition: bool, data: list(T); summarize=3)", unknown, _assert, stateful=True)
