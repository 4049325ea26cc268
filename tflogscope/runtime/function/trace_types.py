"""What a function's cache key is made of: the type of each argument, as far as a trace depends on
it.

    a tensor                 its dtype and shape; its value is not known while tracing
    a Python number, string  its value: another value is another trace
    list, tuple, dict …      its structure, and the types of what it holds
    a variable               its dtype and shape, and which of the arguments are the same variable
    a dataset, an iterator   their own type spec
    any other object         which object it is

Types are ordered: a type that includes another is its *supertype*, `(None,)` of `(3,)`. A trace
made for a supertype will do.

Told about: `core/function/trace_type/` (`default_types.py`, `trace_type_builder.py`),
`framework/tensor_spec.py`.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from tflogscope.runtime import composites
from tflogscope.runtime.dtypes import DType, of_array
from tflogscope.runtime.shapes import TensorShape
from tflogscope.runtime.tensors import Tensor, TensorSpec

__all__ = ["Naming", "TraceType", "type_of"]


class Naming(Protocol):
    """Makes the placeholders of a trace: `function/tracing.py` knows the graph and the argument's
    name.
    """

    def tensor(self, dtype: DType, shape: TensorShape, name: str | None) -> Any:
        """A placeholder for a tensor."""
        ...

    def variable(self, type: VariableType) -> Any:
        """Something that behaves like the variable that will be passed."""
        ...


class TraceType:
    """The type of an argument. Hashable, and equal to types for which the same trace is made."""

    def is_subtype_of(self, other: TraceType) -> bool:
        """Will a trace made for `other` do for this?"""
        return self == other

    def common_supertype(self, other: TraceType) -> TraceType | None:
        """The narrowest type that includes both, None if there is none."""
        return self if self == other else None

    def placeholder(self, naming: Naming) -> Any:
        """What the Python function is called with when it is traced."""
        raise NotImplementedError

    def tensors(self, value: Any) -> list[Any]:
        """The tensors (and variables) in such a value: what the function is called with."""
        del value
        return []

    def cast(self, value: Any) -> Any:
        """A value that fits an input signature's type, if need be converted. Raises TypeError if it
        can't be.
        """
        return value


@dataclass(frozen=True, slots=True)
class TensorType(TraceType):
    """A tensor."""

    dtype: DType
    shape: TensorShape
    name: str | None = field(default=None, compare=False)

    def is_subtype_of(self, other: TraceType) -> bool:
        """The same dtype, and a shape that the other includes?"""
        return (
            isinstance(other, TensorType)
            and self.dtype is other.dtype
            and self.shape.is_subtype_of(other.shape)
        )

    def common_supertype(self, other: TraceType) -> TraceType | None:
        """None for each dimension that differs."""
        if not isinstance(other, TensorType) or self.dtype is not other.dtype:
            return None
        return TensorType(
            self.dtype, self.shape.most_specific_compatible_shape(other.shape), self.name
        )

    def placeholder(self, naming: Naming) -> Any:
        """A placeholder."""
        return naming.tensor(self.dtype, self.shape, self.name)

    def tensors(self, value: Any) -> list[Any]:
        """The tensor itself."""
        return [value]

    def cast(self, value: Any) -> Any:
        """The value as a tensor of this dtype and shape."""
        from tflogscope.runtime.conversion import convert_to_tensor

        if isinstance(value, TensorSpec):
            fits = value.dtype is self.dtype and value.shape.is_subtype_of(self.shape)
        else:
            try:
                value = convert_to_tensor(value, self.dtype)
            except ValueError as error:
                raise TypeError(str(error)) from None
            fits = value.dtype is self.dtype and value.shape.is_compatible_with(self.shape)
        if not fits:
            given = TensorSpec(
                value.shape,
                value.dtype,
                value.name if isinstance(value, TensorSpec) else self.name,
            )
            raise TypeError(f"Can not cast {given!r} to {self!r}")
        return value

    def __repr__(self) -> str:
        return repr(TensorSpec(self.shape, self.dtype, self.name))


@dataclass(frozen=True, slots=True)
class VariableType(TraceType):
    """A variable. `alias` numbers the variables among the arguments: the same variable has the same
    number.
    """

    dtype: DType
    shape: TensorShape
    trainable: bool
    alias: int

    def is_subtype_of(self, other: TraceType) -> bool:
        """A variable of the same kind?"""
        return (
            isinstance(other, VariableType)
            and (self.dtype, self.trainable, self.alias)
            == (other.dtype, other.trainable, other.alias)
            and self.shape.is_subtype_of(other.shape)
        )

    def placeholder(self, naming: Naming) -> Any:
        """A stand-in for the variable."""
        return naming.variable(self)

    def tensors(self, value: Any) -> list[Any]:
        """The variable itself; a call passes its handle."""
        return [value]


@dataclass(frozen=True, slots=True)
class Literal(TraceType):
    """A Python value: the trace holds for this one only.

    NB: values are compared as Python does, so that 1, 1.0 and True share a trace, as in TensorFlow.
    """

    value: Any

    def placeholder(self, naming: Naming) -> Any:
        """The value itself."""
        del naming
        return self.value

    def cast(self, value: Any) -> Any:
        """The value itself. Raises TypeError for any other."""
        if value != self.value:
            raise TypeError(f"Can not cast {value!r} to type {self!r}")
        return self.value


class Identity(TraceType):
    """An object of the user's: the trace holds for this very object (or one equal to it), as long
    as it lives.
    """

    __slots__ = ("_hash", "_reference")

    def __init__(self, reference: weakref.ref[Any]) -> None:
        self._reference = reference
        self._hash = hash(reference)

    def placeholder(self, naming: Naming) -> Any:
        """The object itself."""
        del naming
        return self._reference()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Identity):
            return NotImplemented
        mine, theirs = self._reference(), other._reference()
        if mine is None or theirs is None:
            return False
        return mine is theirs or bool(mine == theirs)

    def __hash__(self) -> int:
        return self._hash


@dataclass(frozen=True, slots=True, repr=False)
class Sequenced(TraceType):
    """A list, a tuple or a named tuple."""

    kind: type
    parts: tuple[TraceType, ...]

    def is_subtype_of(self, other: TraceType) -> bool:
        """The same kind and length, and each part a subtype?"""
        return (
            isinstance(other, Sequenced)
            and self.kind is other.kind
            and len(self.parts) == len(other.parts)
            and all(a.is_subtype_of(b) for a, b in zip(self.parts, other.parts, strict=True))
        )

    def common_supertype(self, other: TraceType) -> TraceType | None:
        """The supertypes of the parts."""
        if not isinstance(other, Sequenced) or self.kind is not other.kind:
            return None
        parts = _common(self.parts, other.parts)
        return None if parts is None else Sequenced(self.kind, parts)

    def placeholder(self, naming: Naming) -> Any:
        """The same structure of placeholders."""
        return self.made([part.placeholder(naming) for part in self.parts])

    def tensors(self, value: Any) -> list[Any]:
        """Those of the parts."""
        return [t for part, item in zip(self.parts, value, strict=True) for t in part.tensors(item)]

    def cast(self, value: Any) -> Any:
        """Each part cast."""
        if not isinstance(value, list if self.kind is list else tuple):
            raise TypeError(f"Can not cast {value!r} to {self.kind.__name__} type.")
        if len(value) != len(self.parts):
            raise TypeError(f"Expected {tuple(value)} to have length of {len(self.parts)}")
        return self.made([part.cast(item) for part, item in zip(self.parts, value, strict=True)])

    def made(self, items: list[Any]) -> Any:
        """One of this kind of these items."""
        return self.kind(*items) if hasattr(self.kind, "_fields") else self.kind(items)

    def __repr__(self) -> str:
        if self.kind in {list, tuple}:
            return f"{self.kind.__name__.capitalize()}(components={self.parts!r})"
        names = getattr(self.kind, "_fields", ())
        return (
            f"NamedTuple(type_name={self.kind.__name__}, attribute_names={names}, "
            f"attributes={self.parts})"
        )


@dataclass(frozen=True, slots=True, repr=False)
class Mapped(TraceType):
    """A mapping. The order of its keys does not matter."""

    kind: type
    parts: tuple[tuple[Any, TraceType], ...]
    """Sorted by key."""
    order: tuple[Any, ...] = field(default=(), compare=False)
    """The keys as they stood in the mapping that was traced."""

    def is_subtype_of(self, other: TraceType) -> bool:
        """The same keys, and each value a subtype?"""
        return (
            isinstance(other, Mapped)
            and [key for key, _ in self.parts] == [key for key, _ in other.parts]
            and all(
                a.is_subtype_of(b) for (_, a), (_, b) in zip(self.parts, other.parts, strict=True)
            )
        )

    def common_supertype(self, other: TraceType) -> TraceType | None:
        """The supertypes of the values."""
        if not isinstance(other, Mapped) or [key for key, _ in self.parts] != [
            key for key, _ in other.parts
        ]:
            return None
        parts = _common([part for _, part in self.parts], [part for _, part in other.parts])
        keys = [key for key, _ in self.parts]
        return None if parts is None else Mapped(self.kind, tuple(zip(keys, parts, strict=True)))

    def placeholder(self, naming: Naming) -> Any:
        """The same mapping of placeholders."""
        parts = dict(self.parts)
        return self.made({key: parts[key].placeholder(naming) for key in self.order or parts})

    def tensors(self, value: Any) -> list[Any]:
        """Those of the values."""
        return [tensor for key, part in self.parts for tensor in part.tensors(value[key])]

    def cast(self, value: Any) -> Any:
        """Each value cast."""
        if not isinstance(value, Mapping):
            raise TypeError(f"Can not cast {value!r} to a Dict type.")
        if set(value) != {key for key, _ in self.parts}:
            raise TypeError(f"{value!r} has different keys with the TraceType {self!r}.")
        return {key: part.cast(value[key]) for key, part in self.parts}

    def made(self, values: dict[Any, Any]) -> Any:
        """One of this kind of these values."""
        return values if self.kind is dict else self.kind(values)

    def __repr__(self) -> str:
        return f"Dict(mapping={dict(self.parts)!r})"


@dataclass(frozen=True, slots=True)
class Composite(TraceType):
    """A dataset, an iterator, slices of a tensor: something made of tensors."""

    spec: Any

    def is_subtype_of(self, other: TraceType) -> bool:
        """Does the spec say so?"""
        return isinstance(other, Composite) and bool(
            self.spec == other.spec or self.spec.is_subtype_of(other.spec)
        )

    def common_supertype(self, other: TraceType) -> TraceType | None:
        """What the spec says."""
        if not isinstance(other, Composite):
            return None
        spec = self.spec.common_supertype(other.spec)
        return None if spec is None else Composite(spec)

    def placeholder(self, naming: Naming) -> Any:
        """The same thing made of placeholders."""
        parts = [
            naming.tensor(each.dtype, each.shape, None) for each in composites.specs(self.spec)
        ]
        return composites.from_components(self.spec, parts)

    def tensors(self, value: Any) -> list[Any]:
        """What it is made of."""
        return composites.components(value)


def _common(
    first: Sequence[TraceType], second: Sequence[TraceType]
) -> tuple[TraceType, ...] | None:
    if len(first) != len(second):
        return None
    parts = [one.common_supertype(other) for one, other in zip(first, second, strict=True)]
    return (
        None
        if any(part is None for part in parts)
        else tuple(part for part in parts if part is not None)
    )


def type_of(value: Any, variables: list[Any] | None = None) -> TraceType:
    """The type of that argument. Raises TypeError for a value that can't be part of a key.

    `variables` collects the variables seen so far.
    """
    variables = [] if variables is None else variables
    if isinstance(value, Tensor):
        return TensorType(value.dtype, value.shape)
    if isinstance(value, TensorSpec):
        return TensorType(value.dtype, value.shape, value.name)
    if hasattr(value, "handle") and hasattr(value, "trainable"):
        return VariableType(
            value.dtype, value.shape, bool(value.trainable), _alias(value, variables)
        )
    if composites.is_composite(value):
        return Composite(composites.type_spec(value))
    if isinstance(value, (list, tuple)):
        plain = list if isinstance(value, list) else tuple
        kind = type(value) if hasattr(value, "_fields") else plain
        return Sequenced(kind, tuple(type_of(item, variables) for item in value))
    if isinstance(value, Mapping):
        mapping = type(value) if type(value).__module__ == "collections" else dict
        parts = tuple((key, type_of(value[key], variables)) for key in sorted(value))
        return Mapped(mapping, parts, tuple(value))
    if isinstance(value, (np.ndarray, np.generic)):
        return TensorType(of_array(value.dtype), TensorShape(value.shape))
    return _of_object(value)


def _alias(variable: Any, variables: list[Any]) -> int:
    """Which of the variables it is; it is added if it is new."""
    for number, known in enumerate(variables):
        if known.handle is variable.handle:
            return number
    variables.append(variable)
    return len(variables) - 1


def _of_object(value: Any) -> TraceType:
    try:
        return Identity(weakref.ref(value))
    except TypeError:
        pass
    try:
        hash(value)
    except TypeError:
        raise TypeError(
            f"Could not generate a generic TraceType for {value!r}. Please verify that it is "
            "immutable/hashable. Otherwise, consider implementing the Tracing Protocol for it."
        ) from None
    return Literal(value)
