"""What decides whether a function is traced again: the types of its arguments. A tensor's is its
dtype and shape; a Python value's is the value itself; an object's is its identity. See
`core/function/trace_type/` and `core/function/polymorphism/function_type.py` of TensorFlow.
"""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tflogscope.runtime.core.conversion import constant, convert_to_tensor
from tflogscope.runtime.core.dtypes import of_array
from tflogscope.runtime.core.nest import map_structure
from tflogscope.runtime.core.shapes import TensorShape
from tflogscope.runtime.core.tensors import Tensor, TensorSpec


class TraceType:
    """The type of an argument."""

    def is_subtype_of(self, other: TraceType) -> bool:
        """Does a function that was traced for `other` do for this, too?"""
        return self == other

    def common_supertype(self, other: TraceType) -> TraceType | None:
        return self if self == other else None

    def placeholder(self, make: Callable[..., Any]) -> Any:
        """What the Python function gets; `make(type)` gives it for a tensor or a variable."""
        return make(self)

    def tensors(self, value: Any) -> list[Any]:
        return [value]

    def cast(self, value: Any) -> Any:
        return value


@dataclass(frozen=True, slots=True)
class TensorType(TraceType):
    """A tensor."""

    dtype: Any
    shape: TensorShape
    name: str | None = field(default=None, compare=False)

    def is_subtype_of(self, other: TraceType) -> bool:
        same = isinstance(other, TensorType) and self.dtype is other.dtype
        return same and self.shape.is_subtype_of(other.shape)  # type: ignore[attr-defined]

    def common_supertype(self, other: TraceType) -> TraceType | None:
        if not isinstance(other, TensorType) or self.dtype is not other.dtype:
            return None
        return replace(self, shape=self.shape.most_specific_compatible_shape(other.shape))

    def cast(self, value: Any) -> Any:
        if not isinstance(value, TensorSpec):
            value = convert_to_tensor(value, self.dtype)
        if value.dtype is not self.dtype or not value.shape.is_compatible_with(self.shape):
            raise TypeError(f"Can not cast {value!r} to {self!r}")
        return value


@dataclass(frozen=True, slots=True)
class VariableType(TraceType):
    """A variable; `alias` counts the different ones in a call."""

    dtype: Any
    shape: TensorShape
    trainable: bool
    alias: int


@dataclass(frozen=True, slots=True)
class Literal(TraceType):
    """A Python value, or a weak reference to an object."""

    value: Any

    def placeholder(self, make: Callable[..., Any]) -> Any:
        return self.value() if isinstance(self.value, weakref.ref) else self.value

    def tensors(self, value: Any) -> list[Any]:
        return []

    def cast(self, value: Any) -> Any:
        if not isinstance(self.value, weakref.ref) and value != self.value:
            raise TypeError(f"Can not cast {value!r} to type {self!r}")
        return value


@dataclass(frozen=True, slots=True)
class Structure(TraceType):
    """A list, a tuple or a dictionary (whose `keys` are sorted)."""

    kind: Any
    parts: tuple[TraceType, ...]
    keys: tuple[Any, ...] = ()

    def _pairs(self, other: Any) -> Any:
        """The parts of both; None if they are not of one kind."""
        same = isinstance(other, Structure) and (self.kind, self.keys) == (other.kind, other.keys)
        if not same or len(self.parts) != len(other.parts):
            return None
        return zip(self.parts, other.parts, strict=True)

    def is_subtype_of(self, other: TraceType) -> bool:
        pairs = self._pairs(other)
        return pairs is not None and all(a.is_subtype_of(b) for a, b in pairs)

    def common_supertype(self, other: TraceType) -> TraceType | None:
        parts = tuple(a.common_supertype(b) for a, b in self._pairs(other) or [(self, None)])
        return None if None in parts else replace(self, parts=parts)

    def placeholder(self, make: Callable[..., Any]) -> Any:
        return self._made([part.placeholder(make) for part in self.parts])

    def tensors(self, value: Any) -> list[Any]:
        pairs = zip(self.parts, self._items(value), strict=True)
        return [tensor for part, item in pairs for tensor in part.tensors(item)]

    def cast(self, value: Any) -> Any:
        pairs = zip(self.parts, self._items(value), strict=True)
        return self._made([part.cast(item) for part, item in pairs])

    def _items(self, value: Any) -> Any:
        return [value[key] for key in self.keys] if self.keys else value

    def _made(self, items: list[Any]) -> Any:
        if self.kind is dict:
            return dict(zip(self.keys, items, strict=True))
        return self.kind(*items) if hasattr(self.kind, "_fields") else self.kind(items)


