"""`ranks` on real workers: each odd one is named, and no other."""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import tflogscope
from tests.makelog import Log
from tests.samples import path_of, unpacked
from tests.test_collect import TAKEN, VERSION, Here
from tflogscope.cli.main import main
from tflogscope.errors import UsageError
from tflogscope.model.common.origin import RECORD_MARK
from tflogscope.sources.source import Source
from tflogscope.stores.collect import collect
from tflogscope.stores.naming import name_runs
from tflogscope.stores.ranks import rank_facts
from tflogscope.views.ranks import describe_differences, describe_stragglers

pytestmark = pytest.mark.thorough

LOGS = Path(__file__).parent / "ranks"
RELEASES = ("2.13.1", "2.20.0")
GROUPS = [f"{name}.{release}" for name in ("healthy2", "mixed4", "slow2") for release in RELEASES]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    store = str(tmp_path_factory.mktemp("ranks") / "store")
    runs = name_runs([str(LOGS)], "{name}__tf{release}__rank{rank}.log.zst", TAKEN)
    assert all(row["state"] == "done" for row in collect(runs, store, Here(), VERSION)[0])
    return store


@pytest.fixture(scope="module")
def facts(store: str) -> dict[str, dict[str, Any]]:
    found = {each["group"]: each for each in rank_facts(tflogscope.open_store(store))}
    assert sorted(found) == sorted(GROUPS)
    return found


@pytest.mark.parametrize("release", RELEASES)
def test_equal_ranks_have_no_differences(facts: dict[str, dict[str, Any]], release: str) -> None:
    for name in ("healthy2", "slow2"):
        assert facts[f"{name}.{release}"]["differences"] == []
    assert facts[f"healthy2.{release}"]["slow"] is None


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("name", ["slow2", "mixed4"])
def test_the_rank_that_the_others_wait_for_is_named(
    facts: dict[str, dict[str, Any]], name: str, release: str
) -> None:
    slow = facts[f"{name}.{release}"]["slow"]
    assert slow["rank"] == "1"
    assert 130_000 < slow["wait_us"] < 400_000, "it slept for 150 ms"
    assert "rank 1 arrives last" in describe_stragglers(facts[f"{name}.{release}"])[0]


@pytest.mark.parametrize("release", RELEASES)
def test_what_is_odd_in_a_rank_is_named_with_it(
    facts: dict[str, dict[str, Any]], release: str
) -> None:
    differences = facts[f"mixed4.{release}"]["differences"]
    odd = {(each["what"], each["subject"]): each["odd"] for each in differences}
    assert odd == {
        ("setting", "TF_ENABLE_ONEDNN_OPTS"): ["2"],
        ("kernel", "MatMul"): ["2"],
        ("problem", "step 5"): ["3"],
    }
    said = " ".join(describe_differences(facts[f"mixed4.{release}"]))
    assert (
        "kernel of MatMul: MatMul (5 nodes) on rank 2; _MklMatMul (5 nodes) on ranks 0, 1, 3"
        in said
    )


@pytest.mark.parametrize("group", GROUPS)
def test_each_step_has_each_rank(facts: dict[str, dict[str, Any]], group: str) -> None:
    found = facts[group]
    assert found["step_function"] == "train_step"
    assert [step["step"] for step in found["steps"]] == list(range(8))
    for step in found["steps"]:
        inside = [rank["collective_us"] for rank in step["ranks"]]
        assert step["wait_us"] == max(inside) - min(inside)
        assert all(0 < rank["collective_us"] <= rank["duration_us"] for rank in step["ranks"])
    assert all(abs(skew) < 10_000 for skew in found["skew_us"].values()), "it is one machine"


