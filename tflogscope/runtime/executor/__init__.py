"""The executor: a graph that passes have rewritten runs. In reading order.

dataflow.py   a node runs when its inputs are there

Here is `run`: once a function is made ready (lowered and rewritten by the passes), each call is
a step. The ops that run a function are here too. See `FunctionLibraryRuntimeImpl::
Instantiate` and `Run` of `core/common_runtime/function.cc`, `core/kernels/functional_ops.cc`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tflogscope.runtime import passes
from tflogscope.runtime.core import telling
from tflogscope.runtime.core.errors import NotInThisRuntime
from tflogscope.runtime.core.graph import FunctionDef
from tflogscope.runtime.core.registry import Inference, op
from tflogscope.runtime.core.shapes import as_shape
from tflogscope.runtime.executor.dataflow import Plan, make_plan, run_plan


def instantiate(definition: FunctionDef) -> Plan:
    """The plan of the function, made when it is first asked for."""
    if definition.plan is None:
        ready, report = passes.optimize(definition)
        definition.plan = make_plan(ready)
        telling.listener.function_instantiated(definition, report)
    plan: Plan = definition.plan
    return plan


def run(definition: FunctionDef, values: Sequence[Any]) -> list[Any]:
    """The function's results for these arrays. Raises the OpError of a kernel."""
    plan = instantiate(definition)
    listener = telling.listener
    listener.function_called(definition)
    failed: BaseException | None = None
    try:
        with np.errstate(all="ignore"):
            return run_plan(plan, values)
    except BaseException as error:
        failed = error
        raise
    finally:
        listener.function_returned(definition, failed)


# -- ops that run a function. Conditionals and loops are lowered before it comes to that


def _shapes(i: Inference) -> Any:
    return [as_shape(each) for each in i["output_shapes"]]


def _with_handles(i: Inference) -> Any:
    """A loop's outputs lead where its inputs do."""
    pairs = zip(_shapes(i), i.inputs, strict=True)
    return [(shape, each.handle_data) if each.handle_data else shape for shape, each in pairs]


def _lowered(*_: Any, **__: Any) -> Any:
    raise NotInThisRuntime("A conditional or loop that was not lowered")


for _prefix in ("", "Stateless"):
    _stateful = not _prefix
    op(f"{_prefix}If(cond: Tcond, input: list(Tin); Tout, then_branch, else_branch, "
       "output_shapes) -> output: list(Tout)", _shapes, _lowered, stateful=_stateful)  # fmt: skip
    op(f"{_prefix}While(input: list(T); cond, body, output_shapes, parallel_iterations=10) -> "
       "output: list(T)", _with_handles, _lowered, stateful=_stateful)  # fmt: skip
_PREFIXES = {"StatefulPartitionedCall": True, "PartitionedCall": False}
for _type, _stateful in _PREFIXES.items():
    op(f"{_type}(args: list(Tin); Tout, f, output_shapes) -> output: list(Tout)", _shapes,
       lambda *inputs, f: tuple(run(f, inputs)), stateful=_stateful)  # fmt: skip
