"""What the log says about oneDNN and plug-ins: kernels, nodes, primitives; on a page, in tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from tflogscope.grammar.load import packaged_toml
from tflogscope.grammar.rewriters import REWRITERS
from tflogscope.model.common.facts import Entry, Summary
from tflogscope.model.common.figures import count_of, duration, percent
from tflogscope.model.reasons.rules import HAS_KERNEL, NO_KERNEL
from tflogscope.model.run import Run
from tflogscope.views import document as doc
from tflogscope.views.text import shorten

_NAME = 44  # cells
_KIND = "{name} ({runs}, {time})"
_LINKED = ("certain", "inferred", "ambiguous")
_REWRITTEN = {
    **{id_: row["where"] for id_, row in packaged_toml("sentences/rewrites.toml").items()},
    **{rewriter.id: f"by the plug-in {rewriter.package}" for rewriter in REWRITERS},
}


def whose(facts: Summary) -> str:
    """Whose kernels a text speaks of: `oneDNN`, `ZenDNN`, `oneDNN and ITEX`."""
    return " and ".join(facts.rewriters.kernels)


def onednn_section(run: Run, room: doc.Room) -> Sequence[doc.Node]:
    """What the log says; nothing, but on a page, if it says nothing."""
    facts = run.summary
    has_executions = bool(facts.eager.kinds or facts.graph.kinds)
    has_kernels = has_executions or facts.rewrites.height > 0
    names = dict.fromkeys(facts.rewriters.kernels + facts.rewriters.primitives)
    children: list[doc.Node] = []
    if has_kernels:
        children += [*_kernels(facts), *_nodes(facts)]
    for library in facts.libraries:
        children += _library(library)
    if facts.onednn is not None:
        children += _primitives(facts.onednn)
    section = doc.Section(
        " and ".join(names) or "oneDNN", (*children, doc.Full(lambda: _tables(run, room))), "onednn"
    )
    return (section if children else doc.Full(lambda: (section,)),)


def onednn_state(facts: Summary) -> Iterator[doc.Fact]:
    """Whether oneDNN is on, and how much ran on it; its time where the log has no other."""
    off = facts.findings.filter(id="onednn-off")["text"]
    nodes = next(_nodes(facts), None)
    if not off.is_empty():
        ran, more, _ = off[0].partition(". ")  # its time is in the finding
        yield doc.Fact("oneDNN", f"off: {ran}{more.strip()}")
    elif nodes is not None:
        yield doc.Fact(" and ".join(facts.rewriters.kernels) or "oneDNN", nodes.text, nodes.entries)
    timed = facts.eager.has_durations or facts.graph.has_durations
    if not timed and facts.onednn is not None and facts.onednn.exec_lines:
        yield next(_runs(facts.onednn))  # the only times of the log


def _kernels(facts: Summary) -> Iterator[doc.Fact]:
    label, rewrites = "rewritten", facts.rewrites
    if rewrites.is_empty():
        off = "onednn-off" in facts.findings["id"] and facts.onednn is not None
        yield doc.Fact(
            label, "none" + off * " (oneDNN ops are off; Eigen still calls oneDNN's GEMM)"
        )
        return
    for by, words in _REWRITTEN.items():
        here = rewrites.filter(pl.col("by") == by)
        if here.height:
            entries = [
                f"{to_op} ({count:,})" for to_op, count in here.select("to_op", "count").rows()
            ]
            yield doc.Fact(label, f"{here['count'].sum():,} {words}: ", entries)
            label = ""
    if phantoms := rewrites["never_ran"].sum():
        of = f"{phantoms:,} of these {rewrites['count'].sum():,} never ran"
        text = f"{of}: the functions they are in were instantiated but not called"
        yield doc.Fact("", text)


def _nodes(facts: Summary) -> Iterator[doc.Fact]:
    """Of the nodes for which a kernel exists, how many run on it; what kept the others from it."""
    eligible = facts.eligible
    if eligible.nodes:
        nodes, rewritten = count_of(eligible.nodes, "eligible graph node"), eligible.rewritten
        share = percent(eligible.on_kernels, eligible.runs)
        text = f"{rewritten:,} of {nodes} ran on {whose(facts)}"
        if rewritten and (rewritten < eligible.nodes or share != "100%"):
            text += f" ({share} of executions)"
    else:
        text = f"no graph node is eligible for a {whose(facts)} kernel"
        if ran := facts.eager.rewritten.executions:
            text = f"{count_of(ran, 'eager op')} ran on {whose(facts)}; {text}"
    counts = dict(eligible.reasons.select("reason", "nodes").rows())
    without = counts.pop(NO_KERNEL, 0)
    kept = [f"{nodes:,} ({reason})" for reason, nodes in counts.items()]
    if eligible.nodes and len(kept) == 1:
        text += "; the rest didn't" * (rewritten > 0) + f" (reason: {next(iter(counts))})"
        kept = []
    if eligible.nodes and without:
        have = "has" if without == 1 else "have"
        text += f"; {count_of(without, 'other compute node')} {have} no {whose(facts)} kernel"
    if eligible.nodes or eligible.reasons.height:
        yield doc.Fact("nodes", text + "; not rewritten: " * bool(kept), kept)


def _library(facts: Entry) -> Iterator[doc.Fact]:
    """What a plug-in's own library printed."""
    count = count_of(facts.exec_lines, "primitive")
    took = "" if facts.total_us is None else f" in {duration(facts.total_us)}"
    yield doc.Fact(facts.library, f"{count}{took}; {_links(facts.links)}")
    yield doc.Fact("", "", _each(facts.implementations, "{name} {runs_or_time}"))


