"""The screen of `analyze`: its shape at any width, and what it says about logs that hold little."""

from __future__ import annotations

import io
import itertools
import json
import re
from pathlib import Path

import polars as pl
import pytest
from rich.cells import cell_len

from tests.command import run_command
from tests.conftest import Open
from tests.deep import first_quick
from tests.makelog import MATMUL, Log, Node
from tests.samples import UNLIKE, path_of, run_of
from tflogscope import Run
from tflogscope.model.common.figures import percent
from tflogscope.views.analyze import analyze_document, summary_json
from tflogscope.views.document import Fact
from tflogscope.views.grid import GridColumn, draw_grid
from tflogscope.views.recorded import slowed_fact
from tflogscope.views.terminal import draw
from tflogscope.views.text import make_console, print_paragraph

KERAS = "keras_fit_mlp__tf2.13.1__vlog2"
TORCH = "torch_mlp__torch2.13.0__vlog2"
HEADINGS = (
    "Where the time went",
    "Findings (in full: tflogscope explain LOG)",
    "Latency",
    "Eager and graph",
    "Ops, by ",
    "Layers",
    "Functions",
    "oneDNN",
    "Explanation",
    "Not available from this log",
    "What was recorded",
)
STEP = -7
GEMM = (
    "onednn_verbose,exec,cpu,gemm_api,,undef,src_f32::blocked:ab:f0 wei_f32::blocked:ab:f0 "
    "dst_f32::blocked:ab:f0,,64x64:64x64,0.0161133"
)


def screen(run: Run, width: int = 100) -> list[str]:
    console = make_console(io.StringIO(), colour=False)
    console.width = width
    with console.capture() as captured:
        draw(analyze_document(run), console)
    return captured.get().removesuffix("\n").split("\n")


def said(run: Run) -> str:
    """The screen without its line ends."""
    return " ".join(" ".join(screen(run)).split())


# All nodes that could be kernels are; some are not.
@pytest.mark.parametrize("name", first_quick((name,) for name in ("graph_dtypes__tf2.20.0", KERAS)))
def test_the_share_of_onednn_is_the_same_in_four_commands(name: str, tmp_path: Path) -> None:
    log, page, policy = path_of(name), tmp_path / "run.html", tmp_path / "policy.toml"
    policy.write_text("min_rewritten = 0.0")
    verdict = json.loads(run_command("check", log, "--policy", policy, "--json").stdout)
    (measured,) = (c["measured"] for c in verdict["checks"] if c["name"] == "min_rewritten")
    of = run_of(name).summary.eligible
    assert measured == of.on_kernels / of.runs
    assert (measured == 1) == name.startswith("keras")
    share = percent(of.on_kernels, of.runs)
    screen = " ".join(run_command("analyze", log).stdout.decode().split())
    whole = f"{of.nodes} of {of.nodes} eligible graph nodes ran on oneDNN"
    assert (whole if measured == 1 else f"({share} of executions)") in screen
    assert run_command("report", log, "-o", page).returncode == 0
    tile = f"kernels</span><b>{share}</b><small>{of.on_kernels:,} of {of.runs:,} runs"
    assert tile in page.read_text()
    assert run_command("collect", log, "-o", tmp_path / "store").returncode == 0
    trend = run_command("trend", tmp_path / "store", "--format", "csv").stdout
    assert pl.read_csv(trend)["onednn_share"].to_list() == [measured]


def test_a_log_of_no_length_has_no_phases(opened: Open) -> None:
    """A function was made, and nothing ran: no phase has a share."""
    log = Log()
    log.executing("Mul")
    log.instantiate("__inference_f_1", 2, (MATMUL, "_MklMatMul"))
    run = opened(log)
    assert run.time["wall_us"].sum() == 0
    assert "Where the time went" not in said(run)


def test_what_precedes_the_first_op_alone_is_no_table_of_time(opened: Open) -> None:
    """Public report 15: 120 µs of start-up were 100 % of a run that has ops without times."""
    log = Log()
    log.record(
        "tensorflow/core/platform/cpu_feature_guard.cc",
        182,
        "This TensorFlow binary is optimized to use available CPU",
    )
    log.executing("MatMul")
    run = opened(log)
    assert run.time.filter(pl.col("wall_us") > 0)["phase"].to_list() == ["start-up"]
    assert "Where the time went" not in said(run)


