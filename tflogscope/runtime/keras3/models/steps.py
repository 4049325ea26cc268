"""What a model is compiled with, and one step: what `fit`, `evaluate` and `predict` repeat.

A step is a function within a function: `one_step_on_data` does it on a batch, and
`multi_step_on_iterator` takes the batch from the iterator and gives the result as an optional. When
the outer one is made ready to run the inner one is inlined: its nodes are
`StatefulPartitionedCall/…`.

Told about: `keras/src/trainers/trainer.py`, `keras/src/backend/tensorflow/trainer.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tflogscope.runtime.api as tf
from tflogscope.runtime.data.iterator import Optional, OwnedIterator
from tflogscope.runtime.errors import NotInThisRuntime
from tflogscope.runtime.keras3 import metrics, optimizers
from tflogscope.runtime.keras3 import ops as keras_ops
from tflogscope.runtime.keras3.dtypes import is_float
from tflogscope.runtime.keras3.layers.base import Layer
from tflogscope.runtime.keras3.models.compiled import CompileLoss, CompileMetrics
from tflogscope.runtime.keras3.models.data import unpack
from tflogscope.runtime.keras3.models.several_steps import several_steps

__all__ = ["Steps"]

_unconverted = tf.autograph.experimental.do_not_convert


class Steps(Layer):
    """What a model does with one batch."""

    optimizer: Any = None
    loss: Any = None
    compiled = False
    run_eagerly = False
    steps_per_execution = 1
    jit_compile: Any = False
    stop_training = False
    history: Any = None
    output_names: list[str] | None = None
    train_function: Any = None
    test_function: Any = None
    predict_function: Any = None
    _compile_loss: CompileLoss | None = None
    _compile_metrics: CompileMetrics | None = None
    _loss_tracker: Any = None

    # Compiling

    def compile(
        self,
        optimizer: Any = "rmsprop",
        loss: Any = None,
        loss_weights: Any = None,
        metrics: Any = None,
        weighted_metrics: Any = None,
        run_eagerly: bool = False,
        steps_per_execution: int = 1,
        jit_compile: Any = "auto",
        auto_scale_loss: bool = True,
    ) -> None:
        """Say how to train. Raises ValueError for names that are unknown, NotInThisRuntime where
        the loss would have to be scaled.
        """
        if auto_scale_loss and self.dtype_policy.name == "mixed_float16":
            raise NotInThisRuntime("LossScaleOptimizer of Keras 3, which mixed_float16 asks for,")
        attributes = self.__dict__  # not to be tracked as parts of the model
        attributes["optimizer"] = optimizers.get(optimizer)
        attributes["loss"] = loss
        names = self.output_names
        if loss is not None:
            attributes["_compile_loss"] = CompileLoss(loss, loss_weights, names)
        if metrics is not None or weighted_metrics is not None:
            attributes["_compile_metrics"] = CompileMetrics(metrics, weighted_metrics, names)
        attributes["jit_compile"] = jit_compile is True and not run_eagerly
        attributes["run_eagerly"] = run_eagerly
        attributes["steps_per_execution"] = steps_per_execution
        attributes["_loss_tracker"] = _loss_mean()
        attributes.update(train_function=None, test_function=None, predict_function=None)
        attributes.update(compiled=True, stop_training=False)

    def _check_compiled(self) -> None:
        if not self.compiled:
            raise ValueError("You must call `compile()` before using the model.")

    @property
    def metrics(self) -> list[Any]:
        """The mean loss, the metrics, and with several outputs the loss of each."""
        found = []
        if self.compiled:
            found = [self._loss_tracker, self._compile_metrics]
            found += self._compile_loss.metrics if self._compile_loss else []
        own = self._parts(metrics.Metric)
        below = [
            each
            for layer in self._flatten_layers()[1:]
            if not isinstance(layer, Steps)
            for each in layer.metrics
        ]
        return [each for each in (*found, *own, *below) if each is not None]

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
        x, y, sample_weight = unpack(data)
        with tf.GradientTape() as tape:
            y_pred = self._forward(x, training=True)
            loss = self._compute_loss(x, y, y_pred, sample_weight, training=True)
            self._track_loss(loss, x)
        weights = self.trainable_weights
        gradients = tape.gradient(loss, weights)
        self.optimizer.apply_gradients(zip(gradients, weights, strict=True))
        return self.compute_metrics(x, y, y_pred, sample_weight=sample_weight)

    def test_step(self, data: Any) -> dict[str, Any]:
        """A step of evaluation; the metrics so far."""
        x, y, sample_weight = unpack(data)
        y_pred = self._forward(x, training=False)
        loss = self._compute_loss(x, y, y_pred, sample_weight, training=False)
        self._track_loss(loss, x)
        return self.compute_metrics(x, y, y_pred, sample_weight=sample_weight)

    def predict_step(self, data: Any) -> Any:
        """A step of prediction; the outputs."""
        x, _, _ = unpack(data)
        return self._forward(x, training=False)

    def _forward(self, x: Any, *, training: bool) -> Any:
        return self(x, training=training) if self.takes("training") else self(x)

    def _track_loss(self, loss: Any, x: Any) -> None:
        first = next(each for each in tf.nest.flatten(x) if each is not None)
        self._loss_tracker.update_state(loss, sample_weight=tf.shape(first)[0])

    def _compute_loss(
        self, x: Any, y: Any, y_pred: Any, sample_weight: Any, *, training: bool
    ) -> Any:
        return self.compute_loss(x, y, y_pred, sample_weight, training=training)

    def compute_loss(
        self, x: Any = None, y: Any = None, y_pred: Any = None, sample_weight: Any = None,
        training: bool = True,
    ) -> Any:  # fmt: skip
        """The loss that the model was compiled with, and those that layers added. Raises ValueError
        if there is none.
        """
        del x, training
        found = []
        if self._compile_loss is not None:
            found.append(self._compile_loss(y, y_pred, sample_weight))
        for each in self.losses:
            loss = each if is_float(each.dtype) else keras_ops.cast(each, "float32")
            found.append(keras_ops.sum(loss))
        if not found:
            raise ValueError("No loss to compute. Provide a `loss` argument in `compile()`.")
        return found[0] if len(found) == 1 else keras_ops.sum(found)

    def compute_metrics(
        self, x: Any, y: Any, y_pred: Any, sample_weight: Any = None
    ) -> dict[str, Any]:
        """Take the batch into account; the metrics so far."""
        del x
        if self._compile_metrics is not None:
            self._compile_metrics.update_state(y, y_pred, sample_weight)
        return self.get_metrics_result()

    def get_metrics_result(self) -> dict[str, Any]:
        """The metrics so far, by name."""
        results: dict[str, Any] = {}
        for metric in self.metrics:
            result = metric.result()
            results.update(result if isinstance(result, dict) else {metric.name: result})
        return results

    # The functions of a step

    def _make_function(self, step: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """A step on a batch that the iterator gives."""

        @_unconverted
        def one_step_on_data(data: Any) -> Any:
            return step(data)

        if not self.run_eagerly:
            one_step_on_data = tf.function(
                one_step_on_data, reduce_retracing=True, jit_compile=self.jit_compile or None
            )

        @_unconverted
        def multi_step_on_iterator(iterator: Any) -> Any:
            if self.steps_per_execution > 1:
                return several_steps(one_step_on_data, iterator, self.steps_per_execution)
            return Optional.from_value(one_step_on_data(iterator.get_next()))

        if not self.run_eagerly:
            multi_step_on_iterator = tf.function(multi_step_on_iterator, reduce_retracing=True)

        def function(iterator: Any) -> Any:
            if not isinstance(iterator, OwnedIterator):
                for _, data in zip(range(self.steps_per_execution), iterator, strict=False):
                    outputs = one_step_on_data(data)
                return outputs
            outputs = multi_step_on_iterator(iterator)
            if not outputs.has_value():
                raise StopIteration
            return outputs.get_value()

        return function

    def make_train_function(self, force: bool = False) -> Any:
        """The function that `fit` calls for each step."""
        if self.train_function is None or force:
            self.__dict__["train_function"] = self._make_function(self.train_step)
        return self.train_function

    def make_test_function(self, force: bool = False) -> Any:
        """The function that `evaluate` calls for each step."""
        if self.test_function is None or force:
            self.__dict__["test_function"] = self._make_function(self.test_step)
        return self.test_function

    def make_predict_function(self, force: bool = False) -> Any:
        """The function that `predict` calls for each step: with a list of the batches."""
        if self.predict_function is None or force:

            @_unconverted
            def one_step_on_data(data: Any) -> Any:
                return self.predict_step(data)

            if not self.run_eagerly and self.jit_compile:
                one_step_on_data = tf.function(
                    one_step_on_data, reduce_retracing=True, jit_compile=True
                )

            @_unconverted
            def one_step_on_data_distributed(data: Any) -> Any:
                return one_step_on_data(data[0])

            @_unconverted
            def multi_step_on_data(data: Any) -> Any:
                outputs = one_step_on_data_distributed(data[:1])
                for each in data[1:]:
                    more = one_step_on_data_distributed([each])
                    outputs = tf.nest.map_structure(_joined, outputs, more)
                return outputs

            several = self.steps_per_execution > 1
            made: Any = multi_step_on_data if several else one_step_on_data_distributed
            if not self.run_eagerly:
                made = tf.function(made, reduce_retracing=True)
            self.__dict__["predict_function"] = made
        return self.predict_function


def _joined(first: Any, second: Any) -> Any:
    """NB: asks for the shapes, of which Keras only looks at how many sizes they have."""
    return tf.concat([first, second], axis=0) if first.shape.rank else tf.stack([first, second])


def _loss_mean() -> Any:
    return metrics.Mean(name="loss")
