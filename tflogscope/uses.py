"""What the commands do with a run, for Python: the methods of `Run` that need more than the model.

The model knows none of the layers above it, so `Run` finds this module through the package.
"""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import tflogscope
from tflogscope.checks.baseline import Baseline, read_baseline
from tflogscope.checks.evaluation import check_run
from tflogscope.checks.policy import Policy, find_policy, read_policy
from tflogscope.checks.verdict import Verdict
from tflogscope.events.scan import WORKERS
from tflogscope.exports.atomic import atomic_file
from tflogscope.exports.redact import Redactor
from tflogscope.exports.traces import TRACE_FORMATS, is_gzip_name, trace_format_of_file
from tflogscope.model.opening import open_with
from tflogscope.query.sql import select
from tflogscope.sources import Source
from tflogscope.views.chart import timeline_chart
from tflogscope.views.notebook import notebook_html
from tflogscope.views.report.page import report_page

if TYPE_CHECKING:
    import polars as pl

    from tflogscope.model.run import Run
    from tflogscope.stores.store import Store

File = str | os.PathLike[str]
__all__ = ["check", "notebook_html", "query", "report", "timeline_chart", "trace"]


def check(run: Run, policy: Policy | File | None, baseline: Baseline | File | None) -> Verdict:
    """See `Run.check`."""
    if policy is None:
        policy = find_policy(Path.cwd())
    if not isinstance(policy, Policy):
        policy = read_policy(Path(policy))
    if baseline is not None and not isinstance(baseline, Baseline):
        baseline = read_baseline(Path(baseline))
    return check_run(run, policy, baseline)


def query(run: Run | Store, statement: str) -> pl.DataFrame:
    """See `Run.query`."""
    return select(run, statement)


def report(run: Run, path: File, *, full: bool, redacted: bool, force: bool) -> None:
    """See `Run.report`."""
    with atomic_file(path, force=force) as stream:
        stream.write(page(run, full=full, redacted=redacted).encode())


def page(run: Run, *, full: bool, redacted: bool) -> str:
    """The page of a run, or of redacted copies of its logs."""
    if not redacted:
        return _page(run, full=full)
    redactor = Redactor()
    with TemporaryDirectory() as folder:
        copies = []
        for number, source in enumerate(run.sources, 1):
            file = Path(folder, str(number))
            with file.open("wb") as stream:
                stream.writelines(text for text, _ in redactor.blocks(source))
            copies.append(Source(str(file)))
            copies[-1].name = f"redacted-{number}.log"
        copy = open_with(WORKERS, *copies, make=run.make)
        return _page(copy, full=full)


def _page(run: Run, *, full: bool) -> str:
    return run.make(lambda: report_page(run, _made_by(), full=full))


def trace(run: Run, path: File, format_name: str | None, *, force: bool) -> None:
    """See `Run.trace`."""
    name = os.fspath(path)
    chosen = TRACE_FORMATS[format_name] if format_name else trace_format_of_file(name)
    with atomic_file(path, force=force) as stream:
        chosen.write(run, stream, _made_by(), compress=is_gzip_name(name))


def _made_by() -> str:
    return f"tflogscope {tflogscope.__version__}"