def test_the_last_op_is_the_last_of_all_threads() -> None:
    """A thread of the converter's runs nodes for 0.6 s after the last op of the program's own."""
    run = run_of("converted__tf2.9.3__record")
    assert "2.95 s of the Python time is after the last op" in said(run)
    last = run.ledger.filter(pl.col("phase") != "python").select(last=pl.col("end").max())
    behind = run.time.select(pl.col("end").max() - last["last"][0]).to_series()
    assert behind.dt.total_milliseconds().to_list() == [pytest.approx(2951, abs=1)]


# ---- shape --------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [60, 80, 100, 200])
@pytest.mark.parametrize("name", UNLIKE)
def test_no_line_is_too_wide_or_ends_with_blanks(name: str, width: int) -> None:
    for line in screen(run_of(name), width):
        assert cell_len(line) <= width, line
        assert line == line.rstrip(), line


@pytest.mark.parametrize("name", UNLIKE)
def test_each_heading_but_the_first_has_an_empty_line_before_it(name: str) -> None:
    lines = screen(run_of(name))
    first = lines.index("")
    assert " ".join(lines[:first]) == run_of(name).headline.verdict
    lines = lines[first + 1 :]
    places = [at for at, line in enumerate(lines) if line and line[0] not in " -!"]
    assert all(lines[at].startswith(HEADINGS) for at in places)
    assert [at - 1 for at in places[1:]] == [at for at, line in enumerate(lines) if not line]


@pytest.mark.parametrize("name", UNLIKE)
def test_items_and_facts_have_a_hanging_indent(name: str) -> None:
    lines = screen(run_of(name))
    for line in lines[lines.index("Explanation") :] if "Explanation" in lines else []:
        assert not line or line in HEADINGS or line.startswith(("- ", "  ")), line
    for line in lines[lines.index("What was recorded") + 1 :]:
        assert re.match(r"  (\w+ +|        )\S", line), line


@pytest.mark.parametrize("name", UNLIKE)
def test_one_is_not_many(name: str) -> None:
    for line in screen(run_of(name)):
        assert not re.search(
            r"(?<![\d,.])1 (?!in )(?:\w+ )?(?:\w+[^s]s|dispatches)\b(?! of)", line
        ), line


@pytest.mark.thorough
def test_a_keras_fit_is_one_screen() -> None:
    lines = screen(run_of(KERAS))
    assert len(lines) <= 90
    for name in ("train_function_809", "test_function_995", "predict_function_1136"):
        assert sum(line.startswith(f"  {name} ") for line in lines) == 1
    # A layer of 53 cells; (_Arg, _Send, …); other phases.
    assert sum("…" in line for line in lines) == 3


def test_where_there_is_no_room_for_a_column_it_is_named() -> None:
    lines = screen(run_of(KERAS), 60)
    assert "  columns not shown: instantiation, nodes" in lines
    assert sum(line.endswith("runs on oneDNN") for line in lines) == 2


@pytest.mark.thorough
def test_each_warning_and_error_has_a_line_of_its_own() -> None:
    run = run_of("error__tf2.13.1__vlog2")
    serious = run.findings.filter(run.findings["severity"] != "note")
    lines = screen(run, 60)
    shown = [line for line in lines if line.startswith("! ")]
    assert len(shown) == serious.height > 4
    for line, each in zip(shown[3:], serious.rows(named=True)[3:], strict=True):
        assert line == f"! failed-ops ({each['subject']}): Ops failed, log line {each['line']:,}"


# ---- what it says -------------------------------------------------------------------------------


def test_a_log_of_onednn_alone_has_no_word_of_ops() -> None:
    lines = screen(run_of(TORCH))
    assert [line for line in lines if line in HEADINGS] == [
        "Findings (in full: tflogscope explain LOG)",
        "oneDNN",
        "Not available from this log",
        "What was recorded",
    ]
    text = said(run_of(TORCH))
    assert "83 primitives, 48.6 ms; not matched to ops" in text
    assert "rewritten" not in text
    assert "none" not in text
    assert "rnn ref (1 run, 42.1 ms)" in text
    assert "no TensorFlow records" in text
    limits = summary_json(run_of(TORCH))["limits"]
    assert [limit["id"] for limit in limits] == ["no-tensorflow"]


def test_what_is_not_known_is_null_in_json() -> None:
    recorded = json.loads(json.dumps(summary_json(run_of(TORCH))))["recorded"]
    assert (recorded["first"], recorded["last"], recorded["wall_us"]) == (None, None, None)
    recorded = summary_json(run_of(KERAS))["recorded"]
    assert recorded["first"] == "2026-11-21 03:56:51.277527"


def test_a_log_of_tensorflow_says_that_nothing_was_rewritten(opened: Open) -> None:
    log = Log()
    log.executing("Mul")
    assert "rewritten none" in said(opened(log))


