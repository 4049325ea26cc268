"""Logs recorded with `record --lines`, of a program that notes which line asks for which op."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

from tests.conftest import Open
from tests.deep import first_quick
from tests.makelog import Log
from tflogscope import Run, open_log
from tflogscope.grammar.load import load_grammar, packaged_toml
from tflogscope.model.log_run import LogRun
from tflogscope.model.pipeline import Evidence
from tflogscope.recording.header import footer_line, header_line
from tflogscope.recording.pass_on import _LOG_LINE
from tflogscope.sources.owners import _OF_RECORD

HERE = Path(__file__).parent / "lines"
LOGS = sorted(HERE.glob("program__*.log.zst"))
PROGRAM = HERE / "program.py"
ASKS = {
    op: f"program.py:{number}"
    for number, line in enumerate(PROGRAM.read_text().splitlines(), 1)
    if (found := re.search(r"  #: (.*)", line))
    for op in found[1].split()
}


@pytest.fixture(
    scope="module",
    params=first_quick((path,) for path in LOGS),
    ids=lambda path: path.name.split("__")[1][:-8],
)
def run(request: pytest.FixtureRequest) -> Run:
    return open_log(request.param)


def test_each_op_has_the_line_that_asks_for_it(run: Run) -> None:
    expected = pl.col("op").replace_strict(ASKS, default=None)
    known = run.timeline.with_columns(expected=expected).drop_nulls("expected")
    assert set(known["op"]) == set(ASKS)
    wrong = known.filter(pl.col("python").ne_missing(pl.col("expected")))
    assert wrong.select("line", "op", "node", "expected", "python").rows() == []


def test_all_eager_ops_have_a_line(run: Run) -> None:
    eager = run.timeline.filter(mode="eager")
    assert eager.height > 50
    assert eager["python"].null_count() == 0


def test_nodes_that_python_made_have_a_line(run: Run) -> None:
    # Lowering makes the others: `while/enter/_5`, `cond/switch_pred/_2`.
    made = run.nodes.filter(~pl.col("node").str.contains(r"/_\d+$|_SOURCE|_SINK|^(?:Func|Arg)/"))
    assert made.filter(pl.col("op").is_in(list(ASKS)))["python"].null_count() == 0


@pytest.mark.parametrize("release", ["2.13.1", "2.22.0rc0"])
def test_inlined_nodes_of_one_name_and_different_lines_have_none(release: str) -> None:
    """`inlined.py` asks for `mul` in two functions, and for all else on one line."""
    timeline = open_log(HERE / f"inlined__tf{release}.log.zst").timeline
    nodes = timeline.filter(pl.col("op").is_in(["Mul", "Sinh", "Erf", "Cosh"]), mode="graph")
    assert dict(nodes.select("node", pl.col("python").str.split("/").list.last()).rows()) == {
        "PartitionedCall/Sinh": "inlined.py:10",
        "PartitionedCall_1/Sinh": "inlined.py:10",
        "PartitionedCall/mul": None,
        "PartitionedCall_1/mul": None,
        "mul": "inlined.py:15",
        "Erf": "inlined.py:15",
        "Cosh": "inlined.py:16",
    }


def test_functions_have_the_line_of_their_first_call(run: Run) -> None:
    lines = dict(run.functions.select("function", "python").rows())
    assert lines["step"] == "program.py:41"


def test_ops_have_the_line_that_asks_for_most(run: Run) -> None:
    (row,) = run.ops.filter(mode="eager", op="Asinh").to_dicts()
    assert (row["python"], row["python_executions"]) == (ASKS["Asinh"], row["executions"])


def test_what_the_lines_asked_for_adds_up(run: Run) -> None:
    assert isinstance(run, LogRun)
    timeline = run.timeline.with_columns(run.stages.costs.known("steady_us").alias("cost"))
    ran = timeline.filter(pl.col("status") != "dead").drop_nulls("python")
    counts = {
        "eager": ran.filter(mode="eager", kind="op"),
        "graph": ran.filter(mode="graph", kind="op"),
    }
    for line in run.summary.lines.iter_rows(named=True):
        for mode, rows in counts.items():
            mine = rows.filter(python=line["python"])
            assert line[f"{mode}_runs"] == mine.height
            time = mine["cost"]
            assert line[f"{mode}_us"] == (pytest.approx(time.sum()) if time.count() else None)


def test_the_stacks(run: Run) -> None:
    stacks = run.stacks
    assert stacks["id"].to_list() == list(range(stacks.height))
    frames = dict(stacks.select("python", "frames").rows())
    assert frames[ASKS["Asinh"]].split(";")[:2] == ["program.py:11 deep", "program.py:15 shallow"]
    assert frames[ASKS["Expm1"]] == f"{ASKS['Expm1']} body;<py_function>"


@pytest.mark.parametrize(
    ("lines", "python"),
    [
        (['tflogscope stack 7.1 [["a.py",3,"f"]]', "tflogscope op 7 7.1 AddV2"], "a.py:3"),
        (["tflogscope op 7 7.1 AddV2"], None),  # its stack is lost
        (['tflogscope stack 7.1 [["a.py",3', "tflogscope op 7 7.1 AddV2"], None),  # or torn
        (['tflogscope stack 7.1 [["a.py",3,"f"]]', "tflogscope op 7 7.1 Mul"], None),
        (['tflogscope stack 7.1 [["a.py",3,"f"]]', "tflogscope op 7 7.0 AddV2"], None),
    ],
)
def test_a_line_that_is_not_sure_is_null(
    opened: Open, lines: list[str], python: str | None
) -> None:
    log = Log()
    for line in lines:
        log.raw(line)
    log.executing("AddV2")
    assert opened(log).timeline["python"].to_list() == [python]


def test_lines_of_the_hook_do_not_hide_that_there_are_thread_ids(opened: Open) -> None:
    log = Log("tid")
    for number in range(9):
        log.raw(f"tflogscope node 7.1 7.1 node{number}")
    log.executing("AddV2")
    assert opened(log).summary.recorded.has_thread_ids


def test_an_op_that_was_not_announced_takes_no_line_of_another(opened: Open) -> None:
    log = Log()
    log.raw('tflogscope stack 7.1 [["a.py",3,"f"]]')
    log.raw("tflogscope op 7 7.1 AddV2")
    log.executing("AddV2")
    log.executing("AddV2")
    assert opened(log).timeline["python"].to_list() == ["a.py:3", None]


# ---- causes that frames prove --------------------------------------------------------------------


def test_what_a_metric_asks_for_has_that_cause(run: Run) -> None:
    frames = run.stacks["frames"][run.asked["stack"]]
    asked = run.timeline.with_columns(frames=frames).filter(mode="eager", kind="op")
    of_metric = pl.col("frames").str.starts_with("<metric>;")
    assert set(asked.filter(of_metric)["cause"]) <= {"metrics", "constant"}
    assert asked.filter(of_metric).height or asked.filter(cause="metrics").is_empty()


def test_an_op_of_the_program_is_not_of_the_metric_around(opened: Open) -> None:
    """float(metric.result()), and tf.sqrt of another one: Keras' own root is the same four ops."""
    log = Log()
    log.raw('tflogscope stack 7.1 ["metric",["a.py",3,"f"]]')
    log.raw('tflogscope stack 7.2 [["a.py",4,"f"]]')
    for op, stack in ("ReadVariableOp", 1), ("ReadVariableOp", 1), ("DivNoNan", 1), ("Sqrt", 2):
        log.raw(f"tflogscope op 7 7.{stack} {op}")
        log.executing(op)
    assert opened(log).timeline["cause"].to_list() == ["metrics"] * 3 + ["outside-function"]


