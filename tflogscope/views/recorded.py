"""What was recorded, and what is not available from the log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from tflogscope.model.common.facts import Entry, Summary
from tflogscope.model.common.figures import count_of, duration, percent, size_of
from tflogscope.model.common.origin import command_of, fields_of
from tflogscope.model.common.recorded import is_busy
from tflogscope.model.run import Run
from tflogscope.views import document as doc
from tflogscope.views.document import Column, first

_SOURCES_SHOWN = 3
_WHOLE_TIMES = 10  # from which on a ratio has no digit after the point


def recorded_section(run: Run, made_by: str = "") -> doc.Section:
    """What was recorded; on a page also by which program, from which files."""
    log = run.summary.recorded
    full = doc.Full(lambda: [*_origin(run), doc.Fact("page made by", made_by)])
    slowed = slowed_fact(run.summary.slowed)
    return doc.Section("What was recorded", (*recorded_facts(log), *slowed, full), "recorded")


def busy_note(facts: Summary) -> Iterator[doc.Paragraph]:
    """That other processes used so much of the machine that times say little."""
    if is_busy(facts.recorded):
        share = percent(facts.recorded.others_cpu_share or 0.0, 1)
        text = f"The machine was busy (other processes used {share} of the CPU)"
        yield doc.Paragraph(f"{text}: times are unreliable.")


def slowed_fact(slowed: Entry | None) -> Iterator[doc.Fact]:
    """How much the log slowed the run, where it shows that."""
    if slowed is not None:
        how = "calibrated to a run" if slowed.calibrated else "estimates of a run"
        text = f"{slowed_text(slowed)}. Except for the total, times are {how} without logging."
        yield doc.Fact("impact", text)


def slowed_text(slowed: Entry) -> str:
    """How much logging slowed the run."""
    share = percent(slowed.logged_us, slowed.wall_us)
    threads = slowed.get("threads")  # a store of before has none
    whole = f"the time of the {threads} threads that call functions" if threads else "the run"
    text = f"logging cost {'' if share[0] in '<>' else 'about '}{share} of {whole}"
    later, printed = slowed.later_us, slowed.duration_us
    if later and printed:
        times = f"{printed / later:.{0 if printed > _WHOLE_TIMES * later else 1}f}×"
        took = f"{duration(printed)} with logging, {duration(later)} without ({times})"
        text += f"; a call to {slowed.function} takes {took}"
    return text


def recorded_facts(log: Entry) -> Iterator[doc.Fact]:
    """The log, its format, when it was written, what its lines are."""
    yield doc.Fact("log", f"{size_of(log.bytes)}: {first(log.sources, _SOURCES_SHOWN)}")
    if log.envelope:
        process = f" · {log.process}" if log.process else ""
        yield doc.Fact("log wrapper", f"{log.envelope}{process}")
    yield doc.Fact("format", " · ".join(_format(log)))
    if log.wall_us is not None:
        span = f"{moment(log.first)} to {(moment(log.last) or '')[11:]}"
        yield doc.Fact("records", f"{span} ({duration(log.wall_us)})")
    kinds = {
        "used": log.recognised,
        "recognized but unused": log.ignored,
        "unrecognized": log.unknown,
        "continuation": log.continuation,
        "blank": log.blank,
    }
    counted = [f"{count:,} {words}" for words, count in kinds.items() if count]
    yield doc.Fact("lines", f"{log.lines:,}: {', '.join(counted)}")
    if log.torn:
        yield doc.Fact("torn", _torn(log))


def _torn(log: Entry) -> str:
    """What met in mid-line, what became of it, and how to record without it."""
    unread = log.onednn_unread_lines
    but = f", except {count_of(unread, 'oneDNN line')}" if unread else ""
    if _all_behind_others(log):
        return (
            f"{count_of(log.torn, 'line')} with other text before TensorFlow's records, such as "
            f"a progress bar or timestamps; all parsed{but}."
        )
    if not log.onednn_verbose_lines:
        return (
            f"{count_of(log.torn, 'line')}: other text, such as the program's standard output, "
            f"is mixed into TensorFlow's records; all separated{but}."
        )
    return (
        f"{count_of(log.torn, 'line')}: standard output (oneDNN or the program) is mixed into "
        f"standard error (TensorFlow); all separated{but}. Two files would prevent this, "
        "but then primitives can't be matched to ops."
    )


def _all_behind_others(log: Entry) -> bool:
    """Whether there are records of TensorFlow, and not one of them begins its line."""
    return log.tensorflow_dialect is None and log.vlog_level is not None


def log_format(dialect: str) -> str:
    """How records begin, by `tensorflow_dialect` (grammars/tables.toml)."""
    names = dialect.replace(" with thread ids", " (thread ids)")
    return f"log format{'s' * (', ' in names)} {names.replace(', ', ' and ')}"


def _format(log: Entry) -> list[str]:
    release, level = log.tensorflow_version, log.vlog_level
    tensorflow = f"TensorFlow {release}" if release else "TensorFlow"
    if _all_behind_others(log):
        parts = [f"{tensorflow} records after other text · VLOG level {level}"]
    elif log.tensorflow_dialect is None:
        parts = [f"no {tensorflow} records"]
    else:
        parts = [
            f"{tensorflow} · {log_format(log.tensorflow_dialect)}",
            "VLOG level unknown" if level is None else f"VLOG level {level}",
        ]
    version, lines = log.onednn_version, log.onednn_verbose_lines
    if log.mkl_lines:
        parts.append(count_of(log.mkl_lines, "oneMKL line"))
    if not lines:
        return [*parts, "no oneDNN lines"]
    parts.append(f"oneDNN {version}" if version else "oneDNN (no header)")
    return [*parts, count_of(lines, "oneDNN verbose line")]


def moment(microseconds: int | None, unit: Literal["ms", "us"] = "ms") -> str | None:
    """A time of the log, from µs since 1970, as it prints it."""
    if microseconds is None:
        return None
    return str(np.datetime64(microseconds, "us").astype(f"datetime64[{unit}]")).replace("T", " ")


# ---- where a page comes from ---------------------------------------------------------------------


def _origin(run: Run) -> Iterator[doc.Fact]:
    """The inputs, and what `tflogscope record` wrote above the log, which may hold anything."""
    for file in run.inputs:
        size = "" if file.size is None else f", {file.size:,} bytes"
        yield doc.Fact("input", (doc.Code(file.name), f"{size}, SHA-256 ", doc.Code(file.sha256)))
    header: Mapping[str, Any] = run.recorded_as or {}
    if command := command_of(header):
        yield doc.Fact("command", doc.Code(" ".join(command)))
    elif not header:
        yield doc.Fact("command", "unknown: the log was not made by tflogscope record")
    for key, label in (("versions", "releases"), ("environment", "settings")):
        for name, value in fields_of(header, key).items():
            yield doc.Fact(label, doc.Code(f"{name}={value}"))
    for key in ("started", "system", "processor"):
        text = header.get(key)
        if isinstance(text, str) and text:
            yield doc.Fact(key, text)


# ---- what is not in the log ----------------------------------------------------------------------


def limits_section(run: Run, room: doc.Room) -> Sequence[doc.Node]:
    """What is not in the log; on a page also what it leaves out, and what each line is."""
    items = [doc.Item(limit.text) for limit in run.summary.limits]
    section = doc.Section(
        "Not available from this log", (*items, doc.Full(lambda: _of_a_page(run, room))), "limits"
    )
    return (section if items else doc.Full(lambda: (section,)),)


def _of_a_page(run: Run, room: doc.Room) -> Iterator[doc.Node]:
    slices, onednn = run.slices, run.summary.onednn
    if slices.clock == "lines":
        yield doc.Item("The log has no timestamps; the timeline counts a line as 1 µs.")
    if slices.clock == "durations":
        yield doc.Item("oneDNN's lines have no timestamps; primitives are drawn back to back.")
    if slices.left_out:
        count = count_of(slices.left_out, "execution")
        yield doc.Item(f"The timeline omits {count} whose records have no timestamp.")
    links = onednn.links if onednn else {}
    for link, text in (
        ("none", "not matched to an op"),
        ("ambiguous", "matched to the best of several candidate ops"),
    ):
        if links.get(link):
            yield doc.Item(f"{count_of(links[link], 'primitive')} {text}")
    if room.notes:
        yield doc.Paragraph("Omitted to keep this page small (use tflogscope report --full):")
        yield from (doc.Item(note) for note in room.notes)
    kinds = run.coverage.to_dicts()
    columns = [
        Column(name, name.replace("_", " "), "text" if isinstance(value, str) else "count")
        for name, value in (kinds[0] if kinds else {}).items()
    ]
    yield doc.Table(columns, kinds, "Log lines by kind", "coverage-table")
