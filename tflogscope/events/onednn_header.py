"""The header that oneDNN prints before its first line: facts, and templates that name columns."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice
from typing import NamedTuple

import polars as pl

from tflogscope.grammar.verbose import VerboseGrammar, VerboseLayout

# oneDNN src/common/verbose.cpp, print_header: the library's name has changed three times.
VERSION = r"^(?:oneDNN(?: Graph)?|DNNL|Intel(?:\(R\))? MKL-DNN) v([0-9]+(?:\.[0-9]+)*)"
_TEMPLATE = re.compile(r"(?:prim_)?template:([a-z_]+(?:,[a-z_]+)+)")
# The first line that fits says it; the ISA is in the first of three forms that there is.
_FACTS = {
    "version": VERSION,
    "isa": r"^cpu,isa:(.+)$",
    "detected": r"^Detected ISA is (.+)$",
    "mkl_dnn": r"^Intel\(R\) MKL-DNN v[^(]*\([^)]*\),(.+)$",  # up to 0.20, all on one line
    "cpu_runtime": r"^cpu,runtime:([^,]+)",
    "threads": r"^cpu,runtime:[^,]*,nthr:([0-9]{1,9})$",
}
# Names of the template that are other ones here.
_NAMES = {"problem_desc": "problem", "exec_time": "milliseconds"}
_HEAD_NAMES = {"timestamp", "operation", "component"}
_MOST_TEMPLATES = 16  # of a log; a damaged one may have any number
_NEEDED = {"primitive", "milliseconds"}


class HeaderFacts(NamedTuple):
    """What the header says; None where it does not. `threads` is nthr of the CPU."""

    version: str | None = None
    isa: str | None = None
    cpu_runtime: str | None = None
    threads: int | None = None


def header_facts(frame: pl.DataFrame) -> HeaderFacts:
    """The facts of the first header in a frame of `read_verbose`."""
    event, message = pl.col("event"), pl.col("message")
    info = message.filter((event == "info") & (pl.col("marker") != "MKL_VERBOSE")).drop_nulls()
    facts = frame.select(
        info.str.extract(pattern).drop_nulls().first().alias(n) for n, pattern in _FACTS.items()
    ).row(0, named=True)
    threads, isa = facts["threads"], (facts.pop("isa"), facts.pop("detected"), facts.pop("mkl_dnn"))
    facts["threads"] = None if threads is None else int(threads)
    return HeaderFacts(**facts, isa=next(filter(None, isa), None))


def layouts_of_templates(
    lines: Iterable[tuple[str | None, str | None, str | None, str]], grammar: VerboseGrammar
) -> list[VerboseLayout]:
    """Layouts for templates that name other columns than the grammar does: of a later release.

    `lines` have marker, version_tag, component and body of lines of the event `info`. What the
    grammar does not know has to be so: a name it has no column for is a field that is skipped.
    """
    templates = dict.fromkeys(
        (marker, version, component, match[1])
        for marker, version, component, body in lines
        if (match := _TEMPLATE.fullmatch(body))
    )
    field_sets = {layout.fields for layout in grammar.layouts}
    columns = {name for fields in field_sets for name in fields}
    layouts: list[VerboseLayout] = []
    for marker, version, component, text in islice(templates, _MOST_TEMPLATES):
        names = [_NAMES.get(name, name) for name in text.split(",") if name not in _HEAD_NAMES]
        # A column of another name must not take the place of one that the rows have: `at`.
        fields = tuple(name if name in columns else f"other_{name}" for name in names)
        if component == "graph" or fields in field_sets or len(set(fields)) < len(fields):
            continue
        if not set(fields) >= _NEEDED:
            continue
        for layout in grammar.layouts:
            heads = marker in layout.markers and (version or "") in layout.versions
            if heads and layout.name == "primitive" and (component or "") in layout.components:
                layouts.append(layout._replace(name="of the template", fields=fields))
    return layouts
