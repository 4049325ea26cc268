"""Notebooks, clusters, services and test runners: what the programs of tests/far counted."""

from __future__ import annotations

import json
import re
from pathlib import Path

import polars as pl
import pytest

import tflogscope
from tests.command import run_command
from tests.samples import path_of, run_of, unpacked
from tflogscope import Run
from tflogscope.grammar.op_kinds import op_kinds
from tflogscope.sources.notebook import outputs_of

LOGS = Path(__file__).parent / "far" / "logs"


def eager(run: Run) -> dict[str, int]:
    """How often each eager op and each function ran."""
    rows = run.timeline.filter(pl.col("mode").cast(pl.String) == "eager")
    return dict(rows.group_by(pl.col("op").cast(pl.String)).len().rows())


def limits(run: Run) -> dict[str, str]:
    return {each.id: each.text for each in run.summary.limits}


# ---- notebooks -----------------------------------------------------------------------------------

IN_NOTEBOOK = {
    "_EagerConst": 3, "Fill": 1, "MatMul": 40, "RealDiv": 40, "__inference_step_131": 30,
}  # fmt: skip


@pytest.mark.parametrize("name", ["nbrec__tf2.21.0.log.zst", "nbrec__tf2.21.0.ipynb.zst"])
def test_eager_ops_of_a_notebook_are_known_by_what_they_ran(name: str) -> None:
    run = tflogscope.open_log(LOGS / name)
    assert eager(run) == IN_NOTEBOOK
    products = run.timeline.filter(op="MatMul", mode="eager")
    assert products["python"].to_list() == ["In[2]:3"] * 40
    assert products["duration_us"].null_count() == 0
    assert "prints dispatches into the cells" in limits(run)["python-dispatches"]
    assert "single" not in json.dumps(run.findings["advice"].to_list()).lower()
    assert run.check().passed
    assert run.coverage["unknown"].sum() == 0


def test_the_gate_says_that_it_is_a_notebook() -> None:
    said = run_command("check", str(LOGS / "nbrec__tf2.21.0.log.zst")).stdout.decode()
    assert "In a notebook" in " ".join(said.split())


def test_dispatches_without_a_prefix_are_rows_without_a_time() -> None:
    run = tflogscope.open_log(LOGS / "placement__tf2.21.0.ipynb.zst")
    found = eager(run)
    assert found["MatMul"] == 3
    (function,) = (name for name in found if name.startswith("__inference_step_"))
    assert found[function] == 2
    assert run.timeline["start"].null_count() == run.timeline.height
    assert run.timeline["thread"].null_count() == run.timeline.height
    assert "without a prefix" in limits(run)["python-dispatches"]


def test_a_notebook_on_one_line_is_read_as_well(tmp_path: Path) -> None:
    notebook = json.loads(unpacked(LOGS / "nbrec__tf2.21.0.ipynb.zst"))
    for cell in notebook["cells"]:  # nbformat allows both
        for output in cell["outputs"]:
            output["text"] = "".join(output["text"])
    notebook["cells"].reverse()
    file = tmp_path / "one.ipynb"
    file.write_text(json.dumps(notebook))
    assert eager(tflogscope.open_log(file)) == IN_NOTEBOOK


def output(name: str, text: str) -> dict[str, str]:
    return {"output_type": "stream", "name": name, "text": text}


def test_a_line_goes_on_in_the_next_output_of_its_stream() -> None:
    cell = {
        "execution_count": 2,
        "outputs": [output("stderr", "a\nb"), output("stdout", "x\n"), output("stderr", "c\n")],
    }
    first = {"execution_count": 1, "outputs": [output("stdout", "first")]}
    text = {"cells": [cell, {"cell_type": "markdown", "source": "text"}, first], "nbformat": 4}
    assert outputs_of(bytearray(json.dumps(text).encode())) == [b"", b"first\n", b"a\nx\nbc\n"]


def test_texts_of_a_list_are_put_together_whatever_ends_them() -> None:
    texts = ["a\n", "b\\n", "c\n", 'd"\n', "\u00e9"]
    outputs = [output("stderr", "") | {"text": texts}]
    cell = {"execution_count": 1, "outputs": outputs}
    for indent in (None, 1, 2):
        data = bytearray(json.dumps({"cells": [cell], "nbformat": 4}, indent=indent).encode())
        assert outputs_of(data) == [("".join(texts) + "\n").encode()]


