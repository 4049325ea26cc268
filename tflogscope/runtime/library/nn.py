"""Neural networks: activations, softmax, losses, embeddings.

Told about: `python/ops/nn_ops.py`, `python/ops/nn_impl.py`, `python/ops/embedding_ops.py`.
"""

from __future__ import annotations

import math
from typing import Any

from tflogscope.runtime import dtypes
from tflogscope.runtime.context import current, executing_eagerly, op_scope
from tflogscope.runtime.conversion import constant, convert_to_tensor
from tflogscope.runtime.errors import InvalidArgumentError, NotInThisRuntime
from tflogscope.runtime.library import arrays, elementary
from tflogscope.runtime.library.arithmetic import add
from tflogscope.runtime.library.elementary import cast, sigmoid
from tflogscope.runtime.library.joining import concat
from tflogscope.runtime.library.linalg import matmul, transpose
from tflogscope.runtime.library.reductions import clip_by_norm, reduce_sum
from tflogscope.runtime.library.slicing import gather
from tflogscope.runtime.ops.call import call, control_dependencies, generated, results
from tflogscope.runtime.release import since
from tflogscope.runtime.tensors import Tensor

elu = generated("Elu")
l2_loss = generated("L2Loss")
local_response_normalization = generated("LRN")
relu = generated("Relu")
selu = generated("Selu")
softsign = generated("Softsign")
softplus = generated("Softplus")
tanh = generated("Tanh")

# -- activations


def relu6(features: Any, name: str | None = None) -> Tensor:
    """Between 0 and 6."""
    with op_scope(name, "Relu6") as name:
        return call("Relu6", convert_to_tensor(features, name="features"), name=name)


def leaky_relu(features: Any, alpha: float = 0.2, name: str | None = None) -> Tensor:
    """`alpha` times what is below 0."""
    with op_scope(name, "LeakyRelu") as name:
        features = convert_to_tensor(features, name="features")
        if features.dtype.is_integer:
            features = cast(features, dtypes.float32)
        return call("LeakyRelu", features, alpha=float(alpha), name=name)


def crelu(features: Any, axis: int = -1, name: str | None = None) -> Tensor:
    """What is above 0, and beside it what is below."""
    with op_scope(name, "CRelu") as name:
        features = convert_to_tensor(features, name="features")
        return call("Relu", concat([features, -features], axis, name=name or "concat"))


def gelu(features: Any, approximate: bool = False, name: str | None = None) -> Tensor:
    """X times the probability that a normal number is below x. Raises ValueError for integers."""
    with op_scope(name, "Gelu"):
        x = convert_to_tensor(features, name="features")
        if not x.dtype.is_floating:
            raise ValueError(
                "`features.dtype` must be a floating point "
                f"tensor.Received:features.dtype={x.dtype}"
            )
        if approximate:
            coefficient = cast(0.044715, x.dtype)
            half = 0.5 * x
            inner = 0.7978845608028654 * (x + coefficient * _power(x, 3))
            return half * (1.0 + call("Tanh", inner))  # type: ignore[no-any-return]
        half = 0.5 * x
        if since(2, 17):
            return half * call("Erfc", -x * cast(0.7071067811865476, x.dtype))  # type: ignore[no-any-return]
        return half * (1.0 + call("Erf", x / cast(1.4142135623730951, x.dtype)))  # type: ignore[no-any-return]


def _power(x: Tensor, exponent: Any) -> Tensor:
    from tflogscope.runtime.library.arithmetic import pow as power

    return power(x, exponent)


def silu(features: Any, beta: Any = 1.0) -> Tensor:
    """X times sigmoid(beta x), also called swish; its gradient needs nothing but x."""
    from tflogscope.runtime.gradients.custom import custom_gradient

    features = convert_to_tensor(features, name="features")
    beta = cast(convert_to_tensor(beta, name="beta"), features.dtype)

    @custom_gradient
    def swish_impl(features: Any, beta: Any) -> Any:
        def grad(dy: Any) -> tuple[Any, Any]:
            with control_dependencies([dy]):
                gate = sigmoid(beta * features)
            activation_grad = gate * (1.0 + (beta * features) * (1.0 - gate))
            beta_grad = reduce_sum(dy * call("Square", features) * gate * (1.0 - gate))
            return dy * activation_grad, beta_grad

        return features * sigmoid(beta * features), grad

    return swish_impl(features, beta)  # type: ignore[no-any-return]


