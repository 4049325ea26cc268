"""The question of seeds/000, on a log of the same kind (TensorFlow 2.13, Keras fit).

`AddV2` is dispatched eagerly at first and runs as a node later; no `_MklMatMul` is ever dispatched
eagerly. What the analyzer says about it is looked up in the raw log.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import polars as pl
import pytest

from tests.samples import path_of, raw_log, run_of
from tflogscope.cli.main import main
from tflogscope.model.log_run import LogRun
from tflogscope.views.analyze import summary_json

NAME = "keras_fit_mlp__tf2.13.1__vlog2"
MODES = "gen_*_ops.py"


@cache
def lines() -> list[str]:
    return raw_log(NAME).decode().split("\n")


def text_of(line: int) -> str:
    """A physical line of the log, from 1."""
    return lines()[line - 1]


@cache
def facts() -> dict[str, Any]:
    said: dict[str, Any] = json.loads(json.dumps(summary_json(run_of(NAME))))
    return said


def fact_of(op: str) -> dict[str, Any]:
    [fact] = [fact for fact in facts()["ops"] if fact["op"] == op]
    return dict(fact)


def test_add_runs_eagerly_before_the_train_function_and_in_it_later() -> None:
    rows = run_of(NAME).timeline.filter(pl.col("op") == "AddV2")
    eager, graph = rows.filter(mode="eager"), rows.filter(mode="graph", function="train_function")
    calls = run_of(NAME).timeline.filter(kind="call", function="train_function")
    assert eager.height == 2
    assert graph.height == 64
    assert eager["line"].max() < calls["line"].min() < graph["line"].min()  # type: ignore[operator]
    assert set(graph["call"].to_list()) <= set(calls["call"].to_list())
    assert eager["call"].to_list() == [None, None]
    assert rows["rewrite"].unique().to_list() == ["none"]  # no kernel of oneDNN in either mode


def test_the_lines_of_add_are_in_the_log() -> None:
    fact = fact_of("AddV2")
    for edge in ("first", "last"):
        assert "] Executing op AddV2 in device" in text_of(fact[f"eager_{edge}_line"])
        assert "] Process node: " in text_of(fact[f"graph_{edge}_line"])
        assert "= AddV2[" in text_of(fact[f"graph_{edge}_line"])
    numbers = [number for number, line in enumerate(lines(), 1) if "Executing op AddV2 in" in line]
    assert (fact["eager_first_line"], fact["eager_last_line"]) == (numbers[0], numbers[-1])
    assert fact["eager_runs"] == len(numbers)


@pytest.mark.parametrize("op", ["AddV2", "Mul", "Sub", "ReadVariableOp", "_EagerConst"])
def test_counts_of_ops_are_those_of_the_log(op: str) -> None:
    fact = fact_of(op)
    text = raw_log(NAME).decode()
    assert fact["eager_runs"] == text.count(f"] Executing op {op} in device")
    rows = run_of(NAME).timeline.filter(mode="graph", kind="op", op=op)
    assert fact["graph_runs"] == rows.filter(pl.col("status") != "dead").height


def test_no_eager_mkl_kernel_is_claimed_where_the_log_has_none() -> None:
    assert "Executing op _Mkl" not in raw_log(NAME).decode()
    run = run_of(NAME)
    assert run.timeline.filter(mode="eager", rewrite="eager").is_empty()
    assert run.rewrites.filter(by="eager").is_empty()
    assert facts()["eager"]["rewritten"]["executions"] == 0
    assert fact_of("MatMul")["eager_runs"] == 0
    assert fact_of("MatMul")["graph_rewritten"] > 0
    ids = [answer["id"] for answer in facts()["answers"]]
    assert "eager-rewritten" not in ids
    assert "never-eager" in ids


def test_a_session_without_eager_ops_does_not_say_which_would_be() -> None:
    run = run_of("tf1_session__tf2.13.1__vlog2")
    assert run.rewrites.height
    assert not run.summary.answers


def test_an_eager_mkl_kernel_is_claimed_where_the_log_has_it() -> None:
    name = "eager_basics__tf2.13.1__vlog2"
    count = raw_log(name).decode().count("] Executing op _Mkl")
    assert count > 0
    run = run_of(name)
    assert run.timeline.filter(mode="eager", rewrite="eager").height == count
    assert (
        run.timeline.filter(mode="eager", rewrite="wrapped")["op"]
        .unique()
        .is_in(["Softmax", "MaxPool", "Transpose", "MaxPoolGrad", "Conv2DBackpropInput"])
        .any()
    )


def test_every_line_that_an_answer_names_shows_what_it_says() -> None:
    answers = facts()["answers"]
    assert {answer["id"] for answer in answers} >= {"both-modes", "never-eager"}
    for answer in answers:
        assert answer["evidence"]
        for evidence in answer["evidence"]:
            for line in evidence["eager_lines"] or []:
                assert f"] Executing op {evidence['op']} in device" in text_of(line)
            if evidence["graph_line"]:
                text = text_of(evidence["graph_line"])
                assert "] Process node: " in text
                assert f"= {evidence['op']}[" in text or "= _Mkl" in text


def test_the_screen_tells_the_story(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", "--full", str(path_of(NAME))]) == 0
    screen = " ".join(capsys.readouterr().out.split())
    assert "No problems found" in screen
    assert MODES in screen
    assert "Ran on oneDNN in graphs, but were never called eagerly: MatMul" in screen
    add = fact_of("AddV2")
    for line in (add["eager_first_line"], add["eager_last_line"], add["graph_first_line"]):
        assert f"{line:,}" in screen


@pytest.mark.parametrize("name", ["py_function__tf2.13.1__vlog2", "nested_calls__tf2.13.1"])
def test_what_python_code_ran_inside_calls_is_its_ops_without_calls(name: str) -> None:
    run = run_of(name)
    assert isinstance(run, LogRun)
    timeline = run.timeline.with_columns(run.stages.costs.known("steady_us"))
    inside = timeline.filter(mode="eager", kind="op").drop_nulls("call")
    cost = inside["steady_us"]
    assert (run.summary.nested.ops.executions, run.summary.nested.ops.steady_us) == (
        inside.height,
        round(cost.sum(), 3) if cost.count() else None,
    )
