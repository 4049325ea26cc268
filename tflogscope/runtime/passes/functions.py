"""A function as the passes see it: arguments and results are nodes of the graph, too.

Names are those that TensorFlow gives when it makes a graph of a function: an argument is called
after its placeholder, in small letters (`matmul_readvariableop_resource`), a result after what it
returns (`identity_retval_RetVal`).

Told about: `FunctionDefToBodyHelper` of `core/common_runtime/function_def_utils.cc`,
`GraphToFunctionDef` of `core/framework/graph_to_functiondef.cc`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tflogscope.runtime.devices import CPU
from tflogscope.runtime.dtypes import resource
from tflogscope.runtime.function.definition import Endpoint, FunctionDef, NodeDef
from tflogscope.runtime.function.node_names import normal
from tflogscope.runtime.operations import lookup
from tflogscope.runtime.passes import fused_ops  # noqa: F401 - registers _Arg, _Retval and others
from tflogscope.runtime.passes.facts import is_stateful
from tflogscope.runtime.passes.graph import MutableGraph, Node

__all__ = ["DATA_FUNCTION", "SESSION_FUNCTION", "SOURCE", "definition_of", "graph_of"]

SOURCE = "_SOURCE"
DATA_FUNCTION = "_tf_data_function"
"""Marks functions that datasets call."""
SESSION_FUNCTION = "_tf1_session"
"""Marks what a session runs: there grappler sees the fetched nodes themselves, and keeps them."""
_RESULT = "_RetVal"


def graph_of(definition: FunctionDef) -> MutableGraph:
    """The function's graph: arguments, nodes, results."""
    nodes = [_argument(definition, index) for index in range(len(definition.arguments))]
    arguments = {node.name for node in nodes}
    for node in definition.nodes:
        # sorted, as when a graph is written out: `Graph::ToGraphDefSubRange`
        controls = sorted(name for name in node.control_inputs if name not in arguments)
        made = Node(
            node.name,
            node.type,
            list(node.inputs),
            controls,
            _plain(node.attributes),
            node.device or CPU,
            node.dtypes,
            origin=node.origin,
        )
        nodes.append(made)
    dtypes = {node.name: node.dtypes for node in nodes}
    results = []
    named = zip(definition.result_names, definition.results, strict=True)
    for index, (name, endpoint) in enumerate(named):
        attributes = {"T": dtypes[endpoint[0]][endpoint[1]], "index": index}
        results.append(Node(name + _RESULT, "_Retval", [endpoint], [], attributes, CPU))
    known = {node.name for node in nodes}
    kept = [
        *(node.name for node in results),
        *(name for name in definition.control_results if name in known),
    ]
    fetched = []
    if definition.attributes.get(SESSION_FUNCTION):
        fetched = [name for name, _ in definition.results if name in known]
    if definition.attributes.get(DATA_FUNCTION):
        kept += [node.name for node in nodes if _must_stay(node)]
    return MutableGraph([*nodes, *results], [*kept, *fetched], definition.name, fetched)


def _must_stay(node: Node) -> bool:
    """Functions of datasets keep stateful nodes and datasets, whether or not they are read."""
    return is_stateful(node.type) or node.type.endswith("Dataset")


def _argument(definition: FunctionDef, index: int) -> Node:
    node = definition.arguments[index]
    dtype = node.dtypes[0]
    attributes: dict[str, Any] = {"T": dtype, "index": index}
    named = node.attributes.get("_user_specified_name")
    if named is not None:
        attributes["_user_specified_name"] = named
    handles = None
    if index < len(definition.argument_types):
        shape, handles = definition.argument_types[index]
        if dtype is not resource:
            # NB: nothing is known of lists that are passed: their handle data gets lost
            attributes["_output_shapes"] = (shape,)
            handles = None
        elif handles is not None:
            attributes |= {"_handle_dtypes": (handles.dtype,), "_handle_shapes": (handles.shape,)}
    return Node(node.name, "_Arg", [], [], attributes, CPU, node.dtypes, handles)


def _plain(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes without what only tracing uses."""
    return {name: value for name, value in attributes.items() if not name.startswith("__")}


def definition_of(graph: MutableGraph, original: FunctionDef) -> FunctionDef:
    """The graph as a function that takes and gives what the original does.

    Its nodes are what an executor processes: `_SOURCE` and `_Arg` nodes first (`prologue`),
    `_Retval` nodes at the end. An argument that nobody reads may be no node any more; it keeps its
    place.
    """
    arguments = [
        _frozen(graph[node.name]) if node.name in graph else node for node in original.arguments
    ]
    results = sorted(
        (node for node in graph if node.type == "_Retval"),
        key=lambda node: node.attributes["index"],
    )
    endpoints: list[Endpoint] = [node.inputs[0] for node in results]
    source = NodeDef(SOURCE, lookup("NoOp"), (), (), {}, "", ())
    nodes = [_frozen(node) for node in graph if node.type not in {"_Arg", "_Retval"}]
    nodes += [_result(node) for node in results]
    control_results = [
        name for name in graph.kept if name in graph and graph[name].type != "_Retval"
    ]
    return FunctionDef(
        original.name,
        tuple(arguments),
        tuple(nodes),
        tuple(endpoints),
        (*control_results, *(node.name for node in nodes if node.type == "_Retval")),
        original.attributes,
        argument_types=original.argument_types,
        prologue=(source, *(node for node in arguments if node.type == "_Arg")),
    )


def _frozen(node: Node) -> NodeDef:
    return NodeDef(
        node.name,
        lookup(node.type),
        tuple(node.inputs),
        tuple(node.controls),
        node.attributes,
        node.device,
        node.dtypes,
        node.origin,
    )


def _result(node: Node) -> NodeDef:
    """Of the graph's `identity_RetVal`, `identity_retval_RetVal` of the component function."""
    name = normal(node.name) + _RESULT
    return NodeDef(
        name, lookup("_Retval"), tuple(node.inputs), (), node.attributes, node.device, ()
    )
