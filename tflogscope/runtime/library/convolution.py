"""Convolution and pooling: `tf.nn.conv2d`, `tf.nn.depthwise_conv2d`, `tf.nn.max_pool2d` and others.

Told about: `python/ops/nn_ops.py`, `python/ops/nn_impl.py`.
"""

from __future__ import annotations

from typing import Any

from tflogscope.runtime.context import op_scope
from tflogscope.runtime.conversion import convert_to_tensor
from tflogscope.runtime.errors import NotInThisRuntime
from tflogscope.runtime.library import arrays
from tflogscope.runtime.library.atrous import with_space_to_batch
from tflogscope.runtime.library.joining import concat
from tflogscope.runtime.ops.call import call, generated, results
from tflogscope.runtime.tensors import Tensor

depth_to_space = generated("DepthToSpace")
space_to_depth = generated("SpaceToDepth")


def one_per_dimension(value: Any, count: int, channel_index: int, name: str) -> list[int]:
    """One number, one per spatial dimension, or one per dimension: as one per dimension."""
    if value is None:
        return [1] * (count + 2)
    given = [value] if isinstance(value, int) else [int(each) for each in value]
    if len(given) == count + 2:
        return given
    if len(given) == 1:
        given = given * count
    elif len(given) != count:
        raise ValueError(
            f"{name} should be of length 1, {count} or {count + 2}. Received: {name}={value} of "
            f"length {len(given)}"
        )
    return [1, 1, *given] if channel_index == 1 else [1, *given, 1]


def _padding(padding: Any, expected: int = 4) -> tuple[str, list[int]]:
    """The name of the padding, and the flat list of an explicit one."""
    if padding == "EXPLICIT":
        raise ValueError(
            "'EXPLICIT' is not a valid value for `padding`. To use explicit padding, `padding` "
            "must be a list."
        )
    if not isinstance(padding, (list, tuple)):
        return padding, []
    if any(not isinstance(pair, (list, tuple)) or len(pair) != 2 for pair in padding):
        raise ValueError(
            "When `padding` is a list, each element of `padding` must be a list/tuple of size 2. "
            f"Received: padding={padding}"
        )
    if len(padding) != expected:
        raise ValueError(
            f"When padding is a list, it must be of size {expected}. Received: padding={padding} "
            f"of size {len(padding)}"
        )
    return "EXPLICIT", [int(number) for pair in padding for number in pair]


def channel_place(data_format: str | None, default: int) -> int:
    """Which dimension is that of the channels."""
    return 1 if data_format is not None and data_format.startswith("NC") else default


