"""The report without a browser: what the page holds, and that nothing in it can run."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import os
import re
import runpy
import zlib
from datetime import UTC, datetime
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tflogscope
from tests.command import Ended, run_command
from tests.conftest import Open
from tests.makelog import Log, Node
from tests.samples import ROOT, UNLIKE, page_of, path_of, raw_log, run_of
from tflogscope import Run
from tflogscope.exports.redact import Redactor
from tflogscope.model.common.figures import duration
from tflogscope.model.common.origin import RECORD_MARK
from tflogscope.model.common.source_text import line_with, source_text
from tflogscope.model.ledger.phases import PHASE_NAMES
from tflogscope.model.overview.headline import read_verdict
from tflogscope.model.slices.own_times import own_times
from tflogscope.recording.header import MARK, header_line
from tflogscope.sources.source import Source
from tflogscope.views import document
from tflogscope.views.report import picture
from tflogscope.views.report.icicle import icicle_data
from tflogscope.views.report.page import PLAIN, SCRIPTS, STYLES, report_page
from tflogscope.views.report.picture import raw_lines, slice_classes
from tflogscope.views.report.timeline import track_names

KERAS = "keras_fit_mlp__tf2.13.1__vlog2"
ASSETS = ROOT / "tflogscope" / "views" / "report" / "assets"
HOSTILE = "</script><img/src=x/onerror=alert(1)>"
TAGS = set(
    """
    html head meta title style body header h1 h2 h3 a div nav button main section ol ul li p span
    code b small details summary kbd table caption thead tbody tr th td dl dt dd br label select
    option input aside pre figure figcaption rect canvas script svg desc g text line path
    """.split()  # noqa: SIM905  a list of so many names is hard to read
)
VOID = {"meta", "input", "br"}


class Page(HTMLParser):
    """A page as a browser takes it apart: elements must be closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self.open: list[str] = []
        self.texts: dict[str, list[str]] = {"script": [], "style": [], "td": [], "li": [], "dd": []}
        self.policy = ""
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += attrs
        if dict(attrs).get("http-equiv") == "Content-Security-Policy":
            self.policy = dict(attrs)["content"] or ""
        if tag not in VOID:
            self.open.append(tag)
        if tag in self.texts:
            self.texts[tag].append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        for tag in set(self.open) & set(self.texts):
            self.texts[tag][-1] += data


def made(run: Run, *, full: bool = False) -> tuple[str, Page]:
    text = report_page(run, "tests 1", full=full)
    return text, Page(text)


