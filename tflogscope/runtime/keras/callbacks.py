"""What is called while a model is trained, and the line that shows how far it is. See
`keras/callbacks.py` of Keras.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from tflogscope.runtime.core import nest
from tflogscope.runtime.keras.metrics import number_of
from tflogscope.runtime.keras.state import keras3

_EVENTS = [
    f"{kind}_{edge}"
    for kind in "train test predict train_batch test_batch predict_batch epoch".split()
    for edge in ("begin", "end")
]


class Callback:
    """Its methods are called: `on_epoch_end(epoch, logs)` and the like."""

    model: Any = None
    params: Any = None

    def set_params(self, params: dict[str, Any]) -> None:
        self.params = params

    def set_model(self, model: Any) -> None:
        self.model = model


for _event in _EVENTS:
    setattr(Callback, f"on_{_event}", lambda self, *_, **__: None)


class CallbackList:
    """All callbacks of a call, with the history and the progress."""

    def __init__(
        self, given: Any, model: Any, params: dict[str, Any], *, history: bool = False
    ) -> None:
        self._callbacks: list[Any] = nest.flatten(given) if given else []
        if history:
            model.__dict__["history"] = History()
            self._callbacks.append(model.history)
        if params["verbose"] and history:
            self._callbacks.append(_Progress())
        for each in self._callbacks:
            each.set_model(model)
            each.set_params(params)

    def tell(self, event: str, *arguments: Any) -> None:
        """Call `on_…` of each: with a number, if the event has one, and with logs."""
        numbered = "batch" in event or "epoch" in event
        number, logs = arguments[:numbered], (*arguments[numbered:], None)[0]
        numbers = nest.map_structure(number_of, logs) if logs else {}
        for callback in self._callbacks:
            getattr(callback, f"on_{event}")(*number, numbers)


class History(Callback):
    """The numbers of each epoch."""

    def __init__(self) -> None:
        self.history: dict[str, list[Any]] = {}
        self.epoch: list[int] = []

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.epoch.append(epoch)
        for name, value in (logs or {}).items():
            self.history.setdefault(name, []).append(value)


class _Progress(Callback):
    """A line per epoch. NB: for `verbose=1`, too, where Keras draws a bar."""

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self._start = time.time()
        if self.params["epochs"] > 1:
            sys.stdout.write(f"Epoch {epoch + 1}/{self.params['epochs']}\n")

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        passed, steps = time.time() - self._start, self.params["steps"] or 1
        each = f"{passed / steps * 1e3:.0f}ms/step"
        numbers = "".join(f" - {name}: {value:.4f}" for name, value in (logs or {}).items())
        shown = f" - {passed:.0f}s - {each}{numbers}"
        if not keras3():
            shown = f" - {passed:.0f}s{numbers} - {passed:.0f}s/epoch - {each}"
        sys.stdout.write(f"{steps}/{steps}{shown}\n")
        sys.stdout.flush()
