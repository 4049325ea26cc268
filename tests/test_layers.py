"""Time by layer against the table of nodes, and the strip of steps."""

from __future__ import annotations

import re

import polars as pl
import pytest

from tests.samples import page_of, run_of
from tflogscope.model.overview.layers import layer_times
from tflogscope.views.layers import step_strip

KERAS = "keras_fit_mlp__tf2.13.1__vlog2"


def test_layers_are_those_of_the_model_and_have_the_time_of_their_nodes() -> None:
    run = run_of(KERAS)
    table = layer_times(run)
    # The program: Sequential([Dense, Dropout, Dense]), with Adam.
    layers = table.filter(pl.col("layer").str.starts_with("sequential/"))["layer"].to_list()
    assert sorted(layers) == ["sequential/dense", "sequential/dense_1", "sequential/dropout"]
    assert "Adam" in table["layer"].to_list()
    nodes = run.nodes.filter(pl.col("executions") > 0)
    for layer in layers:
        row = table.row(by_predicate=pl.col("layer") == layer, named=True)
        of_it = nodes.filter(pl.col("node").str.contains(f"(^|/){layer}/"))
        gradient = pl.col("node").str.starts_with("gradient_tape/")
        assert row["nodes"] == of_it.height
        assert row["us"] == pytest.approx(of_it["steady_us"].sum())
        assert row["gradient"] == pytest.approx(of_it.filter(gradient)["steady_us"].sum())
        assert row["forward"] == pytest.approx(row["us"] - row["gradient"])
    assert table["share"].sum() == pytest.approx(1)


@pytest.mark.parametrize(
    "name",
    [
        "function_mlp__tf2.13.1__vlog2",  # scopes are those of ops: MatMul_1, add
        "attention__tf2.16.2__vlog2",  # Gelu/Exp: of a function of TensorFlow
        "eager_basics__tf2.13.1__vlog2",  # no graph
        "torch_mlp__torch2.13.0__vlog2",  # no TensorFlow
    ],
)
def test_without_a_model_there_are_no_layers(name: str) -> None:
    assert layer_times(run_of(name)).is_empty()


def test_each_later_step_has_a_bar() -> None:
    run = run_of(KERAS)
    calls = run.timeline.filter(kind="call", function="train_function")["steady_us"][1:]
    strip = step_strip(run)
    assert strip is not None
    assert strip.count("<rect") == calls.len()
    heights = [float(found) for found in re.findall(r' height="([\d.]+)"', strip)[:-1]]
    longest, bars = calls.arg_max(), heights[: calls.len()]
    assert bars.index(max(bars)) == longest
    assert f"{calls.len()} later calls of train_function in order" in strip
    assert strip in page_of(KERAS)
    assert step_strip(run_of("eager_basics__tf2.13.1__vlog2")) is None