def drawn(text: str) -> dict[str, Any]:
    """The timeline's data, unpacked without tflogscope: columns and words."""
    block = re.search(r'<script type="application/json" id="picture">(.*?)</script>', text)
    assert block
    data: dict[str, Any] = json.loads(block[1])
    raw = gzip.decompress(base64.b64decode(data["columns"]))
    start = 0
    for name, layout in data["layout"].items():
        count, values = layout["count"], [0] * layout["count"]
        for plane in range(layout["width"]):
            part = raw[start + plane * count : start + (plane + 1) * count]
            values = [
                value + (byte << (8 * plane)) for value, byte in zip(values, part, strict=True)
            ]
        if layout["signed"]:
            values = [-(value + 1) // 2 if value % 2 else value // 2 for value in values]
        data[name] = np.cumsum(values).tolist() if layout["delta"] else values
        start += count * layout["width"]
    assert start == len(raw)
    return {**data, **json.loads(gzip.decompress(base64.b64decode(data["words"])))}


@pytest.fixture(scope="module")
def keras() -> tuple[str, Page]:
    text = page_of(KERAS)
    return text, Page(text)


# ---- the page ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", UNLIKE)
def test_the_page_of_each_sample_log_is_whole_and_loads_nothing(name: str) -> None:
    text = page_of(name)
    page = Page(text)
    assert page.tags <= TAGS
    names = {name for name, _ in page.attributes}
    assert not [name for name in names if name.startswith("on") or name == "style"]
    assert all(value and value.startswith("#") for name, value in page.attributes if name == "href")
    assert "src" not in names
    ids = [value for name, value in page.attributes if name == "id"]
    assert len(set(ids)) == len(ids)
    assert "nan" not in {cell.lower() for cell in page.texts["td"]}
    assert len(text) < 1_000_000


@pytest.mark.thorough
def test_the_policy_allows_the_scripts_of_the_page_and_no_other(keras: tuple[str, Page]) -> None:
    _, page = keras
    rules = dict(rule.strip().split(" ", 1) for rule in page.policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["base-uri"] == rules["form-action"] == "'none'"

    def digest(text: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    run = [text for text in page.texts["script"] if not text.startswith(("{", "null"))]
    assert len(run) == len(SCRIPTS)
    assert rules["script-src"] == " ".join(map(digest, run))
    assert rules["style-src"] == " ".join(map(digest, page.texts["style"]))


@pytest.mark.thorough
def test_a_log_in_which_nothing_ran_has_a_page(opened: Open) -> None:
    log = Log()
    log.instantiating("__inference_f_7")
    for each in (log, "onednn_verbose,info,oneDNN v3.7.3 (commit N/A)\n"):
        text, page = made(opened(each))
        assert "The log shows no execution." in text
        assert page.tags <= TAGS


def test_a_log_of_another_program_has_no_table_of_ops() -> None:
    text, _ = made(run_of("torch_mlp__torch2.13.0__vlog2"))
    assert 'id="ops-table"' not in text
    assert "The log shows no op execution." in text
    assert "<small>no TensorFlow records" in text


def test_the_program_is_named_without_the_folder_of_its_interpreter(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    head = header_line(["/opt/venv/bin/python3", "examples/train.py"], {}, {})
    path.write_bytes(head + raw_log("function_mlp__tf2.13.1__vlog2"))
    assert tflogscope.open_log(path).headline.facts[0] == "python3 examples/train.py"


def test_a_log_without_a_program_is_named_by_its_files(tmp_path: Path) -> None:
    lines = raw_log("function_mlp__tf2.13.1__vlog2").splitlines(keepends=True)
    parts = [tmp_path / "a.log", tmp_path / "b.log"]
    parts[0].write_bytes(b"".join(lines[:500]))
    parts[1].write_bytes(b"".join(lines[500:]))
    assert tflogscope.open_log(parts[0]).headline.facts[0] == "a.log"
    assert tflogscope.open_log(*parts).headline.facts[0] == "a.log and 1 more"


def test_what_a_program_crashed_of_is_counted_once() -> None:
    crashed = run_of("short_batch_wrong__tf2.20.0__record")
    assert crashed.findings["severity"].to_list() == ["error", "error"]  # the crash, and its op
    assert "and 1" not in crashed.headline.verdict


def timeless(log: Log) -> str:
    """As glog writes it: without a year."""
    glog = r"I1121 03:56:34.000001    9000 \1"
    return re.sub(r"(?m)^.*?: I \S*/(\w+\.cc:)", glog, log.text())


def test_a_log_without_times_says_so(opened: Open) -> None:
    log = Log()
    log.step(7, Node(1, "a", "MatMul"), Node(2, "b", "AddV2"))
    page = made(opened(timeless(log)))[1]
    assert any("the log has no times" in said for said in page.texts["li"])


@pytest.mark.thorough
def test_the_same_log_gives_the_same_page() -> None:
    one, other = (report_page(tflogscope.open_log(path_of(KERAS)), "tests 1") for _ in range(2))
    assert one == other


def test_a_hostile_log_stays_text(opened: Open) -> None:
    log = Log()
    log.raw(f'# tflogscope record {{"command":["{HOSTILE}"],"versions":{{"a":"{HOSTILE}"}}}}')
    log.executing(HOSTILE)
    name = f"__inference_{HOSTILE}_9"
    log.entering(name)
    log.executing(name)
    log.exiting(name)
    text, page = made(opened(log))
    assert page.tags <= TAGS
    assert "<img" not in text
    assert HOSTILE in page.texts["td"]  # the op
    assert any(HOSTILE in said for said in page.texts["dd"])  # the command
    assert HOSTILE in drawn(text)["texts"]["op"]
    assert "</script" not in json.dumps(page.texts["script"]).lower()


# ---- what it says --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", [KERAS, "python_threads__tf2.21.0__vlog2", "torch_mlp__torch2.13.0__vlog2"]
)
def test_the_timeline_holds_what_the_tables_say(name: str) -> None:
    run = run_of(name)
    data = drawn(page_of(name))
    frame, primitives = run.drawn.frame, run.primitives
    assert len(data["begin"]) == frame.height
    timeline = run.timeline.with_row_index("row")
    for at, slice_ in enumerate(frame.iter_rows(named=True)):
        if slice_["primitive"] is None:
            if slice_["row"] is None:
                assert data["texts"]["mode"][data["text"][at]] == "preparation"
                continue
            row = timeline.row(slice_["row"], named=True)
            texts = {key: column[data["text"][at]] for key, column in data["texts"].items()}
            for key in ("mode", "kind", "op", "kernel", "rewrite", "node", "function", "cause"):
                assert texts[key] == row[key]
            assert data["line"][at] == row["line"]
            assert data["call"][at] == (-1 if row["call"] is None else row["call"])
            step = data["step"][at]
            assert (None if step < 0 else data["steps"][step]) == (
                None if row["step"] is None else str(row["step"])
            )
            end = data["end_line"][at]
            assert (row["line"] + end - (end > 0) if end else None) == row["end_line"]
            if row["duration_us"] is not None:
                assert data["length"][at] == row["duration_us"] * 1000
        else:
            line = primitives.row(slice_["primitive"], named=True)
            words = {
                key: column[data["primitive"][at]] for key, column in data["primitives"].items()
            }
            assert words["implementation"] == line["implementation"]
            assert words["problem"] == line["problem"]
            assert data["line"][at] == line["line"]
            assert data["own"][at] == round(line["duration_us"] * 1000)
            owner = data["owner"][at]
            assert (data["line"][at - owner] if owner else None) == line["timeline_line"]


@pytest.mark.thorough
def test_threads_have_names_by_what_they_ran() -> None:
    run = run_of("tf_data__tf2.13.1__vlog2")  # without thread ids
    names, order = track_names(run.drawn)
    assert {"eager", "graphs"} <= {*names}
    threads = run_of("function_mlp__tf2.13.1__vlog2__tid").drawn
    names, order = track_names(threads)
    assert sorted(order) == [*range(threads.tracks.height)]
    shown = [names[track] for track in order]
    assert shown[0] == "main"
    assert {"graph optimization", "inter-op 1"} <= {*shown}
    assert shown.index("graph optimization") < shown.index("inter-op 1")


def test_the_icicle_has_each_time_once() -> None:
    run = run_of(KERAS)
    data = icicle_data(run, slice_classes(run.drawn.texts))
    assert len(data["paths"]) == len(data["us"]) == len(data["classes"])
    own = own_times(run.slices)
    prepared = run.preparations.select((pl.col("end") - pl.col("begin")).sum()).item()
    assert own["work_us"].sum() - len(data["us"]) <= sum(data["us"])
    assert sum(data["us"]) <= own["work_us"].sum() + prepared + 1
    assert all(place < len(data["names"]) for path in data["paths"] for place in path)


def test_lines_that_the_page_names_are_in_it_as_they_are() -> None:
    run = run_of(KERAS)
    (known,) = raw_lines(run).values()
    text = raw_log(KERAS).decode().splitlines()
    assert all(
        line[:600] == text[int(at) - 1][:600] for at, line in known.items() if line[-1] != "…"
    )
    assert {str(line) for line in run.findings["line"].drop_nulls()} <= {*known}
    assert {str(line) for line in run.ops["first_line"]} <= {*known}


def test_a_line_of_the_program_is_that_of_the_file_that_ran(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    program = tmp_path / "train.py"
    program.write_text("import os\n    step(<b>)\n")
    later = {"started": datetime.fromtimestamp(program.stat().st_mtime + 2, UTC).isoformat()}
    earlier = {"started": datetime.fromtimestamp(program.stat().st_mtime - 2, UTC).isoformat()}
    assert source_text("train.py:2", later) == "step(<b>)"
    assert source_text("train.py:2", earlier) is None  # it was changed since
    sums = {"train.py": zlib.crc32(program.read_bytes())}
    assert source_text("train.py:2", later | {"sources": sums}) == "step(<b>)"
    assert source_text("train.py:2", later | {"sources": {"train.py": 1}}) is None  # another file
    (tmp_path / "secret.txt").write_text("secret\n")
    (tmp_path.parent / "other.py").write_text("secret\n")
    (tmp_path / "link.py").symlink_to(tmp_path.parent / "other.py")
    hostile = ("secret.txt:1", "../other.py:1", f"{program}:2", "link.py:1", "train.py:9", "x", "")
    for place in (*hostile, "train.py:0", "train.py:x", "no\x00.py:1", None):
        assert source_text(place, later) is None, place
    assert source_text("train.py:2", None) is None
    assert source_text("train.py:2", {"started": {}}) is None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("x = 1  # eager\neager = 2\n", "set.py:2"),  # a comment is no setting
        ("eager = 1\neager = 2\n", None),  # which of the two?
        ("eagerly = 1\n", None),
        ("a = 1\nb = 2\n", None),
        ("other = 1\neager = 1\neager = 2\n", "set.py:1"),  # the next name has one line
    ],
)
def test_a_setting_is_at_the_only_line_with_its_name(
    text: str, found: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    program = tmp_path / "set.py"
    program.write_text(text)
    later = {"started": datetime.fromtimestamp(program.stat().st_mtime + 2, UTC).isoformat()}
    assert line_with(["eager", "other"], ["set.py"], later) == found


def test_a_long_line_of_the_program_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    program = tmp_path / "long.py"
    program.write_text(f"{'x' * 160}\n{'y' * 161}\n")
    later = {"started": datetime.fromtimestamp(program.stat().st_mtime + 2, UTC).isoformat()}
    assert source_text("long.py:1", later) == "x" * 160
    assert source_text("long.py:2", later) == "y" * 160 + "…"
    assert source_text("long.py:2", later, None) == "y" * 161


def test_the_bar_of_the_wall_time_is_the_table_time(keras: tuple[str, Page]) -> None:
    text, time = keras[0], run_of(KERAS).time.drop_nulls("wall_us").filter(pl.col("wall_us") > 0)
    bar = text[text.index('id="time-bar"') : text.index("</figure>")]
    widths = [float(each) for each in re.findall(r'width="([\d.]+)" height="20"/?>', bar)]
    whole = time["wall_us"].sum()
    assert widths == pytest.approx([1000 * us / whole for us in time["wall_us"]], abs=0.01)
    assert sum(widths) == pytest.approx(1000, abs=0.1)
    for phase, us in time.select("phase", "wall_us").rows():
        assert f"{PHASE_NAMES[phase]} {duration(us)}, " in bar


def test_findings_come_ranked_with_links_to_their_lines(keras: tuple[str, Page]) -> None:
    _, page = keras
    rows = run_of(KERAS).findings.to_dicts()
    assert rows
    shown = [said for said in page.texts["li"] if said.startswith(("Error ", "Warning ", "Note "))]
    for row, said in zip(rows, shown, strict=True):
        assert row["id"] in said
        assert row["text"] in said
        assert f"{row['line']:,}" in said


def test_a_reason_is_given_where_a_node_stayed_as_it_was(keras: tuple[str, Page]) -> None:
    assert "no-kernel" in keras[1].texts["td"]


def test_each_shape_of_a_problem_has_a_row(keras: tuple[str, Page]) -> None:
    ran = run_of(KERAS).primitives.filter(pl.col("event") == "exec")
    of_table = keras[0].split('id="problems-table"')[1].split("</table>")[0]
    assert of_table.count("<tr>") == 1 + ran.select("primitive", "problem").n_unique()


def test_the_page_begins_with_verdict_figures_and_timeline(keras: tuple[str, Page]) -> None:
    text, headline = keras[0], run_of(KERAS).headline
    ids = re.findall(r'<section[^>]* id="(\w+)"', text)
    assert ids[:3] == ["head", "timeline", "findings"]
    top = text[: text.index('id="timeline"')]
    for said in (headline.verdict, *headline.facts, *(each.value for each in headline.figures)):
        assert escape(said) in top


@pytest.mark.thorough
def test_what_comes_before_the_first_op_is_said_of_the_duration() -> None:
    run = run_of("error__tf2.13.1__vlog2")
    figure = run.headline.figures[0]
    assert figure.about.endswith(" of it before the first op ran")
    (before,) = run.time.filter(phase="start-up")["wall_us"]
    assert float(figure.about.split(" s ")[0]) == pytest.approx(before / 1e6, abs=0.005)


@pytest.mark.thorough
def test_the_verdict_counts_warnings_apart_from_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_of("dataset_fails__tf2.20.0")
    *others, last = run.findings["severity"].to_list()
    assert (others, last) == (["error", "note"], "note")
    both = run.findings.with_columns(severity=pl.Series([*others, "warning"]))
    monkeypatch.setattr(run.summary, "findings", both)
    _, verdict = read_verdict(run.summary, run)
    assert "INVALID_ARGUMENT: Cannot batch tensors" in verdict
    assert verdict.endswith(". 1 warning.")


def test_eager_ops_without_ends_are_not_taken_for_cheap(opened: Open) -> None:
    log = Log()
    log.executing("MatMul")  # before 2.10, eager/execute.cc prints no end of it
    log.step(-5, Node(3, "a", "Relu"))
    headline = opened(log).headline
    assert headline.id == "no-times"
    assert "The log has no eager durations" in headline.verdict


def test_without_times_what_is_in_loops_is_not_known(opened: Open) -> None:
    log = Log()
    log.eager_op("MatMul", 5)
    loops = opened(timeless(log)).headline.figures[1]
    assert (loops.name, loops.value) == ("Repeated time", "unknown")


@pytest.mark.thorough
def test_what_xla_compiled_is_named_where_it_is_not_counted() -> None:
    run = run_of("jit_beside__tf2.20.0__record")
    assert "XLA-compiled code not counted" in run.headline.figures[-2].about
    assert "XLA" not in run_of(KERAS).headline.figures[-2].about
    compiled = run.summary.functions.filter(pl.col("xla_calls") > 0)
    by_xla = compiled.select("function", "xla_calls").rows()
    assert by_xla == [("compiled", 5), ("compiled", 1)]  # of 32 and of 48 rows, as its program says
    assert "XLA calls" in made(run)[0]
    assert "XLA calls" not in made(run_of(KERAS))[0]


def test_primitives_in_xlas_code_are_not_taken_for_those_of_rewritten_nodes(opened: Open) -> None:
    log = Log()
    log.call("__inference_g_1", 7, -4, Node(3, "a", "Relu"))
    log.entering("__inference_f_7")
    log.executing("__inference_f_7")
    for _ in range(3):
        log.raw(
            "onednn_verbose,exec,cpu,matmul,brg:avx512_core,undef,src_f32::blocked:ab:f0,,,2x8:8x6,1"
        )
    log.exiting("__inference_f_7")
    text, _ = made(opened(log))
    assert "primitives run by oneDNN, 3 in XLA&#x27;s code" in text


def test_calls_of_what_xla_compiled_are_known_in_the_timeline() -> None:
    page = drawn(made(run_of("jit_beside__tf2.20.0__record"))[0])
    texts = page["texts"]
    names = {(texts["function"][at], texts["function_uid"][at]) for at in page["xla"]}
    assert names == {("compiled", 55), ("compiled", 110)}
    assert not drawn(made(run_of(KERAS))[0])["xla"]


def test_the_step_is_the_median_of_its_later_calls() -> None:
    run = run_of(KERAS)
    calls = run.executions.filter(kind="call", function="train_function").sort("line")["work_us"]
    step = next(each for each in run.headline.figures if each.name == "Step")
    assert step.value == duration(sorted(calls[1:])[(len(calls) - 1) // 2])
    assert f"{len(calls) - 1} later calls of train_function, interquartile range " in step.about
    eager = run_of("eager_basics__tf2.13.1__vlog2").headline.figures
    assert "Step" not in [each.name for each in eager]


@pytest.mark.thorough
def test_functions_of_one_name_are_not_traces_of_one_function() -> None:
    # Keras 3: multi_step_on_iterator is the step of fit, and another function is that of evaluate.
    two = run_of("fit_cycle__tf2.20.0__record").headline.figures[-1]
    assert (two.value, two.about) == ("3", "of 3 called functions")
    again = run_of("retrace__tf2.20.0__vlog2").headline.figures[-1]
    assert again.about.endswith("; 3 retraced")


def test_where_it_comes_from_is_said(keras: tuple[str, Page]) -> None:
    said = " ".join(keras[1].texts["dd"])
    assert hashlib.sha256(path_of(KERAS).read_bytes()).hexdigest() in said
    assert "tests 1" in said
    assert "unknown: the log was not made by" in said


@pytest.mark.thorough
def test_the_header_of_a_recorded_log_is_shown(tmp_path: Path) -> None:
    assert MARK.encode() == RECORD_MARK
    settings = {"TF_CPP_MAX_VLOG_LEVEL": "2", "SECRET": "x"}
    head = header_line(["python", "train.py", "<b>"], {"tensorflow": "2.13.1"}, settings)
    path = tmp_path / "run.log"
    path.write_bytes(head + raw_log("function_mlp__tf2.13.1__vlog2"))
    said = made(tflogscope.open_log(path))[1].texts["dd"]
    assert "python train.py <b>" in said
    assert "tensorflow=2.13.1" in said
    assert "TF_CPP_MAX_VLOG_LEVEL=2" in said


@pytest.mark.thorough
@pytest.mark.parametrize("header", [b"{", b"[1]", b'{"command": 3, "versions": [], "started": {}}'])
def test_a_broken_header_breaks_nothing(header: bytes, tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    path.write_bytes(RECORD_MARK + header + b"\n" + raw_log("function_mlp__tf2.13.1__vlog2"))
    assert made(tflogscope.open_log(path))[1].texts["dd"]


# ---- size ----------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_what_is_left_out_is_said_and_full_keeps_it(monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_of(KERAS)
    monkeypatch.setattr(picture, "SLICES", 100)
    monkeypatch.setattr(picture, "_ATTRIBUTES", 10)
    monkeypatch.setattr(document, "ROWS", 5)
    text, page = made(run)
    data = drawn(text)
    assert len(data["begin"]) == 100
    called = run.functions.filter(pl.col("calls") > 0)
    assert data["texts"]["kind"].count("call") == called.height
    assert "attributes" not in data["texts"]
    said = " ".join(page.texts["li"])
    assert f"shows 100 of {run.drawn.frame.height:,} executions" in said
    assert f"The table of ops shows 5 of {run.ops.height:,} rows." in said
    assert "omit the attributes and inputs of nodes" in said
    text, page = made(run, full=True)
    assert len(drawn(text)["begin"]) == run.drawn.frame.height
    assert "of executions and primitives" not in " ".join(page.texts["li"])


# ---- the command ---------------------------------------------------------------------------------


def report(*arguments: str | Path, stdin: bytes = b"") -> Ended:
    return run_command("report", *arguments, stdin=stdin)


@pytest.mark.thorough
def test_a_file_is_replaced_only_if_asked_to(tmp_path: Path) -> None:
    target, log = tmp_path / "report.html", path_of("torch_mlp__torch2.13.0__vlog2")
    assert report(log, "-o", target).returncode == 0
    first = target.read_bytes()
    assert first.startswith(b"<!DOCTYPE html>")
    assert report(log, "-o", target).returncode == 2
    assert report(log, "-o", target, "--force", "--full").returncode == 0
    piped = report(log, "-o", "-")
    assert piped.stdout == target.read_bytes() == first


@pytest.mark.parametrize("name", [KERAS, "error__tf2.13.1__vlog2"])
def test_a_redacted_page_has_none_of_the_names(name: str, tmp_path: Path) -> None:
    log, target = tmp_path / "thesecret.log", tmp_path / "report.html"
    command = b'{"command":["python","secretprogram.py"],"processor":"secretcpu"}\n'
    log.write_bytes(RECORD_MARK + command + raw_log(name))
    assert report(log, "-o", target, "--redacted").returncode == 0
    text = target.read_text()
    page = drawn(text)
    redactor = Redactor()
    for _ in redactor.blocks(Source(str(log))):
        pass
    names = {each for each in redactor.names.values() if re.search(r"[A-Za-z]{3}", each)}
    assert len(names) > 100
    said = ("op", "kernel", "node", "function", "device", "attributes", "inputs", "python")
    data = " ".join(str(page["texts"][key]) for key in said)
    assert not names & set(re.findall(r"\w+", data + str(page["sources"])))
    # Elsewhere tflogscope's own sentences have words that are names of the program, too.
    own = set(re.findall(r"\w+", page_of("torch_mlp__torch2.13.0__vlog2")))
    prose = set(re.findall(r"\w+", text)) - own
    assert not {each for each in names & prose if "_" in each}
    assert not [each for each in ("thesecret", "secretprogram", "secretcpu") if each in text]
    assert not re.search(r"/tmp|redacted-1.log/", text)


@pytest.mark.thorough
def test_python_redacts_a_page_as_the_command_does(tmp_path: Path) -> None:
    log, target = tmp_path / "thesecret.log", tmp_path / "report.html"
    log.write_bytes(raw_log("function_mlp__tf2.13.1__vlog2").replace(b"e_train_", b"e_mystep_"))
    run = tflogscope.open_log(log)
    run.report(target, redacted=True)
    text = target.read_text()
    assert "mystep" in made(run)[0]
    assert not [each for each in ("thesecret", str(tmp_path), "/tmp", "mystep") if each in text]
    assert "redacted-1.log" in text


def test_the_log_itself_is_never_replaced(tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    log.write_bytes(raw_log("function_mlp__tf2.13.1__vlog2"))
    assert report(log, "-o", log, "--force").returncode == 2
    assert log.read_bytes() == raw_log("function_mlp__tf2.13.1__vlog2")


def test_a_piped_log_has_its_checksum(tmp_path: Path) -> None:
    log = raw_log("torch_mlp__torch2.13.0__vlog2")
    assert report("-", "-o", tmp_path / "r.html", stdin=log).returncode == 0
    assert hashlib.sha256(log).hexdigest() in (tmp_path / "r.html").read_text()


# ---- pictures for notebooks ----------------------------------------------------------------------


@pytest.mark.parametrize("name", UNLIKE)
def test_a_notebook_shows_a_picture(name: str) -> None:
    run = run_of(name)
    chart = run.timeline_chart()
    page = Page(chart._repr_html_())
    assert page.tags <= {"svg", "title", "desc", "g", "text", "line", "path", "p"}
    assert chart._repr_html_() in (run._repr_html_() or "")
    assert "characters of SVG" in repr(chart)


def test_the_picture_has_a_lane_for_each_kind_of_work() -> None:
    svg = run_of(KERAS).timeline_chart().svg
    for lane in ("eager ops", "calls train_function", "graph oneDNN kernels", "oneDNN primitives"):
        assert f">{lane}</text>" in svg


# ---- what it is made of --------------------------------------------------------------------------


def test_all_assets_are_used_and_small() -> None:
    used = {path.name for path in ASSETS.iterdir()}
    texts = [path.read_text() for path in ASSETS.parent.glob("*.py")]
    pieces = {f"{name}.html" for text in texts for name in re.findall("filled\\([\"'](\\w+)", text)}
    assert used == {*SCRIPTS, *PLAIN, *STYLES, *pieces}
    assert sum(path.stat().st_size for path in ASSETS.iterdir()) < 100_000


def test_scripts_of_our_own_never_make_markup_of_text() -> None:
    for name in SCRIPTS:
        text = (ASSETS / name).read_text()
        for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
            assert way not in text, name
        if not name.startswith("vendor/"):
            assert text.count("\n") < 400, name


def test_a_row_of_the_ops_table_is_exact(keras: tuple[str, Page]) -> None:
    row = run_of(KERAS).ops.filter(pl.col("kernel") == "_MklMatMul").row(0, named=True)
    assert f'data-value="{row["total_us"]}"' in keras[0]


def test_the_pictures_of_the_tour_are_those_that_the_script_makes() -> None:
    pytest.importorskip("playwright")
    made = {*runpy.run_path(str(ROOT / "tools" / "screenshots.py"))["PICTURES"], "notebook"}
    shown = set(re.findall(r"\(tour/([\w-]+)\.png\)", (ROOT / "docs" / "tour.md").read_text()))
    files = list((ROOT / "docs" / "tour").iterdir())
    assert {path.name for path in files} == {f"{name}.png" for name in made}
    assert shown == made
    assert sum(path.stat().st_size for path in files) < 1_000_000


@pytest.mark.parametrize(
    ("text", "edit"),
    [
        ("# run_eagerly\nmodel.compile(\n    run_eagerly=True)\n", 3),
        ("compile(run_eagerly=False)\ntf.config.run_functions_eagerly(True)\n", 2),
        ("def made(run_eagerly):\n    compile(run_eagerly=run_eagerly)\n", None),
        ("run_eagerly_else = True\n", None),
    ],
)
def test_a_setting_is_to_be_changed_at_the_only_line_that_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, edit: int | None
) -> None:
    run = tflogscope.open_log(path_of("run_eagerly_fit__tf2.22.0rc0__record"))
    program = "run_eagerly_fit.py"
    monkeypatch.chdir(tmp_path)
    Path(program).write_text(text)
    os.utime(program, (0, 0))  # long before the recording
    assert run.summary.lead is not None
    assert run.summary.lead.edit == (edit and f"{program}:{edit}")
