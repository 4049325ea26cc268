"""Activations, convolutions, pools, normalisation, cross entropies. See
`tensorflow/python/ops/nn_ops.py`, `nn_impl.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np

from tflogscope.runtime.core.calls import O, call
from tflogscope.runtime.core.context import current, executing_eagerly, op_scope
from tflogscope.runtime.core.conversion import constant, convert_to_tensor
from tflogscope.runtime.core.dtypes import bfloat16, float16, float32
from tflogscope.runtime.core.errors import NotInThisRuntime
from tflogscope.runtime.core.graph import control_dependencies
from tflogscope.runtime.library import arrays, random
from tflogscope.runtime.library.arrays import cast
from tflogscope.runtime.library.numbers import add, pow_, reduce_mean, reduce_sum
from tflogscope.runtime.library.slices import gather

# -- activations


def leaky_relu(features: Any, alpha: float = 0.2, name: str | None = None) -> Any:
    with op_scope(name, "LeakyRelu") as scope:
        features = convert_to_tensor(features, name="features")
        return O.LeakyRelu(features, alpha=float(alpha), name=scope)


def gelu(features: Any, approximate: bool = False, name: str | None = None) -> Any:
    """NB: since 2.17 it is made of Erfc."""
    with op_scope(name, "Gelu"):
        x = convert_to_tensor(features, name="features")
        if approximate:
            coefficient = cast(0.044715, x.dtype)
            half = 0.5 * x
            inner = 0.7978845608028654 * (x + coefficient * pow_(x, 3))
            return half * (1.0 + O.Tanh(inner))
        half = 0.5 * x
        return half * (1.0 + O.Erf(x / cast(1.4142135623730951, x.dtype)))


def bias_add(value: Any, bias: Any, data_format: str | None = None, name: Any = None) -> Any:
    with op_scope(name, "BiasAdd") as scope:
        if not executing_eagerly():
            value = convert_to_tensor(value, name="input")
            bias = convert_to_tensor(bias, value.dtype, name="bias")
        return O.BiasAdd(value, bias, data_format=data_format, name=scope)


def _along(type: str) -> Callable[..., Any]:
    def function(logits: Any, axis: int | None = None, name: str | None = None) -> Any:
        x = convert_to_tensor(logits)
        if axis not in {None, -1, (x.shape.rank or 0) - 1}:
            raise NotInThisRuntime("a softmax along another axis than the last one")
        return call(type, x, name=name)

    return function


softmax, log_softmax = _along("Softmax"), _along("LogSoftmax")


# -- convolutions and pools


def _per_dimension(value: Any, count: int) -> list[int]:
    """One number for each dimension, of batch and channels too."""
    given = [1] if value is None else [int(each) for each in np.ravel(value)]
    return given if len(given) == count + 2 else [1, *(given * count)[:count], 1]


def _check(data_format: str | None) -> None:
    if (data_format or "").startswith("NC"):
        raise NotInThisRuntime(f"The data format {data_format}")


def conv2d(
    input: Any,
    filters: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = "NHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Any:
    steps, gaps = _per_dimension(strides, 2), _per_dimension(dilations, 2)
    options = {"strides": steps, "padding": padding, "data_format": data_format}
    return O.Conv2D(input, filters, **options, dilations=gaps, name=name)


def conv1d(
    input: Any,
    filters: Any,
    stride: Any,
    padding: Any,
    data_format: str | None = "NWC",
    dilations: Any = None,
    name: str | None = None,
) -> Any:
    """NB: an image of one row."""
    _check(data_format)
    with op_scope(name, "conv1d") as scope:
        value, kernel = O.ExpandDims(input, -3), O.ExpandDims(filters, 0)
        steps, gaps = ([1, *_per_dimension(each, 1)] for each in (stride, dilations))
        return arrays.squeeze(conv2d(value, kernel, steps, padding, "NHWC", gaps, scope), [-3])


def convolution(
    input: Any,
    filters: Any,
    strides: Any = None,
    padding: Any = "VALID",
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Any:
    """A convolution of images or sequences. NB: dilated ones are not taken apart."""
    with op_scope(name, "convolution") as scope:
        function = conv1d if len(input.shape) == 3 else conv2d
        return function(input, filters, strides, padding, data_format, dilations, scope)


def depthwise_conv2d(
    input: Any,
    filter: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Any:
    del dilations
    _check(data_format)
    with op_scope(name, "depthwise") as scope:
        x = convert_to_tensor(input, name="tensor_in")
        filters = convert_to_tensor(filter, name="filter_in")
        arrays.shape(filters)  # NB: asked for, and not used
        convert_to_tensor([1, 1], name="dilation_rate")
        options = {"strides": list(strides), "padding": padding}
        return O.DepthwiseConv2dNative(x, filters, **options, name=scope)


def _pool(type: str, image: str | None, sequence: str) -> Callable[..., Any]:
    def pool(
        input: Any,
        ksize: Any,
        strides: Any,
        padding: Any,
        data_format: Any = None,
        name: Any = None,
    ) -> Any:
        """The largest, or the mean, of each window. NB: a sequence is an image of one row."""
        _check(data_format)
        count = len(input.shape) - 2
        sizes, steps = _per_dimension(ksize, count), _per_dimension(strides, count)
        label = image if count == 2 else sequence
        with op_scope(name, label) if label else nullcontext(name) as scope:
            options = {"padding": padding, "name": scope}
            if count == 2:
                return call(type, input, ksize=sizes, strides=steps, **options)
            sizes, steps = [1, *sizes], [1, *steps]
            found = call(type, O.ExpandDims(input, 1), ksize=sizes, strides=steps, **options)
            return arrays.squeeze(found, 1)

    return pool


max_pool = _pool("MaxPool", "MaxPool2d", "MaxPool1d")
avg_pool = _pool("AvgPool", None, "AvgPool1D")
avg_pool2d = _pool("AvgPool", "AvgPool2D", "AvgPool1D")


# -- normalisation


def moments(
    x: Any, axes: Any, shift: Any = None, keepdims: bool = False, name: str | None = None
) -> tuple[Any, Any]:
    del shift
    with op_scope(name, "moments"):
        y = cast(x, float32) if x.dtype is float16 else x
        mean = reduce_mean(y, axes, keepdims=True, name="mean")
        deviations = O.SquaredDifference(y, arrays.stop_gradient(mean))
        variance = reduce_mean(deviations, axes, keepdims=True, name="variance")
        found = [e if keepdims else arrays.squeeze(e, axes) for e in (mean, variance)]
        return cast(found[0], x.dtype), cast(found[1], x.dtype)


def batch_normalization(
    x: Any,
    mean: Any,
    variance: Any,
    offset: Any,
    scale: Any,
    variance_epsilon: Any,
    name: str | None = None,
) -> Any:
    with op_scope(name, "batchnorm"):
        inverse = O.Rsqrt(variance + variance_epsilon)
        if scale is not None:
            inverse = inverse * scale
        scaled = x * cast(inverse, x.dtype)
        shift = -mean * inverse if offset is None else offset - mean * inverse
        return scaled + cast(shift, x.dtype)


def fused_batch_norm(
    x: Any,
    scale: Any,
    offset: Any,
    mean: Any = None,
    variance: Any = None,
    epsilon: float = 0.001,
    data_format: str = "NHWC",
    is_training: bool = True,
    name: str | None = None,
    exponential_avg_factor: float = 1.0,
) -> tuple[Any, Any, Any]:
    given = (("input", x), ("scale", scale), ("offset", offset))
    x, scale, offset = (convert_to_tensor(value, name=key) for key, value in given)
    mean, variance = (constant([]) if each is None else each for each in (mean, variance))
    options = {"epsilon": epsilon, "data_format": data_format, "is_training": is_training}
    options["exponential_avg_factor"] = exponential_avg_factor
    found = O.FusedBatchNormV3(x, scale, offset, mean, variance, **options, name=name)
    return found[0], found[1], found[2]


def dropout(
    x: Any, rate: Any, noise_shape: Any = None, seed: int | None = None, name: str | None = None
) -> Any:
    def sample(shape: Any, dtype: Any) -> Any:
        return random.uniform(shape, dtype=dtype, seed=seed)

    return general_dropout(x, rate, sample, noise_shape, name or "dropout")


def general_dropout(
    x: Any, rate: float, sample: Any, noise_shape: Any = None, name: str = "general_dropout"
) -> Any:
    """The same, with numbers from `sample(shape, dtype)`."""
    with op_scope(name, "dropout"):
        x = convert_to_tensor(x, name="x")
        if rate == 0:
            return x
        kept = O.Mul(x, convert_to_tensor(1 / (1 - rate), x.dtype))
        mask = sample(arrays.shape(x) if noise_shape is None else noise_shape, x.dtype) >= rate
        result = O.SelectV2(mask, kept, constant(0, x.dtype))
        result.set_shape(x.shape)
        return result


def embedding_lookup(params: Any, ids: Any, max_norm: Any = None, name: Any = None) -> Any:
    assert max_norm is None, "rows stay as long as they are"
    with op_scope(name, "embedding_lookup") as scope:
        if not hasattr(params, "handle"):
            params = convert_to_tensor(params, name="params_0")
        ids = convert_to_tensor(ids, name="ids")
        if hasattr(params, "handle") and not executing_eagerly():
            current().capture(params.handle)
        return arrays.identity(gather(params, ids, name=scope))


def silu_rule(features: Any, beta: Any) -> Any:
    """X · sigmoid(beta · x), and how its gradient is computed: for `tf.custom_gradient`."""

    def grad(dy: Any) -> tuple[Any, Any]:
        with control_dependencies([dy]):
            gate = O.Sigmoid(beta * features)
        slope = gate * (1.0 + (beta * features) * (1.0 - gate))
        return dy * slope, reduce_sum(dy * O.Square(features) * gate * (1.0 - gate))

    return features * O.Sigmoid(beta * features), grad


# -- cross entropies


def _flatten_outer_dims(logits: Any) -> Any:
    last = O.Slice(arrays.shape(logits), [O.Sub(arrays.rank(logits), 1)], [1])
    output = arrays.reshape(logits, arrays.concat([[-1], last], 0))
    outer = logits.shape[:-1].num_elements() if logits.shape.rank else None
    if outer is not None and not executing_eagerly():
        output.set_shape([outer, logits.shape[-1]])
    return output


def softmax_cross_entropy_with_logits(
    labels: Any = None, logits: Any = None, axis: int = -1, name: str | None = None
) -> Any:
    """The cross entropy of shares and `labels`, which are shares too."""
    assert axis == -1, "only along the last axis"
    with op_scope(name, "softmax_cross_entropy_with_logits") as scope:
        logits = convert_to_tensor(logits, name="logits")
        labels = convert_to_tensor(labels, name="labels")
        narrow = logits.dtype in {float16, bfloat16}
        precise = cast(logits, float32) if narrow else logits
        labels = cast(labels, precise.dtype)
        rank, shape = arrays.rank(precise), arrays.shape(precise)
        precise, labels = _flatten_outer_dims(precise), _flatten_outer_dims(labels)
        cost, _ = O.SoftmaxCrossEntropyWithLogits(precise, labels, name=scope)
        cost = arrays.reshape(cost, O.Slice(shape, [0], [O.Sub(rank, 1)]))
        if not executing_eagerly() and logits.shape.rank is not None:
            cost.set_shape(logits.shape[:-1])
        return cast(cost, logits.dtype) if narrow else cost


def sparse_softmax_cross_entropy_with_logits(
    labels: Any = None, logits: Any = None, name: str | None = None
) -> Any:
    """The cross entropy of shares and `labels`, which are numbers of classes."""
    with op_scope(name, "SparseSoftmaxCrossEntropyWithLogits"):
        labels, logits = convert_to_tensor(labels), convert_to_tensor(logits)
        precise = cast(logits, float32) if logits.dtype is float16 else logits
        labels_shape = arrays.shape(labels)
        if logits.shape.rank == 2:
            cost, _ = O.SparseSoftmaxCrossEntropyWithLogits(precise, labels, name=name)
            return cast(cost, logits.dtype)
        # NB: TensorFlow asserts that the shapes fit, where they are not known
        classes = arrays.shape(logits)[arrays.rank(logits) - 1]
        precise = arrays.reshape(precise, [-1, classes])
        flat = arrays.reshape(labels, [-1])
        cost, _ = O.SparseSoftmaxCrossEntropyWithLogits(precise, flat, name=name)
        cost = arrays.reshape(cost, labels_shape)
        cost.set_shape(labels.shape)
        return cast(cost, logits.dtype)


def sigmoid_cross_entropy_with_logits(
    labels: Any = None, logits: Any = None, name: str | None = None
) -> Any:
    with op_scope(name, "logistic_loss") as scope:
        logits = convert_to_tensor(logits, name="logits")
        labels = convert_to_tensor(labels, name="labels")
        zeros = arrays.zeros_like(logits)
        positive = logits >= zeros
        relu_logits = O.Select(positive, logits, zeros)
        negative = O.Select(positive, -logits, logits)
        return add(relu_logits - logits * labels, O.Log1p(O.Exp(negative)), name=scope)
