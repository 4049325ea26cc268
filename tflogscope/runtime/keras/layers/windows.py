"""Convolutions and pools, over one dimension or two."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tflogscope.runtime.core.calls import O
from tflogscope.runtime.keras import activations, initializers, primitives
from tflogscope.runtime.keras.layers.base import Layer
from tflogscope.runtime.keras.state import keras3
from tflogscope.runtime.library import arrays, nn, numbers
from tflogscope.runtime.library.slices import where


def _sizes(value: Any, rank: int) -> tuple[int, ...]:
    return (value,) * rank if isinstance(value, int) else tuple(value)


class _Convolution(Layer):
    """What convolutions share. NB: channels come last."""

    rank = 2
    bias: Any = None

    def __init__(
        self,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        dilation_rate: Any = 1,
        activation: Any = None,
        use_bias: bool = True,
        bias_initializer: Any = "zeros",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.kernel_size, self.strides = _sizes(kernel_size, self.rank), _sizes(strides, self.rank)
        self.dilation_rate = _sizes(dilation_rate, self.rank)
        self.padding, self.use_bias = padding.upper(), use_bias
        self.activation = activations.get(activation)
        self.bias_initializer = initializers.get(bias_initializer)

    def _make(self, name: str, shape: Any, initializer: Any) -> Any:
        return self.add_weight(name, (*self.kernel_size, *shape), initializer=initializer)

    def _make_bias(self, size: int) -> None:
        if self.use_bias:
            self.bias = self.add_weight("bias", (size,), initializer=self.bias_initializer)

    def _finished(self, outputs: Any) -> Any:
        if self.bias is not None:
            outputs = primitives.add_bias(outputs, self.bias, of_window=True)
        return self.activation(outputs)


class Conv2D(_Convolution):
    """A convolution of images."""

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        kernel_initializer: Any = "glorot_uniform",
        **kwargs: Any,
    ) -> None:
        super().__init__(kernel_size, strides, padding, **kwargs)
        self.filters, self.kernel_initializer = filters, initializers.get(kernel_initializer)

    def build(self, input_shape: Any) -> None:
        shape = (input_shape[-1], self.filters)
        self.kernel = self._make("kernel", shape, self.kernel_initializer)
        self._make_bias(self.filters)

    def call(self, inputs: Any) -> Any:
        form = "NWC" if self.rank == 1 else "NHWC"
        name = None if keras3() else type(self).__name__
        strides, rates = list(self.strides), list(self.dilation_rate)
        outputs = nn.convolution(inputs, self.kernel, strides, self.padding, form, rates, name)
        return self._finished(outputs)


class Conv1D(Conv2D):
    """A convolution of sequences."""

    rank = 1


class DepthwiseConv2D(_Convolution):
    """A convolution of each channel of its own."""

    def __init__(
        self,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        depth_multiplier: int = 1,
        depthwise_initializer: Any = "glorot_uniform",
        **kwargs: Any,
    ) -> None:
        super().__init__(kernel_size, strides, padding, **kwargs)
        self.depth_multiplier = depth_multiplier
        self.depthwise_initializer = initializers.get(depthwise_initializer)

    def build(self, input_shape: Any) -> None:
        shape = (input_shape[-1], self.depth_multiplier)
        name = "kernel" if keras3() else "depthwise_kernel"
        self.depthwise_kernel = self._make(name, shape, self.depthwise_initializer)
        self._make_bias(shape[0] * shape[1])

    def call(self, inputs: Any) -> Any:
        steps = (1, *self.strides, 1)
        kernel = self.depthwise_kernel
        return self._finished(
            nn.depthwise_conv2d(inputs, kernel, steps, self.padding, data_format="NHWC")
        )


# -- pools


class _Pooling(Layer):
    rank = 2
    pool: Callable[..., Any]

    def __init__(
        self, pool_size: Any = 2, strides: Any = None, padding: str = "valid", **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.pool_size = _sizes(pool_size, self.rank)
        self.strides = _sizes(pool_size if strides is None else strides, self.rank)
        self.padding = padding.upper()

    def call(self, inputs: Any) -> Any:
        form = "NWC" if self.rank == 1 else "NHWC"
        label = None if keras3() else "MaxPool" if self.pool is nn.max_pool else "AvgPool"
        if keras3() or self.rank == 2:
            name = label if self.pool is nn.max_pool else None
            return type(self).pool(inputs, self.pool_size, self.strides, self.padding, form, name)
        image = O.ExpandDims(inputs, 2)  # NB: Keras 2 pools sequences as images one pixel wide
        sizes, steps = ((1, *each, 1, 1) for each in (self.pool_size, self.strides))
        pool = nn.avg_pool2d if self.pool is nn.avg_pool else nn.max_pool
        return arrays.squeeze(pool(image, sizes, steps, self.padding, "NHWC", label), [2])


class MaxPooling2D(_Pooling):
    """The largest in each window."""

    pool = staticmethod(nn.max_pool)


class AveragePooling2D(_Pooling):
    """The mean of each window."""

    pool = staticmethod(nn.avg_pool)


class MaxPooling1D(MaxPooling2D):
    """The largest in each window of steps."""

    rank = 1


class AveragePooling1D(AveragePooling2D):
    """The mean of each window of steps."""

    rank = 1


class _Global(Layer):
    axes: Any = (1, 2)
    reduction: Callable[..., Any]

    def __init__(self, keepdims: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.keepdims = keepdims

    def call(self, inputs: Any) -> Any:
        axes = self.axes if isinstance(self.axes, int) else list(self.axes)
        return type(self).reduction(inputs, axes, self.keepdims)


class GlobalAveragePooling2D(_Global):
    """The mean of each channel."""

    reduction = staticmethod(numbers.reduce_mean)


class GlobalMaxPooling2D(_Global):
    """The largest of each channel."""

    reduction = staticmethod(numbers.reduce_max)


class GlobalMaxPooling1D(GlobalMaxPooling2D):
    """The largest over all steps."""

    axes = 1


class GlobalAveragePooling1D(GlobalAveragePooling2D):
    """The mean over all steps that count."""

    axes = 1

    def call(self, inputs: Any, mask: Any = None) -> Any:
        if mask is None:
            return super().call(inputs)
        if keras3():
            shown = arrays.cast(O.ExpandDims(mask, 2), "bool")
            inputs, wide = where(shown, inputs, 0.0), arrays.cast(shown, inputs.dtype)
        else:
            wide = O.ExpandDims(arrays.cast(mask, inputs.dtype), 2)
            inputs *= wide
        total = numbers.reduce_sum(inputs, 1, self.keepdims)
        return total / numbers.reduce_sum(wide, 1, self.keepdims)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        del inputs, mask
