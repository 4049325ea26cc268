"""docs/ci.md: what people copy from it is well formed and names things that exist."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.made_run import in_memory
from tests.test_docs import program
from tflogscope.checks.policy import read_policy
from tflogscope.checks.values import KEYS

ROOT = Path(__file__).parent.parent
DOCUMENTS = ("ci.md", "commands.md", "pytest.md")
CI = (ROOT / "docs" / "ci.md").read_text()


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


WORKFLOW, GITLAB = (yaml.safe_load(block) for block in blocks(CI, "yaml"))
(JOB,) = WORKFLOW["jobs"].values()


def shell_lines() -> Iterator[str]:
    """What the files and the page have a shell run."""
    for step in JOB["steps"]:
        yield from step.get("run", "").splitlines()
    for job in GITLAB.values():
        yield from job["script"]
    for block in blocks(CI, "text"):
        yield from (line.removeprefix("$ ") for line in block.splitlines())


def test_the_workflow_is_one() -> None:
    # YAML 1.1 reads the key `on` as true; GitHub does not.
    assert set(WORKFLOW) == {"name", True, "permissions", "jobs"}
    assert set(WORKFLOW[True]) == {"push", "pull_request"}
    assert JOB["runs-on"].startswith("ubuntu-")
    for step in JOB["steps"]:
        assert len({"uses", "run"} & set(step)) == 1, step
        assert set(step) <= {"name", "uses", "run", "with", "if"}
        if "uses" in step:
            assert re.fullmatch(r"[\w-]+/[\w/-]+@v\d+", step["uses"])


def test_each_command_and_option_in_them_exists() -> None:
    found = set()
    for line in shell_lines():
        words = shlex.split(line)
        if words[0].rsplit("/", 1)[-1] != "tflogscope":
            continue
        ours = words[: words.index("--")] if "--" in words else words
        command = program().commands[ours[1]]
        known = {spelling for parameter in command.params for spelling in parameter.opts}
        assert {word for word in ours if word.startswith("-")} <= known, line
        found.add(ours[1])
    assert found == {"record", "check"}


def test_files_that_a_step_uses_are_made_by_one_before_it() -> None:
    made: set[str] = set()
    for step in JOB["steps"]:
        for line in step.get("run", "").splitlines():
            made |= set(re.findall(r"-o (\S+)", line))
        used = step.get("with", {})
        for key in ("sarif_file", "path"):
            assert used.get(key) in {None, *made}
        for name in re.findall(r"hashFiles\('(.*?)'\)", step.get("if", "")):
            assert name in made
    assert GITLAB["graph-mode"]["artifacts"]["reports"]["junit"] == "check.xml"


@pytest.mark.parametrize("document", DOCUMENTS)
def test_policies_in_the_documents_are_good(document: str) -> None:
    text = (ROOT / "docs" / document).read_text()
    for block in blocks(text, "toml"):
        content: dict[str, Any] = tomllib.loads(block)
        if "message" in content:  # a grammar file
            continue
        table = content["tool"]
        if "tflogscope" in table:
            policy = read_policy(in_memory(block.encode()))
            assert any(policy.checked(key) for key in KEYS)
        else:
            assert set(table["pytest"]["ini_options"]) == {"tflogscope_python"}


def test_each_example_of_a_policy_is_one() -> None:
    assert len(blocks(CI, "toml")) == 1
    assert len(blocks((ROOT / "docs" / "commands.md").read_text(), "toml")) >= 1
