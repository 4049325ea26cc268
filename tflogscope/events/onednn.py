"""Verbose lines of oneDNN (and oneMKL) → one typed row each, in columns.

The head of a line (marker, version, timestamp, component, event) is cut off by one pattern. Then
each layout of the grammar (`grammars/onednn/`) is tried on the lines of its heads: the number of
fields has to be right, and every field has to look like one. A line that no layout fits keeps its
event and gets a reason; none of its fields is guessed.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tflogscope.events.onednn_header import layouts_of_templates
from tflogscope.grammar.load import load_grammar
from tflogscope.grammar.verbose import Layout, VerboseGrammar

VERBOSE_SCHEMA: dict[str, pl.DataType] = {
    "at": pl.Int64(),
    "event": pl.String(),
    "marker": pl.String(),
    "version_tag": pl.String(),
    "component": pl.String(),
    "engine": pl.String(),
    "primitive": pl.String(),
    "primitive_kind": pl.String(),
    "implementation": pl.String(),
    "prop_kind": pl.String(),
    "memory_descriptors": pl.String(),
    "attributes": pl.String(),
    "auxiliary": pl.String(),
    "problem": pl.String(),
    "duration_us": pl.Float64(),
    "time": pl.Int64(),
    "message": pl.String(),
    "source_location": pl.String(),
    "reason": pl.String(),
}
UNPARSED = "unparsed"
MKL_MARKER = "MKL_VERBOSE"
MKL_EVENT = "mkl_verbose"

# ms with six decimals since 1970. gemm_api up to 3.1 prints 1.79523e+12, which may be 5 minutes
# off; Windows counts from boot: neither says when.
_TIMESTAMP = r"^[1-9][0-9]{12}\.[0-9]{6}$"
_MKL_MICROSECONDS = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}
_HEAD = ("marker", "version_tag", "component", "event")
_NO_LINES = pl.DataFrame(
    schema={"at": pl.Int64, **dict.fromkeys((*_HEAD, "timestamp", "body"), pl.String)}
)
_MOST_DIGITS = 7  # significant ones of a time: `3.906250e-03`; the rest is binary dust


def read_verbose(verbose: pl.DataFrame, grammar: VerboseGrammar | None = None) -> pl.DataFrame:
    """Read verbose lines (`at`, `text`); return one row per line, in their order.

    Columns: VERBOSE_SCHEMA. `event` is as printed (`exec`, `create:cache_miss`, `info`, …), with
    `graph:` before it for the graph API; `template` is a header that names columns, `mkl_verbose`
    a call of oneMKL, `legacy` a text of an engine, `unparsed` a line without any known event.
    `duration_us` is in µs, `time` in µs since the epoch. `reason` is null where the line was read;
    else it says why not, and only head and event are filled. Empty fields are null.
    """
    grammar = grammar or load_grammar().verbose
    text = verbose["text"]
    is_mkl = text.str.starts_with(f"{MKL_MARKER} ")
    lines = _heads(verbose.filter(~is_mkl), grammar)
    parts = [*_read_layouts(lines, grammar), _read_mkl(verbose.filter(is_mkl), grammar)]
    whole = pl.concat([part for part in parts if part.height] or parts[:1], how="diagonal")
    return _finished(whole)


def _heads(verbose: pl.DataFrame, grammar: VerboseGrammar) -> pl.DataFrame:
    """The pieces of each line's head, its body, the commas in it, and the number of its head."""
    before, tests = "^[a-z_]+", {}
    for name, pattern in grammar.heads:
        tests[name] = pl.col("text").str.contains(f"{before},{pattern},")
        before += f"(?:,{pattern})?"
    shapes = verbose.select(**tests)
    parts = []
    for shape in shapes.unique().rows():
        rows = verbose.filter(shapes.select(_equals(shapes.columns, shape)).to_series())
        pieces = [name for name, there in zip(shapes.columns, shape, strict=True) if there]
        names = ["marker", *pieces, "event", "body"]
        split = pl.col("text").str.splitn(",", len(names)).struct.rename_fields(names)
        parts.append(rows.select("at", split.alias("head")).unnest("head"))
    lines = pl.concat([_NO_LINES, *parts], how="diagonal").with_columns(
        marker=pl.when(pl.col("marker").is_in(grammar.markers)).then("marker"),
        commas=pl.col("body").str.count_matches(",", literal=True).cast(pl.Int64),
    )
    heads = lines.select(_HEAD).unique(maintain_order=True).with_row_index("head")
    return lines.join(heads, on=_HEAD, how="left", nulls_equal=True, maintain_order="left")


