"""How a trace is described: the types of its arguments, and what it prints as.

    ConcreteFunction f(x, y=2)

Args:
        x: float32 Tensor, shape=(None,)
      ...

Told about: `pretty_printed_signature` of `eager/polymorphic_function/monomorphic_function.py`.
"""

from __future__ import annotations

import pprint
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tflogscope.runtime import composites, nest
from tflogscope.runtime.dtypes import DType
from tflogscope.runtime.function.signature import FunctionType, Signature
from tflogscope.runtime.function.trace_types import (
    Composite,
    Identity,
    Literal,
    Mapped,
    Sequenced,
    TensorType,
    TraceType,
    VariableType,
)
from tflogscope.runtime.shapes import TensorShape
from tflogscope.runtime.tensors import Tensor, TensorSpec

__all__ = ["described", "structured_signature", "summary"]

Structured = tuple[tuple[Any, ...], dict[str, Any]]
"""Of positional arguments, and of those by keyword."""


class UnknownArgument:
    """Stands for an object of the user's."""


@dataclass(frozen=True, repr=False)
class VariableSpec:
    """Stands for a variable."""

    shape: TensorShape
    dtype: DType
    trainable: bool
    alias_id: int

    def __repr__(self) -> str:
        return (
            f"VariableSpec(shape={self.shape}, dtype={self.dtype!r}, "
            f"trainable={self.trainable}, alias_id={self.alias_id})"
        )


class NoneTensorSpec:
    """Stands for None among the results."""

    def __repr__(self) -> str:
        return "NoneTensorSpec()"


UnknownArgument.__module__ = "tensorflow.python.framework.func_graph"  # as TensorFlow prints it


class _Marker:
    """Stands for a value in a structure that is printed; what it is, a line of its own says."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __repr__(self) -> str:
        return f"<{self.number}>"


def structured_signature(type_: FunctionType, signature: Signature) -> Structured:
    """The types of the arguments in the structure in which they are passed."""
    args, kwargs = signature.unbind({name: _spec(each, name) for name, each in type_.parameters})
    return tuple(args), kwargs


def summary(name: str, type_: FunctionType, structured: Structured) -> str:
    """`f(x, y=2)`: of arguments that are part of the trace, the value."""
    args, kwargs = structured
    names = [name for name, _ in type_.parameters][: len(args)]
    shown = [_parameter(*each) for each in zip(names, args, strict=True)]
    if kwargs:
        shown += ["*", *(_parameter(*each) for each in kwargs.items())]
    return f"{name}({', '.join(shown)})"


def described(name: str, type_: FunctionType, structured: Structured, results: Any) -> str:
    """The summary, with lines on the arguments and on the results."""
    args, kwargs = structured
    names = [name for name, _ in type_.parameters][: len(args)]
    given = [*zip(names, args, strict=True), *sorted(kwargs.items())]
    lines = [f"    {name}: {_text(spec)}" for name, spec in given if _has_spec(spec)]
    returned = nest.map_structure(_spec_of_result, results)
    return "\n".join(
        [
            summary(name, type_, structured),
            *(["  Args:", *lines] if lines else []),
            "  Returns:",
            f"    {_text(returned)}",
        ]
    )


def _spec(type_: TraceType, path: str) -> Any:
    match type_:
        case TensorType(dtype, shape, name):
            return TensorSpec(shape, dtype, name or path)
        case VariableType(dtype, shape, trainable, alias):
            return VariableSpec(shape, dtype, trainable, alias)
        case Literal(value):
            return value
        case Identity():
            return UnknownArgument()
        case Sequenced(_, parts):
            return type_.made([_spec(part, f"{path}_{at}") for at, part in enumerate(parts)])
        case Mapped(_, parts):
            return type_.made({key: _spec(part, f"{path}_{key}") for key, part in parts})
        case Composite(spec):
            return spec
    return type_


def _parameter(name: str, spec: Any) -> str:
    return name if _has_spec(spec) else f"{name}={spec}"


def _has_spec(structure: Any) -> bool:
    return any(
        isinstance(each, TensorSpec | VariableSpec) or hasattr(each, "_component_specs")
        for each in nest.flatten(structure)
    )


def _spec_of_result(value: Any) -> Any:
    if isinstance(value, Tensor):
        return TensorSpec(value.shape, value.dtype)
    return composites.type_spec(value) if composites.is_composite(value) else NoneTensorSpec()


def _text(spec: Any) -> str:
    if isinstance(spec, TensorSpec):
        return f"{spec.dtype.name} Tensor, shape={spec.shape}"
    if not isinstance(spec, Sequence | Mapping) or isinstance(spec, str | bytes):
        return repr(spec)
    parts: list[Any] = []
    marked = nest.map_structure(lambda part: _marked(parts, part), spec)
    return pprint.pformat(marked, width=10000) + "".join(_part_lines(parts))


def _marked(parts: list[Any], part: Any) -> _Marker:
    parts.append(part)
    return _Marker(len(parts))


def _part_lines(parts: Sequence[Any]) -> Iterator[str]:
    for at, part in enumerate(parts):
        yield f"\n      {_Marker(at + 1)!r}: {_text(part)}"
