"""The ops that steer values in a dataflow graph: what conditionals and loops are lowered to.

`Switch` sends its input to one of two outputs, the other is dead; `Merge` takes the input that is
live. `Enter`, `NextIteration` and `Exit` hand their input on: into a loop's frame, to its next
iteration, out of it (executor/dataflow.py). Told about: `core/ops/control_flow_ops.cc`,
`core/kernels/control_flow_ops.cc`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tflogscope.runtime import dtypes
from tflogscope.runtime.executor.frames import DEAD
from tflogscope.runtime.operations import Inference, Spec, register
from tflogscope.runtime.shapes import SCALAR, UNKNOWN, TensorShape

__all__: list[str] = []


def _like_input(i: Inference) -> list[Spec]:
    return [(i.dtype(0), i.shape(0))]


def _like_input_twice(i: Inference) -> list[Spec]:
    return [(i.dtype(0), i.shape(0))] * 2


def _like_input_often(i: Inference) -> list[Spec]:
    return [(i.dtype(0), i.shape(0))] * int(i.attributes["num_outs"])


def _merged(i: Inference) -> list[Spec]:
    shapes = {each.shape for each in i.inputs}
    shape: TensorShape = shapes.pop() if len(shapes) == 1 else UNKNOWN
    return [(i.dtype(0), shape), (dtypes.int32, SCALAR)]


def _switch(data: Any, predicate: Any) -> tuple[Any, Any]:
    return (DEAD, data) if predicate else (data, DEAD)


def _switch_n(data: Any, index: Any, num_outs: int) -> tuple[Any, ...]:
    chosen = int(index) if 0 <= index < num_outs else num_outs - 1
    return tuple(data if which == chosen else DEAD for which in range(num_outs))


def _merge(*inputs: Any) -> tuple[Any, Any]:
    which = next(at for at, value in enumerate(inputs) if value is not DEAD)
    return inputs[which], np.array(which, np.int32)


def _hand_on(data: Any) -> Any:
    return data


register("Switch", _like_input_twice, _switch, attributes=("T",))
register("_SwitchN", _like_input_often, _switch_n, attributes=("T", "num_outs"))
register("Merge", _merged, _merge, attributes=("N", "T"))
register(
    "Enter",
    _like_input,
    _hand_on,
    attributes=("T", "frame_name", "is_constant", "parallel_iterations"),
)
register("Exit", _like_input, _hand_on, attributes=("T",))
register("NextIteration", _like_input, _hand_on, attributes=("T",))
register("LoopCond", _like_input, _hand_on)
