"""Every row of the table does on the runtime what it does on TensorFlow 2.13: the same values,
dtypes and shapes, made by the same ops in the same order: eagerly, traced, and backwards.
"""

from __future__ import annotations

import difflib
import re
from typing import Any

import numpy as np
import pytest

from tests.runtime import table
from tests.runtime.watching import nodes, watch
from tflogscope.runtime.core.errors import NotInThisRuntime
from tflogscope.runtime.core.registry import gradient_of, lookup, registered

ENDS = {"Identity", "Placeholder", "NoOp"}
ROWS = {row.text: row for row in table.rows()}
RECORDED = {record["row"]: record for record in table.recorded()}


def test_every_row_is_recorded() -> None:
    assert list(RECORDED) == list(ROWS)
    assert len(ROWS) > 300


@pytest.mark.parametrize("text", RECORDED, ids=range(len(RECORDED)))
def test_row(tf: Any, text: str) -> None:
    row, theirs = ROWS[text], RECORDED[text]
    ours = table.run(tf, row, watch, nodes)
    wrong = [
        problem
        for mode in ("eager", "traced", "gradient", "traced gradient")
        for problem in differences(mode, ours.get(mode), theirs.get(mode), random=row.random)
    ]
    assert not wrong, "\n".join(wrong)


def differences(mode: str, ours: Any, theirs: Any, *, random: bool) -> list[str]:
    """What is not the same in that mode. NB: of errors only the type."""
    if ours is None or theirs is None:
        return [] if ours is theirs else [f"{mode}: {ours} instead of {theirs}"]
    if "error" in ours or "error" in theirs:
        same = ours.get("error") == theirs.get("error")
        return [] if same else [f"{mode}: {ours} instead of {theirs}"]
    found = []
    for what in ("ops", "nodes"):
        one, other = (types(needed(each.get(what, []))) for each in (ours, theirs))
        if one != other:
            found.append(f"{mode}: {what}\n{side_by_side(one, other)}")
    for number, (one, other) in enumerate(zip(ours["values"], theirs["values"], strict=False)):
        if one[:2] != other[:2] or not (random or close(one[2], other[2], one[0])):
            found.append(f"{mode}: value {number} is {one} instead of {other}")
    if len(ours["values"]) != len(theirs["values"]):
        found.append(f"{mode}: {len(ours['values'])} values instead of {len(theirs['values'])}")
    return found


def needed(texts: list[str]) -> list[str]:
    """Nodes that something needs. NB: TensorFlow's gradients make some that nothing reads, which
    never run.
    """
    parts = [re.match(r"(\S+) = (\w+).*\((.*)\)$", text) for text in texts]
    if not all(parts):
        return texts
    left = [(text, part) for text, part in zip(texts, parts, strict=True) if part]
    while True:
        read = {
            re.split("[:]", name.strip("^ "))[0] for _, part in left for name in part[3].split(",")
        }
        kept = [
            (text, part)
            for text, part in left
            if part[1] in read
            or part[2] in ENDS
            or (registered(part[2]) and lookup(part[2]).stateful)
        ]
        if len(kept) == len(left):
            return [text for text, _ in kept]
        left = kept


def types(texts: list[str]) -> list[str]:
    """`MatMul` of `name = MatMul[T=float32](a, b)`."""
    return [text.partition(" = ")[2].partition("[")[0] or text.partition("[")[0] for text in texts]


def side_by_side(ours: list[str], theirs: list[str]) -> str:
    return "\n".join(list(difflib.unified_diff(theirs, ours, "theirs", "ours", "", "", 1, ""))[3:])


def close(ours: Any, theirs: Any, dtype: str) -> bool:
    if ours is None or theirs is None or dtype in {"string", "bool"}:
        return bool(ours == theirs)
    tolerance = {"float16": 5e-3, "bfloat16": 3e-2}.get(dtype, 1e-4)
    return np.allclose(ours, theirs, rtol=tolerance, atol=tolerance, equal_nan=True)


def test_a_gradient_that_is_left_out_says_so(tf: Any) -> None:
    x = tf.constant([3.0, 1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_prod(x)
    with pytest.raises(NotInThisRuntime, match=r"the gradient of Prod .*small on purpose.*record"):
        tape.gradient(y, x)


def test_an_op_that_is_not_there_has_no_gradient_either() -> None:
    assert not registered("FakeQuantWithMinMaxArgs")
    with pytest.raises(LookupError, match="FakeQuantWithMinMaxArgs"):
        gradient_of("FakeQuantWithMinMaxArgs")
