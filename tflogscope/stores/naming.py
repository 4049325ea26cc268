"""Which files are which run: each file by itself, or those that a template names together.

A template is a path in which `{job}` is a field, any text without `/`, and `*` anything without
`/`. Files with equal fields are parts of one run.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from tflogscope.errors import InputError, UsageError
from tflogscope.grammar.load import load_grammar
from tflogscope.grammar.model import Grammar
from tflogscope.sources.discover import file_and_process, is_pipe, natural_key
from tflogscope.sources.streams import find_streams
from tflogscope.stores.folder import file_system, is_url

_PIECE = re.compile(r"\{([A-Za-z_]\w*)\}|(\*)")
_SUFFIXES = re.compile(r"(\.(log|txt|out|err))?(\.(gz|zst|xz|bz2))?$", re.IGNORECASE)
_LONGEST = 200  # bytes of an id, which is part of file names
OWN_FIELDS = ("host", "pid", "rank")
"""Fields of a template that the table `runs` has a column for anyway."""


class Named(NamedTuple):
    """A run before it is read: its id, its fields by the template, its files and their bytes."""

    run: str
    fields: Mapping[str, str]
    files: tuple[str, ...]
    size: int


def name_runs(
    inputs: Sequence[str],
    template: str | None,
    taken: Sequence[str],
    grammar: Grammar | None = None,
    left: list[str] | None = None,
) -> list[Named]:
    """The runs that the inputs are, the largest first; each process of a file is one (`FILE#0`).

    Args:
        inputs: files, directories and URLs of both.
        template: which files make a run; None: each file is one.
        taken: names of columns that a field can't have.
        grammar: by which the processes of a file are told apart; the packaged one by default.
        left: gets the files of directories that have no record.

    Raises:
        UsageError: the template is wrong or fits no file, or two runs have the same id.
        InputError: no input can be read. Where one can, those that can't are runs that will fail.
    """
    refused: dict[str, InputError] = {}
    sizes = dict(_sizes(inputs, grammar or load_grammar(), refused, left))
    if refused and not sizes:
        raise next(iter(refused.values()))
    sizes |= dict.fromkeys(refused, 0)
    pattern = None if template is None else _pattern(template, taken)
    runs: dict[str, dict[tuple[tuple[str, str], ...], list[str]]] = {}
    for file in sizes:
        fields: dict[str, str] = {}
        path, *process = file_and_process(file) or (file,)
        if pattern is not None:
            match = pattern.search(path.replace("\\", "/"))
            if match is None:
                continue
            fields = {field: _shown(text) for field, text in match.groupdict().items()}
        id_ = fit(".".join([*(fields.values() if fields else [_stem(path)]), *process]))
        key = tuple(fields.items()) or (("file", file),)
        runs.setdefault(id_, {}).setdefault(key, []).append(file)
    if not runs:
        hint = f"It is matched against the end of each path, such as {next(iter(sizes))}"
        raise UsageError(f"none of {len(sizes):,} files matches", f"--run {template}", hint)
    found_runs = []
    for id_, by_fields in runs.items():
        if len(by_fields) > 1:
            one, other = (files[0] for files in list(by_fields.values())[:2])
            hint = "Use a template with fields that differ: --run '{job}/rank{rank}.log*'"
            raise UsageError(f"two runs have the id {id_!r}", f"{one} and {other}", hint)
        ((key, files),) = by_fields.items()
        size = sum(sizes[file] for file in files)
        files.sort(key=natural_key)
        found_runs.append(Named(id_, dict(key) if pattern else {}, tuple(files), size))
    return sorted(found_runs, key=lambda run: (-run.size, run.run))


def fit(id_: str) -> str:
    """The id, if it can be a part of file names; else one made of it, with a checksum.

    It can't if it is hidden, leads elsewhere, is too long, or has characters that have an effect.
    """
    wrong = "/" in id_ or "\\" in id_ or ".." in id_ or id_.startswith((".", "-"))
    if id_ and not wrong and id_.isprintable() and len(id_.encode()) <= _LONGEST:
        return id_
    raw = id_.encode("utf-8", "surrogateescape")
    words = re.sub(r"[^\w-]+|^-+", "_", raw[: _LONGEST - 20].decode("utf-8", "replace"))
    return f"{words}-{hashlib.sha256(raw).hexdigest()[:8]}"


def _shown(name: str) -> str:
    """A name of bytes that are not UTF-8, as `Source` shows it."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _stem(file: str) -> str:
    return _SUFFIXES.sub("", PurePosixPath(file.replace("\\", "/")).name)


def _pattern(template: str, taken: Sequence[str]) -> re.Pattern[str]:
    """What a template fits: the end of a path, from the start of a name on."""
    text, place, names = "", 0, set()
    for piece in _PIECE.finditer(template):
        text += re.escape(template[place : piece.start()])
        place = piece.end()
        name = piece[1]
        if name in names or (name in taken and name not in OWN_FIELDS):
            why = "appears twice" if name in names else "is a column that every run has"
            raise UsageError(f"the field {name} {why}", f"--run {template}", "Rename it.")
        text += "[^/]*" if name is None else f"(?P<{name}>[^/]+?)"
        names |= {name} - {None}
    text += re.escape(template[place:])
    if not names or re.search(r"[{}]", _PIECE.sub("", template)):
        hint = "Use a field for what differs: --run '{job}/{date}/rank{rank}.log*'"
        raise UsageError("a template needs fields", f"--run {template}", hint)
    return re.compile(f"(?:^|/){text.lstrip('/')}$")


def _sizes(
    inputs: Sequence[str],
    grammar: Grammar,
    refused: dict[str, InputError],
    left: list[str] | None,
) -> Iterator[tuple[str, int]]:
    """The files of all inputs, or their processes, and their bytes."""
    for named in inputs:
        if is_url(named):
            yield from _remote_sizes(named)
        elif is_pipe(named):
            raise UsageError("collect reads files, not a pipe", named, "Write it to a file first.")
        else:
            for source in find_streams([named], grammar, refused, left=left):
                yield source.path, source.size or 0


def _remote_sizes(url: str) -> Iterator[tuple[str, int]]:
    system, path = file_system(url)
    try:
        files = system.find(path, detail=True)
    except OSError as error:
        raise InputError(str(error), url) from error
    if not files:
        raise InputError("no such file", url, "Check the path.")
    for name, facts in sorted(files.items(), key=lambda item: natural_key(item[0])):
        if not PurePosixPath(name).name.startswith("."):
            yield str(system.unstrip_protocol(name)), int(facts.get("size") or 0)
