"""`tf.keras.layers` of Keras 3. Read base.py first: what a layer is, and what calling one means.

base.py              `Layer`; tracking.py: what it owns; described.py: what it says of itself;
                     call_arguments.py: what it was called with
core.py              Dense, Embedding, Dropout, …
convolution.py, pooling.py, normalization.py, merging.py
recurrent.py         `RNN`: a cell (recurrent_cells.py) or several (recurrent_stack.py) over time
                     (recurrence.py)
wrappers.py          layers around a layer
einsum_dense.py, attention.py
"""

from __future__ import annotations

from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.keras.layers.checking import InputSpec
from tflogscope.runtime.keras3.layers.attention import MultiHeadAttention
from tflogscope.runtime.keras3.layers.base import Layer
from tflogscope.runtime.keras3.layers.convolution import Conv1D, Conv2D, DepthwiseConv2D
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
    ReLU,
    Rescaling,
    Reshape,
    Softmax,
)
from tflogscope.runtime.keras3.layers.einsum_dense import EinsumDense
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
from tflogscope.runtime.keras3.layers.wrappers import Bidirectional, TimeDistributed, Wrapper

Convolution2D, DepthwiseConvolution2D = Conv2D, DepthwiseConv2D
MaxPool1D, MaxPool2D, AvgPool1D, AvgPool2D = (
    MaxPooling1D, MaxPooling2D, AveragePooling1D, AveragePooling2D,
)  # fmt: skip
GlobalAvgPool1D, GlobalAvgPool2D = GlobalAveragePooling1D, GlobalAveragePooling2D
GlobalMaxPool1D, GlobalMaxPool2D = GlobalMaxPooling1D, GlobalMaxPooling2D

__all__ = [
    "ELU", "GRU", "LSTM", "RNN", "Activation", "Add", "Average", "AveragePooling1D",
    "AveragePooling2D", "AvgPool1D", "AvgPool2D", "BatchNormalization", "Bidirectional",
    "Concatenate", "Conv1D", "Conv2D", "Convolution2D", "Dense", "DepthwiseConv2D",
    "DepthwiseConvolution2D", "Dropout", "EinsumDense", "Embedding", "Flatten", "GRUCell",
    "GlobalAveragePooling1D", "GlobalAveragePooling2D", "GlobalAvgPool1D", "GlobalAvgPool2D",
    "GlobalMaxPool1D", "GlobalMaxPool2D", "GlobalMaxPooling1D", "GlobalMaxPooling2D", "Identity",
    "Input", "InputLayer", "InputSpec", "LSTMCell", "Lambda", "Layer", "LayerNormalization",
    "LeakyReLU", "Masking", "MaxPool1D", "MaxPool2D", "MaxPooling1D", "MaxPooling2D", "Maximum",
    "Minimum", "MultiHeadAttention", "Multiply", "Permute", "ReLU", "Rescaling", "Reshape",
    "SimpleRNN", "SimpleRNNCell", "Softmax", "StackedRNNCells", "Subtract", "TimeDistributed",
    "Wrapper", "add", "concatenate",
]  # fmt: skip

__getattr__ = missing("tf.keras.layers")
