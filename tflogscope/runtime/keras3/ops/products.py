"""Einstein's sum and attention.

Told about: `einsum` of `keras/src/backend/tensorflow/numpy.py`, `dot_product_attention` of
`keras/src/backend/tensorflow/nn.py`.
"""

from __future__ import annotations

import string
from typing import Any

import tflogscope.runtime.api as tf
from tflogscope.runtime.keras3 import dtypes
from tflogscope.runtime.keras3.operation import operation
from tflogscope.runtime.keras3.ops.core import convert_to_tensor

__all__ = ["dot_product_attention", "einsum"]


@operation
def einsum(subscripts: str, *operands: Any) -> Any:
    """Einstein's sum. The equations of attention are done by `MatMul`, if the shapes are known.

    NB: Keras has such a short cut for some more equations.
    """
    tensors = [convert_to_tensor(each) for each in operands]
    dtype = dtypes.result_type(*(each.dtype for each in tensors))
    tensors = [tf.cast(each, dtype) for each in tensors]
    subscripts = _normalized(subscripts)
    result = _as_matmul(subscripts, *tensors) if len(tensors) == 2 else None
    return tf.einsum(subscripts, *tensors) if result is None else result


def _normalized(subscripts: str) -> str:
    """Letters in the order of the alphabet: `xy,yz->xz` is `ab,bc->ac`."""
    letters: dict[str, str] = {}
    for each in subscripts:
        if each.isalpha():
            letters.setdefault(each, string.ascii_letters[len(letters)])
    return "".join(letters.get(each, each) for each in subscripts)


def _as_matmul(subscripts: str, x: Any, y: Any) -> Any:
    """The sum as a product of matrices; None for an equation that isn't done so."""
    if subscripts in {"ab,bc->ac", "abc,cd->abd"}:
        return tf.matmul(x, y)
    if subscripts == "abc,cde->abde":
        steps, (width, heads, size) = x.shape[1], y.shape.as_list()
        if steps is None:
            return None
        return tf.reshape(tf.matmul(x, tf.reshape(y, [width, -1])), [-1, steps, heads, size])
    if subscripts == "abcd,cde->abe":
        steps, (heads, size, width) = x.shape[1], y.shape.as_list()
        if steps is None:
            return None
        together = tf.reshape(x, [-1, steps, heads * size])
        return tf.matmul(together, tf.reshape(y, [-1, width]))
    if subscripts in {"abcd,aecd->acbe", "abcd,aecd->aceb"}:
        x, y = tf.transpose(x, [0, 2, 1, 3]), tf.transpose(y, [0, 2, 3, 1])
        scores = tf.matmul(x, y)
        return scores if subscripts.endswith("be") else tf.transpose(scores, [0, 1, 3, 2])
    if subscripts == "abcd,adbe->acbe":
        return tf.transpose(tf.matmul(x, tf.transpose(y, [0, 2, 1, 3])), [0, 2, 1, 3])
    return None


@operation
def dot_product_attention(
    query: Any, key: Any, value: Any, mask: Any = None, scale: float = 1.0, is_causal: bool = False
) -> Any:
    """Each query's mean of the values, by how well the keys fit. All are (batch, steps, heads,
    size).
    """
    tf.shape(key)[-1]  # NB: asked for, though the scale is given
    logits = tf.einsum("BTNH,BSNH->BNTS", query, key, optimize="optimal")
    logits = tf.multiply(logits, tf.cast(scale, logits.dtype))
    if mask is not None or is_causal:
        logits = _masked(logits, mask, is_causal)
    shares = tf.nn.softmax(logits, axis=-1)
    return tf.einsum("BNTS,BSNH->BTNH", shares, value, optimize="optimal")


def _masked(logits: Any, mask: Any, is_causal: bool) -> Any:
    """The logits, very small where a query must not look."""
    allowed: Any = tf.ones_like(logits, dtype="bool")
    if mask is not None:
        allowed = tf.logical_and(allowed, mask)
    if is_causal:
        shape: Any = tf.shape(logits)
        before = tf.linalg.band_part(tf.ones((shape[2], shape[3]), "bool"), -1, 0)
        allowed = tf.logical_and(allowed, before[None, None, :, :])
    return tf.where(allowed, logits, tf.constant(3.38953e38 * -0.7, dtype=logits.dtype))
