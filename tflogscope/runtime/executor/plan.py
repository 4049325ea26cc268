"""A function made ready to run, once: nodes pruned, kernels bound to their attributes, names
replaced by numbers.

Each output of a node has a *slot*, a place in a list of values; a step of the plan says from which
slots the kernel takes its inputs and into which it puts its outputs. Constants are in their slots
before a run starts. Told about: `ImmutableExecutorState::Initialize` and `GraphView` of
`core/common_runtime`, which do the same with pointers.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from tflogscope.runtime.dtypes import DType, bfloat16
from tflogscope.runtime.eager import as_value, output_values
from tflogscope.runtime.executor.pruning import in_order, needed
from tflogscope.runtime.function.definition import Endpoint, FunctionDef, NodeDef
from tflogscope.runtime.operations import bind
from tflogscope.runtime.ops.references import GIVES_REFERENCE, TAKES_REFERENCE, dereferenced

__all__ = ["CONTROL_FLOW", "Plan", "Step", "compile_plan", "kernel_values"]

CONTROL_FLOW = frozenset(
    {"Switch", "_SwitchN", "Merge", "Enter", "Exit", "NextIteration", "LoopCond"}
)
"""The ops that make values live or dead, or carry them between iterations: a graph with these is no
flat list.
"""


@dataclass(slots=True)
class Step:
    """One node, ready to run. `simple`: its kernel gives one array, to be stored as it is."""

    node: NodeDef
    kernel: Callable[..., Any]
    inputs: tuple[int, ...]
    first: int
    """The slot of its first output; the others follow."""
    dtypes: tuple[DType, ...]
    simple: bool
    constant: bool
    steers: bool
    """Its outputs may be dead, and are handed on as they are."""
    spent: tuple[int, ...] = ()
    """The slots that no later step reads: their values are let go."""


@dataclass(slots=True, eq=False)
class Plan:
    """A function that is ready to run. `flow` is the dataflow executor's view of it, made when it
    is needed.
    """

    definition: FunctionDef
    steps: list[Step]
    slots: list[Any]
    """The values of all slots before a run: those of constants, else None; arguments come first."""
    results: tuple[int, ...]
    flat: bool
    """Whether it can run as a list from top to bottom."""
    flow: Any = None
    launches: set[Hashable] | None = None
    """Of a function that TensorFlow compiles as one unit, and whose nodes nobody hears of: the
    types of arguments for which it was compiled.
    """


def compile_plan(definition: FunctionDef) -> Plan:
    """Make a function ready to run. Raises NotInThisRuntime for ops without a kernel."""
    nodes = needed(definition)
    flat = not any(node.type in CONTROL_FLOW for node in nodes)
    if flat:
        nodes = in_order(nodes)
    slots = _Slots()
    for argument in definition.arguments:
        slots.add(argument)
    for node in nodes:
        slots.add(node)
    steps = [_step(node, slots) for node in nodes]
    _read_references(steps)
    values: list[Any] = [None] * slots.count
    for step in steps:
        if step.constant:
            values[step.first] = kernel_values(step, [])[0]
    results = tuple(slots.of(endpoint) for endpoint in definition.results)
    if flat:
        _let_go(steps, keep=results)
    return Plan(definition, steps, values, results, flat)


class _Slots:
    def __init__(self) -> None:
        self.first: dict[str, int] = {}
        self.count = 0

    def add(self, node: NodeDef) -> None:
        self.first[node.name] = self.count
        self.count += len(node.dtypes)

    def of(self, endpoint: Endpoint) -> int:
        name, index = endpoint
        return self.first[name] + index


def _step(node: NodeDef, slots: _Slots) -> Step:
    only = node.dtypes[0] if len(node.dtypes) == 1 else None
    return Step(
        node,
        bind(node.op, node.attributes),
        tuple(slots.of(endpoint) for endpoint in node.inputs),
        slots.first[node.name],
        node.dtypes,
        simple=only is not None and only is not bfloat16,
        constant=node.type == "Const",
        steers=node.type in CONTROL_FLOW,
    )


def _read_references(steps: Sequence[Step]) -> None:
    """What takes no reference is given the value behind it (`ExecutorState::PrepareInputs`)."""
    references = {step.node.name for step in steps if step.node.type in GIVES_REFERENCE}
    if not references:
        return
    for step in steps:
        if step.node.type not in TAKES_REFERENCE and any(
            name in references for name, _ in step.node.inputs
        ):
            step.kernel = _reading(step.kernel)


def _reading(kernel: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *values: kernel(*map(dereferenced, values))


def _let_go(steps: Sequence[Step], keep: Sequence[int]) -> None:
    kept = {*keep, *(step.first for step in steps if step.constant)}
    for step in reversed(steps):
        step.spent = tuple({slot for slot in step.inputs if slot not in kept})
        kept.update(step.spent)


def kernel_values(step: Step, inputs: Sequence[Any]) -> list[Any]:
    """What the kernel computes, one value per output."""
    result = step.kernel(*inputs)
    if step.steers:
        return list(result) if isinstance(result, tuple) else [result]
    if step.simple and not isinstance(result, tuple | list):
        return [as_value(result, step.dtypes[0])]
    return output_values(result, step.dtypes)
