"""What the page's timeline draws and says: slices as packed columns, and their distinct texts."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from tflogscope.model.causes.rules import cause_grammar
from tflogscope.model.common.frames import first_of_each, looked_up
from tflogscope.model.common.source_text import source_text
from tflogscope.model.pictures.activity import Gap
from tflogscope.model.reasons import rules as reason_rules
from tflogscope.model.run import Run
from tflogscope.model.slices.preparations import MODE
from tflogscope.sources.source import Source
from tflogscope.views.report.icicle import icicle_data
from tflogscope.views.report.packed import Columns
from tflogscope.views.report.timeline import CLASSES, track_names

SLICES = 800_000  # that a page holds: some 6 to 8 MB
_ATTRIBUTES = 8_000_000  # characters of node definitions, which gzip makes a twentieth of
_KEYS = ["function", "function_uid", "node"]
_TEXTS = (
    *("mode", "kind", "op", "kernel", "rewrite", "node", "status", "function", "function_uid"),
    *("flavour", "device", "cause", "python", "source"),
)
_OF_NODES = ("dtype", "attributes", "inputs", "eligible", "reason")
_OF_PRIMITIVES = (
    *("engine", "primitive", "implementation", "prop_kind", "memory_descriptors", "attributes"),
    *("auxiliary", "problem", "link"),
)


_CLASS = {name: number for number, (name, _) in enumerate(CLASSES)}


class TimelineData(NamedTuple):
    """The timeline of a page.

    `data` is what goes into the page's JSON, and so does `large` when it is packed; `notes` say
    what was left out to keep it small.
    """

    data: dict[str, Any]
    large: dict[str, bytes]
    notes: list[str]


def read_picture(run: Run, raw: Callable[[], Any] = dict, *, full: bool) -> TimelineData:
    """Lay the run out for the page; without `full`, what would make it too large is left out.

    `raw` waits for lines of the log (`raw_lines`), which are read meanwhile.
    """
    slices = run.drawn
    notes: list[str] = []
    frame = slices.frame.with_row_index("slice")
    if not full and frame.height > SLICES:
        kept = _longest(frame, slices.texts)
        rest = frame.join(kept.select("slice"), on="slice", how="anti")
        longest = int((rest["end_ns"] - rest["begin_ns"]).to_numpy().max()) / 1000
        notes.append(
            f"The timeline shows {kept.height:,} of {frame.height:,} executions and primitives; "
            f"each omitted one took at most {longest:,.0f} µs. Tables count all."
        )
        frame = kept
    used = frame["text"].drop_nulls().unique().sort()
    classes = slice_classes(slices.texts)
    texts = _texts(run, used).with_columns(classes.gather(used))
    size = texts.select(pl.col("attributes", "inputs").str.len_bytes().sum()).sum_horizontal()[0]
    if not full and size > _ATTRIBUTES:
        texts = texts.drop("attributes", "inputs")
        notes.append("Timeline details omit the attributes and inputs of nodes.")
    words, number = _primitive_words(run, frame)
    columns = _columns(frame, used, number, run)
    steps = frame["step"].drop_nulls().unique().sort()
    step = frame.select(pl.col("step").replace_strict(steps, range(len(steps)), default=-1))
    columns.add("step", step.to_series().fill_null(-1).to_numpy(), delta=True)
    more = {
        "steps": [str(uid) for uid in steps],  # 64 bits, more than a number of JavaScript holds
        "stacks": icicle_data(run, classes),
        "raw": raw(),
        "program": _program(run, texts),
    }
    names, order = track_names(slices)
    data = {
        "clock": slices.clock,
        "origin": slices.origin,
        "tracks": names,
        "order": order,
        "threads": [None if thread is None else str(thread) for thread in slices.tracks["thread"]],
        "sources": run.coverage["source"].to_list(),
        "why": _why(texts),
        "xla": _by_xla(run, texts),
        "layout": columns.layout,
        "crash": _crash(run),
    }
    about = b'{"texts":%s,"primitives":%s,%s' % (
        _json_of(texts),
        _json_of(words),
        json.dumps(more, ensure_ascii=False, separators=(",", ":")).encode()[1:],
    )
    return TimelineData(data, {"columns": columns.joined(), "words": about}, notes)


def _json_of(frame: pl.DataFrame) -> bytes:
    """A frame as an object of columns; one after the other, as there may be many texts."""
    columns = (
        json.dumps({column.name: column.to_list()}, ensure_ascii=False, separators=(",", ":"))
        for column in frame
    )
    return b"{%s}" % b",".join(column[1:-1].encode() for column in columns)


def slice_classes(texts: pl.DataFrame) -> pl.Series:
    """The class that each text's slices are drawn as: its place in `CLASSES`."""
    of = {name: pl.lit(number, pl.UInt8) for name, number in _CLASS.items()}
    rewritten, cause = pl.col("rewrite") != "none", pl.col("cause")
    folding = (cause == "constant-folding") | (pl.col("kind") == "folding")
    return texts.select(
        pl.when(pl.col("mode") == MODE)
        .then(of["preparation"])
        .when(pl.col("kind") == "call")
        .then(of["call"])
        .when(pl.col("mode") == "eager")
        .then(pl.when(rewritten).then(of["eager-onednn"]).otherwise(of["eager"]))
        .when(folding.fill_null(value=False))
        .then(of["folding"])
        .when((cause == "dataset-function").fill_null(value=False))
        .then(of["data"])
        .when(rewritten)
        .then(of["onednn"])
        .when(pl.col("kind") == "plumbing")
        .then(of["plumbing"])
        .otherwise(of["graph"])
        .alias("class")
    ).to_series()


