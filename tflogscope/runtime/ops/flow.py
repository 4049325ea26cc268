"""What conditionals and loops are lowered to: Switch, Merge, Enter, Exit. The ops that run a
function are in `executor/__init__.py`. See `core/ops/control_flow_ops.cc`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tflogscope.runtime.core.registry import Inference, op
from tflogscope.runtime.core.shapes import SCALAR, UNKNOWN
from tflogscope.runtime.ops.rules import same, unknown


class _Dead:
    def __repr__(self) -> str:
        return "DEAD"


DEAD = _Dead()
"""What comes out of a branch that was not taken."""


# -- lowered: kernels hand on values, and the executor knows which branch and which iteration


def _merged(i: Inference) -> Any:
    shapes = {each.shape for each in i.inputs}
    return [shapes.pop() if len(shapes) == 1 else UNKNOWN, SCALAR]


def _merge(*inputs: Any) -> Any:
    which = next(at for at, value in enumerate(inputs) if value is not DEAD)
    return inputs[which], np.array(which, np.int32)


op("Switch(data: T, pred: bool) -> output_false: T, output_true: T", lambda i: [i.shape(0)] * 2,
   lambda data, pred: (DEAD, data) if pred else (data, DEAD))  # fmt: skip
op("Merge(inputs: N*T) -> output: T, value_index: int32", _merged, _merge)
op("Enter(data: T; frame_name, is_constant=False, parallel_iterations=10) -> output: T", same,
   lambda data: data)  # fmt: skip
op("LoopCond(input: bool) -> output: bool", same, lambda data: data)
for _type in ("Exit", "NextIteration"):
    op(f"{_type}(data: T) -> output: T", same, lambda data: data)
LOWERED = frozenset({"Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond"})

# -- the ends of a function, and what is fed and fetched
op("_Arg(; T, index=0) -> output: T", unknown, lambda: None)
op("_Retval(input: T; index=0)", lambda _: [], lambda input: ())
op("_Recv(; tensor_type, tensor_name='') -> tensor: tensor_type", unknown, lambda: None)
op("_Send(tensor: T; tensor_name='')", lambda _: [], lambda tensor: ())
