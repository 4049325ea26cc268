"""Runs a plan without control flow from top to bottom, on the thread that called it.

Most functions are such, and most of the time of a small op is what surrounds its kernel: here that
is a few list look-ups. Told about: `core/common_runtime/single_threaded_executor.cc`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tflogscope.runtime import telling
from tflogscope.runtime.eager import as_value, output_values
from tflogscope.runtime.errors import KERNEL_ERRORS, as_op_error
from tflogscope.runtime.executor.failing import located
from tflogscope.runtime.executor.plan import Plan, kernel_values

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
    except KERNEL_ERRORS as error:
        raise located(as_op_error(error), step.node if step else None) from None
    return [slots[slot] for slot in plan.results]


def _run_told(
    plan: Plan, values: Sequence[Any], step_id: int, listener: telling.Listener
) -> list[Any]:
    """The same, telling each node."""
    slots = plan.slots.copy()
    slots[: len(values)] = values
    for step in plan.steps:
        listener.node_started(step_id, step.node)
        try:
            outputs = kernel_values(step, [slots[slot] for slot in step.inputs])
        except KERNEL_ERRORS as raised:
            error = as_op_error(raised)
            listener.node_failed(step_id, step.node, error)
            raise located(error, step.node) from None
        slots[step.first : step.first + len(outputs)] = outputs
        listener.node_done(step_id, step.node, outputs)
    return [slots[slot] for slot in plan.results]
