"""Activations, convolutions, pools, normalisation, losses. See `tensorflow/python/ops/nn_ops.py`,
`nn_impl.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tflogscope.runtime.core.calls import O, call
from tflogscope.runtime.core.context import current, executing_eagerly, op_scope
from tflogscope.runtime.core.conversion import constant, convert_to_tensor
from tflogscope.runtime.core.dtypes import float16, float32
from tflogscope.runtime.core.graph import control_dependencies
from tflogscope.runtime.core.release import since
from tflogscope.runtime.core.tensors import Tensor
from tflogscope.runtime.library import arrays, random
from tflogscope.runtime.library.arrays import cast
from tflogscope.runtime.library.matrices import transpose
from tflogscope.runtime.library.numbers import pow_, reduce_mean, reduce_sum
from tflogscope.runtime.library.slices import gather

# -- activations


def relu6(features: Any, name: str | None = None) -> Any:
    with op_scope(name, "Relu6") as scope:
        return O.Relu6(convert_to_tensor(features, name="features"), name=scope)


def leaky_relu(features: Any, alpha: float = 0.2, name: str | None = None) -> Any:
    with op_scope(name, "LeakyRelu") as scope:
        features = convert_to_tensor(features, name="features")
        return O.LeakyRelu(features, alpha=float(alpha), name=scope)


def gelu(features: Any, approximate: bool = False, name: str | None = None) -> Any:
    with op_scope(name, "Gelu"):
        x = convert_to_tensor(features, name="features")
        if approximate:
            coefficient = cast(0.044715, x.dtype)
            half = 0.5 * x
            inner = 0.7978845608028654 * (x + coefficient * pow_(x, 3))
            return half * (1.0 + O.Tanh(inner))
        half = 0.5 * x
        if since(2, 17):
            return half * O.Erfc(-x * cast(0.7071067811865476, x.dtype))
        return half * (1.0 + O.Erf(x / cast(1.4142135623730951, x.dtype)))


def bias_add(value: Any, bias: Any, data_format: str | None = None, name: Any = None) -> Any:
    with op_scope(name, "BiasAdd") as scope:
        if data_format is not None:
            data_format = "NCHW" if data_format.startswith("NC") else "NHWC"
        if not executing_eagerly():
            value = convert_to_tensor(value, name="input")
            bias = convert_to_tensor(bias, value.dtype, name="bias")
        return O.BiasAdd(value, bias, data_format=data_format, name=scope)


def _along(type: str, inputs: Any, axis: int | None, name: str | None) -> Any:
    x = convert_to_tensor(inputs)
    rank = x.shape.rank
    axis = -1 if axis is None else axis
    if axis in {-1, (rank or 0) - 1}:
        return call(type, x, name=name)
    count = arrays.rank(x)
    axis = axis % rank

    def turned(tensor: Any, label: str | None = None) -> Any:
        last = O.Sub(count, 1)
        parts = [arrays.range_(axis), [last], arrays.range_(axis + 1, last), [axis]]
        return transpose(tensor, arrays.concat(parts, 0), name=label or "transpose")

    result = turned(call(type, turned(x)), name)
    result.set_shape(x.shape)
    return result


def softmax(logits: Any, axis: int | None = None, name: str | None = None) -> Any:
    return _along("Softmax", logits, axis, name)


def log_softmax(logits: Any, axis: int | None = None, name: str | None = None) -> Any:
    return _along("LogSoftmax", logits, axis, name)


# -- convolutions and pools


def _per_dimension(value: Any, count: int, first: bool) -> list[int]:
    if value is None:
        return [1] * (count + 2)
    given = [int(each) for each in np.ravel(value)]
    if len(given) == count + 2:
        return given
    given = given * count if len(given) == 1 else given
    return [1, 1, *given] if first else [1, *given, 1]


def _padding(padding: Any) -> tuple[str, list[int]]:
    if isinstance(padding, str):
        return padding, []
    return "EXPLICIT", [int(number) for pair in padding for number in pair]


def conv2d(
    input: Any,
    filters: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = "NHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Any:
    kind, explicit = _padding(padding)
    data_format = data_format or "NHWC"
    first = data_format.startswith("NC")
    return O.Conv2D(
        input,
        filters,
        strides=_per_dimension(strides, 2, first),
        padding=kind,
        explicit_paddings=explicit,
        data_format=data_format,
        dilations=_per_dimension(dilations, 2, first),
        name=name,
    )


def conv1d(
    input: Any,
    filters: Any,
    stride: Any,
    padding: Any,
    data_format: str | None = "NWC",
    dilations: Any = None,
    name: str | None = None,
) -> Any:
    with op_scope(name, "conv1d") as scope:
        first = data_format in {"NCW", "NCHW"}
        value = O.ExpandDims(input, -2 if first else -3)
        result = O.Conv2D(
            value,
            O.ExpandDims(filters, 0),
            strides=[1, *_per_dimension(stride, 1, first)],
            padding=padding,
            data_format="NCHW" if first else "NHWC",
            dilations=[1, *_per_dimension(dilations, 1, first)],
            name=scope,
        )
        return arrays.squeeze(result, [-2 if first else -3])


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
        steps = 1 if strides is None else strides
        return function(input, filters, steps, padding, data_format, dilations, scope)


def _depthwise(
    x: Any, filters: Any, strides: Any, padding: Any, data_format: Any, name: Any
) -> Any:
    arrays.shape(filters)  # NB: asked for, and not used
    convert_to_tensor([1, 1], name="dilation_rate")
    kind, explicit = _padding(padding)
    return O.DepthwiseConv2dNative(
        x,
        filters,
        strides=list(strides),
        padding=kind,
        explicit_paddings=explicit,
        data_format=data_format or "NHWC",
        name=name,
    )


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
    with op_scope(name, "depthwise") as scope:
        x = convert_to_tensor(input, name="tensor_in")
        filters = convert_to_tensor(filter, name="filter_in")
        return _depthwise(x, filters, strides, padding, data_format, scope)


def _pool(type: str, x: Any, ksize: Any, strides: Any, padding: Any, form: Any, name: Any) -> Any:
    count = len(x.shape) - 2
    first = (form or "").startswith("NC")
    sizes, steps = (_per_dimension(each, count, first) for each in (ksize, strides))
    if count == 2:
        form = form or "NHWC"
        return call(
            type, x, ksize=sizes, strides=steps, padding=padding, data_format=form, name=name
        )
    row = 2 if first else 1
    found = call(
        type,
        O.ExpandDims(x, row),
        ksize=[1, *sizes],
        strides=[1, *steps],
        padding=padding,
        data_format="NCHW" if first else "NHWC",
        name=name,
    )
    return arrays.squeeze(found, row)


def max_pool(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: Any = None, name: Any = None
) -> Any:
    label = "MaxPool2d" if len(input.shape) == 4 else "MaxPool1d"
    with op_scope(name, label) as scope:
        return _pool("MaxPool", input, ksize, strides, padding, data_format, scope)


def avg_pool(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: Any = None, name: Any = None
) -> Any:
    if len(input.shape) == 4:
        return _pool("AvgPool", input, ksize, strides, padding, data_format, name)
    with op_scope(name, "AvgPool1D") as scope:
        return _pool("AvgPool", input, ksize, strides, padding, data_format, scope)


def avg_pool2d(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: Any = None, name: Any = None
) -> Any:
    with op_scope(name, "AvgPool2D") as scope:
        return _pool("AvgPool", input, ksize, strides, padding, data_format, scope)


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
        if not keepdims:
            mean, variance = arrays.squeeze(mean, axes), arrays.squeeze(variance, axes)
        return cast(mean, x.dtype), cast(variance, x.dtype)


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
    found = O.FusedBatchNormV3(
        x,
        scale,
        offset,
        constant([]) if mean is None else mean,
        constant([]) if variance is None else variance,
        epsilon=epsilon,
        exponential_avg_factor=exponential_avg_factor,
        data_format=data_format,
        is_training=is_training,
        name=name,
    )
    return found[0], found[1], found[2]


def dropout(
    x: Any, rate: Any, noise_shape: Any = None, seed: int | None = None, name: str | None = None
) -> Any:
    return general_dropout(
        x,
        rate,
        lambda shape, dtype: random.uniform(shape, dtype=dtype, seed=seed),
        noise_shape,
        name or "dropout",
    )


def general_dropout(
    x: Any, rate: Any, sample: Any, noise_shape: Any = None, name: str = "general_dropout"
) -> Any:
    """The same, with numbers from `sample(shape, dtype)`."""
    with op_scope(name, "dropout"):
        x = convert_to_tensor(x, name="x")
        if isinstance(rate, Tensor):
            kept = O.RealDiv(x, O.Sub(constant(1, x.dtype), cast(rate, x.dtype)))
        elif rate == 0:
            return x
        else:
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
