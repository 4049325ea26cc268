"""`tf.keras.models` of Keras 3: steps.py, training.py, then model.py and sequential.py."""

from __future__ import annotations

from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.keras3.models.cloning import clone_model
from tflogscope.runtime.keras3.models.model import Functional, Model
from tflogscope.runtime.keras3.models.sequential import Sequential

__all__ = ["Functional", "Model", "Sequential", "clone_model"]

__getattr__ = missing("tf.keras.models")
