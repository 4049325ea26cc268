"""AutoGraph: Python's `if`, `while` and `for`, over tensors, become nodes of the graph that is
being traced.

A function is converted from its source, by passes over its syntax tree (transform.py has their
order):

    source.py       the tree of a function
    jumps.py        `break`, `continue`, `return` → flags and conditionals
    calls.py        `f(x)` → `converted_call(f, (x,))`
    flow.py         which variables flow into and out of each block (symbols.py: what a statement
                    reads and assigns)
    statements.py   `if`, `while`, `for` → operators
    expressions.py  `and`, `or`, `not`, `a if c else b` → operators
    templates.py, naming.py   their tools

The operators (folder `operators`) decide when they run: a Python value stays Python, a tensor makes
control flow of the graph. conversion.py says which functions are converted; user_errors.py tells
errors in the user's terms.
"""

from __future__ import annotations

from tflogscope.runtime.autograph.conversion import (
    control_status,
    converted_call,
    do_not_convert,
    tf_convert,
)

__all__ = ["control_status", "converted_call", "do_not_convert", "tf_convert"]