@pytest.mark.parametrize(
    "text",
    [
        b'{"cells": [',
        b'{"cells": 1, "nbformat": 4}',
        b'{"metadata": {}}',
        b'{"cells":' + b"[" * 999,
    ],
)
def test_what_is_no_notebook_is_read_as_it_is(text: bytes, tmp_path: Path) -> None:
    assert outputs_of(bytearray(text)) is None
    file = tmp_path / "run.log"
    file.write_bytes(text + b"\nonednn_verbose,info,oneDNN v2.7.3 (commit N/A)\n")
    assert tflogscope.open_log(file).coverage["recognised"].sum() == 1


# ---- clusters ------------------------------------------------------------------------------------


def test_what_another_task_runs_is_dispatched() -> None:
    run = run_of("remote_client__tf2.21.0")
    assert eager(run) == {"Fill": 1, "MatMul": 3, "__inference_step_14": 4}
    products = run.timeline.filter(op="MatMul")
    assert products["device"].unique().to_list() == ["/job:worker/replica:0/task:1/device:CPU:0"]
    assert products["python"].to_list() == ["remote.py:20"] * 3
    assert run.functions.filter(function="step")["calls"].to_list() == [4]
    assert {"no-executions", "stopped"}.isdisjoint(limits(run))
    assert run.check().passed
    # It writes no checkpoint; what other tasks run has no end here, so the rest is Python.
    phases = dict(run.time.select("phase", "wall_us").rows())
    assert (phases["checkpoint"], phases["eager"]) == (0.0, 0.0)
    assert phases["python"] > 2_000_000


# ---- progress bars -------------------------------------------------------------------------------


def test_lines_of_record_are_found_behind_a_progress_bar() -> None:
    run = run_of("bars__tf2.21.0")
    ops = run.timeline.filter(pl.col("mode") == "eager", op="MatMul")
    lines = {"bars.py:16": 3, "bars.py:22": 3, "bars.py:26": 3}
    assert dict(ops["python"].value_counts().rows()) == lines
    assert run.timeline.filter(op="Softmax")["python"].to_list() == ["bars.py:29"]
    checked = run.check().checks[0]
    assert checked.measured == 13


# ---- DTensor -------------------------------------------------------------------------------------


def test_what_dtensor_runs_on_each_device_is_one_execution() -> None:
    run = run_of("dtensor__tf2.21.0")
    found = eager(run)
    assert found["MatMul"] == 1
    (function,) = (name for name in found if name.startswith("__inference_step_33"))
    assert found[function] == 5
    assert run.functions.filter(function="step")["calls"].to_list() == [5]
    products = run.timeline.filter(op="MatMul", function="step")
    assert products.height == 20
    assert products["call"].value_counts()["count"].to_list() == [4] * 5
    assert (
        run.timeline.filter(pl.col("mode") == "eager", op="MatMul")["python"].item()
        == "dtensor.py:11"
    )
    assert "xla" not in limits(run)
    assert run.check().passed


# ---- servers -------------------------------------------------------------------------------------


def test_a_coordinator_calls_functions_on_workers() -> None:
    run = run_of("ps_chief0__tf2.21.0")
    assert run.functions.filter(function="worker_step")["calls"].to_list() == [10]
    devices = run.timeline.filter(kind="call")["device"].cast(pl.String).unique().sort().to_list()
    assert devices == [f"/job:worker/replica:0/task:{task}/device:CPU:0" for task in (0, 1)]
    assert run.check().passed  # a coordinator's fetch() is TensorFlow's own
    # Its calls run on workers: it waits for them, and XLA has nothing to do with it.
    phases = dict(run.ledger.group_by("phase").agg(pl.col("wall_us").sum()).rows())
    assert phases["remote-wait"] > 3_500_000
    assert not {"compute", "first-runs"} & set(phases)
    assert "xla" not in limits(run)
    assert run.findings.filter(pl.col("id").is_in(["python-overhead", "between-steps"])).is_empty()


@pytest.mark.parametrize("name", ["ps_worker0", "ps_ps0", "tfdata_worker"])
def test_nothing_that_a_server_runs_is_unexpected(name: str) -> None:
    run = run_of(f"{name}__tf2.21.0")
    assert run.is_server
    assert run.check().passed
    assert run.findings.filter(pl.col("id").is_in(["python-overhead", "between-steps"])).is_empty()
    assert "stopped" not in limits(run)


def test_a_server_that_sigterm_ended_did_not_crash() -> None:
    run = run_of("tfdata_dispatcher_stopped__tf2.21.0")
    assert run.is_server
    assert run.check().passed


