"""`tf.keras.layers`. Read base.py first: what a layer is, and what calling one means.

base.py                      `Layer`; tracking.py: what it owns; describing.py: what it says of
                             itself, configurations.py: what it was made with; additions.py: what
                             it adds to losses and metrics; checking.py: what it may be called on
core.py, activation_kinds.py, noise.py
                             Dense, Embedding, Dropout, …; activations; what disturbs and hides
convolution.py, convolution_kinds.py, convolution_1d.py, pooling.py, spatial.py
                             images and sequences
normalization.py, preprocessing.py, merging.py
recurrent.py                 `RNN`: a cell (recurrent_cells.py, recurrent_stack.py) over time
                             (recurrence.py); recurrent_fused.py: LSTM and GRU; wrappers.py
attention.py, dot_attention.py, einsum_dense.py
tf_op_layer.py               `tf` functions called on Keras tensors
"""

from __future__ import annotations

from typing import Any

from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.keras import configuring
from tflogscope.runtime.keras.configuring import custom_object_scope
from tflogscope.runtime.keras.keras_tensor import Input
from tflogscope.runtime.keras.layers.activation_kinds import PReLU, ThresholdedReLU
from tflogscope.runtime.keras.layers.attention import MultiHeadAttention
from tflogscope.runtime.keras.layers.base import Layer
from tflogscope.runtime.keras.layers.checking import InputSpec
from tflogscope.runtime.keras.layers.convolution import Conv2D, DepthwiseConv2D
from tflogscope.runtime.keras.layers.convolution_1d import (
    Conv1DTranspose,
    DepthwiseConv1D,
    SeparableConv1D,
)
from tflogscope.runtime.keras.layers.convolution_kinds import (
    Conv1D,
    Conv2DTranspose,
    SeparableConv2D,
)
from tflogscope.runtime.keras.layers.core import (
    ELU,
    Activation,
    Dense,
    Dropout,
    Embedding,
    Flatten,
    Identity,
    InputLayer,
    Lambda,
    LeakyReLU,
    ReLU,
    Reshape,
    Softmax,
)
from tflogscope.runtime.keras.layers.dot_attention import AdditiveAttention, Attention, Dot, dot
from tflogscope.runtime.keras.layers.einsum_dense import EinsumDense
from tflogscope.runtime.keras.layers.merging import (
    Add,
    Average,
    Concatenate,
    Maximum,
    Minimum,
    Multiply,
    Subtract,
    add,
    average,
    concatenate,
    maximum,
    minimum,
    multiply,
    subtract,
)
from tflogscope.runtime.keras.layers.noise import (
    ActivityRegularization,
    AlphaDropout,
    GaussianDropout,
    GaussianNoise,
    Masking,
    SpatialDropout1D,
    SpatialDropout2D,
)
from tflogscope.runtime.keras.layers.normalization import (
    BatchNormalization,
    GroupNormalization,
    LayerNormalization,
    UnitNormalization,
)
from tflogscope.runtime.keras.layers.pooling import (
    AveragePooling1D,
    AveragePooling2D,
    AvgPool2D,
    GlobalAveragePooling1D,
    GlobalAveragePooling2D,
    GlobalMaxPooling1D,
    GlobalMaxPooling2D,
    MaxPool2D,
    MaxPooling1D,
    MaxPooling2D,
)
from tflogscope.runtime.keras.layers.preprocessing import (
    CategoryEncoding,
    Normalization,
    Rescaling,
    Resizing,
)
from tflogscope.runtime.keras.layers.recurrent import RNN
from tflogscope.runtime.keras.layers.recurrent_cells import GRUCell, LSTMCell, SimpleRNNCell
from tflogscope.runtime.keras.layers.recurrent_fused import GRU, LSTM, SimpleRNN
from tflogscope.runtime.keras.layers.recurrent_stack import StackedRNNCells
from tflogscope.runtime.keras.layers.spatial import (
    Cropping1D,
    Cropping2D,
    Permute,
    RepeatVector,
    UpSampling1D,
    UpSampling2D,
    ZeroPadding1D,
    ZeroPadding2D,
)
from tflogscope.runtime.keras.layers.wrappers import Bidirectional, TimeDistributed, Wrapper


