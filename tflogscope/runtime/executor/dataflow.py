"""A node runs as soon as its inputs are there. What comes out of a branch that was not taken is
DEAD, and so is all that needs it. Each loop that runs is a `Frame`, whose iterations may overlap.
See `ExecutorState` and `PropagatorState` of `core/common_runtime/executor.cc`,
`propagator_state.cc`.

NB: it runs on one thread here. TensorFlow deals nodes to a pool; where the log shows threads the
emitter deals them (`emitter/voices.py`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

from tflogscope.runtime.core import telling
from tflogscope.runtime.core.errors import KERNEL_ERRORS, OpError, as_op_error
from tflogscope.runtime.core.registry import output_values
from tflogscope.runtime.executor.plan import Item, Plan, Scope
from tflogscope.runtime.ops.flow import DEAD


class _Iteration:
    """One iteration of a frame: the values that have arrived, and who still waits."""

    def __init__(self, frame: _Frame, number: int) -> None:
        self.frame, self.number = frame, number
        self.inputs: list[Any] = [DEAD] * frame.scope.inputs
        self.pending = frame.scope.pending.copy()
        self.dead = [0] * len(self.pending)
        self.outstanding = 0  # nodes that are ready
        self.frames: dict[str, _Frame] = {}  # of the loops in it that have not ended


class _Frame:
    """A loop that runs; the whole function is one, too."""

    def __init__(self, scope: Scope, parent: _Iteration | None) -> None:
        self.scope, self.parent = scope, parent
        self.waiting = scope.enters  # Enter nodes that have not run
        self.constants: list[tuple[Item, list[Any]]] = []  # loop invariants: they enter each time
        self.dead_exits: list[Item] = []
        self.newest = 0
        self.iterations = {0: _Iteration(self, 0)}


def run_plan(plan: Plan, values: Sequence[Any], step: int) -> list[Any]:
    """The results. Raises the first OpError of a kernel."""
    run = _Run(values, step)
    iteration = _Frame(plan.root, None).iterations[0]
    for item in plan.sources:
        run.make_ready(item, iteration)
    while run.ready:
        run.process(*run.ready.popleft())
    if run.error is not None:
        raise run.error
    return [run.results[index] for index in sorted(run.results)]


class _Run:
    def __init__(self, values: Sequence[Any], step: int) -> None:
        self.values, self.step = values, step
        self.results: dict[int, Any] = {}
        self.ready: deque[tuple[Item, _Iteration]] = deque()
        self.error: BaseException | None = None
        self.listener = telling.listener

    def process(self, item: Item, iteration: _Iteration) -> None:
        inputs = iteration.inputs[item.first : item.first + len(item.node.inputs)]
        dead = bool(iteration.dead[item.index]) and (
            not item.is_merge or all(value is DEAD for value in inputs)
        )
        outputs = self._dead(item) if dead else self._outputs(item, inputs)
        if outputs is not None:
            self._propagate(item, iteration, outputs, dead=dead)
        iteration.outstanding -= 1
        self._maybe_done(iteration)

    def _dead(self, item: Item) -> list[Any]:
        if self.listener is not None:
            self.listener.node_dead(self.step, item.node)
        return [DEAD] * len(item.node.dtypes)

    def _outputs(self, item: Item, inputs: list[Any]) -> list[Any] | None:
        node = item.node
        if self.listener is not None:
            self.listener.node_started(self.step, node)
        try:
            outputs = self._kernel(item, inputs)
        except KERNEL_ERRORS as raised:
            error = _located(as_op_error(raised), node.name)
            self.error = self.error or error
            if self.listener is not None:
                self.listener.node_failed(self.step, node, error)
            return None
        if self.listener is not None:
            self.listener.node_done(self.step, node, inputs, outputs)
        return outputs

    def _kernel(self, item: Item, inputs: list[Any]) -> list[Any]:
        node = item.node
        if node.type == "_Arg":
            return [self.values[node.attributes["index"]]]
        if node.type == "_Retval":
            self.results[node.attributes["index"]] = inputs[0]
            return []
        result = item.kernel(*inputs)
        if item.steers:
            return list(result) if isinstance(result, tuple) else [result]
        return output_values(result, node.dtypes)

    # -- where the outputs go

    def _propagate(
        self, item: Item, iteration: _Iteration, outputs: list[Any], *, dead: bool
    ) -> None:
        frame = iteration.frame
        if item.node.type == "Enter":
            self._enter(item, iteration, outputs, dead=dead)
        elif item.node.type == "Exit":
            if not dead:
                assert frame.parent is not None
                self._activate(item, frame.parent, outputs, dead=False)
            elif iteration.number == frame.newest:
                frame.dead_exits.append(item)
        elif item.node.type == "NextIteration":
            if not dead:
                self._carry_on(item, iteration, outputs)
        else:
            self._activate(item, iteration, outputs, dead=dead)

    def _activate(
        self, item: Item, iteration: _Iteration, outputs: Sequence[Any], *, dead: bool
    ) -> None:
        entering = item.node.type == "Enter"
        for value, targets in zip(outputs, item.targets, strict=True):
            for target, position in targets:
                self._deliver(target, position, value, iteration, entering=entering)
        for target in item.controls:
            self._release(target, iteration, dead=dead)

    def _deliver(
        self, target: Item, position: int, value: Any, iteration: _Iteration, *, entering: bool
    ) -> None:
        index, pending, dead = target.index, iteration.pending, iteration.dead
        if value is not DEAD:
            iteration.inputs[position] = value
        if not target.is_merge:
            dead[index] += value is DEAD
            pending[index] -= 1
            ready = not pending[index]
        elif value is not DEAD:
            first = pending[index] & 1  # the first live value; control inputs may be missing
            pending[index] -= first
            ready = bool(first) and not pending[index]
        else:
            dead[index] += 1
            # a loop in a branch not taken gets no second value: its dead Enter is enough
            all_dead = dead[index] == len(target.node.inputs) or entering
            ready = pending[index] == 1 and all_dead
        if ready:
            self.make_ready(target, iteration)

    def _release(self, target: Item, iteration: _Iteration, *, dead: bool) -> None:
        index, pending = target.index, iteration.pending
        if target.is_merge:
            pending[index] -= 2
            all_dead = iteration.dead[index] == len(target.node.inputs)
            ready = pending[index] == 0 or (pending[index] == 1 and all_dead)
        else:
            iteration.dead[index] += dead
            pending[index] -= 1
            ready = not pending[index]
        if ready:
            self.make_ready(target, iteration)

    def make_ready(self, item: Item, iteration: _Iteration) -> None:
        iteration.outstanding += 1
        self.ready.append((item, iteration))

    # -- frames

    def _enter(self, item: Item, iteration: _Iteration, outputs: list[Any], *, dead: bool) -> None:
        name = item.node.attributes["frame_name"]
        frame = iteration.frames.get(name)
        if frame is None:
            frame = iteration.frames[name] = _Frame(_scope_below(item), iteration)
        frame.waiting -= 1
        if item.node.attributes.get("is_constant"):
            frame.constants.append((item, outputs))
            for each in list(frame.iterations.values()):
                self._activate(item, each, outputs, dead=dead)
        else:
            self._activate(item, frame.iterations[0], outputs, dead=dead)
        self._maybe_done(next(iter(frame.iterations.values())))

    def _carry_on(self, item: Item, iteration: _Iteration, outputs: list[Any]) -> None:
        """NB: iterations do not wait for each other; `parallel_iterations` is not looked at."""
        frame = iteration.frame
        if iteration.number == frame.newest:
            frame.newest += 1
            frame.dead_exits.clear()
            following = frame.iterations[frame.newest] = _Iteration(frame, frame.newest)
            for each, values in frame.constants:
                self._activate(each, following, values, dead=values[0] is DEAD)
        self._activate(item, frame.iterations[iteration.number + 1], outputs, dead=False)

    def _maybe_done(self, iteration: _Iteration) -> None:
        frame = iteration.frame
        while frame.parent is not None and _is_done(iteration):
            del frame.iterations[iteration.number]
            following = frame.iterations.get(iteration.number + 1)
            if following is None:
                self._end(frame, frame.parent)
                return
            iteration = following

    def _end(self, frame: _Frame, parent: _Iteration) -> None:
        del parent.frames[frame.scope.name]
        for item in frame.dead_exits:
            self._activate(item, parent, [DEAD], dead=True)
        self._maybe_done(parent)


def _scope_below(item: Item) -> Scope:
    consumers = [target for targets in item.targets for target, _ in targets] + item.controls
    scope = consumers[0].scope
    assert scope is not None
    return scope


def _is_done(iteration: _Iteration) -> bool:
    frame, number = iteration.frame, iteration.number
    if iteration.outstanding or iteration.frames or frame.iterations.get(number) is not iteration:
        return False
    return not frame.waiting if number == 0 else number - 1 not in frame.iterations


def _located(error: OpError, node: str) -> OpError:
    text = node if "{{node " in error.message else f"{{{{node {node}}}}}"
    return type(error)(None, None, f"{error.message}\n\t [[{text}]]")
