"""Callbacks: what is told to whom, and when, while a model trains.

Told about: `keras/src/callbacks.py`.
"""

from __future__ import annotations

import csv
import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import tflogscope.runtime.api as tf
from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.keras.metrics import number_of
from tflogscope.runtime.keras.progress import ProgressBar
from tflogscope.runtime.logs import log

__all__ = [
    "CSVLogger", "Callback", "CallbackList", "EarlyStopping", "History", "LambdaCallback",
    "LearningRateScheduler", "ProgbarLogger", "ReduceLROnPlateau", "TerminateOnNaN",
]  # fmt: skip


Logs = dict[str, Any] | None


class Callback:
    """Override what you want to be told. `model` and `params` are set before training."""

    model: Any = None
    params: Any = None

    def set_params(self, params: dict[str, Any]) -> None:
        """What the training is like: epochs, steps, verbose."""
        self.params = params

    def set_model(self, model: Any) -> None:
        """The model that is trained."""
        self.model = model

    def on_batch_begin(self, batch: int, logs: Logs = None) -> None:
        """The same as `on_train_batch_begin`."""

    def on_batch_end(self, batch: int, logs: Logs = None) -> None:
        """The same as `on_train_batch_end`."""

    def on_epoch_begin(self, epoch: int, logs: Logs = None) -> None:
        """An epoch begins."""

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """An epoch has ended, with these numbers."""

    def on_train_batch_begin(self, batch: int, logs: Logs = None) -> None:
        """A step begins."""
        self.on_batch_begin(batch, logs=logs)

    def on_train_batch_end(self, batch: int, logs: Logs = None) -> None:
        """A step has ended."""
        self.on_batch_end(batch, logs=logs)

    def on_test_batch_begin(self, batch: int, logs: Logs = None) -> None:
        """A step of `evaluate` begins."""

    def on_test_batch_end(self, batch: int, logs: Logs = None) -> None:
        """A step of `evaluate` has ended."""

    def on_predict_batch_begin(self, batch: int, logs: Logs = None) -> None:
        """A step of `predict` begins."""

    def on_predict_batch_end(self, batch: int, logs: Logs = None) -> None:
        """A step of `predict` has ended."""

    def on_train_begin(self, logs: Logs = None) -> None:
        """`fit` begins."""

    def on_train_end(self, logs: Logs = None) -> None:
        """`fit` has ended."""

    def on_test_begin(self, logs: Logs = None) -> None:
        """`evaluate` begins."""

    def on_test_end(self, logs: Logs = None) -> None:
        """`evaluate` has ended."""

    def on_predict_begin(self, logs: Logs = None) -> None:
        """`predict` begins."""

    def on_predict_end(self, logs: Logs = None) -> None:
        """`predict` has ended."""


class CallbackList:
    """All callbacks: `tell("epoch_end", epoch, logs)` calls `on_epoch_end` of each. So does
    `on_epoch_end(epoch, logs)`, which is for loops that users write.
    """

    def __init__(
        self,
        callbacks: Any = None,
        add_history: bool = False,
        add_progbar: bool = False,
        model: Any = None,
        **params: Any,
    ) -> None:
        """With a history and a progress bar, if asked for and not among the callbacks."""
        self.callbacks: list[Callback] = tf.nest.flatten(callbacks) if callbacks else []
        self._history = next((each for each in self.callbacks if isinstance(each, History)), None)
        if self._history is None and add_history:
            self._history = History()
            self.callbacks.append(self._history)
        if add_progbar and not any(isinstance(each, ProgbarLogger) for each in self.callbacks):
            self.callbacks.append(self._progress())
        if model:
            self.set_model(model)
        if params:
            self.set_params(params)

    def set_model(self, model: Any) -> None:
        """The model that is trained; it gets the history."""
        self.model = model
        if self._history is not None:
            model.history = self._history
        for callback in self.callbacks:
            callback.set_model(model)

    def set_params(self, params: dict[str, Any]) -> None:
        """What the training is like: epochs, steps, verbose."""
        self.params = params
        for callback in self.callbacks:
            callback.set_params(params)

    def append(self, callback: Callback) -> None:
        """One more."""
        self.callbacks.append(callback)

    def __getattr__(self, name: str) -> Any:
        """`on_train_begin(logs)`, `on_epoch_end(epoch, logs)`, …: the methods of `Callback`."""
        event = name.removeprefix("on_")
        if event == name or not hasattr(Callback, name):
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        if event in ("batch_begin", "batch_end"):
            event = f"train_{event}"
        numbered = "batch" in event or "epoch" in event

        def told(*arguments: Any, logs: Any = None) -> None:
            number, rest = arguments[:numbered], arguments[numbered:]
            self.tell(event, *number, logs=rest[0] if rest else logs)

        return told

    def _progress(self) -> Callback:
        return ProgbarLogger()

    def __iter__(self) -> Iterator[Callback]:
        return iter(self.callbacks)

    def tell(self, event: str, *arguments: Any, logs: Any = None) -> None:
        """Tell each of an event; numbers are Python numbers by then."""
        numbers = tf.nest.map_structure(number_of, logs) if logs else {}
        for callback in self.callbacks:
            getattr(callback, f"on_{event}")(*arguments, numbers)


