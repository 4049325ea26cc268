"""One quantity has one figure on every screen: analyze, explain, diff, query and the tables."""

from __future__ import annotations

import json
import re
from typing import Any

import polars as pl
import pytest

from tests.deep import first_quick
from tests.samples import NAMES, run_of
from tflogscope.model.common.figures import duration, ranked_by, span_of_run, spoken, whole_of
from tflogscope.model.findings.gaps import measure_gaps
from tflogscope.model.ledger.services import threads_of_service
from tflogscope.model.log_run import LogRun
from tflogscope.model.overview.difference import difference
from tflogscope.views import document as doc
from tflogscope.views.analyze import analyze_document, first_screen, kind_rows, summary_json
from tflogscope.views.difference import difference_document
from tflogscope.views.explain import explain_document
from tflogscope.views.onednn import _by_op
from tflogscope.views.terminal import drawn
from tflogscope.views.text import shorten
from tflogscope.views.time import time_section

LOGS = first_quick([(name,) for name in NAMES])
_OPS = 5


@pytest.mark.parametrize("name", LOGS)
def test_an_op_has_one_time(name: str) -> None:
    run = run_of(name)
    ops = run.ops.filter(kind="op")
    time = "steady_us" if ops["steady_us"].count() else "total_us"
    for op in run.summary.ops.head(_OPS).to_dicts():
        of_op = ops.filter(op=op["op"])
        explained = run.explain(op=op["op"])
        for mode in ("eager", "graph"):
            known = of_op.filter(mode=mode)[time].drop_nulls()
            table = float(known.sum()) if known.len() else None
            assert op[f"{mode}_us"] == pytest.approx(table, abs=0.01)
            assert explained[mode][time] == pytest.approx(table, abs=0.01)
            if table and time == "steady_us":
                screen = drawn(explain_document(explained))
                assert f"({duration(table)}" in screen
    asked = f"SELECT op, SUM({time}) AS us FROM ops WHERE kind = 'op' GROUP BY op"
    by_sql = {op: us or 0.0 for op, us in run.query(asked).rows()}
    assert by_sql == pytest.approx(dict(ops.group_by("op").agg(pl.col(time).sum()).rows()))


@pytest.mark.parametrize(
    ("microseconds", "text"),
    [
        (999.4, "999 µs"),
        (999.6, "1 ms"),
        (999_600, "1 s"),
        (1.2345e6, "1.23 s"),
        (1.2345e9, "1230 s"),
    ],
)
def test_a_duration_in_a_sentence_has_no_exponent(microseconds: float, text: str) -> None:
    assert spoken(microseconds) == text


def test_what_a_line_ran_adds_up() -> None:
    run, most = run_of("keras_loop__tf2.20.0__record"), 0
    for place in run.stacks["python"].unique().to_list():
        if place not in run.timeline["python"]:  # its function never ran
            continue
        facts = run.explain(at=place)
        whole = [facts["eager"], facts["graph"]]
        (section,) = (
            each
            for each in explain_document(facts)
            if isinstance(each, doc.Section) and each.title == "What it ran"
        )
        (table,) = (each for each in section.children if isinstance(each, doc.Table))
        assert sum(row["runs"] for row in table.rows) == sum(each["runs"] for each in whole)
        took = sum(each["steady_us"] or 0.0 for each in whole)
        assert sum(row["us"] or 0.0 for row in table.rows) == pytest.approx(took, abs=0.01)
        most = max(most, len(facts["ops"]))
    assert most > 12  # so many rows are shown


@pytest.mark.parametrize("name", LOGS)
def test_the_run_has_one_time(name: str) -> None:
    run = run_of(name)
    if not run.time["wall_us"].sum():
        return
    whole = duration(float(run.time["wall_us"].sum()))
    if threads := threads_of_service(run.summary.functions):  # a screen has their time
        own = run.ledger.filter(pl.col("thread").is_in(threads), pl.col("phase").is_not_null())
        whole = duration(float(own["wall_us"].sum()))
    for document in (first_screen(run), analyze_document(run)):
        assert f" total {whole} " in " ".join(drawn(document).split())
    difference = run.diff(run)
    assert difference["runs"]["before"]["wall_us"] == pytest.approx(run.time["wall_us"].sum())


@pytest.mark.parametrize("name", LOGS)
def test_a_finding_has_one_time(name: str) -> None:
    run = run_of(name)
    said = json.loads(json.dumps(summary_json(run), default=str))["findings"]
    both = run.findings.hstack(run.avoidable)
    for row, in_json in zip(both.to_dicts(), said, strict=True):
        assert in_json["time_us"] == row["time_us"]
        if (us := row["time_us"]) and row["severity"] != "note":
            of = whole_of(us, row["repeats_us"], run.repeated, span_of_run(run.time))
            part = of.part if of else us
            shown = " ".join(drawn(analyze_document(run)).split())
            assert re.search(rf"can save (?:at most )?{re.escape(spoken(part))}\b", shown)
            assert (
                spoken(us) == spoken(part) or f"plus {spoken(us - part)} of one-time work" in shown
            )


@pytest.mark.parametrize("name", LOGS)
def test_eligible_nodes_are_those_with_a_kernel(name: str) -> None:
    run = run_of(name)
    nodes = run.summary.eligible.nodes
    assert _by_op(run)["eligible"].sum() == nodes
    by_sql = run.query("SELECT reason FROM nodes WHERE eligible AND executions > 0")["reason"]
    assert (by_sql.fill_null("") != "no-kernel").sum() == nodes
    assert "eligible" not in str([column.title for column in doc.columns("functions")])


