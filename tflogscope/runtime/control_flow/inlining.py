"""A call of a function becomes the function's nodes, their names after the caller's:
`PartitionedCall/MatMul`.

Identity nodes stand for the inputs and outputs of the call. What the call had to wait for, its
nodes without inputs wait for (`input_control_node`), and who waited for the call waits for what it
had to run (`output_control_node`): side effects keep their order, and in a branch not taken nothing
runs. Told about: `InlineFunctionBody` of `core/common_runtime/inline_function_utils.cc`.
"""

from __future__ import annotations

from tflogscope.runtime.control_flow.rewriting import Rewriting, Value, Work, copy_in
from tflogscope.runtime.function.definition import FunctionDef

__all__ = ["inline_call"]


def inline_call(graph: Rewriting, caller: Work, function: FunctionDef) -> None:
    """Replace the node `caller` by what `function` is made of."""
    before = None
    if caller.controls:
        before = graph.add(graph.new_name(f"Func/{caller.name}/input_control_node"), "NoOp", [], [])
        before.controls += caller.controls
    inputs = []
    for source, output in caller.inputs:
        name = graph.new_name(f"Func/{caller.name}/input")
        inputs.append(graph.add(name, "Identity", [(source, output)], [source.dtypes[output]]))

    arguments, nodes, results = copy_in(function, f"{caller.name}/")
    for node in nodes:
        if "frame_name" in node.attributes:
            node.attributes["frame_name"] = f"{caller.name}/{node.attributes['frame_name']}"
        starts = not node.inputs and not node.controls
        if before is not None and (starts or (node.type in _CALLS and not node.controls)):
            node.controls.append(before)
    graph.nodes += nodes
    for argument, stand_in in zip(arguments, inputs, strict=True):
        if before is not None:
            stand_in.controls.append(before)
        argument.outputs, argument.done = [(stand_in, 0)], stand_in

    outputs: list[Value] = []
    for source, output in results:
        name = graph.new_name(f"Func/{caller.name}/output")
        outputs.append(
            (graph.add(name, "Identity", [(source, output)], [source.dtypes[output]]), 0)
        )
    done = graph.add(graph.new_name(f"Func/{caller.name}/output_control_node"), "NoOp", [], [])
    must_run = {f"{caller.name}/{name}" for name in function.control_results}
    done.controls += [node for node in nodes if node.name in must_run]
    if not done.controls and before is not None:
        done.controls.append(before)
    graph.replace(caller, outputs, done)


_CALLS = frozenset({"PartitionedCall", "StatefulPartitionedCall"})
