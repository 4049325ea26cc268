"""What decides whether a function is traced again: the types of its arguments. A tensor's is its
dtype and shape; a Python value's is the value itself; an object's is its identity. See
`core/function/trace_type/` and `core/function/polymorphism/function_type.py` of TensorFlow.
"""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tflogscope.runtime.core import nest
from tflogscope.runtime.core.conversion import constant, convert_to_tensor
from tflogscope.runtime.core.shapes import TensorShape
from tflogscope.runtime.core.tensors import Tensor, TensorSpec
from tflogscope.runtime.function.variables import Variable

Arguments = dict[str, Any]
"""By name: structures of tensors, variables and Python values. In what describes a call there are
specs in place of the tensors.
"""


@dataclass(frozen=True, slots=True)
class CallType:
    """The type of a call: what is the same in all calls of a trace, and the shapes of the tensors."""

    structure: Any
    shapes: tuple[TensorShape, ...]

    def fits(self, other: CallType) -> bool:
        """Does a function that was traced for this type do for the other one, too?"""
        return self.structure == other.structure and all(
            theirs.is_subtype_of(own) for own, theirs in zip(self.shapes, other.shapes, strict=True)
        )

    def generalised(self, others: Iterable[CallType]) -> CallType:
        """The type with shapes that are those of all."""
        shapes = self.shapes
        for other in others:
            if other.structure == self.structure:
                pairs = zip(shapes, other.shapes, strict=True)
                shapes = tuple(a.most_specific_compatible_shape(b) for a, b in pairs)
        return CallType(self.structure, shapes)


def type_of(described: Arguments) -> CallType:
    """The type of a call. Raises TypeError for what can't be compared."""
    shapes: list[TensorShape] = []
    handles: list[int] = []

    def walk(value: Any) -> Any:
        if isinstance(value, TensorSpec):
            shapes.append(value.shape)
            return TensorSpec, value.dtype
        if isinstance(value, Variable):  # which of the different ones in this call counts, too
            uid = value.handle.uid
            handles.extend([] if uid in handles else [uid])
            return value.dtype, value.shape, bool(value.trainable), handles.index(uid)
        if hasattr(value, "composite"):
            return value.composite()[0]
        if nest.is_nested(value):
            keys = tuple(sorted(value)) if isinstance(value, Mapping) else ()
            return keys or type(value), tuple(walk(each) for each in nest.children(value))
        try:
            return weakref.ref(value)
        except TypeError:
            hash(value)
            return value

    structure = tuple(described), tuple(walk(each) for each in described.values())
    return CallType(structure, tuple(shapes))


def tensors_of(structure: Any) -> list[Any]:
    """The tensors and variables in a structure, and those that its leaves are made of."""
    leaves = nest.flatten(structure)
    parts = [e.composite()[1] if hasattr(e, "composite") else [e] for e in leaves]
    return [e for each in parts for e in each if isinstance(e, (Tensor, TensorSpec, Variable))]


def cast(described: Any, value: Any) -> Any:
    """The value as it was described. Raises TypeError if it can't be that."""
    return nest.map_structure(_cast_leaf, described, value)


def _cast_leaf(spec: Any, value: Any) -> Any:
    if isinstance(spec, TensorSpec):
        made = value if isinstance(value, TensorSpec) else convert_to_tensor(value, spec.dtype)
        if made.dtype is spec.dtype and made.shape.is_compatible_with(spec.shape):
            return made
    elif isinstance(spec, Variable) or hasattr(spec, "composite") or spec is value or spec == value:
        return value
    raise TypeError(f"Can not cast {value!r} to {spec!r}")


class Signature:
    """The parameters of a Python function, and what they are to be."""

    def __init__(self, function: Callable[..., Any], input_signature: Sequence[Any] | None) -> None:
        self._signature = inspect.signature(function)
        self._fixed: Arguments = {}
        if input_signature is not None:
            self._fixed = self.bind(input_signature, {})

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Arguments:
        """The arguments by name; `*args` have numbers behind it."""
        found = self._signature.bind(*args, **kwargs)
        found.apply_defaults()
        bound: Arguments = {}
        for name, each in self._signature.parameters.items():
            value = found.arguments[name]
            if each.kind is each.VAR_POSITIONAL:
                bound |= {f"{name}_{at}": item for at, item in enumerate(value)}
            else:
                bound |= (
                    dict(sorted(value.items())) if each.kind is each.VAR_KEYWORD else {name: value}
                )
        return {name: self._value(name, value) for name, value in bound.items()}

    def unbind(self, bound: Arguments) -> inspect.BoundArguments:
        """The arguments as the function takes them."""
        given: Any = {}
        rest = dict(bound)
        for name, each in self._signature.parameters.items():
            if each.kind is each.VAR_POSITIONAL:
                given[name] = [rest.pop(key) for key in list(rest) if key.startswith(f"{name}_")]
            else:
                given[name] = rest if each.kind is each.VAR_KEYWORD else rest.pop(name)
        return inspect.BoundArguments(self._signature, given)

    def described(self, bound: Arguments) -> Arguments:
        """The arguments with specs for tensors: those of the signature if there is one."""

        def leaf(value: Any) -> Any:
            return TensorSpec(value.shape, value.dtype) if isinstance(value, Tensor) else value

        return nest.map_structure(leaf, bound) | self._fixed  # type: ignore[no-any-return]

    def _value(self, name: str, value: Any) -> Any:
        if name in self._fixed:
            return cast(self._fixed[name], value)
        arrays = (np.ndarray, np.generic)
        return nest.map_structure(lambda e: constant(e) if isinstance(e, arrays) else e, value)
