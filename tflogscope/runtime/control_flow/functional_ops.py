"""The functional ops `If`, `Case` and `While`: their branches are functions. In the graph that runs
they are lowered.

Their kernels run when they are not: called eagerly, by `tf.raw_ops`.
Told about: `core/ops/functional_ops.cc`, `core/kernels/functional_ops.cc`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tflogscope.runtime.operations import Inference, Spec, register
from tflogscope.runtime.shapes import as_shape

__all__ = ["truth"]


def truth(value: Any) -> bool:
    """Whether a condition holds: numbers but 0 and strings but "" do, arrays with elements."""
    if np.ndim(value) == 0:
        return bool(value.item()) if isinstance(value, np.ndarray) else bool(value)
    return bool(np.size(value))


def _conditional(i: Inference) -> list[Spec]:
    return [
        (dtype, as_shape(shape))
        for dtype, shape in zip(i.attributes["Tout"], i.attributes["output_shapes"], strict=True)
    ]


def _loop(i: Inference) -> list[Spec]:
    return [
        (dtype, as_shape(shape))
        for dtype, shape in zip(i.attributes["T"], i.attributes["output_shapes"], strict=True)
    ]


def _if(condition: Any, *inputs: Any, then_branch: Any, else_branch: Any) -> Sequence[Any]:
    return tuple((then_branch if truth(condition) else else_branch).run(inputs))


def _case(index: Any, *inputs: Any, branches: Any) -> Sequence[Any]:
    return tuple(branches[int(index) if 0 <= index < len(branches) else -1].run(inputs))


def _while(*inputs: Any, cond: Any, body: Any) -> Sequence[Any]:
    values: Sequence[Any] = inputs
    while truth(cond.run(values)[0]):
        values = body.run(values)
    return tuple(values)


_IF = ("Tcond", "Tin", "Tout", "then_branch", "else_branch", "output_shapes")
_CASE = ("Tin", "Tout", "branches", "output_shapes")
_WHILE = ("T", "cond", "body", "output_shapes", "parallel_iterations")
register("If", _conditional, _if, attributes=_IF, stateful=True)
register("StatelessIf", _conditional, _if, attributes=_IF)
register("Case", _conditional, _case, attributes=_CASE, stateful=True)
register("StatelessCase", _conditional, _case, attributes=_CASE)
register("While", _loop, _while, attributes=_WHILE, stateful=True)
register("StatelessWhile", _loop, _while, attributes=_WHILE)
