"""What was read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tflogscope.events.coverage import problems
from tflogscope.events.events import Events
from tflogscope.events.onednn import MKL_MARKER
from tflogscope.grammar.thresholds import threshold
from tflogscope.model.common.facts import Entry
from tflogscope.model.common.origin import footer_of, simulated_release, tensorflow_version

_MANY_UNKNOWN = threshold("lines-lost.share")
_COUNTS = (
    *("bytes", "lines", "records", "recognised", "ignored", "unknown"),
    *("continuation", "blank", "torn", "bad_bytes"),
)


def recorded_facts(events: Events, header: Mapping[str, Any] | None) -> Entry:
    """What was read: sources, lines by kind (as in the table `coverage`), dialect, level, versions.

    `header` is the line of `tflogscope record` above the log, if there is one; the release of
    TensorFlow is from there. `problems` says in words what is wrong with an input. `first` and
    `last` are the times of the first and the last record: µs since 1970, in the local time of the
    log. `envelope` is what was around each line, `process` which of several processes of the input
    it is, as that says. `simulated` is the release that `tflogscope simulate` wrote the log of.
    """
    coverage = events.coverage
    counts = {name: sum(coverage[name]) for name in _COUNTS}
    first, last = _span(events)
    simulated = simulated_release(header)
    mkl_lines = int((events.primitives["marker"] == MKL_MARKER).sum())
    return Entry(
        sources=coverage["source"].to_list(),
        **counts,
        vlog_level=coverage["vlog_level"].max(),
        tensorflow_dialect=_joined(coverage["tensorflow_dialect"]),
        onednn_version=_joined(coverage["onednn_version"]),
        onednn_verbose_lines=events.verbose_count - mkl_lines,
        mkl_lines=mkl_lines,
        onednn_unread_lines=len(events.unread),
        has_thread_ids=events.has_threads,
        problems=problems(events.spans),
        first=first,
        last=last,
        wall_us=None if first is None or last is None else max(last - first, 0),
        recorded_by_tflogscope=header is not None and simulated is None,
        simulated=simulated,
        tensorflow_version=tensorflow_version(header),
        envelope=_joined(span.account.envelope for span in events.spans),
        process=_joined(span.account.process for span in events.spans),
        others_cpu_share=_others_share(events),
        program_cpu_s=_program_cpu(events),
    )


def is_busy(recorded: Entry) -> bool:
    """Whether other processes used so much of the machine that times say little."""
    share: float | None = recorded.others_cpu_share
    return share is not None and share >= threshold("machine.busy_share")


def why_not_timed(recorded: Entry) -> str | None:
    """Why times of this run are not compared with those of others; None: they are."""
    if recorded.get("simulated"):  # stores of before don't have it
        return "they are simulated"
    return "the machine was busy" if is_busy(recorded) else None


def many_unknown(recorded: Entry) -> int:
    """Records of files that the grammar knows which have another form; 0 if they are few."""
    count: int = recorded.unknown - recorded.onednn_unread_lines
    return count if count > _MANY_UNKNOWN * (count + recorded.recognised) else 0


def _others_share(events: Events) -> float | None:
    """How much of the machine other processes used, where `record` wrote it down: 0 to 1."""
    for span in events.spans:
        share = footer_of(span.tail).get("others_cpu_share")
        if isinstance(share, float | int) and 0 <= share <= 1:
            return float(share)
    return None


def _program_cpu(events: Events) -> float | None:
    """CPU time of the whole program, with the log, where `record` wrote it down, in s."""
    for span in events.spans:
        seconds = footer_of(span.tail).get("program_cpu_s")
        if isinstance(seconds, float | int) and seconds >= 0:
            return float(seconds)
    return None


def _span(events: Events) -> tuple[int | None, int | None]:
    """The first and the last time; in a log of no execution also those of oneDNN's lines."""
    edges = [time for time in events.time_span() if time is not None]
    if not events.runs.height and "executing_op" not in events.seen:
        times = events.primitives["time"].drop_nulls()
        if times.len():
            zone = events.utc_offset
            edges += [int(times.min()) + zone, int(times.max()) + zone]  # type: ignore[arg-type]
    return min(edges, default=None), max(edges, default=None)


def _joined(values: Iterable[str | None]) -> str | None:
    return ", ".join(dict.fromkeys(value for value in values if value)) or None
