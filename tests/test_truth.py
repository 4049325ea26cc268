"""The sample logs against what TensorFlow and the program itself reported at the time.

Truth: TensorFlow's profiler (`prof`), its RunMetadata graphs (`run_metadata`), the program's own
clock around its calls (`program`). None of it comes from the log. Where nothing else is said the
log itself is counted with plain regular expressions.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter, defaultdict
from typing import Any

import polars as pl
import pytest

from tests.samples import MANIFEST, NAMES, WITH_TRUTH, raw_log, run_of, truth_of

EAGER = "EagerLocalExecute: "
_NO_KERNELS = ("Eager", "Iterator", "Instantiated", "Executor", "XlaLocal", "_Send", "Send input")
_SLACK_US = 2000  # what the program does between a line of its own and TensorFlow's
_PROCESS_NODE = re.compile(rb"(?:\] |^)Process node: \d+ step -?\d+ \{\{node ")


def said(name: str, source: str, *kinds: str) -> list[dict[str, Any]]:
    return [
        event
        for event in truth_of(name)
        if event["src"] == source and (not kinds or event.get("kind") in kinds)
    ]


def timeline(name: str) -> pl.DataFrame:
    return run_of(name).timeline.with_columns(t=pl.col("start").dt.timestamp("us"))


THERE = {
    name: {
        (event["src"], event.get("kind"), EAGER in str(event.get("name")))
        for event in truth_of(name)
    }
    for name in WITH_TRUTH
}


def with_truth(source: str, *kinds: str, eager: bool = False) -> pytest.MarkDecorator:
    """The sample logs whose truth file has such events."""
    chosen = [
        name
        for name, there in THERE.items()
        if any(
            src == source and (not kinds or kind in kinds) and (is_eager or not eager)
            for src, kind, is_eager in there
        )
    ]
    assert chosen, "no sample log has such truth"
    return pytest.mark.parametrize("name", chosen)


# ---- eager --------------------------------------------------------------------------------------


@with_truth("prof", eager=True)
def test_eager_ops_are_those_the_profiler_saw_in_its_order(name: str) -> None:
    events = sorted(
        (event["t_ns"], event["name"].removeprefix(EAGER), event["tid"])
        for event in said(name, "prof")
        if event.get("name", "").startswith(EAGER)
    )
    wanted = [op for _, op, _ in events]
    begin = said(name, "program", "start")[0]["t_us"]
    end = said(name, "program", "profiler_stopped", "finish")[0]["t_us"]
    rows = timeline(name).filter(
        (pl.col("mode") == "eager") & pl.col("t").is_between(begin - _SLACK_US, end + _SLACK_US)
    )
    got = rows["op"].to_list()
    matcher = difflib.SequenceMatcher(None, wanted, got, autojunk=False)
    blocks = [block for block in matcher.get_matching_blocks() if block.size]
    # What lies before the profiler's first event or after its last is no error.
    if len({thread for *_, thread in events}) == 1:
        got = got[blocks[0].b : blocks[-1].b + blocks[-1].size]
        hits = sum(block.size for block in blocks)
    else:  # no order across threads
        got = got[blocks[0].b :]
        hits = (Counter(wanted) & Counter(got)).total()
    assert hits >= 0.999 * max(len(wanted), len(got)), (Counter(wanted) - Counter(got), len(got))


@with_truth("op_callback")
def test_eager_ops_are_those_that_python_asked_for(name: str) -> None:
    asked = Counter(
        event["op"]
        for event in said(name, "op_callback")
        if not event["op"].startswith("__") and event["op"] != "PartitionedCall"
    )
    eager = run_of(name).timeline.filter((pl.col("mode") == "eager") & (pl.col("kind") == "op"))
    missing = asked - Counter(eager["op"].to_list())
    assert missing.total() <= 0.001 * asked.total(), missing


# ---- graph --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_each_process_node_record_is_one_graph_row(name: str) -> None:
    lines = [
        number
        for number, text in enumerate(raw_log(name).split(b"\n"), 1)
        for _ in _PROCESS_NODE.finditer(text)
    ]
    graph = run_of(name).timeline.filter(pl.col("mode") == "graph")
    assert graph["line"].to_list() == lines


def kernels_of(name: str) -> Counter[tuple[str, str]]:
    """(node, kernel) of each kernel run that the profiler saw."""
    pairs: Counter[tuple[str, str]] = Counter()
    for event in said(name, "prof"):
        text = event.get("name", "")
        if ":" in text and "::" not in text and not text.startswith(_NO_KERNELS):
            node, kernel = text.rsplit(":", 1)
            if re.fullmatch(r"\w+", kernel):
                pairs[node, kernel] += 1
    return pairs


@with_truth("prof")
def test_each_kernel_that_the_profiler_saw_has_its_row(name: str) -> None:
    wanted = kernels_of(name)
    rows = run_of(name).timeline.filter((pl.col("mode") == "graph") & (pl.col("status") != "dead"))
    missing = wanted - Counter(rows.select("node", "kernel").iter_rows())
    # Some names are not those of kernels: an XLA fusion, a cluster name that a colon splits.
    nodes = set(rows["node"].to_list())
    missing = Counter({pair: count for pair, count in missing.items() if pair[0] in nodes})
    assert missing.total() <= 0.001 * wanted.total(), missing


@with_truth("prof")
def test_durations_are_near_those_of_the_profiler(name: str) -> None:
    """A row spans its kernel's run, so no node is faster in the log than under the profiler."""
    shortest: dict[tuple[str, str], float] = defaultdict(lambda: float("inf"))
    for event in said(name, "prof"):
        node, _, kernel = event.get("name", "").rpartition(":")
        if "dur_ns" in event:
            pair = (node, kernel)
            shortest[pair] = min(shortest[pair], event["dur_ns"] / 1000)
    rows = run_of(name).timeline.filter(
        (pl.col("mode") == "graph") & (pl.col("status") == "done") & (pl.col("kind") == "op")
    )
    for node, kernel, took in rows.select("node", "kernel", "duration_us").iter_rows():
        least = shortest.get((node, kernel))
        if least is not None and took is not None:
            assert took >= least - 2, (node, kernel, took, least)


