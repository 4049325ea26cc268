"""What verbose lines say by themselves: partitions, creation, oneMKL's calls, reasons, in words."""

from __future__ import annotations

from collections.abc import Iterator

from tflogscope.model.common.facts import Entry
from tflogscope.model.common.figures import count_of, duration
from tflogscope.views import document as doc


def verbose_facts(facts: Entry) -> Iterator[doc.Fact]:
    """What is beside the primitives that ran."""
    verbose = facts.verbose
    yield from _graph(verbose)
    if verbose.external.height:
        yield doc.Fact("external", "kernels from other libraries: ", _each(verbose.external.rows()))
    if verbose.refused.height:
        count = count_of(int(verbose.refused["count"].sum()), "implementation")
        yield doc.Fact("skipped", f"{count}: ", _refused(verbose))


def mkl_facts(verbose: Entry, exec_lines: int, total_us: float) -> Iterator[doc.Fact]:
    """Calls of oneMKL, which are no primitives of oneDNN."""
    if not verbose.calls.height:
        return
    count = count_of(int(verbose.calls["count"].sum()), "call")
    primitives = f"oneDNN: {count_of(exec_lines, 'primitive')}, {duration(total_us)}"
    took = duration(float(verbose.calls["us"].sum()))
    yield doc.Fact("oneMKL", f"{count}, {took} ({primitives})")
    yield doc.Fact("", "", _each(verbose.calls.select("primitive", "count", "us").rows()))


def _graph(verbose: Entry) -> Iterator[doc.Fact]:
    if verbose.partitions.height:
        count = count_of(int(verbose.partitions["count"].sum()), "partition")
        whole = float(verbose.partitions["us"].sum())
        text = f"{count} in {duration(whole)}"
        if verbose.inside:
            inside = f"{duration(verbose.primitive_us)} in {count_of(verbose.inside, 'primitive')}"
            text += f", including {inside} ({duration(whole - verbose.primitive_us)} self)"
        yield doc.Fact("graph API", text)
        kinds = verbose.partitions.select("primitive", "implementation", "count", "us").rows()
        named = [(" ".join(filter(None, row[:2])), *row[2:]) for row in kinds]
        yield doc.Fact("", "", _each(named))
    if verbose.compiled.height:
        count = count_of(int(verbose.compiled["count"].sum()), "partition")
        yield doc.Fact("compiled", f"{count} in {duration(float(verbose.compiled['us'].sum()))}")


def _each(counts: list[tuple[object, ...]]) -> list[str]:
    return [
        f"{name} {count_of(int(str(count)), 'run')} {duration(float(str(us)))}"
        for name, count, us, *_ in counts
    ]


def _refused(verbose: Entry) -> list[str]:
    skipped = verbose.refused.sort("count", "at", descending=[True, False]).to_dicts()
    return [
        f"{' '.join(filter(None, (row['primitive'], row['implementation'])))}: {row['reason']}"
        + (f" ({row['count']:,}×)" if row["count"] > 1 else "")
        for row in skipped
    ]
