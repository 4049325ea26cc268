"""speedscope's own format: a profile per track, of begins and ends.

The format: https://www.speedscope.app/file-format-schema.json. It has no arguments and no flows; a
frame is the name of what ran, with its function as the file. Frames of the program, where the log
has them, are above what is not inside anything else on its track.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import polars as pl

from tflogscope.exports.json_text import harmless
from tflogscope.exports.trace_rows import PART_ROWS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tflogscope.exports.trace_rows import TraceRows


def speedscope_json(rows: TraceRows) -> Iterator[bytes]:
    """The pieces of the file, in order."""
    frames = rows.texts.select("name", file="function").unique(maintain_order=True)
    numbered = frames.with_row_index("frame")
    number = rows.texts.select("name", file="function").join(
        numbered, on=["name", "file"], how="left", nulls_equal=True, maintain_order="left"
    )["frame"]
    above = rows.stacks.to_frame("above").with_row_index("stack")
    names = above["above"].explode().drop_nulls().unique(maintain_order=True)
    shared = {"frames": [_frame(*row) for row in frames.iter_rows()]}
    shared["frames"] += [_frame(name, None) for name in names]
    numbers = range(frames.height, frames.height + len(names))
    above = above.with_columns(
        pl.col("above").list.eval(pl.element().replace_strict(names, numbers, default=None))
    )
    head = {
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "name": rows.about["log"],
        "exporter": rows.about["made_by"],
        "shared": shared,
    }
    yield (harmless(json.dumps(head, separators=(",", ":")))[:-1] + ',"profiles":[\n').encode()
    frame = rows.slices.frame.with_columns(
        frame=number.gather(rows.frame["text"]),
        stack=rows.texts["stack"].gather(rows.frame["text"]),
    )
    events = _events(frame, above)
    before = ""
    for track in rows.slices.tracks.iter_rows(named=True):
        mine = events.filter(pl.col("track") == track["track"])
        profile = {
            "type": "evented",
            "name": track["name"],
            "unit": "nanoseconds",
            "startValue": mine["at"].min() or 0,
            "endValue": mine["at"].max() or 0,
        }
        text = harmless(json.dumps(profile, separators=(",", ":")))[:-1]
        yield f'{before}{text},"events":[\n'.encode()
        before = "]},\n"
        first = True
        for part in mine.drop("track").iter_slices(PART_ROWS):
            lines = part.write_ndjson().removesuffix("\n").replace("\n", ",\n")
            yield (lines if first else ",\n" + lines).encode()
            first = False
    yield b"]}\n]}\n" if before else b"]}\n"


def _frame(name: str, function: str | None) -> dict[str, str]:
    return {"name": name} if function is None else {"name": name, "file": function}


def _events(frame: pl.DataFrame, above: pl.DataFrame) -> pl.DataFrame:
    """Begins and ends in their order: type, frame, at (ns), track.

    `above` has the frames (`above`) of each `stack`, the outermost first.
    """
    edges = [
        frame.select(
            "track",
            type=pl.lit(kind),
            frame="frame",
            at=f"{edge}_ns",
            order=f"{edge}_order",
            stack="stack",
            place=pl.lit(0, pl.Int64),
            depth=pl.lit(step),
        )
        for kind, edge, step in (("O", "begin", 1), ("C", "end", -1))
    ]
    events = pl.concat(edges).sort("order")
    depth = pl.col("depth").cum_sum().over("track")
    outermost = events.filter(depth == (pl.col("type") == "O").cast(pl.Int32))
    python = (
        outermost.drop("frame")
        .join(above, on="stack")
        .with_columns(
            # Before the begin, and after the end, the outermost farthest.
            place=pl.int_ranges(pl.col("above").list.len())
            - pl.col("above").list.len().cast(pl.Int64)
        )
    )
    python = (
        python.explode("above", "place")
        .drop_nulls("above")
        .select(
            pl.col("above").cast(events.schema["frame"]).alias("frame"),
            pl.col("place") * pl.when(pl.col("type") == "O").then(1).otherwise(-1),
            pl.exclude("above", "place"),
        )
    )
    both = pl.concat([events, python.select(events.columns)]).sort("order", "place")
    return both.select("type", "frame", "at", "track")