def _equals(names: list[str], values: tuple[object, ...]) -> pl.Expr:
    return pl.all_horizontal(
        pl.col(name) == value for name, value in zip(names, values, strict=True)
    )


# ---- layouts -------------------------------------------------------------------------------------


def _read_layouts(lines: pl.DataFrame, grammar: VerboseGrammar) -> list[pl.DataFrame]:
    """Rows of the lines by the layout that fits them, and those that none fits."""
    heads = lines.select("head", *_HEAD).unique("head").sort("head")
    number, commas = (lines[name].fill_null(-1).to_numpy() for name in ("head", "commas"))
    left = np.ones(lines.height, bool)
    tried = _Tried(lines.height)
    parts = []
    # The more fields, the more particular: what leaves all of a line to a message comes last.
    layouts = sorted(grammar.layouts, key=lambda layout: -len(layout.fields))
    layouts = [*layouts_of_templates(lines, grammar), *layouts]
    for layout, fits_head in zip(layouts, _fits_heads(heads, layouts), strict=True):
        if not fits_head.any():
            continue
        near = left & fits_head.to_numpy()[number]
        # What is for one primitive only says nothing of a line that it does not fit.
        particular = "primitive" in layout.where and layout.free is not None
        if not particular:
            tried.add(near, layout, commas)
        count = len(layout.fields) - 1 - layout.whole
        near &= (commas == count) if layout.free is None else (commas >= count)
        rows = np.flatnonzero(near)
        if not len(rows):
            continue
        part, fits = _split(lines[rows], layout, grammar)
        left[rows[fits]] = False
        if not particular:
            tried.out_of_place[rows[~fits]] = True
        parts.append(part)
    rest = np.flatnonzero(left)
    if len(rest):
        reasons = pl.Series("reason", tried.reasons(rest), dtype=pl.String)
        parts.append(lines[rest].select("at", "timestamp", *_HEAD).with_columns(reasons))
    return parts


def _fits_heads(heads: pl.DataFrame, layouts: list[Layout]) -> list[pl.Series]:
    """For each layout, for which of the distinct heads it is."""
    tests = [
        pl.col("marker").is_in(layout.markers)
        & pl.col("version_tag").fill_null("").is_in(layout.versions)
        & pl.col("component").fill_null("").is_in(layout.components)
        & pl.col("event").str.contains(_from_start(layout.events))
        for layout in layouts
    ]
    return heads.select(
        test.fill_null(False).alias(str(i)) for i, test in enumerate(tests)
    ).get_columns()


def _split(
    lines: pl.DataFrame, layout: Layout, grammar: VerboseGrammar
) -> tuple[pl.DataFrame, NDArray[np.bool_]]:
    """Return rows of the lines that the layout fits, and which of the lines these are."""
    head = lines.select("at", "timestamp", *_HEAD)
    if layout.whole:
        body = pl.concat_str("event", pl.lit(","), "body", ignore_nulls=True)
        body = pl.when(pl.col("body").is_null()).then("event").otherwise(body)
    else:
        body = pl.col("body").fill_null("")
    fields = lines.select(_pieces(body, layout)).to_series().struct.unnest()
    tests = []
    for name in layout.fields:
        pattern = layout.where.get(name, grammar.patterns.get(name))
        if pattern is not None:
            tests.append(pl.col(name).str.contains(_from_start(pattern)))
    if layout.other_than is not None:
        tests.append(~pl.col("primitive").str.contains(_from_start(layout.other_than)))
    fits = fields.select(pl.all_horizontal(*tests, pl.lit(True)).fill_null(False)).to_series()
    if fits.len() != fields.height:  # no tests: polars gives one value
        fits = fits.new_from_index(0, fields.height)
    part = head.hstack(fields).filter(fits)
    if layout.event is not None:
        part = part.with_columns(event=pl.lit(layout.event))
    return part, fits.to_numpy()


def _pieces(body: pl.Expr, layout: Layout) -> pl.Expr:
    """A struct of the fields of a body."""
    if layout.free is None or layout.free == len(layout.fields) - 1:
        return body.str.splitn(",", len(layout.fields)).struct.rename_fields(list(layout.fields))
    groups = [f"(?P<{name}>[^,]*)" for name in layout.fields]
    groups[layout.free] = f"(?P<{layout.fields[layout.free]}>.*)"
    return body.str.extract_groups(f"(?s)^{','.join(groups)}$")


def _from_start(pattern: str) -> str:
    return f"(?s)^(?:{pattern})"


# ---- reasons -------------------------------------------------------------------------------------


