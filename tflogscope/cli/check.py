"""`tflogscope check`: the gate for CI."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from tflogscope.cli.inputs import named_inputs, opened_each, opened_store
from tflogscope.cli.options import AsJson, Force, Logs, OwnGrammar, option
from tflogscope.cli.output import choose_json, print_text, refuse_input, say
from tflogscope.errors import UsageError
from tflogscope.exports.atomic import atomic_file, refuse_bad_target
from tflogscope.version import __version__

if TYPE_CHECKING:
    from tflogscope.checks.verdict import Verdict
    from tflogscope.model.run import Run

FAILED, UNREAD = 1, 3
_SUFFIXES = {
    ".xml": "junit",
    ".sarif": "sarif",
    ".json": "json",
    ".md": "markdown",
    ".txt": "text",
}
_SUMMARY = "GITHUB_STEP_SUMMARY"  # names the file that becomes the job's summary
_SUMMARY_BYTES = 1_000_000  # GitHub takes 1 MiB of a step

VerdictFormat = Literal["text", "markdown", "junit", "sarif", "github", "json"]


def check(
    logs: Logs = None,
    *,
    policy: Annotated[
        Path | None,
        option(
            "--policy FILE",
            "Read the policy from this TOML file. Default: the nearest tflogscope.toml, or "
            "[tool.tflogscope.check] in pyproject.toml; else the default policy.",
        ),
    ] = None,
    baseline: Annotated[
        Path | None, option("--baseline FILE", "Ignore violations listed in this file.")
    ] = None,
    write_baseline: Annotated[
        Path | None,
        option("--write-baseline FILE", "Record current violations as the baseline."),
    ] = None,
    against: Annotated[
        str | None,
        option(
            "--against STORE",
            "Also compare the run with earlier runs of this program in a store.",
        ),
    ] = None,
    format_name: Annotated[
        VerdictFormat | None,
        option(
            "--format",
            "Output format. Default: text (plus annotations in GitHub Actions); with -o, by the "
            "file's suffix: .xml (JUnit), .sarif, .json, .md, .txt.",
        ),
    ] = None,
    as_json: AsJson = False,
    output: Annotated[
        Path | None,
        option("--output -o FILE", "Also write the result to this file."),
    ] = None,
    force: Force = False,
    grammar: OwnGrammar = None,
) -> None:
    """Check a run against a policy; exit 1 if it fails.

    By default, no op may run eagerly after the first call of a graph function or the first eager
    training step, except what every program does eagerly, such as creating variables and datasets.

    \b
    Examples:
      tflogscope check run.log
      tflogscope check run.log --write-baseline tflogscope-baseline.json
      tflogscope check run.log --against STORE
      tflogscope check run.log --baseline tflogscope-baseline.json -o check.xml
    """
    inputs = named_inputs(logs)
    from tflogscope.checks.baseline import baseline_text
    from tflogscope.checks.evaluation import check_run
    from tflogscope.checks.policy import find_policy, read_policy
    from tflogscope.exports.json_text import harmless
    from tflogscope.stores.checks import check_runs, check_store

    output = None if output == Path("-") else output
    in_file, shown = _formats(choose_json(format_name, as_json=as_json), output)
    if baseline and write_baseline:
        hint = "Write a new baseline first, then check against it."
        raise UsageError("--baseline and --write-baseline can't be combined", None, hint)
    for target in (output, write_baseline):
        if target is not None:
            refuse_input(str(target), inputs)
            refuse_bad_target(target, force=force)
    wanted = find_policy(Path.cwd()) if policy is None else read_policy(policy)
    accepted = _read_baseline(baseline)
    if store := opened_store(inputs):
        _require_one_run(store.name, write_baseline, against)
        facts = check_store(store, wanted, accepted)
    else:
        with opened_each(inputs, grammar) as (parts, runs):
            if len(parts) > 1:
                _require_one_run(inputs[0], write_baseline, against)
                names = [part.name for part in parts]
                facts = check_runs(zip(names, runs, strict=True), wanted, accepted)
            else:
                run = next(runs)
                verdict = check_run(run, wanted, accepted)
                if write_baseline:
                    text = harmless(baseline_text(verdict.checks))
                    _write(write_baseline, text, force=force)
                    verdict = check_run(run, wanted, _read_baseline(write_baseline))
                if against:
                    verdict = _with_figures(verdict, run, inputs[0], against)
                facts = verdict.facts()
    facts = {"tflogscope": __version__, **facts}
    if output is not None:
        _write(output, _text(facts, in_file, to_file=True), force=force)
    print_text(_text(facts, shown))
    _append_summary(facts)
    if not facts["passed"]:
        raise typer.Exit(UNREAD if _has_unread(facts) else FAILED)


def _has_unread(facts: dict[str, Any]) -> bool:
    """Whether records of a run can't be read that may say what ran."""
    from tflogscope.checks.verdict import READ

    checks = [check for run in facts.get("runs", [facts]) for check in run["checks"]]
    return any(check["name"] == READ and not check["passed"] for check in checks)