class History(Callback):
    """The numbers of each epoch. What `fit` returns."""

    def __init__(self) -> None:
        self.history: dict[str, list[Any]] = {}
        self.epoch: list[int] = []

    def on_train_begin(self, logs: Logs = None) -> None:
        self.epoch = []

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        self.epoch.append(epoch)
        for name, value in (logs or {}).items():
            self.history.setdefault(name, []).append(value)
        self.model.history = self


class ProgbarLogger(Callback):
    """Shows how far it is."""

    bar_type: type[ProgressBar] = ProgressBar

    def __init__(self) -> None:
        self._bar: ProgressBar | None = None
        self._in_fit = False
        self._seen = 0

    def on_train_begin(self, logs: Logs = None) -> None:
        self._in_fit = True

    def on_epoch_begin(self, epoch: int, logs: Logs = None) -> None:
        self._start()
        if self.params["verbose"] and self.params["epochs"] > 1:
            _print(f"Epoch {epoch + 1}/{self.params['epochs']}")

    def on_test_begin(self, logs: Logs = None) -> None:
        if not self._in_fit:
            self._start()

    def on_predict_begin(self, logs: Logs = None) -> None:
        self._start()

    def on_train_batch_end(self, batch: int, logs: Logs = None) -> None:
        self._step(batch, logs)

    def on_test_batch_end(self, batch: int, logs: Logs = None) -> None:
        if not self._in_fit:
            self._step(batch, logs)

    def on_predict_batch_end(self, batch: int, logs: Logs = None) -> None:
        self._step(batch, None)

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        self._finish(logs)

    def on_test_end(self, logs: Logs = None) -> None:
        if not self._in_fit:
            self._finish(logs)

    def on_predict_end(self, logs: Logs = None) -> None:
        self._finish(None)

    def _start(self) -> None:
        self._seen = 0
        self._bar = self.bar_type(self.params["steps"], self.params["verbose"])

    def _step(self, batch: int, logs: Logs) -> None:
        self._seen = batch + 1
        if self._bar is not None and self.params["verbose"] == 1:
            self._bar.update(self._seen, logs or {}, finish=False)

    def _finish(self, logs: Logs) -> None:
        if self._bar is None:
            return
        if self._bar.target is None:  # from now on it is known how many steps there are
            self._bar.target = self.params["steps"] = self._seen
        self._bar.update(self._bar.target, logs or {}, finish=True)


class LambdaCallback(Callback):
    """Functions as callbacks: `LambdaCallback(on_epoch_end=lambda epoch, logs: ...)`."""

    def __init__(self, **functions: Callable[..., Any] | None) -> None:
        for name, function in functions.items():
            if function is not None:
                setattr(self, name, function)


class TerminateOnNaN(Callback):
    """Ends the training when the loss is no number any more."""

    def on_batch_end(self, batch: int, logs: Logs = None) -> None:
        loss = (logs or {}).get("loss")
        if loss is not None and not math.isfinite(loss):
            _print(f"Batch {batch}: Invalid loss, terminating training")
            self.model.stop_training = True


class EarlyStopping(Callback):
    """Ends the training when a number has not become better for `patience` epochs."""

    def __init__(
        self,
        monitor: str = "val_loss",
        min_delta: float = 0,
        patience: int = 0,
        verbose: int = 0,
        mode: str = "auto",
        baseline: float | None = None,
        restore_best_weights: bool = False,
        start_from_epoch: int = 0,
    ) -> None:
        self.monitor, self.patience, self.verbose, self.baseline = (
            monitor,
            patience,
            verbose,
            baseline,
        )
        self.restore_best_weights, self.start_from_epoch = restore_best_weights, start_from_epoch
        grows = mode == "max" or (mode == "auto" and monitor.endswith(("acc", "accuracy", "auc")))
        self._sign = 1 if grows else -1
        self.min_delta = abs(min_delta)
        self.stopped_epoch = 0

    def on_train_begin(self, logs: Logs = None) -> None:
        self.wait = 0
        self.stopped_epoch = 0
        self.best = -self._sign * math.inf
        self.best_epoch = 0
        self.best_weights: list[Any] | None = None

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        current = (logs or {}).get(self.monitor)
        if current is None:
            log.warning(
                "Early stopping conditioned on metric `%s` which is not available. Available "
                "metrics are: %s",
                self.monitor, ",".join(logs or {}),
            )  # fmt: skip
        if current is None or epoch < self.start_from_epoch:
            return
        if self.restore_best_weights and self.best_weights is None:
            self.best_weights = self.model.get_weights()
        self.wait += 1
        if self._better(current, self.best):
            self.best, self.best_epoch = current, epoch
            if self.restore_best_weights:
                self.best_weights = self.model.get_weights()
            if self.baseline is None or self._better(current, self.baseline):
                self.wait = 0
        elif self.wait >= self.patience and epoch > 0:
            self._stop(epoch)

    def _better(self, value: float, than: float) -> bool:
        return self._sign * (value - than) > self.min_delta

    def _stop(self, epoch: int) -> None:
        self.stopped_epoch = epoch
        self.model.stop_training = True
        self.restore_best()

    def restore_best(self) -> None:
        """Give the model the best weights, if they were kept."""
        if self.best_weights is not None:
            if self.verbose > 0:
                _print(
                    "Restoring model weights from the end of the best epoch: "
                    f"{self.best_epoch + 1}."
                )
            self.model.set_weights(self.best_weights)

    def on_train_end(self, logs: Logs = None) -> None:
        if self.stopped_epoch > 0 and self.verbose > 0:
            _print(f"Epoch {self.stopped_epoch + 1}: early stopping")


