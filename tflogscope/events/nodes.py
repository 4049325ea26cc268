"""Node definitions as the executor prints them: `{{node N}} = Op[attributes](inputs) device: D`.

A step prints the same definitions again and again, so they are kept in a dictionary and only the
distinct ones are parsed (core/framework/node_def_util.cc, SummarizeNodeDef).
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tflogscope.events.dictionary import Codes, Dictionary

# The node's name ends at the first `}} = `; the inputs begin at the last `](` that the end of the
# line allows. A device ends in `device:TYPE:NUMBER` (framework/device_name_utils).
DEVICE = r"(?:/[a-z]+:[^/\s]+)*/device:[A-Za-z_]+:\d+"
_NODE = (
    r"^\{\{node (?P<node>.*?)\}\} = (?P<op>[^\[\](){}]*)\[(?P<attributes>.*)\]\((?P<inputs>.*)\)"
)
# Another record of the executor that was glued to this one.
_GLUED = r"executor\.cc:\d+\] (?:Process node|Synchronous kernel done|Async kernel done): \d+ step "
_WHOLE = _NODE + rf"(?P<dead> is dead:?)? +device: (?P<device>{DEVICE})$"
# What is left of a definition that was cut short, as far as it goes.
_CUT = r"^\{\{node (?P<node>[^{}]*)(?:\}\} = (?P<op>[^\[\](){}]*)(?:\[(?P<attributes>.*))?)?"

_DEAD = r" is dead device: \S+$"
_COLUMNS = ("node", "op", "attributes", "inputs", "dead", "device")


_SLOT_BITS = 22


def _slots(
    names: NDArray[np.uint64], endings: NDArray[np.uint64], lengths: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return a place in a table of 4 million for each name word, last word and length."""
    mixed = names * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= endings * np.uint64(0xC2B2AE3D27D4EB4F)
    mixed ^= lengths.astype(np.uint64) * np.uint64(0xD6E8FEB86659FD93)
    mixed *= np.uint64(0xFF51AFD7ED558CCD)
    return (mixed >> np.uint64(64 - _SLOT_BITS)).astype(np.int64)


class Definitions:
    """Distinct node definitions. Thread-safe.

    `whole` says of each code whether it is complete, `dead` whether it is of a dead node's start.

    What ends a node's run repeats the definition that began it, so most definitions are told
    without reading them: by the first word of the name, the last word, and the length.
    """

    def __init__(self) -> None:
        self._dictionary = Dictionary()
        self._lock = Lock()
        self.whole: NDArray[np.bool_] = np.zeros(0, bool)
        self.dead: NDArray[np.bool_] = np.zeros(0, bool)
        self._known = np.zeros(1 << _SLOT_BITS, bool)

    def encode(self, hashes: NDArray[np.uint64], texts: Callable[[Codes], pl.Series]) -> Codes:
        """Return the code of each definition, see `Dictionary.encode`."""
        codes = self._dictionary.encode(hashes, texts)
        if len(codes) and int(codes.max()) >= len(self.whole):
            with self._lock:
                self._learn(self._dictionary.texts(len(self.whole)))
        return codes

    def _learn(self, new: pl.Series) -> None:
        whole = new.str.contains(_WHOLE) & ~new.str.contains(_GLUED)
        texts = new.filter(whole).cast(pl.Binary)
        names, endings = (
            np.frombuffer(b"".join(words.to_list()), "<u8").astype(np.uint64)
            for words in (texts.bin.slice(len("{{node "), 8), texts.bin.tail(8))
        )
        lengths = texts.bin.size().to_numpy().astype(np.int64)
        self._known[_slots(names, endings, lengths)] = True
        dead = new.str.contains(_DEAD)
        self.dead = np.concatenate([self.dead, dead.to_numpy()])
        self.whole = np.concatenate([self.whole, whole.to_numpy()])

    def knows(
        self, names: NDArray[np.uint64], endings: NDArray[np.uint64], lengths: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Whether a whole definition begins its name, ends, and is as long as this."""
        return self._known[_slots(names, endings, lengths)]

    def table(self) -> pl.DataFrame:
        """One row per code: node, op, attributes, inputs (strings), dead (bool), device, whole.

        Null: cut off.
        """
        texts = self._dictionary.texts().rename("text").to_frame()
        whole = pl.col("text").str.extract_groups(_WHOLE)
        frame = texts.with_columns(whole=whole, cut=pl.col("text").str.extract_groups(_CUT))
        fields = {name: pl.col("whole").struct.field(name) for name in _COLUMNS}
        for name in ("node", "op", "attributes"):
            fields[name] = pl.coalesce(fields[name], pl.col("cut").struct.field(name))
        return frame.select(
            **fields | {"dead": fields["dead"].is_not_null()},
            whole=pl.col("whole").struct.field("device").is_not_null(),
        )
