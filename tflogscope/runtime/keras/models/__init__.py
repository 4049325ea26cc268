"""`tf.keras.models`."""

from __future__ import annotations

from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.keras.models.cloning import clone_model, model_from_json
from tflogscope.runtime.keras.models.model import Functional, Model
from tflogscope.runtime.keras.models.sequential import Sequential

__all__ = ["Functional", "Model", "Sequential", "clone_model", "model_from_json"]

__getattr__ = missing("tf.keras.models")
