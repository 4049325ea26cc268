"""Verbose lines that were cut at the edge of a block of standard output, put together again.

oneDNN 2.7 does not flush the lines of gemm_api: they leave in blocks of 4,096 bytes, and a block
ends anywhere. What comes next in the file is another writer's record, glued to the cut line; the
rest comes as the first line of the next block, often thousands of lines later, with further
verbose lines right behind it.
"""

from __future__ import annotations

import polars as pl

from tflogscope.events.onednn import read_verbose
from tflogscope.grammar.verbose import VerboseGrammar

# The rest of a cut time; the time before the cut may look whole.
_END_OF_TIME = r"^[0-9.]*(?:e-?[0-9]*)?$"


def join_cut(
    verbose: pl.DataFrame,
    before: pl.DataFrame,
    torn: pl.DataFrame,
    grammar: VerboseGrammar | None = None,
) -> pl.DataFrame:
    """Return verbose lines (`at`, `text`), cut ones with their rest where it is found.

    `before` has the lines without prefix right before verbose lines (`at`, `text`), `torn` the
    lines with another writer's record in them, and whether the line after them is empty (`at`,
    `newline`). A rest is believed only if the two are a whole line together, and one that is no
    more than the end of a number only if the line's own newline does not follow.
    """
    if before.is_empty() or torn.is_empty():
        return verbose
    rows = verbose.with_row_index("row")
    # The next verbose line after the cut one, and what stands right before it.
    starts = verbose.select(start="at", rest_at=pl.col("at") - 1).unique().sort("start")
    cut = (
        rows.join(torn.unique("at"), on="at")
        .sort("row")
        .unique("at", keep="last", maintain_order=True)
        .join_asof(
            starts, left_on="at", right_on="start", strategy="forward", allow_exact_matches=False
        )
    )
    cut = cut.join(before.rename({"at": "rest_at", "text": "rest"}), on="rest_at")
    if cut.is_empty():
        return verbose
    joined = cut.select("at", text=pl.col("text") + pl.col("rest"))
    whole = read_verbose(joined, grammar)["reason"].is_null()
    unread = read_verbose(cut.select("at", "text"), grammar)["reason"].is_not_null()
    end_of_time = cut["rest"].str.contains(_END_OF_TIME) & ~cut["newline"]
    good = cut.select("row", text=joined["text"]).filter(whole & (unread | end_of_time))
    return rows.update(good, on="row").drop("row")
