"""Screens, help and docs use the words of docs/glossary.md, and none that its table rules out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.test_docs import program
from tflogscope.grammar.load import packaged_toml

ROOT = Path(__file__).parent.parent
GLOSSARY = ROOT / "docs" / "glossary.md"
HEADING = "## One word for one thing"
# Texts that are quoted, not ours: logs, code and what TensorFlow says.
QUOTED = re.compile(r"^```.*?^```$|^    .*?$|`[^`]*`", re.MULTILINE | re.DOTALL)
LIKELY_PROSE = re.compile(r"\w [a-z]+ [a-z]+")


@cache
def banned() -> dict[str, str]:
    """Wordings that are ruled out, and what to write for each."""
    table = GLOSSARY.read_text("utf-8").split(HEADING)[1]
    rows = re.findall(r"^\| (.+) \| (.+) \|$", table, re.MULTILINE)[1:]
    return {word: better for better, words in rows for word in words.split(", ")}


def docs() -> Iterator[tuple[str, str]]:
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        text = path.read_text("utf-8")
        yield path.name, text.split(HEADING)[0]


def helps() -> Iterator[tuple[str, str]]:
    for name, command in program().commands.items():
        described = [getattr(each, "help", None) for each in command.params]
        yield f"{name} --help", "\n".join(filter(None, [command.help, *described]))


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, each in value.items():
            if name not in {"where", "shown", "set_by", "words"}:
                yield from strings(each)
    elif isinstance(value, list):
        for each in value:
            yield from strings(each)


def sentences() -> Iterator[tuple[str, str]]:
    for name in ("answers", "checks", "columns", "findings", "limits", "verdicts"):
        yield name, "\n".join(strings(packaged_toml(f"sentences/{name}.toml")))
    for name in ("causes", "reasons"):
        keys = ("why", "change", "advice")
        content = packaged_toml(f"{name}.toml")
        rows = [row for rows in content.values() if isinstance(rows, list) for row in rows]
        yield name, "\n".join(str(row[key]) for row in rows for key in keys if key in row)


def screens() -> Iterator[tuple[str, str]]:
    """String literals of modules whose texts people read; docstrings are not among them."""
    for folder in ("views", "cli"):
        for path in sorted((ROOT / "tflogscope" / folder).rglob("*.py")):
            text = re.sub(r'"""(?:[^"]|"(?!""))*"""', "", path.read_text("utf-8"))
            found = re.findall(r'"((?:[^"\\\n]|\\.)*)"', text)
            yield path.name, "\n".join(each for each in found if LIKELY_PROSE.search(each))


@pytest.mark.parametrize(
    ("place", "text"),
    [*docs(), *helps(), *sentences(), *screens()],
    ids=lambda value: value if len(value) < 40 else "",
)
def test_no_wording_is_used_that_the_glossary_rules_out(place: str, text: str) -> None:
    prose = " ".join(QUOTED.sub(" ", text).split()).lower()
    found = {
        word: better
        for word, better in banned().items()
        if re.search(rf"(?<!\w){re.escape(word)}(?!\w)", prose)
    }
    assert not found, place


def test_the_table_can_fail() -> None:
    assert banned()["mend"] == "fix"
    assert len(banned()) > 25
