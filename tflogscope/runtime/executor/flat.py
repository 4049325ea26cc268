"""Runs a plan without control flow from top to bottom, on the thread that called it.

Most functions are such, and most of the time of a small op is what surrounds its kernel: here that
is a few list look-ups. Told about: `core/common_runtime/single_threaded_executor.cc`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import dropwhile
from typing import Any

import numpy as np

from tflogscope.runtime import telling
from tflogscope.runtime.eager import as_value, output_values
from tflogscope.runtime.errors import KERNEL_ERRORS, OpError, as_op_error
from tflogscope.runtime.executor.failing import located
from tflogscope.runtime.executor.plan import Plan, Step, kernel_values
from tflogscope.runtime.function.definition import NodeDef

__all__ = ["run_flat"]


def run_flat(plan: Plan, values: Sequence[Any], step_id: int) -> list[Any]:
    """The results for these arguments. Raises the OpError of the first kernel that fails."""
    if telling.listener is not None and plan.launches is None:
        return _run_told(plan, values, step_id, telling.listener)
    slots = plan.slots.copy()
    slots[: len(values)] = values
    step = None
    try:
        for step in plan.steps:
            if step.constant:
                continue
            result = step.kernel(*[slots[slot] for slot in step.inputs])
            if type(result) is np.ndarray and step.simple:
                slots[step.first] = result
            elif step.simple and type(result) not in (tuple, list):
                slots[step.first] = as_value(result, step.dtypes[0])
            else:
                outputs = output_values(result, step.dtypes)
                slots[step.first : step.first + len(outputs)] = outputs
            for slot in step.spent:
                slots[slot] = None
    except KERNEL_ERRORS as raised:
        error = located(as_op_error(raised), step.node if step else None)
        if step is not None:
            _run_rest(plan, slots, step)
        raise error from None
    return [slots[slot] for slot in plan.results]


def _run_rest(plan: Plan, slots: list[Any], failed: Step) -> None:
    """What needs nothing of the node that failed runs all the same, as it would on threads.

    Told about: `ExecutorState::NodeDone`, which schedules no more after a failure than what other
    nodes make ready.
    """
    missing = {failed.node.name}
    after = dropwhile(lambda step: step is not failed, plan.steps)
    next(after)
    for step in after:
        if _needs(step.node, missing):
            missing.add(step.node.name)
            continue
        try:
            outputs = kernel_values(step, [slots[slot] for slot in step.inputs])
        except KERNEL_ERRORS:
            missing.add(step.node.name)
        else:
            slots[step.first : step.first + len(outputs)] = outputs


def _needs(node: NodeDef, missing: set[str]) -> bool:
    return any(source in missing for source, _ in node.inputs) or any(
        source in missing for source in node.control_inputs
    )


def _run_told(
    plan: Plan, values: Sequence[Any], step_id: int, listener: telling.Listener
) -> list[Any]:
    """The same, telling each node."""
    slots = plan.slots.copy()
    slots[: len(values)] = values
    missing: set[str] = set()
    first: OpError | None = None
    for step in plan.steps:
        if missing and _needs(step.node, missing):
            missing.add(step.node.name)
            continue
        listener.node_started(step_id, step.node)
        try:
            outputs = kernel_values(step, [slots[slot] for slot in step.inputs])
        except KERNEL_ERRORS as raised:
            error = as_op_error(raised)
            listener.node_failed(step_id, step.node, error)
            missing.add(step.node.name)
            first = first or located(error, step.node)
            continue
        slots[step.first : step.first + len(outputs)] = outputs
        listener.node_done(step_id, step.node, outputs)
    if first is not None:
        raise first
    return [slots[slot] for slot in plan.results]
