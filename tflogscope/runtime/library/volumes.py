"""Three dimensions: `tf.nn.conv3d`, `tf.nn.conv3d_transpose`, `tf.nn.max_pool3d` and
`tf.nn.avg_pool3d`.

Told about: `python/ops/nn_ops.py`.
"""

from __future__ import annotations

from typing import Any

from tflogscope.runtime.context import op_scope
from tflogscope.runtime.library.convolution import channel_place, one_per_dimension
from tflogscope.runtime.ops.call import call
from tflogscope.runtime.tensors import Tensor

__all__ = ["avg_pool3d", "conv3d", "conv3d_transpose", "max_pool3d"]


def conv3d(
    input: Any,
    filters: Any,
    strides: Any,
    padding: str,
    data_format: str = "NDHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """The sum of products with a filter that moves over volumes."""
    dilations = [1] * 5 if dilations is None else dilations
    given = {"strides": strides, "padding": padding, "dilations": dilations}
    return call("Conv3D", input, filters, data_format=data_format, **given, name=name)


def conv3d_transpose(
    input: Any,
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: str = "SAME",
    data_format: str | None = "NDHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """What the gradient of `conv3d` does, as a layer of its own."""
    with op_scope(name, "conv3d_transpose") as name:
        data_format = data_format or "NDHWC"
        channel = channel_place(data_format, 4)
        return call(
            "Conv3DBackpropInputV2",
            output_shape,
            filters,
            input,
            strides=one_per_dimension(strides, 3, channel, "strides"),
            padding=padding,
            data_format=data_format,
            dilations=one_per_dimension(dilations, 3, channel, "dilations"),
            name=name,
        )


def _pool(
    type: str, input: Any, sizes: tuple[Any, Any], padding: str, data_format: str | None, name: Any
) -> Tensor:
    with op_scope(name, type) as name:
        data_format = data_format or "NDHWC"
        channel = channel_place(data_format, 4)
        ksize, strides = (
            one_per_dimension(each, 3, channel, what)
            for each, what in zip(sizes, ("ksize", "strides"), strict=True)
        )
        given = {"ksize": ksize, "strides": strides, "padding": padding}
        return call(type, input, **given, data_format=data_format, name=name)


def max_pool3d(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str | None = "NDHWC",
    name: str | None = None,
) -> Tensor:
    """The largest of each window."""
    return _pool("MaxPool3D", input, (ksize, strides), padding, data_format, name)


def avg_pool3d(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str | None = "NDHWC",
    name: str | None = None,
) -> Tensor:
    """The mean of each window; padding does not count."""
    return _pool("AvgPool3D", input, (ksize, strides), padding, data_format, name)