def _program(run: Run, texts: pl.DataFrame) -> dict[str, str]:
    """Lines of the program by place, as far as they are known."""
    places = texts["python"].drop_nulls().unique().sort()
    texts_of = {place: source_text(place, run.recorded_as) for place in places}
    return {place: text for place, text in texts_of.items() if text is not None}


def _by_xla(run: Run, texts: pl.DataFrame) -> list[int]:
    """The texts of calls that ran code that XLA compiled."""
    compiled = run.summary.functions.filter(pl.col("xla_calls") > 0)
    by_xla = set(compiled.select("function", "function_uid").rows())
    calls = texts.select("kind", "status", "function", "function_uid").rows()
    return [
        at
        for at, (kind, status, *function) in enumerate(calls)
        if kind == "call" and status == "done" and tuple(function) in by_xla
    ]


def _crash(run: Run) -> dict[str, Any] | None:
    """When the program crashed, in ns of the page's timeline, and what ended it."""
    crashes, end = run.findings.filter(id="crashed"), run.time["end"].max()
    if crashes.is_empty() or run.drawn.clock != "time" or not isinstance(end, datetime):
        return None
    us = round(end.replace(tzinfo=UTC).timestamp() * 1e6) - (run.drawn.origin or 0)
    return {"at": us * 1000, "name": f"crashed: {crashes['subject'][0]}"}


def gap_places(run: Run, gaps: list[Gap]) -> list[list[int]]:
    """Begin and end of each gap, in ns of the page's timeline."""
    moved = ((run.slices.origin or 0) - (run.drawn.origin or 0)) * 1000
    begins = [gap.begin_ns + moved for gap in gaps]
    return [
        [begin, begin + round(gap.duration_us * 1000)]
        for begin, gap in zip(begins, gaps, strict=True)
    ]


def _why(texts: pl.DataFrame) -> dict[str, str]:
    """What causes and reasons say, those that only one rule gives; `explain` has the others."""
    whys: dict[str, list[str]] = {}
    grammar = cause_grammar()
    for rule in (*grammar.rules, *grammar.graph_rules):
        whys.setdefault(rule.cause, []).append(rule.why)
    for reason in reason_rules.RULES:
        whys.setdefault(reason.reason, []).append(reason.why)
    used = {*texts["cause"].drop_nulls(), *texts["reason"].drop_nulls()}
    return {id_: why[0] for id_, why in whys.items() if id_ in used and len(why) == 1}


def _longest(frame: pl.DataFrame, texts: pl.DataFrame) -> pl.DataFrame:
    """The calls, and of the rest the longest; in the order of their begins."""
    is_call = texts.select(pl.col("kind") == "call").to_series()
    ranked = frame.with_columns(
        first=is_call.gather(frame["text"]).fill_null(value=False),
        took=pl.col("end_ns") - pl.col("begin_ns"),
    )
    kept = ranked.sort("first", "took", "slice", descending=[True, True, False]).head(SLICES)
    return kept.drop("first", "took").sort("slice")


def _texts(run: Run, used: pl.Series) -> pl.DataFrame:
    """What is said of executions, the distinct ones, with what is known of their nodes."""
    texts = run.drawn.texts.select(*_TEXTS).select(pl.all().gather(used))
    nodes = run.nodes.select(*_KEYS, *_OF_NODES)
    rewrites = run.rewrites.drop_nulls("node").rename({"line": "rewrite_line"})
    for table in (nodes, rewrites.select(*_KEYS, "rewrite_line", "from_op")):
        facts = first_of_each(table, _KEYS)
        texts = texts.join(facts, on=_KEYS, how="left", nulls_equal=True, maintain_order="left")
    return texts


