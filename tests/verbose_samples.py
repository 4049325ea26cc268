"""The sample lines of oneDNN in `grammars/onednn`, with the fields that each has to give."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

ONEDNN = Path(__file__).parent.parent / "grammars" / "onednn"


class VerboseSample(NamedTuple):
    """A whole line, and the values of the columns that are not null for it."""

    line: str
    fields: Mapping[str, object]
    origin: str
    era: str


def verbose_samples() -> list[VerboseSample]:
    """In the order of files and lines."""
    files = sorted(ONEDNN.glob("*.toml"))
    contents = {file.name: tomllib.loads(file.read_text("utf-8")) for file in files}
    return [
        VerboseSample(each["line"], each["fields"], each["origin"], content.get("era", name))
        for name, content in contents.items()
        for each in content.get("sample", ())
    ]
