"""What `get_config` says of Keras' own layers: which names, in which order.

`name=value` is what stands there where the layer here has no such thing; `name@attribute` says
that the attribute is called otherwise.

Told about: the methods `get_config` of `keras/src/layers/`.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np

from tflogscope.runtime import nest
from tflogscope.runtime.keras import activations, constraints, initializers, regularizers
from tflogscope.runtime.keras.configuring import serialize

__all__ = ["arguments_of", "configuration", "made_of", "told_by_itself"]

_FORMAT = "data_format='channels_last'"
_WEIGHTS = (
    "kernel_initializer bias_initializer kernel_regularizer bias_regularizer "
    "activity_regularizer kernel_constraint bias_constraint"
)
_WINDOW = f"kernel_size strides padding {_FORMAT} dilation_rate groups=1 activation use_bias"
_CONVOLUTION = f"filters {_WINDOW} {_WEIGHTS}"
_DEPTHWISE = (
    f"{_WINDOW} bias_initializer bias_regularizer activity_regularizer bias_constraint "
    "depth_multiplier depthwise_initializer depthwise_regularizer depthwise_constraint"
)
_SEPARABLE = (
    f"{_CONVOLUTION} depth_multiplier depthwise_initializer pointwise_initializer "
    "depthwise_regularizer pointwise_regularizer depthwise_constraint pointwise_constraint"
)
_TRANSPOSED = f"{_CONVOLUTION} output_padding=None"
_NORMALIZATION = "center scale beta_initializer gamma_initializer"
_OF_SCALES = "beta_regularizer gamma_regularizer beta_constraint gamma_constraint"
_SEQUENCE = "return_sequences return_state go_backwards stateful unroll time_major"
_CELL_WEIGHTS = (
    "kernel_regularizer recurrent_regularizer bias_regularizer kernel_constraint "
    "recurrent_constraint bias_constraint dropout recurrent_dropout=0.0"
)
_LAYER_WEIGHTS = _CELL_WEIGHTS.replace("bias_regularizer", "bias_regularizer activity_regularizer")
_INITIALIZERS = "kernel_initializer recurrent_initializer bias_initializer"
_GATES = f"units activation recurrent_activation use_bias {_INITIALIZERS}"
_POOL = f"pool_size padding strides {_FORMAT}"

_NAMES = {
    "Activation": "activation",
    "ActivityRegularization": "l1=0.0 l2=0.0",
    "AlphaDropout": "rate seed",
    "Attention": "dropout use_scale score_mode",
    "AdditiveAttention": "dropout use_scale",
    "AveragePooling1D": f"strides pool_size padding {_FORMAT}",
    "AveragePooling2D": _POOL,
    "AveragePooling3D": _POOL,
    "BatchNormalization": "axis momentum epsilon center scale beta_initializer gamma_initializer "
    f"moving_mean_initializer moving_variance_initializer {_OF_SCALES}",
    "Bidirectional": "layer merge_mode",
    "CategoryEncoding": "num_tokens output_mode sparse",
    "Concatenate": "axis",
    "Conv1D": _CONVOLUTION,
    "Conv1DTranspose": _TRANSPOSED,
    "Conv2D": _CONVOLUTION,
    "Conv2DTranspose": _TRANSPOSED,
    "Conv3D": _CONVOLUTION,
    "Cropping1D": "cropping",
    "Cropping2D": f"cropping {_FORMAT}",
    "Dense": f"units activation use_bias {_WEIGHTS}",
    "DepthwiseConv1D": _DEPTHWISE,
    "DepthwiseConv2D": _DEPTHWISE,
    "Dot": "axes normalize",
    "Dropout": "rate noise_shape seed",
    "ELU": "alpha",
    "EinsumDense": f"output_shape equation activation bias_axes {_WEIGHTS}",
    "Embedding": "input_dim output_dim embeddings_initializer embeddings_regularizer "
    "activity_regularizer embeddings_constraint mask_zero input_length",
    "Flatten": _FORMAT,
    "GRU": f"{_SEQUENCE} {_GATES} {_LAYER_WEIGHTS} implementation=2 reset_after",
    "GRUCell": f"{_GATES} {_CELL_WEIGHTS} implementation=2 reset_after",
    "GaussianDropout": "rate seed",
    "GaussianNoise": "stddev seed",
    "GlobalAveragePooling1D": f"{_FORMAT} keepdims",
    "GlobalAveragePooling2D": f"{_FORMAT} keepdims",
    "GlobalAveragePooling3D": f"{_FORMAT} keepdims",
    "GlobalMaxPooling1D": f"{_FORMAT} keepdims",
    "GlobalMaxPooling2D": f"{_FORMAT} keepdims",
    "GlobalMaxPooling3D": f"{_FORMAT} keepdims",
    "GroupNormalization": f"groups axis epsilon {_NORMALIZATION} {_OF_SCALES}",
    "LSTM": f"{_SEQUENCE} {_GATES} unit_forget_bias {_LAYER_WEIGHTS} implementation=2",
    "LSTMCell": f"{_GATES} unit_forget_bias {_CELL_WEIGHTS} implementation=2",
    "LayerNormalization": f"axis epsilon {_NORMALIZATION} {_OF_SCALES}",
    "LeakyReLU": "alpha",
    "Masking": "mask_value",
    "MaxPooling1D": f"strides pool_size padding {_FORMAT}",
    "MaxPooling2D": _POOL,
    "MaxPooling3D": _POOL,
    "MultiHeadAttention": "num_heads@_heads key_dim@_key_dim value_dim@_value_dim dropout@_dropout "
    f"use_bias@_use_bias output_shape@_width attention_axes=None {_WEIGHTS} query_shape=None "
    "key_shape=None value_shape=None",
    "PReLU": "alpha_initializer alpha_regularizer alpha_constraint shared_axes",
    "Permute": "dims",
    "ReLU": "max_value negative_slope threshold",
    "RepeatVector": "n",
    "Rescaling": "scale offset",
    "Resizing": "height width interpolation crop_to_aspect_ratio",
    "Reshape": "target_shape",
    "SeparableConv1D": _SEPARABLE,
    "SeparableConv2D": _SEPARABLE,
    "SimpleRNN": f"{_SEQUENCE} units activation use_bias {_INITIALIZERS} {_LAYER_WEIGHTS}",
    "SimpleRNNCell": f"units activation use_bias {_INITIALIZERS} {_CELL_WEIGHTS}",
    "Softmax": "axis",
    "SpatialDropout1D": "rate noise_shape seed",
    "SpatialDropout2D": "rate noise_shape seed",
    "ThresholdedReLU": "theta",
    "TimeDistributed": "layer",
    "UnitNormalization": "axis",
    "UpSampling1D": "size",
    "UpSampling2D": f"size {_FORMAT} interpolation='nearest'",
    "ZeroPadding1D": "padding",
    "ZeroPadding2D": f"padding {_FORMAT}",
    **dict.fromkeys(
        ["Add", "Average", "Maximum", "Minimum", "Multiply", "Subtract", "Layer", "Identity"], ""
    ),
}


def configuration(layer: Any) -> dict[str, Any] | None:
    """What the layer's own class, or the class of Keras that it is made from, has to say; None if
    nothing is known of it.
    """
    names = next((_NAMES[kind.__name__] for kind in type(layer).__mro__ if _known(kind)), None)
    if names is None:
        return None
    return {key: _plain(key, value) for key, value in _values(layer, names.split())}


def told_by_itself(layer: Any, config: dict[str, Any]) -> dict[str, Any]:
    """The configuration of a layer of the user's: if its class does not say more, with the
    arguments it was made with. Told about: `Layer.get_config` of `keras/src/engine/base_layer.py`.

    Raises NotImplementedError for arguments other than numbers and texts.
    """
    owner = next(each for each in type(layer).__mro__ if "get_config" in vars(each))
    known = next((each for each in type(layer).__mro__ if _known(each)), None)
    if owner.__name__ != "Described" or known is None or known.__name__ != "Layer":
        return config
    arguments, keywords = layer._made_with
    specification = inspect.getfullargspec(type(layer).__init__)
    given: dict[str, Any] = keywords | dict(zip(specification.args[1:], arguments, strict=False))
    simple = (str, int, float, bool, type(None))
    if not all(isinstance(each, simple) for each in nest.flatten(given)):
        raise NotImplementedError(_NOT_SERIALIZABLE.format(type(layer).__name__))
    if specification.varkw != "kwargs":
        config = {key: value for key, value in config.items() if key in specification.args[1:]}
    return config | given


_NOT_SERIALIZABLE = """
Layer {} was created by passing
non-serializable argument values in `__init__()`,
and therefore the layer must override `get_config()` in
order to be serializable. Please implement `get_config()`.