def test_a_server_waits_until_it_is_asked() -> None:
    """A call begins where its function is named, not at the thread's record seconds before."""
    phases = dict(run_of("ps_ps0__tf2.21.0").time.select("phase", "wall_us").rows())
    assert phases["remote-wait"] > 11_000_000
    assert phases["logging"] < 50_000
    assert (phases["compute"], phases["eager"], phases["python"]) == (0.0, 0.0, 0.0)


def test_the_part_of_a_function_that_a_server_runs_is_a_call_of_it() -> None:
    run = run_of("ps_ps0__tf2.21.0")
    called = run.timeline.filter(kind="call")
    assert called["function"].cast(pl.String).unique().to_list() == ["worker_step"]
    assert called.height == 10
    assert called["status"].cast(pl.String).unique().to_list() == ["done"]
    assert run.functions.filter(function="worker_step")["calls"].sum() == 10


def test_ops_that_wait_for_other_processes_are_known() -> None:
    kinds = op_kinds()
    nodes = run_of("ps_worker0__tf2.21.0").events.definitions
    waits = nodes.filter(pl.col("op").str.contains(kinds["remote"].ops))
    assert kinds["remote"].tasks is not None
    sender, receiver = (waits["attributes"].str.extract(each, 1) for each in kinds["remote"].tasks)
    assert sender.unique().to_list() == ["/job:ps/replica:0/task:0"]
    assert receiver.unique().to_list() == ["/job:worker/replica:0/task:0"]
    ops = pl.Series(["CollectiveReduceV2", "CollectiveBcastRecvV2", "Collect", "_Recv"])
    assert ops.str.contains(kinds["collective"].ops).to_list() == [True, True, False, False]


# ---- lines that a launcher left out --------------------------------------------------------------


@pytest.mark.parametrize("colours", [True, False])
def test_lines_that_ray_left_out_are_counted(tmp_path: Path, *, colours: bool) -> None:
    text = unpacked(LOGS / "ray_dedup__tf2.21.0.log.zst")
    assert text.count(b"x across cluster]") == 180
    file = tmp_path / "ray.log"
    file.write_bytes(text if colours else re.sub(rb"\x1b\[\d+m", b"", text))
    said = run_command("analyze", str(file)).stdout.decode()
    assert "Ray dropped 1,352 repeated lines" in " ".join(said.split())
    assert "RAY_DEDUP_LOGS=0" in said
    assert "The input is truncated" not in said  # nothing happened to the file
    assert "can't be read" not in said


def test_what_a_worker_sends_is_not_its_compute() -> None:
    said = run_command("analyze", str(LOGS / "ps_worker0__tf2.21.0.log.zst")).stdout.decode()
    assert "Busiest graph op: " in " ".join(said.split())
    assert "_Send" not in said.partition("Where the time went")[0]


# ---- processes that only their records tell apart ------------------------------------------------


def test_processes_in_one_file_are_told_apart_by_their_tasks() -> None:
    mixed = str(LOGS / "ps_mixed__tf2.21.0.log.zst")
    checked = run_command("check", mixed)
    assert checked.returncode == 0
    for task in ("chief0", "ps0", "worker0", "worker1"):
        assert f"#{task}".encode() in checked.stdout
    run = tflogscope.open_log(f"{mixed}#chief0")
    own = eager(run_of("ps_chief0__tf2.21.0"))
    assert eager(run) == own
    worker = tflogscope.open_log(f"{mixed}#worker0").timeline
    alone = run_of("ps_worker0__tf2.21.0").timeline
    for kind in ("op", "call", "plumbing"):
        assert worker.filter(kind=kind).height == alone.filter(kind=kind).height
    # Another thread writes that an asynchronous kernel is done, and runs nothing itself.
    for rows in (worker, alone):
        assert not rows.filter((pl.col("op") == "_Recv") & pl.col("end").is_null()).height


STACK = 'tflogscope stack {0}.1 [["a.py",3,"f"]]\n'
SAID = "tflogscope op {0} {0}.1 MatMul\n"
RAN = (
    "2026-11-21 03:56:34.96536{1}: I {0} tensorflow/core/common_runtime/eager/execute.cc:1] "
    "Executing op MatMul in device /job:localhost/replica:0/task:0/device:CPU:0\n"
)
ON_POOL = (
    "2026-11-21 03:56:35.965368: I {0} tensorflow/core/common_runtime/executor.cc:841] Process "
    "node: 3 step 5 {{{{node a}}}} = NoOp[]() device: "
    "/job:localhost/replica:0/task:0/device:CPU:0\n"
)
THREADS = "tflogscope threads {0} {0} {1}\n"


