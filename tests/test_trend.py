"""`trend` and `check --against`: a real program before and after oneDNN was turned off."""

from __future__ import annotations

import json
import re
import shutil
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tflogscope
from tests.samples import run_of, unpacked
from tests.test_collect import TAKEN, VERSION, Here
from tflogscope.cli.main import main
from tflogscope.model.overview.step_calls import step_calls
from tflogscope.recording.header import footer_line
from tflogscope.stores.collect import collect
from tflogscope.stores.figures import FIGURES, OneRun, read_figures
from tflogscope.stores.naming import name_runs
from tflogscope.stores.trend import change_points, trend_facts
from tflogscope.views.recorded import slowed_text
from tflogscope.views.trend import charts

LOGS = Path(__file__).parent / "ranks"
STEP, SHARE = FIGURES[0], FIGURES[1]


def day(folder: Path, number: int, rank: int) -> Path:
    """A rank's log as if it was another day's: rank 2 ran without oneDNN."""
    (log,) = LOGS.glob(f"mixed4__tf2.13.1__rank{rank}*")
    text = unpacked(log).replace(b"2026-11-22", f"2026-11-{number:02}".encode())
    path = folder / f"day{number:02}.rank0.log"
    path.write_bytes(text)
    return path


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Four days with oneDNN, and four days without."""
    folder = tmp_path_factory.mktemp("trend")
    for number in range(1, 9):
        day(folder, number, 0 if number <= 4 else 2)
    runs = name_runs([str(folder)], "{day}.rank{rank}.log", TAKEN)
    collect(runs, str(folder / "store"), Here(), VERSION)
    return str(folder / "store")


@pytest.mark.thorough
def test_the_change_is_named_with_the_run_from_which_it_holds(store: str) -> None:
    (series,) = trend_facts(tflogscope.open_store(store))
    assert series["series"] == "train_step, rank 0"
    assert [row["run"] for row in series["runs"]] == [f"day0{n}.0" for n in range(1, 9)]
    changes = {each["figure"]: each for each in series["changes"]}
    share = changes["onednn_share"]
    assert (share["since"], share["before"], share["after"]) == ("day05.0", 1.0, 0.0)
    assert share["ops"] == [{"op": "MatMul", "before": 1.0, "after": 0.0}]
    assert {each["since"] for each in series["changes"]} == {"day05.0"}
    assert "traces" not in changes


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("release", "name"), [("2.13.1", "train_function"), ("2.20.0", "multi_step_on_iterator")]
)
def test_the_step_function_is_that_of_training_though_evaluation_is_called_more(
    release: str, name: str
) -> None:
    run = OneRun(run_of(f"fit_cycle__tf{release}__record"), "it")
    calls = run.timeline.filter(kind="call").with_row_index().collect()
    steps = step_calls(calls, run.nodes)
    assert (steps["function"].unique().to_list(), steps.height) == ([name], 8)  # as it says
    few = calls.join(steps.tail(6), on="index", how="anti")  # two are left; of evaluation, four
    assert step_calls(few, run.nodes)["index"].to_list() == steps["index"].head(2).to_list()


@pytest.mark.thorough
def test_figures_are_those_of_the_log(store: str) -> None:
    figures = read_figures(tflogscope.open_store(store)).row(0, named=True)
    (log,) = LOGS.glob("mixed4__tf2.13.1__rank0*")
    run = tflogscope.open_log(log)
    calls = run.timeline.filter(kind="call", function="train_step")
    assert figures["step_us"] == calls["steady_us"][1:].median()
    later = run.timeline.filter(
        pl.col("mode") == "eager", pl.col("kind") == "op", pl.col("line") > calls["line"][0]
    )
    assert figures["eager_per_step"] == later.height / (calls.height - 1)
    assert figures["findings"] == run.findings.height
    assert figures["step_function"] == "train_step"


def test_the_command_shows_and_writes_it(
    store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["trend", store, "--format", "table"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "since day05.0 (2026-11-05" in said
    assert "oneDNN share 100.0% → 0.0%; MatMul 100% → 0%" in said
    assert main(["trend", store, "-o", str(tmp_path / "trend.csv")]) == 0
    written = pl.read_csv(tmp_path / "trend.csv")
    assert written["onednn_share"].to_list() == pytest.approx([1.0] * 4 + [0.0] * 4)
    assert main(["report", store, "-o", str(tmp_path / "all.html")]) == 0
    page = (tmp_path / "all.html").read_text()
    assert "<polyline" in page
    assert re.search(r"oneDNN share: \d+ runs, 0.0% to 100.0%", page)


def test_a_chart_names_its_series_its_changes_and_their_commits() -> None:
    starts = [datetime(2026, 11, day) for day in (1, 2)]  # noqa: DTZ001  as logs print them
    change = {"figure": "eager_share", "since": "b", "start": starts[1], "commit": "<4f1c>"}
    series = [
        {
            "series": name,
            "runs": [
                {"run": run, "start": start, "eager_share": share}
                for run, start, share in zip(runs, starts, (0.06, 0.5), strict=True)
            ],
            "changes": changes,
        }
        for name, runs, changes in (("<fit>", "ab", [change]), ("eval", "cd", []))
    ]
    (chart,) = charts(series, [("eager_share", "eager")])
    assert chart.markup.count("<polyline") == 2
    assert ">&lt;fit&gt;</text>" in chart.markup
    assert ">eval</text>" in chart.markup
    assert "since b (2026-11-02 00:00, commit &lt;4f1c&gt;)" in chart.markup
    assert "4 runs, 6.0% to 50.0%" in chart.markup


def test_a_figure_that_is_always_the_same_has_no_chart() -> None:
    runs = [{"run": name, "start": datetime(2026, 11, 1), "traces": 3} for name in "ab"]  # noqa: DTZ001
    assert not charts([{"series": "", "runs": runs, "changes": []}], [("traces", "traces")])


def against(log: Path, store: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    main(["check", str(log), "--against", store, "--json"])
    checks = json.loads(capsys.readouterr().out)["checks"]
    return {each["key"]: each for each in checks if each["key"].startswith("against_")}


@pytest.mark.thorough
def test_check_against_a_store_compares_with_its_last_runs(
    store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = tmp_path / "good"
    collect(
        [run for run in name_runs([str(Path(store).parent)], "{day}.rank{rank}.log", TAKEN)
         if run.run < "day05"],
        str(good), Here(), VERSION,
    )  # fmt: skip
    same = against(day(tmp_path, 20, 0), str(good), capsys)
    assert same
    assert all(each["passed"] for each in same.values())
    other = against(day(tmp_path, 21, 2), str(good), capsys)
    assert not other["against_onednn_share"]["passed"]
    assert "median of the last 4 runs: 100.0%" in other["against_onednn_share"]["text"]
    itself = against(
        day(tmp_path, 4, 0), str(good), capsys
    )  # it is in the store: three are earlier
    assert "the last 3 runs" in itself["against_step_us"]["text"]
    busy = day(tmp_path, 23, 0)
    busy.write_bytes(busy.read_bytes() + b"\n" + footer_line(0, {"others_cpu_share": 0.9}))
    check = against(busy, str(good), capsys)["against_step_us"]
    assert check["skipped"]
    assert check["text"] == "step time: not compared, the machine was busy"
    for day_ in ("day01", "day02"):  # as if something had failed there: no good runs
        (findings,) = good.glob(f"findings/run={day_}.*/*.parquet")
        errors = pl.read_parquet(findings).with_columns(severity=pl.lit("error"))
        errors.write_parquet(findings)
    capsys.readouterr()
    assert main(["check", str(day(tmp_path, 22, 0)), "--against", str(good)]) == 2
    assert "2 good runs of train_step" in capsys.readouterr().err
    assert main(["check", str(day(tmp_path, 2, 0)), "--against", str(good)]) == 2
    assert "too few runs" in capsys.readouterr().err
    policy = tmp_path / "policy.toml"
    policy.write_text("require_kernels = ['_MklNothing']\n")
    arguments = ["check", str(day(tmp_path, 2, 0)), "--against", str(good), "--policy", str(policy)]
    assert main(arguments) == 1  # the policy comes first
    assert "too few runs" in " ".join(capsys.readouterr().out.split())


@pytest.mark.thorough
def test_a_limit_of_time_is_one_without_the_log_and_the_log_is_said(
    store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["check", f"{store}#day04.0", "--against", store, "--json"])
    verdict = json.loads(capsys.readouterr().out)
    (check,) = (each for each in verdict["checks"] if each["key"] == "against_step_us")
    (log,) = LOGS.glob("mixed4__tf2.13.1__rank0*")
    run = tflogscope.open_log(log)
    calls = run.timeline.filter(kind="call", function="train_step")
    assert check["measured"] == calls["steady_us"][1:].median()
    assert check["text"].startswith("step time (estimated without logging) is ")
    assert run.summary.slowed is not None
    assert verdict["notes"] == [f"In this run {slowed_text(run.summary.slowed)}."]


def test_a_step_time_as_printed_is_compared_with_those_as_printed(
    store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(store, tmp_path / "store")
    (file,) = tmp_path.glob("store/timeline/run=day04.0/*.parquet")
    timeline = pl.read_parquet(file).with_columns(work_us=pl.lit(None, pl.Float64))
    timeline.write_parquet(file)
    main(["check", f"{tmp_path}/store#day04.0", "--against", f"{tmp_path}/store", "--json"])
    checks = json.loads(capsys.readouterr().out)["checks"]
    (check,) = (each for each in checks if each["key"] == "against_step_us")
    printed = timeline.filter(kind="call", function="train_step")["duration_us"][1:].median()
    assert isinstance(printed, float)
    assert check["measured"] == printed
    assert check["passed"]
    assert check["limit"] == pytest.approx(printed * 1.1)  # four logs with equal times
    assert check["text"].startswith("step time (as printed) is ")


@pytest.mark.parametrize("seed", range(20))
def test_noise_is_not_a_change(seed: int) -> None:
    values = np.random.default_rng(seed).normal(1000, 50, 40)
    assert change_points(values, STEP) == []


@pytest.mark.parametrize("seed", range(20))
def test_a_step_in_noise_is_found(seed: int) -> None:
    noise = np.random.default_rng(seed).normal(0, 20, 40)
    values = np.r_[np.full(25, 1000.0), np.full(15, 1500.0)] + noise
    ((place, before, after),) = change_points(values, STEP)
    assert place == 25
    assert before == pytest.approx(1000, abs=20)
    assert after == pytest.approx(1500, abs=20)


def test_two_changes_are_found_and_one_outlier_is_none() -> None:
    values = np.r_[np.full(5, 0.9), np.full(5, 0.6), np.full(5, 0.8)]
    assert [place for place, _, _ in change_points(values, SHARE)] == [5, 10]
    assert change_points(np.r_[np.full(5, 0.9), 0.1, np.full(5, 0.9)], SHARE) == []