Example:

class CustomLayer(keras.layers.Layer):
    def __init__(self, arg1, arg2, **kwargs):
        super().__init__(**kwargs)
        self.arg1 = arg1
        self.arg2 = arg2

    def get_config(self):
        config = super().get_config()
        config.update({{
            "arg1": self.arg1,
            "arg2": self.arg2,
        }})
        return config"""


def made_of(kind: type, config: dict[str, Any]) -> dict[str, Any]:
    """The arguments that a configuration means: layers in it are made, and what the layer here
    has no argument for is left out where it says nothing.
    """
    from tflogscope.runtime.keras.layers import deserialize

    names = next((_NAMES[each.__name__] for each in kind.__mro__ if _known(each)), "")
    fixed = dict(each.split("=") for each in names.split() if "=" in each)
    taken = inspect.signature(kind.__init__).parameters  # type: ignore[misc]
    return {
        key: deserialize(value) if key == "layer" else value
        for key, value in config.items()
        if key in taken or key not in fixed or value != ast.literal_eval(fixed[key])
    }


def _known(kind: type) -> bool:
    return kind.__module__.startswith("tflogscope.runtime.keras") and kind.__name__ in _NAMES


def _values(layer: Any, names: list[str]) -> Iterator[tuple[str, Any]]:
    given = arguments_of(layer)
    for name in names:
        key, _, default = name.partition("=")
        key, _, attribute = key.partition("@")
        for place in (layer._of_weights, vars(layer), vars(getattr(layer, "cell", layer)), given):
            if (attribute or key) in place:
                value = place[attribute or key]
                break
        else:
            value = ast.literal_eval(default or "None")
        if key == "data_format":
            value = value or "channels_last"
        if key == "padding" and getattr(layer, "causal", False):
            value = "causal"
        if key == "axis" and isinstance(value, list) and not layer.built and len(value) == 1:
            value = value[0]
        if key in ("pool_size", "strides") and isinstance(value, int):
            value = (value,)
        yield key, value


def arguments_of(layer: Any) -> dict[str, Any]:
    """What the layer was made with, by name."""
    arguments, keywords = layer._made_with
    try:
        bound = inspect.signature(type(layer).__init__).bind(layer, *arguments, **keywords)
    except TypeError:
        return {}
    bound.apply_defaults()
    return {**bound.arguments, **bound.arguments.get("kwargs", {})}


def _plain(key: str, value: Any) -> Any:
    """As it stands in a configuration."""
    if key.endswith("_initializer"):
        return serialize(initializers.get(value))
    if key.endswith("_regularizer"):
        return serialize(regularizers.get(value))
    if key.endswith("_constraint"):
        return serialize(constraints.get(value))
    if key.endswith("activation"):
        return serialize(activations.get(value))
    if key in ("max_value", "negative_slope", "threshold"):
        return value if value is None else np.array(value, np.float32)
    if key == "alpha":
        return float(np.float32(value))
    if key == "layer":
        return serialize(value)
    return value.lower() if key == "padding" and isinstance(value, str) else value
