"""The loss and the metrics of `compile`, made when the model's first output is there. NB: of one output.

See `keras/engine/compile_utils.py`.
"""

from __future__ import annotations

from typing import Any

from tflogscope.runtime.core import nest
from tflogscope.runtime.core.calls import O
from tflogscope.runtime.keras import losses, metrics
from tflogscope.runtime.keras.state import keras3, mask_of
from tflogscope.runtime.library import arrays


class Compiled:
    """What a model is trained by; `total` is the metric that gathers its loss."""

    def __init__(self, loss: Any, given: Any, total: Any) -> None:
        self._loss, self._given, self.total = losses.get(loss), given, total
        self._metrics: list[Any] | None = None
        self._asked = False

    def metrics(self) -> list[Any]:
        """All of them, the total first."""
        return [self.total, *(self._metrics or [])] if keras3() or self._asked else []

    def loss(self, y: Any, y_pred: Any) -> list[Any]:
        """The loss, if there is one."""
        self._asked = True
        return [] if self._loss is None else [self._loss(*matched(y, y_pred))]

    def update(self, y: Any, y_pred: Any) -> None:
        """Give the metrics one more batch."""
        if self._metrics is None:
            self._metrics = [metrics.get(e, y, y_pred) for e in nest.flatten(self._given or [])]
        label, output = matched(y, y_pred)
        mask = None if keras3() else mask_of(output)
        for metric in self._metrics:
            metric.update_state(label, output, sample_weight=mask)


def matched(label: Any, output: Any) -> tuple[Any, Any]:
    """NB: Keras 2 makes a column of labels, and casts them."""
    if keras3():
        return label, output
    if label.shape.rank == 1 and output.shape.rank == 2:
        label = O.ExpandDims(label, -1)
    alike = label.dtype.is_floating == output.dtype.is_floating
    return arrays.cast(label, output.dtype) if alike else label, output


def batch_of(tensor: Any) -> Any:
    """How many examples."""
    return arrays.shape_v2(tensor)[0]
