"""What changed between two runs: nothing in a run against itself, and each kind of change."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.conftest import Open
from tests.makelog import ADD, MATMUL, SOURCE, Log, Node
from tests.samples import UNLIKE, path_of, run_of
from tflogscope import Run, open_log
from tflogscope.cli.main import main
from tflogscope.model.overview.difference import difference
from tflogscope.recording.header import footer_line
from tflogscope.stores.figures import OneRun, read_figures
from tflogscope.views.difference import verdict
from tflogscope.views.report.comparison import comparison_page

STEP = -7748365561995536539
PLAIN = Node(MATMUL.id, MATMUL.name, "MatMul", *MATMUL.inputs)
CHANGED = ("ops", "functions", "nodes", "primitives")


def program(*nodes: Node, uid: int = 6, traces: int = 1, wait: int = 0, first: int = 0) -> Log:
    """Four calls of nodes that take `wait` µs each; the first takes `first` more."""
    log = Log()
    for trace in range(traces):
        name = f"__inference_f_{uid + trace}"
        log.first_call(name, uid + trace, STEP + 10 * trace, SOURCE)
        for number in range(4):
            step = STEP + 10 * trace + 1 + number
            log.executing(name)
            log.running(name, uid + trace)
            log.run(SOURCE, step)
            for node in nodes:
                log.start(node, step)
                log.wait(wait + first * (node is nodes[0]))
                log.done(node, step)
            log.ran(name, uid + trace)
            log.exiting(name)
    return log


def changes(facts: dict[str, Any], what: str) -> dict[str, list[str]]:
    key = {"ops": "op", "functions": "function", "nodes": "node", "primitives": "primitive"}[what]
    return {row[key]: row["changes"] for row in facts[what]}


@pytest.mark.parametrize("name", UNLIKE)
def test_a_run_is_the_same_as_itself(name: str) -> None:
    facts = difference(run_of(name), run_of(name))
    assert not any(facts[what] for what in (*CHANGED, "findings"))


@pytest.mark.thorough
def test_findings_of_one_run_only_are_told() -> None:
    before, after = run_of("retrace__tf2.20.0__vlog2"), run_of("function_mlp__tf2.20.0__vlog2")
    found = {(each["change"], each["id"]) for each in difference(before, after)["findings"]}
    assert ("gone", "retraced") in found
    back = {(each["change"], each["id"]) for each in difference(after, before)["findings"]}
    assert ("new", "retraced") in back


@pytest.mark.thorough
def test_the_number_of_a_function_is_not_its_name(opened: Open) -> None:
    before = opened(program(MATMUL, uid=6))
    facts = difference(before, opened(program(MATMUL, uid=4711)))
    assert not any(facts[what] for what in CHANGED)


@pytest.mark.thorough
def test_another_kernel(opened: Open) -> None:
    before, after = opened(program(PLAIN)), opened(program(MATMUL))
    facts = difference(before, after)
    assert "kernel" in changes(facts, "ops")["MatMul"]
    assert "kernel" in changes(facts, "nodes")[MATMUL.name]
    assert "rewritten" in changes(facts, "functions")["f"]
    [node] = facts["nodes"]
    assert (node["kernels_before"], node["kernels_after"]) == ("MatMul", "_MklMatMul")


@pytest.mark.thorough
def test_new_and_gone(opened: Open) -> None:
    one, two = opened(program(MATMUL)), opened(program(MATMUL, ADD))
    assert changes(difference(one, two), "ops") == {ADD.op: ["new"]}
    assert changes(difference(two, one), "nodes") == {ADD.name: ["gone"]}


@pytest.mark.thorough
def test_another_mode(opened: Open) -> None:
    log = program(ADD)
    for _ in range(3):
        log.executing(ADD.op)
    facts = difference(opened(program(ADD)), opened(log))
    assert "mode" in changes(facts, "ops")[ADD.op]
    eager = [row for row in facts["modes"] if (row["mode"], row["kind"]) == ("eager", "op")]
    assert [(row["executions_before"], row["executions_after"]) for row in eager] == [(None, 3)]


@pytest.mark.thorough
def test_more_traces(opened: Open) -> None:
    facts = difference(opened(program(ADD)), opened(program(ADD, traces=3)))
    assert "traces" in changes(facts, "functions")["f"]


def test_slower_and_faster(opened: Open) -> None:
    fast, slow = opened(program(ADD, wait=100)), opened(program(ADD, wait=900))
    assert changes(difference(fast, slow), "ops") == {ADD.op: ["slower"]}
    assert changes(difference(slow, fast), "nodes") == {ADD.name: ["faster"]}


def test_an_op_that_hardly_counts_is_neither(opened: Open) -> None:
    """Four times as long, and less than one in a hundred of all ops' time."""
    fast, slow = (program(MATMUL, ADD, wait=wait) for wait in (40, 160))
    assert "slower" in changes(difference(opened(fast), opened(slow)), "ops")[ADD.op]
    fast, slow = (program(MATMUL, ADD, wait=wait, first=30_000) for wait in (40, 160))
    assert changes(difference(opened(fast), opened(slow)), "ops") == {}


