r"""Functional control flow becomes dataflow: `If` and `While` nodes, whose branches are functions,
become Switch and Merge nodes around the inlined branches. Done once, when a function is
instantiated; nested calls of functions are inlined too.

    If(p, x) ->  Switch(x, p) --0--> [else branch] --\
                     \----1--> [then branch] --> Merge

    While(i) ->  Enter --> Merge --> [condition] --> LoopCond
                  /-----^   |                           |
                  |         \-> Switch <----------------/
                  |            0|  \1
                  |           Exit  [body]
                  |-- NextIteration --/

The nodes are called as TensorFlow calls them: `while/merge/_7`, the body's
`while/body/_1/while/add`. The number is that of all names made in this graph, so the order in which
nodes are made matters. Told about: `lower_functional_ops.cc`, `lower_if_op.cc`, `lower_case_op.cc`,
`lower_while_op.cc` of `core/common_runtime`.
"""

from __future__ import annotations

from collections.abc import Sequence

from tflogscope.runtime.control_flow import dataflow_ops  # noqa: F401 - registers Switch, Merge, …
from tflogscope.runtime.control_flow.inlining import inline_call
from tflogscope.runtime.control_flow.rewriting import Rewriting, Value, Work
from tflogscope.runtime.dtypes import DType, bool_, int32, resource
from tflogscope.runtime.errors import InvalidArgumentError
from tflogscope.runtime.function.definition import FunctionDef
from tflogscope.runtime.node_text import short_name

__all__ = ["lowered"]

CALLS = frozenset({"PartitionedCall", "StatefulPartitionedCall"})
_CALLED = ("_noinline", "_XlaMustCompile", "api_implements")
_LOWERED = CALLS | {"If", "StatelessIf", "Case", "StatelessCase", "While", "StatelessWhile"}


def lowered(definition: FunctionDef) -> FunctionDef:
    """The same function without functional control flow and without calls that can be inlined."""
    if not any(node.type in _LOWERED for node in definition.nodes):
        return definition
    graph = Rewriting(definition)
    at = 0
    while at < len(graph.nodes):  # the list grows: what is nested is lowered in its turn
        node = graph.nodes[at]
        at += 1
        if node.type in CALLS:
            if _can_be_inlined(node):
                inline_call(graph, node, node.attributes["f"].definition)
        elif node.attributes.get("_lower_using_switch_merge"):
            if node.type in {"If", "StatelessIf"}:
                _lower_if(graph, node)
            elif node.type in {"Case", "StatelessCase"}:
                _lower_case(graph, node)
            elif node.type in {"While", "StatelessWhile"}:
                _lower_while(graph, node)
    return graph.finished()


def _can_be_inlined(node: Work) -> bool:
    """Functions compiled as a unit, those that say so, and those of which there are several
    implementations to choose from, stay calls.
    """
    attributes = node.attributes["f"].definition.attributes
    return not any(attributes.get(name) for name in _CALLED)


def _lower_if(graph: Rewriting, node: Work) -> None:
    name, predicate = node.name, node.inputs[0]
    call_names = [graph.new_name(f"{name}/then"), graph.new_name(f"{name}/else")]
    switch = graph.add(
        graph.new_name(f"{name}/switch_pred"), "Switch", [predicate, predicate], [bool_] * 2
    )
    pivot_else = graph.add(graph.new_name(f"{name}/pivot_f"), "Identity", [(switch, 0)], [bool_])
    pivot_then = graph.add(graph.new_name(f"{name}/pivot_t"), "Identity", [(switch, 1)], [bool_])
    switches = []
    for source, output in node.inputs[1:]:
        dtypes = [source.dtypes[output]] * 2
        given = graph.source_name((source, output))
        switches.append(
            graph.add(
                graph.new_name(f"{name}/{given}"),
                "Switch",
                [(source, output), predicate],
                dtypes,
                {"_class": (f"loc:@{given}",)},
            )
        )
    switch.controls += node.controls
    branches = [node.attributes["then_branch"], node.attributes["else_branch"]]
    calls = [
        graph.add_call(call_name, branch, [(each, which) for each in switches], [pivot], node)
        for call_name, branch, which, pivot in zip(
            call_names, branches, (1, 0), (pivot_then, pivot_else), strict=True
        )
    ]
    _merge_branches(graph, node, calls, [pivot_then, pivot_else], "output")


def _lower_case(graph: Rewriting, node: Work) -> None:
    name, index = node.name, node.inputs[0]
    branches = node.attributes["branches"]
    count = len(branches)
    call_names = [graph.new_name(f"{name}/branch{which}") for which in range(count)]
    many = {"num_outs": count}
    switch = graph.add(
        graph.new_name(f"{name}/branch_index"), "_SwitchN", [index, index], [int32] * count, many
    )
    pivots = [
        graph.add(graph.new_name(f"{name}/pivot_{which}"), "Identity", [(switch, which)], [int32])
        for which in range(count)
    ]
    switches = []
    for source, output in node.inputs[1:]:
        dtypes = [source.dtypes[output]] * count
        given = graph.source_name((source, output))
        switches.append(
            graph.add(
                graph.new_name(f"{name}/{given}"),
                "_SwitchN",
                [(source, output), index],
                dtypes,
                {**many, "_class": (given,)},  # NB: TensorFlow forgets the `loc:@` here
            )
        )
    switch.controls += node.controls
    calls = [
        graph.add_call(
            call_names[which],
            branches[which],
            [(each, which) for each in switches],
            [pivots[which]],
            node,
        )
        for which in range(count)
    ]
    _merge_branches(graph, node, calls, pivots, "merge")