def test_a_log_without_executions_does_not_say_so(opened: Open) -> None:
    log = Log()
    log.record("tensorflow/core/platform/cpu_feature_guard.cc", 182, "This TensorFlow binary is")
    log.raw(GEMM)
    text = said(opened(log))
    assert "1 primitive, 16.1 µs" in text
    assert "rewritten" not in text


def test_times_that_are_not_recorded_are_not_zero(opened: Open) -> None:
    log = Log()
    log.executing("Mul")
    log.entering("__inference_f_5")
    log.executing("__inference_f_5")
    log.exiting("__inference_f_5")
    run = opened(log)
    kinds = summary_json(run)["eager"]["kinds"]
    assert kinds["op"]["total_us"] is None
    assert kinds["call"]["total_us"] > 0
    assert "ops (all threads) 1 not recorded" in said(run)
    assert "no-eager-durations" in [limit["id"] for limit in summary_json(run)["limits"]]


@pytest.mark.thorough
def test_records_behind_other_text_are_records_all_the_same(opened: Open) -> None:
    """What a collector that no row of envelopes.toml knows writes in front of each line."""
    log = Log()
    log.eager_op("Mul", 5)
    log.raw(GEMM)
    before = itertools.cycle(("web *** ", "worker *** "))
    text = "".join(f"{next(before)}{line}\n" for line in log.lines)
    run = opened(text)
    assert run.timeline["op"].to_list() == ["Mul"]
    assert "format TensorFlow records after other text · VLOG level 2" in said(run)
    assert "other text before TensorFlow's records" in said(run)
    assert "no TensorFlow records" not in said(run)


def test_a_line_that_was_cut_is_told_in_whole_words(opened: Open) -> None:
    log = Log()
    log.executing("Mul")
    text = f"{log.text()}{'x' * 3_000_000}\n"
    assert "1 line is longer than the cap; 1,951,424 bytes of that were dropped" in said(
        opened(text)
    )


def test_what_python_code_ran_is_no_node_that_was_running(opened: Open) -> None:
    log = Log()
    log.eager_op("Add", 5)
    log.first_call("__inference_g_6", 6, -11, Node(5, "mm", "MatMul", "x", "y"))
    code = Node(4, "py", "EagerPyFunc", "x", attributes="Tin=[DT_FLOAT]")
    log.instantiate("__inference_f_7", 8)
    log.entering("__inference_f_7")
    log.executing("__inference_f_7")
    log.running("__inference_f_7", 9)
    log.make_executor("__inference_f_7", code)
    log.start(code, -7)
    log.executing("Mul")
    [limit] = [each for each in opened(log).summary.limits if each.id == "stopped"]
    assert limit.text.endswith("The log stops while a call to f is running EagerPyFunc.")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        # Twenty eager products run on oneDNN, and no graph has a node for it.
        ("no_function__tf2.20.0__record", "no graph node is eligible for a oneDNN kernel"),
        (KERAS, "eligible graph nodes ran on oneDNN"),
    ],
)
def test_eligible_nodes_are_those_of_graphs(name: str, words: str) -> None:
    assert words in said(run_of(name))


def test_implementations_that_have_no_name_get_none() -> None:
    assert "gemm_api 303 µs (1%)" in said(run_of(KERAS))
    matmul = run_of(KERAS).ops.filter(kernel="_MklMatMul").row(0, named=True)
    assert matmul["implementations"] is None


def torn(open_: Open, text: str) -> Run:
    log = Log()
    log.start(Node(5, "MatMul", "_MklMatMul", "x", "y"), STEP)
    record = log.lines.pop()
    log.raw(text + record)
    log.raw("")
    log.done(Node(5, "MatMul", "_MklMatMul", "x", "y"), STEP)
    return open_(log)


@pytest.mark.thorough
def test_torn_lines_are_told_with_what_became_of_them(opened: Open) -> None:
    text = said(torn(opened, GEMM))
    assert "torn 1 line: standard output (oneDNN or the program) is mixed into" in text
    assert "all separated. Two files would prevent this" in text
    assert "can't be read" not in text
    run = torn(opened, GEMM[:40])
    assert "all separated, except 1 oneDNN line." in said(run)
    ids = [limit["id"] for limit in summary_json(run)["limits"]]
    assert "unread-onednn-lines" in ids


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("milliseconds", "words"),
    [
        (0.005, "10 µs in ops that call oneDNN, first runs included, 50% of it in primitives"),
        (
            0.02,
            "10 µs in ops that call oneDNN, first runs included; their primitives ran in parallel",
        ),
    ],
)
def test_the_share_of_their_ops_is_told(opened: Open, milliseconds: float, words: str) -> None:
    log = Log()
    log.start(Node(5, "MatMul", "_MklMatMul", "x", "y"), STEP)
    log.raw(GEMM.replace("0.0161133", str(milliseconds)))
    log.done(Node(5, "MatMul", "_MklMatMul", "x", "y"), STEP)
    assert words in said(opened(log))


