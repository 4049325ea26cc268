"""Calls are inlined; conditionals and loops become Switch, Merge, Enter and Exit: what an executor
runs. See `core/common_runtime/lower_functional_ops.cc`, `inline_function_utils.cc`, `lower_if_op.cc`,
`lower_while_op.cc`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tflogscope.runtime.core.definition import FunctionDef, NodeDef
from tflogscope.runtime.core.dtypes import bool_, int32, resource
from tflogscope.runtime.core.registry import lookup

CALLS = frozenset({"PartitionedCall", "StatefulPartitionedCall"})
_CALLED = ("_noinline", "_XlaMustCompile", "api_implements")
"""Attributes of functions that are not inlined."""


@dataclass(slots=True, eq=False)
class _Work:
    """A node on the way, which knows its inputs as nodes. One that was replaced knows by what."""

    node: NodeDef
    inputs: list[_Value] = field(default_factory=list)
    controls: list[_Work] = field(default_factory=list)
    outputs: list[_Value] | None = None
    done: _Work | None = None


_Value = tuple[_Work, int]


def lowered(definition: FunctionDef) -> FunctionDef:
    """The same function without calls, conditionals and loops."""
    return _Lowering(definition).run()


def _followed(value: _Value) -> _Value:
    while value[0].outputs is not None:
        value = value[0].outputs[value[1]]
    return value


def _dtype(value: _Value) -> Any:
    return value[0].node.dtypes[value[1]]


class _Lowering:
    def __init__(self, definition: FunctionDef) -> None:
        self.definition = definition
        self.nodes = _copied(definition.nodes, "")
        self._made = 0

    def run(self) -> FunctionDef:
        """Lower all, and what comes to light by that."""
        for work in self.nodes:  # it grows: what is nested is lowered in its turn
            node = work.node
            lowers = node.attributes.get("_lower_using_switch_merge")
            kind = node.type.removeprefix("Stateless")
            if node.type in CALLS:
                called = node.attributes["f"].attributes
                if not any(called.get(name) for name in _CALLED):
                    self._inline(work, node.attributes["f"])
            elif kind == "If" and lowers:
                self._branches(work)
            elif kind == "While" and lowers:
                self._loop(work)
        kept = [_finished(work) for work in self.nodes if work.done is None]
        old = self.definition
        return FunctionDef(old.name, kept, old.must_run, old.attributes)

    # -- making nodes

    def _new_name(self, prefix: str) -> str:
        self._made += 1
        return f"{prefix}/_{self._made - 1}"

    def _add(
        self, name: str, type: str, inputs: Sequence[_Value], dtypes: Sequence[Any], **given: Any
    ) -> _Work:
        if dtypes and "T" in lookup(type).attributes:
            given = {"T": dtypes[0], **given}
        work = _Work(NodeDef(name, type, attributes=given, dtypes=tuple(dtypes)), list(inputs))
        self.nodes.append(work)
        return work

    def _call(
        self, name: str, f: FunctionDef, inputs: Sequence[_Value], after: _Work, like: _Work
    ) -> _Work:
        dtypes = [result.attributes["T"] for result in f.of_type("_Retval")]
        work = self._add(name, "PartitionedCall", inputs, dtypes, f=f)
        work.node.device = like.node.device
        work.controls.append(after)
        return work

    def _replace(self, work: _Work, outputs: Sequence[_Value], done: _Work) -> None:
        work.outputs, work.done = list(outputs), done
        # it may have to run, and then is known by its name
        self._add(work.node.name, "NoOp", [], []).controls.append(done)

    # -- calls

    def _inline(self, caller: _Work, function: FunctionDef) -> None:
        name, before = caller.node.name, None
        if caller.controls:
            before = self._add(self._new_name(f"Func/{name}/input_control_node"), "NoOp", [], [])
            before.controls += caller.controls
        inputs = [
            self._add(self._new_name(f"Func/{name}/input"), "Identity", [each], [_dtype(each)])
            for each in caller.inputs
        ]
        results: dict[int, _Value] = {}
        must_run = {f"{name}/{each}" for each in function.must_run}
        effects = []
        for work in _copied(function.nodes, f"{name}/"):
            node = work.node
            if node.type == "_Arg":
                given = inputs[node.attributes["index"]]
                given.controls += [] if before is None else [before]
                work.outputs, work.done = [(given, 0)], given
                continue
            if node.type == "_Retval":
                results[node.attributes["index"]] = work.inputs[0]
                continue
            if "frame_name" in node.attributes:
                node.attributes["frame_name"] = f"{name}/{node.attributes['frame_name']}"
            starts = not work.inputs or node.type in CALLS
            if before is not None and starts and not work.controls:
                work.controls.append(before)
            self.nodes.append(work)
            effects += [work] if node.name in must_run else []
        outputs: list[_Value] = []
        for _, value in sorted(results.items()):
            label = self._new_name(f"Func/{name}/output")
            outputs.append((self._add(label, "Identity", [value], [_dtype(value)]), 0))
        done = self._add(self._new_name(f"Func/{name}/output_control_node"), "NoOp", [], [])
        done.controls += effects or ([] if before is None else [before])
        self._replace(caller, outputs, done)

    # -- conditionals

    def _branches(self, work: _Work) -> None:
        node, index = work.node, work.inputs[0]
        name = node.name
        then = self._new_name(f"{name}/then"), node.attributes["then_branch"], 1
        other = self._new_name(f"{name}/else"), node.attributes["else_branch"], 0

        def switch(label: str, value: _Value) -> _Work:
            label = self._new_name(f"{name}/{label}")
            return self._add(label, "Switch", [value, index], [_dtype(value)] * 2)

        predicate = switch("switch_pred", index)
        pivots = [
            self._add(self._new_name(f"{name}/{label}"), "Identity", [(predicate, at)], [bool_])
            for at, label in enumerate(("pivot_f", "pivot_t"))
        ]
        switches = [switch(_followed(each)[0].node.name, each) for each in work.inputs[1:]]
        predicate.controls += work.controls
        calls = [
            self._call(label, function, [(each, at) for each in switches], pivots[at], work)
            for label, function, at in (then, other)
        ]
        outputs: list[_Value] = []
        for at, dtype in enumerate(node.dtypes):
            label = self._new_name(f"{name}/output")
            ends = [(call, at) for call in calls]
            outputs.append((self._add(label, "Merge", ends, [dtype, int32], N=2), 0))
        label = self._new_name(f"{name}/branch_executed")
        ends = [(pivots[1], 0), (pivots[0], 0)]
        executed = self._add(label, "Merge", ends, [bool_, int32], N=2)
        executed.controls += calls  # so that a branch without outputs runs, for what it does
        self._replace(work, outputs, executed)

    # -- loops

    def _loop(self, work: _Work) -> None:
        node = work.node
        name, dtypes = node.name, [_dtype(value) for value in work.inputs]

        def new(label: str, type: str, inputs: Sequence[_Value], types: Any, **given: Any) -> _Work:
            return self._add(self._new_name(f"{name}/{label}"), type, inputs, types, **given)

        parallel = node.attributes.get("parallel_iterations", 10)
        condition_name, body_name = (self._new_name(f"{name}/{e}") for e in ("cond", "body"))
        # a resource is the same in all iterations: it only enters
        varies = [at for at, dtype in enumerate(dtypes) if dtype is not resource]
        frame = {"frame_name": name, "parallel_iterations": parallel}
        enters = [
            new("enter", "Enter", [value], [dtypes[at]], is_constant=at not in varies, **frame)
            for at, value in enumerate(work.inputs)
        ]
        if work.controls:
            before = new("LoopControlInputs", "NoOp", [], [])
            before.controls += work.controls
            for enter in enters:
                enter.controls.append(before)
        merges = list(enters)
        for at in varies:
            ends = [(enters[at], 0)] * 2
            merges[at] = new("merge", "Merge", ends, [dtypes[at], int32], N=2)
        condition = self._call(
            condition_name,
            node.attributes["cond"],
            [(each, 0) for each in merges],
            merges[varies[0]],
            work,
        )
        again = new("LoopCond", "LoopCond", [(condition, 0)], [bool_])
        inside: list[_Value] = [(each, 0) for each in merges]
        for at in varies:
            label = f"{_followed(work.inputs[at])[0].node.name}_switch"
            ends = [(merges[at], 0), (again, 0)]
            inside[at] = (new(label, "Switch", ends, [dtypes[at]] * 2), 1)
        running = inside[varies[0]]
        control = new("loop_body_control", "Identity", [running], [_dtype(running)])
        body = self._call(body_name, node.attributes["body"], inside, control, work)
        exits = {at: new("exit", "Exit", [(inside[at][0], 0)], [dtypes[at]]) for at in varies}
        executed = new("LoopExecuted", "NoOp", [], [])
        executed.controls += exits.values()
        for at in varies:
            following = new("next_iteration", "NextIteration", [(body, at)], [dtypes[at]])
            following.controls.append(body)
            merges[at].inputs[1] = (following, 0)
        outputs = [(exits[at], 0) if at in exits else each for at, each in enumerate(work.inputs)]
        self._replace(work, outputs, executed)


def _copied(nodes: Sequence[NodeDef], prefix: str) -> list[_Work]:
    made = {node.name: _Work(node.copy(prefix + node.name)) for node in nodes}
    for node in nodes:
        made[node.name].inputs = [(made[name], output) for name, output in node.inputs]
        made[node.name].controls = [made[name] for name in node.controls if name in made]
    return list(made.values())


def _finished(work: _Work) -> NodeDef:
    node, controls = work.node, []
    for control in work.controls:
        while control.done is not None:
            control = control.done  # noqa: PLW2901
        controls.append(control.node.name)
    ends = [_followed(value) for value in work.inputs]
    node.inputs = [(source.node.name, output) for source, output in ends]
    node.controls = list(dict.fromkeys(controls))
    return node