@pytest.mark.parametrize(
    ("frames", "ops", "cause"),
    [
        ('["metric",["a.py",3,"f"]]', ["VarHandleOp"], "metrics"),
        ('["metric",["a.py",3,"f"]]', ["Mul"], "metrics"),
        ('["metric",["a.py",3,"f"]]', ["_EagerConst"], "constant"),
        ('[["a.py",3,"f"],"metric"]', ["Mul"], "metrics"),  # of a function that a metric was given
        ('["optimizer",["a.py",3,"f"]]', ["VarHandleOp", "AssignVariableOp"], "optimizer-slots"),
        ('["optimizer",["a.py",3,"f"]]', ["Mul"], "outside-function"),  # it applies gradients
        ('["gradient",["a.py",3,"f"]]', ["Mul"], "gradient-tape"),
        ('[["a.py",3,"f"],"py_function",["a.py",9,"g"]]', ["Mul"], "py-function"),
        ('[["<py_function>",3,"f"]]', ["Mul"], "outside-function"),
        ('["nothing",["a.py",3,"f"]]', ["Mul"], "outside-function"),
    ],
)
def test_a_frame_proves_a_cause(opened: Open, frames: str, ops: list[str], cause: str) -> None:
    log = Log()
    log.raw(f"tflogscope stack 7.1 {frames}")
    for op in ops:
        log.raw(f"tflogscope op 7 7.1 {op}")
        log.executing(op)
    made = opened(log)
    assert made.timeline["cause"].to_list() == [cause] * len(ops)
    if cause != "constant":
        (entry,) = made.explain(op=ops[0])["eager"]["causes"]
        assert entry["evidence"] == [2 + 1]


