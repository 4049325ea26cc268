"""What TensorFlow does to the graph of a function before it first runs.

graph.py         the graph that passes rewrite; what nothing needs goes; what is known of shapes
lowering.py      calls inlined; conditionals and loops become Switch and Merge; constants once more
folding.py, rules.py, remapper.py, dependencies.py
                 Grappler's optimizers; remapper.py also says which ops get oneDNN's kernels
"""

from __future__ import annotations

from dataclasses import dataclass

from tflogscope.runtime.core.graph import FunctionDef, NodeDef
from tflogscope.runtime.passes.dependencies import merge_duplicates, simplify_dependencies
from tflogscope.runtime.passes.folding import fold_constants
from tflogscope.runtime.passes.graph import Graph, prune
from tflogscope.runtime.passes.lowering import lowered, optimize_at_runtime
from tflogscope.runtime.passes.remapper import Report, remap, use_onednn

__all__ = ["DATA_FUNCTION", "SETTINGS", "optimize"]

DATA_FUNCTION = "_tf_data_function"
"""The attribute of functions that datasets call: Grappler does not fold constants in them."""
_GRAPPLER = (prune, merge_duplicates, fold_constants, remap, simplify_dependencies)
"""In the order of `meta_optimizer.cc`."""
_SMALLEST = 4
_ROUNDS = 2


@dataclass
class Settings:
    """How functions of this process are made ready."""

    onednn: bool = True


SETTINGS = Settings()


def optimize(definition: FunctionDef) -> tuple[FunctionDef, Report]:
    """The function as it will run, and what was done to it."""
    report = Report()
    graph = Graph.of(lowered(definition))
    if len(graph) >= _SMALLEST:
        for optimizer in _GRAPPLER * _ROUNDS:
            if optimizer is not fold_constants or not definition.attributes.get(DATA_FUNCTION):
                optimizer(graph)
    if SETTINGS.onednn:
        use_onednn(graph, report)
    optimize_at_runtime(graph, report)
    report.nodes = list(graph)
    nodes = [NodeDef("_SOURCE", "NoOp"), *graph]
    must_run = ("_SOURCE", *(name for name in graph.kept if name in graph))
    return FunctionDef(definition.name, nodes, must_run, definition.attributes), report
