"""Verbose lines that were cut at the edge of a block of standard output, put together again.

oneDNN 2.7 does not flush the lines of gemm_api: they leave in blocks of 4,096 bytes, and a block
ends anywhere. What comes next in the file is another writer's record, glued to the cut line; the
rest comes as the first line of the next block, often thousands of lines later, with further
verbose lines right behind it.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from tflogscope.events.onednn import read_verbose
from tflogscope.events.verbose_lines import Booleans, Integers, VerboseLines, lines_of
from tflogscope.grammar.verbose import VerboseGrammar
from tflogscope.native.library import PLACES

# The rest of a cut time; the time before the cut may look whole.
_END_OF_TIME = r"^[0-9.]*(?:e-?[0-9]*)?$"


def join_cut(
    lines: VerboseLines,
    torn: Integers,
    newline: Booleans,
    before: pl.DataFrame,
    grammar: VerboseGrammar | None = None,
) -> VerboseLines:
    """Return verbose lines, cut ones with their rest where it is found.

    `torn` are the rows that are in lines with another writer's record in them, `newline` says of
    each whether the line after it is empty; `before` has the lines without prefix right before
    verbose lines (`at` of the verbose line, `text`). A rest is believed only if the two are a whole
    line together, and one that is no more than the end of a number only if the line's own newline
    does not follow.
    """
    if before.is_empty() or not len(torn):
        return lines
    line = lines.at // PLACES
    last = torn[np.append(np.diff(line[torn]) > 0, True)]  # of those in one line
    # The next line after the cut one that begins as a verbose line.
    place = np.searchsorted(line, line[last], side="right")
    there = place < len(line)
    cut = lines.frame(last[there]).with_columns(
        row=last[there],
        start=line[place[there]],
        newline=newline[np.isin(torn, last)][there],
    )
    rests = before.select(start=pl.col("at") // PLACES, rest="text")
    cut = cut.join(rests, on="start", maintain_order="left")
    if cut.is_empty():
        return lines
    joined = cut.select("at", text=pl.col("text") + pl.col("rest"))
    whole = read_verbose(lines_of(joined), grammar)["reason"].is_null()
    unread = read_verbose(lines_of(cut), grammar)["reason"].is_not_null()
    end_of_time = cut["rest"].str.contains(_END_OF_TIME) & ~cut["newline"]
    good = cut.select("row", text=joined["text"]).filter(whole & (unread | end_of_time))
    return lines.replaced(good["row"].to_list(), good["text"].to_list())
