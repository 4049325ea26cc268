"""`explain`: the seed question, each way to ask, and what can't be answered."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from tests.command import run_command
from tests.conftest import Open
from tests.makelog import ADD, MATMUL, RETVAL, SOURCE, Log
from tests.samples import path_of, raw_log, run_of
from tflogscope.cli.main import main
from tflogscope.errors import UsageError
from tflogscope.views.explain import explain_document
from tflogscope.views.terminal import drawn

FIT = "keras_fit_mlp__tf2.13.1__vlog2"


def test_an_op_in_both_modes_is_explained_in_both() -> None:
    """What seeds/000 asks: AddV2 is executed eagerly, and later it is processed as a node."""
    run = run_of(FIT)
    facts = run.explain(op="AddV2")
    rows = run.timeline.filter((pl.col("op") == "AddV2") & (pl.col("kind") == "op"))
    eager = rows.filter(pl.col("mode") == "eager")
    assert facts["eager"]["runs"] == eager.height == 2
    assert facts["graph"]["runs"] == rows.height - eager.height
    assert {entry["cause"] for entry in facts["eager"]["causes"]} == set(eager["cause"])
    [function] = [entry for entry in facts["graph"]["functions"] if entry["first_call_line"]]
    assert function["function"] == "train_function"
    for entry in facts["eager"]["causes"]:
        assert all(entry[each] for each in ("why", "where", "change"))
        assert set(entry["lines"]) <= set(eager["line"])


def test_an_op_in_graphs_alone_says_what_made_its_kernel() -> None:
    run = run_of(FIT)
    facts = run.explain(op="MatMul")
    assert facts["eager"]["runs"] == 0
    [kernel] = [each for each in facts["graph"]["kernels"] if each["kernel"] == "_MklMatMul"]
    rewritten = run.rewrites.filter((pl.col("to_op") == "_MklMatMul") & (pl.col("by") == "layout"))
    assert kernel["rewrite"] == "layout"
    assert set(kernel["evidence"]) <= set(rewritten["line"])
    assert kernel["evidence"]
    rows = run.timeline.filter((pl.col("op") == "MatMul") & (pl.col("mode") == "graph"))
    ran = run.primitives.filter(pl.col("timeline_line").is_in(rows["line"].implode()))
    assert sum(entry["count"] for entry in facts["primitives"]) == ran.height


def test_calls_that_overlap_are_each_counted() -> None:
    facts = run_of("threads_overlap__tf2.23.0.dev20261026__record").explain(op="MatMul")
    [function] = facts["graph"]["functions"]
    assert function["calls"] == function["runs"] == 61


def test_what_was_not_rewritten_has_its_reason() -> None:
    run = run_of(FIT)
    facts = run.explain(op="AddV2")
    reasons = set(run.nodes.filter(pl.col("op") == "AddV2")["reason"].drop_nulls())
    assert {entry.get("reason") for entry in facts["graph"]["kernels"]} == reasons


def test_a_line_is_shown_as_its_file_has_it() -> None:
    """`record` wrote a line above the records."""
    name = "short_batch__tf2.20.0__record"
    run, lines = run_of(name), raw_log(name).decode().split("\n")
    known = run.timeline["line"].to_list()
    for line in (min(known), max(known)):
        assert run.explain(line=line)["text"] == lines[line - 1]


def test_a_node_is_found_by_the_end_of_its_name(opened: Open) -> None:
    log = Log()
    log.first_call("__inference_f_6", 6, -11, SOURCE, MATMUL, ADD, RETVAL)
    run = opened(log)
    assert run.explain(node=MATMUL.name)["graph"]["runs"] == 1
    assert run.explain(node=MATMUL.name)["op"] == "MatMul"


def test_a_line_leads_to_its_execution(opened: Open) -> None:
    log = Log()
    start = log.start(MATMUL, -11)
    other = log.raw("a print of the program")
    end = log.done(MATMUL, -11)
    run = opened(log)
    for line in (start, end):
        one = run.explain(line=line)["execution"]
        assert (one["line"], one["end_line"], one["status"]) == (start, end, "done")
    with pytest.raises(UsageError, match="no execution starts or ends there") as caught:
        run.explain(line=other)
    assert f"starts on line {start}." in str(caught.value.hint)


@pytest.mark.thorough
def test_a_line_is_shown_and_may_be_asked_for_as_it_is_printed() -> None:
    printed = run_command("explain", path_of(FIT), "--line", "32,098").stdout.decode()
    assert "Process node: 165 step -8905017962970772935" in printed
    assert "line 32,098" in printed
    for wrong in ("0", "-3", "1.5", "x"):
        assert run_command("explain", path_of(FIT), f"--line={wrong}").returncode == 2


def test_a_line_of_onednn_leads_to_the_op_that_ran_it() -> None:
    run = run_of(FIT)
    [first] = run.primitives.drop_nulls("timeline_line").head(1).to_dicts()
    assert run.explain(line=first["line"])["execution"]["line"] == first["timeline_line"]


def test_a_name_that_is_not_there_is_answered_with_the_nearest() -> None:
    with pytest.raises(UsageError) as caught:
        run_of(FIT).explain(op="MatMull")
    assert "MatMul" in str(caught.value.hint)
    with pytest.raises(UsageError, match="no subject given"):
        run_of(FIT).explain()


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("Relu", "Grappler fused it into another op: explain --op _FusedMatMul."),
        ("train_function", "This is a function: tflogscope timeline LOG --function"),
        ("__inference_train_function_809", "This is a function:"),
    ],
)
def test_what_is_no_op_of_its_own_is_answered_with_where_it_is(name: str, hint: str) -> None:
    with pytest.raises(UsageError, match="no execution of this op") as caught:
        run_of(FIT).explain(op=name)
    assert str(caught.value.hint).startswith(hint)


def test_a_node_that_is_not_there_is_answered_with_the_table_of_nodes() -> None:
    with pytest.raises(UsageError) as caught:
        run_of(FIT).explain(node="zzzzzz")
    assert caught.value.hint == "tflogscope export LOG --table nodes lists the nodes."


def test_a_line_that_tells_of_a_rewrite_leads_to_its_node() -> None:
    run = run_of(FIT)
    [rewrite] = run.rewrites.filter(pl.col("by") == "layout").head(1).to_dicts()
    with pytest.raises(UsageError) as caught:
        run.explain(line=rewrite["line"])
    assert str(caught.value.hint).endswith(f"--node {rewrite['node']}")


def test_what_python_can_not_ask_for_is_not_said_to_be_asked_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for op, said in (
        ("_FusedMatMul", "grappler fused them"),
        ("_Retval", "TensorFlow added it when instantiating"),
    ):
        assert main(["explain", str(path_of(FIT)), "--op", op]) == 0
        out = " ".join(capsys.readouterr().out.split())
        assert said in out
        assert "Python asked for it" not in out


@pytest.mark.thorough
def test_an_op_says_where_more_of_it_ran(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_of(FIT).explain(op="MatMul")["fused_into"] == ["_FusedMatMul"]
    assert run_of(FIT).explain(op="AddV2")["fused_into"] == []
    assert main(["explain", str(path_of(FIT)), "--op", "MatMul"]) == 0
    assert "Other nodes were fused into _FusedMatMul" in capsys.readouterr().out


def test_the_command_asks_one_question_at_a_time(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(path_of(FIT)), "--op", "Mul", "--line", "3"]) == 2
    assert "Use one" in capsys.readouterr().err


def test_a_line_of_the_program_is_sent_to_at(capsys: pytest.CaptureFixture[str]) -> None:
    for typed, at in (("train.py:31", "For a line of the program: --at train.py:31"), ("x", "")):
        assert main(["explain", str(path_of(FIT)), "--line", typed]) == 2
        said = " ".join(capsys.readouterr().err.split())
        assert at in said
        assert ("--at" in said) is bool(at)


@pytest.mark.thorough
def test_json_has_what_the_text_is_made_of(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(path_of(FIT)), "--op", "Mul", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["asked"] == {"op": "Mul"}
    assert facts["eager"]["runs"] == sum(entry["runs"] for entry in facts["eager"]["causes"])
    assert main(["explain", str(path_of(FIT)), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["findings"]
    assert [entry["id"] for entry in found] == run_of(FIT).findings["id"].to_list()


@pytest.mark.thorough
def test_the_end_of_data_is_not_a_failure(capsys: pytest.CaptureFixture[str]) -> None:
    """Both loops come to their end; in one a map failed before."""
    for name, said in (
        ("generator_data", "extra in first runs and outliers), never"),
        ("map_raises", ", 1 failed, never"),
    ):
        assert main(["explain", str(path_of(f"{name}__tf2.20.0")), "--op", "IteratorGetNext"]) == 0
        assert said in " ".join(capsys.readouterr().out.split())


def test_what_the_pass_says_of_a_type_is_of_that_type() -> None:
    """Wrapped eager ops of all types have one name; the pass speaks of bfloat16 and half alone."""
    facts = run_of("eager_types__tf2.21.0").explain(op="MatMul")
    kept = {each["rule"]: each["evidence"] for each in facts["graph"]["kernels"]}
    assert kept["bfloat16-refused"] == [5594]
    assert kept["float16-refused"] == [6417]
    eager = {each["dtype"]: each["evidence"] for each in facts["eager"]["kernels"]}
    assert eager["DT_BFLOAT16"] == [2493]
    assert eager["DT_HALF"] == [3010]
    assert eager["DT_DOUBLE"] == [3547]  # its own kernel is made there
    assert eager["DT_INT32"] == [4073]


def test_an_op_may_have_run_inside_xla(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(path_of("jit_only__tf2.21.0")), "--op", "MatMul"]) == 2
    assert "3 executions ran XLA-compiled code" in capsys.readouterr().err


@pytest.mark.thorough
def test_findings_are_explained_with_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(path_of("py_function__tf2.13.1__vlog2"))]) == 0
    said = capsys.readouterr().out
    assert "Python code inside a graph (note, py-function)" in said
    assert "fix     Rewrite that Python function with TensorFlow ops" in said
    assert "source  tensorflow/python/lib/core/py_func.cc, DoCallPyFunc" in said


def test_text_of_the_log_has_no_effect(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = Log()
    log.executing("Soft\x1b[2J[bold]max")
    path = tmp_path / "run.log"
    path.write_text(log.text())
    main(["explain", str(path), "--line", "1"])
    said = capsys.readouterr().out
    assert "\x1b" not in said
    assert "[bold]max" in said


def test_a_line_of_the_log_has_the_line_of_the_program() -> None:
    run = run_of("accumulates__tf2.23.0.dev20261026__record")
    line = run.timeline.filter(op="AssignAddVariableOp")["line"][0]
    assert "at      accumulates.py:29" in drawn(explain_document(run.explain(line=line)))


def test_a_warning_proves_that_functions_run_eagerly(capsys: pytest.CaptureFixture[str]) -> None:
    log = str(path_of("functions_eagerly__tf2.21.0__record"))
    assert run_of("functions_eagerly__tf2.21.0__record").coverage["torn"].to_list() == [0]
    main(["explain", log, "--op", "Mul"])
    assert "fix     Remove tf.config.run_functions_eagerly(True)." in capsys.readouterr().out
    main(["check", log])
    out = capsys.readouterr().out
    assert "If it is in one, remove tf.config.run_functions_eagerly(True)." in " ".join(out.split())
