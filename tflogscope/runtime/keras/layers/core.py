"""Layers of every model: inputs, Dense, Dropout, activations, merging, normalizations, attention."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from tflogscope.runtime.core import context
from tflogscope.runtime.core.calls import O
from tflogscope.runtime.core.conversion import constant, convert_to_tensor
from tflogscope.runtime.keras import initializers, primitives
from tflogscope.runtime.keras.layers.base import KerasTensor, Layer, Node
from tflogscope.runtime.keras.state import keras3
from tflogscope.runtime.library import arrays, matrices, nn


class InputLayer(Layer):
    """Where a model begins."""

    options = {"shape": None, "batch_size": None, "dtype": None, "name": None, "batch_shape": None}
    _numbered = 0

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not keras3() and kwargs.get("name") is None:
            InputLayer._numbered += 1
            kwargs["name"] = f"input_{InputLayer._numbered}"
        super().__init__(*args, **kwargs)
        shape = self.input_shape if self.shape is None else self.shape
        dims = (shape,) if isinstance(shape, int) else tuple(shape or ())
        batch_shape = self.batch_shape or (self.batch_size, *dims)
        self.built = True
        Node(self, (), {}, KerasTensor(batch_shape, self.dtype, self.name))


def Input(*args: Any, **kwargs: Any) -> Any:
    return InputLayer(*args, **kwargs).output


class WithKernel(Layer):
    """A layer with a kernel, perhaps a bias, and an activation."""

    shared: ClassVar[dict[str, Any]] = Layer.shared | {
        "activation": None,
        "use_bias": True,
        "kernel_initializer": "glorot_uniform",
        "bias_initializer": "zeros",
    }

    def make_kernel(self, shape: tuple[int, ...], wide: int, label: str = "kernel") -> None:
        self.kernel = self.add_weight(label, shape, initializer=self.kernel_initializer)
        self.bias = None
        if self.use_bias:
            self.bias = self.add_weight("bias", (wide,), initializer=self.bias_initializer)


class Dense(WithKernel):
    """`activation(inputs @ kernel + bias)`."""

    options = {"units": ..., "activation": None}

    def build(self, input_shape: Any) -> None:
        self.make_kernel((input_shape[-1], self.units), self.units)

    def call(self, inputs: Any) -> Any:
        inputs = arrays.cast(inputs, self.dtype)
        outputs = primitives.matmul(inputs, self.kernel)
        if self.bias is not None:
            outputs = primitives.add_bias(outputs, self.bias)
        return self.activation(outputs)


class Embedding(Layer):
    """Rows of a table. NB: Keras 3 counts negative numbers of rows from the end."""

    options = {
        "input_dim": ...,
        "output_dim": ...,
        "embeddings_initializer": "uniform",
        "mask_zero": False,
        "input_length": None,
    }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not keras3() and self.input_shape is None:
            self.input_shape = (self.input_length,)

    def build(self, input_shape: Any) -> None:
        shape = (self.input_dim, self.output_dim)
        start = self.embeddings_initializer
        self.embeddings = self.add_weight("embeddings", shape, initializer=start)

    def call(self, inputs: Any) -> Any:
        if inputs.dtype.name not in {"int32", "int64"}:
            inputs = arrays.cast(inputs, "int32")
        return nn.embedding_lookup(self.embeddings, inputs)


class Dropout(Layer):
    """Some of the inputs set to 0 in training. NB: without the seed that is a variable of Keras 3."""

    options = {"rate": ..., "seed": None}

    def call(self, inputs: Any, training: Any = None) -> Any:
        if not training or not self.rate:
            return inputs if keras3() else arrays.identity(inputs)
        return nn.dropout(inputs, self.rate, seed=self.seed)


class Activation(Layer):
    """An activation."""

    options = {"activation": ...}

    def call(self, inputs: Any) -> Any:
        return self.activation(inputs)


class ReLU(Activation):
    """`max(x, 0)`."""

    options = {"activation": "relu"}


class Softmax(Activation):
    """Shares of the last dimension."""

    options = {"activation": "softmax"}


# -- shapes


class Flatten(Layer):
    """One row per example."""

    def call(self, inputs: Any) -> Any:
        batch, *dims = inputs.shape.as_list()
        if context.executing_eagerly():
            size = math.prod(dims) if keras3() else -1
            return arrays.reshape(inputs, constant([batch, size]))
        size = -1 if None in dims else math.prod(dims)
        if keras3() and batch is None:
            return arrays.reshape(inputs, [arrays.shape(inputs)[0], size])
        return arrays.reshape(inputs, constant([-1 if batch is None or size > 0 else batch, size]))


class Reshape(Layer):
    """Another shape of each example."""

    options = {"target_shape": ...}

    def call(self, inputs: Any) -> Any:
        return arrays.reshape(inputs, (arrays.shape(inputs)[0], *self.target_shape))


# -- merging


class Add(Layer):
    """The sum of its inputs."""

    def call(self, inputs: Any) -> Any:
        output = inputs[0]
        for each in inputs[1:]:
            output = output + each
        return output


class Concatenate(Layer):
    """Its inputs side by side."""

    options = {"axis": -1}

    def call(self, inputs: Any) -> Any:
        axis = self.axis if keras3() else self.axis % inputs[0].shape.rank
        return arrays.concat(inputs, axis)


_OPTIONS = {"epsilon": 1e-3, "beta_initializer": "zeros", "gamma_initializer": "ones"}


class _Normalization(Layer):
    """NB: along the last dimension, with a scale and an offset."""

    def build(self, input_shape: Any) -> None:
        shape = (input_shape[-1],)
        self.gamma = self.add_weight("gamma", shape, initializer=self.gamma_initializer)
        self.beta = self.add_weight("beta", shape, initializer=self.beta_initializer)


class LayerNormalization(_Normalization):
    """Each example to mean 0 and variance 1. NB: in Keras 2 not by the fused op of batches."""

    options = _OPTIONS

    def call(self, inputs: Any) -> Any:
        if keras3():
            mean, variance = nn.moments(inputs, [-1], keepdims=True)
            inverse = O.Rsqrt(variance + self.epsilon) * self.gamma
            return inputs * inverse + (-mean * inverse + self.beta)
        mean, variance = nn.moments(inputs, [len(inputs.shape) - 1], keepdims=True)
        args = (mean, variance, self.beta, self.gamma, self.epsilon)
        return nn.batch_normalization(inputs, *args)


class BatchNormalization(_Normalization):
    """Each channel to mean 0 and variance 1, by the batch in training, else by its averages."""

    options = {"momentum": 0.99} | _OPTIONS

    def build(self, input_shape: Any) -> None:
        super().build(input_shape)
        self.moving_mean, self.moving_variance = (
            self.add_weight(name, (input_shape[-1],), initializer=start, trainable=False)
            for name, start in (("moving_mean", "zeros"), ("moving_variance", "ones"))
        )

    def call(self, inputs: Any, training: Any = None) -> Any:
        training = bool(training) and self.trainable
        if len(inputs.shape) == 4 and not keras3():
            return self._fused(inputs, training)
        mean, variance = averages = self.moving_mean, self.moving_variance
        if training:
            mean, variance = nn.moments(inputs, list(range(len(inputs.shape) - 1)))
            for average, value in zip(averages, (mean, variance), strict=True):
                self._move(average, value)
        return nn.batch_normalization(inputs, mean, variance, self.beta, self.gamma, self.epsilon)

    def _move(self, average: Any, value: Any) -> None:
        if keras3():
            average.assign(average * self.momentum + value * (1.0 - self.momentum))
            return
        with context.name_scope("AssignMovingAvg") as scope:
            decay = convert_to_tensor(1.0 - self.momentum, name="decay")
            average.assign_sub((average - value) * decay, name=scope)

    def _fused(self, inputs: Any, training: bool) -> Any:
        averages = self.moving_mean, self.moving_variance
        factor = 1.0 - self.momentum if training else 1.0
        options: dict[str, Any] = {"is_training": training, "exponential_avg_factor": factor}
        given = (inputs, self.gamma, self.beta, *averages)
        outputs, *new = nn.fused_batch_norm(*given, epsilon=self.epsilon, **options)
        for average, value in zip(averages, new, strict=True) if training else ():
            with context.name_scope("AssignNewValue") as scope:
                average.assign(value, name=scope)
        return outputs


class _Projection(Layer):
    """`einsum` with a kernel, and a bias."""

    options = {"equation": ..., "shape": ..., "bias_rank": ..., "kernel_initializer": ...}

    def build(self, input_shape: Any) -> None:
        bias = self.shape[-self.bias_rank :]
        self.kernel = self.add_weight("kernel", self.shape, initializer=self.kernel_initializer)
        self.bias = self.add_weight("bias", bias, initializer="zeros")

    def call(self, inputs: Any) -> Any:
        return _einsum(self.equation, inputs, self.kernel) + self.bias


def _einsum(equation: str, x: Any, y: Any) -> Any:
    """As layers call it; Keras 3 makes matrix products of it (its backend's `use_custom_ops`)."""
    if not keras3():
        return matrices.einsum(equation, x, y)
    if equation == "abc,cde->abde":
        product = x @ arrays.reshape(y, [y.shape[0], -1])
        return arrays.reshape(product, [-1, x.shape[1], *y.shape[1:]])
    if equation == "abcd,cde->abe":
        rows = arrays.reshape(x, [-1, x.shape[1], x.shape[2] * x.shape[3]])
        return rows @ arrays.reshape(y, [-1, y.shape[2]])
    turned = matrices.transpose
    if equation == "aecd,abcd->acbe":
        return turned(turned(x, [0, 2, 1, 3]) @ turned(y, [0, 2, 3, 1]), [0, 1, 3, 2])
    return turned(x @ turned(y, [0, 2, 1, 3]), [0, 2, 1, 3])  # acbe,aecd->abcd


class MultiHeadAttention(Layer):
    """Attention of several heads over the steps of sequences. NB: without masks."""

    options = {
        "num_heads": ...,
        "key_dim": ...,
        "dropout": 0.0,
        "kernel_initializer": "glorot_uniform",
    }

    def build(self, input_shape: Any) -> None:
        """NB: query, key and value are of one width."""
        heads, width = [self.num_heads, self.key_dim], input_shape[-1]
        for name in ("query", "key", "value"):
            self._make(name, "abc,cde->abde", [width, *heads], 2)
        self._softmax, self._dropout = Softmax(), Dropout(self.dropout)
        self._make("attention_output", "abcd,cde->abe", [*heads, width], 1)

    def _make(self, name: str, equation: str, shape: list[int], bias_rank: int) -> None:
        start = initializers.get(self.kernel_initializer)
        layer = _Projection(equation, shape, bias_rank, start, name=name)
        setattr(self, f"_{name}_dense", layer)
        if keras3():
            layer.build(None)
            layer.built = True

    def call(self, query: Any, value: Any, key: Any = None, training: Any = None) -> Any:
        query, key = self._query_dense(query), self._key_dense(value if key is None else key)
        value = self._value_dense(value)
        scale = 1.0 / math.sqrt(float(self.key_dim))
        if keras3() and not self.dropout:  # ops.dot_product_attention
            scores = nn.softmax(matrices.einsum("BTNH,BSNH->BNTS", query, key) * scale)
            return self._attention_output_dense(matrices.einsum("BNTS,BSNH->BTNH", scores, value))
        query = O.Mul(query, scale)
        scores = self._softmax(_einsum("aecd,abcd->acbe", key, query))
        dropped = self._dropout(scores, training=training)
        return self._attention_output_dense(_einsum("acbe,aecd->abcd", dropped, value))
