"""What follows from constants is computed now, and what constants make superfluous is left out.

    materialize.py   shapes, sizes, ranks, gradients' broadcasting: what is known is a constant
    evaluate.py      nodes whose inputs are all constant are computed (the log's `Folded node`)
    simplify.py      nodes that do nothing, given the shapes, become identities
    arithmetic.py    times one, plus zero, divided by a constant; constants are moved together

All four, again and again until nothing changes. Later, and another thing:

    at_runtime.py    what the function runtime folds and merges of what is left (step -1)

Told about: `core/grappler/optimizers/constant_folding.cc`.
"""

from __future__ import annotations

from tflogscope.runtime.passes.folding.evaluate import fold
from tflogscope.runtime.passes.folding.materialize import materialize
from tflogscope.runtime.passes.folding.simplify import simplify
from tflogscope.runtime.passes.graph import MutableGraph
from tflogscope.runtime.passes.shapes import Properties

__all__ = ["fold_constants"]


def fold_constants(graph: MutableGraph) -> None:
    """Fold and simplify until nothing changes."""
    properties = Properties(graph)  # NB: as it was at the start; new nodes have none
    while True:
        count = len(graph)
        materialize(graph, properties)
        too_large = fold(graph, properties)
        modified = simplify(graph, properties, too_large)
        if not modified and len(graph) == count:
            return
