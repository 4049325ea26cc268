"""`tf.GradientTape`; `tf.custom_gradient`. See `tensorflow/python/eager/backprop.py`,
`python/ops/custom_gradient.py`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
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
        self._persistent, self._watches = persistent, watch_accessed_variables
        self._tape: tape.Tape | None = None

    def __enter__(self) -> Self:
        self._tape = tape.Tape(persistent=self._persistent, watch_accessed_variables=self._watches)
        tape.push(self._tape)
        return self

    def __exit__(self, *_: object) -> None:
        if self._tape is not None:
            tape.pop(self._tape)

    def watch(self, tensor: Any) -> None:
        for value in nest.flatten(tensor):
            self._recorded().watch(_handle(value))

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
        recorded = self._recorded()
        if not self._persistent:
            tape.pop(recorded)
        targets = [convert_to_tensor(getattr(e, "handle", e)) for e in nest.flatten(target)]
        flat = nest.flatten(sources)
        given = None if output_gradients is None else nest.flatten(output_gradients)
        given = given and [None if each is None else convert_to_tensor(each) for each in given]
        grads = backpropagate(recorded, targets, [_handle(each) for each in flat], given)
        self._used_up()
        if unconnected_gradients != "none":
            pairs = zip(grads, flat, strict=True)
            grads = [arrays.zeros_like(value) if g is None else g for g, value in pairs]
        return nest.pack_sequence_as(sources, grads)

    def jacobian(self, target: Any, sources: Any) -> Any:
        """The gradient of each element of the target.

        NB: element by element, of which the log says nothing; TensorFlow vectorizes the loop (`pfor`)
        and runs a function of a few nodes.
        """
        recorded, handles = self._recorded(), [_handle(each) for each in nest.flatten(sources)]
        tape.push(recorded)
        flat = arrays.reshape(target, [-1])
        with telling.listen(None):
            elements = [flat[index] for index in range(flat.shape[0])]
            tape.pop(recorded)
            rows = [backpropagate(recorded, [each], handles) for each in elements]
        self._used_up()
        columns = [[dense(grad) for grad in column] for column in zip(*rows, strict=True)]
        shapes = [[*target.shape, *each[0].shape] for each in columns]
        pairs = zip(columns, shapes, strict=True)
        results = [arrays.reshape(arrays.stack(column), shape) for column, shape in pairs]
        return nest.pack_sequence_as(sources, results)

    def _recorded(self) -> tape.Tape:
        if self._tape is None:
            raise RuntimeError("A non-persistent GradientTape can only be used to compute one set")
        return self._tape

    def _used_up(self) -> None:
        if not self._persistent:
            tape.pop(self._recorded())
            self._tape = None


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
        eagerly = context.executing_eagerly()
        name = getattr(function, "__name__", "custom")
        if not eagerly:
            args = nest.map_structure(convert_to_tensor, values_of(tuple(args)))
        watcher = tape.Tape(persistent=False, watch_accessed_variables=True)
        tape.push(watcher)
        try:
            result, grad_function = function(*args, **kwargs)
        finally:
            tape.pop(watcher)
        passed = [id(value) for value in args]
        variables = [v for v in watcher.variables.values() if id(v) not in passed]
        results, flat_args = nest.flatten(result), nest.flatten(list(args))

        def backward(*grads: Any) -> list[Any]:
            given = nest.pack_sequence_as(result, list(grads[: len(results)]))
            given = given if isinstance(given, (list, tuple)) else [given]
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

        outputs = _identity_n(originals, after_results)
        tape.record(tape.Entry(name, originals, outputs, {}, after_results))
        return nest.pack_sequence_as(result, outputs[: len(results)])

    return wrapper


def _identity_n(tensors: Sequence[Any], backward: Callable[..., Any]) -> list[Any]:
    graph = context.current()
    previous = graph.gradient_functions
    graph.gradient_functions = {"IdentityN": lambda _, *grads: backward(*grads)}
    try:
        with tape.stop_recording():
            types = tuple(tensor.dtype for tensor in tensors)
            mark = f"CustomGradient-{uid()}"
            return context.execute("IdentityN", tensors, {"T": types, "_gradient_op_type": mark})
    finally:
        graph.gradient_functions = previous
