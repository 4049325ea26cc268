"""The gradient registry: how gradients go back through an op, by the op's type.

    @gradient("Tanh")
    def _tanh(op: OpRecord, grad: Tensor) -> list[Tensor | None]:
        return [execute("TanhGrad", [op.outputs[0], grad])[0]]

A gradient function is made of ops itself: in the context in which it is called, so that gradients
can be traced, and be differentiated again. Told about: `ops.RegisterGradient`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["GradientFunction", "gradient", "gradient_function", "not_differentiable"]

GradientFunction = Callable[..., Sequence[Any]]
"""`(op, *gradients of its outputs)` gives the gradient of each input, None where there is none."""

_registry: dict[str, GradientFunction | None] = {}


def gradient(type: str) -> Callable[[GradientFunction], GradientFunction]:
    """Register a gradient function for ops of that type. Raises ValueError if there is one."""

    def register(function: GradientFunction) -> GradientFunction:
        if type in _registry:
            raise ValueError(f"The gradient of {type} is registered twice.")
        _registry[type] = function
        return function

    return register


def not_differentiable(*types: str) -> None:
    """No gradient flows through ops of these types: what `ops.NotDifferentiable` says."""
    for type in types:
        if type in _registry:
            raise ValueError(f"The gradient of {type} is registered twice.")
        _registry[type] = None


def gradient_function(type: str) -> GradientFunction | None:
    """The gradient function; None if no gradient flows. Raises LookupError if nothing was
    registered.
    """
    try:
        return _registry[type]
    except KeyError:
        raise LookupError(f"gradient registry has no entry for: {type}") from None
