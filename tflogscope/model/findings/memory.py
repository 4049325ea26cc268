"""Page faults: memory of tensors that goes back to the system, and is mapped anew."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from tflogscope.grammar.thresholds import threshold
from tflogscope.model.common.names import ONEDNN_ON
from tflogscope.model.findings.finding import Finding, claim_in_calls, most
from tflogscope.model.pipeline import Evidence

_WORTH = threshold("loop.worth")


def memory_findings(evidence: Evidence) -> Iterator[Finding]:
    """Page faults in later calls: as much of these as the kernel's part of the processors' time.

    `record` says that. What the log costs is mostly the kernel's, too.
    """
    counted = evidence.events.messages("python_faults")
    if counted.height != 1:  # of several processes, whose calls are told apart by nothing
        return
    (said,) = counted.to_dicts()
    later = ~pl.col("name").is_first_distinct()
    calls = evidence.calls.filter(~pl.col("nested")).filter(later).drop_nulls("work_us")
    log = float(calls["log"].sum())
    took = max(said["system"] - log, 0.0)
    share = took / max(said["system"] + said["user"] - log, 1.0)
    if calls.is_empty() or not _WORTH < share < 1:
        return
    per = calls.select("call", us=share * pl.col("work_us"))
    faults, each = said["faults"], said["faults"] // max(said["calls"], 1)
    facts = {"faults": faults, "each": each, "took": took, "share": share}
    facts |= {"off": evidence.events.messages(*ONEDNN_ON).is_empty()}
    function, at = most(calls["function"])[0], calls["at"].to_list()
    claims = [claim_in_calls(evidence, per)]
    yield Finding("page-faults", function, calls.height, None, at, facts, claims=claims)
