"""What a model is compiled with, and one step: what `fit`, `evaluate` and `predict` repeat.

`train_step` is a forward pass under a tape, gradients, new values of the weights, metrics. What is
traced is `train_function(iterator)`: it takes a batch from the iterator and does a step, all in one
graph.

Told about: `keras/src/engine/training.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import tflogscope.runtime.api as tf
from tflogscope.runtime.keras.callbacks import History
from tflogscope.runtime.keras.models import data_adapter
from tflogscope.runtime.keras.models.compiled import CompiledLosses, CompiledMetrics
from tflogscope.runtime.keras.models.data_adapter import DataHandler

__all__ = ["Steps"]


class Steps:
    """What a model does with one batch."""

    optimizer: Any = None
    history: History | None = None
    stop_training = False
    output_names: list[str] | None = None
    compiled_loss: CompiledLosses | None = None
    compiled_metrics: CompiledMetrics | None = None
    _steps_per_execution: Any = None
    _run_eagerly: bool | None = None
    _jit_compile: bool | None = None
    _train_counter: Any
    _test_counter: Any
    _predict_counter: Any
    trainable_variables: Any
    _eval_handler: DataHandler | None = None

    if TYPE_CHECKING:  # a model is a layer, too: calling it is the forward pass

        def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

        @property
        def losses(self) -> list[Any]: ...

    def _make_counters(self) -> None:
        """Three variables that count steps; not weights of the model."""
        if not tf.inside_function():
            for name in ("_train_counter", "_test_counter", "_predict_counter"):
                self.__dict__[name] = tf.Variable(0, dtype="int64")

    # Compiling

    def compile(
        self,
        optimizer: Any = "rmsprop",
        loss: Any = None,
        metrics: Any = None,
        loss_weights: Any = None,
        weighted_metrics: Any = None,
        run_eagerly: bool | None = None,
        steps_per_execution: int | None = None,
        jit_compile: bool | None = None,
        **_: Any,
    ) -> None:
        """Say how to train. Raises ValueError for names that are unknown."""
        from tflogscope.runtime.keras import optimizers

        if run_eagerly and jit_compile:
            raise ValueError("You cannot enable `run_eagerly` and `jit_compile` at the same time.")
        attributes = self.__dict__  # not to be tracked as parts of the model
        attributes["_run_eagerly"], attributes["_jit_compile"] = run_eagerly, jit_compile
        attributes["optimizer"] = optimizers.get(optimizer)
        attributes["loss"] = loss or {}
        attributes["compiled_loss"] = CompiledLosses(loss, loss_weights, self.output_names)
        attributes["compiled_metrics"] = CompiledMetrics(
            metrics, weighted_metrics, self.output_names
        )
        attributes["_steps_per_execution"] = tf.Variable(steps_per_execution or 1, dtype="int64")
        attributes["train_function"] = attributes["test_function"] = None
        attributes["predict_function"] = None

    loss: Any = None
    train_function: Callable[..., Any] | None = None
    test_function: Callable[..., Any] | None = None
    predict_function: Callable[..., Any] | None = None

    def _check_compiled(self) -> None:
        if self.compiled_loss is None:
            raise RuntimeError(
                "You must compile your model before training/testing. Use "
                "`model.compile(optimizer, loss)`."
            )

    @property
    def run_eagerly(self) -> bool:
        """Do steps run op by op?"""
        if self._run_eagerly is None:
            return bool(tf.config.functions_run_eagerly())
        return self._run_eagerly

    @run_eagerly.setter
    def run_eagerly(self, value: bool) -> None:
        self.__dict__["_run_eagerly"] = value

    @property
    def metrics(self) -> list[Any]:
        """The losses' means and the metrics; empty before the first step."""
        if self.compiled_loss is None or self.compiled_metrics is None:
            return []
        return [*self.compiled_loss.metrics, *self.compiled_metrics.metrics, *self._own_metrics()]

    def _own_metrics(self) -> list[Any]:
        return []

    @property
    def metrics_names(self) -> list[str]:
        """Their names."""
        return [metric.name for metric in self.metrics]

    def reset_metrics(self) -> None:
        """Start each metric anew."""
        for metric in self.metrics:
            metric.reset_state()

    # One step: what users override

    def train_step(self, data: Any) -> dict[str, Any]:
        """A step of training; the metrics so far."""
        x, y, sample_weight = data_adapter.unpack(data)
        with tf.GradientTape() as tape:
            y_pred = self(x, training=True)
            loss = self.compute_loss(x, y, y_pred, sample_weight)
        self._check_loss(y, loss)
        self.optimizer.minimize(loss, self.trainable_variables, tape=tape)
        return self.compute_metrics(x, y, y_pred, sample_weight)

    def test_step(self, data: Any) -> dict[str, Any]:
        """A step of evaluation; the metrics so far."""
        x, y, sample_weight = data_adapter.unpack(data)
        y_pred = self(x, training=False)
        self.compute_loss(x, y, y_pred, sample_weight)
        return self.compute_metrics(x, y, y_pred, sample_weight)

    def predict_step(self, data: Any) -> Any:
        """A step of prediction; the outputs."""
        x, _, _ = data_adapter.unpack(data)
        return self(x, training=False)

    def compute_loss(
        self, x: Any = None, y: Any = None, y_pred: Any = None, sample_weight: Any = None
    ) -> Any:
        """The loss that the model was compiled with, and those that layers added."""
        del x
        assert self.compiled_loss is not None
        return self.compiled_loss(y, y_pred, sample_weight, regularization_losses=self.losses)

    def compute_metrics(self, x: Any, y: Any, y_pred: Any, sample_weight: Any) -> dict[str, Any]:
        """Take the batch into account; the metrics so far."""
        del x
        assert self.compiled_metrics is not None
        if y is not None:
            self.compiled_metrics.update_state(y, y_pred, sample_weight)
        return self.get_metrics_result()

    def get_metrics_result(self) -> dict[str, Any]:
        """The metrics so far, by name."""
        results: dict[str, Any] = {}
        for metric in self.metrics:
            result = metric.result()
            results.update(result if isinstance(result, dict) else {metric.name: result})
        return results

    def _check_loss(self, y: Any, loss: Any) -> None:
        if self.loss and y is None:
            raise ValueError(
                f"Target data is missing. Your model was compiled with loss={self.loss}, and "
                "therefore expects target data to be provided in `fit()`."
            )
        if loss is None:
            raise ValueError(
                "No loss found. You may have forgotten to provide a `loss` argument in the "
                "`compile()` method."
            )

    # The function of a step

    def _make_function(
        self, name: str, step: Callable[[Any], Any], counter: Any
    ) -> Callable[..., Any]:
        """`name(iterator)`: a step, or as many as `steps_per_execution` says.

        AutoGraph leaves files of Keras as they are, and so calls a user's `train_step` as it is:
        `run_step` in `Model.make_train_function`.
        """

        def run_step(data: Any) -> Any:
            outputs = step(data)
            with tf.control_dependencies(_first_output(outputs)):
                counter.assign_add(1)
            return outputs

        run = (
            tf.function(run_step, jit_compile=True, reduce_retracing=True)
            if self._jit_compile
            else run_step
        )

        def one(iterator: Any) -> Any:
            return run(next(iterator))

        def several(iterator: Any) -> Any:
            numbers: Any = tf.range(self._steps_per_execution)
            for _ in numbers:
                outputs = run(next(iterator))
            return outputs  # AutoGraph sees to it that it is defined

        once = self._steps_per_execution is None or self._steps_per_execution.numpy().item() == 1
        function = one if once else several
        function.__name__ = function.__qualname__ = name
        return function if self.run_eagerly else tf.function(function, reduce_retracing=True)

    def make_train_function(self, force: bool = False) -> Callable[..., Any]:
        """The function that `fit` calls for each step."""
        if self.train_function is None or force:
            self.__dict__["train_function"] = self._make_function(
                "train_function", self.train_step, self._train_counter
            )
        assert self.train_function is not None
        return self.train_function

    def make_test_function(self, force: bool = False) -> Callable[..., Any]:
        """The function that `evaluate` calls for each step."""
        if self.test_function is None or force:
            self.__dict__["test_function"] = self._make_function(
                "test_function", self.test_step, self._test_counter
            )
        assert self.test_function is not None
        return self.test_function

    def make_predict_function(self, force: bool = False) -> Callable[..., Any]:
        """The function that `predict` calls for each step."""
        if self.predict_function is None or force:
            self.__dict__["predict_function"] = self._make_function(
                "predict_function", self.predict_step, self._predict_counter
            )
        assert self.predict_function is not None
        return self.predict_function


def _first_output(outputs: Any) -> list[Any]:
    """What a step must have done before it counts."""
    if tf.executing_eagerly():
        return []
    return [each for each in tf.nest.flatten(outputs) if isinstance(each, tf.Tensor)][:1]