def bias_add(
    value: Any, bias: Any, data_format: str | None = None, name: str | None = None
) -> Tensor:
    """Adds a vector along the channels. Raises ValueError for a format that is none."""
    with op_scope(name, "BiasAdd") as name:
        if data_format is not None:
            if not data_format.startswith("N") or "C" not in data_format:
                raise ValueError(
                    "`data_format` must be of the form `N...C` or `NC...`. Received: "
                    f"data_format={data_format}"
                )
            data_format = "NCHW" if data_format.startswith("NC") else "NHWC"
        if not executing_eagerly():
            value = convert_to_tensor(value, name="input")
            bias = convert_to_tensor(bias, value.dtype, name="bias")
        return call("BiasAdd", value, bias, data_format=data_format, name=name)


# -- softmax


def xw_plus_b(x: Any, weights: Any, biases: Any, name: str | None = None) -> Tensor:
    """`x @ weights + biases`, as TensorFlow 1 has it."""
    with op_scope(name, "xw_plus_b") as name:
        product = matmul(convert_to_tensor(x, name="x"), convert_to_tensor(weights, name="weights"))
        return bias_add(product, convert_to_tensor(biases, name="biases"), name=name)


def relu_layer(x: Any, weights: Any, biases: Any, name: str | None = None) -> Tensor:
    """The same, and nothing below zero."""
    with op_scope(name, "relu_layer") as name:
        product = matmul(convert_to_tensor(x, name="x"), convert_to_tensor(weights, name="weights"))
        return call("Relu", bias_add(product, convert_to_tensor(biases, name="biases")), name=name)


def _with_last(x: Tensor, axis: int, last: Any, name: str | None = None) -> Tensor:
    """One dimension exchanged with the last."""
    order = concat([arrays.range(axis), [last], arrays.range(axis + 1, last), [axis]], 0)
    return transpose(x, order, name=name or "transpose")


def _along(op: str, inputs: Any, axis: int | None, name: str | None) -> Tensor:
    """An op that works along the last dimension, along another."""
    x = convert_to_tensor(inputs)
    rank = x.shape.rank
    axis = -1 if axis is None else axis
    if axis in (-1, (rank or 0) - 1):
        return call(op, x, name=name)
    if not -rank <= axis < rank:
        raise InvalidArgumentError(
            None,
            None,
            f"`dim` must be in the range [{-rank}, {rank}) where {rank} is the number of "
            f"dimensions in the input. Received: dim={axis}",
        )
    count = arrays.rank(x)
    if axis < 0:
        axis + count  # NB: TensorFlow makes this and does not use it
    whole = arrays.rank(x)
    axis %= rank
    turned = _with_last(x, axis, call("Sub", whole, 1))
    result = _with_last(call(op, turned), axis, call("Sub", whole, 1), name)
    result.set_shape(x.shape)
    return result


def softmax(logits: Any, axis: int | None = None, name: str | None = None) -> Tensor:
    """exp(x) divided by its sum along `axis` (the last)."""
    return _along("Softmax", logits, axis, name)


def log_softmax(logits: Any, axis: int | None = None, name: str | None = None) -> Tensor:
    """The logarithm of softmax."""
    return _along("LogSoftmax", logits, axis, name)


# -- losses


def _flatten_outer_dims(logits: Tensor) -> Tensor:
    rank = arrays.rank(logits)
    last = call("Slice", arrays.shape(logits), [call("Sub", rank, 1)], [1])
    output = arrays.reshape(logits, concat([[-1], last], 0))
    if not executing_eagerly() and logits.shape.rank is not None:
        outer = logits.shape[:-1].num_elements()
        if outer is not None:
            output.set_shape([outer, logits.shape[-1]])
    return output


