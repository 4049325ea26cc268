"""One block of text → its lines, each put in a class, and the events that need no second look.

This is the hot path: everything is done on whole columns of a block, distinct strings are only
hashed here, and what does not have exactly the expected form is handed on as a *suspect*
(`torn.py` looks at those again).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tflogscope.events.block import Block, kept
from tflogscope.events.chunk import (
    ASYNC_DONE,
    BLANK_LINE,
    EXECUTOR_LINE,
    IGNORED_LINE,
    MEMORY_LINE,
    START,
    SUSPECT_LINE,
    SYNC_DONE,
    TEXT_LINE,
    VERBOSE_LINE,
    Chunk,
)
from tflogscope.events.dictionary import Codes, Dictionary
from tflogscope.events.digits import Positions, numbers_at
from tflogscope.events.nodes import Definitions
from tflogscope.events.prefix import (
    DIALECTS,
    NO_TIME,
    SHORTEST_PREFIX,
    WIDTHS,
    dialects_of_lines,
    times_of_lines,
)
from tflogscope.events.sites import COVERED, EXECUTOR, IGNORED, MEMORY, NO_SITE, Sites
from tflogscope.grammar.model import Grammar

# How records of the executor begin, by phase.
_HEADS = ("", "Process node: ", "Synchronous kernel done: ", "Async kernel done: ")
_HEAD_WORDS = [np.frombuffer(head[:8].encode().ljust(8), "<u8")[0] for head in _HEADS]
_HEAD_LENGTHS = np.array([len(head) for head in _HEADS], np.int64)
_STEP_WORD = np.frombuffer(b" step \0\0", "<u8")[0]
_SIX_BYTES = np.uint64(0x0000FFFFFFFFFFFF)
_MEMORY_WORD = np.frombuffer(b"__LOG_ME", "<u8")[0]
# The second word of `MemoryLogTensorOutput`: what the executor prints of each node's output.
_TENSOR_OUTPUT_AT = len("__LOG_MEMORY__ MemoryLo")
_TENSOR_OUTPUT_WORD = np.frombuffer(b"gTensorO", "<u8")[0]
_MOST_STEP_DIGITS, _MOST_ID_DIGITS = 24, 8
_LARGEST_STEP = np.uint64(2**63 - 1)
_NODE_WORD = np.frombuffer(b" {{node ", "<u8")[0]
_U0, _ODD = np.uint64(0), np.uint64(0x9E3779B97F4A7C15)

VERBOSE_MARKER = r"(?:(?:mkldnn|dnnl|onednn|onednn_graph)_verbose,|MKL_VERBOSE )"
# The prefix of a record, wherever in a line it stands; the date is what a torn number runs into.
RECORD_PREFIX = (
    r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}: [IWEF] "
    r"|[IWEF]\d{4} \d\d:\d\d:(?:\d{10}|\d\d)\.\d{6} +\d+ "
)
_FOREIGN = f"{VERBOSE_MARKER}|{RECORD_PREFIX}"
_PYTHON_RECORD = r"^(?:WARNING|INFO|ERROR):(?:tensorflow:| All log messages before absl)"
PYTHON_FILE = "python"
# What an unprefixed line may begin with that is no part of a record before it.
_UNPREFIXED_WORDS = np.array(
    [
        np.frombuffer(text.encode()[:8], "<u8")[0]
        for text in (
            "onednn_verbose",
            "dnnl_verbose",
            "mkldnn_verbose",
            "MKL_VERBOSE ",
            "WARNING:",
            "INFO:tensorflow",
            "ERROR:tensorflow",
            "\t [[{{node",
            "\t [[{{function_node",
        )
    ]
)
FOLLOWING = 4  # lines after a suspect that may hold the rest of its message


class LineScanner:
    """Scans blocks of lines; the dictionaries it fills are shared by all blocks of a run."""

    def __init__(self, grammar: Grammar) -> None:
        self.sites = Sites(grammar)
        self.texts = Dictionary()
        self.definitions = Definitions()
        self.tensors = Dictionary()

    def scan(self, text: bytes) -> Chunk:
        """Scan a block of whole lines; `at` counts them from 0."""
        return _BlockScan(self, text, None).run()

    def scan_repaired(self, text: bytes, at: Positions) -> Chunk:
        """Take a second look at repaired lines; `at` is the number of each.

        Nothing becomes a suspect again, and a definition that is cut short is taken as it is.
        """
        return _BlockScan(self, text, at).run()


class _BlockScan:
    """The scan of one block: its lines and what the steps share."""

    def __init__(self, scanner: LineScanner, text: bytes, at: Positions | None) -> None:
        self.scanner = scanner
        self.final = at is not None
        self.block = Block(text)
        self.at = np.arange(len(self.block)) if at is None else at
        self.suspects: list[Positions] = []
        head = self.block.kept_lines(np.arange(min(FOLLOWING, len(self.block))))
        self.chunk = Chunk(np.zeros(len(self.block), np.int8), head=head)

    def run(self) -> Chunk:
        others = self.block.lengths > 0
        self.chunk.classes[~others] = BLANK_LINE
        others[self._records()] = False
        self._unprefixed(np.flatnonzero(others))
        self._keep_suspects()
        return self.chunk

    # ---- records -------------------------------------------------------------------------------

    def _records(self) -> Positions:
        """Scan the lines that begin with a prefix; return which they are."""
        dialects = dialects_of_lines(self.block)
        rows = np.flatnonzero(dialects >= 0)
        if not len(rows):
            return rows
        dialects = dialects[rows]
        sites, messages = self._sites(rows, dialects)
        kinds = self.scanner.sites.kind[sites]
        records = _Records(rows, dialects, messages, sites)
        if (kinds == NO_SITE).any():
            known = np.flatnonzero(kinds != NO_SITE)
            kinds, records = kinds[known], records.take(known)
        self.chunk.dialects = np.bincount(records.dialects, minlength=len(DIALECTS))
        cold = [np.flatnonzero((kinds == COVERED) | (kinds == IGNORED))]
        for kind, scan in ((EXECUTOR, self._executor), (MEMORY, self._memory)):
            chosen = np.flatnonzero(kinds == kind)
            if len(chosen):
                cold.append(chosen[scan(records.take(chosen))])
        self._texts(records.take(np.sort(np.concatenate(cold))))
        return records.rows

    def _sites(self, rows: Positions, dialects: NDArray[np.int8]) -> tuple[Codes, Positions]:
        """Return the site code of each record, and where its message begins."""
        starts = self.block.starts[rows] + WIDTHS[dialects]
        ends = self.block.strings(starts, self.block.ends[rows]).str.find("] ", literal=True)
        lengths = ends.fill_null(0).to_numpy().astype(np.int64)  # no "] ": an empty site, no site
        sites = self.block.strings(starts, starts + lengths)
        codes = self.scanner.sites.encode(sites.hash().to_numpy(), _copies(sites))
        return codes, starts + lengths + 2

    def _executor(self, records: _Records) -> Positions:
        """Keep the runs of nodes; return which of the records are something else.

        In the end that is also what begins like a run and is none: its text is kept as unknown.
        """
        first = self.block.words_at(records.messages)
        phases = np.zeros(len(first), np.int8)
        for phase in (START, SYNC_DONE, ASYNC_DONE):
            phases[first == _HEAD_WORDS[phase]] = phase
        others, running = np.flatnonzero(phases == 0), np.flatnonzero(phases)
        if len(others):
            records, phases = records.take(running), phases[running]
        if len(phases):
            good = self._node_runs(records, phases)
            if self.final:
                others = np.concatenate([others, running[~good]])
        return others

    def _node_runs(self, records: _Records, phases: NDArray[np.int8]) -> NDArray[np.bool_]:
        """Read `HEAD: ID step STEP {{node …` from the bytes, and tell the definition.

        Return which of the records are whole.
        """
        block = self.block
        id_starts = records.messages + _HEAD_LENGTHS[phases]
        ids, id_digits = numbers_at(block.words, id_starts, _MOST_ID_DIGITS)
        gaps = id_starts + id_digits
        good = ((block.words_at(gaps) & _SIX_BYTES) == _STEP_WORD) & (id_digits > 0)
        step_starts = gaps + len(" step ")
        negative = block.bytes[np.minimum(step_starts, len(block.bytes) - 1)] == ord("-")
        steps, digits = numbers_at(block.words, step_starts + negative, _MOST_STEP_DIGITS)
        nodes = step_starts + negative + digits
        good &= block.words_at(nodes) == _NODE_WORD
        good &= (digits > 0) & (digits < 20) & (steps <= _LARGEST_STEP)
        ends = block.ends[records.rows]
        endings = block.words[ends - 8]
        names = block.words_at(nodes + len(" {{node "))
        definitions = np.full(len(good), -1, np.int64)
        if self.final:
            chosen = np.flatnonzero(good)
        else:
            known = (phases != START) & self.scanner.definitions.knows(
                names, endings, ends - nodes - 1
            )
            chosen = np.flatnonzero(good & ~known)
        texts = block.strings(nodes[chosen] + 1, ends[chosen])
        definitions[chosen] = self.scanner.definitions.encode(
            texts.hash().to_numpy(), _copies(texts)
        )
        # Index -1, an end that is known without reading it, takes the True at the end.
        whole = np.append(self.scanner.definitions.whole, True)[definitions]
        if not self.final:
            good &= whole
        # Which node on which device, dead or alive: the beginning of its name, the end of the
        # device's, and the length. A dead start says ` is dead`, its end ` is dead: `.
        dead = np.append(self.scanner.definitions.dead, False)[definitions] & (phases == START)
        sizes = (ends - nodes + len(": ") * dead).astype(np.uint64)
        tags = names ^ (np.where(whole, endings ^ (sizes << np.uint64(48)), _U0) * _ODD)
        signed = steps.astype(np.int64)
        columns: dict[str, NDArray[Any]] = {
            "at": self.at[records.rows],
            "time": times_of_lines(block, records.rows, records.dialects),
            "site": records.sites.astype(np.int32),
            "phase": phases,
            "id": ids.astype(np.int32),
            "step": np.where(negative, -signed, signed),
            "definition": definitions.astype(np.int32),
            "tag": tags,
        }
        if not good.all():
            self.suspects.append(records.rows[~good])
            columns = {name: column[good] for name, column in columns.items()}
        self.chunk.classes[records.rows[good]] = EXECUTOR_LINE
        self.chunk.executor.add(**columns)
        return np.asarray(good, bool)

    def _memory(self, records: _Records) -> Positions:
        """Count whole records of allocations; return which of the records are something else."""
        last = self.block.bytes[self.block.ends[records.rows] - 1]
        whole = (self.block.words_at(records.messages) == _MEMORY_WORD) & (last == ord("}"))
        self.chunk.classes[records.rows[whole]] = MEMORY_LINE
        output = self.block.words_at(records.messages + _TENSOR_OUTPUT_AT) == _TENSOR_OUTPUT_WORD
        self._tensors(records.take(np.flatnonzero(whole & output)))
        return np.flatnonzero(~whole)

    def _tensors(self, records: _Records) -> None:
        """Keep what each node put out: step, and the distinct texts of node, index and shape."""
        ends = self.block.ends[records.rows]
        texts = self.block.strings(records.messages, ends)
        marks = ("step_id: ", 'kernel_name: "', "allocation_description")
        places = [texts.str.find(mark, literal=True) for mark in marks]
        known = pl.select(pl.all_horizontal(place.is_not_null() for place in places)).to_series()
        rows, messages = records.rows[known.to_numpy()], records.messages[known.to_numpy()]
        if not len(rows):
            return
        step_at, node_at, end_at = (
            place.filter(known).to_numpy().astype(np.int64) + messages for place in places
        )
        steps, negative = self._step_ids(step_at + len("step_id: "))
        nodes = self.block.strings(node_at, end_at)
        codes = self.scanner.tensors.encode(nodes.hash().to_numpy(), _copies(nodes))
        self.chunk.tensors.add(
            at=self.at[rows], step=np.where(negative, -steps, steps), text=codes.astype(np.int32)
        )

    def _step_ids(self, starts: Positions) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the absolute values of the numbers at `starts`, and which are negative."""
        negative = self.block.bytes[starts] == ord("-")
        steps, _ = numbers_at(self.block.words, starts + negative, _MOST_STEP_DIGITS)
        return steps.astype(np.int64), negative

    def _texts(self, records: _Records) -> None:
        """Keep records of covered files by their distinct texts (`file.cc:line] message`).

        Records with another writer's text in them become suspects, those of ignored files too.
        """
        rows = records.rows
        if not len(rows):
            return
        covered = self.scanner.sites.kind[records.sites] != IGNORED
        self.chunk.classes[rows[~covered]] = IGNORED_LINE
        files = self.block.starts[rows] + WIDTHS[records.dialects]
        files += self.scanner.sites.file_offset[records.sites]
        texts = self.block.strings(files, self.block.ends[rows])
        if not self.final:
            foreign = texts.str.contains(_FOREIGN).to_numpy()
            self.suspects.append(rows[foreign])
            covered &= ~foreign
        texts, records = texts.filter(pl.Series(covered)), records.take(np.flatnonzero(covered))
        self.chunk.classes[records.rows] = TEXT_LINE
        self.chunk.records.add(
            at=self.at[records.rows],
            time=times_of_lines(self.block, records.rows, records.dialects),
            site=records.sites.astype(np.int32),
            text=self.scanner.texts.encode(texts.hash().to_numpy(), _copies(texts)),
        )

    # ---- other lines ---------------------------------------------------------------------------

    def _unprefixed(self, rows: Positions) -> None:
        """Verbose lines of oneDNN, Python's own log lines, and what may be a torn record."""
        if not len(rows):
            return
        unprefixed = rows
        first = self.block.words_at(self.block.starts[rows])
        # Most are lines of protobuf text: too short to hold a record, and told by their first word.
        long = self.block.lengths[rows] >= SHORTEST_PREFIX
        rows = rows[long | np.isin(first, _UNPREFIXED_WORDS)]
        line = pl.col("line")
        found = pl.DataFrame({"line": self.block.lines(rows)}).select(
            verbose=line.str.contains(f"^{VERBOSE_MARKER}"),
            foreign=line.str.slice(1).str.contains(_FOREIGN),
            python=line.str.contains(_PYTHON_RECORD),
            failure=line.str.contains(r"^\t \[\[\{\{(?:function_)?node "),
        )
        verbose, foreign, python, failure = (column.to_numpy() for column in found)
        if self.final:
            foreign = np.zeros(len(rows), bool)
        self.suspects.append(rows[foreign])
        self.chunk.classes[rows[verbose]] = VERBOSE_LINE
        self._keep(self.chunk.verbose, rows[verbose & ~foreign])
        # The rest of a verbose line that a block of standard output was cut in, see `onednn_cut`.
        before = np.setdiff1d(rows[verbose] - 1, rows[verbose])
        self._keep(self.chunk.before_verbose, np.intersect1d(before, unprefixed))
        self._keep(self.chunk.failures, rows[failure & ~foreign])
        self._python(rows[python & ~foreign])

    def _python(self, rows: Positions) -> None:
        if not len(rows):
            return
        self.chunk.classes[rows] = TEXT_LINE
        texts = f"{PYTHON_FILE}:0] " + self.block.lines(rows)
        self.chunk.records.add(
            at=self.at[rows],
            time=np.full(len(rows), NO_TIME),
            site=np.full(len(rows), -1, np.int32),
            text=self.scanner.texts.encode(texts.hash().to_numpy(), _copies(texts)),
        )

    def _keep(self, frames: list[pl.DataFrame], rows: Positions) -> None:
        if len(rows):
            frames.append(pl.DataFrame({"at": self.at[rows], "text": self.block.kept_lines(rows)}))

    def _keep_suspects(self) -> None:
        """Keep each suspect with the lines after it: they may hold the rest of its message."""
        if self.final or not any(map(len, self.suspects)):
            return
        rows = np.sort(np.concatenate(self.suspects))
        self.chunk.classes[rows] = SUSPECT_LINE
        distances = range(FOLLOWING + 1)
        near = self.block.kept_lines(np.concatenate([rows + distance for distance in distances]))
        names = ["text", *(f"text_{distance}" for distance in distances[1:])]
        texts = {name: near.slice(i * len(rows), len(rows)) for i, name in enumerate(names)}
        self.chunk.suspects.append(pl.DataFrame({"at": self.at[rows]} | texts))


def _copies(strings: pl.Series) -> Callable[[Codes], pl.Series]:
    """Return a function that copies chosen strings out of the block."""
    return lambda rows: kept(strings.gather(rows))


@dataclass(slots=True)
class _Records:
    """Rows of a block that begin with a known prefix."""

    rows: Positions
    dialects: NDArray[np.int8]
    messages: Positions  # where in the block the message begins
    sites: Codes

    def take(self, chosen: Positions) -> _Records:
        return _Records(
            self.rows[chosen], self.dialects[chosen], self.messages[chosen], self.sites[chosen]
        )