def _merge_branches(
    graph: Rewriting, node: Work, calls: Sequence[Work], pivots: Sequence[Work], output_name: str
) -> None:
    """Each output of the conditional is the live one of the branches' outputs."""
    name, count = node.name, {"N": len(calls)}
    outputs: list[Value] = []
    for which, dtype in enumerate(node.dtypes):
        merged: list[Value] = [(call, which) for call in calls]
        outputs.append(
            (
                graph.add(
                    graph.new_name(f"{name}/{output_name}"), "Merge", merged, [dtype, int32], count
                ),
                0,
            )
        )
    pivot_dtype = pivots[0].dtypes[0]
    executed = graph.add(
        graph.new_name(f"{name}/branch_executed"),
        "Merge",
        [(pivot, 0) for pivot in pivots],
        [pivot_dtype, int32],
        count,
    )
    executed.controls += calls  # so that a branch without outputs runs, for what it does
    graph.replace(node, outputs, executed)


def _check_loop_condition(node: Work, found: DType) -> None:
    if found is not bool_:
        raise InvalidArgumentError(
            None,
            None,
            f"Input 'input' passed {short_name(found)} expected bool while building NodeDef "
            f"'{node.name}' using Op<name=LoopCond; signature=input:bool -> output:bool>",
        )


def _lower_while(graph: Rewriting, node: Work) -> None:
    name, new_name, add = node.name, graph.new_name, graph.add
    parallel = node.attributes.get("parallel_iterations", 10)
    condition_name, body_name = new_name(f"{name}/cond"), new_name(f"{name}/body")
    dtypes = [source.dtypes[output] for source, output in node.inputs]
    # A resource is the same in all iterations: it only enters.
    varies = [dtype is not resource for dtype in dtypes]

    enters = [
        add(
            new_name(f"{name}/enter"),
            "Enter",
            [value],
            [dtype],
            {"frame_name": name, "is_constant": not varying, "parallel_iterations": parallel},
        )
        for value, dtype, varying in zip(node.inputs, dtypes, varies, strict=True)
    ]
    if node.controls:
        before = add(new_name(f"{name}/LoopControlInputs"), "NoOp", [], [])
        before.controls += node.controls
        for enter in enters:
            enter.controls.append(before)
    merges = [
        add(new_name(f"{name}/merge"), "Merge", [(enter, 0), (enter, 0)], [dtype, int32], {"N": 2})
        if varying
        else enter
        for enter, dtype, varying in zip(enters, dtypes, varies, strict=True)
    ]
    first = next(merge for merge, varying in zip(merges, varies, strict=True) if varying)

    condition = graph.add_call(
        condition_name, node.attributes["cond"], [(each, 0) for each in merges], [first], node
    )
    again = add(new_name(f"{name}/LoopCond"), "LoopCond", [(condition, 0)], [bool_])
    _check_loop_condition(again, condition.dtypes[0])
    switches = [
        add(
            new_name(f"{name}/{graph.source_name(value)}_switch"),
            "Switch",
            [(merge, 0), (again, 0)],
            [dtype] * 2,
        )
        if varying
        else merge
        for value, merge, dtype, varying in zip(node.inputs, merges, dtypes, varies, strict=True)
    ]
    inside: list[Value] = [
        (each, int(varying)) for each, varying in zip(switches, varies, strict=True)
    ]
    running = next(value for value, varying in zip(inside, varies, strict=True) if varying)
    control = add(
        new_name(f"{name}/loop_body_control"), "Identity", [running], [running[0].dtypes[1]]
    )
    body = graph.add_call(body_name, node.attributes["body"], inside, [control], node)

    exits = [
        add(new_name(f"{name}/exit"), "Exit", [(switch, 0)], [dtype]) if varying else None
        for switch, dtype, varying in zip(switches, dtypes, varies, strict=True)
    ]
    executed = add(new_name(f"{name}/LoopExecuted"), "NoOp", [], [])
    executed.controls += [each for each in exits if each is not None]
    for which, (merge, dtype, varying) in enumerate(zip(merges, dtypes, varies, strict=True)):
        if varying:
            following = add(
                new_name(f"{name}/next_iteration"), "NextIteration", [(body, which)], [dtype]
            )
            following.controls.append(body)
            merge.inputs[1] = (following, 0)
    outputs = [
        value if each is None else (each, 0) for each, value in zip(exits, node.inputs, strict=True)
    ]
    graph.replace(node, outputs, executed)
