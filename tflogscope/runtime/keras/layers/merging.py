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
    "average",
    "concatenate",
    "maximum",
    "minimum",
    "multiply",
    "subtract",
]


class _Merge(Layer):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True

    def merge(self, inputs: list[Any]) -> Any:
        """What becomes of inputs of one rank."""
        raise NotImplementedError

    def build(self, input_shape: Any) -> None:
        """Raises ValueError for what is no list, and for shapes that don't go together."""
        if isinstance(input_shape, tf.TensorShape) or not isinstance(input_shape, (list, tuple)):
            raise ValueError(
                "A merge layer should be called on a list of inputs. Received: "
                f"input_shape={tuple(input_shape)} (not a list of shapes)"
            )
        if any(shape.rank is None for shape in input_shape):
            return
        if len({shape[0] for shape in input_shape if shape.rank} - {None}) > 1:
            raise ValueError(
                "Cannot merge tensors with different batch sizes. Received tensors with shapes "
                f"{[tuple(shape) for shape in input_shape]}"
            )
        common = tuple(input_shape[0][1:])
        for shape in input_shape[1:]:
            common = _stretched(common, tuple(shape[1:]))

    def call(self, inputs: Any) -> Any:
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


def _stretched(one: tuple[Any, ...], other: tuple[Any, ...]) -> tuple[Any, ...]:
    """The shape of both together. Raises ValueError if there is none."""
    if len(one) < len(other):
        one, other = other, one
    rest = len(one) - len(other)
    dims = list(one[:rest])
    for a, b in zip(one[rest:], other, strict=True):
        if a is None or b is None:
            dims.append(None)
        elif a != b and 1 not in (a, b):
            raise ValueError(f"Inputs have incompatible shapes. Received shapes {one} and {other}")
        else:
            dims.append(a if b == 1 else b)
    return tuple(dims)


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

    def build(self, input_shape: Any) -> None:
        """Raises ValueError for sizes that differ elsewhere than along the axis."""
        if not isinstance(input_shape, (list, tuple)) or None in input_shape:
            return
        if not any(isinstance(shape, tf.TensorShape) for shape in input_shape):
            return
        dims = [shape.as_list() for shape in input_shape if shape.rank is not None]
        ranks = {len(shape) for shape in dims}
        others = {
            tuple(dim for axis, dim in enumerate(shape) if axis != self.axis % len(shape))
            for shape in dims
        }
        if len(ranks) > 1 or not _compatible(list(others)):
            raise ValueError(
                "A `Concatenate` layer requires inputs with matching shapes except for the "
                f"concatenation axis. Received: input_shape={[tuple(each) for each in input_shape]}"
            )

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


def _compatible(shapes: list[tuple[int | None, ...]]) -> bool:
    """Is each size the same in all shapes, where it is known?"""
    return all(len({dim for dim in dims if dim is not None}) <= 1 for dims in zip(*shapes))  # noqa: B905


def subtract(inputs: Any, **kwargs: Any) -> Any:
    """`Subtract` as a function."""
    return Subtract(**kwargs)(inputs)


def multiply(inputs: Any, **kwargs: Any) -> Any:
    """`Multiply` as a function."""
    return Multiply(**kwargs)(inputs)


def average(inputs: Any, **kwargs: Any) -> Any:
    """`Average` as a function."""
    return Average(**kwargs)(inputs)


def maximum(inputs: Any, **kwargs: Any) -> Any:
    """`Maximum` as a function."""
    return Maximum(**kwargs)(inputs)


def minimum(inputs: Any, **kwargs: Any) -> Any:
    """`Minimum` as a function."""
    return Minimum(**kwargs)(inputs)


def add(inputs: Any, **kwargs: Any) -> Any:
    """`Add` as a function."""
    return Add(**kwargs)(inputs)


def concatenate(inputs: Any, axis: int = -1, **kwargs: Any) -> Any:
    """`Concatenate` as a function."""
    return Concatenate(axis=axis, **kwargs)(inputs)
