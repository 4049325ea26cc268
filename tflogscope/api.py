"""The library: runs and stores, with all that the commands do with them."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from tflogscope.errors import UsageError
from tflogscope.events.scan import WORKERS
from tflogscope.grammar.load import load_grammar
from tflogscope.model import log_run
from tflogscope.model import run as model_run
from tflogscope.model.opening import read_log
from tflogscope.sources.source import Source
from tflogscope.stores import store as stores
from tflogscope.stores import stored_run
from tflogscope.version import MADE_BY

if TYPE_CHECKING:
    import polars as pl

    from tflogscope.checks.baseline import Baseline
    from tflogscope.checks.policy import Policy
    from tflogscope.checks.verdict import Verdict

File = str | os.PathLike[str]
_NAMED = 10  # of what ran eagerly, in an assertion's message


class Run(model_run.Run):
    """What is known of one run of a TensorFlow program. `open_log` and `Store.run` make one.

    Each table is a polars frame in the order (source, line), except `ops`, which is ordered by
    first line; the columns are those of the contract. Durations are in µs.
    """

    def check(
        self, policy: Policy | File | None = None, *, baseline: Baseline | File | None = None
    ) -> Verdict:
        """Whether the run keeps to a policy; `passed` and `checks` of the result say what failed.

        Args:
            policy: a policy or its file; if not given, that of the nearest pyproject.toml, or else
                the default policy, as `tflogscope check` takes it.
            baseline: what is known and does not fail, or its file.

        Raises:
            UsageError: the policy has a key or a value that does not exist.
            InputError: a file can't be read.
        """
        from tflogscope.checks.baseline import Baseline, read_baseline
        from tflogscope.checks.evaluation import check_run
        from tflogscope.checks.policy import Policy, find_policy, read_policy

        if policy is None:
            policy = find_policy(Path.cwd())
        if not isinstance(policy, Policy):
            policy = read_policy(Path(policy))
        if baseline is not None and not isinstance(baseline, Baseline):
            baseline = read_baseline(Path(baseline))
        return check_run(self, policy, baseline)

    def assert_graph_mode(self) -> None:
        """Fail a test whose program ran ops eagerly that a graph function should have run.

        Raises AssertionError: `check()` fails for the key `unexpected_eager`, or because records
        can't be read. The message names what ran, the first of many.
        """
        failed = [check for check in self.check().checks if not check.passed]
        failed = [check for check in failed if check.key in ("read", "unexpected_eager")]
        if failed:
            broken = [violation.text for check in failed for violation in check.violations]
            raise AssertionError("\n".join([check.text for check in failed] + broken[:_NAMED]))

    def query(self, statement: str) -> pl.DataFrame:
        """The answer to a SELECT over the tables, as of `tflogscope query`.

        Raises QueryError if it is not a SELECT, or asks for what is not a table of the run.
        """
        from tflogscope.query.sql import select

        return select(self, statement)

    def report(
        self, path: File, *, full: bool = False, redacted: bool = False, force: bool = False
    ) -> None:
        """Write the run as one HTML page, as `tflogscope report` does.

        Args:
            path: the file; it is written whole or not at all.
            full: leave nothing out, however large the page becomes.
            redacted: replace the program's own names by pseudonyms, to share the page.
            force: replace the file if it exists.

        Raises:
            OutputError: it can't be written, or exists.
            UsageError: it is to be redacted, and the run is one of a store.
        """
        from tflogscope.exports.atomic import atomic_file

        with atomic_file(path, force=force) as stream:
            stream.write(page(self, full=full, redacted=redacted).encode())

    def trace(self, path: File, format_name: str | None = None, *, force: bool = False) -> None:
        """Write the run for a trace viewer, as `tflogscope trace` does.

        Args:
            path: the file; `.gz` at its end compresses it.
            format_name: `chrome`, which Perfetto, speedscope and chrome://tracing open, or
                `folded`, for flame graphs; if not given, the suffix (.json, .folded) says it.
            force: replace the file if it exists.

        Raises:
            UsageError: there is no such format, or none has the suffix.
            OutputError: it can't be written, or exists.
        """
        from tflogscope.exports.atomic import atomic_file
        from tflogscope.exports.traces import trace_format, write_trace

        name = os.fspath(path)
        chosen = trace_format(name, format_name)
        with atomic_file(path, force=force) as stream:
            write_trace(self, stream, chosen, MADE_BY, path=name)

    def timeline_chart(self) -> Any:
        """The run over time, eager against graph, as a picture that a notebook shows (SVG)."""
        from tflogscope.views.chart import timeline_chart

        return timeline_chart(self)

    def _repr_html_(self) -> str:
        from tflogscope.views.notebook import notebook_html

        return notebook_html(self)


class LogRun(Run, log_run.LogRun):
    """The run that a log shows."""


class StoredRun(Run, stored_run.StoredRun):
    """A run of a store."""


class Store(stores.Store):
    """The runs of a store. Its tables are lazy frames: those of `Run`, with `run` before them."""

    def run(self, id_: str) -> StoredRun:
        """One run of the store.

        Raises:
            UsageError: there is no such run, or it failed.
        """
        return StoredRun(self, self.row(id_))

    def query(self, statement: str) -> pl.DataFrame:
        """The answer to a SELECT over the tables and `runs`, as of `tflogscope query`.

        Raises QueryError if it is not a SELECT, or asks for what is not a table of the store.
        """
        from tflogscope.query.sql import select

        return select(self, statement)


def open_log(
    *inputs: File | Source,
    progress: Callable[[int, int | None], None] | None = None,
    grammar: File | None = None,
) -> LogRun:
    """Read one log, or several files as parts of one, and return the run.

    `inputs` are files, directories or "-" (standard input); compression is known by content.
    If they are of several runs after all, these add up, and a warning says so: see `Run.parts`.
    `progress` is called with bytes read and bytes in all (None: unknown).
    `grammar` is a directory of grammar files of your own, which are read beside the packaged ones.

    Raises InputError if an input can't be read, NothingRecognised if nothing in it is known,
    GrammarError if a grammar file is wrong.
    """
    loaded = load_grammar(grammar)
    run = LogRun(*read_log(WORKERS, *inputs, progress=progress, grammar=loaded))
    if len(run.parts) > 1:
        text = f"these are {len(run.parts)} runs, which are added up: {run.parts[1].why}"
        warnings.warn(text, stacklevel=2)
    return run


def open_store(path: File) -> Store:
    """Open what `tflogscope collect` wrote: a directory or a URL.

    Raises:
        InputError: it is not a store, or one of another schema.
        UsageError: it is a URL, and fsspec is not installed.
    """
    return Store(stores.store_folder(path))


def page(run: model_run.Run, *, full: bool, redacted: bool) -> str:
    """The page of a run, or of redacted copies of its logs."""
    from tflogscope.exports.redact import Redactor
    from tflogscope.views.report.page import report_page

    if not redacted:
        return report_page(run, MADE_BY, full=full)
    if not isinstance(run, log_run.LogRun):
        raise UsageError("only logs can be redacted", repr(run), "Pass the log.")
    grammar = run.events.grammar
    redactor = Redactor(grammar=grammar)
    with TemporaryDirectory() as folder:
        copies = []
        for number, source in enumerate(run.sources, 1):
            file = Path(folder, str(number))
            with file.open("wb") as stream:
                stream.writelines(text for text, _ in redactor.blocks(source))
            copies.append(Source(str(file)))
            copies[-1].name = f"redacted-{number}.log"
        return report_page(
            log_run.LogRun(*read_log(WORKERS, *copies, grammar=grammar)), MADE_BY, full=full
        )
