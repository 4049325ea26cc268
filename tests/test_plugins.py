"""Plug-ins that rewrite graphs: real logs of a program whose functions are named after their fate.

And the next plug-in is an entry in the grammar: a made-up one is, in a copy of it.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from tests.deep import first_quick
from tests.makelog import CPU
from tests.samples import ROOT, raw_log, run_of
from tflogscope.grammar.load import load_grammar
from tflogscope.grammar.onednn_ops import FAMILIES
from tflogscope.grammar.rewriters import REWRITERS, names_of
from tflogscope.model.common.names import op_of_kernel, rewrite_of_kernel
from tflogscope.model.reasons.plugins import PluginNodes
from tflogscope.model.reasons.rules import RULES
from tflogscope.recording.pass_on import PassOn
from tflogscope.recording.settings import settings
from tflogscope.views.analyze import summary_json

RECORDED = ("rewritten__zentf", "rewritten__itex")
IN_FULL = ("rewritten__zentf__vlog2", "rewritten__itex__vlog2")
EACH = [(name,) for name in RECORDED + IN_FULL]
PRODUCTS = {
    "_FusedMatMul": "FusedMatMul",
    "_FusedConv2D": "FusedConv2D",
    "MaxPool": "MaxPool",
    "MatMul": "MatMul",
    "Softmax": "Softmax",
}


def whose(name: str) -> tuple[str, str]:
    """The value of `rewrite`, and how the names of kernels begin."""
    return ("zendnn", "_Zen") if "zentf" in name else ("itex", "_ITEX")


# ---- rewrites ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", first_quick(EACH, lambda name: "zentf" in name[0]))
def test_each_run_of_a_kernel_has_its_rewriter_and_its_op(name: str) -> None:
    """The lines are looked for without the grammar: the executor prints the kernel."""
    rewriter, mark = whose(name)
    printed = re.compile(rf"Process node: .*?}}}} = ({mark}\w+)\[")
    lines = raw_log(name).decode(errors="replace").split("\n")
    wanted = {at: found[1] for at, line in enumerate(lines, 1) if (found := printed.search(line))}
    assert len(wanted) > 15
    rows = run_of(name).timeline.filter(mode="graph").filter(pl.col("line").is_in([*wanted]))
    assert dict(rows.select("line", "kernel").rows()) == wanted
    assert set(rows["rewrite"]) == {rewriter}
    assert not rows["op"].str.starts_with(mark).any()


@pytest.mark.parametrize("name", first_quick(EACH, lambda name: "zentf" in name[0]))
def test_what_the_program_asks_for_is_rewritten(name: str) -> None:
    rewriter, mark = whose(name)
    nodes = run_of(name).nodes.filter(pl.col("executions") > 0, pl.col("rewrite") == rewriter)
    products = nodes.filter(function="products")
    assert dict(products.select("op", "kernel").rows()) == {
        op: f"{mark}{kernel}" for op, kernel in PRODUCTS.items()
    }
    assert products["eligible"].all()
    assert products["reason"].null_count() == products.height
    assert "double" not in nodes["function"]


@pytest.mark.parametrize("name", first_quick(EACH, lambda name: "zentf" in name[0]))
def test_a_rewrite_is_at_the_line_that_says_so(name: str) -> None:
    rewriter, _ = whose(name)
    words = {"zendnn": "ZenLayout: Rewritten ", "itex": "NativeLayoutPass: rewrote node "}[rewriter]
    lines = raw_log(name).decode(errors="replace").split("\n")
    found = run_of(name).rewrites.filter(pl.col("by") == rewriter, pl.col("node").is_not_null())
    said = [lines[line - 1] for line in found["line"]]
    own = [words in line for line in said]
    assert sum(own) >= 7
    for row, line, is_own in zip(found.to_dicts(), said, own, strict=True):
        assert row["node"] in line
        assert row["ran"], row
        assert not is_own or row["to_op"] in line
    assert run_of(name).rewrites.filter(~pl.col("ran"))["by"].is_in([rewriter]).sum() == 0


def test_eager_ops_are_dispatched_as_kernels_of_zendnn_and_not_of_itex() -> None:
    for name, kernels in (
        ("rewritten__zentf", ["_ZenMatMul", "_ZenSoftmax", "MatMul"]),
        ("rewritten__itex", ["_MklMatMul", "_MklSoftmax", "MatMul"]),
    ):
        eager = run_of(name).timeline.filter(pl.col("mode") == "eager")
        eager = eager.filter(pl.col("op").is_in(["MatMul", "Softmax"]))
        assert eager["op"].to_list() == ["MatMul", "Softmax", "MatMul"]
        assert eager["kernel"].to_list() == kernels
    rewrites = run_of("rewritten__zentf").rewrites
    assert rewrites.filter(pl.col("node").is_null())["by"].to_list() == ["zendnn", "zendnn"]


@pytest.mark.parametrize(
    ("kernel", "op", "rewrite"),
    [
        ("_ZenMatMul", "MatMul", "zendnn"),
        ("_ZenFusedDepthwiseConv2dNative", "_FusedDepthwiseConv2dNative", "zendnn"),
        ("_ZenFusedBatchNormV3", "FusedBatchNormV3", "zendnn"),
        ("_ITEXFusedBatchNormV3", "FusedBatchNormV3", "itex"),
        ("_ITEXFusedBatchNormEx", "_FusedBatchNormEx", "itex"),
        ("_ITEXPadWithConv2D", "FusedPadConv2D", "itex"),
        ("_ITEXQuantizedConv2DV2", "_QuantizedConv2D", "itex"),
        ("ITEXGelu", "Gelu", "itex"),
        ("_OneDnnMatMul", "MatMul", "itex"),
        ("_OneDnnToTf", "_OneDnnToTf", "itex"),
        ("_ITEXOfTomorrow", "OfTomorrow", "itex"),
        ("_MklMatMul", "MatMul", "layout"),
        ("MatMul", "MatMul", "none"),
        ("Zen", "Zen", "none"),
    ],
)
def test_a_kernel_has_its_op(kernel: str, op: str, rewrite: str) -> None:
    found = pl.DataFrame({"kernel": [kernel]}).select(
        op=op_of_kernel(pl.col("kernel")), rewrite=rewrite_of_kernel(pl.col("kernel"))
    )
    assert found.row(0) == (op, rewrite)


# ---- reasons -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "function", "op", "reason"),
    [
        ("rewritten__zentf", "double", "MatMul", "dtype"),
        ("rewritten__zentf", "other_fusion", "_FusedMatMul", "fused-ops"),
        ("rewritten__zentf", "without_product", "Elu", "not-supported-op"),
        ("rewritten__zentf__off", "products", "MatMul", "plugin-off"),
        ("rewritten__zentf__off", "double", "MatMul", "dtype"),
        ("rewritten__zentf__off", "products", "Relu", "no-kernel"),
        ("rewritten__itex", "double", "MatMul", "dtype"),
        ("rewritten__itex", "window", "MaxPool", "pool-window"),
        ("rewritten__itex", "without_product", "Elu", "no-product"),
        ("rewritten__itex", "gradient", "Const", "not-supported-op"),
    ],
)
def test_what_stays_as_it_was_has_the_reason_of_who_rewrites(
    name: str, function: str, op: str, reason: str
) -> None:
    nodes = run_of(name).nodes.filter(function=function, op=op, rewrite="none")
    assert set(nodes["reason"]) == {reason}


def test_no_node_of_a_plugin_has_a_reason_of_onednn() -> None:
    run = run_of("rewritten__zentf")
    used = {RULES[rule].by for rule in run.stages.reasons.rule if rule >= 0}
    assert used <= {"anybody", "zendnn"}
    eager = run.stages.eager_kernels.filter(pl.col("rule") >= 0)
    assert {RULES[rule].by for rule in eager["rule"]} <= {"anybody", "zendnn"}
    double = eager.filter(op="MatMul", dtype="DT_DOUBLE")["rule"]
    assert [RULES[rule].reason for rule in double] == ["dtype"]


@pytest.mark.thorough
def test_that_onednn_is_off_is_no_finding_where_another_rewriter_is_at_work() -> None:
    assert "onednn-off" not in run_of("rewritten__zentf").findings["id"]
    assert "onednn-off" in run_of("onednn_off__tf2.20.0").findings["id"]
    off = run_of("rewritten__zentf__off").findings.filter(id="not-rewritten")
    assert off.filter(subject="plugin-off")["text"].str.contains("though ZenDNN supports").all()


# ---- primitives ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["rewritten__zentf", "rewritten__zentf__vlog2"])
def test_each_execute_line_of_zendnn_is_a_primitive_of_its_op(name: str) -> None:
    printed = re.compile(
        r"\[API +\]\[verbose\]\[[\d.]+\]:MatMul operator execute - \w+,kernel:(\w+),"
        r"matmul_input\[(\d+),(\d+)\]\S*?weights\[(\d+),(\d+)\]"
    )
    lines = raw_log(name).decode(errors="replace").split("\n")
    found = {at: said for at, line in enumerate(lines, 1) if (said := printed.match(line))}
    assert len(found) == 9
    run = run_of(name)
    rows = run.primitives.filter(pl.col("line").is_in([*found]))
    assert rows["line"].to_list() == [*found]
    ran = run.timeline.select(timeline_line="line", kernel="kernel", op="op", step="step")
    joined = rows.join(ran, on="timeline_line", how="left", maintain_order="left")
    for row, said in zip(joined.to_dicts(), found.values(), strict=True):
        assert row["implementation"] == said[1]
        assert row["problem"] == f"{said[2]}x{said[3]}:{said[4]}x{said[5]}"
        assert (row["event"], row["engine"], row["primitive"]) == ("exec", "cpu", "matmul")
        assert row["onednn_version"] is None
        assert row["kernel"] in {"_ZenMatMul", "_ZenFusedMatMul"}
    timed = name == "rewritten__zentf"
    assert joined["duration_us"].null_count() == (0 if timed else 9)


def test_lines_that_came_late_are_linked_to_nothing() -> None:
    late, timely = run_of("rewritten__zentf__late"), run_of("rewritten__zentf")
    rows = [run.primitives.filter(implementation="aocl_dlp") for run in (late, timely)]
    assert rows[0]["problem"].to_list() == rows[1]["problem"].to_list()
    assert set(rows[0]["link"]) == {"none"}
    assert set(rows[1]["link"]) == {"certain"}
    assert late.rewrites["ran"].all()


def test_a_time_is_that_of_the_line_that_repeats_it() -> None:
    said = re.compile(r"\[PROF +\].*?operator execute.*time:([\d.]+)ms")
    times = [float(each) * 1000 for each in said.findall(raw_log("rewritten__zentf").decode())]
    rows = run_of("rewritten__zentf").primitives.filter(implementation="aocl_dlp")
    assert rows["duration_us"].to_list() == pytest.approx(times)


@pytest.mark.parametrize("name", first_quick(EACH, lambda name: "zentf" in name[0]))
def test_lines_of_a_plugins_own_onednn_are_linked(name: str) -> None:
    run = run_of(name)
    ran = run.primitives.filter(event="exec")
    assert ran["timeline_line"].null_count() == 0
    both = ran.join(run.timeline.select(timeline_line="line", op="op"), on="timeline_line")
    kinds = set(both.filter(primitive="convolution")["op"])
    assert kinds == {"_FusedConv2D", "Conv2D"}
    assert set(both.filter(primitive="pooling")["op"]) == {"MaxPool"}


def test_after_two_headers_a_line_has_no_version() -> None:
    rows = run_of("rewritten__zentf").primitives
    said = rows.filter(event="info")["auxiliary"].str.extract(r"^oneDNN v([\d.]+)").drop_nulls()
    assert said.to_list() == ["3.12.0", "3.7.3"]
    ran = rows.filter(pl.col("event") == "exec", pl.col("implementation") != "aocl_dlp")
    second = rows.filter(pl.col("auxiliary").str.starts_with("oneDNN v3.7.3"))["line"][0]
    assert set(ran.filter(pl.col("line") < second)["onednn_version"]) == {"3.12.0"}
    assert set(ran.filter(pl.col("line") > second)["onednn_version"]) == {None}


# ---- what is said --------------------------------------------------------------------------------


@pytest.mark.thorough
def test_screens_name_the_rewriter(capsys: pytest.CaptureFixture[str]) -> None:
    from tflogscope.cli.main import main

    said = {}
    for name in RECORDED:
        path = ROOT / "tests" / "plugins" / f"{name}.log.zst"
        assert main(["analyze", "--full", str(path)]) in {0, None}
        said[name] = capsys.readouterr().out
    zen, itex = said.values()
    assert "ZenDNN kernels" in zen
    assert "eligible graph nodes ran on ZenDNN" in zen
    assert "oneDNN kernels" not in zen
    assert "no op was rewritten" not in zen + itex
    assert "on oneDNN and ITEX" in itex
    assert "by the plug-in intel-extension-for-tensorflow" in itex


def test_facts_of_a_log_without_plugins_are_onednns() -> None:
    facts = summary_json(run_of("function_mlp__tf2.13.1__vlog2"))
    assert facts["rewriters"] == {
        "kernels": ["oneDNN"],
        "primitives": ["oneDNN"],
        "knows": "the layout pass knows",
    }
    assert facts["libraries"] == []


def test_a_policy_may_require_a_kernel_of_a_plugin(tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('require_kernels = ["_ZenMatMul", "_ZenConv3D"]')
    verdict = run_of("rewritten__zentf").check(policy)
    [check] = [check for check in verdict.checks if check.name == "require_kernels"]
    assert [each.subject["kernel"] for each in check.violations] == ["_ZenConv3D"]


@pytest.mark.thorough
def test_two_runs_with_different_rewriters_are_compared_by_op() -> None:
    changed = run_of("rewritten__itex").diff(run_of("rewritten__zentf"))
    [row] = [row for row in changed["ops"] if row["op"] == "Softmax"]
    assert "kernel" in row["changes"]
    assert (row["kernels_before"], row["kernels_after"]) == (
        "_ITEXSoftmax;_MklSoftmax",
        "_ZenSoftmax",
    )


def test_without_a_line_of_the_plugin_the_kernels_say_what_was_rewritten() -> None:
    quiet, said = (run_of(f"rewritten__zentf{each}") for each in ("__quiet", ""))
    columns = ["function", "node", "from_op", "to_op", "by", "ran"]
    graph = [
        run.rewrites.filter(pl.col("node").is_not_null()).select(columns) for run in (quiet, said)
    ]
    assert set(graph[0].rows()) == set(graph[1].rows())
    assert quiet.primitives.is_empty()


# ---- the table -----------------------------------------------------------------------------------


def test_recording_sets_what_installed_plugins_need() -> None:
    plain = settings("2.21.0")
    assert not [name for name in plain if name.startswith("ZENDNN")]
    zen = settings("2.21.0", {"zentf": "2.21.0.0"})
    assert zen == {**plain, **REWRITERS_BY_ID["zendnn"].record}
    itex = settings("2.15.0", {"intel-extension-for-tensorflow": "2.15.0.0"})
    assert "native_layout=2" in itex["TF_CPP_VMODULE"].split(",")
    assert "TF_ENABLE_ZENDNN_OPTS" not in zen


def test_who_runs_the_program_does_not_see_the_lines_of_the_plugin() -> None:
    log = raw_log("rewritten__zentf").split(b"\n", 1)[1]
    seen = bytearray()
    begins = [text.encode() for text in REWRITERS_BY_ID["zendnn"].begins]
    sorter = PassOn(seen.extend, lambda _: None, begins=begins)
    for start in range(0, len(log), 97):
        sorter.feed(log[start : start + 97])
    sorter.idle()
    assert b"[API " not in seen
    assert b"[PROF " not in seen
    markers = load_grammar().markers.markers
    assert begins == [each.literal.encode() for each in markers if each.file == "zendnnl"]


REWRITERS_BY_ID = {each.id: each for each in REWRITERS}


@pytest.mark.parametrize("rewriter", REWRITERS, ids=lambda each: each.id)
def test_an_entry_names_what_there_is(rewriter: object) -> None:
    assert isinstance(rewriter, type(REWRITERS[0]))
    messages, families = load_grammar().by_id, {family.name for family in FAMILIES}
    named = {*rewriter.loaded, *rewriter.works, *rewriter.rewritten, *rewriter.fused}
    assert named <= set(messages)
    for id_ in rewriter.rewritten:
        assert {"node", "kernel"} <= set(messages[id_].fields)
    for id_, field in rewriter.fused.items():
        assert field in messages[id_].fields
    rules = {rule.id: rule for rule in RULES if rule.by == rewriter.id}
    for op in rewriter.ops.values():
        assert not op.family or op.family in families
        assert set(op.refusals) <= set(rules)
    assert all(rule.facts or rule.ops for rule in rules.values())
    assert all(id_.startswith(rewriter.id) for id_ in rules)
    assert {fact for rule in rules.values() for fact in rule.facts} <= {
        *vars(PluginNodes),
        "other_device",
        "pool_not_rewritten",
        "pools_over_batch_or_channels",
    }
    assert names_of([rewriter.id, "none", "layout"]) == ["oneDNN", rewriter.name]


NEXT = """
source = "next/next.cc"
file = "next.cc"

