"""From a call's arguments to the cache key, and to the tensors that are passed.

Arguments are bound to the parameters of the Python function, so that `f(1, b=2)` and `f(a=1, b=2)`
are the same call. The types of all of them together are the function type: the key under which a
trace is kept.

Told about: `core/function/polymorphism/function_type.py` and
`eager/polymorphic_function/function_spec.py`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tflogscope.runtime import nest
from tflogscope.runtime.conversion import constant
from tflogscope.runtime.function.trace_types import Naming, TraceType, type_of
from tflogscope.runtime.tensors import TensorSpec

__all__ = ["FunctionType", "Signature"]

Bound = dict[str, Any]
"""Each parameter's value; `*args` as `args_0`, `args_1`, …, as TensorFlow names them."""


@dataclass(frozen=True, slots=True)
class FunctionType:
    """The type of each parameter, in order. Hashable."""

    parameters: tuple[tuple[str, TraceType], ...]

    def is_supertype_of(self, other: FunctionType) -> bool:
        """Will a trace for this do for calls of that type?"""
        return len(self.parameters) == len(other.parameters) and all(
            name == other_name and other_type.is_subtype_of(type_)
            for (name, type_), (other_name, other_type) in zip(
                self.parameters, other.parameters, strict=True
            )
        )

    def generalised(self, other: FunctionType) -> FunctionType | None:
        """The narrowest type that includes both, None if there is none."""
        if [name for name, _ in self.parameters] != [name for name, _ in other.parameters]:
            return None
        common = [
            (name, type_.common_supertype(other_type))
            for (name, type_), (_, other_type) in zip(
                self.parameters, other.parameters, strict=True
            )
        ]
        if any(type_ is None for _, type_ in common):
            return None
        return FunctionType(tuple((name, type_) for name, type_ in common if type_ is not None))

    def placeholders(self, naming: Callable[[str], Naming]) -> Bound:
        """What to call the Python function with when it is traced."""
        return {name: type_.placeholder(naming(name)) for name, type_ in self.parameters}

    def tensors(self, bound: Bound) -> list[Any]:
        """The tensors and variables in these arguments, in the order of the function's inputs."""
        return [tensor for name, type_ in self.parameters for tensor in type_.tensors(bound[name])]


