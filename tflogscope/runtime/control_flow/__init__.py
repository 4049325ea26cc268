"""Conditionals and loops of graphs, in the order of their life.

    cond.py, case.py, while_loop.py   `tf.cond`, `tf.switch_case`, `tf.while_loop`: a node whose
                                      branches are functions (branches.py, functional_ops.py)
    tensor_array.py                   tensors by index for loops: lists of tensors (tensor_list.py)
    map_fn.py                         loops over the first dimension
    conditional_gradient.py, while_gradient.py   their gradients: again conditionals and loops
    lowering.py, inlining.py          before a graph runs: If and While become Switch, Merge,
                                      Enter, … (dataflow_ops.py), which executor/dataflow.py runs
    rewriting.py, rewritten.py        loops and branches are changed after they were made

Eagerly there is none of it: Python's own `if` and `while` run.
"""

from __future__ import annotations

from tflogscope.runtime.control_flow import conditional_gradient, while_gradient

__all__ = ["conditional_gradient", "while_gradient"]
