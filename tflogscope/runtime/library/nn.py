"""Activations, convolutions, pools, normalisation, cross entropies. See
`tensorflow/python/ops/nn_ops.py`, `nn_impl.py`.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np

from tflogscope.runtime.core.calls import O, call
from tflogscope.runtime.core.context import Function, current, executing_eagerly, op_scope, scoped
from tflogscope.runtime.core.conversion import constant, convert_to_tensor
from tflogscope.runtime.core.dtypes import bfloat16, float16, float32
from tflogscope.runtime.core.errors import NotInThisRuntime
from tflogscope.runtime.library import arrays, random
from tflogscope.runtime.library.arrays import cast
from tflogscope.runtime.library.numbers import add, pow_, reduce_mean
from tflogscope.runtime.library.slices import gather

# -- activations


@scoped("Gelu")
def gelu(features: Any, approximate: bool = False) -> Any:
    """NB: since 2.17 it is made of Erfc."""
    x = convert_to_tensor(features, name="features")
    if approximate:
        coefficient = cast(0.044715, x.dtype)
        half = 0.5 * x
        inner = 0.7978845608028654 * (x + coefficient * pow_(x, 3))
        return half * (1.0 + O.Tanh(inner))
    half = 0.5 * x
    return half * (1.0 + O.Erf(x / cast(1.4142135623730951, x.dtype)))


@scoped("BiasAdd")
def bias_add(value: Any, bias: Any, data_format: str | None = None, *, scope: Any = None) -> Any:
    if not executing_eagerly():
        value = convert_to_tensor(value, name="input")
        bias = convert_to_tensor(bias, value.dtype, name="bias")
    return O.BiasAdd(value, bias, data_format=data_format, name=scope)


def _along(type: str) -> Function:
    def function(logits: Any, axis: int | None = None, name: str | None = None) -> Any:
        x = convert_to_tensor(logits)
        if axis not in {None, -1, (x.shape.rank or 0) - 1}:
            raise NotInThisRuntime("a softmax along another axis than the last one")
        return call(type, x, name=name)

    return function


softmax, log_softmax = _along("Softmax"), _along("LogSoftmax")


# -- convolutions and pools of images, whose channels are last


def _per_dimension(value: Any) -> list[int]:
    """One number for each dimension: images, rows, columns, channels."""
    given = [int(each) for each in np.ravel(value)]
    return given if len(given) == 4 else [1, *(given * 2)[:2], 1]


def conv2d(
    input: Any,
    filters: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    dilations: Any = 1,
    name: str | None = None,
) -> Any:
    options = {"padding": padding, "data_format": data_format, "name": name}
    steps, gaps = _per_dimension(strides), _per_dimension(dilations)
    return O.Conv2D(input, filters, strides=steps, dilations=gaps, **options)


@scoped("depthwise")
def depthwise_conv2d(
    input: Any, filter: Any, strides: Any, padding: Any, *, scope: Any = None
) -> Any:
    x = convert_to_tensor(input, name="tensor_in")
    filters = convert_to_tensor(filter, name="filter_in")
    arrays.shape(filters)  # NB: asked for, and not used
    convert_to_tensor([1, 1], name="dilation_rate")
    options = {"strides": list(strides), "padding": padding}
    return O.DepthwiseConv2dNative(x, filters, **options, name=scope)


def _pool(type: str, label: str | None) -> Function:
    def pool(input: Any, ksize: Any, strides: Any, padding: Any, name: Any = None) -> Any:
        """The largest, or the mean, of each window."""
        sizes = {"ksize": _per_dimension(ksize), "strides": _per_dimension(strides)}
        with op_scope(name, label) if label else nullcontext(name) as scope:
            return call(type, input, **sizes, padding=padding, name=scope)

    return pool


max_pool = _pool("MaxPool", "MaxPool2d")
avg_pool, avg_pool2d = _pool("AvgPool", None), _pool("AvgPool", "AvgPool2D")


# -- normalisation


@scoped("moments")
def moments(x: Any, axes: Any, keepdims: bool = False) -> tuple[Any, Any]:
    y = cast(x, float32) if x.dtype is float16 else x
    mean = reduce_mean(y, axes, keepdims=True, name="mean")
    deviations = O.SquaredDifference(y, arrays.stop_gradient(mean))
    variance = reduce_mean(deviations, axes, keepdims=True, name="variance")
    found = [e if keepdims else arrays.squeeze(e, axes) for e in (mean, variance)]
    return cast(found[0], x.dtype), cast(found[1], x.dtype)


@scoped("batchnorm")
def batch_normalization(
    x: Any, mean: Any, variance: Any, offset: Any, scale: Any, variance_epsilon: Any
) -> Any:
    inverse = O.Rsqrt(variance + variance_epsilon) * scale
    scaled = x * cast(inverse, x.dtype)
    return scaled + cast(offset - mean * inverse, x.dtype)


def fused_batch_norm(
    x: Any,
    scale: Any,
    offset: Any,
    mean: Any = None,
    variance: Any = None,
    epsilon: float = 0.001,
    name: str | None = None,
    **options: Any,
) -> tuple[Any, Any, Any]:
    """The result, mean and variance. Options are `data_format`, `is_training`, …."""
    given = {"input": x, "scale": scale, "offset": offset}
    inputs = [convert_to_tensor(value, name=key) for key, value in given.items()]
    moments = [constant([]) if each is None else each for each in (mean, variance)]
    found = O.FusedBatchNormV3(*inputs, *moments, epsilon=epsilon, name=name, **options)
    return found[0], found[1], found[2]


def dropout(x: Any, rate: float, *, seed: int | None = None, name: str = "dropout") -> Any:
    x = convert_to_tensor(x, name="x")
    if rate == 0:
        return x
    with op_scope(name, "dropout"):
        kept = O.Mul(x, convert_to_tensor(1 / (1 - rate), x.dtype))
        mask = random.uniform(arrays.shape(x), dtype=x.dtype, seed=seed) >= rate
        result = O.SelectV2(mask, kept, constant(0, x.dtype))
    result.set_shape(x.shape)
    return result


@scoped("embedding_lookup")
def embedding_lookup(params: Any, ids: Any, *, scope: Any = None) -> Any:
    if not hasattr(params, "handle"):
        params = convert_to_tensor(params, name="params_0")
    ids = convert_to_tensor(ids, name="ids")
    if hasattr(params, "handle") and not executing_eagerly():
        current().capture(params.handle)
    return arrays.identity(gather(params, ids, name=scope))


# -- cross entropies


def _flatten_outer_dims(logits: Any) -> Any:
    last = O.Slice(arrays.shape(logits), [O.Sub(arrays.rank(logits), 1)], [1])
    output = arrays.reshape(logits, arrays.concat([[-1], last], 0))
    outer = logits.shape[:-1].num_elements() if logits.shape.rank else None
    if outer is not None and not executing_eagerly():
        output.set_shape([outer, logits.shape[-1]])
    return output


@scoped("softmax_cross_entropy_with_logits")
def softmax_cross_entropy_with_logits(labels: Any, logits: Any, *, scope: Any = None) -> Any:
    """The cross entropy of shares and `labels`, which are shares too."""
    logits = convert_to_tensor(logits, name="logits")
    labels = convert_to_tensor(labels, name="labels")
    precise = cast(logits, float32) if logits.dtype in {float16, bfloat16} else logits
    labels = cast(labels, precise.dtype)
    rank, shape = arrays.rank(precise), arrays.shape(precise)
    precise, labels = _flatten_outer_dims(precise), _flatten_outer_dims(labels)
    cost, _ = O.SoftmaxCrossEntropyWithLogits(precise, labels, name=scope)
    cost = arrays.reshape(cost, O.Slice(shape, [0], [O.Sub(rank, 1)]))
    if not executing_eagerly() and logits.shape.rank is not None:
        cost.set_shape(logits.shape[:-1])
    return cast(cost, logits.dtype)


@scoped("SparseSoftmaxCrossEntropyWithLogits")
def sparse_softmax_cross_entropy_with_logits(labels: Any, logits: Any) -> Any:
    """The cross entropy of shares and `labels`, which are numbers of classes."""
    labels, logits = convert_to_tensor(labels), convert_to_tensor(logits)
    precise = cast(logits, float32) if logits.dtype is float16 else logits
    labels_shape = arrays.shape(labels)
    if logits.shape.rank == 2:
        cost, _ = O.SparseSoftmaxCrossEntropyWithLogits(precise, labels)
        return cast(cost, logits.dtype)
    # NB: TensorFlow asserts that the shapes fit, where they are not known
    classes = arrays.shape(logits)[arrays.rank(logits) - 1]
    precise, flat = arrays.reshape(precise, [-1, classes]), arrays.reshape(labels, [-1])
    cost, _ = O.SparseSoftmaxCrossEntropyWithLogits(precise, flat)
    cost = arrays.reshape(cost, labels_shape)
    cost.set_shape(labels.shape)
    return cast(cost, logits.dtype)


@scoped("logistic_loss")
def sigmoid_cross_entropy_with_logits(labels: Any, logits: Any, *, scope: Any = None) -> Any:
    logits = convert_to_tensor(logits, name="logits")
    labels = convert_to_tensor(labels, name="labels")
    zeros = arrays.zeros_like(logits)
    positive = logits >= zeros
    relu_logits = O.Select(positive, logits, zeros)
    negative = O.Select(positive, -logits, logits)
    return add(relu_logits - logits * labels, O.Log1p(O.Exp(negative)), name=scope)
