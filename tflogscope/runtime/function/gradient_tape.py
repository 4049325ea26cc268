"""`tf.GradientTape`; `tf.custom_gradient`. See `tensorflow/python/eager/backprop.py`,
`python/ops/custom_gradient.py`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Self

from tflogscope.runtime.core import context, nest, tape, telling
from tflogscope.runtime.core.calls import O
from tflogscope.runtime.core.conversion import convert_to_tensor
from tflogscope.runtime.core.tensors import Tensor, uid
from tflogscope.runtime.function.backprop import backpropagate
from tflogscope.runtime.function.variables import values_of
from tflogscope.runtime.library import arrays
from tflogscope.runtime.library.slices import dense


class GradientTape:
    """Remembers what is done in its `with` block, to differentiate it."""

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True) -> None:
        options = {"persistent": persistent, "watch_accessed_variables": watch_accessed_variables}
        self._recorded, self._used = tape.Tape(**options), False

    def __enter__(self) -> Self:
        tape.push(self._recorded)
        return self

    def __exit__(self, *_: object) -> None:
        tape.pop(self._recorded)

    def watch(self, tensor: Any) -> None:
        for value in nest.flatten(tensor):
            self._recorded.watch(_handle(value))

    def watched_variables(self) -> tuple[Any, ...]:
        return tuple(self._recorded.variables.values())

    def gradient(
        self,
        target: Any,
        sources: Any,
        output_gradients: Any = None,
        unconnected_gradients: str = "none",
    ) -> Any:
        """The gradient of the targets' sum at the sources.

        Raises RuntimeError if this tape has given one before and is not persistent.
        """
        self._follow()
        targets = [convert_to_tensor(getattr(e, "handle", e)) for e in nest.flatten(target)]
        flat = nest.flatten(sources)
        given = None if output_gradients is None else nest.flatten(output_gradients)
        given = given and [None if each is None else convert_to_tensor(each) for each in given]
        grads = backpropagate(self._recorded, targets, [_handle(each) for each in flat], given)
        if unconnected_gradients != "none":
            pairs = zip(grads, flat, strict=True)
            grads = [arrays.zeros_like(value) if g is None else g for g, value in pairs]
        return nest.pack_sequence_as(sources, grads)

    def jacobian(self, target: Any, sources: Any) -> Any:
        """The gradient of each element of the target.

        NB: element by element, of which the log says nothing; TensorFlow vectorizes the loop (`pfor`)
        and runs a function of a few nodes.
        """
        self._follow()
        handles = [_handle(each) for each in nest.flatten(sources)]
        with self, telling.listen(None):
            flat = arrays.reshape(target, [-1])
            elements = [flat[index] for index in range(flat.shape[0])]
        with telling.listen(None):
            rows = [backpropagate(self._recorded, [each], handles) for each in elements]
        columns = [[dense(grad) for grad in column] for column in zip(*rows, strict=True)]
        shapes = [[*target.shape, *each[0].shape] for each in columns]
        pairs = zip(columns, shapes, strict=True)
        results = [arrays.reshape(arrays.stack(column), shape) for column, shape in pairs]
        return nest.pack_sequence_as(sources, results)

    def _follow(self) -> None:
        """It is followed back now: once, unless it is persistent."""
        if not self._recorded.persistent:
            tape.pop(self._recorded)
            if self._used:
                raise RuntimeError("A non-persistent GradientTape gives gradients only once")
            self._used = True


def _handle(value: Any) -> Any:
    handle = getattr(value, "handle", value)
    if not isinstance(handle, Tensor):
        raise ValueError(
            f"Passed in object {value} of type {type(value).__name__!r}, not tf.Tensor"
        )
    return handle


# -- functions with a gradient of their own


def custom_gradient(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function(*args)` gives its result and the function of its gradient."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        eagerly, name = context.executing_eagerly(), getattr(function, "__name__", "custom")
        if not eagerly:
            args = nest.map_structure(convert_to_tensor, values_of(tuple(args)))
        with GradientTape() as watcher:
            result, grad_function = function(*args, **kwargs)
        passed = [id(value) for value in args]
        variables = [v for v in watcher.watched_variables() if id(v) not in passed]
        results, flat_args = nest.flatten(result), nest.flatten(list(args))

        def backward(*grads: Any) -> list[Any]:
            given = grads[: len(results)]
            if not variables:
                return nest.flatten(grad_function(*given))
            of_arguments, of_variables = grad_function(*given, variables=list(variables))
            return nest.flatten(of_arguments) + list(of_variables)

        copies = [O.Identity(leaf) for leaf in results]  # in graphs nothing uses these
        if eagerly:
            inputs = [convert_to_tensor(leaf) for leaf in [*flat_args, *variables]]
            tape.record(tape.Entry(name, inputs, copies, {}, backward))
            return nest.pack_sequence_as(result, copies)
        variables.sort(key=lambda variable: str(variable.name))
        originals = [convert_to_tensor(leaf) for leaf in [*results, *flat_args, *variables]]

        def after_results(*grads: Any) -> list[Any]:
            return [None] * len(results) + backward(*grads)

        with tape.stop_recording():
            types, mark = tuple(each.dtype for each in originals), f"CustomGradient-{uid()}"
            attributes = {"T": types, "_gradient_op_type": mark}
            outputs = context.execute("IdentityN", originals, attributes)
        outputs[0].op.gradient_function = lambda _, *grads: after_results(*grads)
        tape.record(tape.Entry(name, originals, outputs, {}, after_results))
        return nest.pack_sequence_as(result, outputs[: len(results)])

    return wrapper