def _each(table: pl.DataFrame, form: str, whole: float = 0) -> list[str]:
    """Implementations and nodes in words: what ran, how often and for how long."""
    texts = []
    for row in table.to_dicts():
        us, runs = row["us"], count_of(row["count"], "run")
        # oneDNN names no implementation of gemm_api; a line that can't be read has no primitive.
        named = " ".join(filter(None, (row.get("primitive"), row.get("implementation"))))
        texts.append(
            form.format(
                name=named or shorten(row.get("node") or row.get("kernel") or "?", _NAME),
                runs=runs,
                time=duration(us or 0),
                runs_or_time=runs if us is None else duration(us),
                share=percent(us or 0, whole),
            )
        )
    return texts


def _primitives(facts: Entry) -> Iterator[doc.Fact]:
    header = facts.header
    parts = [
        (header.isa or "").strip() or (None if header.version else "unknown (no header)"),
        "ISA not logged" if header.version and not header.isa else None,
        f"{header.cpu_runtime} runtime" if header.cpu_runtime else None,
        f"{count_of(header.threads, 'thread')} (at start-up)" if header.threads else None,
    ]
    yield doc.Fact("setup", " · ".join(part for part in parts if part))
    if facts.exec_lines:
        yield from _runs(facts)
    elif not facts.verbose.calls.height and not facts.verbose.partitions.height:
        yield doc.Fact("executed", "no primitive ran, or none was logged")
    yield from _mkl(facts.verbose, facts.exec_lines, facts.total_us)
    skipped = facts.verbose.refused.height  # these lines are said by themselves
    created = [
        _created(event.removeprefix("create:"), count) + (f" ({duration(us)})" if us else "")
        for event, count, us in facts.created.rows()
        if event != "create:dispatch" or not skipped
    ]
    if created:
        yield doc.Fact("created", "", created)
    yield from _verbose(facts)
    if facts.unparsed:
        count = count_of(facts.unparsed, "verbose line")
        yield doc.Fact("unread", f"{count} in an unknown format, kept as `unparsed`")


def _created(event: str, count: int) -> str:
    """How many primitives were created, and whether oneDNN's cache had them."""
    words = {"cache_miss": ("cache miss", "es"), "cache_hit": ("cache hit", "s")}
    return count_of(count, *words[event]) if event in words else f"{event} {count:,}"


def _runs(facts: Entry) -> Iterator[doc.Fact]:
    total, parsed = facts.total_us, facts.implementations.drop_nulls("primitive")
    read = int(parsed["count"].sum())
    count, unread = count_of(read, "primitive"), facts.exec_lines - read
    but = f"; {count_of(unread, 'more line')} can't be parsed" if unread else ""
    if not read:
        yield doc.Fact("executed", f"{count_of(facts.exec_lines, 'line')}, none can be parsed")
        return
    yield doc.Fact("executed", f"{count}, {duration(total)}; {_links(facts.links)}{but}")
    yield doc.Fact("time", "", _each(parsed, "{name} {time} ({share})", total), lines=2)
    if facts.ops.time_us:
        yield doc.Fact("ops", _share_of_ops(facts.ops))
    if facts.reference_implementations.height:
        slow = _each(facts.reference_implementations, _KIND)
        yield doc.Fact("slow", "unoptimized reference implementations: ", slow)
    if facts.reorders.height:
        whole = duration(float(facts.reorders["us"].sum()))
        worst = _each(facts.reorders, "{name} {time}")
        yield doc.Fact("reorder", f"{whole}: ", worst)
    first = facts.first_use
    if first.later_runs:
        once = duration(first.first_us / first.problems)
        later = duration(first.later_us / first.later_runs)
        count = count_of(first.problems, "primitive")
        text = f"{once} on average, later runs {later} ({count} that ran more than once)"
        yield doc.Fact("first run", text)


