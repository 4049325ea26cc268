"""`tf.custom_gradient`: a function that says itself how gradients go back through it.

Eagerly the tapes are told. In graphs the results pass through an `IdentityN` whose gradient
function is the user's, so that `tf.gradients` and backward functions find it too.

Told about: `tensorflow/python/ops/custom_gradient.py`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from tflogscope.runtime import context, nest, tape
from tflogscope.runtime.conversion import convert_to_tensor
from tflogscope.runtime.ops.call import call
from tflogscope.runtime.tensors import uid
from tflogscope.runtime.variables import Variable, values_of

__all__ = ["custom_gradient", "recompute_grad"]


def custom_gradient(function: Callable[..., Any] | None = None) -> Any:
    """A decorator: `function` gives its result, and a function from the result's gradients to the
    arguments'.

    Raises TypeError if it reads variables and the gradient function takes no `variables`.
    """
    if function is None:
        return custom_gradient

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if context.executing_eagerly():
            return _eagerly(function, args, kwargs)
        if kwargs:
            raise ValueError(
                "The custom_gradient decorator currently supports keywords arguments only when "
                "eager execution is enabled."
            )
        return _in_graph(function, args)

    return wrapper


def _watched(
    function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[Any, Any, list[Any]]:
    """What the function gives, and the variables that it reads."""
    watcher = tape.Tape(persistent=False, watch_accessed_variables=True)
    tape.push(watcher)
    try:
        result, grad_function = function(*args, **kwargs)
    finally:
        tape.pop(watcher)
    variables = [
        variable
        for variable in watcher.variables.values()
        if all(variable is not value for value in args)
    ]
    if variables and not _takes_variables(grad_function):
        raise TypeError(
            "@tf.custom_gradient grad_fn must accept keyword argument 'variables', since function "
            f"uses variables: {variables}"
        )
    return result, grad_function, variables


def _takes_variables(function: Callable[..., Any]) -> bool:
    parameters = inspect.signature(function).parameters.values()
    return any(
        parameter.name == "variables" or parameter.kind is parameter.VAR_KEYWORD
        for parameter in parameters
    )


def _eagerly(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    result, grad_function, variables = _watched(function, args, kwargs)
    outputs = [call("Identity", leaf) for leaf in nest.flatten(result)]
    flat_args = nest.flatten(list(args))
    inputs = [convert_to_tensor(leaf) for leaf in [*flat_args, *variables]]

    def backward(*grads: Any) -> list[Any]:
        given, of_variables = _gradients(grad_function, result, grads, variables)
        if len(given) != len(flat_args):
            raise ValueError(
                f"custom_gradient function expected to return {len(flat_args)} gradients, but "
                f"returned {len(given)} instead."
            )
        return given + of_variables

    tape.record_operation(getattr(function, "__name__", "custom"), outputs, inputs, backward)
    return nest.pack_sequence_as(result, outputs)


def _in_graph(function: Callable[..., Any], args: Sequence[Any]) -> Any:
    name = f"CustomGradient-{uid()}"
    args = nest.map_structure(convert_to_tensor, values_of(list(args)))
    result, grad_function, variables = _watched(function, args, {})
    variables.sort(key=lambda variable: str(variable.name))
    flat_result = nest.flatten(result)
    for leaf in flat_result:  # TensorFlow looks for variables above these; nothing uses them
        call("Identity", leaf)
    originals = [
        convert_to_tensor(leaf) for leaf in [*flat_result, *nest.flatten(args), *variables]
    ]

    def backward(*grads: Any) -> list[Any]:
        given, of_variables = _gradients(
            grad_function, result, grads[: len(flat_result)], variables
        )
        return [None] * len(flat_result) + given + of_variables

    graph: Any = context.current()
    previous, graph.gradient_functions = (
        graph.gradient_functions,
        {"IdentityN": lambda _, *grads: backward(*grads)},
    )
    try:
        outputs = call_identity_n(originals, name)
    finally:
        graph.gradient_functions = previous
    tape.record_operation(getattr(function, "__name__", "custom"), outputs, originals, backward)
    return nest.pack_sequence_as(result, outputs[: len(flat_result)])


def call_identity_n(tensors: Sequence[Any], gradient_name: str) -> list[Any]:
    """An `IdentityN` that has a gradient of its own; its mark says which."""
    attributes = {
        "T": tuple(tensor.dtype for tensor in tensors),
        "_gradient_op_type": gradient_name,
    }
    with tape.stop_recording():
        return context.execute("IdentityN", list(tensors), attributes)


def grad_pass_through(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same values; the gradient is that of doing nothing."""

    @custom_gradient
    def passing(*args: Any, **kwargs: Any) -> Any:
        def grad(*grads: Any, variables: Sequence[Variable] | None = None) -> Any:
            return grads if variables is None else (grads, [None] * len(variables))

        return function(*args, **kwargs), grad

    return functools.wraps(function)(passing)


def recompute_grad(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, which keeps nothing for its gradient: it is computed again."""
    from tflogscope.runtime.gradients.gradient_tape import GradientTape

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        def forward(*inputs: Any) -> Any:
            with tape.stop_recording():
                result = function(*inputs, **kwargs)

            def backward(*upstream: Any, variables: Sequence[Variable] | None = None) -> Any:
                watched = list(variables or [])
                with GradientTape() as again:
                    again.watch(list(inputs))
                    again.watch(watched)
                    repeated = function(*inputs, **kwargs)
                found = again.gradient(repeated, [*inputs, *watched], list(upstream))
                of_inputs, of_variables = found[: len(inputs)], found[len(inputs) :]
                return (of_inputs, of_variables) if variables is not None else of_inputs

            return result, backward

        return custom_gradient(forward)(*args)

    return wrapper


def _gradients(
    grad_function: Callable[..., Any],
    result: Any,
    grads: Sequence[Any],
    variables: Sequence[Variable],
) -> tuple[list[Any], list[Any]]:
    """What the user's function makes of the gradients: those of the arguments, and those of the
    variables.
    """
    structured = nest.pack_sequence_as(result, list(grads))
    given = structured if isinstance(structured, (list, tuple)) else [structured]
    if not variables:
        return nest.flatten(grad_function(*given)), []
    of_arguments, of_variables = grad_function(*given, variables=list(variables))
    if len(of_variables) != len(variables):
        raise ValueError("Must return gradient for each variable from @custom_gradient grad_fn.")
    return nest.flatten(of_arguments), list(of_variables)
