"""Every table has the columns and types of the contract, in its order, whatever the log holds."""

from __future__ import annotations

import polars as pl
import pytest

from tests.conftest import Open
from tests.makelog import ADD, MATMUL, Log
from tests.samples import NAMES, run_of
from tflogscope import Run

_TEXT, _LINE, _NUMBER, _COUNT, _REAL, _YES = (
    pl.String, pl.UInt64, pl.Int64, pl.UInt32, pl.Float64, pl.Boolean,
)  # fmt: skip
_TIME = pl.Datetime("us")


def columns(names: str, dtype: pl.DataType | type[pl.DataType]) -> dict[str, object]:
    return dict.fromkeys(names.split(), dtype)


# Section 3 of the contract. Types it does not name (ops, functions, …) are those of the same
# column elsewhere: counts u32, lines u64, summed µs i64, means f64.
SCHEMA: dict[str, dict[str, object]] = {
    "timeline": columns("source", _TEXT)
    | columns("line end_line", _LINE)
    | columns("start end", _TIME)
    | columns("duration_us", _NUMBER)
    | columns("work_us steady_us", _REAL)
    | columns("thread", _LINE)
    | columns("mode kind op kernel rewrite node function", _TEXT)
    | columns("function_uid", _LINE)
    | columns("flavour", _TEXT)
    | columns("call", _COUNT)
    | columns("step", _NUMBER)
    | columns("device status", _TEXT)
    | columns("primitives", _COUNT)
    | columns("primitive_us", _REAL)
    | columns("cause python", _TEXT),
    "ops": columns("mode kind op kernel rewrite", _TEXT)
    | columns("executions dead", _COUNT)
    | columns("steady_us work_us", _REAL)
    | columns("total_us", _NUMBER)
    | columns("mean_us", _REAL)
    | columns("min_us p50_us p95_us max_us", _NUMBER)
    | columns("primitives", _COUNT)
    | columns("primitive_us", _REAL)
    | columns("implementations functions causes", _TEXT)
    | columns("first_line", _LINE)
    | columns("python", _TEXT)
    | columns("python_executions", _COUNT),
    "functions": columns("function", _TEXT)
    | columns("function_uid", _LINE)
    | columns("flavour", _TEXT)
    | columns("traces", _COUNT)
    | columns("instantiated_line", _LINE)
    | columns("instantiation_us", _NUMBER)
    | columns("calls", _COUNT)
    | columns("steady_us work_us", _REAL)
    | columns("total_us", _NUMBER)
    | columns("mean_us", _REAL)
    | columns("nodes eligible_nodes rewritten_nodes", _COUNT)
    | columns("first_line", _LINE)
    | columns("python", _TEXT),
    "nodes": columns("function", _TEXT)
    | columns("function_uid", _LINE)
    | columns("node op kernel dtype attributes inputs rewrite", _TEXT)
    | columns("eligible", _YES)
    | columns("reason", _TEXT)
    | columns("executions", _COUNT)
    | columns("steady_us work_us", _REAL)
    | columns("total_us", _NUMBER)
    | columns("line", _LINE)
    | columns("python", _TEXT),
    "rewrites": columns("source", _TEXT)
    | columns("line", _LINE)
    | columns("function", _TEXT)
    | columns("function_uid", _LINE)
    | columns("wrapped_op node from_op to_op by", _TEXT)
    | columns("ran", _YES),
    "primitives": columns("source", _TEXT)
    | columns("line", _LINE)
    | columns("time", _TIME)
    | columns("event engine primitive implementation prop_kind memory_descriptors", _TEXT)
    | columns("attributes auxiliary problem", _TEXT)
    | columns("duration_us", _REAL)
    | columns("onednn_version", _TEXT)
    | columns("timeline_line", _LINE)
    | columns("link python", _TEXT),
    "coverage": columns("source", _TEXT)
    | columns("bytes lines records recognised ignored unknown continuation", _LINE)
    | columns("blank torn bad_bytes", _LINE)
    | columns("vlog_level", pl.UInt8)
    | columns("tensorflow_dialect onednn_version", _TEXT),
    "ledger": columns("thread", _LINE)
    | columns("start end", _TIME)
    | columns("wall_us work_us", _REAL)
    | columns("phase", _TEXT)
    | columns("repeats", _YES)
    | columns("owner subject", _TEXT)
    | columns("avoidable_us", _REAL)
    | columns("mode op function", _TEXT)
    | columns("call", _COUNT)
    | columns("python", _TEXT)
    | columns("line end_line", _LINE),
    "stacks": columns("source", _TEXT)
    | columns("line", _LINE)
    | columns("id", _COUNT)
    | columns("python frames", _TEXT),
}
VALUES = {
    "mode": {"eager", "graph"},
    "kind": {"op", "call", "plumbing", "folding"},
    "rewrite": {"none", "layout", "eager", "wrapped", "remapper"},
    "by": {"layout", "eager", "wrapped", "remapper"},
    "flavour": {"inference", "forward", "backward", "dataset", "other"},
    "status": {"done", "dead", "failed", "unfinished", "unknown"},
    "link": {"certain", "inferred", "ambiguous", "none"},
    "cause": {
        "constant", "variable-init", "optimizer-slots", "metrics", "read-variable",
        "lifted-initializer", "dataset", "py-function", "run-eagerly",
        "gradient-tape", "control-flow", "outside-function", "unknown", "dataset-function",
        "constant-folding", "session",
    },
    "reason": {
        "onednn-off", "no-kernel", "not-supported-op", "dtype", "device", "transpose-a",
        "explicit-padding", "pool-window", "no-workspace", "fused-ops", "5d", "xla", "unknown",
    },
}  # fmt: skip