@pytest.mark.parametrize(
    ("lines", "written", "said"),
    [
        (True, [], "No source lines"),
        (False, [], None),
        (True, ["tflogscope op 9000 7.0 Mul"], None),
        (True, ["tflogscope off 7 ValueError:_odd"], "hook stopped on an error (ValueError:_odd)"),
        (False, ["tflogscope left_out 7 2", "tflogscope left_out 8 1"], "skipped 3 lines"),
    ],
)
def test_lines_that_are_missing_are_a_limit(
    opened: Open, lines: bool, written: list[str], said: str | None
) -> None:
    """A program of PyInstaller, and `python -I`, start without the hook."""
    log = Log("tid")
    head = header_line(["dist/train"], {}, {"TFLOGSCOPE_LINES": "/x"} if lines else {})
    log.raw(head.decode().rstrip())
    log.executing("AddV2")
    for line in written:
        log.raw(line)
    run = opened(log)
    limits = {limit.id: limit.text for limit in run.summary.limits}
    assert (said in limits["no-lines"]) if said else ("no-lines" not in limits)


def test_a_line_that_the_hook_left_out_proves_nothing(opened: Open) -> None:
    """An op of which the hook says nothing was started by C++; not so where it left lines out."""
    log = Log("tid")
    log.raw('tflogscope stack 7.1 [["train.py",3,"main"]]')
    log.raw("tflogscope op 9000 7.1 Mul")
    log.executing("Mul")
    log.executing("AddV2")
    for left_out in (False, True):
        if left_out:
            log.raw("tflogscope left_out 7 1")
        run = opened(log)
        lines = Evidence(run.events).lines
        assert lines.unasked.to_list() == [False, not left_out]


def test_each_line_of_the_hook_is_read(opened: Open) -> None:
    messages = {
        id_: message.samples[0].line
        for id_, message in load_grammar().by_id.items()
        if id_.startswith("python_")
    }
    log = Log("tid")
    log.executing("AddV2")
    for line in messages.values():
        log.raw(line)
    assert messages.keys() <= opened(log).events.seen
    own = packaged_toml("endings.toml")["between"]["pattern"]
    for line in messages.values():
        assert re.match(_OF_RECORD, line), line
        assert re.match(own, line), line
        assert _LOG_LINE.match(line.encode()), line


@pytest.mark.parametrize(
    ("ends", "status", "missing"),
    [
        (["cost 7 900 1", "threads 8 8"], 0, []),
        (["off 7 ValueError:_odd", "left_out 8 2"], 0, []),
        (["cost 7 900 1", "stopped 8 15"], 0, []),
        (["cost 7 900 1"], 0, ["8"]),
        (["cost 7 900 1"], 137, []),  # the program itself, which `crashed` names
        ([], 137, ["7", "8"]),
        (["cost 7 900 1"], None, []),  # the whole recording has no end, which `no-end` says
    ],
)
def test_a_process_that_was_killed_is_named(
    opened: Open, ends: list[str], status: int | None, missing: list[str]
) -> None:
    log = Log("tid")
    log.raw(
        header_line(["python"], {"tflogscope": "9.0.0"}, {"TFLOGSCOPE_LINES": "/"}).decode()[:-1]
    )
    for process in (7, 8):
        log.thread = process
        log.raw(f"tflogscope op {process} {process}.0 AddV2")
        log.executing("AddV2")
    for end in ends:
        log.raw(f"tflogscope {end}")
    if status is not None:
        log.raw(footer_line(status).decode()[:-1])
    run = opened(log)
    said = [limit.text for limit in run.summary.limits if limit.id == "no-process-end"]
    assert [re.findall(r"\d+", text.partition("(")[2]) for text in said] == [missing][
        : len(missing)
    ]
    assert [text.removesuffix(".") for text in said] == [
        problem for problem in run.problems if "no exit record" in problem
    ]
