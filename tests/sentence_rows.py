"""The rows of `grammars/sentences/`, and which of them are said of a log.

`tests/sentences/rows.toml` names for each row a log of which it is said, or why none is kept.
`python -m tests.sentence_rows` writes it anew, after rows or logs have changed.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import tflogscope
from tests.samples import KEPT, path_of
from tflogscope.checks.policy import Policy, PolicySection
from tflogscope.checks.values import DEFAULTS
from tflogscope.grammar.load import packaged_toml
from tflogscope.model.common.sentences import Words

FILE = Path(__file__).parent / "sentences" / "rows.toml"
_KINDS = {
    "finding": "findings",
    "limit": "limits",
    "answer": "answers",
    "verdict": "verdicts",
    "key": "checks",
}
_PARTS = ("lead", "message", "text", "more", "violation", "advice")
_STRICT: dict[str, Any] = {
    "max_retraces": 0,
    "min_rewritten": 1.0,
    "forbid_implementations": ("*",),
    "require_kernels": ("_MklMatMul", "_MklNothing"),
    "max_creation_share": 0.0,
    "max_reorder_share": 0.0,
    "max_reference_share": 0.0,
    "max_nonzero_exits": 0,
}
_POLICIES = [
    Policy(
        str(limit), (PolicySection(None, {**DEFAULTS, **_STRICT, **dict.fromkeys(keys, limit)}),)
    )
    for keys in [("max_unlinked", "max_unknown")]
    for limit in (0, 0.0)
]


def all_rows() -> dict[str, str]:
    """The rows by their names, `finding input-bound advice.serial`."""
    return dict(_rows())


def _rows() -> Iterator[tuple[str, str]]:
    for kind, file in _KINDS.items():
        content = packaged_toml(f"sentences/{file}.toml")
        for row in content[kind]:
            parts = {part: row[part] for part in _PARTS if part in row}
            yield from _named(f"{kind} {row['id']}", parts)
        yield from _named(f"{kind} phrase", content.get("phrases", {}))


def _named(of: str, parts: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for part, sentences in parts.items():
        if isinstance(sentences, str):
            yield f"{of} {part}", sentences
        else:
            for needs, sentence in sentences.items():
                yield f"{of} {part}.{needs}", sentence


def rows_said(log: str) -> set[str]:
    """The rows that are said of a log. Rows with equal words count as one.

    Raises:
        KeyError: a rule doesn't give a fact of its row.
    """
    said = set[str]()
    write, write_field = Words.vformat, Words.format_field

    def noted(self: Words, sentence: str, args: Any, facts: Any) -> str:
        said.add(sentence)
        return write(self, sentence, args, facts)

    def checked(self: Words, value: Any, format_spec: str) -> str:
        assert value is not None, said
        return write_field(self, value, format_spec)

    with (
        mock.patch.object(Words, "vformat", noted),
        mock.patch.object(Words, "format_field", checked),
    ):
        run = tflogscope.open_log(*(path_of(part) for part in log.split("+")))
        _ = run.headline.verdict, run.summary.answers
        for policy in _POLICIES:
            run.check(policy)
    return {name for name, sentence in _rows() if sentence in said}


def read_rows() -> dict[str, dict[str, str]]:
    """What `tests/sentences/rows.toml` says."""
    return tomllib.loads(FILE.read_text(encoding="utf-8"))


def _write(before: dict[str, dict[str, str]]) -> None:
    """Look for a log for each row, first among those that are named already."""
    left, shown = set(all_rows()), dict[str, str]()
    for log in dict.fromkeys([*before["shown"].values(), *KEPT]):
        said = rows_said(log) & left if left else set[str]()
        shown |= dict.fromkeys(said, log)
        left -= said
    head = "".join(
        line
        for line in FILE.read_text(encoding="utf-8").splitlines(keepends=True)
        if line.startswith("#")
    )
    tables = {
        "shown": {name: shown[name] for name in all_rows() if name in shown},
        "unseen": {name: before["unseen"].get(name, "") for name in all_rows() if name in left},
    }
    text = head
    for table, rows in tables.items():
        text += f"\n[{table}]\n"
        text += "".join(
            f"{json.dumps(name)} = {json.dumps(value, ensure_ascii=False)}\n"
            for name, value in rows.items()
        )
    FILE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    _write(read_rows())