@pytest.mark.parametrize("known", [True, False])
def test_spawned_processes_are_told_apart_where_all_threads_are_known(
    tmp_path: Path, *, known: bool
) -> None:
    text = "".join(
        each.format(pid, number)
        for number, pid in enumerate((70, 80))
        for each in (STACK, SAID, RAN, ON_POOL.format(pid + 1))
    )
    if known:
        text += THREADS.format(70, 71) + THREADS.format(80, 81)
    file = tmp_path / "run.log"
    file.write_text(text)
    said = run_command("analyze", str(file)).stdout.decode()
    assert ("Run 2 of 2" in said) is known
    if known:
        run = tflogscope.open_log(f"{file}#80")
        assert eager(run) == {"MatMul": 1}
        assert run.timeline.height == 2
    else:
        assert "Several processes wrote this log" in " ".join(said.split())


def test_processes_that_nothing_calls_ranks_are_not_compared() -> None:
    spawned = str(path_of("spawn__tf2.20.0__record"))
    assert json.loads(run_command("ranks", spawned, "--json").stdout)["runs"] == []
    assert b"ranks" not in run_command("analyze", spawned).stdout


def test_steps_whose_onednn_lines_came_late_are_not_compared() -> None:
    log = str(LOGS / "mpich_ranks__tf2.21.0.log.zst")
    (facts,) = json.loads(run_command("ranks", log, "--json").stdout)["runs"]
    assert [rank["rank"] for rank in facts["ranks"]] == ["0", "1"]
    assert facts["differences"] == []


def test_ranks_of_one_job_are_compared() -> None:
    mixed = str(LOGS / "ps_mixed__tf2.21.0.log.zst")
    facts = json.loads(run_command("ranks", mixed, "--json").stdout)["runs"]
    (workers,) = facts
    assert [each["rank"] for each in workers["ranks"]] == ["process worker0", "process worker1"]
    assert workers["differences"] == []


def test_spawned_processes_are_told_apart_by_the_calls_of_their_threads() -> None:
    spawned = path_of("spawn__tf2.20.0__record")
    assert b"Run 2 of 2" in run_command("analyze", str(spawned)).stdout
    runs = [tflogscope.open_log(f"{spawned}#{process}") for process in (28900, 28901)]
    assert [run.timeline.filter(kind="call").height for run in runs] == [3, 3]
    assert all(run.recorded_as for run in runs)
    whole = run_of("spawn__tf2.20.0__record").timeline
    assert sum(run.timeline.height for run in runs) == whole.height


def test_a_switch_without_its_plugin_is_the_reason() -> None:
    nodes = run_of("zen_switch__tf2.21.0").nodes.filter(op="MatMul")
    assert nodes["reason"].unique().to_list() == ["plugin-off"]
    assert run_of("rewritten__zentf__quiet").nodes["reason"].null_count()
    explained = run_of("zen_switch__tf2.21.0").explain(op="MatMul")
    assert "zendnn-missing" in json.dumps(explained, default=str)


def test_what_a_library_has_traced_again_is_no_argument_of_the_program(tmp_path: Path) -> None:
    text = unpacked(path_of("ten_retraces__tf2.20.0__record"))
    package = b"/opt/venv/lib/python3.11/site-packages/tensorflow_probability/python/optimizer.py"
    file = tmp_path / "run.log"
    file.write_bytes(re.sub(rb'(tflogscope trace \S+ \d+ \S+ \[\[")[^"]*', rb"\1" + package, text))
    advice = [
        " ".join(run.findings.filter(id="retraced")["advice"].to_list())
        for run in (run_of("ten_retraces__tf2.20.0__record"), tflogscope.open_log(file))
    ]
    assert "tensorflow_probability" not in advice[0]
    assert "epoch" in advice[0]
    assert "Call this tensorflow_probability function" in advice[1]
    assert "epoch" not in advice[1]


# ---- libraries -----------------------------------------------------------------------------------


def unexpected(name: str) -> dict[str, int]:
    """How often unexpected eager ops ran, by the line of the program."""
    run = tflogscope.open_log(LOGS / f"{name}__tf2.21.0.log.zst")
    return dict(run.unexpected_eager.group_by("python").len().rows())


@pytest.mark.parametrize("name", ["tfp_lbfgs", "gpflow_regression"])
def test_what_a_library_runs_in_code_of_its_own_does_not_count(name: str) -> None:
    assert unexpected(name) == {}
    run = tflogscope.open_log(LOGS / f"{name}__tf2.21.0.log.zst")
    assert run.check().passed
    assert run.timeline["cause"].cast(pl.String).is_in(["library"]).sum() > 100
    assert "no-function" not in run.findings["id"].to_list()


