"""A policy on each run of a store: one verdict over all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tflogscope.checks.baseline import Baseline
from tflogscope.checks.evaluation import check_run
from tflogscope.checks.policy import Policy
from tflogscope.checks.verdict import COLLECTED, VERDICT_VERSION, Check, Verdict
from tflogscope.model.run import Run
from tflogscope.stores.store import Store
from tflogscope.stores.stored_run import StoredRun

Facts = dict[str, Any]


def check_store(store: Store, policy: Policy, baseline: Baseline) -> Facts:
    """The verdict over all runs of a store. A run that failed doesn't pass."""
    runs = (
        (row["run"], StoredRun(store, row) if row["state"] == "done" else str(row["error"]))
        for row in store.rows.to_dicts()
    )
    return check_runs(runs, policy, baseline)


def check_runs(named: Iterable[tuple[str, Run | str]], policy: Policy, baseline: Baseline) -> Facts:
    """As `Verdict.facts`, with `runs`: the verdict of each run, or why it could not be read."""
    runs = [
        {"run": name, **_not_read(name, run, policy, baseline)}
        if isinstance(run, str)
        else {"run": name, **check_run(run, policy, baseline).facts()}
        for name, run in named
    ]
    return {
        "schema_version": VERDICT_VERSION,
        "passed": all(run["passed"] for run in runs),
        "policy": policy.name,
        "baseline": baseline.name,
        "runs": runs,
    }


def _not_read(name: str, error: str, policy: Policy, baseline: Baseline) -> Facts:
    check = Check(COLLECTED, None, passed=False, text=f"The run could not be read: {error}")
    return Verdict(policy.name, baseline.name, (name,), None, (check,)).facts()


def of_all_runs(facts: Facts) -> Facts:
    """A verdict over a store as one over a log: each check has its run behind its name."""
    if "runs" not in facts:
        return facts
    checks = [
        check | {"name": f"{check['name']} ({run['run']})"}
        for run in facts["runs"]
        for check in run["checks"]
    ]
    sources = [source for run in facts["runs"] for source in run["sources"]]
    return {**facts, "checks": checks, "sources": sources or [""], "recorded": None, "notes": []}