[rewriter]
id = "next"
name = "NextDNN"
package = "next-plugin"
kernels = '_Next'
where = "next/next.cc, Rewrite"
lines = "Record with NEXT_VERBOSE=1."
works = ["next_rewrote"]
rewritten = ["next_rewrote"]
record = { NEXT_VERBOSE = "1" }

[[rewriter.op]]
names = ["MatMul"]
types = ["DT_FLOAT"]

[[rewriter.rule]]
id = "next-type"
reason = "dtype"
facts = ["other_type"]
why = "NextDNN has floats only."
where = "next/next.cc"
change = "float32."

[[message]]
id = "next_rewrote"
level = 1
text = 'Node ${node:word} is ${kernel:rest}'
meaning = "The plug-in replaced a node's op."
  [[message.sample]]
  origin = "source"
  line = '2026-11-21 03:56:35.000000: I next/next.cc:7] Node a is _NextMatMul'
  fields = { node = "a", kernel = "_NextMatMul" }
"""
ASK = """
import json, sys, tflogscope
from tflogscope.recording.settings import settings
run = tflogscope.open_log(sys.argv[1])
rows = run.nodes.select("node", "op", "kernel", "rewrite", "reason").rows()
rewrites = run.rewrites.select("line", "node", "from_op", "to_op", "by", "ran").rows()
recorded = settings(None, {"next-plugin": "1"})["NEXT_VERBOSE"]
print(json.dumps([rows, rewrites, run.rewriters.kernels, recorded]))
"""


@pytest.mark.thorough
def test_the_next_plugin_is_an_entry(tmp_path: Path) -> None:
    """No Python knows it: a copy of the package with one more file in grammars/plugins/ does."""
    skip = shutil.ignore_patterns("runtime", "__pycache__")
    shutil.copytree(ROOT / "tflogscope", tmp_path / "tflogscope", ignore=skip)
    shutil.copytree(ROOT / "grammars", tmp_path / "grammars")
    (tmp_path / "grammars" / "plugins" / "next.toml").write_text(NEXT)
    time, device = "2026-11-21 03:56:35.00000", f'_device="{CPU}"'
    nodes = [
        f"{{{{node a}}}} = _NextMatMul[T=DT_FLOAT, {device}]()",
        f"{{{{node b}}}} = MatMul[T=DT_DOUBLE, {device}]()",
    ]
    lines = ["next/next.cc:7] Node a is _NextMatMul"]
    for id_, node in enumerate(nodes):
        step = f"{id_} step 5 {node} device: {CPU}"
        lines.append(f"tensorflow/core/common_runtime/executor.cc:841] Process node: {step}")
        lines.append(
            f"tensorflow/core/common_runtime/executor.cc:897] Synchronous kernel done: {step}"
        )
    log = tmp_path / "run.log"
    log.write_text("".join(f"{time}{at}: I {line}\n" for at, line in enumerate(lines)))
    done = subprocess.run(
        [sys.executable, "-c", ASK, str(log)],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path), "PATH": "", "SYSTEMROOT": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    rows, rewrites, kernels, recorded = json.loads(done.stdout)
    assert rows == [
        ["a", "MatMul", "_NextMatMul", "next", None],
        ["b", "MatMul", "MatMul", "none", "dtype"],
    ]
    assert rewrites == [[1, "a", "MatMul", "_NextMatMul", "next", True]]
    assert (kernels, recorded) == (["NextDNN"], "1")


def test_a_product_is_of_the_matmul_that_has_its_sizes() -> None:
    """A convolution of Eigen's, which multiplies in blocks, is open around both lines as well."""
    run = run_of("rewritten__zentf__off")
    ran = run.primitives.filter(pl.col("primitive") == "gemm_api", pl.col("line").is_in([578, 585]))
    ops = run.timeline.filter(pl.col("line").is_in(ran["timeline_line"].implode()))
    assert ran["problem"].to_list() == ["24x48:48x40", "24x40:40x24"]
    assert ops["op"].to_list() == ["MatMul", "MatMul"]
