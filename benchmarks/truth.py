"""What tflogscope's tables say, held against truth that does not come from the log.

A truth file is JSON Lines. `src` says who wrote a line: `prof` TensorFlow's own profiler,
`run_metadata` the graphs as traced and after all passes, `program` the program's own clock around
each call. `measure` turns one log and its truth into measures: so many of so many are right.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

import tflogscope
from tflogscope.sources.decompress import zstd_module

Event = dict[str, Any]

SLACK_US = 2_000  # the profiler's window is a little smaller than that of the program's clock
CALL_SLACK_US = 50  # between the program's clock and the first or last line of a call
PROCESS_RECORD = re.compile(rb"(?m)(?:\] |^)Process node: \d+ step -?\d+ \{\{node ")
EAGER_EVENT = "EagerLocalExecute: "
# Profiler events whose name has a colon and which are no kernels.
NO_KERNEL = (
    *("Eager", "Iterator", "InstantiatedCapturedFunction", "Executor", "XlaLocal"),
    *("_Send", "Send input"),
)
KERNEL_EVENT = re.compile(r"(?P<node>.*):(?P<op>\w+)")


@dataclass(frozen=True)
class Measure:
    """`right` of `total` things are as the truth says; `note` is for the list of the worst."""

    right: int
    total: int
    note: str = ""

    @property
    def share(self) -> float:
        """From 0 to 1; 1 if there was nothing to get wrong."""
        return self.right / self.total if self.total else 1.0


class Case:
    """One log, the run that tflogscope makes of it, and its truth."""

    def __init__(self, log: Path) -> None:
        self.log = log
        self.run = tflogscope.open_log(log)

    @cached_property
    def text(self) -> bytes:
        """The log itself, read without tflogscope."""
        return unpacked(self.log)

    @cached_property
    def truth(self) -> list[Event]:
        """The lines of the truth file; none if there is no such file."""
        path = truth_file(self.log)
        return [json.loads(line) for line in unpacked(path).splitlines()] if path.exists() else []

    def by(self, source: str, *kinds: str) -> list[Event]:
        """Truth lines of one source; of some kinds only, where kinds are given."""
        return [
            event
            for event in self.truth
            if event["src"] == source and (not kinds or event.get("kind") in kinds)
        ]

    @cached_property
    def timeline(self) -> pl.DataFrame:
        """The timeline with `t`, its start in µs since 1970."""
        return self.run.timeline.with_columns(t=pl.col("start").dt.timestamp("us"))

    @cached_property
    def graph(self) -> pl.DataFrame:
        """The graph rows of the timeline."""
        return self.timeline.filter(pl.col("mode") == "graph")


def truth_file(log: Path) -> Path:
    """Where the truth of a log is: `NAME.truth.jsonl[.zst]` beside `NAME.log[.zst]`."""
    return log.with_name(log.name.replace(".log", ".truth.jsonl"))


def unpacked(path: Path) -> bytes:
    """The bytes of a file, decompressed if its name ends in .zst."""
    data = path.read_bytes()
    if path.suffix != ".zst":
        return data
    whole: bytes = zstd_module().decompress(data)
    return whole


# ---- eager --------------------------------------------------------------------------------------


def eager_order(case: Case) -> Iterator[tuple[str, Measure]]:
    """Eager dispatches in order, by the names the ops had before any rewrite."""
    events = sorted(
        (event["t_ns"], event["name"].removeprefix(EAGER_EVENT), event["tid"])
        for event in case.by("prof")
        if event.get("name", "").startswith(EAGER_EVENT)
    )
    if not events:
        return
    first, last = _window(case)
    rows = case.timeline.filter(
        (pl.col("mode") == "eager")
        & pl.col("t").is_between(first - SLACK_US, last + SLACK_US).fill_null(True)
    ).sort("line")
    wanted = [name for _, name, _ in events]
    threads = {thread for _, _, thread in events}
    right, extra = _common(wanted, rows["op"].to_list(), ordered=len(threads) == 1)
    total = max(len(wanted), right + extra)
    yield "eager", Measure(right, total, f"{len(wanted)} dispatches, {right} found in order")


def _window(case: Case) -> tuple[int, int]:
    """When the profiler ran, in µs since 1970, by the program's clock."""
    starts = case.by("program", "start")
    ends = case.by("program", "profiler_stopped") or case.by("program", "finish")
    return starts[0]["t_us"], ends[0]["t_us"] if ends else 2**62


