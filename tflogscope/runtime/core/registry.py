"""The registry of ops. A row of the table in `ops/` declares one.

    op("Tanh(x: T; T) -> y: T", same, np.tanh, lambda op, g: [O.TanhGrad(op.outputs[0], g)])

First its signature, as `REGISTER_OP` of TensorFlow's C++ says it. Before the semicolon are the
inputs, each with its type: a dtype, or the attribute that holds it. `N*T` is a list of tensors of
one type, `list(T)` of any. After it are attributes with defaults; those without one must be given,
unless they follow from an input. Then a shape rule, a kernel and a gradient function.

The kernel is a function of NumPy arrays; the parameters after the inputs are attributes. The
gradient function takes the op and the gradients of its outputs, and gives those of the inputs, by
calling ops: so gradients can be traced, and be differentiated again.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from tflogscope.runtime.core.dtypes import ALL, DType, bfloat16, round_to_bfloat16
from tflogscope.runtime.core.errors import NotInThisRuntime
from tflogscope.runtime.core.shapes import TensorShape

REQUIRED: Any = object()
"""The default of an attribute that has none."""


@dataclass(frozen=True, slots=True)
class Inference:
    """What a shape rule sees: the inputs and the attributes."""

    inputs: Sequence[Any]
    attributes: Mapping[str, Any]

    def shape(self, index: int) -> TensorShape:
        found: TensorShape = self.inputs[index].shape
        return found

    def __getitem__(self, name: str) -> Any:
        return self.attributes[name]


@dataclass(frozen=True, slots=True)
class Argument:
    """An input or output: name, type, and the attribute that counts it if it is a list."""

    name: str
    type: str
    count: str = ""
    several: bool = False
    """A list of tensors of any types, which the attribute `type` lists."""

    dtype = property(lambda self: ALL.get(self.type))
    """The dtype, if it is always the same one."""


@dataclass(slots=True, eq=False)
class OpDef:
    """One op."""

    type: str
    inputs: tuple[Argument, ...]
    outputs: tuple[Argument, ...]
    attributes: dict[str, Any]
    shape: Callable[[Inference], Any]
    kernel: Callable[..., Any]
    stateful: bool = False

    def infer(self, inputs: Sequence[Any], attributes: Mapping[str, Any]) -> list[Any]:
        """Dtype, shape and perhaps handle data of each output. Raises ValueError for shapes that
        the op can't take.
        """
        dtypes = self.dtypes(attributes)
        found: Any = self.shape(Inference(inputs, attributes))
        if not dtypes:
            return []
        shapes = [found] * len(dtypes) if isinstance(found, TensorShape) else found
        parts = [each if isinstance(each, tuple) else (each,) for each in shapes]
        return [(dtype, *part) for dtype, part in zip(dtypes, parts, strict=True)]

    def complete(self, attributes: Mapping[str, Any], inputs: Sequence[Any]) -> dict[str, Any]:
        """The attributes, with those added that follow from the dtypes of inputs."""
        full = dict(attributes)
        for argument, tensor in zip(self.inputs, inputs, strict=False):
            if argument.count or argument.several:
                break
            if not argument.dtype:
                full.setdefault(argument.type, tensor.dtype)
        return full

    def dtypes(self, attributes: Mapping[str, Any]) -> list[DType]:
        found: list[DType] = []
        for output in self.outputs:
            dtype: Any = output.dtype or attributes[output.type]
            if output.several:
                found += dtype
            else:
                found += [dtype] * (attributes[output.count] if output.count else 1)
        return found


_ops: dict[str, OpDef] = {}
_gradients: dict[str, Any] = {}
_LINE = re.compile(r"(\w+)\(([^;]*?)(?:;(.*?))?\)(?: -> (.*))?$", re.DOTALL)


def op(
    line: str,
    shape: Callable[[Inference], Any],
    kernel: Callable[..., Any],
    gradient: Callable[..., Any] | None = None,
    *,
    stateful: bool = False,
) -> None:
    """Declare an op. `gradient` None: no gradient flows through it."""
    match = _LINE.match(line)
    assert match is not None, line
    inputs, outputs = (tuple(map(_argument, _parts(match[at]))) for at in (2, 4))
    attributes = {}
    for part in _parts(match[3]):
        name, _, default = part.partition("=")
        attributes[name] = _default(default) if default else REQUIRED
    for argument in (*inputs, *outputs):
        for name in (argument.count, "" if argument.dtype else argument.type):
            if name:
                attributes.setdefault(name, REQUIRED)
    _ops[match[1]] = OpDef(match[1], inputs, outputs, attributes, shape, kernel, stateful)
    _gradients[match[1]] = gradient


def alias(name: str, of: str) -> None:
    """Another op that computes the same: oneDNN's of TensorFlow's."""
    _ops[name] = replace(_ops[of], type=name)


def set_gradient(*types: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a gradient function that is too long for the table."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        _gradients.update(dict.fromkeys(types, function))
        return function

    return register


def lookup(type: str) -> OpDef:
    """The op of that name. Raises NotInThisRuntime where there is none."""
    found = _ops.get(type)
    if found is None:
        raise NotInThisRuntime(f"The op {type}")
    return found


def registered(type: str) -> bool:
    return type in _ops


def gradient_of(type: str) -> Callable[..., Any] | None:
    """The gradient function; None if no gradient flows. Raises LookupError for an unknown op."""
    if type not in _gradients:
        raise LookupError(f"gradient registry has no entry for: {type}")
    found: Callable[..., Any] | None = _gradients[type]
    return found


def bind(definition: OpDef, attributes: Mapping[str, Any]) -> Callable[..., Any]:
    """The kernel as a function of the inputs alone: what is done once, and not at each call."""
    kernel = definition.kernel
    if hasattr(kernel, "instance"):  # a kernel with a state: each use of the op has its own
        made: Callable[..., Any] = kernel.instance(attributes)
        return made
    try:
        parameters = inspect.signature(kernel).parameters
    except (TypeError, ValueError):  # a NumPy ufunc takes no attributes
        return kernel
    every = any(each.kind is each.VAR_KEYWORD for each in parameters.values())
    chosen = {name: attributes[name] for name in attributes if every or name in parameters}
    return partial(kernel, **chosen) if chosen else kernel


def output_values(result: Any, dtypes: Sequence[DType]) -> list[Any]:
    """A kernel's result as tensors hold it, one value per output."""
    if len(dtypes) == 1 and not isinstance(result, (tuple, list)):
        return [_as_value(result, dtypes[0])]
    results = () if result is None else result
    return [_as_value(value, dtype) for value, dtype in zip(results, dtypes, strict=True)]


def _as_value(value: Any, dtype: DType) -> Any:
    if dtype is bfloat16:
        return round_to_bfloat16(value)
    return np.asarray(value, dtype.as_numpy_dtype) if dtype.is_array else value


def _parts(text: str | None) -> list[str]:
    """The text cut at its commas, but for those within brackets or quotes."""
    parts = re.findall(r"(?:\[[^\]]*\]|'[^']*'|\([^)]*\)|[^,\[('])+", text or "")
    return [part.strip() for part in parts if part.strip()]


def _argument(text: str) -> Argument:
    name, _, kind = (piece.strip() for piece in text.partition(":"))
    if kind.startswith("list("):
        return Argument(name, kind[5:-1], several=True)
    count, _, of = kind.rpartition("*")
    return Argument(name, of, count)


def _default(text: str) -> Any:
    return ALL[text] if text in ALL else ast.literal_eval(text)
