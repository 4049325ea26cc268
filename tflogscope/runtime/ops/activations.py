"""Activations and biases: Relu, Elu, LeakyRelu, Softplus, Softmax, BiasAdd and others.

Told about: `core/ops/nn_ops.cc`, `core/kernels/relu_op_functor.h`, `python/ops/nn_grad.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflogscope.runtime.errors import AbortedError, InvalidArgumentError
from tflogscope.runtime.gradients import gradient
from tflogscope.runtime.library import arrays, reductions
from tflogscope.runtime.library.elementary import sigmoid
from tflogscope.runtime.library.joining import concat
from tflogscope.runtime.operations import Inference
from tflogscope.runtime.ops.call import call, control_dependencies
from tflogscope.runtime.ops.declare import op
from tflogscope.runtime.record import OpRecord
from tflogscope.runtime.shapes import TensorShape, dims_text

Array = NDArray[Any]

_SELU_SCALE = 1.0507009873554804934193349852946
_SELU_ALPHA = 1.7580993408473768599402175208123  # scale * alpha


def _relu6(features: Array) -> Array:
    result: Array = np.minimum(np.maximum(features, 0), features.dtype.type(6))
    return result


def _elu(features: Array) -> Array:
    return np.where(features < 0, np.expm1(np.minimum(features, 0)), features)


def _selu(features: Array) -> Array:
    below = _SELU_ALPHA * np.expm1(np.minimum(features, 0))
    return np.asarray(np.where(features < 0, below, _SELU_SCALE * features), features.dtype)


for _type, _kernel in {
    "Relu": lambda features: np.maximum(features, 0),
    "Relu6": _relu6,
}.items():
    op(f"{_type}(features: T; T in real) -> activations: T")(_kernel)

for _type, _kernel in {
    "Elu": _elu,
    "Selu": _selu,
    "Softplus": lambda features: np.logaddexp(features, features.dtype.type(0)),
    "Softsign": lambda features: features / (1 + np.abs(features)),
}.items():
    op(f"{_type}(features: T; T in neural) -> activations: T")(_kernel)


@op("LeakyRelu(features: T; alpha=0.2, T=float32) -> activations: T")
def _leaky_relu(features: Array, alpha: float) -> Array:
    result: Array = np.maximum(features, features * features.dtype.type(alpha))
    return result


# -- their gradients, which are ops

op("ReluGrad(gradients: T, features: T; T in real) -> backprops: T")(
    lambda g, x: np.where(x > 0, g, g.dtype.type(0))
)
op("Relu6Grad(gradients: T, features: T; T in real) -> backprops: T")(
    lambda g, x: np.where((x > 0) & (x < 6), g, g.dtype.type(0))
)
op("EluGrad(gradients: T, outputs: T; T in neural) -> backprops: T")(
    lambda g, y: np.where(y < 0, (y + 1) * g, g)
)
op("SeluGrad(gradients: T, outputs: T; T in neural) -> backprops: T")(
    lambda g, y: np.asarray(np.where(y < 0, g * (y + _SELU_ALPHA), g * _SELU_SCALE), g.dtype)
)
op("SoftplusGrad(gradients: T, features: T; T in neural) -> backprops: T")(
    lambda g, x: g / (1 + np.exp(-x))
)
op("SoftsignGrad(gradients: T, features: T; T in neural) -> backprops: T")(
    lambda g, x: g / np.square(1 + np.abs(x))
)


@op("LeakyReluGrad(gradients: T, features: T; alpha=0.2, T=float32) -> backprops: T")
def _leaky_relu_grad(gradients: Array, features: Array, alpha: float) -> Array:
    return np.where(features > 0, gradients, gradients * gradients.dtype.type(alpha))


def _by_op(type: str, *, of_output: bool) -> Callable[..., Any]:
    """Its gradient is the op `…Grad`, of the output or the input."""

    @gradient(type)
    def by_op(record: OpRecord, grad: Any) -> list[Any]:
        return [call(f"{type}Grad", grad, record.outputs[0] if of_output else record.inputs[0])]

    return by_op


for _type in ("Relu", "Relu6", "Elu", "Selu"):
    _by_op(_type, of_output=True)
_by_op("Softsign", of_output=False)


@gradient("Softplus")
def _softplus_gradient(record: OpRecord, grad: Any) -> list[Any]:
    return [grad * sigmoid(record.inputs[0])]


@gradient("LeakyRelu")
def _leaky_relu_gradient(record: OpRecord, grad: Any) -> list[Any]:
    return [call("LeakyReluGrad", grad, record.inputs[0], alpha=record.get_attr("alpha"))]


@gradient("LeakyReluGrad")
def _leaky_relu_grad_gradient(record: OpRecord, grad: Any) -> list[Any]:
    x = record.inputs[1]
    return [call("LeakyReluGrad", grad, x, alpha=record.get_attr("alpha")), arrays.zeros_like(x)]


def _piecewise_linear(type: str) -> None:
    @gradient(type)
    def piecewise_linear(record: OpRecord, grad: Any) -> list[Any]:
        x = record.inputs[1]
        return [call(type, grad, x), arrays.zeros_like(x)]


_piecewise_linear("ReluGrad")
_piecewise_linear("Relu6Grad")


def _exponential_below_zero(type: str) -> None:
    @gradient(type)
    def exponential_below_zero(record: OpRecord, grad: Any) -> list[Any]:
        y = record.inputs[1]
        first = call(type, grad, y)
        return [first, call("Select", y < 0, grad * record.inputs[0], arrays.zeros_like(y))]


_exponential_below_zero("EluGrad")
_exponential_below_zero("SeluGrad")


@gradient("SoftplusGrad")
def _softplus_grad_gradient(record: OpRecord, grad: Any) -> list[Any]:
    dy, x = record.inputs
    with control_dependencies([grad]):
        first = call("SoftplusGrad", grad, x)
        return [first, grad * dy / (call("Exp", -x) + 2.0 + call("Exp", x))]


# -- softmax


def softmax(logits: Array) -> Array:
    """Along the last dimension, computed so that it does not overflow."""
    exponentials = np.exp(logits - np.max(logits, axis=-1, keepdims=True))
    return exponentials / np.sum(exponentials, axis=-1, keepdims=True)  # type: ignore[no-any-return]


def log_softmax(logits: Array) -> Array:
    """The logarithm of softmax, also where that is small."""
    shifted = logits - np.max(logits, axis=-1, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis=-1, keepdims=True))  # type: ignore[no-any-return]


def _at_least_a_vector(i: Inference) -> TensorShape:
    return i.shape_of_rank_from(0, 1)


@op("Softmax(logits: T; T in neural) -> softmax: T", shape=_at_least_a_vector)
def _softmax(logits: Array) -> Array:
    if not 1 <= logits.ndim <= 5:  # `MklSoftmaxOp`
        raise AbortedError(None, None, "Input dims must be <= 5 and >=1")
    return softmax(logits)


op("LogSoftmax(logits: T; T in neural) -> logsoftmax: T", shape=_at_least_a_vector)(log_softmax)


@gradient("Softmax")
def _softmax_gradient(record: OpRecord, grad: Any) -> list[Any]:
    y = record.outputs[0]
    sums = reductions.reduce_sum(grad * y, -1, keepdims=True)
    return [(grad - sums) * y]


@gradient("LogSoftmax")
def _log_softmax_gradient(record: OpRecord, grad: Any) -> list[Any]:
    probabilities = call("Exp", record.outputs[0])
    return [grad - reductions.reduce_sum(grad, -1, keepdims=True) * probabilities]


# -- bias


def _bias_shape(i: Inference) -> TensorShape:
    """Told about: `BiasAddShape` of `core/framework/common_shape_fns.cc`."""
    least = 3 if i.attributes["data_format"] == "NCHW" else 2
    value, bias = i.shape_of_rank_from(0, least), i.shape_of_rank(1, 1)
    if value.rank is None:
        return value
    axis = -1 if i.attributes["data_format"] == "NHWC" else 1
    channels, given = value[axis], bias[0] if bias.rank else None
    if channels is not None and given is not None and channels != given:
        raise ValueError(f"Dimensions must be equal, but are {channels} and {given}")
    return value


@op("BiasAdd(value: T, bias: T; data_format='NHWC', T in number) -> output: T", shape=_bias_shape)
def _bias_add(value: Array, bias: Array, data_format: str) -> Array:
    """Adds a vector along the channels: the last dimension, in NCHW the second."""
    axis = -1 if data_format == "NHWC" else 1
    wrong = ""
    if value.ndim < 2:
        wrong = f"Input tensor must be at least 2D: {dims_text(value.shape)}"
    elif bias.ndim != 1:
        wrong = f"Biases must be 1D: {dims_text(bias.shape)}"
    elif value.shape[axis] != bias.shape[0]:
        wrong = (
            f"Must provide as many biases as the {'last' if axis == -1 else 'channel'} dimension "
            f"of the input tensor: {dims_text(bias.shape)} vs. {dims_text(value.shape)}"
        )
    if wrong:
        raise InvalidArgumentError(None, None, wrong)
    return value + (bias if axis == -1 else bias.reshape((-1,) + (1,) * (value.ndim - 2)))


def _channels(i: Inference) -> TensorShape:
    shape = i.shape(0)
    axis = -1 if i.attributes["data_format"] == "NHWC" else 1
    return TensorShape([None if shape.rank is None else shape[axis]])


@op("BiasAddGrad(out_backprop: T; data_format='NHWC', T in number) -> output: T", shape=_channels)
def _bias_add_grad(out_backprop: Array, data_format: str) -> Array:
    channel = out_backprop.ndim - 1 if data_format == "NHWC" else 1
    others = tuple(k for k in range(out_backprop.ndim) if k != channel)
    return np.asarray(np.sum(out_backprop, axis=others), out_backprop.dtype)


@gradient("BiasAdd")
def _bias_add_gradient(record: OpRecord, grad: Any) -> list[Any]:
    return [grad, call("BiasAddGrad", grad, data_format=record.get_attr("data_format"))]


@gradient("BiasAddGrad")
def _bias_add_grad_gradient(record: OpRecord, grad: Any) -> list[Any]:
    shape, bias_shape = arrays.shape(record.inputs[0]), arrays.shape(grad)
    if record.get_attr("data_format") == "NCHW":
        ones = arrays.ones_like(shape[:1]), bias_shape, arrays.ones_like(shape[2:])
        expanded, multiples = concat(list(ones), 0), concat([shape[:1], [1], shape[2:]], 0)
    else:
        expanded = concat([arrays.ones_like(shape[:-1]), bias_shape], 0)
        multiples = concat([shape[:-1], [1]], 0)
    return [call("Tile", arrays.reshape(grad, expanded), multiples)]
