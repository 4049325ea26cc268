"""What `tflogscope ranks` says, and the report of a store: what differs, and who waits."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

from tflogscope.model.common.figures import count_of, duration
from tflogscope.views import document as doc
from tflogscope.views.document import Column
from tflogscope.views.markup import Markup, element

Facts = dict[str, Any]
_ROWS = 20
_CELL = 12  # of the heat map, in pixels
_STEPS = 400
_LONGEST = 200  # characters of a value
# What differs, by `what` of a difference.
_WHAT = {
    "traces": "traces of {}",
    "kernel": "kernel of {}",
    "implementation": "implementation of {}",
    "eager after the first step": "eager {} after the first step",
    "order of calls": "order of {}",
    "problem": "oneDNN problems in {}",
}


def ranks_document(groups: Sequence[Facts]) -> doc.Document:
    """What differs between the ranks of each run, and who waits for whom."""
    return [node for facts in groups for node in _group(facts)]


def _group(facts: Facts) -> Iterator[doc.Node]:
    name = f": {facts['group']}" if facts["group"] else ""
    yield doc.Section(f"{len(facts['ranks'])} ranks{name}", ())
    yield from ranks_sections(facts)


def ranks_sections(facts: Facts) -> Sequence[doc.Node]:
    """The ranks of one run; on a page with a heat map of ranks by steps: how late each came."""
    waits: list[doc.Node] = [*map(doc.Paragraph, describe_stragglers(facts))]
    if facts["steps"]:
        picture = doc.Full(lambda: [doc.Picture(_heat_map(facts))])
        waits += [doc.Brief([*_steps(facts["steps"])]), picture]
    differences = [*map(doc.Paragraph, describe_differences(facts))]
    return (
        doc.Section("Differences between ranks", differences),
        doc.Section("Stragglers", waits),
    )


def describe_differences(facts: Facts) -> list[str]:
    """A sentence for each difference, the odd ranks first."""
    sentences = []
    for difference in facts["differences"]:
        what = _WHAT.get(difference["what"], f"{difference['what']} {{}}")
        by_value: dict[str, list[str]] = {}
        for rank, value in difference["values"].items():
            by_value.setdefault(value, []).append(rank)
        # What is odd comes first.
        by_value = dict(
            sorted(by_value.items(), key=lambda item: item[1][0] not in difference["odd"])
        )
        shown = zip(_shortened([*by_value]), by_value.values(), strict=True)
        values = "; ".join(f"{value} on {_named(', '.join(ranks))}" for value, ranks in shown)
        sentences.append(f"{what.format(difference['subject'])}: {values}")
    if sentences:
        return sentences
    if facts["step_function"] is None:  # problems are compared by step
        return ["None in releases, settings, kernels and implementations."]
    problems = "functions, kernels and oneDNN problems"
    equal = "functions and kernels" if facts["asynchronous"] else problems
    return [f"None in releases, settings, {equal}."]


def _shortened(values: Sequence[str]) -> list[str]:
    """Values from where they begin to differ, if that is far behind their beginning."""
    equal = os.path.commonprefix(values)  # noqa: RUF071  of texts
    start = equal.rfind(" ") + 1 if len(equal) > _LONGEST // 2 else 0
    cut = [f"{'… ' if start else ''}{value[start:]}" for value in values]
    return [value if len(value) <= _LONGEST else f"{value[:_LONGEST]}…" for value in cut]


def describe_stragglers(facts: Facts) -> list[str]:
    """Who makes the others wait, and how much the clocks differ."""
    if facts["asynchronous"]:
        return ["Workers don't wait for each other: the coordinator hands out their steps."]
    if not facts["steps"]:
        return ["Unknown: the ranks call no function."]
    slow, sentences = facts["slow"], []
    if slow is None:
        sentences.append("No consistent straggler.")
    else:
        how, by = "is slowest", f", by {duration(slow['wait_us'])} (median)"
        if facts["skew_us"]:
            whole = duration(slow["step_us"])
            by = f". The earliest waits {duration(slow['wait_us'])} of a {whole} step (medians)"
            how = "arrives last"
        some = "all" if slow["steps"] == slow["of"] else f"{slow['steps']} of"
        steps = f"{some} {slow['of']} steps after the first"
        sentences.append(f"{_named(slow['rank'])} {how} in {steps}{by}.")
    if skew := facts["skew_us"]:
        offsets = ", ".join(f"{_named(rank)} {value:+,.0f} µs" for rank, value in skew.items())
        sentences.append(
            f"Clock offsets from the median, estimated from ends of collectives: {offsets}."
        )
    else:
        sentences.append(
            "The logs have no collectives: the rank with the longest call counts as last."
        )
    return sentences


def _steps(steps: Sequence[Facts]) -> Iterator[doc.Node]:
    columns = [
        Column("step", "step", "label"),
        Column("last", "last rank", "name"),
        Column("wait_us", "arrival spread", "us"),
        *(Column(name, name, "share") for name in (_named(r["rank"]) for r in steps[0]["ranks"])),
    ]
    cells: list[doc.Row] = [
        {
            "step": step["step"],
            "last": step["slowest"],
            "wait_us": step["wait_us"],
            **{_named(rank["rank"]): _both(rank) for rank in step["ranks"]},
        }
        for step in steps[:_ROWS]
    ]
    yield doc.Table(columns, cells, more="--json has all")
    yield doc.Paragraph("rank columns: call time / time in collectives, with logging overhead")
    if len(steps) > _ROWS:
        yield doc.Paragraph(f"{count_of(len(steps) - _ROWS, 'more step')}; --json has all")


def _named(label: str) -> str:
    """Ranks by their numbers; where these are not known, a run by its name."""
    return f"rank{'s' * (',' in label)} {label}" if label[:1].isdigit() else label


def _both(rank: Facts) -> str:
    both = (rank["duration_us"], rank["collective_us"])
    return " / ".join(duration(us) for us in both if us is not None)


def _heat_map(facts: Facts) -> Markup:
    steps = facts["steps"][:_STEPS]
    height = len(facts["ranks"])
    cells: list[Markup] = []
    for column, step in enumerate(steps):
        inside = [rank["collective_us"] for rank in step["ranks"]]
        most = max((us for us in inside if us is not None), default=0)
        for row, rank in enumerate(step["ranks"]):
            if rank["collective_us"] is None:
                continue
            late = most - rank["collective_us"]
            share = late / rank["duration_us"] if rank["duration_us"] else 0
            cells.append(
                element(
                    "rect",
                    x=column * _CELL,
                    y=row * _CELL,
                    width=_CELL - 1,
                    height=_CELL - 1,
                    fill="#b3261e",
                    fill_opacity=round(0.05 + 0.95 * min(share, 1), 3),
                )
            )
    label = (
        f"{height} ranks (rows) by {len(steps)} steps; darker cells are later arrivals, relative "
        "to the rank's step time"
    )
    return element(
        "figure",
        element(
            "svg",
            *cells,
            width=len(steps) * _CELL,
            height=height * _CELL,
            role="img",
            aria_label=label,
        ),
        element("figcaption", label),
    )