def softmax_cross_entropy_with_logits(
    labels: Any, logits: Any, axis: int = -1, name: str | None = None
) -> Tensor:
    """How far softmax(logits) is from the probabilities in `labels`."""
    with op_scope(name, "softmax_cross_entropy_with_logits") as name:
        logits = convert_to_tensor(logits, name="logits")
        labels = convert_to_tensor(labels, name="labels")
        narrow = logits.dtype in (dtypes.float16, dtypes.bfloat16)
        precise = cast(logits, dtypes.float32) if narrow else logits
        labels = cast(labels, precise.dtype)
        rank = arrays.rank(precise)
        if axis != -1:
            precise, labels = _to_end(precise, axis, rank), _to_end(labels, axis, rank)
        shape = arrays.shape(precise)
        precise, labels = _flatten_outer_dims(precise), _flatten_outer_dims(labels)
        cost, _ = results("SoftmaxCrossEntropyWithLogits", precise, labels, name=name)
        cost = arrays.reshape(cost, call("Slice", shape, [0], [call("Sub", rank, 1)]))
        if not executing_eagerly() and logits.shape.rank is not None:
            dims = logits.shape.as_list()
            del dims[axis]
            cost.set_shape(dims)
        return cast(cost, logits.dtype) if narrow else cost


def _to_end(x: Tensor, axis: int, rank: Tensor) -> Tensor:
    return transpose(x, concat([arrays.range(axis), arrays.range(axis + 1, rank), [axis]], 0))


def sparse_softmax_cross_entropy_with_logits(
    labels: Any, logits: Any, name: str | None = None
) -> Tensor:
    """The same for labels that are numbers of classes. Raises ValueError for shapes that do not
    fit.
    """
    with op_scope(name, "SparseSoftmaxCrossEntropyWithLogits"):
        labels, logits = convert_to_tensor(labels), convert_to_tensor(logits)
        half = logits.dtype is dtypes.float16
        precise = cast(logits, dtypes.float32) if half else logits
        labels_shape = arrays.shape(labels)
        _check_label_shape(labels, logits)
        known = labels.shape.is_fully_defined() and logits.shape[:-1].is_fully_defined()
        if logits.shape.rank == 2:
            cost, _ = results("SparseSoftmaxCrossEntropyWithLogits", precise, labels, name=name)
            return cast(cost, dtypes.float16) if half else cost
        checks = [] if known else [_assert_equal(arrays.shape(labels), arrays.shape(logits)[:-1])]
        with control_dependencies([check for check in checks if check is not None]):
            classes = arrays.shape(logits)[arrays.rank(logits) - 1]
            precise = arrays.reshape(precise, [-1, classes])
            flat = arrays.reshape(labels, [-1])
            cost, _ = results("SparseSoftmaxCrossEntropyWithLogits", precise, flat, name=name)
            cost = arrays.reshape(cost, labels_shape)
            cost.set_shape(labels.shape)
            return cast(cost, dtypes.float16) if half else cost


def _assert_equal(x: Any, y: Any) -> Any:
    from tflogscope.runtime.library.debugging import assert_equal

    return assert_equal(x, y)


def _check_label_shape(labels: Tensor, logits: Tensor) -> None:
    if logits.shape.rank == 0:
        raise ValueError(f"`logits` cannot be a scalar. Received logits={logits}`")
    if labels.shape.rank is None or logits.shape.rank is None:
        return
    if labels.shape.rank != logits.shape.rank - 1:
        raise ValueError(
            "`labels.shape.rank` must equal `logits.shape.rank - 1`. Received: "
            f"labels.shape={labels.shape} of rank {labels.shape.rank} and "
            f"logits.shape={logits.shape} of rank {logits.shape.rank}"
        )
    if not labels.shape.is_compatible_with(logits.shape[:-1]):
        raise ValueError(
            "`labels.shape` must equal `logits.shape` except for the last dimension. Received: "
            f"labels.shape={labels.shape} and logits.shape={logits.shape}"
        )


def _same_shapes(labels: Tensor, logits: Tensor) -> None:
    if not labels.shape.is_compatible_with(logits.shape):
        raise ValueError(
            f"`logits` and `labels` must have the same shape, received ({logits.shape} vs "
            f"{labels.shape})."
        )