# ---- rewrites -----------------------------------------------------------------------------------


def graphs_of(name: str, *kinds: str) -> dict[str, set[str]]:
    """node → op types that it has in RunMetadata's graphs of these kinds."""
    ops: dict[str, set[str]] = defaultdict(set)
    for graph in said(name, "run_metadata", *kinds):
        for nodes in (graph["nodes"], *graph.get("library", {}).values()):
            for node, op, _ in nodes:
                ops[node].add(op)
    return ops


@with_truth("run_metadata", "function_partition", "partition_graph")
def test_kernels_are_those_of_the_graphs_after_the_layout_pass(name: str) -> None:
    after = graphs_of(name, "function_partition", "partition_graph")
    before = graphs_of(name, "function_pre")
    rows = run_of(name).timeline.filter(
        (pl.col("mode") == "graph")
        & (pl.col("kind") == "op")
        & (pl.col("flavour").fill_null("") != "dataset")
        & pl.col("node").is_in(list(after))
    )
    pairs = rows.select("node", "op", "kernel", "rewrite").unique().rows()
    wrong = []
    for node, op, kernel, rewrite in pairs:
        right = kernel in after[node] and (rewrite != "none") == kernel.startswith("_Mkl")
        if right and rewrite == "layout" and len(before[node]) == 1:
            # A fusion keeps the name of its last node, so the op before may be another.
            right = op.startswith(("_Fused", "__Mkl")) or op in before[node]
        if not right:
            wrong.append((node, op, kernel, rewrite))
    assert len(wrong) <= 0.005 * len(pairs), wrong


WITH_KERNELS = [
    name
    for name in WITH_TRUTH
    # Recorded without op_kernel.cc, a log does not show kernels that never ran.
    if "TF_CPP_VMODULE" not in MANIFEST[name]["environment"]
    and said(name, "run_metadata", "function_partition")
]


@pytest.mark.parametrize("name", WITH_KERNELS)
def test_every_rewritten_node_of_the_graphs_is_in_the_nodes_table(name: str) -> None:
    wanted = {
        (node, op)
        for node, ops in graphs_of(name, "function_partition").items()
        for op in ops
        if op.startswith("_Mkl")
    }
    nodes = run_of(name).nodes.filter(pl.col("rewrite") != "none")
    missing = wanted - set(nodes.select("node", "kernel").iter_rows())
    # RunMetadata has graphs of wrapped eager ops too; they are no functions of the program.
    eager = set(run_of(name).timeline.filter(pl.col("mode") == "eager")["kernel"].to_list())
    missing = {(node, op) for node, op in missing if op not in eager}
    assert len(missing) <= 0.005 * len(wanted), missing


# ---- calls --------------------------------------------------------------------------------------


