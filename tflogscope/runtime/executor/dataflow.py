"""A node runs as soon as its inputs are there. What comes out of a branch that was not taken is
DEAD, and so is all that needs it. Each loop that runs is a `Frame`, whose iterations may overlap.
See `ExecutorState` and `PropagatorState` of `core/common_runtime/executor.cc`,
`propagator_state.cc`.

NB: it runs on one thread here. TensorFlow deals nodes to a pool; where the log shows threads the
emitter deals them (`emitter/running.py`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tflogscope.runtime.core import telling
from tflogscope.runtime.core.errors import KERNEL_ERRORS, as_op_error
from tflogscope.runtime.core.graph import FunctionDef, NodeDef
from tflogscope.runtime.core.registry import bind, output_values
from tflogscope.runtime.ops.state import DEAD, LOWERED


@dataclass(slots=True, eq=False)
class Item:
    """A node, and what becomes of what it gives."""

    node: NodeDef
    kernel: Callable[..., Any]
    targets: list[list[tuple[Item, int]]]
    """For each output who takes it, and as which input."""
    controls: list[Item] = field(default_factory=list)
    scope: Scope | None = None
    index: int = 0
    """Its place among the nodes of its frame."""
    first: int = 0
    """The place of its first input among those of all nodes of the frame."""
    before: list[int] = field(default_factory=list)
    """The places of the nodes that give its inputs."""

    is_merge = property(lambda self: self.node.type == "Merge")
    """Does it go on with the first live input?"""

    @property
    def readers(self) -> list[Item]:
        """Those that take something, or wait for it."""
        return [target for targets in self.targets for target, _ in targets] + self.controls


@dataclass(slots=True, eq=False)
class Scope:
    """A frame as it is written in the graph: what is between the Enter and the Exit of a loop."""

    name: str
    parent: Scope | None
    inputs: int = 0
    enters: int = 0
    pending: list[int] = field(default_factory=list)
    """For how much each node waits when an iteration begins."""


@dataclass(slots=True, eq=False)
class Plan:
    """A function ready to run."""

    definition: FunctionDef
    items: list[Item]
    sources: list[Item]
    """Nodes that wait for nothing."""
    root: Scope


def make_plan(definition: FunctionDef) -> Plan:
    """The plan of a function whose graph passes have rewritten already."""
    items = {
        node.name: Item(node, bind(node.definition, node.attributes), [[] for _ in node.dtypes])
        for node in definition.nodes
    }
    before = {
        name: [
            source
            for source in (*dict(item.node.inputs), *dict.fromkeys(item.node.controls))
            if source in items
        ]
        for name, item in items.items()
    }
    root = _place(items, before)
    for item in items.values():
        for position, (source, output) in enumerate(item.node.inputs):
            items[source].targets[output].append((item, item.first + position))
            item.before.append(items[source].index)
        for source in dict.fromkeys(item.node.controls):
            if source in items:
                items[source].controls.append(item)
    sources = [item for name, item in items.items() if not before[name]]
    return Plan(definition, list(items.values()), sources, root)


def _place(items: Mapping[str, Item], before: Mapping[str, list[str]]) -> Scope:
    """Find the frame of each node: that of what it takes."""
    root = Scope("", None)
    below: dict[tuple[Scope, str], Scope] = {}
    after: dict[str, Scope] = {}  # the frame of what comes out of a node
    left = deque(items.values())
    while left:
        item = left.popleft()
        node, sources = item.node, before[item.node.name]
        known = [after[name] for name in sources if name in after]
        if sources and not known:
            left.append(item)
            continue
        item.scope = scope = known[0] if known else root
        if node.type == "Enter":
            name = node.attributes["frame_name"]
            scope = below.setdefault((scope, name), Scope(name, scope))
            scope.enters += 1
        elif node.type == "Exit":
            scope = scope.parent or root
        after[node.name] = scope
    for item in items.values():
        assert item.scope is not None
        item.index, item.first = len(item.scope.pending), item.scope.inputs
        count, controls = len(item.node.inputs), len(set(item.node.controls) & items.keys())
        # a merge waits for one live value, for which the lowest bit is; its controls count twice
        item.scope.pending.append(1 + 2 * controls if item.is_merge else count + controls)
        item.scope.inputs += count
    return root


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