def test_a_library_that_first_has_no_state_is_not_retraced(tmp_path: Path) -> None:
    """TFP's minimize traces its step with `parameters` of `()`, then of a list of tensors."""
    log = LOGS / "library_state__tf2.21.0.log.zst"
    run = tflogscope.open_log(log)
    assert 2 in run.functions.filter(function="optimizer_step")["traces"].to_list()
    assert "retraced" not in run.findings["id"].to_list()
    text = unpacked(log).replace(b'"tuple()"],["opt', b'"float32[3]"],["opt')
    file = tmp_path / "run.log"
    file.write_bytes(text.replace(b'"list(float32[],\\u0020float32[2])"', b'"float32[4]"'))
    assert "retraced" in tflogscope.open_log(file).findings["id"].to_list()


def test_what_a_library_calls_back_counts() -> None:
    # Three calls of the objective: Sub, Cosh, Sum, and their gradients, Reshape, Tile, Sinh, Mul.
    assert unexpected("tfp_callback") == {"tfp_callback.py:11": 9, "tfp_callback.py:15": 12}


def test_a_module_that_the_program_calls_eagerly_counts() -> None:
    assert unexpected("sonnet_eager") == {"sonnet_eager.py:19": 5 * 5}
    findings = tflogscope.open_log(LOGS / "sonnet_eager__tf2.21.0.log.zst").findings
    assert findings.filter(id="eager-steady-state")["time_us"].is_not_null().all()


def test_explain_names_the_library_and_the_line_that_called_it() -> None:
    log = str(LOGS / "tfp_lbfgs__tf2.21.0.log.zst")
    said = run_command("explain", log, "--op", "LogicalOr").stdout.decode()
    (line,) = (
        number
        for number, text in enumerate(
            (LOGS.parent / "programs" / "tfp_lbfgs.py").read_text().splitlines(), start=1
        )
        if "lbfgs_minimize" in text
    )
    assert f"tensorflow_probability, called at tfp_lbfgs.py:{line}" in " ".join(said.split())


# ---- test runners --------------------------------------------------------------------------------


def test_the_first_screen_says_which_tests_the_log_lacks() -> None:
    said = run_command("analyze", str(LOGS / "pytest_xdist__tf2.21.0.log.zst")).stdout.decode()
    lines = said.splitlines()
    assert len(lines) <= 40
    assert "The log lacks output of 4 passed tests" in " ".join(lines[:4])
    other = run_command("analyze", str(LOGS / "bars__tf2.21.0.log.zst")).stdout.decode()
    assert "lacks" not in other


# ---- four workers --------------------------------------------------------------------------------

FOUR = [LOGS / f"four_worker{number}__tf2.21.0.log.zst" for number in range(4)]


@pytest.mark.parametrize("number", range(4))
def test_each_of_four_workers_has_what_its_program_counted(number: int) -> None:
    run = tflogscope.open_log(FOUR[number])
    (truth,) = re.findall(r"TRUTH (\{.*?\})", unpacked(FOUR[number]).decode())
    counted = json.loads(truth)
    assert counted["task"] == number
    found = eager(run)
    assert found["Abs"] == counted["abs"]
    assert sum(count for op, count in found.items() if "_step_" in op) == counted["calls"]
    assert run.functions.filter(function="step")["traces"].to_list() == [counted["traces"]]


def test_ranks_are_known_by_the_tasks_of_records_and_the_slow_one_is_named() -> None:
    done = run_command("ranks", *map(str, FOUR), "--json")
    (facts,) = json.loads(done.stdout)["runs"]
    assert [each["rank"] for each in facts["ranks"]] == ["0", "1", "2", "3"]
    slow = facts["slow"]
    assert (slow["rank"], slow["steps"], slow["of"]) == ("2", 5, 5)
    assert 120_000 < slow["wait_us"] < 200_000, "it slept for 150 ms"
    assert {each["subject"] for each in facts["differences"]} == {"Abs"}


# ---- the client of a tf.data service -------------------------------------------------------------


def test_a_dataset_of_a_service_is_no_eager_op_of_the_program() -> None:
    found = eager(tflogscope.open_log(LOGS / "tfdata_client__tf2.21.0.log.zst"))
    assert found["IteratorGetNext"] == (9 + 1) + (5 + 1)
    assert sum(count for op, count in found.items() if "_step_" in op) == 9 + 5
    assert unexpected("tfdata_client") == {"svc_client2.py:19": 4}
