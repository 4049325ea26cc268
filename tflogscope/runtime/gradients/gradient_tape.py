"""`tf.GradientTape`.

Told about: `tensorflow/python/eager/backprop.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from types import TracebackType
from typing import Any, Self

from tflogscope.runtime import nest, tape
from tflogscope.runtime.conversion import convert_to_tensor
from tflogscope.runtime.gradients.backprop import backpropagate
from tflogscope.runtime.logs import log
from tflogscope.runtime.tensors import Tensor

__all__ = ["GradientTape", "UnconnectedGradients"]


class UnconnectedGradients(Enum):
    """What the gradient is where none flows."""

    NONE = "none"
    ZERO = "zero"


class GradientTape:
    """Records the ops called in its `with` block, to differentiate them afterwards.

    Trainable variables are watched when they are read (unless `watch_accessed_variables` is False),
    other tensors after `watch`. Without `persistent` it can be asked once.
    """

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True) -> None:
        self._persistent = persistent
        self._watch_accessed_variables = watch_accessed_variables
        self._tape: tape.Tape | None = None
        self._watched: tuple[Any, ...] = ()
        self._recording = False

    def __enter__(self) -> Self:
        self._push()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._recording:
            self._pop()

    def watch(self, tensor: Any) -> None:
        """Record what is done with this tensor (or variable, or structure of them). Raises
        ValueError for other values.
        """
        if self._tape is None:
            raise RuntimeError("A GradientTape must be entered before it can watch.")
        for value in nest.flatten(tensor):
            handle = getattr(value, "handle", value)
            if not isinstance(handle, Tensor):
                raise ValueError(
                    f"Passed in object {value} of type {type(value).__name__!r}, not tf.Tensor or "
                    "tf.Variable or ExtensionType."
                )
            if handle is not value:
                self._tape.variables.setdefault(id(value), value)
            if not tape.trainable(value.dtype):
                log.warning(
                    "The dtype of the watched tensor must be floating (e.g. tf.float32), got %r",
                    value.dtype,
                )
            self._tape.watch(handle)

    def watched_variables(self) -> tuple[Any, ...]:
        """The variables that it watches, in the order in which they were first read."""
        if self._tape is not None:
            self._watched = tuple(self._tape.variables.values())
        return self._watched

    @contextmanager
    def stop_recording(self) -> Iterator[None]:
        """Ops in this block are not recorded. Raises RuntimeError if the tape is not recording."""
        if self._tape is None:
            raise RuntimeError("Trying to stop recording a tape which is not recording.")
        self._pop()
        try:
            yield
        finally:
            self._push()

    @contextmanager
    def ensure_recording(self) -> Iterator[None]:
        """Ops in this block are recorded, whether or not we are in the tape's own block."""
        self.recorded()
        if self._recording:
            yield
            return
        self._push()
        try:
            yield
        finally:
            self._pop()

    def reset(self) -> None:
        """Forget all that was recorded."""
        self._pop()
        self._tape = None
        self._push()

    def gradient(
        self,
        target: Any,
        sources: Any,
        output_gradients: Any = None,
        unconnected_gradients: Any = UnconnectedGradients.NONE,
    ) -> Any:
        """The gradient of `target` (the sum of its elements) with respect to each source, in the
        sources' structure.

        Raises RuntimeError if a tape that is not persistent is asked a second time, ValueError for
        other values.
        """
        recorded = self.recorded()
        if self._recording:
            if self._persistent:
                log.warning(
                    "Calling GradientTape.gradient on a persistent tape inside its context is "
                    "significantly less efficient than calling it outside the context (it causes "
                    "the gradient ops to be recorded on the tape, leading to increased CPU and "
                    "memory usage). Only call GradientTape.gradient inside the context if you "
                    "actually want to trace the gradient in order to compute higher order "
                    "derivatives."
                )
            else:
                self._pop()
        targets = [_target(value) for value in nest.flatten(target)]
        flat = nest.flatten(sources)
        handles = [_source(value) for value in flat]
        grads = backpropagate(recorded, targets, handles, _given(output_gradients))
        if not self._persistent:
            self.watched_variables()
            self._tape = None
        if UnconnectedGradients(unconnected_gradients) is UnconnectedGradients.ZERO:
            from tflogscope.runtime.library import arrays

            grads = [
                arrays.zeros_like(value) if g is None else g
                for g, value in zip(grads, flat, strict=True)
            ]
        return nest.pack_sequence_as(sources, grads)

    def jacobian(
        self,
        target: Any,
        sources: Any,
        unconnected_gradients: Any = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """The derivative of each element of `target` with respect to each source: shape
        `target.shape + source.shape`.
        """
        from tflogscope.runtime.gradients.jacobian import jacobian

        del parallel_iterations
        result = jacobian(
            self, target, sources, unconnected_gradients, at_once=experimental_use_pfor
        )
        self._used_up()
        return result

    def batch_jacobian(
        self,
        target: Any,
        source: Any,
        unconnected_gradients: Any = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """The Jacobian of each example of a batch: shape `[batch] + target.shape[1:] +
        source.shape[1:]`.
        """
        from tflogscope.runtime.gradients.jacobian import batch_jacobian

        del parallel_iterations
        result = batch_jacobian(
            self, target, source, unconnected_gradients, at_once=experimental_use_pfor
        )
        self._used_up()
        return result

    def recorded(self) -> tape.Tape:
        """What it remembers. Raises RuntimeError if it was used up."""
        if self._tape is None:
            raise RuntimeError(
                "A non-persistent GradientTape can only be used to compute one set of gradients "
                "(or jacobians)"
            )
        return self._tape

    def _used_up(self) -> None:
        if not self._persistent:
            if self._recording:
                self._pop()
            self.watched_variables()
            self._tape = None

    def _push(self) -> None:
        if self._recording:
            raise ValueError(
                "Tape is still recording, This can happen if you try to re-enter an "
                "already-active tape."
            )
        if self._tape is None:
            self._tape = tape.Tape(
                persistent=self._persistent, watch_accessed_variables=self._watch_accessed_variables
            )
        tape.push(self._tape)
        self._recording = True

    def _pop(self) -> None:
        if not self._recording:
            raise ValueError("Tape is not recording.")
        tape.pop(self.recorded())
        self._recording = False


def _target(value: Any) -> Tensor:
    value = getattr(value, "handle", value)  # the gradient of a variable's handle is the value's
    if not isinstance(value, Tensor):
        value = convert_to_tensor(value)
    return value  # type: ignore[no-any-return]


def _source(value: Any) -> Tensor:
    handle = getattr(value, "handle", value)
    if hasattr(handle, "values") and hasattr(handle, "indices"):
        handle = handle.values
    if not isinstance(handle, Tensor):
        raise ValueError(
            f"Passed in object {value} of type {type(value).__name__!r}, not tf.Tensor or "
            "tf.Variable or ExtensionType."
        )
    return handle


def _given(output_gradients: Any) -> Sequence[Any] | None:
    if output_gradients is None:
        return None
    return [
        None if value is None else convert_to_tensor(value)
        for value in nest.flatten(output_gradients)
    ]


GradientTape.__module__ = "tensorflow.python.eager.backprop"  # as types are printed
