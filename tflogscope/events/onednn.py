"""Verbose lines of oneDNN (and oneMKL) → one typed row each, in columns.

The fields of a line are its head (marker, version, timestamp, component, event) and its body. Each
layout of the grammar (`grammars/onednn/`) is tried on the lines of its heads: the number of fields
has to be right, and every field has to look like one. A line that no layout fits keeps its event
and is marked; none of its fields is guessed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator

import numpy as np
import polars as pl

from tflogscope.events.onednn_header import layouts_of_templates
from tflogscope.events.times import DAY_US
from tflogscope.events.verbose_lines import (
    NO_TEXT,
    Booleans,
    Integers,
    VerboseLines,
    distinct,
    matching,
)
from tflogscope.grammar.fast import at_once
from tflogscope.grammar.load import load_grammar
from tflogscope.grammar.verbose import VerboseGrammar, VerboseLayout
from tflogscope.native.library import FIELDS

VERBOSE_SCHEMA: dict[str, pl.DataType] = {
    "at": pl.Int64(),
    **dict.fromkeys(("event", "marker", "version_tag", "component", "engine"), pl.String()),
    **dict.fromkeys(("primitive", "primitive_kind", "implementation", "prop_kind"), pl.String()),
    **dict.fromkeys(("memory_descriptors", "attributes", "auxiliary", "problem"), pl.String()),
    "duration_us": pl.Float64(),
    "time": pl.Int64(),
    **dict.fromkeys(("message", "source_location", "reason"), pl.String()),
}
UNPARSED = "unparsed"
_UNREAD = "no known format"
MKL_MARKER = "MKL_VERBOSE"
MKL_EVENT = "mkl_verbose"

# ms with six decimals since 1970. gemm_api up to 3.1 prints 1.79523e+12, which may be 5 minutes
# off; Windows counts from boot: neither says when.
_TIMESTAMP = r"^[1-9][0-9]{12}\.[0-9]{6}$"
MICROSECONDS = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}
_HEAD = ("marker", "version_tag", "component", "event")
_ADDRESS = r"(?:^|,)0x[0-9a-f]*"  # of a buffer, another one in each call
_MOST_DIGITS = 7  # significant ones of a time: `3.906250e-03`; the rest is binary dust
# What GitHub shows for the tags of layouts (`blocked:abcd:f0`): github/gemoji, db/emoji.json.
_EATEN = {"🔡": ":abcd:", "🔤": ":abc:", "🆎": ":ab:", "🅰": ":a:", "🅱": ":b:", "\ufe0f": ""}
_TEXTS = [name for name, kind in VERBOSE_SCHEMA.items() if kind == pl.String()]


def read_verbose(
    lines: VerboseLines, grammar: VerboseGrammar | None = None, *, most_unread: int = sys.maxsize
) -> pl.DataFrame:
    """Read verbose lines; return one row per line, in their order.

    Of those that can't be read, only the first `most_unread` have a row: a row takes some
    20 times the memory of the shortest line.

    Columns: VERBOSE_SCHEMA. `event` is as printed (`exec`, `create:cache_miss`, `info`, …), with
    `graph:` before it for the graph API; `template` is a header that names columns, `mkl_verbose`
    a call of oneMKL, `legacy` a text of an engine, `unparsed` a line without any known event.
    `duration_us` is in µs, `time` in µs since the epoch. `reason` is null where the line was read;
    else only head and event are filled. Empty fields are null.
    """
    grammar = grammar or load_grammar().verbose
    table = _Rows(lines, grammar)
    table.read_layouts()
    table.read_mkl()
    return table.finished(most_unread)


class _Rows:
    """The columns of rows while they are made: numbers of texts, those of `lines` and new ones."""

    def __init__(self, lines: VerboseLines, grammar: VerboseGrammar) -> None:
        self.lines = lines
        self.grammar = grammar
        self.no_text = len(lines.texts)
        texts = lines.texts.str.replace_many([*_EATEN], [*_EATEN.values()])
        self.texts = pl.concat([texts, pl.Series([None], dtype=pl.String)])
        self.microseconds = np.full(len(lines), np.nan)
        self.columns: dict[str, Integers] = {}
        self.is_mkl = self._matches(lines.field(0), f"^{MKL_MARKER} ")
        self._read_heads()

    def column(self, name: str) -> Integers:
        """A column that may be written to."""
        if name not in self.columns:
            self.columns[name] = np.full(len(self.lines), NO_TEXT, np.int32)
        return self.columns[name]

    def added(self, texts: list[str | None]) -> Integers:
        """The numbers of new texts."""
        first = len(self.texts)
        self.texts = pl.concat([self.texts, pl.Series(texts, dtype=pl.String)])
        return np.arange(first, first + len(texts), dtype=np.int32)

    def _texts(self, codes: Integers) -> pl.Series:
        """The text of each number, null: NO_TEXT."""
        if codes.max(initial=NO_TEXT) == NO_TEXT:
            return self.texts.clear(len(codes))  # of which nothing is in memory
        numbers = np.where(codes == NO_TEXT, self.no_text, codes)
        return self.texts[pl.Series(numbers.astype(np.uint32))]  # which polars takes as they are

    def _matches(self, codes: Integers, pattern: str) -> Booleans:
        return matching(self.texts, [(codes, pattern)])[0]

    def _among(self, codes: Integers, texts: Collection[str]) -> Booleans:
        """Whether the text of each number is one of these."""
        some = distinct(codes, len(self.texts))
        good = np.zeros(len(self.texts) + 1, bool)
        good[some] = [text in texts for text in self.texts[some].to_list()]
        is_among: Booleans = good[codes]
        return is_among

    def _read_heads(self) -> None:
        """Cut off the head of each line: what is left are fields from `begin` on."""
        lines = self.lines
        place = np.ones(len(lines), np.int64)
        for name, pattern in self.grammar.heads:
            field = lines.field(place)
            is_one = self._matches(field, f"^(?:{pattern})$") & (place + 1 < lines.count)
            is_one &= ~self.is_mkl
            self.columns[name] = np.where(is_one, field, NO_TEXT)
            place += is_one
        marker = lines.field(0)
        is_known = self._among(marker, self.grammar.markers)
        self.columns["marker"] = np.where(is_known, marker, NO_TEXT)
        self.is_graph = self._among(marker, ["onednn_graph_verbose"])
        self.is_graph |= self._among(self.columns["component"], ["graph"])
        self.columns["event"] = lines.field(place)
        self.begin = place + 1
        # Commas of the body, -1: there is no body.
        self.commas = lines.count - self.begin - 1
        full = np.flatnonzero(lines.count == FIELDS)
        if len(full):
            last = self._texts(lines.field(FIELDS - 1, full))
            self.commas[full] += last.str.count_matches(",", literal=True).to_numpy()

    # ---- layouts ---------------------------------------------------------------------------------

    def read_layouts(self) -> None:
        """Fill the rows of the lines by the layout that fits them, and mark the others."""
        heads, number = self._heads()
        left = ~self.is_mkl
        known = np.zeros(len(left), bool)
        # The more fields, the more particular: what leaves all of a line to a message comes last.
        layouts = sorted(self.grammar.layouts, key=lambda layout: -len(layout.fields))
        layouts = [*layouts_of_templates(self._templates(), self.grammar), *layouts]
        layouts = _near(heads, layouts)
        for layout, fits_head in zip(layouts, _fits_heads(heads, layouts), strict=True):
            if not fits_head.any():
                continue
            near = left & fits_head.to_numpy()[number]
            # What is for one primitive only says nothing of a line that it does not fit.
            if "primitive" not in layout.where or layout.free is None:
                known |= near
            count = len(layout.fields) - 1 - layout.whole
            near &= (self.commas == count) if layout.free is None else (self.commas >= count)
            row = np.flatnonzero(near)
            if len(row):
                left[row[self._split(row, layout)]] = False
        self.column("reason")[left] = self.added([_UNREAD])[0]
        self.columns["event"][left & ~known] = NO_TEXT

    def _heads(self) -> tuple[pl.DataFrame, Integers]:
        """Distinct heads, and the number of each line's."""
        codes = np.stack([self.columns[name] for name in _HEAD])
        change = np.ones(codes.shape[1], bool)  # lines with one head mostly follow each other
        change[1:] = (codes[:, 1:] != codes[:, :-1]).any(axis=0)
        some, which = np.unique(codes[:, change], axis=1, return_inverse=True)
        texts = {name: self._texts(some[at]) for at, name in enumerate(_HEAD)}
        return pl.DataFrame(texts), which.reshape(-1)[np.cumsum(change) - 1]

    def _templates(self) -> Iterator[tuple[str | None, str | None, str | None, str]]:
        """Lines that may name columns: marker, version, component and body."""
        info = self._among(self.columns["event"], ["info"]) & ~self.is_mkl
        row = np.flatnonzero(info & (self.commas >= 0))
        body = self.lines.joined(row, self.begin[row], self.lines.count[row])
        marker, version, component = (self._texts(self.columns[name][row]) for name in _HEAD[:3])
        return zip(marker, version, component, body, strict=True)

    def _split(self, numbers: Integers, layout: VerboseLayout) -> Booleans:
        """Fill the rows that the layout fits; say which these are."""
        lines, begin = self.lines.of(numbers), self.begin[numbers] - layout.whole
        end, names = lines.count, layout.fields
        columns: dict[str, Integers] = {}
        for place, name in enumerate(names):
            if layout.free is None or place < layout.free:
                columns[name] = lines.field(begin + place)
            elif place > layout.free:
                columns[name] = lines.field(end - len(names) + place)
        if layout.free is not None:
            after = len(names) - 1 - layout.free
            free = self.lines.joined(numbers, begin + layout.free, end - after)
            columns[names[layout.free]] = self.added([*free])
        patterns = {name: layout.where.get(name, self.grammar.patterns.get(name)) for name in names}
        tests = [
            (columns[name], _from_start(pattern))
            for name, pattern in patterns.items()
            if pattern is not None
        ]
        if layout.other_than is not None:
            tests.append((columns["primitive"], _from_start(layout.other_than)))
        results = matching(self.texts, tests)
        if layout.other_than is not None:
            results[-1] = ~results[-1]
        fits: Booleans = np.logical_and.reduce([np.ones(len(numbers), bool), *results])
        for name in names:
            self.column(name)[numbers[fits]] = columns[name][fits]
        if layout.event is not None:
            self.column("event")[numbers[fits]] = self.added([layout.event])[0]
        return fits

    # ---- oneMKL ----------------------------------------------------------------------------------

    def read_mkl(self) -> None:
        """Fill the rows of MKL_VERBOSE lines: calls with their time, banners, what is neither."""
        row = np.flatnonzero(self.is_mkl)
        if not len(row):
            return
        lines = self.lines.frame(row)[["text"]]
        some = lines.unique(maintain_order=True).with_row_index("number")
        number = lines.join(some, on="text", maintain_order="left")["number"].to_numpy()
        calls = _read_mkl(some, self.grammar)
        for name in ("marker", "event", "primitive", "problem", "attributes", "message", "reason"):
            self.column(name)[row] = self.added(calls[name].to_list())[number]
        self.microseconds[row] = calls["microseconds"].to_numpy()[number]

    # ---- the rows --------------------------------------------------------------------------------

    def finished(self, most_unread: int) -> pl.DataFrame:
        """Rows with all columns and their types."""
        unread = np.flatnonzero(self.column("reason") != NO_TEXT)
        if len(unread) > most_unread:
            self._keep(np.delete(np.arange(len(self.lines)), unread[most_unread:]))
        self._name_events()
        columns = {name: self.column(name) for name in (*_TEXTS, "template")}
        kind = self._changed(columns["primitive"], lambda name: name.removesuffix("_v2"))
        columns["primitive_kind"] = kind
        columns["attributes"] = self._changed(columns["attributes"], lambda text: text.rstrip(" "))
        template = self._changed(columns["template"], lambda text: text.split(":", 1)[-1])
        message = columns["message"]
        columns["message"] = np.where(message == NO_TEXT, template, message)
        self.texts = self.texts.set(self.texts == "", None).rechunk()  # quicker than pieces
        shown = {"at": pl.Series(self.lines.at)} | self._numbers()
        self.columns.clear()  # each goes when its texts are made
        shown |= {name: self._texts(columns.pop(name)) for name in _TEXTS}
        return pl.DataFrame(
            [shown[name].cast(kind).alias(name) for name, kind in VERBOSE_SCHEMA.items()]
        )

    def _keep(self, numbers: Integers) -> None:
        """Leave out all other rows."""
        self.lines = self.lines.of(numbers)
        self.is_mkl, self.is_graph = self.is_mkl[numbers], self.is_graph[numbers]
        self.microseconds = self.microseconds[numbers]
        self.columns = {name: codes[numbers] for name, codes in self.columns.items()}

    def _numbers(self) -> dict[str, pl.Series]:
        """Durations and times: what texts say as numbers, each distinct one read once."""
        reads = {"milliseconds": _microseconds, "timestamp": _time}
        some = [distinct(self.column(name), len(self.texts)) for name in reads]
        texts = [pl.lit(self.texts[codes]) for codes in some]
        results = at_once(read(text) for read, text in zip(reads.values(), texts, strict=True))
        numbers = []
        for name, wanted, values in zip(reads, some, results, strict=True):
            number = np.full(len(self.texts) + 1, np.nan)
            number[wanted] = values.cast(pl.Float64).to_numpy()
            numbers.append(number[self.column(name)])
        took = np.where(self.is_mkl, self.microseconds, numbers[0])
        took = np.where(took <= DAY_US, took, np.nan)  # else the line is damaged
        return {
            "duration_us": pl.Series(took, nan_to_null=True),
            "time": pl.Series(numbers[1], nan_to_null=True),
        }

    def _name_events(self) -> None:
        """The names of events that have none, or that are of the graph API."""
        event, reason = self.column("event"), self.column("reason")
        missing = event == NO_TEXT
        row = np.flatnonzero(self.is_graph & ~missing)
        event[row] = self._changed(event[row], _of_graph)
        event[missing], reason[missing] = self.added([UNPARSED, _UNREAD])

    def _changed(self, codes: Integers, change: Callable[[str], str]) -> Integers:
        """The numbers of changed texts; each distinct one is changed once."""
        some = distinct(codes, len(self.texts))
        number = np.arange(len(self.texts) + 1, dtype=np.int32)
        number[-1] = NO_TEXT
        texts = self.texts[some].to_list()
        number[some] = self.added([text if text is None else change(text) for text in texts])
        changed: Integers = number[codes]
        return changed


