"""Logs of oneDNN alone, as PyTorch, OpenVINO and others write them: an answer of their own."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import tflogscope
from tests.command import run_command
from tests.samples import path_of, run_of
from tflogscope.errors import UsageError
from tflogscope.model.overview.onednn_ops import explain_primitive

MATMUL = (
    "onednn_verbose,v1,primitive,exec,cpu,matmul,{},undef,src:bf16::blocked:ab::f0 "
    "wei:bf16::blocked:{}::f0 dst:bf16::blocked:ab::f0,attr-scratchpad:user,,{},{}"
)


def _words(printed: bytes) -> str:
    """What was printed, on one line."""
    return " ".join(printed.decode().split())


def test_partitions_hold_the_time_of_their_primitives() -> None:
    onednn = run_of("onednn_partitions").summary.onednn
    assert onednn is not None
    said = onednn.verbose
    assert said.partitions["count"].sum() == 6
    assert said.partitions["us"].sum() == pytest.approx(54370.591)
    assert (said.inside, said.primitive_us) == (8, 176.025)


def test_calls_of_onemkl_are_apart_and_grouped_by_problem() -> None:
    run = run_of("onednn_mkl")
    calls = run.primitives.filter(event="mkl_verbose")
    assert (calls.height, round(calls["duration_us"].sum(), 2)) == (21, 5470.43)
    assert not calls["problem"].str.contains("0x").any()
    assert calls["problem"].n_unique() < calls.height
    assert run.summary.onednn is not None
    assert run.summary.onednn.verbose.calls["primitive"].to_list() == ["SGEMM", "GEMM_BF16BF16F32"]


def test_ops_are_primitives() -> None:
    ended = run_command("ops", str(path_of("onednn_reorders")), "--format", "jsonl")
    rows = pl.read_ndjson(ended.stdout)
    assert rows.select("kind", "op", "executions").rows() == [
        ("primitive", "inner_product", 9),
        ("primitive", "reorder", 3),
    ]
    assert rows["primitive_us"].sum() == pytest.approx(155706.565)


def test_a_primitive_is_explained_by_its_problems() -> None:
    facts = run_of("onednn_shapes").explain(primitive="deconvolution")
    assert (facts["runs"], facts["created"], len(facts["problems"])) == (6, 6, 6)
    assert facts["problems"][0]["created_us"] == 166500.0
    with pytest.raises(UsageError, match="no such primitive in this log"):
        run_of("onednn_shapes").explain(primitive="conv")
    ended = run_command("explain", str(path_of("onednn_refused")), "--primitive", "matmul")
    assert "unsupported scales configuration" in _words(ended.stdout)


def test_equal_problems_are_compared_whatever_ran_them(tmp_path: Path) -> None:
    for name, impl, tag, times in (
        ("a", "brg_matmul:avx512_core_bf16", "BA16a64b2a", (0.6, 0.2)),
        ("b", "zen:matmul:any", "ab", (0.2, 0.1)),
    ):
        shapes = zip(("1x4:4x5", "1x4:4x4"), times, strict=True)
        lines = [MATMUL.format(impl, tag, *each) for each in shapes]
        (tmp_path / f"{name}.log").write_text("\n".join(lines) + "\n")
    ended = run_command("diff", str(tmp_path / "a.log"), str(tmp_path / "b.log"))
    said = _words(ended.stdout)
    assert "2 primitives in 300 µs (was 800 µs, 2.7 times as fast)" in said
    assert "2 of 2 problems in common" in said
    assert "matmul brg_matmul:avx512_core_bf16 → zen:matmul:any" in said


def test_what_is_tried_first_is_no_reference_code(tmp_path: Path) -> None:
    line = "onednn_verbose,v1,primitive,exec,cpu,{},simple:any,undef,src:f32::blocked:ab::f0 "
    line += "dst:f32::blocked:ab::f0,,{},2x3,0.5\n"
    log = tmp_path / "run.log"
    log.write_text(line.format("concat", "axis:1") + line.format("reorder", ""))
    said = _words(run_command("analyze", str(log)).stdout)
    assert "reorder simple:any (1 run" in said
    assert "concat simple:any 1 run" not in said


# MindSpore 2.10.0 (oneDNN 3.10.1), ONEDNN_VERBOSE=profile,dispatch: this convolution runs reorders.
CONVOLUTION = (
    "forward_training,src:f32::blocked:{0}::f0 wei:f32::blocked:abcd::f0 bia:undef::undef::: "
    "dst:f32::blocked:{0}::f0,,alg:convolution_direct,"
    "mb2_ic3oc8_ih16oh14kh3sh1dh0ph0_iw16ow14kw3sw1dw0pw0,{1}"
)
TRIED = "onednn_verbose,v1,primitive,create:dispatch,convolution,cpu,convolution,brdgmm_dw:undef,"
WHY = (
    "unsupported feature for implementation: non-grouped convolution in depthwise convolution "
    "implementation,src/cpu/x64/jit_brdgmm_dw_conv.cpp:181"
)
ASKED = TRIED + CONVOLUTION.format("abcd", WHY)
INSIDE = (
    "onednn_verbose,v1,primitive,create:dispatch,reorder,cpu,reorder,jit_direct_copy:uni,undef,"
    "src:f32::blocked:abcd::f0 dst:f32::blocked:acdb::f0,,,2x3x16x16,memory formats for src and "
    "dst tensors do not match,src/cpu/x64/jit_uni_reorder_direct_copy.cpp:314"
)
CREATED = (
    "onednn_verbose,v1,primitive,create:cache_miss,cpu,convolution,jit_uni_ncsp:conv+ref:any,"
    + CONVOLUTION.format("abcd", "0.181885")
)


@pytest.mark.parametrize(
    ("lines", "failed"),
    [
        ([ASKED, TRIED + CONVOLUTION.format("acdb", WHY), INSIDE, CREATED], []),
        ([ASKED, INSIDE], []),  # ONEDNN_VERBOSE=dispatch: nothing says what was made
        ([CREATED, ASKED.replace("mb2", "mb3"), INSIDE], ["convolution", "reorder"]),
        ([INSIDE, CREATED], []),  # a deconvolution of PyTorch passes over none of its own
        ([INSIDE, CREATED.replace("create:cache_miss", "exec")], ["reorder"]),
        ([ASKED, CREATED, INSIDE], ["reorder"]),
    ],
    ids=["inside", "dispatch-alone", "not-created", "first", "before", "behind"],
)
def test_what_a_primitive_asks_for_has_not_failed(
    tmp_path: Path, lines: list[str], failed: list[str]
) -> None:
    log = tmp_path / "run.log"
    log.write_text("\n".join(["onednn_verbose,v1,info,oneDNN v3.10.1 (commit N/A)", *lines, ""]))
    findings = tflogscope.open_log(log).findings.filter(id="no-implementation")
    assert sorted(findings["subject"]) == failed


def test_a_hint_lists_primitives_in_order() -> None:
    with pytest.raises(UsageError) as raised:
        explain_primitive(pl.DataFrame({"primitive": ["softmax", "reorder", "matmul"]}), "?")
    assert raised.value.hint == "Available: matmul, reorder, softmax."
