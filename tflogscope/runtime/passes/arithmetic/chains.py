"""Chains of ops that work on each element alone: done once behind a concatenation, after a maximum,
or all in one op.
"""

from __future__ import annotations

from tflogscope.runtime.function.definition import Endpoint
from tflogscope.runtime.passes.arithmetic.moves import ELEMENTWISE
from tflogscope.runtime.passes.arithmetic.stage import Work
from tflogscope.runtime.passes.facts import CHANGES_FRAME
from tflogscope.runtime.passes.graph import Node

__all__ = ["behind_concatenation", "compose_unary", "reduce_before_monotonic"]

_RISING = frozenset(
    {
        *("Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Elu", "Erf", "Exp", "Expm1", "Floor"),
        *("Log", "Log1p", "Relu", "Relu6", "Rint", "Selu", "Sigmoid", "Sign", "Sinh", "Softsign"),
        *("Softplus", "Sqrt", "Tanh"),
    }
)
_FALLING = frozenset({"Acos", "Erfc", "Neg", "Rsqrt"})
_EXTREMES = {"Max": "Min", "Min": "Max", "ArgMax": "ArgMin", "ArgMin": "ArgMax"}
_POOLS = frozenset({"MaxPool", "MaxPoolV2", "MaxPool3D", "MaxPoolWithArgmax"})
_HALF_TOO = frozenset(
    {
        *("Abs", "Ceil", "Expm1", "Exp", "Floor", "Inv", "Log", "Log1p", "Neg", "Reciprocal"),
        *("Round", "Rsqrt", "Sigmoid", "Sin", "Sqrt", "Square", "Tanh", "Elu", "Relu", "Relu6"),
        *("Selu", "Cos"),
    }
)
_COMPOSED = _HALF_TOO | {
    *("Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Cosh", "Rint", "Sinh", "Tan")
}
_FUSED_LATER = frozenset({"FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3", "BiasAdd"})


def behind_concatenation(work: Work, node: Node) -> Endpoint | None:
    """The same op on each part of a concatenation is one op on the whole."""
    if node.type != "ConcatV2" or work.kept(node) or node.name in work.hoisted:
        return None
    if len(node.inputs) < 3 or len(set(node.inputs[:-1])) < len(node.inputs) - 1:
        return None
    graph = work.graph
    links = [graph[name] for name, _ in node.inputs[:-1]]
    length, tails = 0, links
    while _can_be_hoisted(work, node, links):
        length, tails = length + 1, links
        if any(not link.inputs for link in links):
            break
        links = [graph.source(link, 0) for link in links]
    if not length:
        return None
    work.again(node)
    work.hoisted.add(node.name)
    first_input = node.inputs[0]
    for tail in tails:
        work.wait_as(node, tail)
    readers = graph.readers(node.name)
    graph.rewire(node, [*(tail.inputs[0] for tail in tails), node.inputs[-1]])
    for reader in readers:
        work.let_read(reader, node.name, first_input)
        work.again(reader)
    graph.set_input(tails[0], 0, (node.name, 0))
    return None


def _can_be_hoisted(work: Work, root: Node, links: list[Node]) -> bool:
    first = links[0]
    if first.type in CHANGES_FRAME or first.type not in ELEMENTWISE or not first.inputs:
        return False
    for link in links:
        if link.device != root.device or link.type != first.type or work.kept(link):
            return False
        if len(work.graph.readers(link.name)) > 1:
            return False
        if link.type in {"Relu", "Relu6"} and work.graph.source(link, 0).type in _FUSED_LATER:
            return False
    return True


def reduce_before_monotonic(work: Work, node: Node) -> Endpoint | None:
    """max(exp(x)) is exp(max(x)), which is less to compute."""
    if node.type not in {*_EXTREMES, *_POOLS} or work.kept(node):
        return None
    graph, inner = work.graph, work.graph.source(node, 0)
    rising, falling = inner.type in _RISING, inner.type in _FALLING
    if not (rising or falling) or work.kept(inner) or len(graph.readers(inner.name)) != 1:
        return None
    if falling and node.type in _POOLS:
        return None
    if inner.type in {"Relu", "Relu6"} and graph.source(inner, 0).type in _FUSED_LATER:
        return None
    source = inner.inputs[0]
    readers = graph.readers(node.name)
    graph.set_input(node, 0, source)
    graph.set_input(inner, 0, (node.name, 0))
    for reader in readers:
        work.let_read(reader, node.name, (inner.name, 0))
        work.again(reader)
    if falling:
        graph.retype(node, _EXTREMES[node.type], node.attributes)
    if node.type.startswith("Arg"):
        graph.retype(inner, "Identity", {"T": node.dtypes[0]})
        inner.dtypes = node.dtypes
    work.again(node, inner, graph[source[0]])
    return None


def compose_unary(work: Work, node: Node) -> Endpoint | None:
    """A chain of unary ops is one op that does them all."""
    name = f"{node.name}/unary_ops_composition"
    if not _can_be_composed(work, node) or name in work.graph:
        return None
    chain, last = [node], node
    while last.inputs:
        source = work.graph.source(last, 0)
        fits = source.dtypes[:1] == node.dtypes and len(work.graph.data_readers(source.name)) == 1
        if not fits or not _can_be_composed(work, source):
            break
        chain.append(source)
        last = source
    if len(chain) == 1:
        return None
    work.fused.update(each.name for each in chain)
    types = tuple(each.type for each in reversed(chain))
    attributes = {"T": node.dtypes[0], "op_names": types}
    inputs = last.inputs[:1]
    work.add(name, "_UnaryOpsComposition", inputs, node.dtypes[0], node.device, **attributes)
    return name, 0


def _can_be_composed(work: Work, node: Node) -> bool:
    if node.type not in _COMPOSED or work.kept(node) or node.name in work.fused:
        return False
    dtype = node.dtypes[0].name
    known = dtype in {"float32", "float64"} or (dtype == "float16" and node.type in _HALF_TOO)
    return known and "CPU" in node.device and not work.is_controlled(node)