_REASONS = (
    "no known event",
    "a field is not what it should be",
    "cut short",
    "too many fields",
    "the number of fields is wrong",
)


class _Tried:
    """Why lines are not read: what was tried on each of them."""

    def __init__(self, height: int) -> None:
        self.known = np.zeros(height, bool)
        self.short = np.ones(height, bool)
        self.long = np.ones(height, bool)
        self.out_of_place = np.zeros(height, bool)

    def add(self, near: NDArray[np.bool_], layout: Layout, commas: NDArray[np.int64]) -> None:
        """Note that a layout was tried on lines with so many commas."""
        count = len(layout.fields) - 1 - layout.whole
        self.known |= near
        self.short &= ~near | (commas < count)
        if layout.free is None:
            self.long &= ~near | (commas > count)
        else:
            self.long &= ~near

    def reasons(self, rows: NDArray[np.int64]) -> list[str]:
        """One of five for each of the rows."""
        tests = (~self.known, self.out_of_place, self.short, self.long)
        chosen = np.select([test[rows] for test in tests], range(4), default=4)
        return [_REASONS[number] for number in chosen.tolist()]


# ---- the rows ------------------------------------------------------------------------------------


def _read_mkl(lines: pl.DataFrame, grammar: VerboseGrammar) -> pl.DataFrame:
    """Rows of MKL_VERBOSE lines: calls with their time, the banner, and what is neither."""
    text = pl.col("text")
    call = text.str.extract_groups(grammar.mkl_call).struct
    return lines.select(
        "at",
        call.field("primitive"),
        call.field("problem"),
        call.field("attributes"),
        call.field("time").alias("number"),
        call.field("unit"),
        message=text.str.extract_groups(grammar.mkl_banner).struct.field("message"),
    ).select(
        pl.exclude("number", "unit"),
        marker=pl.lit(MKL_MARKER),
        event=pl.when(pl.col("message").is_not_null())
        .then(pl.lit("info"))
        .otherwise(pl.lit(MKL_EVENT)),
        microseconds=pl.col("number").cast(pl.Float64, strict=False)
        * pl.col("unit").replace_strict(_MKL_MICROSECONDS, return_dtype=pl.Float64, default=None),
        reason=pl.when(pl.col("primitive").is_null() & pl.col("message").is_null()).then(
            pl.lit("no call and no banner of oneMKL")
        ),
    )


def _finished(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows in order, with all columns and their types."""
    missing = VERBOSE_SCHEMA | {
        "microseconds": pl.Float64(),
        "milliseconds": pl.String(),
        "timestamp": pl.String(),
        "template": pl.String(),
    }
    rows = rows.with_columns(
        pl.lit(None, dtype).alias(name)
        for name, dtype in missing.items()
        if name not in rows.columns
    )
    event, reason = pl.col("event"), pl.col("reason")
    graph = (pl.col("component") == "graph").fill_null(False)
    graph |= (pl.col("marker") == "onednn_graph_verbose").fill_null(False)
    graph &= ~event.str.starts_with("graph:") & ~event.is_in(["info", "template"])
    milliseconds = pl.col("milliseconds").cast(pl.Float64, strict=False)
    timestamp = pl.col("timestamp")
    texts = [
        name for name, dtype in VERBOSE_SCHEMA.items() if dtype == pl.String() and name != "event"
    ]
    return (
        rows.with_columns(
            event=pl.when((reason == _REASONS[0]) | event.is_null())
            .then(pl.lit(UNPARSED))
            .when(graph)
            .then(pl.concat_str(pl.lit("graph:"), event))
            .otherwise(event),
            reason=pl.when(event.is_null()).then(pl.lit(_REASONS[0])).otherwise(reason),
            primitive_kind=pl.col("primitive").str.strip_suffix("_v2"),
            attributes=pl.col("attributes").str.strip_chars_end(" "),
            message=pl.coalesce("message", pl.col("template").str.replace("^[a-z_]*:", "")),
            duration_us=pl.coalesce(
                "microseconds", (milliseconds * 1000).round_sig_figs(_MOST_DIGITS)
            ),
            time=pl.when(timestamp.str.contains(_TIMESTAMP)).then(
                # As integers: a float has no room for the last digit of ns.
                (timestamp.str.replace(".", "", literal=True).cast(pl.Int64, strict=False) + 500)
                // 1000
            ),
        )
        .with_columns(pl.when(pl.col(name) != "").then(name).alias(name) for name in texts)
        .select(pl.col(name).cast(dtype) for name, dtype in VERBOSE_SCHEMA.items())
        .sort("at", maintain_order=True)
    )