def sigmoid_cross_entropy_with_logits(
    labels: Any = None, logits: Any = None, name: str | None = None
) -> Tensor:
    """How far sigmoid(logits) is from the probabilities in `labels`, each by itself."""
    with op_scope(name, "logistic_loss") as name:
        logits, labels = (
            convert_to_tensor(logits, name="logits"),
            convert_to_tensor(labels, name="labels"),
        )
        _same_shapes(labels, logits)
        zeros = arrays.zeros_like(logits, logits.dtype)
        positive = logits >= zeros
        relu_logits = call("Select", positive, logits, zeros)
        negative = call("Select", positive, -logits, logits)
        return add(relu_logits - logits * labels, call("Log1p", call("Exp", negative)), name=name)


def log_poisson_loss(
    targets: Any, log_input: Any, compute_full_loss: bool = False, name: str | None = None
) -> Tensor:
    """The loss of log rates for counts; with Stirling's approximation of what depends on the
    counts alone if it is to be full.
    """
    with op_scope(name, "log_poisson_loss"):
        log_input = convert_to_tensor(log_input, name="log_input")
        targets = convert_to_tensor(targets, name="targets")
        result: Any = call("Exp", log_input) - log_input * targets
        if compute_full_loss:
            half = constant(0.5, dtype=targets.dtype)
            two_pi = constant(2 * math.pi, dtype=targets.dtype)
            stirling = targets * call("Log", targets) - targets
            stirling += half * call("Log", two_pi * targets)
            zeros = arrays.zeros_like(targets)
            ones = arrays.ones_like(targets)
            small = call("LogicalAnd", targets >= zeros, targets <= ones)
            result += call("SelectV2", small, zeros, stirling)
        return result  # type: ignore[no-any-return]


def weighted_cross_entropy_with_logits(
    labels: Any, logits: Any, pos_weight: Any, name: str | None = None
) -> Tensor:
    """The same with another weight for what should be 1."""
    with op_scope(name, "logistic_loss") as name:
        logits, labels = (
            convert_to_tensor(logits, name="logits"),
            convert_to_tensor(labels, name="labels"),
        )
        _same_shapes(labels, logits)
        weight = 1 + (pos_weight - 1) * labels
        first = (1 - labels) * logits
        second = call("Log1p", call("Exp", -elementary.abs(logits))) + call("Relu", -logits)
        return add(first, weight * second, name=name)


def in_top_k(targets: Any, predictions: Any, k: Any, name: str | None = None) -> Tensor:
    """Is each target among the k best predictions?"""
    with op_scope(name, "in_top_k"):
        return call("InTopKV2", predictions, targets, k)


# -- embeddings, and odds and ends


def embedding_lookup(
    params: Any, ids: Any, max_norm: Any = None, name: str | None = None
) -> Tensor:
    """The rows of a table. Raises NotInThisRuntime for a table in several parts."""
    if params is None:
        raise ValueError("params must be specified")
    if isinstance(params, (list, tuple)):
        if len(params) != 1:
            raise NotInThisRuntime("tf.nn.embedding_lookup of several tables")
        params = params[0]
    with op_scope(name, "embedding_lookup") as name:
        if not hasattr(params, "handle"):
            params = convert_to_tensor(params, name="params_0")
        ids = convert_to_tensor(ids, name="ids")
        if hasattr(params, "handle") and not executing_eagerly():
            # TensorFlow looks here on which device the variable is, which captures it already
            current().capture(params.handle)  # type: ignore[attr-defined]
        rows = gather(params, ids, name=name)
        if max_norm is not None:
            rows = clip_by_norm(rows, max_norm, axes=list(range(len(ids.shape), len(rows.shape))))
        return arrays.identity(rows)  # type: ignore[no-any-return]


def normalize(
    tensor: Any, ord: Any = "euclidean", axis: Any = None, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Divided by its norm; and the norm."""
    from tflogscope.runtime.library.reductions import norm

    with op_scope(name, "normalize"):
        tensor = convert_to_tensor(tensor)
        length = cast(norm(tensor, ord, axis, keepdims=True), tensor.dtype)
        return tensor / length, length