class Signature:
    """The parameters of a Python function, and perhaps the types that an `input_signature` fixes
    for them.
    """

    def __init__(
        self, function: Callable[..., Any], input_signature: Sequence[Any] | None = None
    ) -> None:
        """Raises TypeError if the input signature has more entries than the function has
        parameters.
        """
        self.name = getattr(function, "__name__", "function")
        self.parameters = list(_parameters(function))
        self.input_signature = _checked(input_signature)
        self._fixed = self._fixed_types()

    @property
    def fullargspec(self) -> inspect.FullArgSpec:
        """The parameters, as `inspect.getfullargspec` tells them."""
        named = {each.name: each.default for each in self.parameters}

        def of(*kinds: Any) -> list[str]:
            return [each.name for each in self.parameters if each.kind in kinds]

        kinds = inspect.Parameter
        args = of(kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)
        only = of(kinds.KEYWORD_ONLY)
        defaults = tuple(named[name] for name in args if named[name] is not kinds.empty)
        of_only = {name: named[name] for name in only if named[name] is not kinds.empty}
        varargs, varkw = of(kinds.VAR_POSITIONAL), of(kinds.VAR_KEYWORD)
        return inspect.FullArgSpec(
            args,
            varargs[0] if varargs else None,
            varkw[0] if varkw else None,
            defaults or None,
            only,
            of_only or None,
            {},
        )

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Bound:
        """Each parameter's value, NumPy arrays as tensors. Raises TypeError if the arguments don't
        fit the function.
        """
        bound: Bound = {}
        positional = list(args)
        named = dict(kwargs)
        for parameter in self.parameters:
            if parameter.kind is parameter.VAR_POSITIONAL:
                bound.update(
                    (f"{parameter.name}_{index}", value) for index, value in enumerate(positional)
                )
                positional = []
            elif parameter.kind is parameter.VAR_KEYWORD:
                bound.update(sorted(named.items()))
                named = {}
            elif positional and parameter.kind is not parameter.KEYWORD_ONLY:
                if parameter.name in named:
                    problem = f"multiple values for argument '{parameter.name}'"
                    raise self.refusal(problem, args, kwargs)
                bound[parameter.name] = positional.pop(0)
            elif parameter.name in named:
                bound[parameter.name] = named.pop(parameter.name)
            elif parameter.default is not parameter.empty:
                bound[parameter.name] = parameter.default
            else:
                problem = f"missing a required argument: '{parameter.name}'"
                raise self.refusal(problem, args, kwargs)
        if positional:
            raise self.refusal("too many positional arguments", args, kwargs)
        if named:
            problem = f"got an unexpected keyword argument '{next(iter(named))}'"
            raise self.refusal(problem, args, kwargs)
        return {name: self._value(name, value, args, kwargs) for name, value in bound.items()}

    def refusal(
        self, problem: str, args: Sequence[Any], kwargs: Mapping[str, Any], signature: Any = None
    ) -> TypeError:
        """The error for arguments that don't fit the function, or a trace of it."""
        return TypeError(
            f"Binding inputs to tf.function `{self.name}` failed due to `{problem}`. Received "
            f"args: {tuple(args)} and kwargs: {dict(kwargs)} for signature: {signature or self}."
        )

    def type(self, bound: Bound, variables: list[Any] | None = None) -> FunctionType:
        """The function type of such a call. `variables` collects those among the arguments."""
        variables = [] if variables is None else variables
        return FunctionType(
            tuple(
                (name, self._fixed.get(name) or type_of(value, variables))
                for name, value in bound.items()
            )
        )

    def unbind(self, bound: Bound) -> tuple[list[Any], dict[str, Any]]:
        """The arguments to call the Python function with."""
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        rest = dict(bound)
        for parameter in self.parameters:
            if parameter.kind is parameter.VAR_POSITIONAL:
                starred = [name for name in rest if name.startswith(f"{parameter.name}_")]
                args += [rest.pop(name) for name in starred]
            elif parameter.kind is parameter.VAR_KEYWORD:
                kwargs.update(rest)
            elif parameter.kind is parameter.KEYWORD_ONLY:
                kwargs[parameter.name] = rest.pop(parameter.name)
            else:
                args.append(rest.pop(parameter.name))
        return args, kwargs

    def _value(self, name: str, value: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        if name in self._fixed:
            try:
                return self._fixed[name].cast(value)
            except TypeError as error:
                raise self.refusal(str(error), args, kwargs) from None
        if isinstance(value, (np.ndarray, np.generic)):
            return constant(value)
        if nest.is_nested(value) and any(
            isinstance(leaf, np.ndarray) for leaf in nest.flatten(value)
        ):
            return nest.map_structure(
                lambda leaf: constant(leaf) if isinstance(leaf, np.ndarray) else leaf, value
            )
        return value

    def _fixed_types(self) -> dict[str, TraceType]:
        """What the input signature says of each parameter; those that it does not reach keep their
        defaults.
        """
        if self.input_signature is None:
            return {}
        types = [type_of(spec) for spec in self.input_signature]
        fixed: dict[str, TraceType] = {}
        for p in self.parameters:
            if p.name == "self":
                continue  # of a method in the body of its class: it is no tensor
            if p.kind is p.VAR_POSITIONAL:
                fixed |= {f"{p.name}_{index}": type_ for index, type_ in enumerate(types)}
                types = []
            elif p.kind is p.KEYWORD_ONLY and p.default is p.empty:
                raise TypeError(
                    "Since input_signature is defined, keyword-only parameter "
                    f"`{p.name}` must have a default value"
                )
            elif p.kind is not p.VAR_KEYWORD and types:
                fixed[p.name] = types.pop(0)
            elif p.kind is not p.VAR_KEYWORD and p.default is not p.empty:
                fixed[p.name] = type_of(p.default)
            elif p.kind is not p.VAR_KEYWORD:
                raise TypeError(f"input_signature missing type constraint for {p.name}")
        if types:
            raise TypeError(f"input_signature contains {len(types)} extra type constraints.")
        return fixed

    def __str__(self) -> str:
        shown = [
            p.replace(
                default=p.empty if p.default is p.empty else _DEFAULT,
                annotation=self._fixed.get(p.name, p.empty),
            )
            for p in self.parameters
        ]
        return str(inspect.Signature(shown))


_DEFAULT = object()
"""Stands for any default where a signature is printed, as in TensorFlow."""


def _checked(signature: Any) -> tuple[Any, ...] | None:
    """The input signature. Raises TypeError if it is not a sequence of structures of specs."""
    if signature is None:
        return None
    if not isinstance(signature, tuple | list):
        raise TypeError(f"input_signature must be either a tuple or a list, got {type(signature)}.")
    bad = [
        each
        for each in nest.flatten(signature)
        if not (isinstance(each, TensorSpec) or hasattr(each, "_component_specs"))
    ]
    if bad:
        raise TypeError(
            "input_signature must be a possibly nested sequence of TensorSpec objects, got "
            f"invalid args {bad} with types {[type(each) for each in bad]}."
        )
    return tuple(signature)


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # a builtin that does not tell
        return [
            inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL),
            inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD),
        ]
