"""The table of ops. A row is signature, shape rule, NumPy expression, gradient; what is too long for
a row is a function above it. To find an op, look for `op("MatMul(`.

rules.py         shape rules that several ops have, and how gradients of broadcasting are summed
elementwise.py   one number at a time: arithmetic, comparisons, activations
arrays.py        constants, shapes, moving, joining
gathering.py     slices, gathering, scattering
reductions.py    sums, extremes, scans
matrices.py      products, linear equations
images.py        convolutions, pools
normalisation.py batch normalisation
losses.py        softmax and cross entropy
state.py         variables
lists.py         lists of tensors: what a TensorArray is in a function
flow.py          conditionals, loops, calls; Switch, Merge, Enter, Exit
random.py        random numbers
texts.py         strings, printing, assertions

Importing the package registers all.
"""

from __future__ import annotations

from typing import Any

from tflogscope.runtime.core.errors import NotInThisRuntime
from tflogscope.runtime.core.registry import set_gradient
from tflogscope.runtime.ops import (
    arrays as arrays,
)
from tflogscope.runtime.ops import (
    elementwise as elementwise,
)
from tflogscope.runtime.ops import (
    flow as flow,
)
from tflogscope.runtime.ops import (
    gathering as gathering,
)
from tflogscope.runtime.ops import (
    images as images,
)
from tflogscope.runtime.ops import (
    lists as lists,
)
from tflogscope.runtime.ops import (
    losses as losses,
)
from tflogscope.runtime.ops import (
    matrices as matrices,
)
from tflogscope.runtime.ops import (
    normalisation as normalisation,
)
from tflogscope.runtime.ops import (
    random as random,
)
from tflogscope.runtime.ops import (
    reductions as reductions,
)
from tflogscope.runtime.ops import (
    state as state,
)
from tflogscope.runtime.ops import (
    texts as texts,
)

_LEFT_OUT = (
    "EluGrad SeluGrad DynamicStitch MaxPoolGrad FusedBatchNormGradV3 "
    "DepthwiseConv2dNativeBackpropInput DepthwiseConv2dNativeBackpropFilter MatrixDiagPartV3 Qr TopKV2"
)


@set_gradient(*_LEFT_OUT.split())
def _left_out(op: Any, *_: Any) -> Any:
    """TensorFlow has it. Silence would be a wrong number."""
    raise NotInThisRuntime(f"the gradient of {op.type}")
