"""What is called while a model is trained, and the line that shows how far it is."""

from __future__ import annotations

import math
import sys
import time
from typing import Any

import numpy as np

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

    def on_batch_begin(self, batch: int, logs: Any = None) -> None:
        """A step of training begins."""

    def on_batch_end(self, batch: int, logs: Any = None) -> None:
        """A step of training has ended."""

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        self.on_batch_begin(batch, logs=logs)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self.on_batch_end(batch, logs=logs)


for _event in _EVENTS:
    if not hasattr(Callback, f"on_{_event}"):
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
        if params["verbose"]:
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


class EarlyStopping(Callback):
    """Stop when a number no longer gets better."""

    def __init__(
        self,
        monitor: str = "val_loss",
        min_delta: float = 0,
        patience: int = 0,
        mode: str = "auto",
        restore_best_weights: bool = False,
        **_: Any,
    ) -> None:
        self.monitor, self.min_delta, self.patience = monitor, abs(min_delta), patience
        grows = mode == "max" or (mode == "auto" and monitor.endswith(("acc", "accuracy")))
        self._sign = 1 if grows else -1
        self._restores = restore_best_weights

    def on_train_begin(self, logs: Any = None) -> None:
        self.wait, self.best = 0, -math.inf
        self.best_weights: Any = None

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        current = (logs or {}).get(self.monitor)
        if current is None:
            return
        if self._sign * current - self.min_delta > self.best:
            self.wait, self.best = 0, self._sign * current
            self.best_weights = self.model.get_weights() if self._restores else None
            return
        self.wait += 1
        if self.wait >= self.patience and epoch > 0:
            self.model.stop_training = True
            if self.best_weights is not None:
                self.model.set_weights(self.best_weights)


class _Progress(Callback):
    """The line of `verbose=1` and `verbose=2`."""

    def __init__(self) -> None:
        self._start, self._seen, self._fits = 0.0, 0, False

    def _begin(self) -> None:
        self._start, self._seen = time.time(), 0

    def _show(self, logs: Any, *, finish: bool = False) -> None:
        steps, verbose = self.params["steps"] or self._seen, self.params["verbose"]
        if verbose == 2 and not finish:
            return
        passed = time.time() - self._start
        each = f"{passed / max(self._seen, 1) * 1e3:.0f}ms/step"
        shown = f" - {passed:.0f}s {each}"
        if verbose == 2 and not keras3():
            shown = f" - {passed:.0f}s"
        for name, value in (logs or {}).items():
            number = np.mean(value)
            shown += (
                f" - {name}: {number:.4f}" if abs(number) > 1e-3 else f" - {name}: {number:.4e}"
            )
        if verbose == 2:
            rest = "" if keras3() else f" - {passed:.0f}s/epoch - {each}"
            sys.stdout.write(f"{steps}/{steps}{shown}{rest}\n")
        else:
            filled = int(30 * self._seen / max(steps, 1))
            bar = f" [{'=' * filled}{'.' * (30 - filled)}]"
            if keras3():
                bar = " " + "━" * (filled * 2 // 3)
            end = "\n" if finish else ""
            sys.stdout.write(f"\r{self._seen}/{steps}{bar}{shown}{end}")
        sys.stdout.flush()

    def on_train_begin(self, logs: Any = None) -> None:
        self._fits = True

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self._begin()
        if self.params["epochs"] > 1:
            print(f"Epoch {epoch + 1}/{self.params['epochs']}")  # noqa: T201 - as Keras does

    def on_test_begin(self, logs: Any = None) -> None:
        if not self._fits:
            self._begin()

    on_predict_begin = on_test_begin

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self._seen = batch + 1
        self._show(logs)

    def on_test_batch_end(self, batch: int, logs: Any = None) -> None:
        if not self._fits:
            self.on_train_batch_end(batch, logs)

    on_predict_batch_end = on_test_batch_end

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self._show(logs, finish=True)

    def on_test_end(self, logs: Any = None) -> None:
        if not self._fits:
            self._show(logs, finish=True)

    on_predict_end = on_test_end
