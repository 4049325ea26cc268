"""Layers that change images at random in training.

Told about: `keras/src/layers/preprocessing/image_preprocessing/`
(`base_image_preprocessing_layer.py`, `random_flip.py`).
"""

from __future__ import annotations

from typing import Any

from tflogscope.runtime.errors import NotInThisRuntime
from tflogscope.runtime.keras3 import ops, random
from tflogscope.runtime.keras3.layers.data_layer import DataLayer

__all__ = ["RandomFlip"]


class RandomFlip(DataLayer):
    """Each image of a batch as it is or mirrored; one number drawn decides on both directions."""

    def __init__(
        self,
        mode: str = "horizontal_and_vertical",
        seed: int | None = None,
        data_format: str | None = None,
        **kwargs: Any,
    ) -> None:
        """Raises NotInThisRuntime for channels first."""
        super().__init__(**kwargs)
        if data_format == "channels_first":
            raise NotInThisRuntime("Keras 3's RandomFlip with channels first")
        self.mode, self.seed = mode, seed
        self.generator = random.SeedGenerator(seed)
        self._convert_inputs = False

    def call(self, data: Any, training: bool = True) -> Any:
        """Raises NotInThisRuntime for images with labels or boxes, ValueError for other ranks."""
        if isinstance(data, dict):
            raise NotInThisRuntime("Keras 3's RandomFlip of a dict")
        flips = self._drawn(data) if training else None
        shape = ops.shape(data)
        if len(shape) not in (3, 4):
            raise ValueError(
                "Expected image tensor to have rank 3 (single image) or 4 (batch of images). "
                f"Received: data.shape={shape}"
            )
        images = ops.convert_to_tensor(data)
        if len(shape) == 4:
            return self._flipped(images, flips)
        return ops.squeeze(self._flipped(ops.expand_dims(images, axis=0), flips), axis=0)

    def _drawn(self, images: Any) -> Any:
        shape = ops.shape(images)
        each = (1, 1, 1) if len(shape) == 3 else (shape[0], 1, 1, 1)
        return ops.less_equal(random.uniform(each, seed=self.generator), 0.5)

    def _flipped(self, images: Any, flips: Any) -> Any:
        images = ops.cast(images, self.compute_dtype)
        if flips is None:
            return images
        ops.shape(images)
        for direction, axis in (("horizontal", -2), ("vertical", -3)):
            if direction in self.mode.split("_and_"):
                images = ops.where(flips, ops.flip(images, axis=axis), images)
        return images
