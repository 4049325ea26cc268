"""Findings of what TensorFlow says itself: its warnings, its records of where ops run."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from tflogscope.model.calls.python_functions import RETRACE_WARNINGS
from tflogscope.model.common.frames import is_among, only
from tflogscope.model.findings.finding import Finding, most
from tflogscope.model.pipeline import Evidence

_DEVICE = r"device:(\w+:\d+)$"  # a line that is cut has less
_CPU = r"device:(?:CPU|XLA_CPU):\d+$"


def warning_findings(evidence: Evidence) -> Iterator[Finding]:
    """What TensorFlow warned of where no record shows it, and ops that are on another device."""
    if evidence.executions.calls.is_empty():
        yield from _retraced(evidence)
    yield from _aborts(evidence)
    yield from _on_cpu(evidence)
    yield from _placed(evidence)


def _retraced(evidence: Evidence) -> Iterator[Finding]:
    warned = evidence.events.messages(*RETRACE_WARNINGS)
    name = pl.coalesce(pl.col("function").str.extract(r"([^.]+)$", 1), "callable")
    for (function,), of_function in warned.group_by(name.alias("name"), maintain_order=True):
        worst = of_function.sort("traced").row(-1, named=True)
        facts = {
            "alone": True,
            "warned": of_function.height,
            "traced": worst["traced"],
            "calls": worst["calls"],
            "worth_a_look": True,
        }
        at = of_function["at"].to_list()
        yield Finding("retraced", str(function), worst["traced"], None, at, facts)


def _aborts(evidence: Evidence) -> Iterator[Finding]:
    """Records of a release that calls the end of an input an error, and says that it is none."""
    aborts = evidence.events.messages("executor_abort_info")
    if aborts.height:
        facts = {"status": aborts["status"][0]}
        yield Finding("abort-info", "no error", aborts.height, None, aborts["at"].to_list(), facts)


def _on_cpu(evidence: Evidence) -> Iterator[Finding]:
    """Eager ops that ran on the CPU, while others ran on another device."""
    eager = evidence.executions.dispatches.eager
    eager = only(eager, eager["device"].str.contains(_DEVICE))
    devices = eager["device"].unique()
    cpu = devices.filter(devices.str.contains(_CPU))
    others = devices.filter(~devices.str.contains(_CPU))
    if cpu.is_empty() or others.is_empty():
        return
    ran = only(eager, is_among(eager["device"], cpu))
    other = others.str.extract(_DEVICE, 1).unique().sort().to_list()
    facts = {"ops": most(ran["op"]), "all": eager.height, "others": other}
    yield Finding("on-cpu", "CPU", ran.height, None, ran["at"].to_list(), facts)


def _placed(evidence: Evidence) -> Iterator[Finding]:
    """Where nodes are placed, in a log that shows none of them run."""
    placed = evidence.events.messages("placement")
    if placed.is_empty() or evidence.executions.frame.height:
        return
    device = placed["device"].str.extract(_DEVICE, 1).alias("device")
    counts = device.value_counts().sort("count", "device", descending=[True, False])
    on_cpu = only(placed["op"], device.str.contains("CPU"))
    facts = {
        "devices": [f"{count:,} on {name}" for name, count in counts.rows()],
        "ops": most(on_cpu) if 0 < on_cpu.len() < placed.height else [],
        "worth_a_look": True,
    }
    at = placed["at"].to_list()
    yield Finding("placed", counts["device"][0], placed.height, None, at, facts)
