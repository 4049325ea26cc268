"""Every row of the table does on the small TensorFlow what it does on the real one: the same
values, dtypes and shapes, made by the same ops in the same order: eagerly, traced, and backwards.
"""

from __future__ import annotations

import difflib
from typing import Any

import numpy as np
import pytest

import tflogscope.runtime.api as tf
from tests.runtime import table
from tests.runtime.watching import nodes, watch
from tflogscope.runtime import passes
from tflogscope.runtime.gradients import backprop
from tflogscope.runtime.ops.declare import declared

ROWS = {row.text: row for row in table.rows()}
RECORDED = {record["row"]: record for record in table.recorded()}


ELSEWHERE = ("TensorList", "EmptyTensorList", "Optional", "PyFunc", "EagerPyFunc")
"""What control flow and py_function are made of: tests of whole programs compare those."""
WITHOUT_ROW = {
    "DestroyResourceOp": "when a variable is collected, which happens when Python likes",
    "PlaceholderWithDefault": "the number of an iteration, in Jacobians",
    "RaggedTensorToTensor": "ragged tensors are made by other ops here; user_programs has them",
    "RngReadAndSkip": "a generator makes its variable: user_programs has them",
    "Timestamp": "the time",
    "VarHandleOp": "variables are made before a row is watched",
    **dict.fromkeys(
        (
            "VariableV2",
            "Assign",
            "AssignAdd",
            "AssignSub",
            "ApplyGradientDescent",
            "ApplyMomentum",
            "ApplyAdam",
            "IsVariableInitialized",
        ),
        "references, of graphs that a session runs: user_programs has them",
    ),
    **dict.fromkeys(
        ("HashTableV2", "LookupTableFindV2", "LookupTableImportV2", "LookupTableSizeV2"),
        "tables are objects: user_programs/tables_of_words.py",
    ),
    **dict.fromkeys(
        ("CudnnRNN", "CudnnRNNV3", "CudnnRNNBackprop", "CudnnRNNBackpropV3"),
        "traced for a GPU, run on none: user_programs/function_numbers.py",
    ),
}


@pytest.fixture(autouse=True)
def no_zeros_from_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """What gradients keep for the next time would be missing among the ops of a row."""
    monkeypatch.setattr(backprop, "_zeros_cache", {})


def test_every_row_is_recorded() -> None:
    assert list(RECORDED) == list(ROWS)


@pytest.mark.parametrize("text", RECORDED, ids=range(len(RECORDED)))
def test_row(text: str) -> None:
    row, theirs = ROWS[text], RECORDED[text]
    ours = table.run(tf, row, watch, nodes)
    wrong = [
        problem
        for mode in ("eager", "traced", "gradient", "traced gradient")
        for problem in differences(mode, ours.get(mode), theirs.get(mode), random=row.random)
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("text", RECORDED, ids=range(len(RECORDED)))
def test_row_optimised(text: str) -> None:
    row, theirs = ROWS[text], RECORDED[text]
    with passes.using(passes.Settings()):
        ours = table.run_traced(tf, row, theirs["eager"].get("values"))
    wrong = [
        problem
        for mode in ("traced", "traced gradient")
        for problem in differences(
            mode, ours.get(mode), without_nodes(theirs.get(mode)), random=row.random
        )
    ]
    assert not wrong, "\n".join(wrong)


def without_nodes(mode: Any) -> Any:
    """What was recorded, but for the nodes: their names and number may change."""
    return {**mode, "nodes": []} if mode and "nodes" in mode else mode


def differences(mode: str, ours: Any, theirs: Any, *, random: bool) -> list[str]:
    """What is not the same in that mode."""
    if ours is None or theirs is None:
        return [] if ours is theirs else [f"{mode}: {ours} instead of {theirs}"]
    if "error" in ours or "error" in theirs:
        return [] if ours == theirs else [f"{mode}: {ours} instead of {theirs}"]
    found = [
        f"{mode}: {what}\n{_side_by_side(ours[what], theirs[what])}"
        for what in ("ops", "nodes")
        if ours.get(what) != theirs.get(what)
    ]
    for number, (one, other) in enumerate(zip(ours["values"], theirs["values"], strict=False)):
        if one[:2] != other[:2] or not (random or _close(one[2], other[2], one[0])):
            found.append(f"{mode}: value {number} is {one} instead of {other}")
    if len(ours["values"]) != len(theirs["values"]):
        found.append(f"{mode}: {len(ours['values'])} values instead of {len(theirs['values'])}")
    return found


def _side_by_side(ours: list[str], theirs: list[str]) -> str:
    return "\n".join(list(difflib.unified_diff(theirs, ours, "theirs", "ours", "", "", 1, ""))[3:])


def _close(ours: Any, theirs: Any, dtype: str) -> bool:
    if ours is None or theirs is None or dtype in {"string", "bool"}:
        return bool(ours == theirs)
    tolerance = {"float16": 5e-3, "bfloat16": 3e-2}.get(dtype, 1e-4)
    return np.allclose(ours, theirs, rtol=tolerance, atol=tolerance, equal_nan=True)


def test_each_op_has_a_row() -> None:
    """An op that is not met in any row, in any mode, is named in `WITHOUT_ROW` with a reason."""
    met = set()
    for record in RECORDED.values():
        for mode in record.values():
            if isinstance(mode, dict):
                met |= {text.partition("[")[0] for text in mode.get("ops", [])}
                met |= {text.split(" = ")[1].partition("[")[0] for text in mode.get("nodes", [])}
    kept = [name for name in declared() if not name.startswith(ELSEWHERE)]
    assert [name for name in kept if name not in met | set(WITHOUT_ROW)] == []
    assert set(WITHOUT_ROW) & met == set()