def test_diff_has_the_times_of_modes_that_analyze_has() -> None:
    run = run_of("retracing__tf2.13.1")
    shown = {row[:2]: row[4] for row in kind_rows(run.summary)}
    for row in difference(run, run)["modes"]:
        for side in ("before", "after"):
            known = shown.get((row["mode"], row["kind"]))
            assert known is None or row[f"time_us_{side}"] == pytest.approx(known, abs=0.01)
    assert len(shown) > 2


def test_tracing_that_record_wrote_down_has_one_time() -> None:
    run = run_of("prepared__tf2.20.0__record")
    (took,) = run.time.filter(phase="tracing")["wall_us"]
    (said,) = run.findings.filter(id="first-call")["text"]
    assert f"took {duration(took)}; its first call then took" in said


@pytest.mark.parametrize(
    ("us", "repeats_us", "whole"),
    [
        (796.0, 700.0, (700.0, 737.0, True)),  # with what is one-time it is more than the loops
        (796.0, 90.0, (796.0, 9000.0, False)),
        (500.0, None, (500.0, 737.0, True)),
        (796.0, None, (796.0, 9000.0, False)),
        (9001.0, None, None),
    ],
)
def test_what_is_mostly_in_loops_is_a_part_of_them(
    us: float, repeats_us: float | None, whole: tuple[float, float, bool] | None
) -> None:
    repeated = pl.DataFrame({"phase": ["compute", "python"], "repeats_us": [700.0, 37.0]})
    assert whole_of(us, repeats_us, repeated, 9000.0) == whole


@pytest.mark.parametrize("name", LOGS)
def test_a_later_call_has_one_time(name: str) -> None:
    run = run_of(name)
    calls = run.timeline.filter(kind="call").with_columns(
        us=pl.coalesce("work_us", "duration_us"),
        later=pl.int_range(pl.len()).over("function", "function_uid") > 0,
    )
    later = calls.filter("later").group_by("function", "function_uid").agg(pl.median("us"))
    shown = run.summary.functions.select("function", "function_uid", "later_us")
    both = later.join(shown, on=["function", "function_uid"], nulls_equal=True)
    assert both["later_us"].to_list() == pytest.approx(both["us"].to_list(), abs=0.001)
    if step := run.diff(run)["step"]:
        of_step = calls.filter("later", function=step["function"])
        assert step["us_before"] <= of_step["us"].max()
        if of_step["function_uid"].n_unique() == 1:
            (in_diff, on_screen) = step["us_before"], both.filter(function=step["function"])["us"]
            assert in_diff in [pytest.approx(us, abs=0.001) for us in on_screen]


@pytest.mark.parametrize("name", LOGS)
def test_calls_have_one_time(name: str) -> None:
    run = run_of(name)
    calls = run.ops.filter(kind="call")
    time = ranked_by(run.ops)
    shown = [us for _, kind, _, _, us in kind_rows(run.summary) if kind == "call"]
    if shown and not run.stages.calls["nested"].any():  # else these are in others' time
        known = calls[time].drop_nulls()
        assert shown == [pytest.approx(known.sum(), abs=0.01) if known.len() else None]
    functions = run.summary.functions[time].drop_nulls()
    assert functions.sum() == pytest.approx(calls[time].sum(), abs=0.01)


@pytest.mark.parametrize("name", LOGS)
def test_parts_of_the_run_add_up_and_say_how_many_they_are(name: str) -> None:
    run = run_of(name)
    for least in (0.02, 0.005):
        for section in time_section(run, least=least):
            table = next(each for each in section.children if isinstance(each, doc.Table))
            *parts, total = table.rows
            assert sum(part["us"] for part in parts) == pytest.approx(total["us"], abs=0.01)
            assert not any(part["phase"] == "other" for part in parts)


@pytest.mark.parametrize(
    ("name", "subject"),
    [("kinds__tf2.22.0rc0__record", "summed"), ("gan__tf2.20.0__record", "g_step")],
)
def test_ops_of_several_lines_say_of_how_many(name: str, subject: str) -> None:
    run = run_of(name)
    (finding,) = run.findings.filter(id="eager-steady-state", subject=subject).to_dicts()
    ran = run.timeline.filter(pl.col("line").is_in([*map(int, finding["lines"].split(";"))]))
    places = ran["python"].n_unique()
    said = f"eager ops on {places} lines (" if places > 1 else "eager ops ("
    assert f"{finding['count']} {said}" in finding["text"]


def test_times_that_are_not_compared_are_not_printed() -> None:
    facts = run_of("retracing__tf2.13.1").diff(run_of("function_mlp__tf2.13.1__vlog2"))
    assert re.search(r"\d (s|ms|µs)$", tables_of(facts), re.MULTILINE)
    assert not re.search(r"\d (s|ms|µs)\b", tables_of({**facts, "busy": ["before"]}))


def tables_of(facts: dict[str, Any]) -> str:
    every = [each for each in difference_document(facts) if isinstance(each, doc.Section)]
    return "\n".join(
        drawn([each]) for each in every if each.title.startswith(("Exec", "Ops", "Fun"))
    )


def test_each_side_of_an_arrow_is_cut() -> None:
    assert shorten("kernel: _FusedMatMul → _MklFusedMatMul", 28) == "kernel…atMul → _MklFu…MatMul"
    assert shorten("1 → _MklNativeFusedMatMul", 16) == "1 → _MklNa…atMul"
    assert shorten("MatMul → Mul", 6) == "Mat…ul"


def test_variables_of_eager_ops_are_no_python_between_calls() -> None:
    """Reads and updates of variables go into the function with the ops: 61 ms by the clock."""
    run = run_of("averages_weights_between__tf2.21.0__record")
    assert isinstance(run, LogRun)
    [gaps] = measure_gaps(run.stages).to_dicts()
    assert 40_000 < gaps["eager"] < 100_000
    assert gaps["idle"] < 10_000
