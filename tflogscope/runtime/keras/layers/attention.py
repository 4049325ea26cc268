"""Normalizations and attention."""

from __future__ import annotations

import math
from typing import Any

from tflogscope.runtime.core import context
from tflogscope.runtime.core.calls import O
from tflogscope.runtime.core.conversion import constant, convert_to_tensor
from tflogscope.runtime.core.dtypes import bool_
from tflogscope.runtime.keras import initializers, primitives
from tflogscope.runtime.keras.layers.base import Layer
from tflogscope.runtime.keras.layers.core import Dropout, Softmax
from tflogscope.runtime.keras.state import keras3, mask_of
from tflogscope.runtime.library import arrays, matrices, nn
from tflogscope.runtime.library.slices import where


class _Normalization(Layer):
    supports_masking = True

    def __init__(
        self,
        axis: Any = -1,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.axis = axis[0] if isinstance(axis, (list, tuple)) else axis
        self.epsilon, self.center, self.scale = epsilon, center, scale
        self.beta_initializer = initializers.get(beta_initializer)
        self.gamma_initializer = initializers.get(gamma_initializer)
        self.gamma: Any = None
        self.beta: Any = None

    def build(self, input_shape: Any) -> None:
        shape = (input_shape[self.axis],)
        if self.scale:
            self.gamma = self.add_weight("gamma", shape, initializer=self.gamma_initializer)
        if self.center:
            self.beta = self.add_weight("beta", shape, initializer=self.beta_initializer)


class LayerNormalization(_Normalization):
    """Each example to mean 0 and variance 1. NB: along the last dimension."""

    def call(self, inputs: Any) -> Any:
        if keras3():
            mean, variance = nn.moments(inputs, [self.axis], keepdims=True)
            gamma, beta = self.gamma, self.beta
            inverse = O.Rsqrt(variance + self.epsilon)
            inverse = inverse if gamma is None else inverse * gamma
            rest = -mean * inverse
            return inputs * inverse + (rest if beta is None else rest + beta)
        if self.epsilon < 1.001e-5:  # the fused op takes no less
            moments = nn.moments(inputs, [len(inputs.shape) - 1], keepdims=True)
            outputs = nn.batch_normalization(inputs, *moments, self.beta, self.gamma, self.epsilon)
        else:
            outputs = self._fused(inputs)
        outputs.set_shape(inputs.shape)
        return outputs

    def _fused(self, inputs: Any) -> Any:
        shape = arrays.shape_v2(inputs)
        sizes = [shape[dim] for dim in range(len(inputs.shape))]
        examples: Any = 1
        for size in sizes[:-1]:
            examples = examples * size
        image = arrays.reshape(inputs, [1, examples, 1 * sizes[-1], 1])
        ones, zeros = arrays.ones([examples]), arrays.zeros([examples])
        outputs, _, _ = nn.fused_batch_norm(
            image, ones, zeros, epsilon=self.epsilon, data_format="NCHW"
        )
        outputs = arrays.reshape(outputs, shape)
        if self.gamma is not None:
            outputs = outputs * self.gamma
        return outputs if self.beta is None else outputs + self.beta


class BatchNormalization(_Normalization):
    """Each channel to mean 0 and variance 1, by the batch in training, else by its averages."""

    def __init__(self, axis: int = -1, momentum: float = 0.99, **kwargs: Any) -> None:
        kinds = (("moving_mean", "zeros"), ("moving_variance", "ones"))
        self._starts = [initializers.get(kwargs.pop(f"{k}_initializer", v)) for k, v in kinds]
        super().__init__(axis, **kwargs)
        self.momentum = momentum

    def build(self, input_shape: Any) -> None:
        super().build(input_shape)
        shape = (input_shape[self.axis],)
        self.moving_mean, self.moving_variance = (
            self.add_weight(name, shape, initializer=start, trainable=False)
            for name, start in zip(("moving_mean", "moving_variance"), self._starts, strict=True)
        )

    def call(self, inputs: Any, training: Any = None) -> Any:
        training = bool(training) and self.trainable
        if keras3():
            return self._by_moments3(inputs, training)
        if len(inputs.shape) == 4:
            return self._fused(inputs, training)
        return self._by_moments(inputs, training)

    def _fused(self, inputs: Any, training: bool) -> Any:
        size = self.moving_mean.shape
        beta = constant(0.0, shape=size) if self.beta is None else self.beta
        gamma = constant(1.0, shape=size) if self.gamma is None else self.gamma
        outputs, mean, variance = nn.fused_batch_norm(
            inputs,
            gamma,
            beta,
            mean=self.moving_mean,
            variance=self.moving_variance,
            epsilon=self.epsilon,
            is_training=training,
            exponential_avg_factor=1.0 - self.momentum if training else 1.0,
        )
        if training:
            for variable, value in ((self.moving_mean, mean), (self.moving_variance, variance)):
                with context.name_scope("AssignNewValue") as scope:
                    variable.assign(value, name=scope)
        return outputs

    def _by_moments(self, inputs: Any, training: bool) -> Any:
        mean, variance = self.moving_mean, self.moving_variance
        if training:
            mean, variance = nn.moments(inputs, list(range(len(inputs.shape) - 1)))
            for variable, value in ((self.moving_mean, mean), (self.moving_variance, variance)):
                with context.name_scope("AssignMovingAvg") as scope:
                    decay = convert_to_tensor(1.0 - self.momentum, name="decay")
                    variable.assign_sub((variable - value) * decay, name=scope)
        return nn.batch_normalization(inputs, mean, variance, self.beta, self.gamma, self.epsilon)

    def _by_moments3(self, inputs: Any, training: bool) -> Any:
        mean, variance = self.moving_mean, self.moving_variance
        if training:
            mean, variance = nn.moments(inputs, list(range(len(inputs.shape) - 1)))
            for variable, value in ((self.moving_mean, mean), (self.moving_variance, variance)):
                variable.assign(variable * self.momentum + value * (1.0 - self.momentum))
        return nn.batch_normalization(inputs, mean, variance, self.beta, self.gamma, self.epsilon)


class _Projection(Layer):
    """`einsum` with a kernel, and a bias."""

    def __init__(self, equation: str, kernel: Any, bias: Any, starts: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._equation, self._shapes, self._starts = equation, (kernel, bias), starts

    def build(self, input_shape: Any) -> None:
        self.kernel = self.add_weight("kernel", self._shapes[0], initializer=self._starts[0])
        self.bias = self.add_weight("bias", self._shapes[1], initializer=self._starts[1])

    def call(self, inputs: Any) -> Any:
        return primitives.einsum(self._equation, inputs, self.kernel) + self.bias


class MultiHeadAttention(Layer):
    """Attention of several heads. NB: over the steps of sequences only."""

    def __init__(
        self,
        num_heads: int,
        key_dim: int,
        dropout: float = 0.0,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._heads, self._size, self._rate = num_heads, key_dim, dropout
        self._starts = kernel_initializer, bias_initializer

    def _build_once(self, inputs: Any, rest: Any, kwargs: Any) -> None:
        if self.built:
            return
        value = rest[0] if rest else kwargs["value"]
        key = rest[1] if len(rest) > 1 else kwargs.get("key")
        key = value if key is None else key
        heads, width = [self._heads, self._size], inputs.shape[-1]
        for name, tensor in (("query", inputs), ("key", key), ("value", value)):
            kernel = [tensor.shape[-1], *heads]
            self._make(name, "abc,cde->abde", kernel, heads, tensor.shape)
        self._softmax, self._dropout = Softmax(axis=3), Dropout(self._rate)
        self._make("attention_output", "abcd,cde->abe", [*heads, width], [width], None)
        self.built = True

    def _make(self, name: str, equation: str, kernel: Any, bias: Any, shape: Any) -> None:
        starts = [initializers.get(each) for each in self._starts]
        layer = _Projection(equation, kernel, bias, starts, name=name)
        setattr(self, f"_{name}_dense", layer)
        if keras3():
            layer.build(shape)
            layer.built = True

    def call(
        self,
        query: Any,
        value: Any,
        key: Any = None,
        attention_mask: Any = None,
        training: Any = None,
        use_causal_mask: bool = False,
    ) -> Any:
        key = value if key is None else key
        mask = self._mask(query, value, key, attention_mask, use_causal_mask)
        query, key = self._query_dense(query), self._key_dense(key)
        value = self._value_dense(value)
        if keras3() and not self._rate:
            output = self._at_once(query, key, value, mask)
        else:
            query = O.Mul(query, 1.0 / math.sqrt(float(self._size)))
            scores = primitives.einsum("aecd,abcd->acbe", key, query)
            if mask is not None:
                mask = O.ExpandDims(mask, -3) if len(mask.shape) < 4 else mask
            scores = self._softmax(scores, mask)
            dropped = self._dropout(scores, training=training)
            output = primitives.einsum("acbe,aecd->abcd", dropped, value)
        return self._attention_output_dense(output)

    def _at_once(self, query: Any, key: Any, value: Any, mask: Any) -> Any:
        """`ops.dot_product_attention` of Keras 3."""
        arrays.shape_v2(key)[-1]  # NB: asked for, though the scale is given
        logits = matrices.einsum("BTNH,BSNH->BNTS", query, key, optimize="optimal")
        logits = O.Mul(logits, 1.0 / math.sqrt(float(self._size)))
        if mask is not None:
            mask = O.ExpandDims(mask, -3) if len(mask.shape) < 4 else mask
            allowed = O.LogicalAnd(arrays.ones_like(logits, dtype=bool_), mask)
            logits = where(allowed, logits, constant(3.38953e38 * -0.7, logits.dtype))
        shares = nn.softmax(logits)
        return matrices.einsum("BNTS,BSNH->BTNH", shares, value, optimize="optimal")

    def _mask(self, query: Any, value: Any, key: Any, given: Any, causal: bool) -> Any:
        found = [None if given is None else arrays.cast(given, bool_)]
        for tensor, axis in ((query, 2), (value, 1), (key, 1)):
            mask = mask_of(tensor)
            if mask is not None and (tensor is not key or key is not value):
                found.append(O.ExpandDims(arrays.cast(mask, bool_), axis))
        if causal:
            steps = [arrays.shape_v2(each)[1] for each in (query, value)]
            found.append(O.MatrixBandPart(arrays.ones((1, *steps), bool_), -1, 0))
        combined = None
        for mask in found:
            if mask is not None:
                combined = mask if combined is None else combined & mask
        return combined
