"""What decides whether a function is traced again: the types of its arguments. A tensor's is its
dtype and shape; a Python value's is the value itself; an object's is its identity. See
`core/function/trace_type/` and `core/function/polymorphism/function_type.py` of TensorFlow.
"""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
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

    def generalised(self, other: CallType) -> CallType:
        """The type with shapes that are those of both."""
        if self.structure != other.structure:
            return self
        pairs = zip(self.shapes, other.shapes, strict=True)
        common = tuple(one.most_specific_compatible_shape(another) for one, another in pairs)
        return replace(self, shapes=common)


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


def with_shapes(described: Arguments, shapes: Sequence[TensorShape]) -> Arguments:
    """The description with these shapes."""
    left = iter(shapes)

    def leaf(spec: Any) -> Any:
        return (
            TensorSpec(next(left), spec.dtype, spec.name) if isinstance(spec, TensorSpec) else spec
        )

    return {name: nest.map_structure(leaf, each) for name, each in described.items()}


def tensors_of(arguments: Arguments) -> list[Any]:
    """The tensors and variables among the arguments."""
    found: list[Any] = []
    for leaf in nest.flatten(list(arguments.values())):
        if hasattr(leaf, "composite"):
            found += leaf.composite()[1]
        elif isinstance(leaf, (Tensor, TensorSpec, Variable)):
            found.append(leaf)
    return found


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
        self.name = getattr(function, "__name__", "function")
        self.parameters = list(inspect.signature(function).parameters.values())
        self.input_signature = None if input_signature is None else tuple(input_signature)
        self._fixed: Arguments = {}
        left = list(input_signature or ())
        for each in self.parameters if input_signature is not None else ():
            if each.kind is each.VAR_POSITIONAL:
                self._fixed |= {f"{each.name}_{at}": spec for at, spec in enumerate(left)}
                left = []
            elif left:
                self._fixed[each.name] = left.pop(0)
            elif each.default is not each.empty:
                self._fixed[each.name] = each.default
            elif each.kind is not each.VAR_KEYWORD:
                raise TypeError(f"input_signature missing type constraint for {each.name}")

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Arguments:
        """The arguments by name; `*args` have numbers behind it."""
        bound: Arguments = {}
        try:
            found = inspect.Signature(self.parameters).bind(*args, **kwargs)
            found.apply_defaults()
            for each in self.parameters:
                value = found.arguments[each.name]
                if each.kind is each.VAR_POSITIONAL:
                    bound |= {f"{each.name}_{at}": item for at, item in enumerate(value)}
                elif each.kind is each.VAR_KEYWORD:
                    bound |= dict(sorted(value.items()))
                else:
                    bound[each.name] = value
            return {name: self._value(name, value) for name, value in bound.items()}
        except (TypeError, ValueError) as error:
            text = f"Binding inputs to tf.function `{self.name}` failed due to `{error}`."
            raise TypeError(text) from None

    def unbind(self, bound: Arguments) -> tuple[list[Any], dict[str, Any]]:
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        rest = dict(bound)
        for each in self.parameters:
            if each.kind is each.VAR_POSITIONAL:
                args += [rest.pop(name) for name in list(rest) if name.startswith(f"{each.name}_")]
            elif each.kind is each.VAR_KEYWORD:
                kwargs |= rest
            elif each.kind is each.KEYWORD_ONLY:
                kwargs[each.name] = rest.pop(each.name)
            else:
                args.append(rest.pop(each.name))
        return args, kwargs

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
