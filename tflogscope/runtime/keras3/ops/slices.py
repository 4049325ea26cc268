"""Elementwise operations on `IndexedSlices`, as gradients of embeddings are.

They stay slices where zeros stay zeros, and become plain tensors where not.

Told about: `keras/src/backend/tensorflow/sparse.py`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import tflogscope.runtime.api as tf

__all__ = ["division", "intersection", "unary", "union"]

Binary = Callable[[Any, Any], Any]


def _like(slices: Any, values: Any) -> Any:
    return tf.IndexedSlices(values, slices.indices, slices.dense_shape)


def _is_slices(x: Any) -> bool:
    return isinstance(x, tf.IndexedSlices)


def _is_scalar(x: Any) -> bool:
    return not hasattr(x, "shape") or len(x.shape) == 0


def unary(function: Callable[..., Any]) -> Callable[..., Any]:
    """For functions that leave 0 as it is."""

    @functools.wraps(function)
    def call(x: Any, *args: Any, **kwargs: Any) -> Any:
        if _is_slices(x):
            return _like(x, function(x.values, *args, **kwargs))
        return function(x, *args, **kwargs)

    return call


def union(function: Binary) -> Binary:
    """For functions whose result is not 0 where one of the two isn't: with a plain tensor, the
    result is plain.
    """

    @functools.wraps(function)
    def call(x1: Any, x2: Any) -> Any:
        if _is_slices(x1) and _is_slices(x2):
            if x1.indices is x2.indices:
                return _like(x1, function(x1.values, x2.values))
            indices, one, other = _on_all_indices(x1, x2.indices, x2.values)
            return tf.IndexedSlices(function(one, other), indices, x1.dense_shape)
        return function(*(tf.convert_to_tensor(x) if _is_slices(x) else x for x in (x1, x2)))

    return call


def intersection(function: Binary) -> Binary:
    """For functions whose result is 0 where one of the two is: the result is slices."""

    @functools.wraps(function)
    def call(x1: Any, x2: Any) -> Any:
        if _is_slices(x1) and _is_slices(x2):
            if x1.indices is x2.indices:
                return _like(x1, function(x1.values, x2.values))
            return function(tf.convert_to_tensor(x1), tf.convert_to_tensor(x2))
        if _is_slices(x1):
            return _like(x1, function(x1.values, x2 if _is_scalar(x2) else _rows(x2, x1)))
        if _is_slices(x2):
            return _like(x2, function(x1 if _is_scalar(x1) else _rows(x1, x2), x2.values))
        return function(x1, x2)

    return call


def _rows(x: Any, slices: Any) -> Any:
    return tf.gather(x, slices.indices)


def division(function: Binary) -> Binary:
    """For division: slices by a plain tensor stay slices, unless there is a 0 to divide by."""

    @functools.wraps(function)
    def call(x1: Any, x2: Any) -> Any:
        if not _is_slices(x1):
            return function(x1, tf.convert_to_tensor(x2) if _is_slices(x2) else x2)
        if _is_slices(x2):
            return function(tf.convert_to_tensor(x1), tf.convert_to_tensor(x2))
        if _is_scalar(x2):
            return _like(x1, function(x1.values, x2))
        return _divided_by_rows(function, x1, x2)

    return call


def _divided_by_rows(function: Binary, x1: Any, x2: Any) -> Any:
    special: Any = tf.math.logical_or(tf.equal(x2, 0), tf.math.is_nan(x2))
    special = tf.reduce_any(special, axis=tuple(range(1, x2.shape.rank)))

    def at_indices() -> Any:
        return _like(x1, function(x1.values, _rows(x2, x1)))

    def also_at_special() -> Any:
        others = tf.squeeze(tf.where(special), axis=-1)
        indices, values, _ = _on_all_indices(x1, others, None)
        return tf.IndexedSlices(function(values, tf.gather(x2, indices)), indices, x1.dense_shape)

    return tf.cond(tf.reduce_any(special), also_at_special, at_indices)


def _on_all_indices(x1: Any, indices: Any, values: Any) -> tuple[Any, Any, Any]:
    """The indices of both, and the values of each at these: 0 where it has none."""
    size = x1.dense_shape[0]
    sides = [tf.expand_dims(each, axis=1) for each in (x1.indices, indices)]
    counts = [tf.shape(each)[0] for each in sides]
    marks = [
        tf.scatter_nd(side, tf.ones((count,), dtype=tf.bool), (size,))
        for side, count in zip(sides, counts, strict=True)
    ]
    both: Any = tf.squeeze(tf.where(tf.math.logical_or(*marks)), axis=-1)
    number = tf.shape(both)[0]

    def spread(side: Any, count: Any, of: Any) -> Any:
        places = tf.scatter_nd(side, tf.range(1, count + 1), (size,))
        to = tf.gather(places, both)
        return tf.gather(tf.concat([tf.zeros_like(of[0:1]), of], axis=0), to)

    def chosen(side: Any, count: Any, of: Any) -> Any:
        return tf.cond(tf.equal(count, number), lambda: of, lambda: spread(side, count, of))

    one = chosen(sides[0], counts[0], x1.values)
    other = None if values is None else chosen(sides[1], counts[1], values)
    return both, one, other