def test_the_command_and_its_json(capsys: pytest.CaptureFixture[str]) -> None:
    paths = [str(path_of(f"function_mlp__tf{release}__vlog2")) for release in ("2.8.4", "2.13.1")]
    assert main(["diff", *paths]) == 0
    screen = capsys.readouterr().out
    assert main(["diff", *paths, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["runs"]["before"]["source"] == paths[0]
    assert all(row["op"] in screen for row in facts["ops"][:5])


HOSTILE = "</script><img/src=x/onerror=alert(1)>"


def test_the_verdict_says_times_traces_and_findings() -> None:
    before, after = run_of("retrace__tf2.20.0__vlog2"), run_of("function_mlp__tf2.20.0__vlog2")
    said = verdict(difference(before, after))
    assert "fewer" in said
    assert "gone" in said
    assert verdict(difference(before, before)).endswith(" (unchanged).")


def test_the_verdict_says_counts_where_no_times_are_compared() -> None:
    names = ("eager_basics__tf2.8.4__vlog2", "function_mlp__tf2.8.4__vlog2")
    counts = verdict(difference(*map(run_of, names)))  # eager ops of 2.8 have no durations
    assert counts.startswith("28 eager ops (was 155); 136 graph node runs (was 0); 2 more traces;")
    older, newer = names[1], "function_mlp__tf2.13.1__vlog2"
    facts = difference(run_of(older), run_of(newer))
    assert "rewritten" not in verdict(facts)
    unknown = {"before": None, "after": None}
    busy = verdict(facts | {"busy": ["after"], "loops": unknown, "step": None})
    assert "the second run. 1 more node with a rewritten kernel; 1 finding gone" in busy
    assert "eager" not in busy  # 28 of them ran in both


@pytest.mark.thorough
def test_a_step_is_the_median_of_its_calls_but_the_first(opened: Open) -> None:
    fast, slow = opened(program(ADD, wait=100)), opened(program(ADD, wait=900))
    step = difference(fast, slow)["step"]
    assert step["function"] == "f"
    for side, run in (("before", fast), ("after", slow)):
        known = run.timeline["steady_us"].count() and fast.timeline["steady_us"].count()
        column = "steady_us" if known and slow.timeline["steady_us"].count() else "duration_us"
        later = run.timeline.filter(kind="call", status="done")[column][1:]
        assert step[f"us_{side}"] == later.median()
    assert " per call (was " in verdict(difference(fast, slow))


@pytest.mark.thorough
def test_the_step_is_that_of_training_though_evaluation_has_its_name() -> None:
    run = run_of("fit_cycle__tf2.20.0__record")
    facts = difference(run, run)
    figures = read_figures(OneRun(run, "it")).row(0, named=True)
    assert facts["step"]["function"] == "multi_step_on_iterator"
    assert facts["step"]["us_before"] == figures["step_us"]
    calls = run.timeline.filter(kind="call", function="multi_step_on_iterator")
    training = calls.filter(pl.col("function_uid") == calls["function_uid"][0])["work_us"][1:]
    every = calls["work_us"][1:]
    for name, at in (("first", 0.25), ("third", 0.75)):
        assert facts["step"][f"{name}_quartile_before"] == training.quantile(at, "linear")
    assert every.median() != training.median()
    assert facts["runs"]["before"]["wall_us"] == run.time["wall_us"].sum()


@pytest.mark.thorough
def test_times_whose_middle_halves_overlap_have_not_changed(opened: Open) -> None:
    waits = {"fast": (100, 100, 900, 900), "slow": (300, 400, 900, 900), "apart": (3000, 3100)}
    runs = {}
    for name, each in waits.items():
        log = Log()
        log.first_call("__inference_f_6", 6, STEP, SOURCE)
        for number, wait in enumerate(each * 3):
            log.executing("__inference_f_6")
            log.running("__inference_f_6", 6)
            for node in (SOURCE, ADD):
                log.start(node, STEP + number + 1)
                log.wait(wait if node is ADD else 0)
                log.done(node, STEP + number + 1)
            log.ran("__inference_f_6", 6)
            log.exiting("__inference_f_6")
        runs[name] = opened(log)
    same = difference(runs["fast"], runs["slow"])
    assert "slower" not in changes(same, "ops").get(ADD.op, [])
    assert ", possibly run-to-run noise), interquartile range now " in verdict(same)
    other = difference(runs["fast"], runs["apart"])
    assert "slower" in changes(other, "ops")[ADD.op]
    assert " per call (was " in verdict(other)


def logged(name: str) -> Run:
    """A run of `sentences/programs/scale.py`, recorded with 2.20 while others used the machine."""
    return open_log(Path(__file__).parent / "difference" / f"{name}__record.log.zst")


def said(facts: dict[str, Any]) -> set[str]:
    return {change for what in CHANGED for row in facts[what] for change in row["changes"]}


def test_one_program_that_ran_twice_is_neither_slower_nor_faster(opened: Open) -> None:
    once = logged("scale__mended__tf2.20.0")
    again = open_log(
        Path(__file__).parent / "difference" / "scale__mended__tf2.20.0__record__again.log.zst"
    )
    # A Keras fit that was recorded twice: 7.2 ms a call, then 12.6 ms.
    slow, fast = opened(program(ADD, wait=1300)), opened(program(ADD, wait=700))
    for before, after in ((once, again), (again, once), (slow, fast), (fast, slow)):
        facts = difference(before, after)
        assert not said(facts)
        step = verdict(facts).rpartition("; ")[2]
        assert " (was " not in step or ", no clear change)" in step or "run-to-run noise)" in step
    assert ", possibly run-to-run noise)" in verdict(difference(fast, slow))


def test_a_mended_program_is_faster_in_loops() -> None:
    """By its own clock its 40 calls took 5.7 s, and 1.5 s with the rate as a tensor.

    Of these 1.6 s and 1.2 s were the first call, which is paid once.
    """
    before, after = logged("scale__tf2.20.0"), logged("scale__mended__tf2.20.0")
    facts, back = difference(before, after), difference(after, before)
    faster, slower = verdict(facts), verdict(back)
    assert re.match(r"Repeated time \d+ ms \(was [\d.]+ s\); .*9 fewer traces; 1 finding g", faster)
    assert re.match(
        r"Repeated time [\d.]+ s \(was \d+ ms\); .*9 more traces; 1 new finding", slower
    )
    assert facts["loops"]["before"] < 5.7e6
    assert facts["loops"]["after"] < 1.5e6
    wall = [facts["runs"][side]["wall_us"] for side in ("before", "after")]
    assert wall[0] > wall[1] > 2e7
    # The first call of each of the ten traces is not a step.
    calls = before.timeline.filter(kind="call", function="descend")
    later = calls.filter(~pl.col("function_uid").is_first_distinct())["work_us"]
    assert later.len() == 30
    assert facts["step"]["us_before"] == later.median()


@pytest.mark.thorough
def test_the_page_has_both_on_one_scale_and_all_changes(tmp_path: Path) -> None:
    names = ("retrace__tf2.20.0__vlog2", "function_mlp__tf2.20.0__vlog2")
    logs = [str(path_of(name)) for name in names]
    target = tmp_path / "diff.html"
    assert main(["diff", *logs, "-o", str(target)]) == 0
    text = target.read_text()
    facts = difference(*map(run_of, names))
    assert verdict(facts) in text
    assert text.count("<svg") == 2
    axes = [svg.split("runs · time · busy")[0] for svg in text.split("</desc>")[1:]]
    assert axes[0].count("<line") == axes[1].count("<line")
    assert 'id="ops-table"' in text
    assert text.count("<tr>") > sum(len(facts[what]) for what in CHANGED)
    assert main(["diff", *logs, "-o", str(target)]) == 2
    assert main(["diff", *logs, "-o", logs[0], "--force"]) == 2


@pytest.mark.thorough
def test_a_hostile_page_of_two_runs_stays_text(opened: Open) -> None:
    log = program(ADD)
    log.executing(HOSTILE)
    before, after = opened(program(ADD)), opened(log)
    text = comparison_page(before, after, difference(before, after))
    assert "<img" not in text
    assert HOSTILE.replace("<", "&lt;").replace(">", "&gt;") in text


def test_cpu_time_is_shown_where_record_wrote_it(tmp_path: Path, capsys: Any) -> None:
    sides = []
    for name, seconds in (("a.log", 10.8), ("b.log", None)):
        log = tmp_path / name
        facts = {} if seconds is None else {"program_cpu_s": seconds}
        log.write_bytes(program(MATMUL).text().encode() + footer_line(0, facts))
        sides.append(str(log))
    main(["diff", *sides])
    said = " ".join(capsys.readouterr().out.split())  # paths are as long as they are
    before, _, after = said.partition(" after ")
    assert "b.log" in after
    assert "10.8 s CPU time" in before
    assert "CPU time" not in after
