"""A node runs as soon as its inputs are there. What comes out of a branch that was not taken is
DEAD, and so is all that needs it. Each loop that runs is a `Frame`, whose iterations may overlap.
See `ExecutorState` and `PropagatorState` of `core/common_runtime/executor.cc`,
`propagator_state.cc`.

NB: it runs on one thread here. TensorFlow deals nodes to a pool; where the log shows threads the
emitter deals them (`emitter/running.py`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tflogscope.runtime.core import telling
from tflogscope.runtime.core.errors import KERNEL_ERRORS, as_op_error
from tflogscope.runtime.core.registry import output_values
from tflogscope.runtime.executor.plan import Item, Plan, Scope
from tflogscope.runtime.ops.flow import DEAD, LOWERED


class _Iteration:
    """One iteration of a frame: the values that have arrived, and who still waits."""

    def __init__(self, frame: _Frame) -> None:
        self.frame = frame
        self.inputs: list[Any] = [DEAD] * frame.scope.inputs
        self.pending = frame.scope.pending.copy()
        self.dead = [0] * len(self.pending)
        self.frames: dict[str, _Frame] = {}
        """The loops in it."""
        self.following: _Iteration | None = None


@dataclass(eq=False)
class _Frame:
    """A loop that runs; the whole function is one, too."""

    scope: Scope
    parent: _Iteration | None = None
    first: _Iteration | None = None
    waiting: int = 0
    """Enter nodes that have not run."""
    constants: list[tuple[Item, list[Any]]] = field(default_factory=list)
    """Loop invariants: they enter each iteration."""


def run_plan(plan: Plan, values: Sequence[Any]) -> list[Any]:
    """The results. Raises the first OpError of a kernel."""
    run, iteration = _Run(values), _Iteration(_Frame(plan.root))
    run.ready.extend((item, iteration) for item in plan.sources)
    while run.ready:
        run.process(*run.ready.popleft())
    if run.error is not None:
        raise run.error
    return [run.results[index] for index in sorted(run.results)]


class _Run:
    def __init__(self, values: Sequence[Any]) -> None:
        self.values, self.listener = values, telling.listener
        self.results: dict[int, Any] = {}
        self.ready: deque[tuple[Item, _Iteration]] = deque()
        self.error: BaseException | None = None

    def process(self, item: Item, iteration: _Iteration) -> None:
        node = item.node
        inputs = iteration.inputs[item.first : item.first + len(node.inputs)]
        dead = bool(iteration.dead[item.index]) and (
            not item.is_merge or all(value is DEAD for value in inputs)
        )
        if dead:
            self.listener.node_dead(node)
            self._propagate(item, iteration, [DEAD] * len(node.dtypes), dead=True)
            return
        self.listener.node_started(node)
        try:
            outputs = self._kernel(item, inputs)
        except KERNEL_ERRORS as raised:
            error = as_op_error(raised)
            where = node.name if "{{node " in error.message else f"{{{{node {node.name}}}}}"
            error = type(error)(None, None, f"{error.message}\n\t [[{where}]]")
            self.error = self.error or error
            self.listener.node_failed(node, error)
            return
        self.listener.node_done(node, inputs, outputs)
        self._propagate(item, iteration, outputs, dead=False)

    def _kernel(self, item: Item, inputs: list[Any]) -> list[Any]:
        node = item.node
        if node.type == "_Arg":
            return [self.values[node.attributes["index"]]]
        if node.type == "_Retval":
            self.results[node.attributes["index"]] = inputs[0]
            return []
        result = item.kernel(*inputs)
        if node.type in LOWERED:
            return list(result) if isinstance(result, tuple) else [result]
        return output_values(result, node.dtypes)

    # -- where the outputs go

    def _propagate(
        self, item: Item, iteration: _Iteration, outputs: list[Any], *, dead: bool
    ) -> None:
        kind, parent = item.node.type, iteration.frame.parent
        if kind == "Enter":
            self._enter(item, iteration, outputs, dead=dead)
        elif kind == "NextIteration":
            if not dead:
                self._activate(item, self._following(iteration), outputs, dead=False)
        elif kind != "Exit":
            self._activate(item, iteration, outputs, dead=dead)
        elif parent is not None and (not dead or all(iteration.dead[at] for at in item.before)):
            # a dead one leaves a loop that never ran; else its Switch has only gone the other way
            self._activate(item, parent, outputs, dead=dead)

    def _activate(
        self, item: Item, iteration: _Iteration, outputs: Sequence[Any], *, dead: bool
    ) -> None:
        for value, targets in zip(outputs, item.targets, strict=True):
            for target, position in targets:
                if value is not DEAD:
                    iteration.inputs[position] = value
                self._arrived(item, target, iteration, dead=value is DEAD)
        for target in item.controls:
            self._arrived(item, target, iteration, dead=dead, control=True)

    def _arrived(
        self, item: Item, target: Item, iteration: _Iteration, *, dead: bool, control: bool = False
    ) -> None:
        """Something came from one node to another, which is ready if it waits for nothing more."""
        index, pending, given = target.index, iteration.pending, iteration.dead
        if not target.is_merge:
            given[index] += dead
            pending[index] -= 1
            ready = not pending[index]
        elif control or not dead:
            first = pending[index] & 1  # the first live value; control inputs may be missing
            pending[index] -= 2 if control else first
            all_dead = control and given[index] == len(target.node.inputs)
            # one of which all inputs are dead keeps the bit
            ready = bool(control or first) and pending[index] == int(all_dead)
        else:
            given[index] += 1
            # a loop in a branch not taken gets no second value: its dead Enter is enough
            all_dead = given[index] == len(target.node.inputs) or item.node.type == "Enter"
            ready = pending[index] == 1 and all_dead
        if ready:
            self.ready.append((target, iteration))

    # -- loops

    def _enter(self, item: Item, iteration: _Iteration, outputs: list[Any], *, dead: bool) -> None:
        name = item.node.attributes["frame_name"]
        frame = iteration.frames.get(name)
        if frame is None:
            scope = next(target.scope for target in item.readers)
            assert scope is not None
            frame = iteration.frames[name] = _Frame(scope, iteration, waiting=scope.enters)
            frame.first = _Iteration(frame)
        constant, into = bool(item.node.attributes.get("is_constant")), frame.first
        if constant:
            frame.constants.append((item, outputs))
        while into is not None:
            self._activate(item, into, outputs, dead=dead)
            into = into.following if constant else None
        frame.waiting -= 1
        if not frame.waiting:
            frame.first = None  # iterations that are over need not be kept

    def _following(self, iteration: _Iteration) -> _Iteration:
        """NB: iterations do not wait for each other; `parallel_iterations` is not looked at."""
        if iteration.following is None:
            iteration.following = _Iteration(iteration.frame)
            for each, values in iteration.frame.constants:
                self._activate(each, iteration.following, values, dead=values[0] is DEAD)
        return iteration.following
