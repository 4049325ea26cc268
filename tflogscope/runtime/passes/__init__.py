"""What TensorFlow does to the graph of a function before it first runs.

graph.py         the graph that passes rewrite
report.py        what they did
lowering.py      calls inlined; conditionals and loops become Switch and Merge
shapes.py        what is known of shapes
pruner.py, duplicates.py, folding.py, rules.py, remapper.py, dependencies.py
  Grappler's optimizers
onednn.py        which ops get oneDNN's kernels
fused_ops.py     the ops that come of it
at_runtime.py    constants once more
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tflogscope.runtime.core.definition import FunctionDef, NodeDef
from tflogscope.runtime.passes import fused_ops
from tflogscope.runtime.passes.at_runtime import optimize_at_runtime
from tflogscope.runtime.passes.dependencies import simplify_dependencies
from tflogscope.runtime.passes.duplicates import merge_duplicates
from tflogscope.runtime.passes.folding import fold_constants
from tflogscope.runtime.passes.graph import Graph
from tflogscope.runtime.passes.lowering import lowered
from tflogscope.runtime.passes.onednn import use_onednn
from tflogscope.runtime.passes.pruner import prune
from tflogscope.runtime.passes.remapper import remap
from tflogscope.runtime.passes.report import Report

__all__ = ["DATA_FUNCTION", "SETTINGS", "fused_ops", "optimize"]

DATA_FUNCTION = "_tf_data_function"
"""The attribute of functions that datasets call: Grappler does not fold constants in them."""
_SMALLEST = 4
_ROUNDS = 2


@dataclass
class Settings:
    """How functions are made ready."""

    onednn: bool = True
    grappler: bool = True


SETTINGS = Settings()
"""Those of the process."""


def optimize(definition: FunctionDef) -> tuple[FunctionDef, Report]:
    """The function as it will run, and what was done to it."""
    report = Report()
    graph = Graph.of(lowered(definition))
    if SETTINGS.grappler and len(graph) >= _SMALLEST:
        for optimizer in _optimizers(definition) * _ROUNDS:
            optimizer(graph)
        for node in graph:
            if node.type in {"Assign", "AssignVariableOp"}:  # nothing is sent elsewhere
                node.attributes["_grappler_relax_allocator_constraints"] = True
    if SETTINGS.onednn:
        use_onednn(graph, report)
    optimize_at_runtime(graph, report)
    report.nodes = list(graph)
    ready = FunctionDef(definition.name, list(graph), definition.must_run, definition.attributes)
    ready.must_run = tuple(name for name in graph.kept if name in graph)
    ready.nodes.insert(0, NodeDef("_SOURCE", "NoOp"))
    ready.must_run = ("_SOURCE", *ready.must_run)
    return ready, report


def _optimizers(definition: FunctionDef) -> list[Callable[[Graph], object]]:
    """Grappler's, in the order of `meta_optimizer.cc`."""
    folds = not definition.attributes.get(DATA_FUNCTION)
    return [
        prune,
        merge_duplicates,
        *[fold_constants] * folds,
        remap,
        simplify_dependencies,
    ]