def serialize(layer: Any) -> dict[str, Any]:
    """Class and configuration of a layer."""
    from tflogscope.runtime.keras.models.cloning import layer_config

    return layer_config(layer)


def deserialize(config: dict[str, Any], custom_objects: dict[str, Any] | None = None) -> Any:
    """The layer or model that a configuration describes. Raises ValueError for an unknown class."""
    from tflogscope.runtime.keras import models
    from tflogscope.runtime.keras.layers.tf_op_layer import SlicingOpLambda, TFOpLambda

    known = {**vars(models), **globals(), "TFOpLambda": TFOpLambda,
             "SlicingOpLambda": SlicingOpLambda}  # fmt: skip
    with custom_object_scope(custom_objects or {}):
        return configuring.deserialize(config, known.get, "layer")


Convolution1D, Convolution1DTranspose = Conv1D, Conv1DTranspose
Convolution2D, DepthwiseConvolution2D = Conv2D, DepthwiseConv2D
Convolution2DTranspose = Conv2DTranspose
SeparableConvolution1D, SeparableConvolution2D = SeparableConv1D, SeparableConv2D
GlobalAvgPool1D, GlobalAvgPool2D = GlobalAveragePooling1D, GlobalAveragePooling2D
MaxPool1D, AvgPool1D = MaxPooling1D, AveragePooling1D
GlobalMaxPool1D, GlobalMaxPool2D = GlobalMaxPooling1D, GlobalMaxPooling2D

__all__ = [
    "ELU",
    "GRU",
    "LSTM",
    "RNN",
    "Activation",
    "ActivityRegularization",
    "Add",
    "AdditiveAttention",
    "AlphaDropout",
    "Attention",
    "Average",
    "AveragePooling1D",
    "AveragePooling2D",
    "AvgPool1D",
    "AvgPool2D",
    "BatchNormalization",
    "Bidirectional",
    "CategoryEncoding",
    "Concatenate",
    "Conv1D",
    "Conv1DTranspose",
    "Conv2D",
    "Conv2DTranspose",
    "Convolution2D",
    "Cropping1D",
    "Cropping2D",
    "Dense",
    "DepthwiseConv1D",
    "DepthwiseConv2D",
    "DepthwiseConvolution2D",
    "Dot",
    "Dropout",
    "EinsumDense",
    "Embedding",
    "Flatten",
    "GRUCell",
    "GaussianDropout",
    "GaussianNoise",
    "GlobalAveragePooling1D",
    "GlobalAveragePooling2D",
    "GlobalAvgPool1D",
    "GlobalAvgPool2D",
    "GlobalMaxPool1D",
    "GlobalMaxPool2D",
    "GlobalMaxPooling1D",
    "GlobalMaxPooling2D",
    "GroupNormalization",
    "Identity",
    "Input",
    "InputLayer",
    "InputSpec",
    "LSTMCell",
    "Lambda",
    "Layer",
    "LayerNormalization",
    "LeakyReLU",
    "Masking",
    "MaxPool1D",
    "MaxPool2D",
    "MaxPooling1D",
    "MaxPooling2D",
    "Maximum",
    "Minimum",
    "MultiHeadAttention",
    "Multiply",
    "Normalization",
    "PReLU",
    "Permute",
    "ReLU",
    "RepeatVector",
    "Rescaling",
    "Reshape",
    "Resizing",
    "SeparableConv1D",
    "SeparableConv2D",
    "SimpleRNN",
    "SimpleRNNCell",
    "Softmax",
    "SpatialDropout1D",
    "SpatialDropout2D",
    "StackedRNNCells",
    "Subtract",
    "ThresholdedReLU",
    "TimeDistributed",
    "UnitNormalization",
    "UpSampling1D",
    "UpSampling2D",
    "Wrapper",
    "ZeroPadding1D",
    "ZeroPadding2D",
    "add",
    "average",
    "concatenate",
    "deserialize",
    "dot",
    "maximum",
    "minimum",
    "multiply",
    "serialize",
    "subtract",
]  # fmt: skip

__getattr__ = missing("tf.keras.layers")
