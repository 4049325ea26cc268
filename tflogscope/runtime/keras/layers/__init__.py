"""`tf.keras.layers`."""

from __future__ import annotations

from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.keras.keras_tensor import Input
from tflogscope.runtime.keras.layers.attention import MultiHeadAttention
from tflogscope.runtime.keras.layers.base import Layer
from tflogscope.runtime.keras.layers.convolution import Conv2D, DepthwiseConv2D
from tflogscope.runtime.keras.layers.core import (
    ELU,
    Activation,
    Dense,
    Dropout,
    Embedding,
    Flatten,
    InputLayer,
    Lambda,
    LeakyReLU,
    ReLU,
    Reshape,
    Softmax,
)
from tflogscope.runtime.keras.layers.merging import (
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
from tflogscope.runtime.keras.layers.normalization import BatchNormalization, LayerNormalization
from tflogscope.runtime.keras.layers.pooling import (
    AveragePooling2D,
    AvgPool2D,
    GlobalAveragePooling1D,
    GlobalAveragePooling2D,
    GlobalMaxPooling1D,
    GlobalMaxPooling2D,
    MaxPool2D,
    MaxPooling2D,
)
from tflogscope.runtime.keras.layers.recurrent import RNN
from tflogscope.runtime.keras.layers.recurrent_cells import GRUCell, LSTMCell, SimpleRNNCell
from tflogscope.runtime.keras.layers.recurrent_fused import GRU, LSTM, SimpleRNN

Convolution2D, DepthwiseConvolution2D = Conv2D, DepthwiseConv2D
GlobalAvgPool1D, GlobalAvgPool2D = GlobalAveragePooling1D, GlobalAveragePooling2D
GlobalMaxPool1D, GlobalMaxPool2D = GlobalMaxPooling1D, GlobalMaxPooling2D

__all__ = [
    "ELU", "GRU", "LSTM", "RNN", "Activation", "Add", "Average", "AveragePooling2D", "AvgPool2D",
    "BatchNormalization", "Concatenate", "Conv2D", "Convolution2D", "Dense", "DepthwiseConv2D",
    "DepthwiseConvolution2D", "Dropout", "Embedding", "Flatten", "GRUCell",
    "GlobalAveragePooling1D", "GlobalAveragePooling2D", "GlobalAvgPool1D", "GlobalAvgPool2D",
    "GlobalMaxPool1D", "GlobalMaxPool2D", "GlobalMaxPooling1D", "GlobalMaxPooling2D", "Input",
    "InputLayer", "LSTMCell", "Lambda", "Layer", "LayerNormalization", "LeakyReLU", "MaxPool2D",
    "MaxPooling2D", "Maximum", "Minimum", "MultiHeadAttention", "Multiply", "ReLU", "Reshape",
    "SimpleRNN", "SimpleRNNCell", "Softmax", "Subtract", "add", "concatenate",
]  # fmt: skip

__getattr__ = missing("tf.keras.layers")
