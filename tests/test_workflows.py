"""The files for GitHub and pre-commit: what can be checked without GitHub.

The action's steps, and those of docs/ci.md, are run here one by one, as a runner would.
"""

from __future__ import annotations

import json
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import tflogscope
from tests.samples import path_of, raw_log
from tests.test_ci_docs import CI, JOB
from tests.test_docs import program

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PRE_COMMIT = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
WORKFLOWS = {
    path.stem: yaml.safe_load(path.read_text())
    for path in sorted((ROOT / ".github" / "workflows").glob("*.yml"))
}
JOBS = {
    f"{name} {job}": spec
    for name, workflow in WORKFLOWS.items()
    for job, spec in workflow["jobs"].items()
}
# What brings a command: a package of an extra, or the project itself.
BROUGHT_BY = {
    "lint-imports": "import-linter",
    "mkdocs": "mkdocs-material",
    "mypy": "mypy",
    "pytest": "pytest",
    "ruff": "ruff",
    "tflogscope": "tflogscope",
}
CLEAN = "keras_fit_mlp__tf2.13.1__vlog2"
EAGER = "run_eagerly__tf2.13.1__vlog2"


def runs(steps: list[dict[str, Any]]) -> list[str]:
    return [line for step in steps for line in step.get("run", "").splitlines()]


def packages_of(job: dict[str, Any]) -> Iterator[str]:
    """What the job's `pip install` lines bring."""
    for line in runs(job["steps"]):
        if line.startswith("pip install "):
            yield "tflogscope"
            for extra in re.findall(r"[\w,]+(?=\])", line):
                for name in extra.split(","):
                    for need in PROJECT["optional-dependencies"][name]:
                        yield re.split(r"[<>=; ]", need)[0]


@pytest.mark.parametrize("name", JOBS)
def test_a_job_runs_what_it_installs_and_what_is_there(name: str) -> None:
    job, brought = JOBS[name], {*packages_of(JOBS[name])}
    for line in runs(job["steps"]):
        words = shlex.split(line)
        assert words[0] in {"python", "pip"} or BROUGHT_BY[words[0]] in brought, line
        for word in words:
            assert not re.match(r"(tests|tools|docs|sample_logs)/", word) or (ROOT / word).exists()
        if words[0] == "tflogscope":
            assert words[1] in program().commands


@pytest.mark.parametrize("name", [*JOBS, "action"])
def test_a_step_runs_a_line_or_uses_a_released_action(name: str) -> None:
    steps = ACTION["runs"]["steps"] if name == "action" else JOBS[name]["steps"]
    for step in steps:
        assert len({"uses", "run"} & set(step)) == 1, step
        assert re.fullmatch(r"\./|[\w-]+/[\w/-]+@v\d+", step.get("uses", "./"))
        if step.get("uses") == "./":
            assert set(step["with"]) <= set(ACTION["inputs"])
            assert (ROOT / step["with"]["logs"]).is_file()


def test_the_pythons_are_those_of_the_classifiers() -> None:
    of = re.compile(r"Programming Language :: Python :: (\d\.\d+)")
    claimed = [found[1] for each in PROJECT["classifiers"] if (found := of.fullmatch(each))]
    assert JOBS["ci tests"]["strategy"]["matrix"]["python"] == claimed
    assert PROJECT["requires-python"] == f">={claimed[0]}"
    for job in JOBS.values():
        for step in job["steps"]:
            python = step.get("with", {}).get("python-version", claimed[0])
            assert python in {*claimed, "${{ matrix.python }}"}


def test_the_same_checks_run_everywhere() -> None:
    contributing = (ROOT / "CONTRIBUTING.md").read_text()
    checks = re.findall(
        r"^\| (?:lint|format|types|layers) \| `(.*)` \|$", contributing, re.MULTILINE
    )
    assert len(checks) == 4
    assert [line for line in runs(JOBS["ci lint"]["steps"]) if not line.startswith("pip")] == checks
    assert [hook["entry"] for repo in PRE_COMMIT["repos"] for hook in repo["hooks"]] == checks
    in_ci = (ROOT / ".ci" / "run").read_text().splitlines()
    assert set(checks) <= {line.strip() for line in in_ci}


def test_forms_and_citation() -> None:
    for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"):
        form = yaml.safe_load(path.read_text())
        assert {"name", "description", "body"} <= set(form)
        ids = [field["id"] for field in form["body"]]
        assert len(ids) == len(set(ids))
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == tflogscope.__version__
    assert citation["license"] == PROJECT["license"]
    changelog = (ROOT / "CHANGELOG.md").read_text()
    assert f"## [{citation['version']}] - {citation['date-released']}\n" in changelog


