"""Verbose lines of oneDNN (and oneMKL) → one typed row each, in columns.

The fields of a line are its head (marker, version, timestamp, component, event) and its body. Each
layout of the grammar (`grammars/onednn/`) is tried on the lines of its heads: the number of fields
has to be right, and every field has to look like one. A line that no layout fits keeps its event
and gets a reason; none of its fields is guessed.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tflogscope.events.onednn_header import layouts_of_templates
from tflogscope.events.verbose_lines import NO_TEXT, VerboseLines, distinct
from tflogscope.grammar.load import load_grammar
from tflogscope.grammar.verbose import Layout, VerboseGrammar
from tflogscope.native.library import FIELDS

Integers = NDArray[np.integer]
Booleans = NDArray[np.bool_]

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
_MOST_DIGITS = 7  # significant ones of a time: `3.906250e-03`; the rest is binary dust
_TEXTS = [name for name, kind in VERBOSE_SCHEMA.items() if kind == pl.String()]


def read_verbose(lines: VerboseLines, grammar: VerboseGrammar | None = None) -> pl.DataFrame:
    """Read verbose lines; return one row per line, in their order.

    Columns: VERBOSE_SCHEMA. `event` is as printed (`exec`, `create:cache_miss`, `info`, …), with
    `graph:` before it for the graph API; `template` is a header that names columns, `mkl_verbose`
    a call of oneMKL, `legacy` a text of an engine, `unparsed` a line without any known event.
    `duration_us` is in µs, `time` in µs since the epoch. `reason` is null where the line was read;
    else it says why not, and only head and event are filled. Empty fields are null.
    """
    grammar = grammar or load_grammar().verbose
    rows = _Rows(lines, grammar)
    rows.read_layouts()
    rows.read_mkl()
    return rows.finished()


class _Rows:
    """The columns of rows while they are made: numbers of texts, those of `lines` and new ones."""

    def __init__(self, lines: VerboseLines, grammar: VerboseGrammar) -> None:
        self.lines = lines
        self.grammar = grammar
        self.new: list[str | None] = []
        self._all = pl.Series(dtype=pl.String)
        self.microseconds = np.full(len(lines), np.nan)
        self.columns: dict[str, Integers] = {}
        self.is_mkl = lines.matches(lines.field(0), f"^{MKL_MARKER} ")
        self._read_heads()

    def column(self, name: str) -> Integers:
        """A column that may be written to."""
        if name not in self.columns:
            self.columns[name] = np.full(len(self.lines), NO_TEXT, np.int32)
        return self.columns[name]

    def added(self, texts: list[str | None]) -> Integers:
        """The numbers of new texts."""
        first = len(self.lines.texts) + len(self.new)
        self.new += texts
        return np.arange(first, first + len(texts), dtype=np.int32)

    def _read_heads(self) -> None:
        """Cut off the head of each line: what is left are fields from `begin` on."""
        lines = self.lines
        place = np.ones(len(lines), np.int64)
        for name, pattern in self.grammar.heads:
            field = lines.field(place)
            is_one = lines.matches(field, f"^(?:{pattern})$") & (place + 1 < lines.count)
            is_one &= ~self.is_mkl
            self.columns[name] = np.where(is_one, field, NO_TEXT)
            place += is_one
        marker = lines.field(0)
        self.columns["marker"] = np.where(
            lines.among(marker, self.grammar.markers), marker, NO_TEXT
        )
        self.is_graph = lines.among(marker, ["onednn_graph_verbose"])
        self.is_graph |= lines.among(self.columns["component"], ["graph"])
        self.columns["event"] = lines.field(place)
        self.begin = place + 1
        # Commas of the body, -1: there is no body.
        self.commas = lines.count - self.begin - 1
        full = np.flatnonzero(lines.count == FIELDS)
        last = pl.Series(lines.field(FIELDS - 1, full))
        self.commas[full] += (
            lines.texts.gather(last).str.count_matches(",", literal=True).to_numpy()
        )

    # ---- layouts ---------------------------------------------------------------------------------

    def read_layouts(self) -> None:
        """Fill the rows of the lines by the layout that fits them, and say why of the others."""
        heads, number = self._heads()
        left = ~self.is_mkl
        tried = _Tried(len(left))
        # The more fields, the more particular: what leaves all of a line to a message comes last.
        layouts = sorted(self.grammar.layouts, key=lambda layout: -len(layout.fields))
        layouts = [*layouts_of_templates(self._templates(), self.grammar), *layouts]
        layouts = _near(heads, layouts)
        for layout, fits_head in zip(layouts, _fits_heads(heads, layouts), strict=True):
            if not fits_head.any():
                continue
            near = left & fits_head.to_numpy()[number]
            # What is for one primitive only says nothing of a line that it does not fit.
            particular = "primitive" in layout.where and layout.free is not None
            if not particular:
                tried.add(near, layout, self.commas)
            count = len(layout.fields) - 1 - layout.whole
            near &= (self.commas == count) if layout.free is None else (self.commas >= count)
            rows = np.flatnonzero(near)
            fits = self._split(rows, layout)
            left[rows[fits]] = False
            if not particular:
                tried.out_of_place[rows[~fits]] = True
        self.left = np.flatnonzero(left)
        self.reasons = tried.reasons(self.left)

    def _heads(self) -> tuple[pl.DataFrame, Integers]:
        """Distinct heads, and the number of each line's."""
        codes = np.stack([self.columns[name] for name in _HEAD])
        change = np.ones(codes.shape[1], bool)  # lines with one head mostly follow each other
        change[1:] = (codes[:, 1:] != codes[:, :-1]).any(axis=0)
        some, which = np.unique(codes[:, change], axis=1, return_inverse=True)
        texts = {name: self._texts(some[at]) for at, name in enumerate(_HEAD)}
        return pl.DataFrame(texts), which.reshape(-1)[np.cumsum(change) - 1]

    def _templates(self) -> pl.DataFrame:
        """Lines that may name columns: their heads and bodies."""
        info = self.lines.among(self.columns["event"], ["info"]) & ~self.is_mkl
        rows = np.flatnonzero(info & (self.commas >= 0))
        body = self.lines.joined(rows, self.begin[rows], self.lines.count[rows])
        texts = {name: self._texts(self.columns[name][rows]) for name in _HEAD}
        return pl.DataFrame(texts | {"body": pl.Series(body, dtype=pl.String)})

    def _split(self, rows: Integers, layout: Layout) -> Booleans:
        """Fill the rows that the layout fits; say which these are."""
        lines, begin = self.lines.of(rows), self.begin[rows] - layout.whole
        end, names = lines.count, layout.fields
        found: dict[str, Integers] = {}
        for place, name in enumerate(names):
            if layout.free is None or place < layout.free:
                found[name] = lines.field(begin + place)
            elif place > layout.free:
                found[name] = lines.field(end - len(names) + place)
        if layout.free is not None:
            after = len(names) - 1 - layout.free
            free = self.lines.joined(rows, begin + layout.free, end - after)
            found[names[layout.free]] = self.added([*free])
        fits = np.ones(len(rows), bool)
        for name in names:
            pattern = layout.where.get(name, self.grammar.patterns.get(name))
            if pattern is not None:
                fits[fits] = self._matches(found[name][fits], pattern)
        if layout.other_than is not None:
            fits[fits] = ~self._matches(found["primitive"][fits], layout.other_than)
        for name in names:
            self.column(name)[rows[fits]] = found[name][fits]
        if layout.event is not None:
            self.column("event")[rows[fits]] = self.added([layout.event])[0]
        return fits

    def _matches(self, codes: Integers, pattern: str) -> Booleans:
        if not len(codes) or codes[-1] < len(self.lines.texts):
            return self.lines.matches(codes, _from_start(pattern))
        texts = pl.Series([self.new[code - len(self.lines.texts)] for code in codes.tolist()])
        return texts.str.contains(_from_start(pattern)).fill_null(value=False).to_numpy()

    # ---- oneMKL ----------------------------------------------------------------------------------

    def read_mkl(self) -> None:
        """Fill the rows of MKL_VERBOSE lines: calls with their time, banners, what is neither."""
        rows = np.flatnonzero(self.is_mkl)
        if not len(rows):
            return
        found = _read_mkl(self.lines.frame(rows), self.grammar)
        for name in ("marker", "event", "primitive", "problem", "attributes", "message", "reason"):
            self.column(name)[rows] = self.added(found[name].to_list())
        self.microseconds[rows] = found["microseconds"].to_numpy()

    # ---- the rows --------------------------------------------------------------------------------

    def _texts(self, codes: Integers) -> pl.Series:
        return self._all_texts().gather(pl.Series(codes))

    def _all_texts(self) -> pl.Series:
        """All texts by number, and a null at the end: NO_TEXT counts from there."""
        if len(self._all) != len(self.lines.texts) + len(self.new) + 1:
            new = pl.Series([*self.new, None], dtype=pl.String)
            self._all = pl.concat([self.lines.texts, new])
        return self._all

    def finished(self) -> pl.DataFrame:
        """Rows with all columns and their types."""
        self.column("reason")[self.left] = self.added([*self.reasons])
        self._name_events()
        self._strip("primitive", "primitive_kind", lambda text: text.str.strip_suffix("_v2"))
        self._strip("attributes", "attributes", lambda text: text.str.strip_chars_end(" "))
        self._strip("template", "template", lambda text: text.str.replace("^[a-z_]*:", ""))
        message = self.column("message")
        self.columns["message"] = np.where(message == NO_TEXT, self.column("template"), message)
        columns = {"at": pl.Series(self.lines.at)}
        columns["duration_us"], columns["time"] = self._durations(), self._times()
        texts = self._all_texts()
        shown = texts.set(texts == "", None).rechunk()  # of one chunk, polars gathers quicker
        columns |= {name: self._shown(name, shown) for name in _TEXTS}
        return pl.DataFrame(columns).select(
            pl.col(name).cast(kind) for name, kind in VERBOSE_SCHEMA.items()
        )

    def _shown(self, name: str, shown: pl.Series) -> pl.Series:
        """The texts of a column; the last of `shown` is null."""
        if name not in self.columns:
            return shown.clear(len(self.lines))
        # Polars takes numbers of its own type as they are.
        last = np.uint32(len(shown) - 1)
        return shown[pl.Series(np.minimum(self.columns[name].astype(np.uint32), last))]

    def _durations(self) -> pl.Series:
        def read(texts: pl.Series) -> pl.Series:
            milliseconds = texts.cast(pl.Float64, strict=False)
            return (milliseconds * 1000).round_sig_figs(_MOST_DIGITS)

        read_ones = self._values("milliseconds", read)
        return pl.Series(np.where(self.is_mkl, self.microseconds, read_ones)).fill_nan(None)

    def _times(self) -> pl.Series:
        """µs since the epoch."""

        def read(texts: pl.Series) -> pl.Series:
            digits = texts.str.replace(".", "", literal=True)
            # As integers: a float has no room for the last digit of ns.
            times = (digits.cast(pl.Int64, strict=False) + 500) // 1000
            known = texts.str.contains(_TIMESTAMP)
            return times.set(~known.fill_null(value=False), None)

        values = self._values("timestamp", read)
        return pl.Series(values).fill_nan(None).cast(pl.Int64)

    def _name_events(self) -> None:
        """The names of events that have none, or that are of the graph API."""
        event, reason = self.column("event"), self.column("reason")
        missing = event == NO_TEXT
        unread = self.left[np.array(self.reasons, object) == _REASONS[0]]
        rows = np.flatnonzero(self.is_graph & ~missing)
        names = self._texts(event[rows])
        own = names.str.starts_with("graph:") | names.is_in(["info", "template"])
        rows, names = rows[~own.to_numpy()], names.filter(~own)
        event[rows] = self.added([*("graph:" + names)])
        event[missing], reason[missing] = self.added([UNPARSED, _REASONS[0]])
        event[unread] = self.added([UNPARSED])[0]

    def _strip(self, name: str, to: str, change: Callable[[pl.Series], pl.Series]) -> None:
        """A column whose texts are changed, each distinct one once."""
        codes = self.column(name)
        some = distinct(codes, len(self.lines.texts) + len(self.new))
        texts = self._texts(some)
        changed = change(texts)
        differs = (changed != texts).fill_null(value=False).to_numpy()
        number = np.arange(len(self.lines.texts) + len(self.new) + 1, dtype=np.int32)
        number[-1] = NO_TEXT
        number[some[differs]] = self.added(changed.filter(differs).to_list())
        self.columns[to] = number[codes]

    def _values(self, name: str, read: Callable[[pl.Series], pl.Series]) -> NDArray[np.float64]:
        """What the texts of a column say as numbers (NaN: nothing), each distinct one read once."""
        codes = self.column(name)
        size = len(self.lines.texts) + len(self.new)
        some = distinct(codes, size)
        values = np.full(size + 1, np.nan)
        values[some] = read(self._texts(some)).cast(pl.Float64).to_numpy()
        found: NDArray[np.float64] = values[codes]
        return found


# ---- heads ---------------------------------------------------------------------------------------


def _near(heads: pl.DataFrame, layouts: list[Layout]) -> list[Layout]:
    """The layouts whose markers, versions and components are among those of the heads."""
    markers, versions, components = (
        {*heads[name].fill_null("")} for name in ("marker", "version_tag", "component")
    )
    return [
        layout
        for layout in layouts
        if not markers.isdisjoint(layout.markers)
        and not versions.isdisjoint(layout.versions)
        and not components.isdisjoint(layout.components)
    ]


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


# ---- oneMKL --------------------------------------------------------------------------------------


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