def _links(links: Mapping[str, int]) -> str:
    """For how many primitives it is known which op ran them, and how sure that is."""
    matched = {link: links[link] for link in _LINKED if links.get(link)}
    unknown = links.get("none", 0)
    if not matched:
        return "not matched to ops"
    if not unknown and len(matched) == 1:
        how = next(iter(matched))
        return "all matched to ops" + f" ({how} matches)" * (how != _LINKED[0])
    sure = ", ".join(f"{count:,} {link}" for link, count in matched.items())
    rest = f"; {unknown:,} not matched" if unknown else ""
    return f"matched to ops: {sure}{rest}"


def _share_of_ops(ops: Entry) -> str:
    """How much of their ops' time the primitives took: sums, so several threads may exceed it."""
    took, inside = ops.time_us, ops.primitive_us
    whole = f"{duration(took)} in ops that call oneDNN, first runs included"
    if inside <= took:
        return f"{whole}, {percent(inside, took)} of it in primitives"
    return f"{whole}; their primitives ran in parallel, {duration(inside)} over all threads"


# ---- beside the primitives that ran: partitions, creation, oneMKL's calls, reasons --------------


def _verbose(facts: Entry) -> Iterator[doc.Fact]:
    """What is beside the primitives that ran."""
    verbose = facts.verbose
    yield from _graph(verbose)
    if verbose.external.height:
        yield doc.Fact("external", "kernels from other libraries: ", _each(verbose.external, _KIND))
    if verbose.refused.height:
        count = count_of(int(verbose.refused["count"].sum()), "implementation")
        yield doc.Fact("skipped", f"{count}: ", _refused(verbose))


def _mkl(verbose: Entry, exec_lines: int, total_us: float) -> Iterator[doc.Fact]:
    """Calls of oneMKL, which are no primitives of oneDNN."""
    if not verbose.calls.height:
        return
    count = count_of(int(verbose.calls["count"].sum()), "call")
    primitives = f"oneDNN: {count_of(exec_lines, 'primitive')}, {duration(total_us)}"
    took = duration(float(verbose.calls["us"].sum()))
    yield doc.Fact("oneMKL", f"{count}, {took} ({primitives})")
    yield doc.Fact("", "", _each(verbose.calls, _KIND))


def _graph(verbose: Entry) -> Iterator[doc.Fact]:
    if verbose.partitions.height:
        count = count_of(int(verbose.partitions["count"].sum()), "partition")
        whole = float(verbose.partitions["us"].sum())
        text = f"{count} in {duration(whole)}"
        if verbose.inside:
            inside = f"{duration(verbose.primitive_us)} in {count_of(verbose.inside, 'primitive')}"
            text += f", including {inside} ({duration(whole - verbose.primitive_us)} self)"
        yield doc.Fact("graph API", text)
        yield doc.Fact("", "", _each(verbose.partitions, _KIND))
    if verbose.compiled.height:
        count = count_of(int(verbose.compiled["count"].sum()), "partition")
        yield doc.Fact("compiled", f"{count} in {duration(float(verbose.compiled['us'].sum()))}")


def _refused(verbose: Entry) -> list[str]:
    skipped = verbose.refused.sort("count", "at", descending=[True, False]).to_dicts()
    return [
        f"{' '.join(filter(None, (row['primitive'], row['implementation'])))}: {row['reason']}"
        + (f" ({row['count']:,}×)" if row["count"] > 1 else "")
        for row in skipped
    ]


# ---- tables of a page ----------------------------------------------------------------------------


def _tables(run: Run, room: doc.Room) -> Iterator[doc.Node]:
    """The way from traced ops to oneDNN, and what ran there."""
    facts = run.summary
    names, knows = whose(facts), facts.rewriters.knows
    if run.nodes.height:
        yield _way(run)
        table, caption = _by_op(run).to_dicts(), f"Graph function ops that {knows}"
        yield doc.Table(doc.columns("eligible"), table, caption, "eligible-table", tools=True)
        if reasons := _reasons(facts.eligible):
            caption = f"Why nodes that {knows} were not rewritten"
            yield doc.Table(doc.columns("reasons"), reasons, caption, "reasons-table")
    if facts.rewrites.height:
        table, caption = facts.rewrites.to_dicts(), f"Rewrites to {names} kernels"
        yield doc.Table(doc.columns("rewrites"), table, caption, "rewrites-table")
    for library in facts.libraries:
        id_ = f"primitives-{library.library.lower()}-table"
        yield _implementations(library.implementations, library.total_us, library.library, id_)
    if facts.onednn is None and not facts.libraries:
        yield doc.Paragraph("The log has no oneDNN verbose lines; record with ONEDNN_VERBOSE=1.")
    elif facts.onednn is not None:
        if facts.onednn.implementations.height:
            table, whole = facts.onednn.implementations, facts.onednn.total_us
            yield _implementations(table, whole, "oneDNN", "primitives-table")
        problems = _problems(run)
        if problems.height:
            kept = room.rows(problems, "primitive problems")
            caption = "oneDNN time by problem shape"
            yield doc.Table(doc.columns("problems"), kept, caption, "problems-table", tools=True)