def test_the_man_page_has_each_command_and_option() -> None:
    lines = list(runpy.run_path(str(ROOT / "tools" / "man.py"))["page"]())
    text = "\n".join(lines).replace("\\-", "-")
    for name, command in program().commands.items():
        (page,) = re.findall(
            rf'^\.SH "TFLOGSCOPE {name.upper()}"\n(.*?)\n\.fi', text, re.MULTILINE | re.DOTALL
        )
        for parameter in command.params:
            if parameter.name != "command" and any(each[0] == "-" for each in parameter.opts):
                assert parameter.opts[-1] in page


# ---- the action, step by step --------------------------------------------------------------------


def test_the_steps_of_the_action_are_those_of_the_docs() -> None:
    steps = {step["name"]: step for step in JOB["steps"] if "name" in step}
    ours = ACTION["runs"]["steps"]
    assert [step["name"] for step in ours] == [each for each in steps if "Record" not in each]
    for step in ours:
        assert step.get("uses") == steps[step["name"]].get("uses")
        assert set(step.get("with", {})) == set(steps[step["name"]].get("with", {}))
    (shown,) = re.findall(r"uses: …/tflogscope@v1\n      with:\n((?:        .*\n)+)", CI)
    assert list(yaml.safe_load(shown)) == list(ACTION["inputs"])


@pytest.fixture
def runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace whose pip and pipx only note what they are asked for."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("pip", "pipx"):
        (tools / name).write_text(f'#!/bin/sh\necho {name} "$@" >> "{tmp_path}/installed"\n')
    (tools / "tflogscope").write_text(f'#!/bin/sh\nexec {sys.executable} -m tflogscope "$@"\n')
    (tools / "python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    for path in tools.iterdir():
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_ACTION_PATH", str(ROOT))
    work = tmp_path / "workspace"
    work.mkdir()
    monkeypatch.chdir(work)
    return work


def act(steps: list[dict[str, Any]], **inputs: str) -> tuple[int, str]:
    """Run the `run` blocks in turn until one fails, as `shell: bash` does; status and output."""
    asked = {name: spec.get("default") for name, spec in ACTION["inputs"].items()} | inputs
    output = ""
    for step in steps:
        given = step.get("env", {}).items()
        environment = {name: asked[value.split(".")[1].strip("} ")] for name, value in given}
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step.get("run", "")],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        output += done.stdout + done.stderr
        if done.returncode:
            return done.returncode, output
    return 0, output


def results() -> list[Any]:
    found: list[Any] = json.loads(Path("check.sarif").read_text())["runs"][0]["results"]
    return found


@pytest.mark.thorough
def test_the_action_passes_logs_that_keep_to_the_policy(runner: Path) -> None:
    (runner / "logs").mkdir()
    shutil.copy(path_of(CLEAN), runner / "logs")
    shutil.copy(path_of(CLEAN), runner / "a run.log")
    assert act(ACTION["runs"]["steps"], logs="logs\na run.log\n")[0] == 0
    assert results() == []
    assert (runner.parent / "installed").read_text() == f"pipx install {ROOT}\n"


@pytest.mark.thorough
def test_the_action_fails_until_the_baseline_knows_it(runner: Path) -> None:
    log, check = str(path_of(EAGER)), ACTION["runs"]["steps"]
    status, output = act(check, logs=log)
    assert status == 1
    assert "::error" in output
    assert results()
    subprocess.run(["tflogscope", "check", log, "--write-baseline", "known.json"], check=True)
    (runner / "check.sarif").unlink()
    assert act(check, logs=log, baseline="known.json")[0] == 0


@pytest.mark.thorough
def test_the_action_takes_a_policy(runner: Path) -> None:
    (runner / "strict.toml").write_text("[tool.tflogscope.check]\nforbid_implementations = ['*']\n")
    status, _ = act(ACTION["runs"]["steps"], logs=str(path_of(CLEAN)), policy="strict.toml")
    assert status == 1
    assert results()


@pytest.mark.thorough
def test_the_steps_of_the_docs_run(runner: Path) -> None:
    (runner / "log").write_bytes(raw_log(CLEAN))
    (runner / "train.py").write_text("import sys; sys.stdout.write(open('log').read())\n")
    assert act(JOB["steps"])[0] == 0
    assert (runner / "run.log.zst").stat().st_size
    assert results() == []
