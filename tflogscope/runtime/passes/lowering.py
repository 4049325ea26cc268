"""Calls are inlined; conditionals and loops become Switch, Merge, Enter and Exit: what an executor
runs. See `core/common_runtime/lower_functional_ops.cc`, `inline_function_utils.cc`, `lower_if_op.cc`,
`lower_while_op.cc`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tflogscope.runtime.core.dtypes import bool_, int32, resource
from tflogscope.runtime.core.graph import Endpoint, FunctionDef, NodeDef
from tflogscope.runtime.core.registry import lookup
from tflogscope.runtime.ops.state import LOWERED
from tflogscope.runtime.passes.dependencies import merge_duplicates
from tflogscope.runtime.passes.folding import computed
from tflogscope.runtime.passes.graph import Graph, Place, is_stateful, prune, topological
from tflogscope.runtime.passes.remapper import Report

CALLS = frozenset({"PartitionedCall", "StatefulPartitionedCall"})
_CALLED = ("_noinline", "_XlaMustCompile", "api_implements")
"""Attributes of functions that are not inlined."""


def lowered(definition: FunctionDef) -> FunctionDef:
    """The same function without calls, conditionals and loops."""
    return _Lowering(definition).run()


class _Lowering:
    def __init__(self, definition: FunctionDef) -> None:
        self.definition = definition
        self.nodes = {node.name: node.copy(node.name) for node in definition.nodes}
        self.outputs: dict[Endpoint, Endpoint] = {}
        """Of what was lowered, what gives its outputs now."""
        self.done: dict[str, str] = {}
        """… and what to wait for now."""
        self._made = 0

    def run(self) -> FunctionDef:
        """Lower all, and what comes to light by that."""
        waiting = list(self.nodes)
        for name in waiting:  # it grows: what is nested is lowered in its turn
            node, known = self.nodes[name], len(self.nodes)
            kind = node.type.removeprefix("Stateless")
            if node.type in CALLS:
                called = node.attributes["f"].attributes
                if not any(called.get(each) for each in _CALLED):
                    self._inline(node, node.attributes["f"])
            elif node.attributes.get("_lower_using_switch_merge") and kind == "If":
                self._branches(node)
            elif node.attributes.get("_lower_using_switch_merge") and kind == "While":
                self._loop(node)
            waiting += list(self.nodes)[known:]
        for node in self.nodes.values():
            node.inputs = [self._value(endpoint) for endpoint in node.inputs]
            node.controls = list(dict.fromkeys(map(self._end, node.controls)))
        old = self.definition
        return FunctionDef(old.name, list(self.nodes.values()), old.must_run, old.attributes)

    def _value(self, endpoint: Endpoint) -> Endpoint:
        while endpoint in self.outputs:
            endpoint = self.outputs[endpoint]
        return endpoint

    def _end(self, name: str) -> str:
        while name in self.done:
            name = self.done[name]
        return name

    def _dtype(self, endpoint: Endpoint) -> Any:
        name, output = self._value(endpoint)
        return self.nodes[name].dtypes[output]

    # -- making nodes

    def _new_name(self, prefix: str) -> str:
        self._made += 1
        return f"{prefix}/_{self._made - 1}"

    def _add(
        self,
        prefix: str,
        type: str,
        inputs: Sequence[Endpoint],
        dtypes: Sequence[Any],
        **given: Any,
    ) -> NodeDef:
        name = self._new_name(prefix)
        if dtypes and "T" in lookup(type).attributes:
            given = {"T": dtypes[0], **given}
        node = NodeDef(name, type, list(inputs), [], given, dtypes=tuple(dtypes))
        self.nodes[name] = node
        return node

    def _wait(self, prefix: str, controls: Sequence[str]) -> NodeDef:
        node = self._add(prefix, "NoOp", [], [])
        node.controls += controls
        return node

    def _call(
        self, name: str, f: FunctionDef, inputs: Sequence[Endpoint], after: str, device: str
    ) -> NodeDef:
        dtypes = tuple(result.attributes["T"] for result in f.of_type("_Retval"))
        call = NodeDef(name, "PartitionedCall", list(inputs), [after], {"f": f}, device, dtypes)
        self.nodes[name] = call
        return call

    def _replace(self, node: NodeDef, outputs: Sequence[Endpoint], done: NodeDef) -> None:
        """Others read these, and wait for `done`. It may have to run: then it is known by its name."""
        self.outputs.update({(node.name, at): each for at, each in enumerate(outputs)})
        self.done[node.name] = done.name
        self.nodes[node.name] = NodeDef(node.name, "NoOp", [], [done.name])

    # -- calls

    def _inline(self, caller: NodeDef, function: FunctionDef) -> None:
        name = caller.name
        before: list[str] = []
        if caller.controls:
            before = [self._wait(f"Func/{name}/input_control_node", caller.controls).name]
        inputs = []
        for each in caller.inputs:
            inputs.append(self._add(f"Func/{name}/input", "Identity", [each], [self._dtype(each)]))
            inputs[-1].controls += before
        results: dict[int, Endpoint] = {}
        for original in function.nodes:
            node = original.copy(f"{name}/{original.name}")
            node.inputs = [(f"{name}/{source}", output) for source, output in node.inputs]
            node.controls = [f"{name}/{each}" for each in node.controls]
            if node.type == "_Arg":
                given = inputs[node.attributes["index"]].name
                self.outputs[node.name, 0], self.done[node.name] = (given, 0), given
                continue
            if node.type == "_Retval":
                results[node.attributes["index"]] = node.inputs[0]
                continue
            if "frame_name" in node.attributes:
                node.attributes["frame_name"] = f"{name}/{node.attributes['frame_name']}"
            if (not node.inputs or node.type in CALLS) and not node.controls:
                node.controls += before
            self.nodes[node.name] = node
        outputs: list[Endpoint] = []
        for _, value in sorted(results.items()):
            dtypes = [self._dtype(value)]
            outputs.append((self._add(f"Func/{name}/output", "Identity", [value], dtypes).name, 0))
        effects = [f"{name}/{each}" for each in function.must_run]
        done = self._wait(f"Func/{name}/output_control_node", effects or before)
        self._replace(caller, outputs, done)

    # -- conditionals

    def _branches(self, node: NodeDef) -> None:
        name, index = node.name, node.inputs[0]
        branches = [
            (self._new_name(f"{name}/{label}"), node.attributes[f"{label}_branch"], at)
            for label, at in (("then", 1), ("else", 0))
        ]

        def switch(label: str, value: Endpoint) -> NodeDef:
            return self._add(f"{name}/{label}", "Switch", [value, index], [self._dtype(value)] * 2)

        predicate = switch("switch_pred", index)
        predicate.controls += node.controls
        pivots = [
            self._add(f"{name}/{label}", "Identity", [(predicate.name, at)], [bool_])
            for at, label in enumerate(("pivot_f", "pivot_t"))
        ]
        switches = [switch(self._value(each)[0], each) for each in node.inputs[1:]]
        calls = []
        for label, function, at in branches:
            given = [(each.name, at) for each in switches]
            calls.append(self._call(label, function, given, pivots[at].name, node.device))
        outputs: list[Endpoint] = []
        for at, dtype in enumerate(node.dtypes):
            ends = [(call.name, at) for call in calls]
            outputs.append(
                (self._add(f"{name}/output", "Merge", ends, [dtype, int32], N=2).name, 0)
            )
        ends = [(pivots[1].name, 0), (pivots[0].name, 0)]
        executed = self._add(f"{name}/branch_executed", "Merge", ends, [bool_, int32], N=2)
        # so that a branch without outputs runs, for what it does
        executed.controls += [call.name for call in calls]
        self._replace(node, outputs, executed)

    # -- loops

    def _loop(self, node: NodeDef) -> None:
        name, dtypes = node.name, [self._dtype(value) for value in node.inputs]

        def new(
            label: str, type: str, inputs: Any, dtype: Any, *more: Any, **given: Any
        ) -> NodeDef:
            ends = [each if isinstance(each, tuple) else (each.name, 0) for each in inputs]
            return self._add(f"{name}/{label}", type, ends, [dtype, *more], **given)

        condition_name, body_name = (self._new_name(f"{name}/{each}") for each in ("cond", "body"))
        # a resource is the same in all iterations: it only enters
        varies = [at for at, dtype in enumerate(dtypes) if dtype is not resource]
        parallel = node.attributes.get("parallel_iterations", 10)
        frame = {"frame_name": name, "parallel_iterations": parallel}
        enters = [
            new("enter", "Enter", [value], dtypes[at], is_constant=at not in varies, **frame)
            for at, value in enumerate(node.inputs)
        ]
        if node.controls:
            before = self._wait(f"{name}/LoopControlInputs", node.controls)
            for enter in enters:
                enter.controls.append(before.name)
        merges = list(enters)
        for at in varies:
            merges[at] = new("merge", "Merge", [enters[at]] * 2, dtypes[at], int32, N=2)
        first, device = varies[0], node.device
        inside: list[Endpoint] = [(each.name, 0) for each in merges]
        condition = self._call(
            condition_name, node.attributes["cond"], inside, merges[first].name, device
        )
        again = new("LoopCond", "LoopCond", [condition], bool_)
        for at in varies:
            label, dtype = f"{self._value(node.inputs[at])[0]}_switch", dtypes[at]
            inside[at] = (new(label, "Switch", [merges[at], again], dtype, dtype).name, 1)
        control = new("loop_body_control", "Identity", [inside[first]], dtypes[first])
        body = self._call(body_name, node.attributes["body"], inside, control.name, device)
        outputs = list(inside)
        for at in varies:
            outputs[at] = (new("exit", "Exit", [(inside[at][0], 0)], dtypes[at]).name, 0)
        executed = self._wait(f"{name}/LoopExecuted", [outputs[at][0] for at in varies])
        for at in varies:
            following = new("next_iteration", "NextIteration", [(body.name, at)], dtypes[at])
            following.controls.append(body.name)
            merges[at].inputs[1] = (following.name, 0)
        outputs = [outputs[at] if at in varies else each for at, each in enumerate(node.inputs)]
        self._replace(node, outputs, executed)


# Before a function runs the runtime folds constants once more: it runs them as a graph, at step −1,
# which the log shows. See `core/common_runtime/constant_folding.cc`, `graph_optimizer.cc`. NB: once.

_NEVER = LOWERED | {"Placeholder", "NoOp", "_Arg", "_Retval"}


def optimize_at_runtime(graph: Graph, report: Report) -> None:
    """Fold and merge."""
    prune(graph)
    _fold(graph, report)
    prune(graph)
    merge_duplicates(graph)


def _fold(graph: Graph, report: Report) -> None:
    values: dict[str, list[Any]] = {}
    for name in topological(graph):
        found = _values(graph[name], values)
        if found is not None:
            values[name] = found
    # a NoOp counts as something to compute: it has no inputs that are not constant
    types = {node.type for node in graph if node.type == "NoOp" or node.name in values}
    if types <= {"Const"}:
        return
    wanted: dict[Endpoint, list[Place]] = {}
    for name in values:
        for reader, place in graph.data_readers(name):
            if reader.name not in values:
                wanted.setdefault(reader.inputs[place], []).append((reader, place))
    if wanted:
        report.runs.append(_constants(graph, values, wanted))
    computes = [endpoint for endpoint in wanted if graph[endpoint[0]].type != "Const"]
    for number, endpoint in enumerate(sorted(computes)):
        (name, output), node = endpoint, graph[endpoint[0]]
        label, waits = f"{name}/_{number}__cf__{number}", _waits(graph, node)
        graph.constant(label, values[name][output], node.dtypes[output], node.device, waits)
        for reader, place in wanted[endpoint]:
            graph.set_input(reader, place, (label, 0))


def _waits(graph: Graph, node: NodeDef) -> dict[str, None]:
    """What a constant and all that it is made of wait for."""
    before = [wait for name, _ in node.inputs for wait in _waits(graph, graph[name])]
    return dict.fromkeys((*before, *node.controls))


def _values(node: NodeDef, known: Mapping[str, list[Any]]) -> list[Any] | None:
    if node.type == "Const":
        return [node.attributes["value"]]
    if node.type in _NEVER or is_stateful(node.type) or not node.inputs:
        return None
    if resource in node.dtypes or "f" in node.attributes:
        return None
    if any(source not in known for source, _ in node.inputs):
        return None
    return computed(node, [known[source][output] for source, output in node.inputs])


def _constants(graph: Graph, values: Iterable[str], wanted: Iterable[Endpoint]) -> list[NodeDef]:
    """The graph that is run, with what is fetched from it."""
    needed = {name for name, _ in wanted}
    for name in reversed(list(values)):
        if name in needed:
            needed.update(source for source, _ in graph[name].inputs)
    nodes = [NodeDef("_SOURCE", "NoOp")]
    for name in values:
        if name in needed:
            node = graph[name].copy(name)
            node.controls = []
            nodes.append(node)
            for source, output in wanted:
                if source == name:
                    facts = {"T": node.dtypes[output], "tensor_name": f"{source}:{output}"}
                    label = f"_send_{source}_{output}"
                    nodes.append(NodeDef(label, "_Send", [(source, output)], [], facts))
    return nodes
