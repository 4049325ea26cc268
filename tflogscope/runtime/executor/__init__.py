"""Runs graphs. A graph is traced once and run many times, so all that can be done once is done
before the first run.

    pruning.py    which nodes run at all
    plan.py       what is left, as steps with bound kernels and numbered values
    flat.py       runs a plan without control flow, from top to bottom
    dataflow.py   runs any plan: ready nodes, dead branches, loops (frames.py), threads (threads.py)
    failing.py    errors that name their node

Before that, functional control flow is lowered and calls are inlined: control_flow/lowering.py.
Told about: `core/common_runtime/process_function_library_runtime.cc` and `executor.cc`.
"""

from __future__ import annotations

import random
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from tflogscope.runtime import telling
from tflogscope.runtime.executor.dataflow import run_dataflow
from tflogscope.runtime.executor.flat import run_flat
from tflogscope.runtime.executor.plan import Plan, compile_plan
from tflogscope.runtime.executor.threads import inter_op_threads
from tflogscope.runtime.function.definition import FunctionDef

__all__ = ["instantiate", "run"]

COMPILED = "_XlaMustCompile"
"""The attribute of a function that TensorFlow compiles as one unit (`jit_compile=True`)."""

_step_ids = random.Random(0)  # noqa: S311 - a number to tell runs apart


def instantiate(definition: FunctionDef) -> Plan:
    """The plan of a function, made when it is first asked for."""
    plan = definition.plan
    if plan is None and definition.attributes.get(COMPILED):
        from tflogscope.runtime.control_flow.lowering import lowered

        plan = definition.plan = compile_plan(lowered(definition))
        plan.launches = set()
    elif plan is None:
        from tflogscope.runtime import passes
        from tflogscope.runtime.control_flow.lowering import lowered

        settings = passes.current()
        ready = lowered(definition) if settings is None else passes.optimize(definition, settings)
        plan = definition.plan = compile_plan(ready)
        if telling.listener is not None:
            telling.listener.function_instantiated(definition.name, ready)
    return plan  # type: ignore[no-any-return]


def run(definition: FunctionDef, values: Sequence[Any], threads: int | None = None) -> list[Any]:
    """Run a function: the values of its results for these values of its arguments.

    `values` are arrays, or for resources and variants Python objects. Raises OpError if a kernel
    does, ValueError for a wrong number of values.
    """
    plan = definition.plan or instantiate(definition)
    if len(values) != len(definition.arguments):
        raise ValueError(
            f"{definition.name} takes {len(definition.arguments)} values, got {len(values)}"
        )
    threads = threads or inter_op_threads() or 1
    with np.errstate(all="ignore"):
        if telling.listener is not None:
            if plan.launches is not None:
                _tell_launch(plan, values, plan.launches, telling.listener)
            else:
                return _run_told(plan, values, threads, telling.listener)
        if plan.flat and threads == 1:
            return run_flat(plan, values, 0)
        return run_dataflow(plan, values, 0, threads)


def _run_told(
    plan: Plan, values: Sequence[Any], threads: int, listener: telling.Listener
) -> list[Any]:
    step_id = -_step_ids.getrandbits(63)  # TensorFlow's are random too, and negative for functions
    name = plan.definition.name
    listener.function_called(name, step_id, plan.definition)
    _tell_prologue(plan, values, step_id, listener)
    failed: BaseException | None = None
    try:
        if plan.flat and threads == 1:
            return run_flat(plan, values, step_id)
        return run_dataflow(plan, values, step_id, threads)
    except BaseException as error:
        failed = error
        raise
    finally:
        listener.function_returned(name, step_id, failed)


def _tell_launch(
    plan: Plan, values: Sequence[Any], launches: set[Hashable], listener: telling.Listener
) -> None:
    """The run of a function that is compiled first, once for each types of its arguments."""
    types = tuple((str(getattr(each, "dtype", "")), np.shape(each)) for each in values)
    listener.function_launched(plan.definition.name, plan.definition, cached=types in launches)
    launches.add(types)


def _tell_prologue(
    plan: Plan, values: Sequence[Any], step_id: int, listener: telling.Listener
) -> None:
    """The nodes that need no kernel: the source of all, and the arguments."""
    passed = {
        node.name: value for node, value in zip(plan.definition.arguments, values, strict=True)
    }
    for node in plan.definition.prologue:
        listener.node_started(step_id, node)
        listener.node_done(step_id, node, [passed[node.name]] if node.name in passed else [])