def _of_graph(event: str) -> str:
    is_own = event.startswith("graph:") or event in {"info", "template"}
    return event if is_own else f"graph:{event}"


def _microseconds(milliseconds: pl.Expr) -> pl.Expr:
    return (milliseconds.cast(pl.Float64, strict=False) * 1000).round_sig_figs(_MOST_DIGITS)


def _time(timestamp: pl.Expr) -> pl.Expr:
    """µs since the epoch."""
    digits = timestamp.str.replace(".", "", literal=True)
    # As integers: a float has no room for the last digit of ns.
    time = (digits.cast(pl.Int64, strict=False) + 500) // 1000
    return pl.when(timestamp.str.contains(_TIMESTAMP)).then(time)


# ---- heads ---------------------------------------------------------------------------------------


def _near(heads: pl.DataFrame, layouts: list[VerboseLayout]) -> list[VerboseLayout]:
    """The layouts whose markers, versions and components are among those of the heads."""
    markers, versions, components = (
        {text or "" for text in heads[name]} for name in ("marker", "version_tag", "component")
    )
    return [
        layout
        for layout in layouts
        if not markers.isdisjoint(layout.markers)
        and not versions.isdisjoint(layout.versions)
        and not components.isdisjoint(layout.components)
    ]


def _fits_heads(heads: pl.DataFrame, layouts: list[VerboseLayout]) -> list[pl.Series]:
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


def _from_start(pattern: str) -> str:
    return f"(?s)^(?:{pattern})"


# ---- oneMKL --------------------------------------------------------------------------------------


def _read_mkl(lines: pl.DataFrame, grammar: VerboseGrammar) -> pl.DataFrame:
    """Rows of MKL_VERBOSE lines: calls with their time, the banner, and what is neither."""
    text = pl.col("text")
    call = text.str.extract_groups(grammar.mkl_call).struct
    return lines.select(
        call.field("primitive"),
        call.field("problem").str.replace_all(_ADDRESS, "").str.strip_prefix(","),
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
        * pl.col("unit").replace_strict(MICROSECONDS, return_dtype=pl.Float64, default=None),
        reason=pl.when(pl.col("primitive").is_null() & pl.col("message").is_null()).then(
            pl.lit(_UNREAD)
        ),
    )