def check_tables(run: Run) -> None:
    """All tables of a run: columns, types, values of a fixed set, order."""
    order = run.coverage["source"].to_list()
    for name, schema in SCHEMA.items():
        table: pl.DataFrame = getattr(run, name)
        assert dict(table.schema) == schema, name
        assert table.columns == list(schema), name
        for column, values in VALUES.items():
            if column in table.columns:
                assert set(table[column].drop_nulls().unique()) <= values, (name, column)
        if "source" in table.columns:
            place = pl.col("source").replace_strict(order, range(len(order)), return_dtype=pl.Int64)
            places = table.select(place, table.columns[1]) if name != "coverage" else table
            if name != "coverage":
                keys = places.select(pl.struct(pl.all())).to_series()
                assert keys.is_sorted(), name
        elif name == "ops":
            assert table["steady_us"].is_sorted(descending=True, nulls_last=True), name
            for work in table["steady_us"], table["work_us"]:
                assert (work >= 0).all(), name
                assert (work <= table["total_us"]).all(), name
        elif "first_line" in table.columns and len(order) == 1:
            assert table["first_line"].is_sorted(), name
        elif name == "nodes" and len(order) == 1:
            assert table["line"].is_sorted(), name


@pytest.mark.parametrize("name", NAMES)
def test_tables_of_real_logs(name: str) -> None:
    check_tables(run_of(name))


@pytest.mark.thorough
def test_tables_of_logs_that_hold_little(opened: Open) -> None:
    log = Log()
    log.executing("Mul")
    check_tables(opened(log))
    log = Log()
    log.start(MATMUL, -1)
    check_tables(opened(log))
    check_tables(opened("onednn_verbose,info,oneDNN v2.7.3 (commit N/A)\n"))


def test_tables_of_several_sources(opened: Open) -> None:
    log = Log()
    log.first_call("__inference_f_7", 6, -5, MATMUL, ADD)
    log.eager_op("_MklMatMul", 4)
    check_tables(opened(log, "text\n", log, log))


@pytest.mark.parametrize("name", NAMES)
def test_sums_agree_between_tables(name: str) -> None:
    run = run_of(name)
    keys = ["mode", "kind", "op", "kernel", "rewrite"]
    alive = pl.col("status") != "dead"
    counted = run.timeline.group_by(keys).agg(
        executions=alive.sum(),
        dead=(~alive).sum(),
        total_us=pl.col("duration_us").filter(alive).sum(),
        max_us=pl.col("duration_us").filter(alive).max(),
        first_line=pl.col("line").min(),
    )
    ops = run.ops.with_columns(pl.col("total_us").fill_null(0))
    joined = ops.join(counted, on=keys, how="full", nulls_equal=True)
    for column in ("executions", "dead", "total_us", "max_us", "first_line"):
        assert joined[column].equals(joined[f"{column}_right"].cast(joined[column].dtype)), column
    calls = run.timeline.filter(pl.col("kind") == "call").height
    assert run.functions["calls"].sum() == calls
    graph = run.timeline.filter((pl.col("mode") == "graph") & (pl.col("kind") != "folding") & alive)
    assert run.nodes["executions"].sum() == graph.height
    assert (
        run.rewrites.filter(pl.col("by") == "eager").height
        == run.timeline.filter(pl.col("rewrite") == "eager").height
    )


@pytest.mark.parametrize("name", NAMES)
def test_values_that_exclude_each_other(name: str) -> None:
    rows = run_of(name).timeline
    eager, graph = rows.filter(mode="eager"), rows.filter(mode="graph")
    assert eager["node"].null_count() == eager.height
    assert eager["step"].null_count() == eager.height
    assert graph["node"].null_count() == 0
    assert graph["step"].null_count() == 0
    assert rows.filter(pl.col("kind") == "call")["call"].to_list() == list(
        range(rows.filter(pl.col("kind") == "call").height)
    )
    assert rows.filter(pl.col("call").is_not_null() & (pl.col("kind") == "folding")).is_empty()
    same = pl.col("op") == pl.col("kernel")
    assert rows.filter((pl.col("rewrite") == "none") & ~same).is_empty()
    rewritten = rows.filter(pl.col("rewrite").is_in(["layout", "eager", "wrapped"]))
    assert rewritten["kernel"].str.starts_with("_Mkl").all()
    assert rewritten.filter(same).is_empty()
    assert rows.filter(pl.col("duration_us") < 0).is_empty()
    assert rows.filter((pl.col("status") == "unknown") & pl.col("end").is_not_null()).is_empty()
    assert rows.filter((pl.col("status") == "done") & pl.col("end_line").is_null()).is_empty()
    assert graph.filter((pl.col("step") == -1) != (pl.col("kind") == "folding")).is_empty()
