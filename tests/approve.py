"""Golden files: what `analyze` and `timeline` print for a few sample logs, where the lines of
oneDNN are linked in each, and of all logs that are kept a checksum of each column of each table,
and of the facts of each sentence.

`python -m tests.approve` rewrites them after an intended change; look at the difference before you
commit it. Where a checksum changed `benchmarks/same.py` shows the rows.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import chdir
from hashlib import blake2b
from pathlib import Path
from typing import Any
from unittest.mock import patch

import polars as pl

from tests.command import run_command
from tests.samples import KEPT, LOGS, NAMES, ROOT, path_of, run_of
from tflogscope.model.findings import table as findings
from tflogscope.model.overview import limits
from tflogscope.views.analyze import summary_json

GOLDEN = ROOT / "tests" / "golden"
LINKS = GOLDEN / "links.csv"
ANSWERS = GOLDEN / "answers.csv"
FACTS = GOLDEN / "facts.csv"
SHOWN = (
    ("analyze", "keras_fit_mlp__tf2.13.1__vlog2"),
    ("analyze", "eager_basics__tf2.8.4__vlog2"),
    ("analyze", "python_threads__tf2.21.0__vlog2"),
    ("timeline", "keras_fit_mlp__tf2.13.1__vlog2"),
    ("timeline", "retrace__tf2.20.0__vlog2"),
    ("timeline", "eager_basics__tf2.8.4__vlog2"),
)


def golden_of(command: str, name: str) -> Path:
    return GOLDEN / f"{name if command == 'analyze' else f'{command}__{name}'}.txt"


def printed(command: str, name: str) -> str:
    """What the command prints into a file, with the log named as from its folder."""
    with patch.dict(os.environ), chdir(LOGS):
        for each in ("COLUMNS", "FORCE_COLOR", "NO_COLOR"):
            os.environ.pop(each, None)
        done = run_command(command, path_of(name).name)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode()


def linked(name: str) -> pl.DataFrame:
    """How many lines of a primitive have a link to runs of a kernel, and how far away they are.

    `apart`: the squares of the physical lines between the start of a run and a line, added up: the
    sum of these numbers would be the same if two runs changed places.
    """
    run = run_of(name)
    kernels = run.timeline.select("kernel", timeline_line="line")
    lines = run.primitives.filter(event="exec").join(kernels, on="timeline_line", how="left")
    keys = ["primitive", "kernel", "link"]
    apart = pl.col("line").cast(pl.Int64) - pl.col("timeline_line").cast(pl.Int64)
    sums = lines.group_by(keys).agg(lines=pl.len().cast(pl.Int64), apart=(apart * apart).sum())
    return sums.sort(keys).select(pl.lit(name).alias("log"), *sums.columns)


_TABLES = (
    *("coverage", "timeline", "ops", "functions", "nodes", "rewrites", "primitives", "findings"),
    "time",
)
_SAID = ("source", "sources", "text", "advice", "verdict")  # names, words: no answers


def answered(name: str) -> pl.DataFrame:
    """A row for each table of a log, for what `analyze --json` says besides, and for pictures.

    checksums: of each column or key, `name:checksum`. Times count to four digits.
    """
    run = run_of(name)
    found: dict[str, dict[str, list[Any]]] = {}
    for table in _TABLES:
        frame: pl.DataFrame = getattr(run, table).drop(_SAID, strict=False)
        frame = frame.with_columns(pl.selectors.float().round_sig_figs(4))
        found[table] = frame.cast(pl.String).to_dict(as_series=False)
    others = summary_json(run).items()
    found["analyze"] = {key: [value] for key, value in others if key not in (*found, *_SAID)}
    found["headline"] = {each.name: [each.value] for each in run.headline.figures}
    found["headline"]["id"] = [run.headline.id]
    found["drawn"] = {
        f"{name}.{column.name}": column.cast(pl.String, strict=False).to_list()
        for name in ("frame", "tracks")
        for column in getattr(run.drawn, name).drop(_SAID, strict=False)
    }
    rows = {table: " ".join(map(_checksum, columns.items())) for table, columns in found.items()}
    return pl.DataFrame({"log": name, "table": [*rows], "checksums": [*rows.values()]})


def facts_of(name: str) -> pl.DataFrame:
    """A row for a log: checksums of the facts of each finding and limit, whatever its words are.

    And of what `analyze --json` has under the name of a table.
    """
    run = run_of(name)
    of, said = run.stages, summary_json(run)
    found = {table: [said[table]] for table in _TABLES if table in said and table != "findings"}
    for each in findings.owned(of)[0]:
        found.setdefault(each.id, []).append(
            [each.amount, each.time_us, dict(findings._facts(each))]
        )
    eager, graph = run.summary.eager, run.summary.graph
    for id_, facts in (limits._by_level(of, eager, graph) | limits._others(of)).items():
        found[f"limit-{id_}"] = [facts]
    return pl.DataFrame({"log": name, "checksums": " ".join(map(_checksum, found.items()))})


def _checksum(item: tuple[str, list[Any]]) -> str:
    text = json.dumps(_unsaid(item[1]), default=str).replace(f"{ROOT}/", "")
    return f"{item[0]}:{blake2b(text.encode(), digest_size=2).hexdigest()}"


def _unsaid(value: Any) -> Any:
    """A value of JSON without words, its numbers to four digits."""
    if isinstance(value, dict):
        return {key: _unsaid(each) for key, each in value.items() if key not in _SAID}
    if isinstance(value, list):
        return [*map(_unsaid, value)]
    return float(f"{value:.4g}") if isinstance(value, float) else value


def approve() -> None:
    GOLDEN.mkdir(exist_ok=True)
    pl.concat(linked(name) for name in NAMES).write_csv(LINKS)
    pl.concat(map(answered, KEPT)).write_csv(ANSWERS)
    pl.concat(map(facts_of, KEPT)).write_csv(FACTS)
    for shown in SHOWN:
        golden_of(*shown).write_text(printed(*shown), encoding="utf-8")
        sys.stdout.write(f"{golden_of(*shown).relative_to(ROOT)}\n")


if __name__ == "__main__":
    approve()
