"""The tables of the contract that are made of executions: per op, node, function, rewrite."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from tflogscope.grammar.rewriters import BY_ID
from tflogscope.grammar.tables import as_table
from tflogscope.model.causes.causes import Causes
from tflogscope.model.executions import STATUSES, Executions, with_places
from tflogscope.model.figures import rounded, summed
from tflogscope.model.instantiations import AS_NODES, Instantiations
from tflogscope.model.links.linked import Linked
from tflogscope.model.names import (
    DTYPE,
    REMAPPER_KERNELS,
    WRAPPED,
    function_columns,
    op_of_kernel,
    rewrite_of_kernel,
    wrapped_op,
)
from tflogscope.model.python_lines import PythonLines
from tflogscope.model.reasons.reasons import Reasons

_DEAD = STATUSES.index("dead")
_HALF = 1 << 32


def ops_table(
    executions: Executions, linked: Linked, causes: Causes, lines: PythonLines
) -> pl.DataFrame:
    """The `ops` table: one row per (mode, kind, op, kernel, rewrite), by first line."""
    alive = pl.col("status") != _DEAD
    duration = pl.col("duration_us").filter(alive)
    grouped = executions.frame.group_by("signature").agg(
        executions=alive.sum(),
        dead=(~alive).sum(),
        total_us=duration.sum(),
        known=duration.count(),
        mean_us=rounded(duration.mean()),
        min_us=duration.min(),
        p50_us=duration.quantile(0.5, "nearest").cast(pl.Int64),
        p95_us=duration.quantile(0.95, "nearest").cast(pl.Int64),
        max_us=duration.max(),
        at=pl.col("at").min(),
    )
    # Strings only of what is different: a node runs thousands of times.
    kinds = _kinds(executions)
    cause = causes.by_execution(executions, kinds["row"])
    named = kinds.select("signature", cause=cause).hstack(executions.functions(kinds["row"]))
    named = named.group_by("signature").agg(
        functions=_distinct("function"), causes=_distinct("cause")
    )
    ran = linked.lines.drop_nulls("execution").with_columns(
        signature=executions.frame["signature"].gather(
            linked.lines["execution"].drop_nulls().cast(pl.UInt32)
        )
    )
    primitives = ran.group_by("signature").agg(
        primitives=pl.len().cast(pl.UInt32),
        primitive_us=summed("duration_us"),
        implementations=_distinct("implementation"),
    )
    table = (
        executions.signatures.join(grouped, on="signature")
        .join(named, on="signature")
        .join(primitives, on="signature", how="left")
        .join(_asked(executions, lines), on="signature", how="left")
        .sort("at")
    )
    placed = with_places(executions.spans, table).with_columns(
        total_us=pl.when(pl.col("known") > 0).then("total_us"),
        primitives=pl.col("primitives").fill_null(0),
        first_line="line",
    )
    return as_table("ops", placed)


def _kinds(executions: Executions) -> pl.DataFrame:
    """Rows of `Executions.frame` that stand for all of their signature, function and cause."""
    alike = executions.steps.select(pl.struct("name", "cause").rank("dense")).to_series()
    rows = executions.frame.lazy().select("signature", "step_row", "dispatch").with_row_index("row")
    in_graphs = rows.filter(pl.col("dispatch").is_null()).select(
        "row", "signature", key=_pair(pl.col("signature"), pl.lit(alike).gather("step_row"))
    )
    eager = rows.filter(pl.col("dispatch").is_not_null()).select("row", "signature")
    return pl.concat([eager, in_graphs.unique("key").drop("key")]).collect(engine="in-memory")


def _pair(one: pl.Expr, two: pl.Expr) -> pl.Expr:
    """One number of two: polars finds equal rows by one column in far less memory."""
    return one.cast(pl.Int64) * _HALF + two


def _asked(executions: Executions, lines: PythonLines) -> pl.DataFrame:
    """The line that most of a signature's executions come from: python, python_executions."""
    alive = executions.frame.select("signature", "status", stack=lines.of_executions)
    counted = alive.drop_nulls("stack").filter(pl.col("status") != _DEAD)
    stacks = counted.group_by("signature", "stack").agg(python_executions=pl.len())
    named = stacks.with_columns(python=lines.named(stacks["stack"]))
    total = named.group_by("signature", "python").agg(
        pl.col("python_executions").sum().cast(pl.UInt32)
    )
    total = total.sort("python_executions", "python", descending=[True, False])
    return total.unique("signature", keep="first", maintain_order=True)


def _distinct(column: str) -> pl.Expr:
    """Distinct values in a group, sorted and `;`-joined; null if there are none."""
    joined = pl.col(column).drop_nulls().unique().sort().str.join(";")
    return pl.when(pl.col(column).count() > 0).then(joined)


