"""The events of a log as typed tables, and the account of every line: what the model works on."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tflogscope.errors import NothingRecognised
from tflogscope.events import chunk
from tflogscope.events.lines import LineScanner
from tflogscope.events.onednn import read_verbose
from tflogscope.events.onednn_cut import join_cut
from tflogscope.events.prefix import DIALECTS, NO_TIME
from tflogscope.events.scan import Progress, Scan, SourceSpan, scan_sources
from tflogscope.grammar.fast import extract, match_messages
from tflogscope.grammar.model import Grammar
from tflogscope.sources import Source

_KEY = "#text"  # the code of a record's text; no field of a message can have this name
_QUARTER_HOUR = 15 * 60 * 1_000_000  # µs; all zones' offsets are multiples of it


class Events:
    """All events of one run. `at` numbers the lines of all sources from 0, in order.

    Times are µs since the epoch as the log prints them (Int64, null: none).
    """

    def __init__(self, scan: Scan, scanner: LineScanner, grammar: Grammar) -> None:
        self._scan = scan
        self._scanner = scanner
        self._grammar = grammar
        self.spans: list[SourceSpan] = scan.spans
        self.sites = scanner.sites.table()
        self.executor = scan.executor.frame(
            at=pl.Int64(),
            time=pl.Int64(),
            site=pl.Int32(),
            phase=pl.Int8(),
            id=pl.Int32(),
            step=pl.Int64(),
            definition=pl.Int32(),
            tag=pl.UInt64(),
        )
        self._records = scan.records.frame(
            at=pl.Int64(), time=pl.Int64(), site=pl.Int32(), text=pl.Int32()
        )
        if scan.torn.height:  # repaired records stand at the end, in the order of their lines
            self.executor = self.executor.sort("at", maintain_order=True)
            self._records = self._records.sort("at", maintain_order=True)
        self._align_dialects()

    # ---- tables --------------------------------------------------------------------------------

    @cached_property
    def definitions(self) -> pl.DataFrame:
        """Distinct node definitions by code: node, op, attributes, inputs, dead, device, whole."""
        return self._scanner.definitions.table()

    @cached_property
    def tensors(self) -> pl.DataFrame:
        """What nodes put out (`MemoryLogTensorOutput`): at, step, text (row of `tensor_texts`)."""
        frame = self._scan.tensors.frame(at=pl.Int64(), step=pl.Int64(), text=pl.Int32())
        return frame.sort("at", maintain_order=True) if self._scan.torn.height else frame

    @cached_property
    def tensor_texts(self) -> pl.Series:
        """Distinct pieces of tensor outputs, from `kernel_name:` to the end of the shape."""
        return self._scanner.tensors.texts()

    @cached_property
    def verbose(self) -> pl.DataFrame:
        """Verbose lines of oneDNN: at, text. Those that are cut have their rest, if it is found."""
        lines = _sorted_lines(self._scan.verbose)
        if not self._scan.suspects:
            return lines
        torn = pl.concat(self._scan.suspects).select("at", newline=pl.col("text_1") == "")
        before = _sorted_lines(self._scan.before_verbose)
        return join_cut(lines, before, torn, self._grammar.verbose)

    @cached_property
    def primitives(self) -> pl.DataFrame:
        """The verbose lines as read, one row each: see `onednn.read_verbose`."""
        return read_verbose(self.verbose, self._grammar.verbose)

    @cached_property
    def failures(self) -> pl.DataFrame:
        """Lines `[[{{node N}}]]` that name the node of a failed status: at, text."""
        return _sorted_lines(self._scan.failures)

    @cached_property
    def threads(self) -> NDArray[np.int64]:
        """The OS thread id of each site code, -1 where the log prints none."""
        return self.sites["thread"].cast(pl.Int64, strict=False).fill_null(-1).to_numpy()

    @property
    def has_threads(self) -> bool:
        """Whether the executor's records say which thread wrote them."""
        sites = self.executor["site"] if self.executor.height else self._records["site"]
        known = self.threads[sites.to_numpy()] if len(self.threads) else np.zeros(0)
        return bool(len(known)) and bool((known >= 0).mean() > 0.5)

    @cached_property
    def _texts(self) -> pl.DataFrame:
        """Distinct texts by code: `file`, `message`, `id` of the grammar entry (null: unknown)."""
        texts = self._scanner.texts.texts().cast(pl.String).rename("text").to_frame()
        parts = texts.with_row_index("code").select(
            "code",
            file=pl.col("text").str.extract(r"^([^:]*):", 1),
            message=pl.col("text").str.replace(r"^[^\]]*\] ?", ""),
        )
        matched = [
            part.with_columns(id=match_messages(part["message"], self._grammar.files[file]))
            for (file,), part in parts.group_by("file")
            if file in self._grammar.files
        ]
        ids = pl.concat(part.select("code", "id") for part in matched) if matched else None
        if ids is None:
            return parts.with_columns(id=pl.lit(None, pl.String))
        return parts.join(ids, on="code", how="left", maintain_order="left")

    @cached_property
    def _identified(self) -> pl.DataFrame:
        ids = self._texts["id"]
        return self._records.with_columns(id=ids.gather(self._records["text"]))

    def messages(self, *ids: str) -> pl.DataFrame:
        """Records of one message (or of several with the same fields), in the order of the log.

        Columns: at, time, thread, id, and the fields of the message.
        """
        records = self._identified.filter(pl.col("id").is_in(ids)).rename({"text": _KEY})
        parts = []
        for id_ in ids:
            texts = self._texts.filter(pl.col("id") == id_)
            fields = extract(texts["message"], self._grammar.message(id_))
            parts.append(texts.select(pl.col("code").cast(pl.Int32).alias(_KEY)).hstack(fields))
        fields = pl.concat(parts, how="diagonal")
        joined = records.join(fields, on=_KEY, how="left", maintain_order="left")
        return joined.with_columns(thread=self._thread_of(joined["site"])).drop("site", _KEY)

    def _thread_of(self, sites: pl.Series) -> pl.Series:
        threads = np.append(self.threads, -1)[sites.to_numpy()]  # site -1: no prefix
        return pl.Series("thread", threads)

    # ---- time ----------------------------------------------------------------------------------

    def _align_dialects(self) -> None:
        """Turn NO_TIME into null, and bring absl's UTC to the local time of the classic dialect.

        The offset is worked out from absl records and the classic record before each of them.
        """
        time = pl.when(pl.col("time") != NO_TIME).then("time")
        self.executor = self.executor.with_columns(time=time)
        self._records = self._records.with_columns(time=time)
        seen = sum(self._scan.dialects)
        if not isinstance(seen, np.ndarray) or not (seen[0] and seen[1]):
            return
        absl_sites = self.sites["severity"].is_null() & self.sites["file"].is_not_null()
        absl = pl.Series(np.append(absl_sites.to_numpy(), False))
        both = pl.concat([self.executor, self._records], how="diagonal").select(
            "at",
            "time",
            absl=absl.gather(pl.concat([self.executor["site"], self._records["site"]])),
        )
        both = both.drop_nulls("time").sort("at")
        before = both.filter(~pl.col("absl")).select("at", classic="time")
        near = both.filter("absl").join_asof(before, on="at").drop_nulls("classic")
        if near.is_empty():
            return
        offset = float((near["classic"] - near["time"]).median())  # type: ignore[arg-type]
        shift = round(offset / _QUARTER_HOUR) * _QUARTER_HOUR
        for name in ("executor", "_records"):
            frame: pl.DataFrame = getattr(self, name)
            is_absl = absl.gather(frame["site"])
            setattr(
                self, name, frame.with_columns(time=pl.col("time") + is_absl.cast(pl.Int64) * shift)
            )

    @cached_property
    def record_times(self) -> pl.DataFrame:
        """When records were written: at, time in µs, thread (-1: not printed), sorted.

        Those without a time are left out.
        """
        times = pl.concat(
            [frame.select("at", "time", "site") for frame in (self.executor, self._records)]
        ).drop_nulls("time")
        return times.select("at", "time", thread=self._thread_of(times["site"])).sort("at")

    def time_span(self) -> tuple[int | None, int | None]:
        """The first and the last time of any record that is kept, in µs; None if none has one."""
        times = [self.executor["time"], self._records["time"]]
        first = [time.min() for time in times if time.count()]
        last = [time.max() for time in times if time.count()]
        return min(first, default=None), max(last, default=None)  # type: ignore[type-var, return-value]

    def problems(self) -> list[str]:
        """Why sources could not be read as they are: ends of archives missing, lines cut."""
        found = []
        for span in self.spans:
            account = span.account
            if account.problem:
                found.append(f"{span.name}: {account.problem}")
            if account.cut_lines:
                lines = (
                    "1 line is" if account.cut_lines == 1 else f"{account.cut_lines:,} lines are"
                )
                found.append(
                    f"{span.name}: {lines} longer than the cap; {account.cut_bytes:,} bytes "
                    "of that were left out"
                )
        return found

    # ---- coverage ------------------------------------------------------------------------------

    @cached_property
    def coverage(self) -> pl.DataFrame:
        """The `coverage` table of the contract, without `onednn_version`."""
        classes = np.concatenate([*self._scan.classes, np.zeros(0, np.int8)])
        unknown_at = self._identified.filter(pl.col("id").is_null())["at"].to_numpy()
        is_unknown = np.zeros(len(classes), bool)
        is_unknown[unknown_at] = True
        is_unread = np.zeros(len(classes), bool)
        is_unread[self._unread_at] = True
        torn_at = self._scan.torn["at"].to_numpy() if self._scan.torn.height else np.zeros(0, int)
        level = self._levels()
        rows = []
        for span in self.spans:
            inside = slice(span.first, span.first + span.lines)
            counts = np.bincount(classes[inside], minlength=chunk.LINE_CLASSES).tolist()
            unknown = is_unknown[inside] & (classes[inside] == chunk.TEXT_LINE)
            unknown |= is_unread[inside] & (classes[inside] == chunk.VERBOSE_LINE)
            records_unknown = int(unknown.sum())
            recognised = sum(
                counts[kind]
                for kind in (
                    chunk.EXECUTOR_LINE,
                    chunk.MEMORY_LINE,
                    chunk.TEXT_LINE,
                    chunk.VERBOSE_LINE,
                )
            )
            recognised -= records_unknown
            torn = (torn_at >= span.first) & (torn_at < span.first + span.lines)
            rows.append(
                {
                    "source": span.name,
                    "bytes": span.account.bytes,
                    "lines": span.lines,
                    "records": recognised + counts[chunk.IGNORED_LINE] + records_unknown,
                    "recognised": recognised,
                    "ignored": counts[chunk.IGNORED_LINE],
                    "unknown": records_unknown,
                    "continuation": counts[chunk.CONTINUATION_LINE] + counts[chunk.SUSPECT_LINE],
                    "blank": counts[chunk.BLANK_LINE],
                    "torn": int(torn.sum()),
                    "bad_bytes": span.account.bad_bytes,
                    "vlog_level": level,
                    "tensorflow_dialect": self._dialect(),
                }
            )
        schema = dict.fromkeys(_COUNTS, pl.UInt64)
        return pl.DataFrame(
            rows,
            schema={"source": pl.String, **schema, "vlog_level": pl.UInt8}
            | {"tensorflow_dialect": pl.String},
        )

    @cached_property
    def has_memory_records(self) -> bool:
        """Whether `log_memory.cc` wrote into the log."""
        return any((part == chunk.MEMORY_LINE).any() for part in self._scan.classes)

    @property
    def _unread_at(self) -> NDArray[np.int64]:
        """Lines whose first verbose record no layout fits."""
        first = self.primitives.unique("at", keep="first", maintain_order=True)
        return first.filter(pl.col("reason").is_not_null())["at"].to_numpy()

    def _levels(self) -> int | None:
        """The highest VLOG level of any message seen."""
        levels = [
            self._grammar.by_id[id_].level
            for id_ in self._identified["id"].drop_nulls().unique().to_list()
        ]
        if self.executor.height:
            levels.append(2 if (self.executor["phase"] != chunk.START).any() else 1)
        if self.has_memory_records:
            levels.append(
                self._grammar.by_id["log_memory"].level
                if "log_memory" in self._grammar.by_id
                else 2
            )
        return max(levels, default=None)

    def _dialect(self) -> str | None:
        seen = sum(self._scan.dialects)
        if not isinstance(seen, np.ndarray):
            return None
        names = []
        for dialect, count in zip(DIALECTS, seen.tolist(), strict=True):
            if count:
                tid = dialect.name == "classic" and self.has_threads
                names.append("classic with thread ids" if tid else dialect.name)
        return ", ".join(names) or None

    def require_recognised(self) -> None:
        """Raise NothingRecognised if no line of any source is a record that is known."""
        if not self.coverage["recognised"].sum():
            raise NothingRecognised(
                "no TensorFlow or oneDNN record in it",
                ", ".join(span.name for span in self.spans),
                "Record with TF_CPP_MAX_VLOG_LEVEL=2 ONEDNN_VERBOSE=1 and both streams in one file "
                "(python program.py > run.log 2>&1).",
            )


_COUNTS = (
    "bytes",
    "lines",
    "records",
    "recognised",
    "ignored",
    "unknown",
    "continuation",
    "blank",
    "torn",
    "bad_bytes",
)


def _sorted_lines(frames: list[pl.DataFrame]) -> pl.DataFrame:
    if not frames:
        return pl.DataFrame(schema={"at": pl.Int64, "text": pl.String})
    return pl.concat(frames).sort("at", maintain_order=True)


def read_events(
    sources: list[Source], grammar: Grammar, progress: Progress | None = None
) -> Events:
    """Scan all sources. Raises InputError if one can't be read, NothingRecognised."""
    scanner = LineScanner(grammar)
    events = Events(scan_sources(sources, scanner, progress), scanner, grammar)
    events.require_recognised()
    return events