@with_truth("program", "call")
def test_graph_rows_during_a_call_belong_to_that_call(name: str) -> None:
    calls = said(name, "program", "call")
    alone = [
        call
        for call in calls
        if not any(
            other is not call and other["t0_us"] < call["t1_us"] and call["t0_us"] < other["t1_us"]
            for other in calls
        )
    ]
    rows = timeline(name)
    called = rows.filter(pl.col("kind") == "call")
    graph = rows.filter(
        (pl.col("mode") == "graph")
        & (pl.col("kind") == "op")
        & (pl.col("status") != "dead")
        & (pl.col("flavour") != "dataset")
    )
    total = hits = 0
    for call in alone:
        begin, end = call["t0_us"], call["t1_us"]
        mine = called.filter(pl.col("t").is_between(begin - 50, end + 50))["call"]
        if mine.is_empty():
            continue  # a session's run, say: no function is called
        inside = graph.filter(pl.col("t").is_between(begin, end))
        total += inside.height
        right = pl.col("call").is_in(mine.implode()) & pl.col("function").is_not_null()
        hits += inside.filter(right).height
    assert hits >= 0.99 * total, (hits, total)


@with_truth("program", "call")
def test_no_graph_row_begins_before_its_call(name: str) -> None:
    rows = timeline(name)
    made = rows.filter(pl.col("kind") == "call").select("call", begin="t")
    rows = rows.filter((pl.col("mode") == "graph") & pl.col("call").is_not_null())
    joined = rows.join(made, on="call", how="left")
    assert joined["begin"].null_count() == 0, "a call number without its call row"
    assert joined.filter(pl.col("t") < pl.col("begin")).is_empty()


# ---- coverage -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_every_physical_line_is_in_one_bucket(name: str) -> None:
    raw = raw_log(name)
    row = run_of(name).coverage.to_dicts()[0]
    assert row["lines"] == raw.count(b"\n") + (not raw.endswith(b"\n"))
    assert row["lines"] == MANIFEST[name]["lines"]
    assert row["bytes"] == len(raw)
    buckets = ("recognised", "ignored", "unknown", "continuation", "blank")
    assert sum(row[bucket] for bucket in buckets) == row["lines"]
    assert row["records"] == row["recognised"] + row["ignored"] + row["unknown"]
    assert row["blank"] == sum(not line.strip(b"\r") for line in raw.splitlines())
    assert row["unknown"] < 0.01 * row["records"]
    assert row["bad_bytes"] == 0


@pytest.mark.parametrize("name", NAMES)
def test_each_line_with_a_prefix_is_a_record(name: str) -> None:
    raw = raw_log(name)
    prefixed = len(
        re.findall(
            rb"(?m)^(?:\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}: [IWEF]"
            rb"|[IWEF]\d{4} \d\d:\d\d:\d+\.\d{6} ) *(?:\d+ )?\S+:\d+\]",
            raw,
        )
    )
    verbose = len(re.findall(rb"(?m)^(?:onednn|dnnl|mkldnn)_verbose,", raw))
    row = run_of(name).coverage.to_dicts()[0]
    extra = row["records"] - prefixed - verbose
    # Python's own log lines and warnings are records too, and so are those in the middle of a line.
    python = len(
        re.findall(
            rb"(?m)^(?:WARNING|INFO|ERROR):|^/\S+:\d+: UserWarning: Even though the `tf[.]config",
            raw,
        )
    )
    assert 0 <= extra <= python + row["torn"]


@pytest.mark.parametrize("name", NAMES)
def test_the_level_is_never_above_the_one_recorded(name: str) -> None:
    environment = MANIFEST[name]["environment"]
    modules = re.findall(r"=(\d)", environment.get("TF_CPP_VMODULE", ""))
    most = max(int(environment.get("TF_CPP_MAX_VLOG_LEVEL", 0)), *map(int, modules), 0)
    level = run_of(name).coverage["vlog_level"][0]
    if "torch" in name:
        assert level is None
    else:
        assert level is not None
        assert level <= most


@pytest.mark.parametrize("name", NAMES)
def test_versions_and_dialects_are_those_of_the_release(name: str) -> None:
    onednn = {
        "2.8.4": "2.5.0",
        "2.10.1": "2.6.3",
        "2.13.1": "2.7.3",
        "2.16.2": "3.3.4",
        "2.20.0": "3.7.3",
        "2.21.0": "3.7.3",
        "2.13.0": "3.12.0",  # PyTorch
    }
    release = MANIFEST[name]["release"].split()[-1]
    row = run_of(name).coverage.to_dicts()[0]
    assert row["onednn_version"] == onednn[release]
    dialect = row["tensorflow_dialect"]
    if "torch" in name:
        assert dialect is None
    elif release == "2.21.0":
        assert dialect == "absl"
    else:
        assert dialect.startswith("classic")
        assert ("absl" in dialect) == (release == "2.20.0")
        assert ("thread" in dialect) == name.endswith("tid")
