"""Reads grammar files (TOML) into a `Grammar`.

Nothing is compiled here: patterns are strings, made when first asked for, and pyparsing is not
imported. To parse all packaged TOML takes 100 ms, so `hatch_build.py` does it when tflogscope is
installed; a file that has changed since is parsed here.
"""

from __future__ import annotations

import marshal
from collections.abc import Mapping
from functools import cache
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from zlib import crc32

from tflogscope.errors import GrammarError
from tflogscope.folders import files_below
from tflogscope.grammar.envelopes import Envelope, read_envelope
from tflogscope.grammar.model import (
    FileGrammar,
    Grammar,
    Hot,
    Marker,
    Markers,
    Message,
    Prefix,
    Sample,
)
from tflogscope.grammar.template import require_known
from tflogscope.grammar.verbose import VERBOSE_KEYS, VerboseGrammar, verbose_grammar

_Kind = TypeVar("_Kind")

_TOP_KEYS = VERBOSE_KEYS | {"source", "file", "files", "message", "prefix", "marker", "envelope"}
_TOP_KEYS |= {"rewriter"}  # what the model knows of a plug-in: rewriters.py
_MESSAGE_KEYS = {
    "id", "file", "level", "function", "since", "until", "text", "meaning", "sample",
    "scan", "table", "starts", "ends",
}  # fmt: skip
_SAMPLE_KEYS = {"release", "line", "fields", "origin"}

#: Files and folders that say nothing of messages: what the layers above know of TensorFlow.
_OF_THE_MODEL = {
    *("benchdnn.toml", "causes.toml", "costs.toml", "endings.toml", "functions.toml"),
    *("ledger.toml", "ops.toml", "reasons.toml", "record.toml", "redact.toml", "repairs.toml"),
    *("sentences", "tables.toml"),
}
_ENVELOPES = "envelopes.toml"  # read when a log has something around its records

_PARSED = Path(__file__).with_name("_parsed.bin")


def load_grammar(directory: str | PathLike[str] | None = None) -> Grammar:
    """The packaged grammar, and what the `*.toml` files below a directory add to it.

    Raises GrammarError, which names the grammar file and the message. Files of the directory are
    checked wholly, samples too; those of the package are checked by the tests.
    """
    if directory is None:
        return _packaged()
    root = Path(directory)
    if not root.is_dir():
        raise GrammarError("not a directory with grammar files", str(root))
    added = read_own({f"{root.name}/{file.name}": file for file in own_files(root)})
    # pyparsing and polars are needed for the check only.
    from tflogscope.grammar.check import misfits

    if misfit := next(misfits(*added), None):
        raise misfit
    return added.grammar


def own_files(directory: str | PathLike[str]) -> list[Path]:
    """The grammar files below a directory, in the order in which they are read.

    Raises GrammarError if a directory can't be read.
    """
    paths = []
    for entry in files_below(directory, str, hidden=True):
        if isinstance(entry, str):
            raise GrammarError("can't be read", entry, "Check its permissions.")
        paths.append(Path(entry.path))
    return sorted(path for path in paths if path.suffix == ".toml")


class Own(NamedTuple):
    """The packaged grammar with what files of a user's own add to it, and these additions."""

    grammar: Grammar
    messages: list[Message]
    prefixes: list[Prefix]
    envelopes: list[Envelope]


def read_own(files: Mapping[str, Path]) -> Own:
    """Read grammar files beside the packaged ones, and don't try their samples.

    Args:
        files: by the names that errors give them.

    Raises:
        GrammarError: one can't be read, or says what no grammar file can say.
    """
    packaged = _packaged()
    collector = _Collector(packaged)
    for name, file in files.items():
        if file.exists() and not file.is_file():  # a pipe would be waited for
            raise GrammarError("can't be read: not a file", name)
        try:
            collector.read(file, name)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            problem = "not a valid grammar file: a table or a list is in the wrong place"
            hint = "List entries take two brackets: [[message]], [[envelope]]."
            raise GrammarError(problem, name, hint) from error
    grammar = collector.grammar()
    return Own(
        grammar,
        [message for id_, message in grammar.by_id.items() if id_ not in packaged.by_id],
        [prefix for id_, prefix in grammar.prefixes.items() if id_ not in packaged.prefixes],
        list(collector.envelopes.values()),
    )


