"""Reasons, against programs that keep oneDNN from nodes, each in one way (tests/reasons)."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

import tflogscope
from tests.reasons_tables import places_of
from tests.samples import NAMES, run_of
from tflogscope.api import LogRun as Run
from tflogscope.events.events import PLACES
from tflogscope.grammar.onednn_ops import OPS
from tflogscope.model.reasons.plugins import BY_ONEDNN
from tflogscope.model.reasons.rules import ANYBODY, RULES, UNKNOWN

LOGS = Path(__file__).parent / "reasons"
DOCUMENT = Path(__file__).parent.parent / "docs" / "reasons.md"
RELEASES = ("2.13.1", "2.20.0")
REASONS = {rule.reason for rule in RULES}
WITH_KERNEL = [op.name for op in OPS.values() if op.has_kernel]
# The first part of a name is the reason; in loops it comes after `while/`.
FIRST_PART = r"(?:^|/)([a-z0-9-]+)/[^/]+$"
SPARSE = {"2.13.1": "no-kernel", "2.20.0": "spmm-off"}


def recorded(program: str, release: str) -> Run:
    return run_of(f"{program}__tf{release}")


def named(program: str, release: str) -> pl.DataFrame:
    """Nodes whose name says what is expected of them, without the ops next to them."""
    nodes = recorded(program, release).nodes.with_columns(
        expected=pl.col("node").str.extract(FIRST_PART, 1).replace("sparse", SPARSE[release])
    )
    nodes = nodes.filter(pl.col("expected").is_in([*REASONS, "rewritten"]))
    single = pl.col("expected").is_in(["no-kernel", "not-supported-op"])
    beside = ~pl.col("op").is_in(WITH_KERNEL) & ~single
    constants = pl.col("op").is_in(["Const", "Identity", "_Arg", "_Retval"])
    return nodes.filter(~beside & ~constants)


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("program", ["refused", "onednn_off", "device"])
def test_each_node_has_the_reason_that_it_is_there_for(program: str, release: str) -> None:
    nodes = named(program, release)
    assert nodes.height
    wrong = nodes.filter(pl.coalesce("reason", pl.lit("rewritten")) != pl.col("expected"))
    shown = wrong.select("node", "op", "dtype", "reason").rows()
    # `no-kernel` for what is next to an op, such as the AddV2 of a sum.
    bad = [row for row in shown if row[3] != "no-kernel" or row[1] in WITH_KERNEL]
    assert not bad, (
        f"nodes whose reason is not the first part of their name: {bad}. Change a rule of "
        "grammars/reasons.toml, the op's row in onednn/ops.toml, or the name (tests/reasons)"
    )
    rewritten = nodes.filter(expected="rewritten")
    assert (rewritten["rewrite"] != "none").all()
    assert nodes.filter(pl.col("expected") != "rewritten")["rewrite"].eq("none").all()


@pytest.mark.parametrize("release", RELEASES)
def test_each_reason_is_provoked(release: str) -> None:
    seen = set()
    for program in ("refused", "onednn_off", "device", "xla"):
        nodes = recorded(program, release).nodes
        seen |= set(nodes["reason"].drop_nulls())
        assert UNKNOWN not in seen, program
    own = {rule.reason for rule in RULES if rule.by in {ANYBODY, BY_ONEDNN}}
    assert seen == own - ({"spmm-off"} if release == "2.13.1" else set())


@pytest.mark.parametrize("release", RELEASES)
def test_each_type_of_op_that_can_be_provoked_is(release: str) -> None:
    """Every op with a kernel is seen, but fused and quantized ones that need a converted model."""
    nodes = recorded("refused", release).nodes
    missing = set(WITH_KERNEL) - set(nodes["op"])
    missing = {op for op in missing if not op.startswith(("Quantized", "_"))} - {
        "AvgPool3DGrad",
        "BatchMatMul",
        "ConjugateTranspose",
        "Conv3D",
        "Conv3DBackpropFilterV2",
        "Conv3DBackpropInputV2",
        "FusedBatchNorm",
        "FusedBatchNormGrad",
        "FusedBatchNormGradV2",
        "FusedBatchNormV2",
    }
    assert not missing, "run these in tests/reasons/refused.py, or exempt them here"


@pytest.mark.parametrize("release", RELEASES)
def test_what_xla_compiles_is_said_to_be(release: str) -> None:
    nodes = recorded("xla", release).nodes
    runs = nodes.filter(op="_XlaRun")
    assert runs.height
    assert set(runs["reason"]) == {"xla"}
    assert runs["eligible"].null_count() == runs.height
    compiled = nodes.filter(pl.col("op").is_in(WITH_KERNEL))
    assert set(compiled["reason"]) <= {"xla"}
    nodes = recorded("refused", release).nodes
    assert "xla" in set(nodes.filter(op="PartitionedCall")["reason"])
    whole = nodes.filter(pl.col("function") == "compiled", pl.col("op") == "MatMul")
    assert whole["reason"].to_list() == ["xla"]


@pytest.mark.parametrize("release", RELEASES)
def test_the_log_proves_the_reason(release: str) -> None:
    """Lines of the pass where it says something; else the node's own."""
    proofs = {
        "onednn-off": ("onednn_off", b"MKL is not enabled"),
        "device": ("device", b"User has assigned a device that is not CPU"),
        "no-workspace": ("refused", b"}} = _Arg["),
        "xla": ("refused", b"}} = "),
        "5d": ("refused", b"NDHWC"),
        "explicit-padding": ("refused", b'padding="EXPLICIT"'),
    }
    for reason, (program, words) in proofs.items():
        run = recorded(program, release)
        rows = [row for row, name in enumerate(run.stages.reasons.names) if name == reason]
        assert rows, reason
        lines = raw(program, release).split(b"\n")
        for row in rows:
            assert words in lines[int(run.stages.reasons.proof[row]) // PLACES], (reason, row)


def raw(program: str, release: str) -> bytes:
    source = tflogscope.sources.source.Source(str(LOGS / f"{program}__tf{release}.log.zst"))
    return b"".join(bytes(block.text) for block in source.blocks())


def test_eager_ops_have_reasons_too() -> None:
    """The twins of the sample log `eager_basics`: MatMul is dispatched as its oneDNN kernel."""
    kernels = run_of("eager_basics__tf2.13.1__vlog2").stages.eager_kernels
    found = {
        op: RULES[rule].reason for op, rule in kernels.select("op", "rule").rows() if rule >= 0
    }
    assert found["Relu"] == "no-kernel"
    assert "MatMul" not in found
    assert set(kernels.filter(pl.col("kernel").str.starts_with("_Mkl"))["rule"]) <= {-1}


# ---- sample logs ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_reasons_of_the_sample_logs(name: str) -> None:
    nodes = run_of(name).nodes
    rewritten = nodes.filter(pl.col("rewrite") != "none")
    assert rewritten["eligible"].all()
    assert rewritten["reason"].null_count() == rewritten.height
    missed = nodes.filter(pl.col("eligible") & (pl.col("rewrite") == "none"))
    known = missed.filter(pl.col("reason") != UNKNOWN)
    unknown = missed.filter(pl.col("reason") == UNKNOWN)["op"].to_list()
    assert known.height >= 0.95 * missed.height, f"no rule of grammars/reasons.toml fits {unknown}"
    elementwise = nodes.filter(pl.col("op").is_in(["AddV2", "Mul", "Relu"]))
    assert set(elementwise["reason"]) <= {"no-kernel"}


@pytest.mark.parametrize("name", NAMES)
def test_eligible_nodes_are_counted_by_function(name: str) -> None:
    run = run_of(name)
    ran = run.nodes.filter(pl.col("executions") > 0)
    assert run.functions["eligible_nodes"].sum() <= ran["eligible"].sum()
    assert run.functions["eligible_nodes"].to_list() == [
        ran.filter("eligible", function=function, function_uid=uid).height
        for function, uid in run.functions.select("function", "function_uid").rows()
    ]
    assert (run.functions["rewritten_nodes"] <= run.functions["eligible_nodes"]).all()


# ---- documents -----------------------------------------------------------------------------------


def test_each_reason_is_described() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    sections = dict(re.findall(r"^## ([\w-]+)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL))
    assert set(sections) == REASONS | {UNKNOWN, "Ops", "Rules"}, (
        "docs/reasons.md has a section each"
    )
    for reason in REASONS:
        for part in ("How it looks", "What to do", "Where"):
            assert f"**{part}:**" in sections[reason], reason


# ---- the table -----------------------------------------------------------------------------------


def test_the_table_can_be_read() -> None:
    assert len({rule.id for rule in RULES}) == len(RULES)
    for rule in RULES:
        assert rule.ops or rule.facts
        assert rule.why.endswith(".")
        assert rule.change.endswith((".", "}")) or "=" in rule.change, rule.id
        assert re.search(r"\.(cc|h)\b", places_of(rule)), rule.id
        assert set(rule.places) <= set(rule.ops or rule.places)


def test_a_place_is_that_of_the_op_and_not_of_another() -> None:
    [dtype] = [rule for rule in RULES if rule.id == "type"]
    assert "MatMulRewrite" in dtype.where_of("MatMul")
    assert "MatMulRewrite" not in dtype.where_of("Conv2D")


@pytest.mark.parametrize("release", RELEASES)
def test_a_log_without_the_pass_says_that_onednn_is_off(release: str, tmp_path: Path) -> None:
    """Recorded with less: what TensorFlow always prints before it makes a device has no oneDNN."""
    log = tmp_path / "run.log"
    lines = raw("onednn_off", release).splitlines(keepends=True)
    log.write_bytes(b"".join(line for line in lines if b"mkl_layout_pass.cc" not in line))
    nodes = tflogscope.open_log(log).nodes
    assert set(nodes.filter(op="MatMul")["reason"]) == {"onednn-off"}


def test_what_the_log_does_not_tell_is_unknown(tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    lines = raw("onednn_off", "2.13.1").splitlines(keepends=True)
    kept = [line for line in lines if b"mkl_layout" not in line and b"cpu_feature" not in line]
    log.write_bytes(b"".join(kept))
    nodes = tflogscope.open_log(log).nodes.filter(op="MatMul")
    assert set(nodes["reason"]) == {UNKNOWN}
    assert nodes["eligible"].all()
