"""Grappler: the passes over a function's graph, in TensorFlow's order, twice.

Told about: `MetaOptimizer` of `core/grappler/optimizers/meta_optimizer.cc`. Its other optimizers
(`implementation_selector`, `layout`, `memory_optimizer`, `tfg_optimizer`) find nothing to do on a
CPU in functions such as these, but that `memory_optimizer` marks assignments.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tflogscope.runtime import telling
from tflogscope.runtime.passes.arithmetic import rewrite_arithmetic
from tflogscope.runtime.passes.common_subexpressions import remove_duplicates
from tflogscope.runtime.passes.dead_branches import remove_dead_branches
from tflogscope.runtime.passes.dependencies import simplify_dependencies
from tflogscope.runtime.passes.failing import PassFailed
from tflogscope.runtime.passes.folding import fold_constants
from tflogscope.runtime.passes.graph import MutableGraph
from tflogscope.runtime.passes.pruner import prune
from tflogscope.runtime.passes.remapper import remap
from tflogscope.runtime.passes.sizes import use_sizes
from tflogscope.runtime.passes.specialization import specialize_calls

__all__ = ["optimize_graph"]

_ROUNDS = 2
_ONCE = "loop_optimizer"  # in the first round only
_ASSIGNMENTS = frozenset({"Assign", "AssignVariableOp"})
_SMALLEST = 4
"""Smaller graphs are left as they are: `min_graph_nodes`. A session gives all of its graph."""


def optimize_graph(graph: MutableGraph, *, onednn: bool, folding: bool = True) -> MutableGraph:
    """The same function with less to do. Where a pass fails, the graph as it was.

    NB: `folding` is off for functions of datasets (`captured_function.cc`): what they are made of
    may change from one iteration to the next.
    """
    if len(graph) < _SMALLEST and not graph.fetched:
        return graph
    work = graph.copy()
    optimizers: tuple[tuple[str, Callable[[MutableGraph], None]], ...] = (
        ("model_pruner", prune),
        ("function_optimizer", specialize_calls),
        ("common_subgraph_elimination", remove_duplicates),
        *((("constant_folding", fold_constants),) if folding else ()),
        ("shape_optimizer", use_sizes),
        ("arithmetic_optimizer", rewrite_arithmetic),
        ("remapper", partial(remap, onednn=onednn)),
        (_ONCE, remove_dead_branches),
        ("dependency_optimizer", simplify_dependencies),
    )
    try:
        for number in range(_ROUNDS):
            for name, optimizer in optimizers:
                if number and name == _ONCE:
                    continue
                before = len(work)
                optimizer(work)
                if telling.listener is not None:
                    telling.listener.pass_done(graph.name, name, before, len(work))
    except PassFailed:
        return graph
    _forget_places(work)
    for node in work:
        if node.type in _ASSIGNMENTS:  # `RelaxAllocatorConstraints`: nothing is sent elsewhere
            node.attributes = {**node.attributes, "_grappler_relax_allocator_constraints": True}
    return work


def _forget_places(graph: MutableGraph) -> None:
    """A node that is to be where another is (`_class`) need not, if that is not there any more.

    Told about: `ReassignColocation` of `core/grappler/utils/colocation.cc`.
    """
    for node in graph:
        places = node.attributes.get("_class", ())
        if any(place.removeprefix("loc:@") not in graph for place in places):
            node.attributes = {
                name: value for name, value in node.attributes.items() if name != "_class"
            }