@cache
def _packaged() -> Grammar:
    collector = _Collector(None)
    root = _packaged_root()
    for file in sorted(root.rglob("*.toml")):
        if not {file.name, file.parent.name} & (_OF_THE_MODEL | {_ENVELOPES}):
            collector.read(file, f"{root.name}/{file.name}")
    return collector.grammar()


def packaged_file(name: str) -> Path:
    """The path of a packaged file that another layer reads.

    Raises GrammarError.
    """
    return _packaged_root() / name


def packaged_toml(name: str) -> dict[str, Any]:
    """What a packaged file says. Raises GrammarError if it is damaged."""
    return read_toml(packaged_file(name), name)


def read_toml(file: Path, name: str) -> dict[str, Any]:
    """What a file says; errors call it `name`. Raises GrammarError if it is damaged."""
    try:
        text = file.read_bytes()
        if parsed := _parsed().get(crc32(text)):
            content: dict[str, Any] = marshal.loads(parsed)  # noqa: S302  ours, as .pyc files are
            return content
        import tomllib

        return tomllib.loads(text.decode())
    except (OSError, UnicodeDecodeError) as error:
        raise GrammarError(f"can't be read: {error}", name) from error
    except (ValueError, RecursionError) as error:
        raise GrammarError(f"not TOML: {error}", name) from error


@cache
def _parsed() -> Mapping[int, bytes]:
    """What packaged files say, by the checksums of their texts (`hatch_build.py`)."""
    try:
        contents: Mapping[int, bytes] = marshal.loads(_PARSED.read_bytes())  # noqa: S302  see above
    except (OSError, ValueError, EOFError, TypeError):  # not installed, or by another Python
        return {}
    return contents


def frozen(value: Any) -> Any:
    """What a file says, with tuples in the place of lists."""
    if isinstance(value, dict):
        return {name: frozen(part) for name, part in value.items()}
    return tuple(map(frozen, value)) if isinstance(value, list) else value


@cache
def _packaged_envelopes() -> dict[str, Envelope]:
    envelopes = (read_envelope(row, _ENVELOPES) for row in packaged_toml(_ENVELOPES)["envelope"])
    return {envelope.id: envelope for envelope in envelopes}


def _packaged_root() -> Path:
    """In a wheel the grammars are inside the package, in a checkout beside it.

    By path and not by importlib.resources, whose import alone takes longer than the loading.
    """
    package = Path(__file__).parent.parent
    for root in (package / "_grammars", package.parent / "grammars"):
        if root.is_dir():
            return root
    raise GrammarError("the grammar files are missing", str(package), "Reinstall tflogscope.")