def _common(wanted: list[str], found: list[str], *, ordered: bool) -> tuple[int, int]:
    """How many of `wanted` are found, in order, and how many others lie between those."""
    if wanted == found:
        return len(wanted), 0
    matcher = SequenceMatcher(None, wanted, found, autojunk=False)
    blocks = [block for block in matcher.get_matching_blocks() if block.size]
    right = sum(block.size for block in blocks)
    if not ordered:  # threads have no order among them
        right = sum((Counter(wanted) & Counter(found)).values())
    # What lies before the profiler's first event or behind its last is no error.
    reach = blocks[-1].b + blocks[-1].size - blocks[0].b if blocks else 0
    return right, max(0, reach - right)


# ---- graph --------------------------------------------------------------------------------------


def graph_executions(case: Case) -> Iterator[tuple[str, Measure]]:
    """Each `Process node` record is one row; each kernel that the profiler saw has its row."""
    records = len(PROCESS_RECORD.findall(case.text))
    rows = case.graph.height
    yield (
        "records",
        Measure(max(0, records - abs(records - rows)), records, f"{records} records, {rows} rows"),
    )
    seen = _kernel_events(case)
    if not seen:
        return
    real = case.graph.filter(pl.col("kind") != "folding")
    counts = Counter(zip(real["node"].to_list(), real["kernel"].to_list(), strict=True))
    nodes = {node for node, _ in counts}
    # The profiler also sees what runs inside wrapped eager ops, of which the log prints no run.
    known = {key: count for key, count in seen.items() if key[0] in nodes}
    right = sum(min(count, counts[key]) for key, count in known.items())
    missing = [key for key, count in known.items() if counts[key] < count]
    yield "kernels", Measure(right, sum(known.values()), f"missing: {missing[:2]}")


def _kernel_events(case: Case) -> Counter[tuple[str, str]]:
    counts: Counter[tuple[str, str]] = Counter()
    for event in case.by("prof"):
        name = event.get("name", "")
        if "::" in name or name.startswith(NO_KERNEL):
            continue
        if found := KERNEL_EVENT.fullmatch(name):
            counts[found["node"], found["op"]] += 1
    return counts


# ---- rewrites -----------------------------------------------------------------------------------


def rewrites(case: Case) -> Iterator[tuple[str, Measure]]:
    """Which kernel each node runs, and whether it was rewritten, and from what."""
    after = _ops_of_nodes(case, "function_partition", "partition_graph")
    before = _ops_of_nodes(case, "function_pre")
    if not after:
        return
    real = case.graph.filter(
        (pl.col("kind") == "op") & (pl.col("flavour").fill_null("") != "dataset")
    )
    right = total = flagged = 0
    wrong: list[tuple[str, str, str, str]] = []
    for row in real.select("node", "op", "kernel", "rewrite").unique().iter_rows():
        node, op, kernel, rewrite = row
        if node not in after:
            continue
        total += 1
        good_kernel = kernel in after[node]
        good_flag = (rewrite != "none") == kernel.startswith("_Mkl")
        traced = before.get(node, set())
        # A node that stood for one op only when it was traced says what it was rewritten from;
        # ops that the remapper fused were never traced.
        if rewrite == "layout" and len(traced) == 1 and not op.startswith(("_Fused", "__Mkl")):
            good_flag &= bool({op, kernel} & traced)
        right += good_kernel
        flagged += good_kernel and good_flag
        if not (good_kernel and good_flag):
            wrong.append((node, op, kernel, rewrite))
    yield "node, kernel", Measure(right, total, f"wrong: {wrong[:2]}")
    yield "rewritten", Measure(flagged, total, f"wrong: {wrong[:2]}")


