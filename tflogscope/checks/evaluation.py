"""All checks of a policy on one run."""

from __future__ import annotations

from collections.abc import Iterator

from tflogscope.checks.baseline import Baseline
from tflogscope.checks.evidence import CheckedRun, matching
from tflogscope.checks.measurement import Broken, Measurement, PolicyKey
from tflogscope.checks.policy import Policy, default_policy
from tflogscope.checks.rules import OF_ONEDNN, OF_TIMES, ROUNDING, RULES
from tflogscope.checks.values import DEFAULTS, KEYS, WORDS, Key
from tflogscope.checks.verdict import READ, Check, Verdict, Violation
from tflogscope.model.common.figures import count_of
from tflogscope.model.common.sentences import listed
from tflogscope.model.common.source_text import source_text, why_unread
from tflogscope.model.run import Run

_OF_OPS = ("unexpected_eager", "max_retraces")


def check_run(run: Run, policy: Policy | None = None, baseline: Baseline | None = None) -> Verdict:
    """Say whether a run keeps to a policy.

    Args:
        run: what `tflogscope.open_log` returns.
        policy: the default policy if not given.
        baseline: what is known and does not fail.
    """
    policy = policy or default_policy()
    baseline = Baseline() if baseline is None else baseline.copy()
    evidence = CheckedRun(run)
    start = run.executions["start"].min()
    checks = tuple(_checks(evidence, policy, baseline))
    notes = (*_notes(evidence, policy, baseline), *_unread_waivers(evidence, checks))
    return Verdict(
        policy.name,
        baseline.name,
        tuple(evidence.sources),
        start.isoformat() if start is not None else None,  # type: ignore[union-attr]
        checks,
        notes,
    )


def _checks(evidence: CheckedRun, policy: Policy, baseline: Baseline) -> Iterator[Check]:
    """Yield a check for each section that says what a key allows."""
    if unread := evidence.run.unread:
        of = unread + evidence.run.coverage["recognised"].sum()
        text = f"{unread:,} of {of:,} records can't be parsed, and may be executions."
        yield Check(READ, None, False, text, 0, unread)
    for key in KEYS.values():
        for section in policy.checked(key.id) if key.id in RULES else ():
            entry = PolicyKey(evidence, policy, key.id, section)
            if key.id in OF_TIMES and evidence.run.summary.recorded.get("simulated"):
                text = "not checked: times are simulated"
                yield Check(key.id, section.pattern, True, text, entry.limit, skipped=True)
                continue
            result = RULES[key.id](entry)
            if result is None and key.id in _left_out(evidence, policy):
                continue
            if result is None:
                text = (
                    key.cannot if evidence.run.recorded_as else f"{key.cannot} {key.record}".strip()
                )
                yield Check(key.id, section.pattern, False, text, entry.limit)
            else:
                yield _or_skipped(_check(key, entry, result, baseline), evidence)


def _or_skipped(check: Check, evidence: CheckedRun) -> Check:
    """The check; skipped where it passes because its pattern, perhaps mistyped, matches nothing."""
    pattern = check.functions
    if pattern is None or not check.passed or matching(evidence.functions, (pattern,)):
        return check
    return check._replace(text="no function in the log matches the pattern", skipped=True)


def _left_out(evidence: CheckedRun, policy: Policy) -> list[str]:
    """Defaults about ops that a log without any execution doesn't have to keep to.

    Only where the policy asks for something of oneDNN: else nothing would be checked.
    """
    if evidence.run.executions.height or evidence.run.primitives.is_empty():
        return []
    of_onednn = any(policy.checked(key) for key in OF_ONEDNN)
    named = policy.sections[-1].named
    return [key for key in _OF_OPS if of_onednn and named.get(key) == DEFAULTS[key]]


def _check(key: Key, entry: PolicyKey, result: Measurement, baseline: Baseline) -> Check:
    recorded_as = entry.evidence.run.recorded_as
    violations = [
        _violation(key, case, result, baseline)._replace(code=source_text(case.python, recorded_as))
        for case in result.broken
    ]
    new = sum(violation.new for violation in violations)
    baselined = int(sum(violation.amount for violation in violations) - new)
    facts = {**result.facts, "limit": entry.limit, "measured": result.measured, "known": baselined}
    return Check(
        key.id,
        entry.section.pattern,
        new <= result.may_be + ROUNDING,
        WORDS.said(key.text, key.more, facts),
        entry.limit,
        result.measured,
        tuple(violation for violation in violations if violation.new > ROUNDING),
    )


def _violation(key: Key, broken: Broken, result: Measurement, baseline: Baseline) -> Violation:
    facts = {"amount": broken.amount, "lines": broken.lines, **broken.subject}
    facts = {**result.facts, **facts, **broken.facts}
    return Violation(
        broken.subject,
        broken.amount,
        WORDS.first(key.violation, facts),
        broken.source,
        broken.lines,
        WORDS.first(key.advice, facts),
        baseline.take(key.id, broken.subject, broken.amount),
        broken.python,
    )


def _notes(evidence: CheckedRun, policy: Policy, baseline: Baseline) -> Iterator[str]:
    """Say what could not be read, what was not checked, and what the baseline lists for nothing."""
    for problem in evidence.run.problems:
        yield f"Only the readable part was checked. {problem}."
    if left := _left_out(evidence, policy):
        yield f"The log has no TensorFlow ops: {' and '.join(left)} were not checked."
    if stale := baseline.stale():
        yield (
            f"{count_of(len(stale), 'violation')} in the baseline did not occur: {listed(stale)}. "
            "Update it with --write-baseline."
        )


def _unread_waivers(evidence: CheckedRun, checks: tuple[Check, ...]) -> Iterator[str]:
    """Say of which lines that fail it is unknown whether a comment lets them pass, and why."""
    failed = [
        violation
        for check in checks
        if check.key == "unexpected_eager"
        for violation in check.violations
    ]
    files = {case.python.rpartition(":")[0] for case in failed if case.python and not case.code}
    for file in sorted(files):
        if why := why_unread(file, evidence.run.recorded_as):
            yield f"`# tflogscope: eager` comments in {file}, if any, are ignored: {why}."