class LearningRateScheduler(Callback):
    """Sets the learning rate at the start of each epoch: `schedule(epoch, rate)`."""

    rate_name = "lr"

    def __init__(self, schedule: Callable[..., float], verbose: int = 0) -> None:
        self.schedule, self.verbose = schedule, verbose

    def on_epoch_begin(self, epoch: int, logs: Logs = None) -> None:
        optimizer = self.model.optimizer
        try:
            rate = self.schedule(epoch, float(optimizer.learning_rate.numpy()))
        except TypeError:
            rate = self.schedule(epoch)
        optimizer.learning_rate.assign(rate)
        if self.verbose > 0:
            _print(f"\nEpoch {epoch + 1}: LearningRateScheduler setting learning rate to {rate}.")

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        if logs is not None:
            logs[self.rate_name] = self.model.optimizer.learning_rate.numpy()


class ReduceLROnPlateau(EarlyStopping):
    """Makes the learning rate smaller when a number has not become better for `patience` epochs."""

    rate_name = "lr"

    def __init__(
        self,
        monitor: str = "val_loss",
        factor: float = 0.1,
        patience: int = 10,
        verbose: int = 0,
        mode: str = "auto",
        min_delta: float = 1e-4,
        cooldown: int = 0,
        min_lr: float = 0,
    ) -> None:
        """Raises ValueError for a factor that would not make it smaller."""
        super().__init__(monitor, min_delta, patience, verbose, mode)
        if factor >= 1.0:
            raise ValueError(f"ReduceLROnPlateau does not support a factor >= 1.0. Got {factor}")
        self.factor, self.cooldown, self.min_lr = factor, cooldown, min_lr

    def on_train_begin(self, logs: Logs = None) -> None:
        super().on_train_begin(logs)
        self.cooling = 0

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        logs = {} if logs is None else logs
        optimizer = self.model.optimizer
        logs[self.rate_name] = optimizer.learning_rate.numpy()
        current = logs.get(self.monitor)
        if current is None:
            log.warning(
                "Learning rate reduction is conditioned on metric `%s` which is not available. "
                "Available metrics are: %s",
                self.monitor, ",".join(logs),
            )  # fmt: skip
            return
        if self.cooling:
            self.cooling -= 1
            self.wait = 0
        if self._better(current, self.best):
            self.best, self.wait = current, 0
        elif not self.cooling:
            self.wait += 1
            rate = logs[self.rate_name]
            if self.wait >= self.patience and rate > np.float32(self.min_lr):
                self._reduce(epoch, float(rate))

    def _reduce(self, epoch: int, rate: float) -> None:
        rate = max(rate * self.factor, self.min_lr)
        self.model.optimizer.learning_rate.assign(rate)
        if self.verbose > 0:
            _print(f"\nEpoch {epoch + 1}: ReduceLROnPlateau reducing learning rate to {rate}.")
        self.cooling, self.wait = self.cooldown, 0


class CSVLogger(Callback):
    """Writes the numbers of each epoch into a file."""

    def __init__(self, filename: str, separator: str = ",") -> None:
        self.filename, self.separator = filename, separator

    def on_train_begin(self, logs: Logs = None) -> None:
        self._file = Path(self.filename).open("w", newline="")  # noqa: SIM115
        self._writer: Any = None

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        logs = logs or {}
        if self._writer is None:
            names = sorted(logs)
            if not any(name.startswith("val_") for name in names):
                names += [f"val_{name}" for name in names]  # there may be some in later epochs
            names = ["epoch", *names]
            self._writer = csv.DictWriter(
                self._file, names, restval="NA", delimiter=self.separator, lineterminator="\n"
            )
            self._writer.writeheader()
        self._writer.writerow({"epoch": epoch, **logs})
        self._file.flush()

    def on_train_end(self, logs: Logs = None) -> None:
        self._file.close()


def _print(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


__getattr__ = missing("tf.keras.callbacks")