def _primitive_words(run: Run, frame: pl.DataFrame) -> tuple[pl.DataFrame, pl.Series]:
    """What is said of primitives, the distinct ones; and which of them each slice is (or null)."""
    columns = [name for name in _OF_PRIMITIVES if name in run.primitives.columns]
    used = frame["primitive"].drop_nulls().unique().sort()
    facts = run.primitives.select(pl.col(columns).gather(used.cast(pl.UInt32)))
    words = facts.unique(maintain_order=True)
    numbered = words.with_row_index("number")
    same = facts.join(numbered, on=columns, how="left", nulls_equal=True, maintain_order="left")
    numbers = frame["primitive"].replace_strict(
        used, same["number"], default=None, return_dtype=pl.Int64
    )
    return words, numbers


def _columns(frame: pl.DataFrame, used: pl.Series, number: pl.Series, run: Run) -> Columns:
    """One row per slice; −1 is nothing."""
    primitive = frame["primitive"]
    facts = run.primitives.select(pl.col("line", "duration_us").gather(primitive.cast(pl.UInt32)))
    text = frame.select(
        pl.col("text").replace_strict(used, range(len(used)), default=None)
    ).to_series()
    places = frame.select("row", place=pl.int_range(pl.len())).filter(primitive.is_null())
    owners = frame.select(row=pl.when(primitive.is_not_null()).then("row"))
    owner = looked_up(owners, places, "row")["place"]
    line = frame["line"].cast(pl.Int64)
    line = line.zip_with(primitive.is_null(), facts["line"].cast(pl.Int64))
    columns = Columns()
    begin, end = frame["begin_ns"].to_numpy(), frame["end_ns"].to_numpy()
    columns.add("track", frame["track"].to_numpy())
    columns.add("begin", begin, delta=True)
    columns.add("length", end - begin)
    columns.add("text", text.cast(pl.Int64).fill_null(-1).to_numpy())
    columns.add("primitive", number.fill_null(-1).to_numpy())
    flags = frame["has_end"].to_numpy().astype(np.int64) + 2 * frame["placed"].to_numpy()
    columns.add("flags", flags)
    columns.add("line", line.fill_null(-1).to_numpy(), delta=True)
    span = (frame["end_line"].cast(pl.Int64) - frame["line"].cast(pl.Int64)).to_numpy()
    on_lines = frame["end_line"].is_not_null().to_numpy() & frame["line"].is_not_null().to_numpy()
    # 0 is nothing: an end in another file may come before the start in its own.
    span = np.where(on_lines, span, 0).astype(np.int64)
    columns.add("end_line", np.where(on_lines, np.where(span >= 0, span + 1, span), 0))
    columns.add("call", frame["call"].cast(pl.Int64).fill_null(-1).to_numpy(), delta=True)
    place = np.arange(frame.height)
    back = (place - owner.to_numpy()) if frame.height else place
    columns.add(
        "owner", np.where(owner.is_null().to_numpy(), 0, np.nan_to_num(back)).astype(np.int64)
    )
    # What a primitive's line says; of an execution what it would have taken without the log.
    took = facts["duration_us"].cast(pl.Float64)
    work_us = frame["work_us"].zip_with(primitive.is_null(), took)
    nanoseconds = (work_us * 1000).round().clip(-1, 2**53).cast(pl.Int64)
    columns.add("own", nanoseconds.fill_null(-1).to_numpy())
    return columns


# ---- lines of the log as they are: those that tables and findings name ---------------------------

_MOST = 5000  # of a log
_LONGEST = 600  # characters


def raw_lines(run: Run) -> dict[str, dict[str, str]]:
    """The text of lines, from 1, by source; cut where it is long.

    A log whose lines have something around them has none, and neither has a run of a store.

    Raises:
        InputError: an input can't be read any more.
    """
    first = pl.lit(run.coverage["source"].first()).alias("source")
    numbers = pl.col("lines").str.split(";").list.eval(pl.element().cast(pl.UInt64))
    frames = [
        run.findings.select("source", line=numbers).explode("line"),
        run.ops.select(first, line="first_line"),
        run.summary.functions.select(first, line="first_line"),
        run.summary.lines.select("source", line="first_line"),
    ]
    named = pl.concat(frames, how="vertical_relaxed").drop_nulls().unique().sort("line")
    return {
        source.name: _read(source, named.filter(source=source.name)["line"].head(_MOST).to_list())
        for source in run.sources
        if not source.envelopes and not source.process
    }


def _read(source: Source, lines: list[int]) -> dict[str, str]:
    """These lines, which must be sorted."""
    texts_of: dict[str, str] = {}
    before = place = 0
    for block in source.blocks():
        if place == len(lines):
            break
        count = block.text.count(b"\n")
        if lines[place] <= before + count:
            texts = block.text.split(b"\n")
            while place < len(lines) and lines[place] <= before + count:
                text = texts[lines[place] - before - 1].decode()
                texts_of[str(lines[place])] = f"{text[:_LONGEST]}…" if text[_LONGEST:] else text
                place += 1
        before += count
    return texts_of