class _Collector:
    """Gathers the content of grammar files; a later file may add to what an earlier one has."""

    def __init__(self, base: Grammar | None) -> None:
        self.sources = {name: file.source for name, file in base.files.items()} if base else {}
        self.messages = (
            {name: list(file.messages) for name, file in base.files.items()} if base else {}
        )
        self.by_id = dict(base.by_id) if base else {}
        self.prefixes = dict(base.prefixes) if base else {}
        self.markers = base.markers if base else Markers()
        self.verbose = base.verbose if base else VerboseGrammar()
        self.envelopes: dict[str, Envelope] = {}

    def read(self, file: Path, name: str) -> None:
        self._add(read_toml(file, name), name)

    def grammar(self) -> Grammar:
        files = {
            name: FileGrammar(name, self.sources[name], tuple(messages))
            for name, messages in self.messages.items()
        }
        envelopes = self.envelopes
        return Grammar(
            files,
            self.by_id,
            self.prefixes,
            self.markers,
            self.verbose,
            lambda: envelopes | _packaged_envelopes(),  # a user's own come first
        )

    def _add(self, content: dict[str, Any], name: str) -> None:
        require_known(content, _TOP_KEYS, name)
        files = list(content.get("files", []))
        if "file" in content:
            files.append(content["file"])
        for file in files:
            self.sources.setdefault(file, str(content.get("source", file)))
            self.messages.setdefault(file, [])
        for entry in content.get("message", []):
            message = _message(entry, files, name)
            if message.id in self.by_id:
                other = self.by_id[message.id].grammar_file
                raise GrammarError(f"the id is taken by {other}", _place(name, message.id))
            self.by_id[message.id] = message
            self.messages[message.file].append(message)
        for entry in content.get("prefix", []):
            prefix = _prefix(entry, name)
            if prefix.id in self.prefixes:
                raise GrammarError(f"duplicate prefix id {prefix.id!r}", name)
            self.prefixes[prefix.id] = prefix
        for entry in content.get("envelope", []):
            envelope = read_envelope(entry, name)
            if envelope.id in self.envelopes:
                problem = f"duplicate envelope id {envelope.id!r}"
                raise GrammarError(problem, name)
            self.envelopes[envelope.id] = envelope
        added = tuple(_marker(entry, content, name) for entry in content.get("marker", ()))
        self.markers = Markers(self.markers.markers + added)
        if content.keys() & VERBOSE_KEYS:
            self.verbose = self.verbose.joined(verbose_grammar(content, name))


def _marker(entry: dict[str, Any], content: dict[str, Any], name: str) -> Marker:
    return Marker(
        _get(entry, "literal", str, name),
        _get(entry, "meaning", str, name),
        tuple(entry.get("samples", ())),
        str(entry.get("table", "verbose")),
        str(entry.get("file", content.get("file", ""))),
        bool(entry.get("inside", False)),
    )


def _message(entry: dict[str, Any], files: list[str], name: str) -> Message:
    id_ = _get(entry, "id", str, name)
    place = _place(name, id_)
    require_known(entry, _MESSAGE_KEYS, place)
    file = entry.get("file", files[0] if len(files) == 1 else None)
    if file not in files:
        raise GrammarError("the message needs a `file` that the grammar file names on top", place)
    if "sample" not in entry:
        raise GrammarError("the message has no sample", place, "Add a [[message.sample]].")
    return Message(
        id=id_,
        file=str(file),
        level=_get(entry, "level", int, place),
        template=_get(entry, "text", str, place),
        meaning=_get(entry, "meaning", str, place),
        hot=_hot(entry) if "scan" in entry else None,
        grammar_file=name,
        samples=tuple(_sample(sample, place) for sample in entry["sample"]),
    )


def _hot(entry: dict[str, Any]) -> Hot:
    starts, ends = (tuple(entry.get(name, ())) for name in ("starts", "ends"))
    scan = entry["scan"]
    scans = (scan,) if isinstance(scan, str) else tuple(scan)
    return Hot(scans, entry.get("table", ""), starts, ends)


def _sample(entry: dict[str, Any], place: str) -> Sample:
    require_known(entry, _SAMPLE_KEYS, place)
    return Sample(_get(entry, "line", str, place), entry.get("fields", {}))


def _prefix(entry: dict[str, Any], name: str) -> Prefix:
    return Prefix(
        id=_get(entry, "id", str, name),
        shape=_get(entry, "shape", str, name),
        site=_get(entry, "site", str, name),
        meaning=_get(entry, "meaning", str, name),
        samples=tuple(_sample(sample, name) for sample in entry.get("sample", [])),
    )


def _get(entry: Mapping[str, Any], key: str, kind: type[_Kind], place: str) -> _Kind:
    value = entry.get(key)
    if not isinstance(value, kind):
        what = "is missing" if key not in entry else f"is not a {kind.__name__}"
        raise GrammarError(f"`{key}` {what}", place)
    return value


def _place(name: str, id_: str) -> str:
    return f"{name}, message {id_!r}"