def test_without_times_ops_are_in_the_order_of_their_runs(opened: Open) -> None:
    log = Log()
    nodes = [Node(number, f"n{number}", op, "x", "y") for number, op in enumerate("AB", 5)]
    for node in (*nodes, nodes[1]):
        log.start(node, STEP)
    lines = screen(opened(log))
    at = lines.index("Ops, by runs")
    assert [line.split()[0] for line in lines[at + 3 : at + 5]] == ["B", "A"]


# ---- pieces -------------------------------------------------------------------------------------


def test_shares_are_never_nothing_or_all_unless_they_are() -> None:
    shares = [percent(part, 1000) for part in (0, 1, 5, 500, 994, 999, 1000)]
    assert shares == ["0%", "<1%", "<1%", "50%", "99%", ">99%", "100%"]
    assert percent(1, 0) == "0%"


def test_a_list_ends_where_the_line_does() -> None:
    console = make_console(io.StringIO(), colour=False)
    console.width = 40
    with console.capture() as captured:
        draw([Fact("label", "", ["abcdefgh"] * 9), Fact("", "", ["x" * 60, "y"])], console)
    first, *rest = captured.get().splitlines()
    assert first == "label   abcdefgh, abcdefgh and 7 more"
    assert rest == [f"        {'x' * 32}", f"        {'x' * 28} and", "        1 more"]


def test_a_grid_measures_what_is_shown() -> None:
    console = make_console(io.StringIO(), colour=False)
    console.width = 12
    with console.capture() as captured:
        left_out = draw_grid(
            [GridColumn("op", ["\x1b\x1b\x1b"], least=12), GridColumn("b", ["x"])], console
        )
        print_paragraph("\x1b[31m a b c", console, "- ")
    assert left_out == ["b"]
    assert captured.get() == "op\n────────────\n\\x1b\\x1b\\x1b\n- \\x1b[31m a\n  b c\n"


def test_requests_of_a_service_are_told_by_function() -> None:
    run = run_of("threads_serve__tf2.20.0")
    (served,) = summary_json(run)["functions"]
    assert served["p50_us"] <= served["p95_us"] <= served["p99_us"]
    service = served["service"]
    assert (service["calls"], service["threads"]) == (20, [3068, 3069, 3070, 3071])
    calls = run.stages.calls.filter(pl.col("thread").is_in(service["threads"]))
    for share in (50, 95, 99):
        wanted = calls["work_us"].quantile(share / 100, "linear")
        assert service[f"p{share}_us"] == pytest.approx(wanted)
    # By the clock: idle time between requests counts.
    ran = run.timeline.filter(pl.col("kind") == "call", pl.col("thread").is_in(service["threads"]))
    passed_us = ran.select((pl.col("end").max() - pl.col("start").min()).dt.total_microseconds())
    assert service["calls_per_s"] == pytest.approx(20e6 / passed_us.item(), rel=0.02)
    # One row for the function; the program's own thread only waits.
    said = screen(run)
    assert sum(line.split()[:3] == ["predict", "20", "4"] for line in said) == 1
    assert "Where the time went in the 4 threads that call functions, summed" in said
    # What logging cost is said of the same threads.
    slowed = run.summary.slowed
    assert slowed is not None
    cost = percent(slowed.logged_us, slowed.wall_us)
    (overhead,) = (line for line in said if line.split()[:2] == ["logging", "overhead"])
    assert cost in overhead.split()
    of_threads = f"logging cost about {cost} of the time of the 4 threads that call functions"
    assert of_threads in " ".join(" ".join(said).split())
    assert "of the run" in next(slowed_fact(run_of(KERAS).summary.slowed)).text
    own = run.ledger.filter(pl.col("thread").is_in(service["threads"]))
    assert run.repeated["repeats_us"].sum() == pytest.approx(own.filter("repeats")["work_us"].sum())
    # Near misses: one thread; threads that make one call after the program has made more itself.
    for name in ("function_mlp__tf2.13.1__vlog2", "nested_calls__tf2.13.1"):
        alone = run_of(name)
        assert not any(each["service"] for each in summary_json(alone)["functions"])
        assert "calls/s" not in "\n".join(screen(alone))
