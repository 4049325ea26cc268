"""Arithmetic that costs less: x² for x·x, one sum for many, broadcasts as late as possible.

    stage.py       what a rewrite works with: the graph, the shapes, the queue of nodes to look at
    sums.py        sums of sums, equal addends, products ordered by size
    powers.py      powers, squares, roots, logarithms, exponentials
    moves.py       transposes, reshapes, casts, stacks: what only moves values
    chains.py      chains of unary ops: put behind a concatenation, or into one op

All rewrites are tried on each node, the last node first; the first that finds something better for
the node's output ends it, and the readers read that.

Told about: `core/grappler/optimizers/arithmetic_optimizer.cc`.
"""

from __future__ import annotations

from tflogscope.runtime.passes.arithmetic import chains, moves, powers, sums
from tflogscope.runtime.passes.arithmetic.stage import Rewrite, Work
from tflogscope.runtime.passes.graph import MutableGraph, topological

__all__ = ["rewrite_arithmetic"]

STAGES: tuple[Rewrite, ...] = (
    sums.add_many_at_once,
    moves.conjugate_into_transpose,
    moves.transpose_into_matmul,
    sums.small_ones_first,
    moves.transposed_back,
    moves.undone,
    moves.cast_to_same,
    moves.pack_of_equals,
    moves.multiply_by_ones,
    moves.reshape_for_nothing,
    sums.negations,
    powers.square_for_product,
    powers.comparison_for_negation,
    moves.cast_later,
    sums.equal_addends,
    chains.behind_concatenation,
    powers.root_in_divisor,
    moves.twice_the_same,
    powers.powers,
    powers.log_of_one_plus,
    powers.log_of_softmax,
    chains.reduce_before_monotonic,
    powers.exp_minus_one,
    chains.compose_unary,
    moves.slice_of_stack,
    powers.squared_difference,
)
"""In TensorFlow's order."""


def rewrite_arithmetic(graph: MutableGraph) -> None:
    """Apply the stages until there is nothing left to look at."""
    order = topological(graph)
    if order is not None:
        graph.reorder(order)
    work = Work(graph)
    while work.waiting:
        name, _ = work.waiting.popitem()
        node = graph[name]
        for stage in STAGES:
            better = stage(work, node)
            if better is not None:
                if better[0] != node.name:
                    work.replace(node, better)
                break
