"""`fit`, `evaluate` and `predict`: loops over batches, each step a call of one traced function.

The loop calls `train_function(iterator)` of steps.py; here are epochs, validation and callbacks.

Told about: `keras/src/engine/training.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tflogscope.runtime.api as tf
from tflogscope.runtime.errors import NotInThisRuntime
from tflogscope.runtime.keras.callbacks import CallbackList, History
from tflogscope.runtime.keras.metrics import number_of
from tflogscope.runtime.keras.models import data_adapter
from tflogscope.runtime.keras.models.data_adapter import DataHandler
from tflogscope.runtime.keras.models.steps import Steps

__all__ = ["Trainer"]


class Trainer(Steps):
    """What a model needs to be trained. `Model` is one."""

    # The loops

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
        shuffle: bool = True,
        class_weight: dict[int, float] | None = None,
        sample_weight: Any = None,
        initial_epoch: int = 0,
        steps_per_epoch: int | None = None,
        validation_steps: int | None = None,
        validation_batch_size: int | None = None,
        validation_freq: Any = 1,
        **_: Any,
    ) -> History:
        """Train for some epochs; the numbers of each.

        Raises RuntimeError if the model isn't compiled, NotInThisRuntime for generators.
        """
        self._check_compiled()
        if validation_split and validation_data is None:
            (x, y, sample_weight), validation_data = data_adapter.train_validation_split(
                (x, y, sample_weight), validation_split
            )
        handler = DataHandler(
            x,
            y,
            sample_weight,
            batch_size=batch_size,
            steps_per_epoch=steps_per_epoch,
            initial_epoch=initial_epoch,
            epochs=epochs,
            shuffle=shuffle,
            class_weight=class_weight,
            steps_per_execution=self._steps_per_execution,
            model=self,
        )
        told = self._callbacks(callbacks, verbose, epochs, handler)
        self.__dict__["stop_training"] = False
        function = self.make_train_function()
        self._train_counter.assign(0)
        told.tell("train_begin")
        logs: Any = None
        for epoch, iterator in handler.enumerate_epochs():
            self.reset_metrics()
            told.tell("epoch_begin", epoch)
            logs = self._epoch_numbers(self._steps(handler, iterator, function, told, "train"))
            if validation_data is not None and _is_due(epoch, validation_freq):
                options = {
                    "batch_size": validation_batch_size or batch_size,
                    "steps": validation_steps,
                }
                logs |= self._validate(validation_data, told, options)
            told.tell("epoch_end", epoch, logs=logs)
            if self.stop_training:
                break
        self.optimizer.finalize_variable_values(self.trainable_variables)
        self.__dict__.pop("_eval_handler", None)
        told.tell("train_end", logs=logs)
        assert self.history is not None
        return self.history

    def _callbacks(
        self, callbacks: Any, verbose: Any, epochs: int, handler: DataHandler
    ) -> CallbackList:
        if isinstance(callbacks, CallbackList):
            return callbacks
        level = 1 if verbose == "auto" else int(verbose)
        return CallbackList(
            callbacks,
            add_history=True,
            add_progbar=level != 0,
            model=self,
            verbose=level,
            epochs=epochs,
            steps=handler.inferred_steps,
        )

    def _steps(
        self,
        handler: DataHandler,
        iterator: Any,
        function: Callable[..., Any],
        told: CallbackList,
        mode: str,
    ) -> Any:
        """An epoch; what the last step gave."""
        outputs = None
        with handler.catch_stop_iteration():
            for step in handler.steps():
                told.tell(f"{mode}_batch_begin", step)
                outputs = function(iterator)
                told.tell(f"{mode}_batch_end", step + handler.step_increment, logs=outputs)
                if mode == "train" and self.stop_training:
                    break
        if outputs is None:
            raise ValueError(
                f"Unexpected result of `{mode}_function` (Empty logs). This could be due to issues "
                "in input pipeline that resulted in an empty dataset."
            )
        return outputs

    def _epoch_numbers(self, logs: Any) -> dict[str, Any]:
        """The metrics at the end of an epoch, as Python numbers.

        `logs` is what the last step gave; a step of the user's own that gives other names than
        those of the metrics has the last word. Told about: `_validate_and_get_metrics_result`.
        """
        results = self.get_metrics_result()
        if isinstance(logs, dict) and set(logs) != set(results):
            results = {**logs, **{name: results[name] for name in results if name in logs}}
        numbers: dict[str, Any] = tf.nest.map_structure(number_of, results)
        return numbers

    def _validate(self, data: Any, told: CallbackList, options: dict[str, Any]) -> dict[str, Any]:
        x, y, sample_weight = data_adapter.unpack(data)
        if self._eval_handler is None:
            self.__dict__["_eval_handler"] = self._evaluation_data(x, y, sample_weight, **options)
        logs = self._evaluate(self._eval_handler, told)
        return {f"val_{name}": value for name, value in logs.items()}

    def _evaluation_data(
        self, x: Any, y: Any, sample_weight: Any, batch_size: Any, steps: Any
    ) -> DataHandler:
        return DataHandler(
            x, y, sample_weight, batch_size=batch_size, steps_per_epoch=steps,
            steps_per_execution=self._steps_per_execution, model=self,
        )  # fmt: skip

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
        **_: Any,
    ) -> Any:
        """Loss and metrics over some data; one number, a list, or a dict."""
        self._check_compiled()
        handler = self._evaluation_data(x, y, sample_weight, batch_size, steps)
        logs = self._evaluate(handler, self._callbacks(callbacks, verbose, 1, handler))
        return logs if return_dict else self._as_list(logs)

    def _evaluate(self, handler: DataHandler | None, told: CallbackList) -> dict[str, Any]:
        assert handler is not None
        function = self.make_test_function()
        self._test_counter.assign(0)
        told.tell("test_begin")
        last: Any = None
        for _, iterator in handler.enumerate_epochs():
            self.reset_metrics()
            last = self._steps(handler, iterator, function, told, "test")
        logs = self._epoch_numbers(last)
        told.tell("test_end", logs=logs)
        return logs

    def predict(
        self,
        x: Any,
        batch_size: int | None = None,
        verbose: Any = "auto",
        steps: int | None = None,
        callbacks: Any = None,
        **_: Any,
    ) -> Any:
        """The outputs for all inputs, as arrays."""
        execution = (
            self._steps_per_execution if self._steps_per_execution is not None else tf.Variable(1)
        )
        handler = DataHandler(
            x, batch_size=batch_size, steps_per_epoch=steps, steps_per_execution=execution,
            model=self,
        )  # fmt: skip
        told = self._callbacks(callbacks, verbose, 1, handler)
        function = self.make_predict_function()
        self._predict_counter.assign(0)
        told.tell("predict_begin")
        batches: list[Any] = []
        for _epoch, iterator in handler.enumerate_epochs():
            with handler.catch_stop_iteration():
                for step in handler.steps():
                    told.tell("predict_batch_begin", step)
                    batches.append(function(iterator))
                    told.tell(
                        "predict_batch_end",
                        step + handler.step_increment,
                        logs={"outputs": batches[-1]},
                    )
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
        reset_metrics: bool = True,
        return_dict: bool = False,
    ) -> Any:
        """One step of training on one batch; loss and metrics."""
        self._check_compiled()
        if reset_metrics:
            self.reset_metrics()
        iterator = data_adapter.single_batch_iterator(x, y, sample_weight, class_weight)
        logs = tf.nest.map_structure(number_of, self.make_train_function()(iterator))
        return logs if return_dict else self._as_list(logs)

    def test_on_batch(
        self,
        x: Any,
        y: Any = None,
        sample_weight: Any = None,
        reset_metrics: bool = True,
        return_dict: bool = False,
    ) -> Any:
        """One step of evaluation on one batch; loss and metrics."""
        self._check_compiled()
        if reset_metrics:
            self.reset_metrics()
        iterator = data_adapter.single_batch_iterator(x, y, sample_weight)
        logs = tf.nest.map_structure(number_of, self.make_test_function()(iterator))
        return logs if return_dict else self._as_list(logs)

    def predict_on_batch(self, x: Any) -> Any:
        """The outputs for one batch, as arrays."""
        iterator = data_adapter.single_batch_iterator(x)
        return tf.nest.map_structure(
            lambda each: each.numpy(), self.make_predict_function()(iterator)
        )

    def _as_list(self, logs: dict[str, Any]) -> Any:
        """A list in the order of `metrics_names`; the number itself if there is one."""
        names = [name for name in self.metrics_names if name in logs]
        results = [logs[name] for name in [*names, *sorted(set(logs) - set(names))]]
        return results[0] if len(results) == 1 else results


def _is_due(epoch: int, frequency: Any) -> bool:
    return (epoch + 1) % frequency == 0 if isinstance(frequency, int) else epoch + 1 in frequency


def _concatenated(*batches: Any) -> Any:
    """Batches of one output as one array, after a check (with ops) that they have one shape."""
    if len(batches) == 1:
        return batches[0].numpy()
    shapes: Any = tf.stack([tf.shape(batch)[1:] for batch in batches])
    same: Any = tf.reduce_all(tf.reduce_all(shapes == shapes[:1], axis=0))
    if not same.numpy():
        raise NotInThisRuntime("predict with outputs of different shapes")
    joined: Any = (
        tf.concat(list(batches), axis=0)
        if batches[0].shape.rank
        else tf.stack(list(batches), axis=0)
    )
    return joined.numpy()
