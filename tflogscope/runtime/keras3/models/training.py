"""`fit`, `evaluate` and `predict`: loops over batches, each step a call of one traced function.

Told about: `keras/src/backend/tensorflow/trainer.py`.
"""

from __future__ import annotations

import contextlib
from typing import Any

import tflogscope.runtime.api as tf
from tflogscope.runtime.errors import NotInThisRuntime
from tflogscope.runtime.keras.callbacks import History
from tflogscope.runtime.keras.models.data_adapter import train_validation_split
from tflogscope.runtime.keras3.callbacks import CallbackList, numbers_of
from tflogscope.runtime.keras3.models.compiled import CompileMetrics
from tflogscope.runtime.keras3.models.data import (
    EpochIterator,
    class_weights_to_sample_weights,
    unpack,
)
from tflogscope.runtime.keras3.models.steps import Steps

__all__ = ["Trainer"]


class Trainer(Steps):
    """What a model needs to be trained. `Model` is one."""

    _eval_iterator: EpochIterator | None = None

    def fit(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        epochs: int = 1,
        verbose: Any = "auto",
        callbacks: Any = None,
        validation_split: float = 0.0,
        validation_data: Any = None,
        shuffle: Any = True,
        class_weight: dict[int, float] | None = None,
        sample_weight: Any = None,
        initial_epoch: int = 0,
        steps_per_epoch: int | None = None,
        validation_steps: int | None = None,
        validation_batch_size: int | None = None,
        validation_freq: Any = 1,
    ) -> History:
        """Train for some epochs; the numbers of each. Raises ValueError if the model isn't
        compiled.
        """
        self._check_compiled()
        if validation_split and validation_data is None:
            (x, y, sample_weight), validation_data = train_validation_split(
                (x, y, sample_weight), validation_split
            )
        steps = EpochIterator(
            x, y, sample_weight, batch_size, steps_per_epoch, shuffle, class_weight,
            self.steps_per_execution,
        )  # fmt: skip
        steps.reset()
        told = self._told(callbacks, verbose, epochs, steps, history=True)
        self.__dict__["stop_training"] = False
        function = self.make_train_function()
        told.tell("train_begin")
        logs: Any = None
        for epoch in range(initial_epoch, epochs):
            self.reset_metrics()
            told.tell("epoch_begin", epoch)
            logs = self._numbers(self._epoch(steps, function, told, "train"))
            if validation_data is not None and _is_due(epoch, validation_freq):
                size = validation_batch_size or batch_size
                logs |= self._validate(validation_data, told, size, validation_steps)
            told.tell("epoch_end", epoch, logs=logs)
            if self.stop_training:
                break
        self.optimizer.finalize_variable_values(self.trainable_weights)
        self.__dict__.pop("_eval_iterator", None)
        told.tell("train_end", logs=logs)
        found: History = self.history
        return found

    def _told(
        self,
        callbacks: Any,
        verbose: Any,
        epochs: int,
        steps: EpochIterator,
        *,
        history: bool = False,
    ) -> CallbackList:
        if isinstance(callbacks, CallbackList):
            return callbacks
        level = 1 if verbose == "auto" else int(verbose)
        return CallbackList(
            callbacks, add_history=history, add_progbar=level != 0, model=self, verbose=level,
            epochs=epochs, steps=steps.num_batches,
        )  # fmt: skip

    def _epoch(self, steps: EpochIterator, function: Any, told: CallbackList, mode: str) -> Any:
        """An epoch; what the last step gave."""
        outputs: Any = {}
        with steps.catch_stop_iteration():
            for first, last, iterator in steps.steps():
                told.tell(f"{mode}_batch_begin", first)
                outputs = function(iterator)
                told.tell(f"{mode}_batch_end", last, logs=outputs)
                if mode == "train" and self.stop_training:
                    break
        return outputs

    def _numbers(self, logs: Any) -> dict[str, Any]:
        """The metrics at the end of an epoch, as Python numbers, by name.

        A step of the user's own that gives other names than those of the metrics has the last word.
        """
        results = self.get_metrics_result()
        if not (isinstance(logs, dict) and set(logs) == set(results)):
            results = logs
        return numbers_of(results)

    def _validate(
        self, data: Any, told: CallbackList, batch_size: Any, steps: Any
    ) -> dict[str, Any]:
        if self._eval_iterator is None:
            self.__dict__["_eval_iterator"] = EpochIterator(
                *unpack(data), batch_size=batch_size, steps_per_epoch=steps,
                steps_per_execution=self.steps_per_execution,
            )  # fmt: skip
        assert self._eval_iterator is not None
        self._eval_iterator.reset()
        logs = self._evaluate(self._eval_iterator, told)
        return {f"val_{name}": value for name, value in logs.items()}

    def evaluate(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        verbose: Any = "auto",
        sample_weight: Any = None,
        steps: int | None = None,
        callbacks: Any = None,
        return_dict: bool = False,
    ) -> Any:
        """Loss and metrics over some data; one number, a list, or a dict."""
        self._check_compiled()
        iterator = EpochIterator(
            x, y, sample_weight, batch_size, steps, steps_per_execution=self.steps_per_execution
        )
        iterator.reset()
        logs = self._evaluate(iterator, self._told(callbacks, verbose, 1, iterator))
        return logs if return_dict else self._as_list(logs)

    def _evaluate(self, steps: EpochIterator, told: CallbackList) -> dict[str, Any]:
        function = self.make_test_function()
        told.tell("test_begin")
        self.reset_metrics()
        logs = self._numbers(self._epoch(steps, function, told, "test"))
        told.tell("test_end", logs=logs)
        return logs

    def predict(
        self,
        x: Any,
        batch_size: int | None = None,
        verbose: Any = "auto",
        steps: int | None = None,
        callbacks: Any = None,
    ) -> Any:
        """The outputs for all inputs, as arrays."""
        iterator = EpochIterator(
            x, batch_size=batch_size, steps_per_epoch=steps,
            steps_per_execution=self.steps_per_execution,
        )  # fmt: skip
        told = self._told(callbacks, verbose, 1, iterator)
        function = self.make_predict_function()
        told.tell("predict_begin")
        batches: list[Any] = []
        with iterator.catch_stop_iteration():
            for first, last, source in iterator.steps():
                told.tell("predict_batch_begin", first)
                batches.append(function(_some_of(source, self.steps_per_execution)))
                told.tell("predict_batch_end", last, logs={"outputs": batches[-1]})
        if not batches:
            raise ValueError("Unexpected result of `predict_function` (Empty batch_outputs).")
        told.tell("predict_end")
        return tf.nest.map_structure(_concatenated, *batches)

    # Single steps

    def train_on_batch(
        self,
        x: Any,
        y: Any = None,
        sample_weight: Any = None,
        class_weight: Any = None,
        return_dict: bool = False,
    ) -> Any:
        """One step of training on one batch; loss and metrics."""
        self._check_compiled()
        if class_weight is not None:
            sample_weight = class_weights_to_sample_weights(y, class_weight)
        function = self.make_train_function()
        return self._on_batch(function, (x, y, sample_weight), return_dict)

    def test_on_batch(
        self, x: Any, y: Any = None, sample_weight: Any = None, return_dict: bool = False
    ) -> Any:
        """One step of evaluation on one batch; loss and metrics."""
        self._check_compiled()
        return self._on_batch(self.make_test_function(), (x, y, sample_weight), return_dict)

    def _on_batch(self, function: Any, data: Any, return_dict: bool) -> Any:
        self.reset_metrics()
        logs = numbers_of(function(iter([data])))
        return logs if return_dict else self._as_list(logs)

    def predict_on_batch(self, x: Any) -> Any:
        """The outputs for one batch, as arrays."""
        outputs = self.make_predict_function()([(x,)])
        return tf.nest.map_structure(lambda each: each.numpy(), outputs)

    def _as_list(self, logs: dict[str, Any]) -> Any:
        """A list in the order of the metrics; the number itself if there is one."""
        names: list[str] = []
        for metric in self.metrics:
            inner = metric.metrics if isinstance(metric, CompileMetrics) else [metric]
            names += [each.name for each in inner]
        found = [name for name in names if name in logs]
        results = [logs[name] for name in [*found, *sorted(set(logs) - set(names))]]
        return results[0] if len(results) == 1 else results


def _some_of(source: Any, count: int) -> list[Any]:
    """So many batches, fewer at the end of the data. Raises what `next` raises if none is left."""
    found = [next(source)]
    with contextlib.suppress(StopIteration, tf.errors.OutOfRangeError):
        while len(found) < count:
            found.append(next(source))
    return found


def _is_due(epoch: int, frequency: Any) -> bool:
    return (epoch + 1) % frequency == 0 if isinstance(frequency, int) else epoch + 1 in frequency


def _concatenated(*batches: Any) -> Any:
    """Batches of one output as one array, after a check (with ops) that they have one shape."""
    if len(batches) == 1:
        return batches[0].numpy()
    shapes: Any = tf.stack([tf.shape(batch)[1:] for batch in batches])
    same: Any = tf.math.reduce_all(shapes == shapes[:1], axis=0)
    if not tf.math.reduce_all(same).numpy():  # type: ignore[attr-defined]
        raise NotInThisRuntime("predict with outputs of different shapes")
    joined: Any = (
        tf.concat(list(batches), axis=0) if batches[0].shape.rank else tf.stack(list(batches))
    )
    return joined.numpy()
