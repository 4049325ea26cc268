"""What `tflogscope analyze` shows of oneDNN and of plug-ins: kernels and primitives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tflogscope.grammar.rewriters import REWRITERS
from tflogscope.model.figures import count_of
from tflogscope.views.pieces import NAME_WIDTH, heading, percent, say, say_list, whose
from tflogscope.views.table import duration
from tflogscope.views.text import shorten

if TYPE_CHECKING:
    from rich.console import Console

    from tflogscope.model.facts import (
        Eligible,
        Library,
        OneDNN,
        PrimitiveOps,
        Rewrite,
        Summary,
    )

_LINKED = ("certain", "inferred", "ambiguous")
_REWRITTEN = {
    "layout": "in graph functions (layout pass)",
    "remapper": "in graph functions (grappler's remapper)",
    "eager": "in eager dispatches (eager rewrite registry)",
    "wrapped": "in functions that wrap an eager op (layout pass)",
    **{each.id: f"by the plug-in {each.package}" for each in REWRITERS},
}


def render_onednn(facts: Summary, console: Console) -> None:
    """Print what the log says about oneDNN and plug-ins, nothing if it says nothing."""
    has_executions = bool(facts.eager.kinds or facts.graph.kinds)
    has_kernels = has_executions or bool(facts.rewrites)
    if not has_kernels and facts.onednn is None:
        return
    names = facts.rewriters.kernels + facts.rewriters.primitives
    heading(" and ".join(dict.fromkeys(names)), console)
    if has_kernels:
        _kernels(facts.rewrites, whose(facts.rewriters), console)
        _nodes(facts.eligible, facts.rewriters.knows, whose(facts.rewriters), console)
    for library in facts.libraries:
        _library(library, console)
    if facts.onednn is not None:
        _primitives(facts.onednn, console)


def _kernels(rewrites: list[Rewrite], names: str, console: Console) -> None:
    label = "kernels"
    if not rewrites:
        say(label, f"no op was rewritten to a kernel of {names}", console)
    for by, words in _REWRITTEN.items():
        here = [row for row in rewrites if row.by == by]
        if here:
            count = sum(row.count for row in here)
            kernels = [f"{row.to_op} {row.count:,}" for row in here]
            say_list(label, kernels, console, before=f"{count:,} {words}: ")
            label = ""
    phantoms = sum(row.never_ran for row in rewrites)
    if phantoms:
        say("", f"{phantoms:,} of these never ran: their function was made and not used", console)


def _nodes(eligible: Eligible, knows: str, kernels: str, console: Console) -> None:
    """How many nodes are of types that can be rewritten, and what kept the others from it."""
    if not eligible.nodes:
        return
    whole, done = eligible.nodes, eligible.rewritten
    said = f"{done:,} of {whole:,} that {knows} are {kernels} kernels"
    kept = [f"{entry.nodes:,} {entry.reason}" for entry in eligible.reasons]
    if kept:
        say_list("nodes", kept, console, before=f"{said}; the others: ")
    else:
        say("nodes", said, console)


def _library(facts: Library, console: Console) -> None:
    """What a plug-in's own library printed."""
    count = count_of(facts.exec_lines, "primitive")
    took = "" if facts.exec_us is None else f" in {duration(facts.exec_us)}"
    say(facts.library, f"{count}{took}; {_links(facts.links)}", console)
    kinds = [
        " ".join(filter(None, (row.primitive, row.implementation)))
        + (f" {count_of(row.count, 'run')}" if row.us is None else f" {duration(row.us)}")
        for row in facts.implementations
    ]
    say_list("", kinds, console)


def _primitives(facts: OneDNN, console: Console) -> None:
    header = facts.header
    said = [
        header.isa or "not known: no header",
        f"{header.cpu_runtime} runtime" if header.cpu_runtime else None,
        count_of(header.threads, "thread") if header.threads else None,
    ]
    say("build", " · ".join(part for part in said if part), console)
    if facts.exec_lines:
        _runs(facts, console)
    else:
        say("runs", "no primitive ran, or none was printed", console)
    if facts.created:
        created = [
            f"{entry.event.removeprefix('create:')} {entry.count:,}"
            + (f" ({duration(entry.us)})" if entry.us else "")
            for entry in facts.created
        ]
        say_list("created", created, console)
    if facts.unparsed:
        count = count_of(facts.unparsed, "verbose line")
        say("unread", f"{count} of no known form, kept as `unparsed`", console)


def _runs(facts: OneDNN, console: Console) -> None:
    total = facts.exec_us
    count = count_of(facts.exec_lines, "primitive")
    say("runs", f"{count} in {duration(total)}; {_links(facts.links)}", console)
    kinds = [
        # oneDNN names no implementation of gemm_api; a line that can't be read has no primitive.
        " ".join(filter(None, (row.primitive, row.implementation, duration(row.us or 0))))
        + f" ({percent(row.us or 0, total)})"
        for row in facts.implementations
        if row.primitive
    ]
    say_list("time", kinds, console, lines=2)
    ops = facts.ops
    if ops.total_us:
        say("ops", _share_of_ops(ops), console)
    reference = facts.reference_implementations
    if reference:
        slow = [
            f"{row.primitive} {row.implementation} {count_of(row.count, 'run')} "
            f"{duration(row.us or 0)}"
            for row in reference
        ]
        say_list("slow", slow, console, before="reference code, made to be right and not fast: ")
    reorders = facts.reorders
    if reorders:
        worst = [
            f"{shorten(row.node or row.kernel or '?', NAME_WIDTH)} {duration(row.us)}"
            for row in reorders
        ]
        whole = duration(sum(row.us for row in reorders))
        say_list("reorder", worst, console, before=f"{whole} to change layouts: ")
    first = facts.first_use
    if first.later_runs:
        once = duration(first.first_us / first.problems)
        later = duration(first.later_us / first.later_runs)
        say(
            "first",
            f"the first run of each shape and type took {once} on average, later ones {later}",
            console,
        )


def _links(links: dict[str, int]) -> str:
    """For how many primitives it is known which op ran them, and how sure that is."""
    known = {link: links[link] for link in _LINKED if links.get(link)}
    unknown = links.get("none", 0)
    if not known:
        return "which op ran them is not known"
    sure = ", ".join(f"{count:,} {link}" for link, count in known.items())
    rest = f", {unknown:,} not known" if unknown else ""
    return f"which op ran them: {sure}{rest}"


def _share_of_ops(ops: PrimitiveOps) -> str:
    """How much of their ops' time the primitives took: sums, so several threads may exceed it."""
    took, inside = ops.total_us, ops.primitive_us
    whole = f"the ops that ran them took {duration(took)}"
    if inside <= took:
        return f"{whole}, {percent(inside, took)} of it in oneDNN"
    return f"{whole}, their primitives {duration(inside)}, summed over threads"
