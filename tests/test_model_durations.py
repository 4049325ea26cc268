"""Sums and means of durations have no more digits than the log does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl
import pytest

from tests.conftest import Open
from tests.makelog import Log, Node
from tests.samples import run_of
from tflogscope.views.analyze import summary_json

NAMES = (
    "attention__tf2.16.2__vlog2",
    "keras_fit_mlp__tf2.13.1__vlog2",
    "torch_mlp__torch2.13.0__vlog2",
)
STEP = -7
MATMUL = Node(5, "MatMul", "_MklMatMul", "x", "y")


def test_what_ended_at_the_time_of_its_start_took_no_time(opened: Open) -> None:
    log = Log()
    log.start(MATMUL, STEP)
    log.wait(-10)  # the clock of a record ticks in µs
    log.done(MATMUL, STEP)
    assert opened(log).timeline["duration_us"].to_list() == [0]


def gemm(milliseconds: str) -> str:
    return (
        "onednn_verbose,v1,primitive,exec,cpu,gemm_api,,undef,src_f32::blocked:ab:f0 "
        f"wei_f32::blocked:ab:f0 dst_f32::blocked:ab:f0,,,4x8:8x6,{milliseconds}"
    )


def floats(value: Any, path: str = "") -> Iterator[tuple[str, float]]:
    """Each number with a fraction in a tree of facts, with its path."""
    if isinstance(value, float):
        yield path, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from floats(item, f"{path}/{key}")
    elif isinstance(value, list):
        for item in value:
            yield from floats(item, path)


@pytest.mark.parametrize("name", NAMES)
def test_sums_and_means_end_with_the_nanosecond(name: str) -> None:
    run = run_of(name)
    for table in (run.timeline, run.ops, run.functions):
        for column in table.select(pl.selectors.float()):
            assert column.to_list() == [
                None if value is None else round(value, 3) for value in column
            ], column.name
    for path, value in floats(summary_json(run)):
        assert value == round(value, 3) or path.endswith("/share"), path


def test_a_sum_of_tenths_is_one(opened: Open) -> None:
    log = Log()
    log.start(MATMUL, STEP)
    for _ in range(3):
        log.raw(gemm("0.0001"))
    log.done(MATMUL, STEP)
    run = opened(log)
    assert run.ops["primitive_us"].to_list() == [0.3]  # 0.1 + 0.1 + 0.1 is 0.30000000000000004
    assert run.timeline["primitive_us"].to_list() == [0.3]


def test_a_mean_has_three_decimals(opened: Open) -> None:
    log = Log()
    for wait in (0, 0, 7):
        log.start(MATMUL, STEP)
        log.wait(wait)
        log.done(MATMUL, STEP)
    assert opened(log).ops["mean_us"].to_list() == [12.333]


def test_an_implementation_without_a_name_has_none_anywhere(opened: Open) -> None:
    log = Log()
    log.start(MATMUL, STEP)
    log.raw(gemm("0.5"))
    log.done(MATMUL, STEP)
    run = opened(log)
    assert run.primitives["implementation"].to_list() == [None]
    assert run.ops["implementations"].to_list() == [None]
    onednn = run.summary.onednn
    assert onednn
    assert onednn.implementations.rows() == [("gemm_api", None, 1, 500.0)]


@pytest.mark.thorough
@pytest.mark.parametrize("mode", ["eager", "graph"])
def test_the_time_of_an_op_that_no_record_says_is_not_0(mode: str) -> None:
    """This log has no ends."""
    ops = run_of("cnn_fit__tf2.13.1__vlog0__vmodule").summary.ops
    assert (ops[f"{mode}_runs"] > 0).any()
    assert ops[f"{mode}_us"].null_count() == ops.height