def graph_nodes(executions: Executions, instantiations: Instantiations) -> pl.DataFrame:
    """One row per (name of the function, node) that ran or was made ready, in the log's order.

    `at` is the first line that shows it, `ran_at` the first that runs it.
    """
    ran = _nodes_run(executions).with_columns(ran_at="at")
    made = instantiations.kernels.filter(~pl.col("function").str.contains(WRAPPED)).select(
        *AS_NODES,
        executions=pl.lit(0, pl.UInt32),
        total_us=pl.lit(None, pl.Int64),
        ran_at=pl.lit(None, pl.Int64),
    )
    both = pl.concat([ran, made.select(ran.columns)]).sort("at", maintain_order=True)
    table = both.group_by("name", "node", maintain_order=True).agg(
        pl.col("kernel", "attributes", "inputs").drop_nulls().first(),
        pl.col("executions").sum(),
        total_us=pl.when(pl.col("total_us").count() > 0).then(pl.col("total_us").sum()),
        at=pl.col("at").min(),
        ran_at=pl.col("ran_at").min(),
    )
    table = table.with_columns(
        rewrite=rewrite_of_kernel(pl.col("kernel")),
        op=op_of_kernel(pl.col("kernel")),
        dtype=pl.col("attributes").str.extract(DTYPE, 1),
    )
    return table.sort("at", maintain_order=True)


def nodes_table(
    executions: Executions, nodes: pl.DataFrame, reasons: Reasons, lines: PythonLines
) -> pl.DataFrame:
    """The `nodes` table, of `graph_nodes` and their reasons."""
    table = nodes.with_columns(
        eligible=reasons.eligible,
        reason=reasons.names,
        python=lines.named(lines.of_nodes(nodes["name"], nodes["node"])),
        **function_columns(pl.col("name")),
    )
    return as_table("nodes", with_places(executions.spans, table))


def _nodes_run(executions: Executions) -> pl.DataFrame:
    """Distinct (function, definition) of graph runs, with executions and total_us."""
    folding = (pl.col("cause") == "constant-folding").fill_null(False)
    number = pl.col("name").rank("dense").cast(pl.Int64).fill_null(0)
    steps = executions.steps.select("name", number=number, kept=pl.when(~folding).then(number))
    frame = executions.frame.select(
        "at",
        "duration_us",
        "status",
        # Rows of dispatches have no step, and so a null.
        key=_pair(pl.lit(steps["kept"]).gather("step_row"), pl.col("definition")),
    )
    alive = pl.col("status") != _DEAD
    grouped = (
        frame.group_by("key")
        .agg(
            executions=alive.sum().cast(pl.UInt32),
            known=pl.col("duration_us").filter(alive).count(),
            total_us=pl.col("duration_us").filter(alive).sum(),
            at=pl.col("at").min(),
        )
        .drop_nulls("key")
        .with_columns(
            number=pl.col("key") // _HALF, definition=(pl.col("key") % _HALF).cast(pl.UInt32)
        )
    )
    names = steps.select("number", "name").unique("number")
    definitions = executions.runs.definitions.select(
        "node",
        "kernel",
        "attributes",
        "inputs",
        definition=pl.int_range(pl.len(), dtype=pl.UInt32),
    )
    return (
        grouped.join(names, on="number", how="left")
        .join(definitions, on="definition", how="left")
        .select(
            "at",
            "node",
            "attributes",
            "inputs",
            "name",
            "kernel",
            "executions",
            total_us=pl.when(pl.col("known") > 0).then("total_us"),
        )
    )


def functions_table(
    executions: Executions,
    instantiations: Instantiations,
    nodes: pl.DataFrame,
    same: Callable[[pl.Series], pl.DataFrame],
    lines: PythonLines,
) -> pl.DataFrame:
    """The `functions` table: one row per graph function that was made ready, called or run.

    `same` says which traces are of one Python function, see `python_functions`.
    """
    spans = instantiations.spans.filter(~pl.col("function").str.contains(WRAPPED))
    calls = executions.eager.drop_nulls("call").join(
        executions.dispatches.calls.select("dispatch", "name"), on="dispatch"
    )
    seen = pl.concat(
        [
            spans.select("at", name="function"),
            calls.select("at", "name"),
            executions.steps.select("at", "name").drop_nulls(),
        ]
    )
    first = seen.group_by("name").agg(pl.col("at").min())
    made = spans.group_by("function").agg(
        made_at=pl.col("at").min(),
        instantiation_us=(pl.col("end_time") - pl.col("time")).sum(),
        complete=pl.col("end_time").is_not_null().all(),
    )
    called = calls.group_by("name").agg(
        calls=pl.len(),
        known=pl.col("duration_us").count(),
        total_us=pl.col("duration_us").sum(),
        mean_us=rounded(pl.col("duration_us").mean()),
    )
    ran = pl.col("executions") > 0
    counted = nodes.group_by("function", "function_uid").agg(
        nodes=ran.sum(),
        eligible_nodes=(pl.col("eligible") & ran).sum(),
        rewritten_nodes=((pl.col("rewrite") != "none") & ran).sum(),
    )
    table = (
        first.join(made, left_on="name", right_on="function", how="left")
        .join(called, on="name", how="left")
        .with_columns(**function_columns(pl.col("name")))
        .join(counted, on=["function", "function_uid"], how="left", nulls_equal=True)
        .sort("at")
    )
    traces = same(table["name"]).select("name", "traces")
    table = table.join(traces, on="name", how="left", maintain_order="left")
    table = table.with_columns(python=lines.named(lines.of_functions(table["name"])))
    made_line = with_places(executions.spans, table.select(at=pl.col("made_at").fill_null(0)))
    placed = with_places(executions.spans, table).with_columns(
        pl.col("calls", "nodes", "eligible_nodes", "rewritten_nodes").fill_null(0),
        instantiated_line=pl.when(pl.col("made_at").is_not_null()).then(made_line["line"]),
        instantiation_us=pl.when("complete").then("instantiation_us"),
        total_us=pl.when(pl.col("known") > 0).then("total_us"),
        first_line="line",
    )
    return as_table("functions", placed)


