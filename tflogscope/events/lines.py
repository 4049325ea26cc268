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
from tflogscope.events.digits import Positions, Words, leading_digits, signed_numbers
from tflogscope.events.nodes import Definitions
from tflogscope.events.prefix import (
    DIALECTS,
    NO_TIME,
    SHORTEST_PREFIX,
    WIDTHS,
    prefixes_of_lines,
)
from tflogscope.events.sites import COVERED, EXECUTOR, IGNORED, MEMORY, NO_SITE, Sites
from tflogscope.grammar.model import Grammar


def _word(text: bytes) -> np.uint64:
    return np.uint64(int.from_bytes(text[:8], "little"))


# How records of the executor begin, by phase: `HEAD: ID step STEP {{node NAME…`.
_HEADS = (b"", b"Process node: ", b"Synchronous kernel done: ", b"Async kernel done: ")
_HEAD_WORDS = [_word(head) for head in _HEADS]
_HEAD_LENGTHS = np.array([len(head) for head in _HEADS], np.int64)
_STEP = b" step "
_STEP_WORD, _STEP_BYTES = _word(_STEP), np.uint64(0x0000FFFFFFFFFFFF)
_NODE = b" {{node "
_NODE_WORD = _word(_NODE)
# What the executor prints of each node's output; step 0 is not printed.
_TENSOR_OUTPUT = b"__LOG_MEMORY__ MemoryLogTensorOutput { step_id: "
_MEMORY_WORD = _word(_TENSOR_OUTPUT)
_TENSOR_OUTPUT_WORDS = (_word(_TENSOR_OUTPUT[24:]), _word(_TENSOR_OUTPUT[40:]))
_KERNEL_NAME_WORD = _word(b" kernel_name: ")
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
_VERBOSE_WORDS, _PYTHON_WORDS, _FAILURE_WORDS = (
    np.array([_word(text) for text in texts])
    for texts in (
        (
            b"onednn_verbose",
            b"onednn_graph_verbose",
            b"dnnl_verbose",
            b"mkldnn_verbose",
            b"MKL_VERBOSE ",
        ),
        (b"WARNING:", b"INFO:tensorflow", b"ERROR:tensorflow"),
        (b"\t [[{{node", b"\t [[{{function_node"),
    )
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
        block = self.block
        rows, dialects, times = prefixes_of_lines(block)
        if not len(rows):
            return rows
        starts = block.starts[rows] + WIDTHS[dialects]
        sites, messages = self.scanner.sites.find(block, starts, block.ends[rows])
        kinds = self.scanner.sites.kind[sites]
        records = _Records(rows, dialects, times, sites, messages)
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

    def _executor(self, records: _Records) -> Positions:
        """Keep the runs of nodes; return which of the records are something else.

        In the end that is also what begins like a run and is none: its text is kept as unknown.
        """
        first = self.block.word(records.messages)
        phases = np.zeros(len(first), np.int8)
        for phase in (START, SYNC_DONE, ASYNC_DONE):
            phases[first == _HEAD_WORDS[phase]] = phase
        others = np.flatnonzero(phases == 0)
        if len(others):
            running = np.flatnonzero(phases)
            good = self._node_runs(records.take(running), phases[running])
            return np.concatenate([others, running[~good]]) if self.final else others
        good = self._node_runs(records, phases)
        return np.flatnonzero(~good) if self.final else others

    def _node_runs(self, records: _Records, phases: NDArray[np.int8]) -> NDArray[np.bool_]:
        """Read `HEAD: ID step STEP {{node …` from the bytes, and tell the definition.

        Return which of the records are whole.
        """
        block = self.block
        starts = records.messages + _HEAD_LENGTHS[phases]
        ids, digits = leading_digits(block.word(starts))
        starts += digits
        words = block.words(starts, 5)
        good: NDArray[np.bool_] = ((words[0] & _STEP_BYTES) == _STEP_WORD) & (digits > 0)
        steps, sizes = signed_numbers(_from_byte(words, len(_STEP)))
        nodes = starts + len(_STEP) + sizes
        head, names = block.words(nodes, 2)
        ends = block.ends[records.rows]
        endings = block.word(np.maximum(ends - 8, 0))
        good &= (sizes > 0) & (head == _NODE_WORD)
        unread = good
        if not self.final:
            known = self.scanner.definitions.knows(names, endings, ends - nodes - 1)
            unread = good & ~((phases != START) & known)
        definitions = self._definitions(nodes + 1, ends, np.flatnonzero(unread))
        # Index -1, an end that is known without reading it, takes the True at the end.
        whole = np.append(self.scanner.definitions.whole, True)[definitions]
        if not self.final:
            good &= whole
        # Which node on which device, dead or alive: the beginning of its name, the end of the
        # device's, and the length. A dead start says ` is dead`, its end ` is dead: `.
        dead = np.append(self.scanner.definitions.dead, False)[definitions] & (phases == START)
        lengths = (ends - nodes + len(": ") * dead).astype(np.uint64)
        tags = names ^ (np.where(whole, endings ^ (lengths << np.uint64(48)), _U0) * _ODD)
        columns: dict[str, NDArray[Any]] = {
            "at": self.at[records.rows],
            "time": records.times,
            "site": records.sites.astype(np.int32),
            "phase": phases,
            "id": ids.astype(np.int32),
            "step": steps,
            "definition": definitions.astype(np.int32),
            "tag": tags,
        }
        if not good.all():
            self.suspects.append(records.rows[~good])
            columns = {name: column[good] for name, column in columns.items()}
            self.chunk.classes[records.rows[good]] = EXECUTOR_LINE
        else:
            self.chunk.classes[records.rows] = EXECUTOR_LINE
        self.chunk.executor.add(**columns)
        return good

    def _definitions(self, starts: Positions, ends: Positions, chosen: Positions) -> Codes:
        """Return the code of the definition in each range, -1 in those that are not chosen."""
        texts = self.block.strings(starts[chosen], ends[chosen])
        codes = np.full(len(starts), -1, np.int64)
        codes[chosen] = self.scanner.definitions.encode(texts.hash().to_numpy(), _copies(texts))
        return codes

    def _memory(self, records: _Records) -> Positions:
        """Count whole records of allocations; return which of the records are something else."""
        last = self.block.bytes[self.block.ends[records.rows] - 1]
        words = self.block.words(records.messages, 6)
        whole = (words[0] == _MEMORY_WORD) & (last == ord("}"))
        self.chunk.classes[records.rows[whole]] = MEMORY_LINE
        output = (words[3] == _TENSOR_OUTPUT_WORDS[0]) & (words[5] == _TENSOR_OUTPUT_WORDS[1])
        self._tensors(records.take(np.flatnonzero(whole & output)))
        return np.flatnonzero(~whole)

    def _tensors(self, records: _Records) -> None:
        """Keep what each node put out: step, and the distinct texts of node, index and shape."""
        starts = records.messages + len(_TENSOR_OUTPUT)
        steps, sizes = signed_numbers(self.block.words(starts, 3))
        starts += sizes
        known = (sizes > 0) & (self.block.word(starts) == _KERNEL_NAME_WORD)
        ends = self.block.ends[records.rows]
        texts = self.block.strings(starts, ends)
        places = texts.str.find("allocation_description", literal=True)
        chosen = np.flatnonzero(known & places.is_not_null().to_numpy())
        if not len(chosen):
            return
        lengths = places.fill_null(0).to_numpy()[chosen].astype(np.int64)
        nodes = self.block.strings(starts[chosen] + 1, starts[chosen] + lengths)
        codes = self.scanner.tensors.encode(nodes.hash().to_numpy(), _copies(nodes))
        self.chunk.tensors.add(
            at=self.at[records.rows[chosen]], step=steps[chosen], text=codes.astype(np.int32)
        )

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
            time=records.times,
            site=records.sites.astype(np.int32),
            text=self.scanner.texts.encode(texts.hash().to_numpy(), _copies(texts)),
        )

    # ---- other lines ---------------------------------------------------------------------------

    def _unprefixed(self, rows: Positions) -> None:
        """Verbose lines of oneDNN, Python's own log lines, and what may be a torn record."""
        if not len(rows):
            return
        first = self.block.word(self.block.starts[rows])
        verbose, python, failure = (
            np.isin(first, words) for words in (_VERBOSE_WORDS, _PYTHON_WORDS, _FAILURE_WORDS)
        )
        # Most are lines of protobuf text: too short to hold a record, and told by their first word.
        long = self.block.lengths[rows] >= SHORTEST_PREFIX
        chosen = np.flatnonzero(long | verbose | python | failure)
        lines = self.block.lines(rows[chosen])
        foreign = np.zeros(len(rows), bool)
        if not self.final:
            foreign[chosen] = lines.str.slice(1).str.contains(_FOREIGN).to_numpy()
            self.suspects.append(rows[foreign])
        for mine, pattern in (
            (verbose, f"^{VERBOSE_MARKER}"),
            (python, _PYTHON_RECORD),
            (failure, r"^\t \[\[\{\{(?:function_)?node "),
        ):
            if mine.any():
                mine[mine] = lines.filter(pl.Series(mine[chosen])).str.contains(pattern).to_numpy()
        self.chunk.classes[rows[verbose]] = VERBOSE_LINE
        # The rest of a verbose line that a block of standard output was cut in, see `onednn_cut`.
        after = np.flatnonzero(verbose[1:] & ~verbose[:-1] & (np.diff(rows) == 1))
        self._keep(self.chunk.before_verbose, rows[after])
        self._keep(self.chunk.verbose, rows[verbose & ~foreign])
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
        texts = {"text": self.block.kept_lines(rows)}
        for distance in range(1, FOLLOWING + 1):
            inside = rows[rows + distance < len(self.block)] + distance
            lines = self.block.kept_lines(inside)
            texts[f"text_{distance}"] = lines.extend_constant(None, len(rows) - len(inside))
        self.chunk.suspects.append(pl.DataFrame({"at": self.at[rows]} | texts))


def _copies(strings: pl.Series) -> Callable[[Codes], pl.Series]:
    """Return a function that copies chosen strings out of the block."""
    return lambda rows: kept(strings.gather(rows))


def _from_byte(words: Words, byte: int) -> Words:
    """Return the words, one fewer, that begin `byte` bytes (1 to 7) after those of each column."""
    low, high = np.uint64(8 * byte), np.uint64(64 - 8 * byte)
    shifted: Words = (words[:-1] >> low) | (words[1:] << high)
    return shifted


@dataclass(slots=True)
class _Records:
    """Rows of a block that begin with a known prefix."""

    rows: Positions
    dialects: NDArray[np.int8]
    times: NDArray[np.int64]
    sites: Codes
    messages: Positions  # where in the block the message begins

    def take(self, chosen: Positions) -> _Records:
        return _Records(
            self.rows[chosen],
            self.dialects[chosen],
            self.times[chosen],
            self.sites[chosen],
            self.messages[chosen],
        )
