"""What is called while a model is trained. See `keras/callbacks.py` of Keras."""

from __future__ import annotations

import sys
from typing import Any

from tflogscope.runtime.core import nest
from tflogscope.runtime.keras.metrics import number_of

_EVENTS = [
    f"{kind}_{edge}"
    for kind in "train test predict train_batch test_batch predict_batch epoch".split()
    for edge in ("begin", "end")
]


class Callback:
    """Its methods are called: `on_epoch_end(epoch, logs)` and the like."""

    model: Any = None

    def set_model(self, model: Any) -> None:
        self.model = model


for _event in _EVENTS:
    setattr(Callback, f"on_{_event}", lambda self, *_, **__: None)


class History(Callback):
    """The numbers of each epoch. NB: a line of them is printed for every `verbose`, not a bar."""

    def __init__(self, verbose: Any = 0) -> None:
        self.history: dict[str, list[Any]] = {}
        self.epoch: list[int] = []
        self._verbose = verbose

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.epoch.append(epoch)
        for name, value in (logs or {}).items():
            self.history.setdefault(name, []).append(value)
        if self._verbose:
            numbers = " - ".join(f"{name}: {value:.4f}" for name, value in (logs or {}).items())
            sys.stdout.write(f"Epoch {epoch + 1} - {numbers}\n")


class CallbackList:
    """All callbacks of a call."""

    def __init__(self, given: Any, model: Any, *own: Callback) -> None:
        self._callbacks: list[Any] = [*nest.flatten(given or []), *own]
        for each in self._callbacks:
            each.set_model(model)

    def tell(self, event: str, *arguments: Any) -> None:
        """Call `on_…` of each: with a number, if the event has one, and with logs."""
        numbered = "batch" in event or "epoch" in event
        number, logs = arguments[:numbered], (*arguments[numbered:], None)[0]
        numbers = nest.map_structure(number_of, logs) if logs else {}
        for callback in self._callbacks:
            getattr(callback, f"on_{event}")(*number, numbers)
