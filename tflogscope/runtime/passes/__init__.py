"""What happens to a function between tracing and running, in TensorFlow's order.

    functions.py               arguments and results become nodes
    (control_flow/lowering.py) calls are inlined, conditionals and loops become Switch and Merge
    grappler.py                grappler's optimizers, twice over:
      pruner.py                  what no result needs is left out
      specialization.py          functions that stay functions are made anew for each call
      common_subexpressions.py   of equal nodes one stays
      folding/                   what follows from constants is computed now
      sizes.py                   the product of a shape is a size
      arithmetic/                the same for less
      remapper/                  ops that follow each other become one fused op
      dead_branches.py           branches that are never taken are taken away
      dependencies.py            control edges that say nothing, nodes that only hand on
    layout.py                  oneDNN's ops instead of TensorFlow's (onednn.py: which there are)
    folding/at_runtime.py      once more constants and equal nodes, by the function runtime
    eager_ops.py               what an eager op goes through instead
    fused_ops.py               the ops that only passes make, with their kernels
    graph.py, shapes.py        what the passes work on, what is known of shapes and values
    numbering.py               which dimensions are the same, though nobody knows how large

No pass changes a value. What they do is told to `telling.listener`.
"""

from __future__ import annotations

from tflogscope.runtime.function.definition import FunctionDef
from tflogscope.runtime.passes.settings import Settings, current, using

__all__ = ["Settings", "current", "optimize", "using"]


def optimize(definition: FunctionDef, settings: Settings) -> FunctionDef:
    """The function as TensorFlow would run it: its component function on the one device.

    Its nodes are those that TensorFlow's executor processes, `_SOURCE`, `_Arg` and `_Retval` among
    them.
    """
    # imported here, because they need the ops, which need functions
    from tflogscope.runtime.control_flow.lowering import lowered
    from tflogscope.runtime.passes.folding.at_runtime import optimize_at_runtime
    from tflogscope.runtime.passes.functions import (
        DATA_FUNCTION,
        definition_of,
        graph_of,
    )
    from tflogscope.runtime.passes.grappler import optimize_graph
    from tflogscope.runtime.passes.layout import use_onednn

    named = lowered(definition)
    graph = graph_of(named)
    if settings.grappler:
        folding = not definition.attributes.get(DATA_FUNCTION)
        graph = optimize_graph(graph, onednn=settings.onednn, folding=folding)
    if settings.onednn:
        use_onednn(graph)
    optimize_at_runtime(graph)
    return definition_of(graph, named)
