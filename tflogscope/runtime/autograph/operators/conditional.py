"""`if`: a tensor as condition makes a `tf.cond`, with the variables that a block assigns as its
outputs.

Told about: `if_stmt` of autograph/operators/control_flow.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tflogscope.runtime.autograph.operators.checks import (
    check_branch,
    check_branches,
    scalar_condition,
)
from tflogscope.runtime.control_flow.cond import cond as tf_cond
from tflogscope.runtime.control_flow.structures import is_tensor

Values = tuple[Any, ...]


def if_stmt(
    condition: Any,
    body: Callable[[], None],
    orelse: Callable[[], None],
    get_state: Callable[[], Values],
    set_state: Callable[[Values], None],
    names: Sequence[str],
    outputs: int,
) -> None:
    """Runs one block in Python, or makes a graph of both.

    The first `outputs` variables of the state are read after the statement; the rest is only read
    inside it. Raises TypeError and ValueError where the blocks do not give the same kind of value.
    """
    if is_tensor(condition):
        _graph_if(condition, body, orelse, get_state, set_state, tuple(names), outputs)
    elif condition:
        body()
    else:
        orelse()


def _graph_if(
    condition: Any,
    body: Callable[[], None],
    orelse: Callable[[], None],
    get_state: Callable[[], Values],
    set_state: Callable[[Values], None],
    names: tuple[str, ...],
    outputs: int,
) -> None:
    condition = scalar_condition(condition, "if statement")
    if not outputs:  # a block that is there for its side effects: its output is a constant
        get_inner, set_inner = get_state, set_state
        get_state, set_state = lambda: (0, *get_inner()), lambda values: set_inner(values[1:])
        names, outputs = ("<unused dummy>", *names), 1
    before = get_state()
    results: dict[str, Values] = {}

    def branch(block: Callable[[], None], which: str) -> Callable[[], Values]:
        def traced() -> Values:
            set_state(before)
            block()
            results[which] = after = get_state()[:outputs]
            check_branch(after, names, which)
            if len(results) == 2:
                check_branches(results["main"], results["else"], names)
            return after

        return traced

    after = tf_cond(condition, branch(body, "main"), branch(orelse, "else"), strict=True)
    set_state((*after, *before[outputs:]))
