"""`tflogscope redact`: the same log with the program's own names replaced."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from tflogscope.cli.inputs import named_inputs, opened
from tflogscope.cli.options import Force, Logs, Output, OwnGrammar, option
from tflogscope.cli.output import refuse_input, target
from tflogscope.cli.progress import progress_bar
from tflogscope.errors import NothingRecognised, UsageError
from tflogscope.exports.atomic import atomic_file, refuse_bad_target
from tflogscope.grammar.load import load_grammar
from tflogscope.recording.log_file import packing
from tflogscope.sources.streams import find_streams

if TYPE_CHECKING:
    from tflogscope.exports.redact import Redactor

_KEPT = {
    "ops": ("ops", ("op", "kernel")),
    "functions": ("functions", ("function",)),
    "nodes": ("nodes", ("node",)),
}


def redact(
    logs: Logs = None,
    *,
    output: Output = None,
    map_file: Annotated[
        str | None,
        option(
            "--map FILE",
            "Store the key and names in this JSON file. If it exists, its key is reused and names "
            "are added. Don't share it.",
        ),
    ] = None,
    keep: Annotated[
        str | None,
        option(
            "--keep KINDS",
            "Keep these names unchanged: ops, functions, nodes (comma-separated).",
        ),
    ] = None,
    force: Force = False,
    grammar: OwnGrammar = None,
) -> None:
    """Write a copy of the log to share, without the program's names.

    Names of nodes, functions, files, hosts, users and commands become stable pseudonyms. The
    program's output and unrecognized text are dropped and counted. Shapes, line numbers and times
    are kept.

    \b
    Examples:
      tflogscope redact run.log -o shareable.log.zst
      tflogscope redact run.log -o shareable.log.zst --map map.json
      tflogscope redact run.log -o shareable.log.zst --keep functions,nodes
    """
    inputs = named_inputs(logs)
    place = target(output, force=force, inputs=inputs)
    if map_file is not None:
        refuse_input(map_file, inputs)
        if place.path is not None and Path(place.path).resolve() == Path(map_file).resolve():
            raise UsageError("the log and the map are the same file", "--map", "Use another file.")
    key, names = _read_map(map_file)
    kept = _kept(keep, inputs, grammar)
    from tflogscope.exports.redact import Redactor

    redactor = Redactor(key, kept, load_grammar(grammar))
    with place.opened() as stream:
        write_redacted(redactor, inputs, stream, Path(place.path or "").suffix)
    if map_file is not None:
        facts = {"key": redactor.key.hex(), "names": names | redactor.names}
        with atomic_file(map_file, force=True) as stream:
            stream.write(json.dumps(facts, indent=1, sort_keys=True).encode())
    text = f"{len(redactor.names):,} names replaced, {redactor.dropped:,} lines or records dropped."
    typer.echo(text, err=True)


def write_redacted(
    redactor: Redactor, inputs: list[str], stream: BinaryIO, suffix: str = ""
) -> None:
    """Write the logs, packed as the suffix says. Raises NothingRecognised."""
    sources = find_streams(inputs, redactor.grammar)
    if several := [part for part in sources if part.process and len(sources) > 1]:
        hint = f"Redact each separately: {several[0].name}"
        raise UsageError("it has lines from several processes", ", ".join(inputs), hint)
    sizes = [source.size for source in sources if source.size is not None]
    total = sum(sizes) if len(sizes) == len(sources) else None
    packed = packing(stream, suffix)
    with progress_bar() as advance:
        done = position = 0
        for source in sources:
            for text, position in redactor.blocks(source):
                packed.write(text)
                if advance:
                    advance(done + position, total)
            done += position
    if not redactor.understood:
        names = ", ".join(source.name for source in sources)
        raise NothingRecognised("no TensorFlow or oneDNN record in it", names)
    if packed is not stream:
        packed.close()


def _read_map(path: str | None) -> tuple[bytes | None, dict[str, str]]:
    """The key and the names of a map that exists. Raises UsageError."""
    if path is None or not Path(path).exists():
        if path is not None:
            refuse_bad_target(path, force=True)
        return None, {}
    try:
        facts = json.loads(Path(path).read_text("utf-8"))
        return bytes.fromhex(facts["key"]), dict(facts["names"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        hint = "Use a file that this command wrote, or a new one."
        raise UsageError("not a map of names", path, hint) from error


def _kept(keep: str | None, inputs: list[str], grammar: str | None) -> set[str]:
    """The words of the names that are to stay. Raises UsageError."""
    kinds = [kind for kind in (keep or "").split(",") if kind]
    if unknown := [kind for kind in kinds if kind not in _KEPT]:
        raise UsageError(f"no kind {unknown[0]!r}", "--keep", f"Available: {', '.join(_KEPT)}.")
    if not kinds:
        return set()
    if "-" in inputs:
        raise UsageError("standard input can only be read once", "--keep", "Pass a file.")
    with opened(inputs, grammar) as run:
        tables = [
            (getattr(run, table), columns) for table, columns in (_KEPT[kind] for kind in kinds)
        ]
        names = {name for table, columns in tables for column in columns for name in table[column]}
    return {word for name in names for word in re.findall(r"\w+", name or "")}
