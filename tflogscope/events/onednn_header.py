"""The header that oneDNN prints before its first line: facts, and templates that name columns."""

from __future__ import annotations

from dataclasses import dataclass, replace

import polars as pl

from tflogscope.grammar.verbose import Layout, VerboseGrammar

# oneDNN src/common/verbose.cpp, print_header: the library's name has changed three times.
VERSION = r"^(?:oneDNN(?: Graph)?|DNNL|Intel(?:\(R\))? MKL-DNN) v([0-9]+(?:\.[0-9]+)*)"
_COMMIT = r"\((?:commit|Git Hash) ([^)]+)\)"
_TEMPLATE = r"^(?:prim_)?template:([a-z_]+(?:,[a-z_]+)+)$"
# Names of the template that are other ones here.
_NAMES = {"problem_desc": "problem", "exec_time": "milliseconds"}
_HEAD_NAMES = {"timestamp", "operation", "component"}
_MOST_TEMPLATES = 16  # of a log; a damaged one may have any number
_NEEDED = {"primitive", "milliseconds"}


@dataclass(frozen=True)
class HeaderFacts:
    """What the header says; None or empty where it does not. `threads` is nthr of the CPU."""

    version: str | None = None
    commit: str | None = None
    isa: str | None = None
    cpu_runtime: str | None = None
    threads: int | None = None
    gpu_runtime: str | None = None
    template: tuple[str, ...] = ()
    experimental: tuple[str, ...] = ()


def header_facts(frame: pl.DataFrame) -> HeaderFacts:
    """The facts of the first header in a frame of `read_verbose`."""
    info = frame.filter((pl.col("event") == "info") & (pl.col("marker") != "MKL_VERBOSE"))
    texts = info["message"].drop_nulls()

    def first(pattern: str) -> str | None:
        found = texts.str.extract(pattern, 1).drop_nulls()
        return found[0] if len(found) else None

    # MKL-DNN up to 0.20 has version, hash and ISA on one line.
    isa = first(r"^cpu,isa:(.+)$") or first(r"^Detected ISA is (.+)$")
    threads = first(r"^cpu,runtime:[^,]*,nthr:([0-9]{1,9})$")
    templates = frame.filter(
        (pl.col("event") == "template") & (pl.col("component").fill_null("primitive") != "graph")
    )["message"]
    experimental = texts.filter(texts.str.contains(r"^(?:experimental|use |GPU convolution v2)"))
    return HeaderFacts(
        version=first(VERSION),
        commit=first(_COMMIT),
        isa=isa or first(r"^Intel\(R\) MKL-DNN v[^(]*\([^)]*\),(.+)$"),
        cpu_runtime=first(r"^cpu,runtime:([^,]+)"),
        threads=None if threads is None else int(threads),
        gpu_runtime=first(r"^gpu,runtime:([^,]+)"),
        template=tuple(templates[0].split(",")) if len(templates) else (),
        experimental=tuple(experimental.unique(maintain_order=True)),
    )


def layouts_of_templates(lines: pl.DataFrame, grammar: VerboseGrammar) -> list[Layout]:
    """Layouts for templates that name other columns than the grammar does: of a later release.

    `lines` has marker, version_tag, component, event and body of all lines. What the grammar does
    not know has to be so: a name it has no column for is a field that is skipped.
    """
    templates = (
        lines.filter(pl.col("event") == "info")
        .select("marker", "version_tag", "component", text=pl.col("body").str.extract(_TEMPLATE, 1))
        .drop_nulls("text")
        .unique(maintain_order=True)
    )
    known = {layout.fields for layout in grammar.layouts}
    columns = {name for fields in known for name in fields}
    found: list[Layout] = []
    for marker, version, component, text in templates.head(_MOST_TEMPLATES).rows():
        names = [_NAMES.get(name, name) for name in text.split(",") if name not in _HEAD_NAMES]
        # A column of another name must not take the place of one that the rows have: `at`.
        fields = tuple(name if name in columns else f"other_{name}" for name in names)
        if component == "graph" or fields in known or len(set(fields)) < len(fields):
            continue
        if not set(fields) >= _NEEDED:
            continue
        for layout in grammar.layouts:
            heads = marker in layout.markers and (version or "") in layout.versions
            if heads and layout.name == "primitive" and (component or "") in layout.components:
                found.append(replace(layout, name="of the template", fields=fields))
    return found