def _require_one_run(name: str, write_baseline: Path | None, against: str | None) -> None:
    """A baseline, and a comparison with a store, are of one run."""
    if write_baseline or against:
        option = "--write-baseline" if write_baseline else "--against"
        raise UsageError(f"{option} takes one run, found several", name, "Pass one.")


def _with_figures(verdict: Verdict, run: Run, name: str, against: str) -> Verdict:
    """The verdict with the checks against a store; `name` may be `STORE#ID`.

    One of them limits a time, so a note says how much the log slowed the run.
    A run that has failed already is not excused by a store with too few runs.
    """
    from tflogscope.stores.store import open_store
    from tflogscope.stores.trend import checks_against
    from tflogscope.views.recorded import slowed_text

    store = open_store(against)
    try:
        checks = checks_against(store, run, name.rpartition("#")[2])
    except UsageError as error:
        if verdict.passed:
            raise
        note = f"Not compared with {against}: {error.what}. {error.hint}"
        return verdict._replace(notes=(*verdict.notes, note))
    slowed = run.summary.slowed
    notes = verdict.notes
    if slowed is not None:
        notes = (*notes, f"In this run {slowed_text(slowed)}.")
    return verdict._replace(checks=(*verdict.checks, *checks), notes=notes)


def _formats(chosen: str | None, output: Path | None) -> tuple[str, str]:
    """Which format goes to the file, and which to standard output.

    Raises:
        UsageError: no format is named for a file with an unknown suffix.
    """
    by_default = "github" if os.environ.get("GITHUB_ACTIONS") == "true" else "text"
    if output is None:
        return "", chosen or by_default
    if chosen is None and output.suffix.lower() not in _SUFFIXES:
        hint = f"Set --format, or use one of {' '.join(_SUFFIXES)}."
        raise UsageError(f"unknown suffix {output.suffix!r}", str(output), hint)
    return chosen or _SUFFIXES[output.suffix.lower()], by_default


def _read_baseline(path: Path | None) -> Any:
    from tflogscope.checks.baseline import Baseline, read_baseline

    return Baseline() if path is None else read_baseline(path)


def _write(path: Path, text: str, *, force: bool) -> None:
    with atomic_file(path, force=force) as stream:
        stream.write(text.encode())


def _text(facts: dict[str, Any], name: str, *, to_file: bool = False) -> str:
    """The verdict in a format."""
    from tflogscope.exports.github import github_text
    from tflogscope.exports.json_text import json_object
    from tflogscope.exports.junit import junit_text
    from tflogscope.exports.sarif import sarif_text
    from tflogscope.stores.checks import of_all_runs
    from tflogscope.views.check import verdict_document
    from tflogscope.views.document import Section
    from tflogscope.views.markdown import markdown
    from tflogscope.views.terminal import drawn

    if name == "json":
        return json_object(facts)
    if name == "junit":
        return junit_text(facts)
    if name == "sarif":
        return sarif_text(of_all_runs(facts))
    if name == "markdown":
        title = f"tflogscope check {'passed' if facts['passed'] else 'failed'}"
        return markdown([Section(title, verdict_document(facts))])
    text = drawn(verdict_document(facts), to_file=to_file)
    return text + (github_text(of_all_runs(facts)) if name == "github" else "")


def _append_summary(facts: dict[str, Any]) -> None:
    """In a job of GitHub Actions the verdict is in its summary, too.

    A summary that can't be written is no reason to fail a check.
    """
    path = os.environ.get(_SUMMARY)
    if not path:
        return
    text = _text(facts, "markdown").encode()
    if len(text) > _SUMMARY_BYTES:
        whole_lines = text[: text.rindex(b"\n", 0, _SUMMARY_BYTES)]
        text = whole_lines + b"\n\nTruncated: GitHub accepts no more.\n"
    try:
        with Path(path).open("ab") as stream:
            stream.write(text)
    except OSError as error:
        say(f"{path}: can't write the job summary: {error.strerror}")
