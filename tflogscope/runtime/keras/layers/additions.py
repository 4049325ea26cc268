"""What a layer adds to the loss and to the metrics of the model it is in.

Told about: `add_loss`, `add_metric` and `losses` of `keras/src/engine/base_layer.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tflogscope.runtime.api as tf
from tflogscope.runtime.errors import NotInThisRuntime
from tflogscope.runtime.keras import keras_tensor, regularizers
from tflogscope.runtime.keras.backend import call_context
from tflogscope.runtime.keras.layers.describing import Described

__all__ = ["Adding"]


class Adding(Described):
    """The part of `Layer` that is about losses and metrics of its own."""

    _added_losses: list[Any]
    _inferred_losses: list[Any]
    _loss_functions: list[Any]
    _added_metrics: list[Any]
    _of_weights: dict[str, Any]

    def _count_activity(self, inputs: Any, outputs: Any) -> None:
        """What `activity_regularizer` says of the outputs, per example of the batch."""
        regularize = regularizers.get(self._of_weights.get("activity_regularizer"))
        if regularize is None or tf.nest.flatten(inputs)[0] is None:
            return
        with tf.name_scope("ActivityRegularizer"):
            for output in tf.nest.flatten(outputs):
                loss = regularize(output)
                self.add_loss(loss / tf.cast(tf.shape(output)[0], loss.dtype))

    def add_metric(self, value: Any, name: str | None = None, **_: Any) -> None:
        """A number of this call, to be averaged over calls. Raises ValueError without a name."""
        from tflogscope.runtime.keras.metrics_base import Mean

        if keras_tensor.is_keras_tensor(value):
            raise NotInThisRuntime("add_metric of a Keras tensor")
        if name is None:
            raise ValueError(
                "Please provide a name for your metric like `self.add_metric(tf.reduce_sum(inputs),"
                " name='mean_activation')`"
            )
        metric = next((each for each in self._added_metrics if each.name == name), None)
        if metric is None:
            metric = Mean(name=name)
            self._added_metrics.append(metric)
        metric(value)

    @property
    def metrics(self) -> list[Any]:
        """The metrics that it and the layers in it have as attributes or have added."""
        from tflogscope.runtime.keras.metrics_base import Metric

        return [
            metric
            for layer in self._with_sublayers()
            if not isinstance(layer, Metric)
            for metric in (*layer._sublayers(), *layer._added_metrics)
            if isinstance(metric, Metric)
        ]

    def add_loss(self, losses: Any) -> None:
        """A tensor to be added to the loss of this call, or a function that gives one each time."""
        for loss in tf.nest.flatten(losses):
            if callable(loss):
                self._loss_functions.append(loss)
            elif call_context.inferring:
                self._inferred_losses.append(loss)
            else:
                self._added_losses.append(loss)

    @property
    def losses(self) -> list[Any]:
        """What it and the layers in it add to the loss, layer by layer: tensors of the last call
        (of the scratch graphs, if there was none), then what functions give.
        """
        return [
            loss
            for layer in self._with_sublayers()
            for loss in (
                *(layer._added_losses or layer._inferred_losses),
                *(function() for function in layer._loss_functions),
            )
        ]

    def _with_sublayers(self) -> Iterator[Any]:
        yield self
        for layer in self._sublayers():
            if isinstance(layer, Adding):
                yield from layer._with_sublayers()

    def _forget_losses(self) -> None:
        """A new call adds its losses anew."""
        for layer in self._with_sublayers():
            layer._added_losses.clear()