def _implementations(frame: pl.DataFrame, whole: float | None, name: str, id_: str) -> doc.Table:
    """Shares only where lines have times."""
    shares = [
        {**row, "share": None if whole is None else percent(row["us"] or 0, whole)}
        for row in frame.to_dicts()
    ]
    caption = f"{name} time by primitive and implementation"
    return doc.Table(doc.columns("implementations"), shares, caption, id_, tools=True)


def _problems(run: Run) -> pl.DataFrame:
    """What each shape of problem took, the most time first."""
    ran = run.primitives.filter(pl.col("event") == "exec").drop_nulls(["primitive", "problem"])
    took = pl.col("duration_us")
    return (
        ran.group_by("primitive", "problem")
        .agg(
            runs=pl.len(),
            us=took.sum(),
            mean_us=took.mean(),
            max_us=took.max(),
            implementations=_distinct("implementation"),
            line=pl.col("line").min(),
        )
        .sort("us", "primitive", "problem", descending=[True, False, False])
    )


def _distinct(column: str) -> pl.Expr:
    return pl.col(column).drop_nulls().unique().sort().str.join(";")


def _way(run: Run) -> doc.Figures:
    """Three facts that are not the same: rewritten, run as such a kernel, primitives run."""
    facts = run.summary
    ran = run.nodes.filter((pl.col("executions") > 0) & (pl.col("node").is_not_null()))
    runs = int(ran.filter(pl.col("rewrite") != "none")["executions"].sum())
    steps = [
        ("graph nodes that ran", ran.height),
        (f"eligible for a {whose(facts)} kernel", facts.eligible.nodes),
        ("rewritten", facts.eligible.rewritten),
        ("runs of rewritten nodes", runs),
    ]
    if eager := facts.eager.rewritten.executions:
        steps.append(("eager dispatches of rewritten ops", eager))
    ran_by = {library.library: library.exec_lines for library in facts.libraries}
    if facts.onednn is not None:
        ran_by["oneDNN"] = facts.onednn.exec_lines
    # A call that ran primitives itself was compiled by XLA.
    by_xla = int(run.ops.filter(pl.col("kind") == "call")["primitives"].sum())
    xla = f", {by_xla:,} in XLA's code" if by_xla else ""
    steps += [(f"primitives run by {name}{xla}", count) for name, count in ran_by.items()]
    return doc.Figures([(what, f"{count:,}", "") for what, count in steps])


def _by_op(run: Run) -> pl.DataFrame:
    rewritten = pl.col("rewrite") != "none"
    nodes = run.nodes.filter(pl.col("executions") > 0).group_by("op")
    by_op = nodes.agg(
        nodes=pl.len(),
        known=pl.col("eligible").any(),
        eligible=HAS_KERNEL.sum(),
        rewritten=rewritten.sum(),
        kernels=pl.col("kernel").filter(rewritten).unique().sort().str.join(";"),
        runs=pl.col("executions").filter(rewritten).sum(),
        reasons=pl.col("reason").filter("eligible").drop_nulls().unique().sort().str.join(";"),
        line=pl.col("line").min(),
    ).filter(pl.col("known") | (pl.col("rewritten") > 0))
    us = pl.col("primitive_us")
    ran = run.ops.filter((pl.col("mode") == "graph") & (pl.col("kind") == "op")).group_by("op")
    inside = ran.agg(
        pl.col("primitives").sum(), primitive_us=pl.when(us.count() > 0).then(us.sum())
    )
    return by_op.join(inside, on="op", how="left", nulls_equal=True).sort(
        "primitive_us", "nodes", "op", descending=[True, True, False], nulls_last=True
    )


def _reasons(eligible: Entry) -> list[dict[str, Any]]:
    return [
        {**row, "named": ", ".join(f"{op['op']} {op['nodes']:,}" for op in row["ops"])}
        for row in eligible.reasons.to_dicts()
    ]
