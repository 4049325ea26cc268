"""A polars frame as a table: of long frames the first rows, and what is left out in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import polars as pl

from tflogscope.model.common.figures import ranked_by
from tflogscope.views.document import Column, Kind, Node, Paragraph, Row, Table, Tone, mode_tone

DEFAULT_LIMIT = 500  # rows: more than anyone reads, and quick to draw
_NAME_KEEPS = 20  # cells: of a path or a long op type less says nothing

_TIMES = {"primitive_us": "primitive time"}  # apart from their number, `primitives`
# Numbers that are looked up, not read as amounts: no thousands separators.
_LABELS = frozenset(
    {"call", "end_line", "first_line", "function_uid", "instantiated_line", "line", "step"}
    | {"thread", "timeline_line", "vlog_level"}
)


def frame_document(frame: pl.DataFrame, limit: int = DEFAULT_LIMIT) -> Sequence[Node]:
    """The first rows of a frame, without columns that hold nothing.

    Columns named `…_us` hold µs and are shown as durations, under a name without the `_us`.

    Args:
        frame: the rows to show.
        limit: rows to show at most; what is cut is said below.
    """
    head = frame.head(limit)
    filled = [name for name in frame.columns if head[name].count()] or frame.columns
    cells = head.select(filled).with_columns(_texts(head.select(filled))).to_dicts()
    columns = [_column(frame[name], "rewrite" in frame.columns) for name in filled]
    nodes: list[Node] = [Table(columns, cells, more="-o FILE writes all (times as NAME_us)")]
    where = ""
    if frame.height > limit:
        nodes.append(Paragraph(f"{frame.height - limit:,} more rows not shown; -o FILE writes all"))
        where = " in these rows"
    if "steady_us" in filled:
        text = (
            "steady: time without logging overhead, and without extra time in first runs and "
            "outliers; work: including that extra time. Other times are as logged."
        )
        nodes.append(Paragraph(text))
    if empty := [name for name in frame.columns if name not in filled]:
        nodes.append(Paragraph(f"omitted, because empty{where}: {', '.join(empty)}"))
    return nodes


def sorted_by(frame: pl.DataFrame, column: str) -> pl.DataFrame:
    """The rows by a column: amounts from the largest, names, times and lines up; nulls last."""
    falls = frame[column].dtype.is_numeric() and column not in _LABELS
    return frame.sort(column, descending=falls, nulls_last=True, maintain_order=True)


def ops_on_screen(ops: pl.DataFrame) -> pl.DataFrame:
    """Ops with `share`, that of all their work or else time, and `cumulative`, the sum so far.

    Calls are left out of it: their nodes have rows of their own. A kernel is named where it is not
    its op, and a kind, a rewrite, or branches that were not taken, where the rows differ in it.
    """
    time = pl.when(pl.col("kind") != "call").then(ranked_by(ops))
    share = pl.when(time.sum() > 0).then(time / time.sum())
    shares = {"share": share, "cumulative": share.cum_sum()}
    ops = ops.with_columns(
        *(pl.format("{}%", (100 * part).round(1)).alias(name) for name, part in shares.items()),
        kernel=pl.when(pl.col("kernel") != pl.col("op")).then("kernel"),
    )
    idle = {
        "kind": ops["kind"].n_unique() < 2,
        "dead": not ops["dead"].sum(),
        "kernel": not ops["kernel"].count(),
        "rewrite": set(ops["rewrite"]) <= {"none"},
    }
    return ops.drop(name for name, is_idle in idle.items() if is_idle)


def _texts(frame: pl.DataFrame) -> Iterator[pl.Expr]:
    """What a table doesn't show as it is: truth values and lists."""
    for name, kind in frame.schema.items():
        if kind == pl.Boolean:
            yes_or_no = {True: "yes", False: "no"}
            yield pl.col(name).replace_strict(yes_or_no, return_dtype=pl.String)
        elif kind == pl.List:
            yield pl.col(name).cast(pl.List(pl.String)).list.join("; ")


def _column(values: pl.Series, has_rewrites: bool) -> Column:
    name, type_ = values.name, values.dtype
    # Names may lose their middle; numbers, times and the name of a run may not.
    cut = name != "run" and not type_.is_numeric() and not type_.is_temporal()
    kind: Kind = "share" if name in ("share", "cumulative") else "text"
    if type_.is_numeric() and name.endswith("_us"):
        kind = "us"
    elif type_.is_numeric():
        kind = "label" if name in _LABELS else "number" if type_.is_float() else "count"
    tone: Tone | Callable[[Row], Tone] = ""
    if name == "mode":
        tone = mode_tone
    elif name == "kernel" and has_rewrites:
        tone = _kernel
    title = _TIMES.get(name, name.removesuffix("_us")) if kind == "us" else name
    return Column(name, title, kind, tone=tone, least=_NAME_KEEPS if cut else None)


def _kernel(row: Row) -> Tone:
    return "" if row["rewrite"] in (None, "none") else "rewritten"
