"""`tf.keras.layers` of Keras 3. Read base.py first: what a layer is, and what calling one means.

base.py              `Layer`; tracking.py: what it owns; described.py: what it says of itself;
                     call_arguments.py: what it was called with
core.py              Dense, Embedding, Dropout, …
convolution.py, convolution_kinds.py, pooling.py, reshaping.py, noise.py, merging.py
normalization.py, group_normalization.py
data_layer.py        layers for pipelines: feature_normalization.py, image_augmentation.py
recurrent.py         `RNN`: a cell (recurrent_cells.py) or several (recurrent_stack.py) over time
                     (recurrence.py)
wrappers.py          layers around a layer
einsum_dense.py, attention.py, simple_attention.py
"""

from __future__ import annotations

from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.keras.layers.checking import InputSpec
from tflogscope.runtime.keras3.layers.attention import MultiHeadAttention
from tflogscope.runtime.keras3.layers.base import Layer
from tflogscope.runtime.keras3.layers.convolution import Conv1D, Conv2D, DepthwiseConv2D
from tflogscope.runtime.keras3.layers.convolution_kinds import (
    Conv1DTranspose,
    Conv2DTranspose,
    DepthwiseConv1D,
    SeparableConv1D,
    SeparableConv2D,
)
from tflogscope.runtime.keras3.layers.core import (
    ELU,
    Activation,
    Dense,
    Dropout,
    Embedding,
    Flatten,
    Identity,
    Input,
    InputLayer,
    Lambda,
    LeakyReLU,
    Masking,
    Permute,
    PReLU,
    ReLU,
    Rescaling,
    Reshape,
    Softmax,
)
from tflogscope.runtime.keras3.layers.einsum_dense import EinsumDense
from tflogscope.runtime.keras3.layers.feature_normalization import Normalization
from tflogscope.runtime.keras3.layers.group_normalization import (
    GroupNormalization,
    RMSNormalization,
    UnitNormalization,
)
from tflogscope.runtime.keras3.layers.image_augmentation import RandomFlip
from tflogscope.runtime.keras3.layers.merging import (
    Add,
    Average,
    Concatenate,
    Maximum,
    Minimum,
    Multiply,
    Subtract,
    add,
    concatenate,
)
from tflogscope.runtime.keras3.layers.noise import (
    ActivityRegularization,
    AlphaDropout,
    GaussianDropout,
    GaussianNoise,
    SpatialDropout1D,
    SpatialDropout2D,
)
from tflogscope.runtime.keras3.layers.normalization import BatchNormalization, LayerNormalization
from tflogscope.runtime.keras3.layers.pooling import (
    AveragePooling1D,
    AveragePooling2D,
    GlobalAveragePooling1D,
    GlobalAveragePooling2D,
    GlobalMaxPooling1D,
    GlobalMaxPooling2D,
    MaxPooling1D,
    MaxPooling2D,
)
from tflogscope.runtime.keras3.layers.recurrent import GRU, LSTM, RNN, SimpleRNN
from tflogscope.runtime.keras3.layers.recurrent_cells import GRUCell, LSTMCell, SimpleRNNCell
from tflogscope.runtime.keras3.layers.recurrent_stack import StackedRNNCells
from tflogscope.runtime.keras3.layers.reshaping import (
    Cropping1D,
    Cropping2D,
    RepeatVector,
    UpSampling1D,
    UpSampling2D,
    ZeroPadding1D,
    ZeroPadding2D,
)
from tflogscope.runtime.keras3.layers.simple_attention import AdditiveAttention, Attention
from tflogscope.runtime.keras3.layers.wrappers import Bidirectional, TimeDistributed, Wrapper

Convolution1D, Convolution2D, DepthwiseConvolution2D = Conv1D, Conv2D, DepthwiseConv2D
Convolution1DTranspose, Convolution2DTranspose = Conv1DTranspose, Conv2DTranspose
SeparableConvolution1D, SeparableConvolution2D = SeparableConv1D, SeparableConv2D
MaxPool1D, MaxPool2D, AvgPool1D, AvgPool2D = (
    MaxPooling1D, MaxPooling2D, AveragePooling1D, AveragePooling2D,
)  # fmt: skip
GlobalAvgPool1D, GlobalAvgPool2D = GlobalAveragePooling1D, GlobalAveragePooling2D
GlobalMaxPool1D, GlobalMaxPool2D = GlobalMaxPooling1D, GlobalMaxPooling2D

__all__ = [
    "ELU", "GRU", "LSTM", "RNN", "Activation", "ActivityRegularization", "Add", "AdditiveAttention",
    "AlphaDropout", "Attention", "Average", "AveragePooling1D", "AveragePooling2D", "AvgPool1D",
    "AvgPool2D", "BatchNormalization", "Bidirectional", "Concatenate", "Conv1D", "Conv1DTranspose",
    "Conv2D", "Conv2DTranspose", "Convolution1D", "Convolution1DTranspose", "Convolution2D",
    "Convolution2DTranspose", "Cropping1D", "Cropping2D", "Dense", "DepthwiseConv1D",
    "DepthwiseConv2D", "DepthwiseConvolution2D", "Dropout", "EinsumDense", "Embedding", "Flatten",
    "GRUCell", "GaussianDropout", "GaussianNoise", "GlobalAveragePooling1D",
    "GlobalAveragePooling2D", "GlobalAvgPool1D", "GlobalAvgPool2D", "GlobalMaxPool1D",
    "GlobalMaxPool2D", "GlobalMaxPooling1D", "GlobalMaxPooling2D", "GroupNormalization", "Identity",
    "Input", "InputLayer", "InputSpec", "LSTMCell", "Lambda", "Layer", "LayerNormalization",
    "LeakyReLU", "Masking", "MaxPool1D", "MaxPool2D", "MaxPooling1D", "MaxPooling2D", "Maximum",
    "Minimum", "MultiHeadAttention", "Multiply", "Normalization", "PReLU", "Permute",
    "RMSNormalization", "RandomFlip", "ReLU", "RepeatVector", "Rescaling", "Reshape",
    "SeparableConv1D", "SeparableConv2D", "SeparableConvolution1D", "SeparableConvolution2D",
    "SimpleRNN", "SimpleRNNCell", "Softmax", "SpatialDropout1D", "SpatialDropout2D",
    "StackedRNNCells", "Subtract", "TimeDistributed", "UnitNormalization", "UpSampling1D",
    "UpSampling2D", "Wrapper", "ZeroPadding1D", "ZeroPadding2D", "add", "concatenate",
]  # fmt: skip

__getattr__ = missing("tf.keras.layers")
