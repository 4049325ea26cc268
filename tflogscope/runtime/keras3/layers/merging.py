"""Layers that make one tensor of several.

Told about: `keras/src/layers/merging/`.
"""

from __future__ import annotations

from typing import Any

from tflogscope.runtime.keras3 import ops
from tflogscope.runtime.keras3.layers.base import Layer

__all__ = [
    "Add", "Average", "Concatenate", "Maximum", "Minimum", "Multiply", "Subtract", "add",
    "concatenate",
]  # fmt: skip


class _Merge(Layer):
    """Two and two; inputs of fewer dimensions get some of 1 behind the batch."""

    merge: Any

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True
        self.built = True

    def call(self, inputs: Any) -> Any:
        rank = max(len(each.shape) for each in inputs)
        aligned = []
        for each in inputs:
            for _ in range(rank - len(each.shape)):
                each = ops.expand_dims(each, axis=1)  # noqa: PLW2901
            aligned.append(each)
        return self._merged(aligned)

    def _merged(self, inputs: list[Any]) -> Any:
        output = inputs[0]
        for each in inputs[1:]:
            output = type(self).merge(output, each)
        return output

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """Where all have one, the and of them."""
        del inputs
        masks = [each for each in mask or [] if each is not None]
        if not masks or len(masks) < len(mask):
            return None
        output = masks[0]
        for each in masks[1:]:
            output = ops.logical_and(output, each)
        return output


class Add(_Merge):
    """The sum."""

    merge = staticmethod(ops.add)


class Subtract(_Merge):
    """The difference."""

    merge = staticmethod(ops.subtract)


class Multiply(_Merge):
    """The product."""

    merge = staticmethod(ops.multiply)


class Maximum(_Merge):
    """The largest."""

    merge = staticmethod(ops.maximum)


class Minimum(_Merge):
    """The smallest."""

    merge = staticmethod(ops.minimum)


class Average(_Merge):
    """The mean."""

    merge = staticmethod(ops.add)

    def _merged(self, inputs: list[Any]) -> Any:
        return super()._merged(inputs) / len(inputs)


class Concatenate(_Merge):
    """One behind the other."""

    def __init__(self, axis: int = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axis = axis

    def call(self, inputs: Any) -> Any:
        return ops.concatenate(inputs, axis=self.axis)


def add(inputs: Any, **kwargs: Any) -> Any:
    """`Add` as a function."""
    return Add(**kwargs)(inputs)


def concatenate(inputs: Any, axis: int = -1, **kwargs: Any) -> Any:
    """`Concatenate` as a function."""
    return Concatenate(axis=axis, **kwargs)(inputs)