def rewrites_table(
    executions: Executions, instantiations: Instantiations, nodes: pl.DataFrame
) -> pl.DataFrame:
    """The `rewrites` table: every rewrite to a kernel of oneDNN, or of a plug-in, in the log.

    `nodes` is a frame of `graph_nodes`.
    """
    rows = [
        _by_layout_pass(executions, instantiations),
        _by_registry(executions),
        _by_remapper(nodes),
        _by_plugins(instantiations.plugin_rewrites, nodes),
    ]
    table = pl.concat(rows).sort("at", maintain_order=True)
    names = function_columns(pl.col("name"))
    placed = with_places(executions.spans, table).with_columns(
        function=pl.when(pl.col("wrapped_op").is_null()).then(names["function"]),
        function_uid=names["function_uid"],
    )
    return as_table("rewrites", placed)


def _by_layout_pass(executions: Executions, instantiations: Instantiations) -> pl.DataFrame:
    runs = executions.dispatches.runs
    # A wrapped op is instantiated once per dtype and device, each with a handle of its own.
    handles = instantiations.components.select("handle", "span", made="at").sort("made")
    spans_run = runs.sort("at").join_asof(
        handles, left_on="at", right_on="made", by="handle", check_sortedness=False
    )["span"]
    functions_run = pl.concat([runs["function"], executions.steps["name"]]).unique()
    wrapped = pl.col("function").str.contains(WRAPPED)
    return instantiations.rewrites.select(
        "at",
        "node",
        "from_op",
        "to_op",
        name="function",
        wrapped_op=wrapped_op(pl.col("function")),
        by=pl.when(wrapped).then(pl.lit("wrapped")).otherwise(pl.lit("layout")),
        ran=pl.when(wrapped)
        .then(pl.col("span").is_in(spans_run.implode()))
        .otherwise(pl.col("function").is_in(functions_run.implode())),
    ).select(*_REWRITE_COLUMNS)


def _by_registry(executions: Executions) -> pl.DataFrame:
    return (
        executions.dispatches.eager.filter(pl.col("rewrite").is_in(["eager", *BY_ID]))
        .select(
            "at",
            node=pl.lit(None, pl.String),
            from_op="op",
            to_op="kernel",
            name=pl.lit(None, pl.String),
            wrapped_op=pl.lit(None, pl.String),
            by="rewrite",
            ran=pl.lit(True),
        )
        .select(*_REWRITE_COLUMNS)
    )


def _by_remapper(nodes: pl.DataFrame) -> pl.DataFrame:
    """Fusions into `_Mkl*` ops print no line; the kernel made for the node shows them."""
    return (
        nodes.filter(pl.col("kernel").is_in(REMAPPER_KERNELS))
        .select(
            "at",
            "node",
            "name",
            from_op=pl.lit(None, pl.String),
            to_op="kernel",
            wrapped_op=pl.lit(None, pl.String),
            by=pl.lit("remapper"),
            ran=pl.col("ran_at").is_not_null(),
        )
        .select(*_REWRITE_COLUMNS)
    )


def _by_plugins(said: pl.DataFrame, nodes: pl.DataFrame) -> pl.DataFrame:
    """Nodes that have a kernel of a plug-in, at the line that says so, and what was said in vain.

    Not every decision has a line; then the kernel made for the node shows it.
    """
    key = ["name", "node"]
    said = said.rename({"function": "name"}).unique(key, keep="last", maintain_order=True)
    ran = nodes.filter(pl.col("rewrite").is_in(list(BY_ID)))
    shown = ran.join(
        said.select(*key, said_at="at"), on=key, how="left", maintain_order="left", nulls_equal=True
    ).select(
        *key,
        at=pl.coalesce("said_at", "at"),
        from_op="op",
        to_op="kernel",
        by="rewrite",
        ran=pl.col("ran_at").is_not_null(),
    )
    vain = said.join(ran, on=key, how="anti", nulls_equal=True).drop_nulls("to_op")
    vain = vain.select(*key, "at", "from_op", "to_op", "by", ran=pl.lit(value=False))
    both = pl.concat([shown.select(vain.columns), vain])
    return both.with_columns(wrapped_op=pl.lit(None, pl.String)).select(*_REWRITE_COLUMNS)


_REWRITE_COLUMNS = ("at", "node", "from_op", "to_op", "name", "wrapped_op", "by", "ran")
