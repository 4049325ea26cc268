"""`DataLayer`: a layer made for the functions of a `tf.data` pipeline.

Told about: `keras/src/layers/preprocessing/data_layer.py`.
"""

from __future__ import annotations

from typing import Any

import tflogscope.runtime.api as tf
from tflogscope.runtime.keras3 import ops
from tflogscope.runtime.keras3.layers.base import Layer
from tflogscope.runtime.keras3.operation import any_symbolic

__all__ = ["DataLayer"]


class DataLayer(Layer):
    """In a graph the inputs have the layer's dtype before its scope is entered."""

    def __call__(self, inputs: Any, **kwargs: Any) -> Any:
        if any_symbolic(inputs) or tf.executing_eagerly():
            return super().__call__(inputs, **kwargs)
        inputs = tf.nest.map_structure(self._in_compute_dtype, inputs)
        convert, self._convert_inputs = self._convert_inputs, False
        try:
            return super().__call__(inputs, **kwargs)
        finally:
            self._convert_inputs = convert

    def _in_compute_dtype(self, value: Any) -> Any:
        return ops.convert_to_tensor(value, dtype=self.compute_dtype)
