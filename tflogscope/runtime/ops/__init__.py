"""The table of ops. A row is signature, shape rule, NumPy expression, gradient; what is too long for
a row is a function above it. To find an op, look for `op("MatMul(`.

rules.py         shape rules that several ops have, and how gradients of broadcasting are summed
elementwise.py   one number at a time: arithmetic, comparisons, activations
arrays.py        constants, shapes, moving, joining
gathering.py     slices, gathering, scattering
reductions.py    sums, extremes, scans, softmax and cross entropy
matrices.py      products, linear equations
images.py        convolutions, pools, batch normalisation
state.py         variables; Switch, Merge, Enter, Exit; strings, printing, assertions
lists.py         lists of tensors: what a TensorArray is in a function
random.py        random numbers

Importing the package registers all.
"""

from __future__ import annotations

from typing import Any

from tflogscope.runtime.core.errors import NotInThisRuntime
from tflogscope.runtime.core.registry import set_gradient
from tflogscope.runtime.ops import (
    arrays,
    elementwise,
    gathering,
    images,
    lists,
    matrices,
    random,
    reductions,
    state,
)

PARTS = (
    *(arrays, elementwise, gathering, images, lists, matrices),
    *(random, reductions, state),
)
"""Importing them has filled the table."""
_LEFT_OUT = (
    "AvgPoolGrad BiasAddGrad Conv2DBackpropFilter Conv2DBackpropInput "
    "DepthwiseConv2dNativeBackpropFilter DepthwiseConv2dNativeBackpropInput DynamicStitch EluGrad "
    "FloorMod FusedBatchNormGradV3 MatrixDiagV3 Max MaxPoolGrad Min Prod ReciprocalGrad RsqrtGrad "
    "SigmoidGrad Slice SqrtGrad StridedSliceGrad Tile"
)


@set_gradient(*_LEFT_OUT.split())
def _left_out(op: Any, *_: Any) -> Any:
    """TensorFlow has it. Silence would be a wrong number."""
    raise NotInThisRuntime(f"the gradient of {op.type}")
