"""What verbose lines say by themselves, without a record of TensorFlow: time, creation, reasons.

Most logs of oneDNN are of PyTorch, OpenVINO and others, which print nothing of their ops.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from tflogscope.events.events import Events
from tflogscope.events.onednn import MKL_EVENT
from tflogscope.grammar.rewriters import REWRITERS
from tflogscope.model.common.facts import Entry
from tflogscope.model.common.figures import rounded
from tflogscope.model.common.frames import looked_up
from tflogscope.model.common.once import once

MADE = r"^create(?::cache_(?:miss|hit))?$"  # one inside another is in the time of that
_DONE = r"^(?:exec|create(?:_nested)?(?::cache_(?:miss|hit))?)$"
_COMPILED = r"^graph:compile"
_ERROR = r"^(?:graph:)?error$"
_OF_ENGINE = "^(?:[a-z]+_)?(?:error|exception)"
_CHECK = r"^(?:graph:)?(?:create|exec|compile|graph):check$"
_US = rounded(pl.col("duration_us").sum())


@once
def verbose_facts(events: Events) -> Entry:
    """What the lines of oneDNN and oneMKL say, those of plug-ins left out.

    Frames have count and us (µs), the most time first, and at.
    `made` are creations of primitives, and how long they took, with what is nested in them.
    `partitions` are runs of the graph API by kind, `compiled` its compilations; `primitive_us`
    is the time of `inside` primitives, which is in that of the partitions. `calls` are oneMKL's,
    by function. `refused` says why an implementation was skipped: primitive, implementation,
    reason, place; `failed` the same where no primitive was made then. `open` began and have no
    end: event, primitive, implementation, problem. `filters`: what the log was limited to.
    """
    plugins = [rewriter.id for rewriter in REWRITERS]
    of_plugin = pl.col("marker").is_in(plugins).fill_null(value=False)
    primitives = events.primitives.filter(~of_plugin)
    event = primitives["event"]
    made = primitives.filter(event.str.contains(MADE))
    compiled = primitives.filter(event.str.contains(_COMPILED) & ~event.str.ends_with(":check"))
    partitions = primitives.filter(event == "graph:exec")
    inside, primitive_us = _inside(primitives.filter(event.is_in(["exec", "graph:exec"])))
    refused = _refused(primitives)
    return Entry(
        made=made.height,
        created_us=made.select(_US).item(),
        partitions=_by(partitions, "primitive", "implementation"),
        compiled=_by(compiled, "event"),
        inside=inside,
        primitive_us=primitive_us,
        calls=_by(primitives.filter(event == MKL_EVENT), "primitive"),
        refused=_reasons(refused),
        failed=_reasons(_failed(primitives, refused)),
        open=_open(primitives),
        errors=_by(primitives.filter(_is_error()), "message", "source_location"),
        checks=_by(primitives.filter(event.str.contains(_CHECK)), "message", "source_location"),
        external=_by(primitives.filter(event == "exec:external"), "implementation"),
        filters=filters_of(primitives),
    )


def _is_error() -> pl.Expr:
    """Lines of errors; those of GPU runtimes up to 3.1 have no event."""
    of_engine = (pl.col("event") == "legacy") & pl.col("message").str.contains(_OF_ENGINE)
    is_filter = pl.col("message").str.contains("^filter format").fill_null(value=False)
    return (pl.col("event").str.contains(_ERROR) | of_engine) & ~is_filter


def _by(lines: pl.DataFrame, *keys: str) -> pl.DataFrame:
    grouped = lines.group_by(*keys).agg(count=pl.len(), us=_US, at=pl.col("at").first())
    return grouped.sort("us", "at", descending=[True, False])


def _inside(ran: pl.DataFrame) -> tuple[int, float]:
    """How many primitives ran in partitions, and for how long.

    A partition's line comes when it has run, behind those of its primitives. It is as long as they
    are, or longer; what is more than that ran before it.
    """
    is_partition = (ran["event"] == "graph:exec").to_numpy()
    if not is_partition.any():
        return 0, 0.0
    took = ran["duration_us"].fill_null(0).to_numpy()
    ends = np.flatnonzero(is_partition)
    owner = np.searchsorted(ends, np.arange(len(took)))
    times = np.where(is_partition, 0.0, took)
    upto = np.cumsum(times)
    room = np.append(took[ends], -1.0)[owner]  # behind the last partition there is none
    since = np.append(upto[ends], upto[-1])[owner] - upto + times  # from it to its partition's line
    fits = ~is_partition & (since <= room)
    return int(fits.sum()), float(round(times[fits].sum(), 3))


def _refused(primitives: pl.DataFrame) -> pl.DataFrame:
    """Lines of implementations that were skipped, of primitives and not of patterns."""
    lines = primitives.filter(
        (pl.col("event") == "create:dispatch") & pl.col("message").is_not_null()
    )
    return lines.with_columns(reason="message", place="source_location")


def _reasons(lines: pl.DataFrame) -> pl.DataFrame:
    keys = ("primitive", "implementation", "reason", "place")
    grouped = lines.group_by(*keys, maintain_order=True)
    return grouped.agg(count=pl.len(), at=pl.col("at").first())


def _failed(primitives: pl.DataFrame, refused: pl.DataFrame) -> pl.DataFrame:
    """Refusals of problems for which no primitive was made behind them."""
    described = refused.drop_nulls("problem").with_row_index("row")
    if described.is_empty():
        return refused.clear()
    keys = ["primitive", "problem", "attributes"]
    done = primitives.filter(pl.col("event").str.contains(_DONE))
    if done.is_empty():  # as with ONEDNN_VERBOSE=dispatch, which has no other lines
        return refused.clear()
    last = done.group_by(*keys).agg(done_at=pl.col("at").max())
    joined = looked_up(described, last, keys, nulls_equal=True)
    left = joined.filter(pl.col("done_at").is_null() | (pl.col("done_at") < pl.col("at")))
    return left.join(_nested(described, done), on="row", how="anti").select(refused.columns)


def _nested(described: pl.DataFrame, done: pl.DataFrame) -> pl.DataFrame:
    """Refusals whose next creation is another problem's, which may have asked for them.

    A primitive that runs others makes their descriptors first; these have no line of their own.
    """
    ends = done.select("at", end="event").sort("at")
    inside = described.sort("at").join_asof(ends, on="at", strategy="forward")
    return inside.filter(pl.col("end").str.starts_with("create")).select("row")


def _open(primitives: pl.DataFrame) -> pl.DataFrame:
    """What began and has no end: the n-th begin of a problem has the n-th end."""
    keys = ["kind", "primitive", "implementation", "problem"]
    kind = pl.col("event").str.extract(r"^(exec|create)(?:_nested)?(?::|$)")
    lines = primitives.with_columns(kind=kind).drop_nulls(["kind", "problem"])
    begun = lines.filter(pl.col("event").str.ends_with(":start"))
    if begun.is_empty():
        return begun.select("event", "primitive", "implementation", "problem", "at")
    ended = lines.filter(pl.col("event").str.contains(_DONE))
    counts = ended.group_by(keys).agg(ends=pl.len())
    begun = begun.with_columns(number=pl.int_range(pl.len()).over(keys))
    left = looked_up(begun, counts, keys, nulls_equal=True)
    left = left.filter(pl.col("number") >= pl.col("ends").fill_null(0))
    return left.select("event", "primitive", "implementation", "problem", "at")


def filters_of(primitives: pl.DataFrame) -> list[str]:
    """What the header says of a filter in force, or of one that is ill-formed."""
    lines = primitives.filter(
        pl.col("event").is_in(["info", "error", "warn", "warning"])
        & pl.col("message").str.contains("^filter format")
    )
    return lines["message"].unique(maintain_order=True).to_list()