@dataclass(frozen=True, slots=True)
class Composite(TraceType):
    """Something made of tensors that has `composite()`: an iterator, an optional."""

    key: Any
    parts: tuple[TensorType, ...]
    made: Any = field(compare=False)

    def placeholder(self, make: Callable[..., Any]) -> Any:
        return self.made(*[make(part) for part in self.parts])

    def tensors(self, value: Any) -> list[Any]:
        found: list[Any] = value.composite()[1]
        return found


def type_of(value: Any, variables: list[Any]) -> TraceType:
    """The type of an argument; `variables` are those met so far. Raises TypeError for what can't be
    compared.
    """
    if isinstance(value, (Tensor, TensorSpec)):
        name = value.name if isinstance(value, TensorSpec) else None
        return TensorType(value.dtype, value.shape, name)
    if hasattr(value, "handle") and hasattr(value, "trainable"):
        handles = [each.handle.uid for each in variables]
        if value.handle.uid not in handles:
            variables.append(value)
            handles.append(value.handle.uid)
        alias = handles.index(value.handle.uid)
        return VariableType(value.dtype, value.shape, bool(value.trainable), alias)
    if hasattr(value, "composite"):
        key, parts, made = value.composite()
        return Composite(key, tuple(TensorType(e.dtype, e.shape) for e in parts), made)
    if isinstance(value, (list, tuple)):
        plain = list if isinstance(value, list) else tuple
        kind = type(value) if hasattr(value, "_fields") else plain
        return Structure(kind, tuple(type_of(item, variables) for item in value))
    if isinstance(value, Mapping):
        keys = tuple(sorted(value))
        return Structure(dict, tuple(type_of(value[key], variables) for key in keys), keys)
    if isinstance(value, (np.ndarray, np.generic)):
        return TensorType(of_array(value.dtype), TensorShape(value.shape))
    try:
        return Literal(weakref.ref(value))
    except TypeError:
        hash(value)
        return Literal(value)


@dataclass(frozen=True, slots=True)
class FunctionType:
    """The types of all arguments of a call."""

    names: tuple[str, ...]
    types: Structure

    def fits(self, other: FunctionType) -> bool:
        return self.names == other.names and other.types.is_subtype_of(self.types)

    def generalised(self, other: FunctionType) -> FunctionType | None:
        found = self.types.common_supertype(other.types) if self.names == other.names else None
        return replace(self, types=found) if isinstance(found, Structure) else None

    def tensors(self, bound: Mapping[str, Any]) -> list[Any]:
        return self.types.tensors([bound[name] for name in self.names])

    def items(self) -> Any:
        return zip(self.names, self.types.parts, strict=True)


class Signature:
    """The parameters of a Python function, and the types that they are to have."""

    def __init__(self, function: Callable[..., Any], input_signature: Sequence[Any] | None) -> None:
        self.name = getattr(function, "__name__", "function")
        self.parameters = list(inspect.signature(function).parameters.values())
        self.input_signature = None if input_signature is None else tuple(input_signature)
        self.fixed: dict[str, TraceType] = {}
        left = [type_of(spec, []) for spec in input_signature or ()]
        for each in self.parameters if input_signature is not None else ():
            if each.kind is each.VAR_POSITIONAL:
                self.fixed |= {f"{each.name}_{at}": type_ for at, type_ in enumerate(left)}
                left = []
            elif left:
                self.fixed[each.name] = left.pop(0)
            elif each.default is not each.empty:
                self.fixed[each.name] = type_of(each.default, [])
            elif each.kind is not each.VAR_KEYWORD:
                raise TypeError(f"input_signature missing type constraint for {each.name}")

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        bound: dict[str, Any] = {}
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

    def unbind(self, bound: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
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

    def type(self, bound: Mapping[str, Any], variables: list[Any]) -> FunctionType:
        types = (self.fixed.get(n) or type_of(value, variables) for n, value in bound.items())
        return FunctionType(tuple(bound), Structure(tuple, tuple(types)))

    def _value(self, name: str, value: Any) -> Any:
        if name in self.fixed:
            return self.fixed[name].cast(value)
        arrays = (np.ndarray, np.generic)
        return map_structure(lambda e: constant(e) if isinstance(e, arrays) else e, value)
