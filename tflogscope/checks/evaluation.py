"""All checks of a policy on one run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from tflogscope.checks.baseline import Baseline
from tflogscope.checks.eager import check_eager
from tflogscope.checks.evidence import Evidence, matching
from tflogscope.checks.graphs import check_kernels, check_retraces, check_rewritten
from tflogscope.checks.log import check_implementations, check_unknown, check_unlinked
from tflogscope.checks.policy import Policy, default_policy
from tflogscope.checks.verdict import Check, Verdict

if TYPE_CHECKING:
    from tflogscope.model.run import Run

_CHECKS: tuple[Callable[[Evidence, Policy, Baseline], Iterator[Check]], ...] = (
    check_eager,
    check_retraces,
    check_rewritten,
    check_implementations,
    check_kernels,
    check_unlinked,
    check_unknown,
)


def check_run(run: Run, policy: Policy | None = None, baseline: Baseline | None = None) -> Verdict:
    """Say whether a run keeps to a policy.

    Args:
        run: what `tflogscope.open_log` returns.
        policy: the default policy if not given.
        baseline: what is known and does not fail.
    """
    policy = policy or default_policy()
    baseline = Baseline() if baseline is None else baseline.copy()
    evidence = Evidence(run)
    start = run.timeline["start"].min()
    return Verdict(
        policy.name,
        baseline.name,
        tuple(evidence.sources),
        start.isoformat() if start is not None else None,  # type: ignore[union-attr]
        tuple(each for check in _CHECKS for each in check(evidence, policy, baseline)),
        tuple(_notes(evidence, policy)),
    )


def _notes(evidence: Evidence, policy: Policy) -> Iterator[str]:
    """Say which sections checked nothing: a pattern may be mistyped."""
    for section in policy.sections:
        pattern = section.pattern
        if pattern is not None and not matching(evidence.functions, (pattern,)):
            yield f"No function of this log matches {pattern!r}: its keys checked nothing."
