"""What verbose lines say by themselves: partitions, creation, oneMKL's calls, reasons, in words."""

from __future__ import annotations

from collections.abc import Iterator

from tflogscope.model.common.facts import Entry
from tflogscope.model.common.figures import count_of, duration
from tflogscope.views import document as doc


def verbose_facts(facts: Entry) -> Iterator[doc.Fact]:
    """What is beside the primitives that ran."""
    said = facts.verbose
    yield from _graph(said)
    if said.external.height:
        yield doc.Fact("external", "kernels from other libraries: ", _each(said.external.rows()))
    if said.refused.height:
        yield doc.Fact("refused", "implementations skipped: ", _refused(said))


def mkl_facts(said: Entry, exec_lines: int, exec_us: float) -> Iterator[doc.Fact]:
    """Calls of oneMKL, which are no primitives of oneDNN."""
    if not said.calls.height:
        return
    count = count_of(int(said.calls["count"].sum()), "call")
    primitives = f"oneDNN: {count_of(exec_lines, 'primitive')}, {duration(exec_us)}"
    took = duration(float(said.calls["us"].sum()))
    yield doc.Fact("oneMKL", f"{count}, {took} ({primitives})")
    yield doc.Fact("", "", _each(said.calls.select("primitive", "count", "us").rows()))


def _graph(said: Entry) -> Iterator[doc.Fact]:
    if said.partitions.height:
        count = count_of(int(said.partitions["count"].sum()), "partition")
        whole = float(said.partitions["us"].sum())
        text = f"{count} in {duration(whole)}"
        if said.inside:
            inside = f"{duration(said.inside_us)} in {count_of(said.inside, 'primitive')}"
            text += f", including {inside} ({duration(whole - said.inside_us)} self)"
        yield doc.Fact("graph API", text)
        kinds = said.partitions.select("primitive", "implementation", "count", "us").rows()
        named = [(" ".join(filter(None, row[:2])), *row[2:]) for row in kinds]
        yield doc.Fact("", "", _each(named))
    if said.compiled:
        count = count_of(said.compiled, "partition")
        yield doc.Fact("compiled", f"{count} in {duration(said.compiled_us)}")


def _each(rows: list[tuple[object, ...]]) -> list[str]:
    return [
        f"{name} {count_of(int(str(count)), 'run')} {duration(float(str(us)))}"
        for name, count, us, *_ in rows
    ]


def _refused(said: Entry) -> list[str]:
    rows = said.refused.sort("count", "at", descending=[True, False]).to_dicts()
    return [
        f"{' '.join(filter(None, (row['primitive'], row['implementation'])))}: {row['reason']}"
        + (f" ({row['count']:,} ×)" if row["count"] > 1 else "")
        for row in rows
    ]