def _ops_of_nodes(case: Case, *kinds: str) -> dict[str, set[str]]:
    """Op types by node name, in the graphs of some kinds and the functions they call."""
    ops: dict[str, set[str]] = {}
    for event in case.by("run_metadata", *kinds):
        for nodes in (event["nodes"], *event.get("library", {}).values()):
            for node, op, *_ in nodes:
                ops.setdefault(node, set()).add(op)
    return ops


# ---- calls --------------------------------------------------------------------------------------


def calls(case: Case) -> Iterator[tuple[str, Measure]]:
    """Graph rows between the program's clock readings around a call belong to that call."""
    made = case.by("program", "call")
    if not made:
        return
    rows = case.graph.filter((pl.col("kind") == "op") & (pl.col("status") != "dead"))
    if (case.timeline["op"].str.contains("Dataset")).any():
        # What tf.data runs at the same time belongs to no call. A program without tf.data has no
        # such rows, and there one that is taken for them is wrong.
        rows = rows.filter(pl.col("flavour").fill_null("") != "dataset")
    called = case.timeline.filter(pl.col("kind") == "call")
    right = total = 0
    for call in _alone(made):
        first, last = call["t0_us"], call["t1_us"]
        near = pl.col("t").is_between(first - CALL_SLACK_US, last + CALL_SLACK_US)
        mine = called.filter(near)["call"]
        if mine.is_empty():
            continue  # a session, say: no function is dispatched
        inside = rows.filter(pl.col("t").is_between(first, last))
        total += inside.height
        belongs = pl.col("call").is_in(mine.to_list()) & pl.col("function").is_not_null()
        right += inside.filter(belongs).height
    if total:
        yield "calls", Measure(right, total, f"{total} rows in calls, {right} attributed")


def _alone(made: list[Event]) -> list[Event]:
    """Calls at whose time no other call was under way."""
    return [
        call
        for call in made
        if not any(
            other is not call and other["t0_us"] < call["t1_us"] and call["t0_us"] < other["t1_us"]
            for other in made
        )
    ]


# ---- coverage -----------------------------------------------------------------------------------


def coverage(case: Case) -> Iterator[tuple[str, Measure]]:
    """Every physical line is in exactly one bucket, and no record is unknown."""
    table = case.run.coverage
    lines = case.text.count(b"\n") + (not case.text.endswith(b"\n") and bool(case.text))
    buckets = ("recognised", "ignored", "unknown", "continuation", "blank")
    counted = sum(int(table[name].sum()) for name in buckets)
    off = abs(counted - lines) + abs(int(table["lines"].sum()) - lines)
    yield "lines", Measure(max(0, lines - off), lines, f"{lines} lines, {counted} counted")
    records, unknown = int(table["records"].sum()), int(table["unknown"].sum())
    yield "known records", Measure(records - unknown, records, f"{unknown} unknown records")


# ---- oneDNN --------------------------------------------------------------------------------------

# An exec line of oneDNN 2.x and 3.x wherever it is in a line; its time may run into a date.
EXEC_LINE = re.compile(
    r"(?:one)?dnn[l]?_verbose,(?:v\d+,)?(?:[\d.e+]+,)?(?:primitive,)?exec,.*?,"
    r"(?P<ms>\d+(?:\.\d+)?(?:e[+-]\d\d)?)(?=\d{4}-\d\d-\d\d |$|[^\d.])$|"
    r"(?:one)?dnn[l]?_verbose,(?:v\d+,)?(?:[\d.e+]+,)?(?:primitive,)?exec,.*?,"
    r"(?P<cut>\d+(?:\.\d+)?(?:e[+-]\d\d)?)(?=\d{4}-\d\d-\d\d \d\d:)"
)
# link_shapes names each node after the sizes that it works on, and a line's problem shows them.
NODE_SIZES = re.compile(
    r"(?:^|/)(?:b?mm_(\d+x\d+x\d+(?:x\d+)?)|conv_ic(\d+)oc(\d+)ih(\d+)|softmax_(\d+x\d+))/"
)


