"""Callbacks: those of Keras 2; told numbers by name in the order of the alphabet.

Told about: `keras/src/callbacks/`.
"""

from __future__ import annotations

import math
from typing import Any

from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.keras import callbacks as keras2
from tflogscope.runtime.keras.callbacks import (
    Callback,
    CSVLogger,
    History,
    LambdaCallback,
    TerminateOnNaN,
)
from tflogscope.runtime.keras.metrics import number_of
from tflogscope.runtime.keras3 import ops
from tflogscope.runtime.keras3.progress import ProgressBar

__all__ = [
    "CSVLogger", "Callback", "CallbackList", "EarlyStopping", "History", "LambdaCallback",
    "LearningRateScheduler", "ProgbarLogger", "ReduceLROnPlateau", "TerminateOnNaN",
    "numbers_of",
]  # fmt: skip


class ProgbarLogger(keras2.ProgbarLogger):
    """Shows how far it is."""

    bar_type = ProgressBar


class _Comparing(keras2.EarlyStopping):
    """NB: numbers are compared by an op, but for the first, which is the best so far."""

    def _better(self, value: float, than: float) -> bool:
        if math.isinf(than):
            return True
        compare = ops.greater if self._sign > 0 else ops.less
        return bool(compare(value - self._sign * self.min_delta, than))


class EarlyStopping(_Comparing):
    """Ends the training when a number has not become better for `patience` epochs.

    NB: the best weights come back when the training ends, for whichever reason.
    """

    def _stop(self, epoch: int) -> None:
        self.stopped_epoch = epoch
        self.model.stop_training = True

    def on_train_end(self, logs: Any = None) -> None:
        super().on_train_end(logs)
        self.restore_best()


class LearningRateScheduler(keras2.LearningRateScheduler):
    """Sets the learning rate at the start of each epoch."""

    rate_name = "learning_rate"


class ReduceLROnPlateau(_Comparing, keras2.ReduceLROnPlateau):
    """Makes the learning rate smaller when a number has not become better for `patience` epochs."""

    rate_name = "learning_rate"


def numbers_of(logs: Any) -> dict[str, Any]:
    """What a step gave as Python numbers, by name; those of a dict among them by their own."""
    numbers: dict[str, Any] = {}
    for name, value in sorted((logs or {}).items()):
        numbers |= numbers_of(value) if isinstance(value, dict) else {name: number_of(value)}
    return numbers


class CallbackList(keras2.CallbackList):
    """All that are told."""

    def _progress(self) -> Callback:
        return ProgbarLogger()

    def tell(self, event: str, *arguments: Any, logs: Any = None) -> None:
        """Tell each of an event."""
        outputs = "outputs" in (logs or {})
        numbers = logs if outputs else numbers_of(logs)
        for callback in self.callbacks:
            getattr(callback, f"on_{event}")(*arguments, numbers)


__getattr__ = missing("tf.keras.callbacks")