def test_clocks_that_are_apart_change_nothing_else(
    facts: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    """The clock of rank 1 is 3 s ahead."""

    def later(found: re.Match[str]) -> str:
        time = datetime.fromisoformat(found[0]) + timedelta(seconds=3)
        return time.isoformat(" ", timespec="microseconds")

    for rank in (0, 1):
        log = b"".join(
            block.text
            for block in Source(str(LOGS / f"slow2__tf2.13.1__rank{rank}.log.zst")).blocks()
        ).decode()
        text = re.sub(r"(?m)^[0-9-]{10} [0-9:]{8}\.\d{6}", later, log) if rank else log
        (tmp_path / f"slow2__tf2.13.1__rank{rank}.log").write_text(text)
    runs = name_runs([str(tmp_path)], "{name}__tf{release}__rank{rank}.log", TAKEN)
    rows, _ = collect(runs, str(tmp_path / "store"), Here(), VERSION)
    assert all(row["state"] == "done" for row in rows)
    (found,) = rank_facts(tflogscope.open_store(tmp_path / "store"))
    before = facts["slow2.2.13.1"]
    apart = {rank: skew - before["skew_us"][rank] for rank, skew in found["skew_us"].items()}
    assert apart["1"] - apart["0"] == pytest.approx(3e6, abs=2)
    for key in ("differences", "step_function", "steps", "slow"):
        assert found[key] == before[key]


def test_the_host_and_rank_are_those_of_tf_config(tmp_path: Path) -> None:
    (log,) = LOGS.glob("mixed4__tf2.20.0__rank3*")
    (row,) = collect(name_runs([str(log)], None, TAKEN), str(tmp_path), Here(), VERSION)[0]
    assert (row["rank"], row["tensorflow"]) == (3, "2.20.0")
    assert re.fullmatch(r"127\.0\.0\.1:\d+", row["host"])


def test_the_command_takes_logs_and_a_store(
    store: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    logs = sorted(str(log) for log in LOGS.glob("slow2__tf2.13.1*"))
    assert main(["ranks", *logs]) == 0
    text = capsys.readouterr().out
    assert "None in releases" in text
    assert "rank 1 arrives last in all 7 steps" in " ".join(text.split())
    assert main(["ranks", f"{store}#{tflogscope.open_store(store).rows['run'][0]}"]) == 2
    assert "no other ranks" in capsys.readouterr().err
    assert main(["ranks", store, "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["runs"]) == len(GROUPS)
    assert main(["report", store, "-o", str(tmp_path / "all.html")]) == 0
    page = (tmp_path / "all.html").read_text()
    assert page.count("<rect") == 8 * (2 + 4 + 2) * 2
    assert "oneDNN problems in step 5: " in page


def with_servers(name: str, folder: Path) -> str:
    """A log of a worker, whose cluster has a parameter server too."""
    header, rest = unpacked(LOGS / f"{name}.log.zst").split(b"\n", 1)
    facts = json.loads(header.removeprefix(RECORD_MARK))
    config = json.loads(facts["environment"]["TF_CONFIG"])
    config["cluster"]["ps"] = ["127.0.0.1:1"]
    facts["environment"]["TF_CONFIG"] = json.dumps(config)
    path = folder / f"{name}.log"
    path.write_bytes(RECORD_MARK + json.dumps(facts).encode() + b"\n" + rest)
    return str(path)


def test_workers_of_parameter_servers_are_not_compared_step_by_step(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logs = [with_servers(f"mixed4__tf2.20.0__rank{rank}", tmp_path) for rank in range(4)]
    other = str(LOGS / "slow2__tf2.13.1__rank0.log.zst")
    assert main(["ranks", *logs, other, "--json"]) == 0
    said = capsys.readouterr()
    (found,) = json.loads(said.out)["runs"]
    assert found["asynchronous"] is True
    assert (found["steps"], found["slow"], found["skew_us"]) == ([], None, {})
    assert {each["what"] for each in found["differences"]} == {"setting", "kernel"}
    assert describe_stragglers(found) == [
        "Workers don't wait for each other: the coordinator hands out their steps."
    ]
    assert "tflogscope: not compared: slow2__tf2.13.1__rank0. " in said.err
    assert main(["ranks", *logs]) == 0
    assert capsys.readouterr().err == ""


def test_long_values_are_shown_from_where_they_differ() -> None:
    calls = "train_step, " * 500
    values = {"0": f"{calls}evaluate, {calls}", "1": f"{calls}save", "2": "step", "3": calls}
    same = {"0": values["0"], "1": values["1"]}
    for each, shown in ((same, "… save on rank 1"), (values, "train_step, train_step,")):
        facts = {"what": "order of calls", "subject": "calls", "values": each, "odd": []}
        (said,) = describe_differences({"differences": [facts], "asynchronous": False})
        assert shown in said
        assert len(said) < 1000
    assert (
        "calls: … evaluate, train_step"
        in describe_differences(
            {"differences": [{**facts, "values": same}], "asynchronous": False}
        )[0]
    )


def test_what_else_differs_between_programs_is_named(tmp_path: Path) -> None:
    names = ("keras_fit_mlp__tf2.13.1__vlog2", "run_eagerly__tf2.13.1__vlog2")
    logs = [str(path_of(name)) for name in names]
    collect(name_runs(logs, None, TAKEN), str(tmp_path / "any"), Here(), VERSION)
    with pytest.raises(UsageError, match="no run with two ranks") as error:
        rank_facts(tflogscope.open_store(tmp_path / "any"))
    assert "No log has a rank or a cluster" in str(error.value.hint)
    runs = name_runs(logs, "{host}__tf{release}__vlog2.log.zst", TAKEN)
    collect(runs, str(tmp_path / "named"), Here(), VERSION)
    (facts,) = rank_facts(tflogscope.open_store(tmp_path / "named"))
    assert len(facts["ranks"]) == len(names)
    found = {each["what"] for each in facts["differences"]}
    assert {"traces", "kernel", "order of calls", "eager after the first step"} <= found
    assert all(each["odd"] == [] for each in facts["differences"]), "of two, neither is the odd one"


def test_what_has_no_ranks_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (log,) = LOGS.glob("slow2__tf2.13.1__rank0*")
    assert main(["ranks", str(log)]) == 2
    assert "only one process in this log" in capsys.readouterr().err
    runs = name_runs([str(LOGS)], "{name}__tf{release}__*.log.zst", TAKEN)
    assert len(runs) == len(GROUPS)
    logs = [str(log) for log in LOGS.glob("*healthy2*rank0*")]
    collect(name_runs(logs, None, TAKEN), str(tmp_path), Here(), VERSION)
    with pytest.raises(UsageError, match="two logs are rank 0"):
        rank_facts(tflogscope.open_store(tmp_path))


def test_ranks_that_call_no_function_have_no_steps(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = Log()
    log.executing("Add")
    path = tmp_path / "job.log"
    lines = log.text().splitlines()
    path.write_text("".join(f"{rank}: {line}\n" for rank in (0, 1) for line in lines))
    assert main(["ranks", str(path)]) == 0
    assert "the ranks call no function" in capsys.readouterr().out
