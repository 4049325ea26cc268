"""`keras.ops`: NumPy's and neural networks' functions, made of ops of TensorFlow.

core.py: what is a tensor; arithmetic.py, with slices.py for sparse gradients; arrays.py; nn.py,
convolutions.py; products.py: einsum and attention; more.py: what only programs call.
All of Keras 3 is written in terms of these. Called on Keras tensors they become nodes of a model.
"""

from __future__ import annotations

from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.keras3.ops import arithmetic, arrays, convolutions, core, more, nn, products
from tflogscope.runtime.keras3.ops.arithmetic import *  # noqa: F403  it is one namespace
from tflogscope.runtime.keras3.ops.arrays import *  # noqa: F403
from tflogscope.runtime.keras3.ops.convolutions import *  # noqa: F403
from tflogscope.runtime.keras3.ops.core import *  # noqa: F403
from tflogscope.runtime.keras3.ops.more import *  # noqa: F403
from tflogscope.runtime.keras3.ops.nn import *  # noqa: F403
from tflogscope.runtime.keras3.ops.products import *  # noqa: F403

__all__ = [  # noqa: PLE0604
    *arithmetic.__all__, *arrays.__all__, *convolutions.__all__, *core.__all__, *more.__all__,
    *nn.__all__, *products.__all__,
]  # fmt: skip

abs = arithmetic.absolute  # noqa: A001  as in NumPy
true_divide, swish = arithmetic.divide, nn.silu

__getattr__ = missing("tf.keras.ops")