def links(case: Case) -> Iterator[tuple[str, Measure]]:
    """Every exec line is a row with its time, is linked, and to the right node."""
    primitives = case.run.primitives.filter(pl.col("event") == "exec")
    lines = [
        found["ms"] or found["cut"]
        for line in case.text.decode("utf-8", "replace").split("\n")
        for found in [EXEC_LINE.search(line)]
        if found
    ]
    if not lines:
        return
    off = abs(len(lines) - primitives.height)
    note = f"{len(lines)} lines, {primitives.height} rows"
    yield "exec lines", Measure(max(0, len(lines) - off), len(lines), note)
    total, summed = 1000 * sum(map(float, lines)), primitives["duration_us"].sum()
    yield "exec time", Measure(round(total - abs(total - summed)), round(total), f"{summed} us")
    if case.timeline.is_empty():
        return
    linked = primitives.filter(pl.col("timeline_line").is_not_null()).height
    yield "linked", Measure(linked, primitives.height, f"{primitives.height - linked} not linked")
    nodes = dict(case.timeline.select("line", "node").rows())
    right = total_sized = wrong_certain = certain = 0
    for row in primitives.iter_rows(named=True):
        sizes = _sizes_of_problem(row["primitive"] or "", row["problem"] or "")
        node = NODE_SIZES.search(nodes.get(row["timeline_line"]) or "")
        if "link_shapes" not in case.log.name or sizes is None:
            continue
        fits = node is not None and sizes == "x".join(filter(None, node.groups()))
        total_sized, right = total_sized + 1, right + fits
        certain += row["link"] == "certain"
        wrong_certain += row["link"] == "certain" and not fits
    if total_sized:
        yield "right node", Measure(right, total_sized, f"{right} of {total_sized}")
        yield "certain", Measure(certain - wrong_certain, certain, f"{wrong_certain} wrong")


def _sizes_of_problem(primitive: str, problem: str) -> str | None:
    """Sizes as the nodes of link_shapes are named; None for a problem that names no node."""
    if primitive in {"gemm_api", "matmul", "inner_product"}:
        left, _, right = problem.partition(":")
        sides = left.split("x"), right.split(":")[0].split("x")
        return "x".join([*sides[0], sides[1][-1]]) if right else None
    if primitive == "convolution":
        found = re.match(r"mb\d+_ic(\d+)oc(\d+)_ih(\d+)", problem)
        return "x".join(found.groups()) if found else None
    return problem if primitive.startswith("softmax") else None


CHECKS: dict[str, Callable[[Case], Iterator[tuple[str, Measure]]]] = {
    "eager": eager_order,
    "graph": graph_executions,
    "rewrites": rewrites,
    "calls": calls,
    "coverage": coverage,
    "links": links,
}
MEASURES = {
    "eager": "eager dispatches: order and names",
    "records": "graph executions: a row per `Process node` record",
    "kernels": "graph executions: kernels that the profiler saw",
    "node, kernel": "which kernel each node runs",
    "rewritten": "... and whether it was rewritten, and from which op",
    "calls": "graph rows that belong to the call they ran in",
    "lines": "physical lines in exactly one bucket",
    "known records": "records that the grammar knows or ignores on purpose",
    "exec lines": "a row of `primitives` per exec line of oneDNN",
    "exec time": "... and their times in sum",
    "linked": "exec lines linked to an execution",
    "right node": "... to the right node, where its name says it (link_shapes)",
    "certain": "... of those called certain",
}


def measure(log: Path, only: str | None = None) -> dict[str, Measure]:
    """Measures of one log by name; a measure for which the truth has nothing is left out.

    Raises TflogscopeError where the log can't be read, KeyError for a check that does not exist.
    """
    case = Case(log)
    checks = CHECKS.values() if only is None else [CHECKS[only]]
    return {name: found for check in checks for name, found in check(case)}