def conv2d(
    input: Any,
    filters: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = "NHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """Convolves images with filters [height, width, input channels, output channels]."""
    kind, explicit = _padding(padding)
    data_format = data_format or "NHWC"
    channel = channel_place(data_format, 3)
    return call(
        "Conv2D",
        input,
        filters,
        strides=one_per_dimension(strides, 2, channel, "strides"),
        padding=kind,
        use_cudnn_on_gpu=True,
        explicit_paddings=explicit,
        data_format=data_format,
        dilations=one_per_dimension(dilations, 2, channel, "dilations"),
        name=name,
    )


def conv2d_transpose(
    input: Any,
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: Any = "SAME",
    data_format: str | None = "NHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """The way back through a convolution: from its output to an image of `output_shape`."""
    with op_scope(name, "conv2d_transpose") as name:
        data_format = data_format or "NHWC"
        channel = channel_place(data_format, 3)
        strides = one_per_dimension(strides, 2, channel, "strides")
        dilations = one_per_dimension(dilations, 2, channel, "dilations")
        kind, explicit = _padding(padding)
        return call(
            "Conv2DBackpropInput",
            output_shape,
            filters,
            input,
            strides=strides,
            padding=kind,
            explicit_paddings=explicit,
            data_format=data_format,
            dilations=dilations,
            name=name,
        )


def conv1d_transpose(
    input: Any,
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: Any = "SAME",
    data_format: str = "NWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """The way back through a convolution along one dimension. Raises NotInThisRuntime for channels
    that come first.
    """
    if data_format not in ("NWC", "NHWC"):
        raise NotInThisRuntime(f"tf.nn.conv1d_transpose(data_format={data_format!r})")
    with op_scope(name, "conv1d_transpose") as name:
        image = arrays.expand_dims(input, 1)
        kernel = arrays.expand_dims(filters, 0)
        whole = concat([output_shape[:1], [1], output_shape[1:]], axis=0)
        gaps = (
            [1, 1, 1, 1]
            if dilations is None
            else [1, *one_per_dimension(dilations, 1, 2, "dilations")]
        )
        result = call(
            "Conv2DBackpropInput", whole, kernel, image,
            strides=[1, *one_per_dimension(strides, 1, 2, "stride")], padding=padding,
            explicit_paddings=[], data_format="NHWC", dilations=gaps,
            name=name,
        )  # fmt: skip
        return arrays.squeeze(result, [1])


def conv1d(
    input: Any,
    filters: Any,
    stride: Any,
    padding: Any,
    data_format: str | None = "NWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """A convolution along one dimension: a Conv2D of images that are one row high. Raises
    ValueError for another format.
    """
    with op_scope(name, "conv1d") as name:
        if data_format not in (None, "NWC", "NHWC", "NCW", "NCHW"):
            raise ValueError(
                f"`data_format` must be 'NWC' or 'NCW'. Received: data_format={data_format}"
            )
        first = data_format in ("NCW", "NCHW")
        channel, row = (1, -2) if first else (2, -3)
        strides = [1, *one_per_dimension(stride, 1, channel, "stride")]
        gaps = [1, *one_per_dimension(dilations, 1, channel, "dilations")]
        value = arrays.expand_dims(input, row)
        filters = arrays.expand_dims(filters, 0)
        result = call(
            "Conv2D", value, filters, strides=strides, padding=padding, use_cudnn_on_gpu=True,
            data_format="NCHW" if first else "NHWC", dilations=gaps, name=name,
        )  # fmt: skip
        return arrays.squeeze(result, [row])


def convolution(
    input: Any,
    filters: Any,
    strides: Any = None,
    padding: Any = "VALID",
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """The convolution over as many dimensions as the input has beside batch and channel.

    Raises NotInThisRuntime for three.
    """
    rank = convert_to_tensor(input).shape.rank
    if rank not in (3, 4):
        raise NotInThisRuntime(f"tf.nn.convolution of a tensor with {rank} dimensions")
    function = conv1d if rank == 3 else conv2d
    steps = 1 if strides is None else strides
    channel = channel_place(data_format, rank - 1)
    gaps = one_per_dimension(dilations, rank - 2, channel, "dilations")
    with op_scope(name, "convolution") as scope:
        if any(gap != 1 for gap in gaps):
            if channel == 1:
                raise NotInThisRuntime("tf.nn.convolution with dilations and channels first")
            return with_space_to_batch(
                convert_to_tensor(input), filters, padding, gaps[1:-1],
                lambda blocks: function(blocks, filters, steps, "VALID", data_format, None, scope),
            )  # fmt: skip
        return function(input, filters, steps, padding, data_format, dilations, scope)


def _depthwise(
    x: Tensor,
    filters: Tensor,
    strides: Any,
    padding: Any,
    data_format: str | None,
    rate: Any,
    name: str | None,
) -> Tensor:
    """What TensorFlow does by way of `with_space_to_batch`, which leaves a constant behind."""
    if rate is not None and any(int(each) != 1 for each in rate):
        raise NotInThisRuntime("tf.nn.depthwise_conv2d with dilations")
    arrays.shape(filters)
    convert_to_tensor([1, 1] if rate is None else list(rate), name="dilation_rate")
    kind, explicit = _padding(padding)
    return call(
        "DepthwiseConv2dNative",
        x,
        filters,
        strides=list(strides),
        padding=kind,
        explicit_paddings=explicit,
        data_format=data_format or "NHWC",
        dilations=[1, 1, 1, 1],
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
) -> Tensor:
    """Convolves each channel with filters of its own."""
    with op_scope(name, "depthwise") as name:
        x = convert_to_tensor(input, name="tensor_in")
        filters = convert_to_tensor(filter, name="filter_in")
        return _depthwise(x, filters, strides, padding, data_format, dilations, name)


def separable_conv2d(
    input: Any,
    depthwise_filter: Any,
    pointwise_filter: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """A depthwise convolution, then one of single points that mixes the channels."""
    with op_scope(name, "separable_conv2d") as name:
        x = convert_to_tensor(input, name="tensor_in")
        first = convert_to_tensor(depthwise_filter, name="depthwise_filter")
        second = convert_to_tensor(pointwise_filter, name="pointwise_filter")
        depthwise = _depthwise(x, first, strides, padding, data_format, dilations, "depthwise")
        return conv2d(depthwise, second, [1, 1, 1, 1], "VALID", data_format, name=name)


# -- pooling


def max_pool2d(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = "NHWC",
    name: str | None = None,
) -> Tensor:
    """The largest of each window."""
    with op_scope(name, "MaxPool2d") as name:
        channel = channel_place(data_format, 3)
        ksize, strides = (
            one_per_dimension(ksize, 2, channel, "ksize"),
            one_per_dimension(strides, 2, channel, "strides"),
        )
        kind, explicit = _padding(padding)
        return call(
            "MaxPool",
            input,
            ksize=ksize,
            strides=strides,
            padding=kind,
            explicit_paddings=explicit,
            data_format=data_format,
            name=name,
        )


def avg_pool2d(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = "NHWC",
    name: str | None = None,
) -> Tensor:
    """The mean of each window; padding does not count."""
    with op_scope(name, "AvgPool2D") as name:
        channel = channel_place(data_format, 3)
        ksize, strides = (
            one_per_dimension(ksize, 2, channel, "ksize"),
            one_per_dimension(strides, 2, channel, "strides"),
        )
        return call(
            "AvgPool",
            input,
            ksize=ksize,
            strides=strides,
            padding=padding,
            data_format=data_format,
            name=name,
        )


def _pool1d(
    op: str,
    x: Any,
    ksize: Any,
    strides: Any,
    padding: Any,
    data_format: str | None,
    name: str | None,
) -> Tensor:
    data_format = data_format or "NWC"
    channel = channel_place(data_format, 2)
    sizes = [1, *one_per_dimension(ksize, 1, channel, "ksize")]
    steps = [1, *one_per_dimension(strides, 1, channel, "strides")]
    row = 1 if data_format == "NWC" else 2
    layout = "NHWC" if data_format == "NWC" else "NCHW"
    image = arrays.expand_dims(x, row)
    result = call(
        op, image, ksize=sizes, strides=steps, padding=padding, data_format=layout, name=name
    )
    return arrays.squeeze(result, row)


def max_pool1d(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = "NWC",
    name: str | None = None,
) -> Tensor:
    """The largest of each window along one dimension."""
    with op_scope(name, "MaxPool1d") as name:
        return _pool1d("MaxPool", input, ksize, strides, padding, data_format, name)


def avg_pool1d(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = "NWC",
    name: str | None = None,
) -> Tensor:
    """The mean of each window along one dimension."""
    with op_scope(name, "AvgPool1D") as name:
        return _pool1d("AvgPool", input, ksize, strides, padding, data_format, name)


def max_pool(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The largest of each window, in one, two or three dimensions."""
    if len(input.shape) == 3:
        return max_pool1d(input, ksize, strides, padding, data_format or "NWC", name)
    if len(input.shape) == 5:
        return _pool_volumes("MaxPool3D", input, (ksize, strides), padding, data_format, name)
    return max_pool2d(input, ksize, strides, padding, data_format or "NHWC", name)


def avg_pool(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The mean of each window, in one, two or three dimensions."""
    if len(input.shape) == 3:
        return avg_pool1d(input, ksize, strides, padding, data_format or "NWC", name)
    if len(input.shape) == 5:
        return _pool_volumes("AvgPool3D", input, (ksize, strides), padding, data_format, name)
    channel = channel_place(data_format, 3)
    ksize, strides = (
        one_per_dimension(ksize, 2, channel, "ksize"),
        one_per_dimension(strides, 2, channel, "strides"),
    )
    return call(
        "AvgPool",
        input,
        ksize=ksize,
        strides=strides,
        padding=padding,
        data_format=data_format,
        name=name,
    )


def _pool_volumes(
    type: str, input: Any, sizes: tuple[Any, Any], padding: str, data_format: Any, name: Any
) -> Tensor:
    """Not by `max_pool3d` and its name scope: TensorFlow too calls the op itself."""
    channel = channel_place(data_format, 4)
    ksize, strides = (
        one_per_dimension(each, 3, channel, what)
        for each, what in zip(sizes, ("ksize", "strides"), strict=True)
    )
    given = {"ksize": ksize, "strides": strides, "padding": padding, "data_format": data_format}
    return call(type, input, **given, name=name)


def max_pool_with_argmax(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    output_dtype: Any = None,
    include_batch_in_index: bool = False,
    name: str | None = None,
) -> Any:
    """The largest of each window, and where it is.

    Raises ValueError for another format than NHWC.
    """
    if data_format != "NHWC":
        raise ValueError(
            "`data_format` values other than 'NHWC' are not supported. Received: "
            f"data_format={data_format}"
        )
    sizes, steps = (
        one_per_dimension(ksize, 2, 3, "ksize"),
        one_per_dimension(strides, 2, 3, "strides"),
    )
    return results(
        "MaxPoolWithArgmax",
        input,
        ksize=sizes,
        strides=steps,
        Targmax=output_dtype,
        padding=padding,
        include_batch_in_index=include_batch_in_index,
        name=name,
    )
