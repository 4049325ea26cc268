"""Layers that make one tensor of several.

Told about: `keras/src/layers/merging/`.
"""

from __future__ import annotations

from typing import Any

import tflogscope.runtime.api as tf
from tflogscope.runtime.keras.layers.base import Layer

__all__ = [
    "Add",
    "Average",
    "Concatenate",
    "Maximum",
    "Minimum",
    "Multiply",
    "Subtract",
    "add",
    "concatenate",
]


class _Merge(Layer):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True

    def merge(self, inputs: list[Any]) -> Any:
        """What becomes of inputs of one rank."""
        raise NotImplementedError

    def call(self, inputs: Any) -> Any:
        if not isinstance(inputs, (list, tuple)):
            raise ValueError(
                f"A merge layer should be called on a list of inputs. Received: inputs={inputs} "
                "(not a list of tensors)"
            )
        highest = max(each.shape.rank for each in inputs)
        same = []
        for each in inputs:
            result = each
            for _ in range(highest - each.shape.rank):
                result = tf.expand_dims(result, axis=1)
            same.append(result)
        return self.merge(same)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """True where all inputs have something."""
        del inputs
        if mask is None or all(each is None for each in mask):
            return None
        masks = [tf.expand_dims(each, axis=0) for each in mask if each is not None]
        return tf.reduce_all(tf.concat(masks, axis=0), axis=0, keepdims=False)


class Add(_Merge):
    """The sum."""

    def merge(self, inputs: list[Any]) -> Any:
        output = inputs[0]
        for each in inputs[1:]:
            output += each
        return output


class Subtract(_Merge):
    """The difference of two. Raises ValueError for another number."""

    def merge(self, inputs: list[Any]) -> Any:
        if len(inputs) != 2:
            raise ValueError(
                "A `Subtract` layer should be called on exactly 2 inputs. Received: "
                f"inputs={inputs}"
            )
        return inputs[0] - inputs[1]


class Multiply(_Merge):
    """The product."""

    def merge(self, inputs: list[Any]) -> Any:
        output = inputs[0]
        for each in inputs[1:]:
            output = output * each
        return output


class Average(Add):
    """The mean."""

    def merge(self, inputs: list[Any]) -> Any:
        return super().merge(inputs) / len(inputs)


class Maximum(_Merge):
    """The largest."""

    def merge(self, inputs: list[Any]) -> Any:
        output = inputs[0]
        for each in inputs[1:]:
            output = tf.maximum(output, each)
        return output


class Minimum(_Merge):
    """The smallest."""

    def merge(self, inputs: list[Any]) -> Any:
        output = inputs[0]
        for each in inputs[1:]:
            output = tf.minimum(output, each)
        return output


class Concatenate(_Merge):
    """One behind the other along an axis."""

    def __init__(self, axis: int = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axis = axis

    def merge(self, inputs: list[Any]) -> Any:
        rank = inputs[0].shape.rank
        return tf.concat(inputs, self.axis % rank if self.axis < 0 and rank else self.axis)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """The masks one behind the other; True where there is none."""
        if mask is None or all(each is None for each in mask):
            return None
        masks = [
            tf.ones_like(one, dtype="bool") if each is None
            else tf.expand_dims(each, axis=-1) if each.shape.rank < one.shape.rank
            else each
            for one, each in zip(inputs, mask, strict=True)
        ]  # fmt: skip
        return tf.reduce_all(tf.concat(masks, axis=self.axis), axis=-1, keepdims=False)


def add(inputs: Any, **kwargs: Any) -> Any:
    """`Add` as a function."""
    return Add(**kwargs)(inputs)


def concatenate(inputs: Any, axis: int = -1, **kwargs: Any) -> Any:
    """`Concatenate` as a function."""
    return Concatenate(axis=axis, **kwargs)(inputs)
