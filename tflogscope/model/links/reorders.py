"""Reorders next to the primitive they serve.

A kernel of oneDNN reorders what it takes in to the layout that its main primitive wants, runs
that, and reorders what came out to TensorFlow's layout. So the tags in the memory descriptors say
which reorder goes with which primitive, and on which side of it the reorder stands.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tflogscope.model.links.pairs import MAIN, Pairs
from tflogscope.model.links.problems import BAGS

Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]
_FAR = np.iinfo(np.int64).max // 2


def main_lines(pairs: Pairs, got: Integers, candidates: int) -> Integers:
    """Return for each candidate the line that it got as its main primitive, -1: none."""
    held = got[got >= 0]
    held = held[pairs.role[held] == MAIN]
    lines = np.full(candidates, -1, np.int64)
    lines[pairs.candidate[held]] = pairs.line[held]
    return lines


def distances(pairs: Pairs, mains: Integers, at: Integers) -> Integers:
    """Physical lines between each pair's line and the main primitive of its execution."""
    main = mains[pairs.candidate]
    return np.where(main >= 0, np.abs(np.append(at, 0)[main] - at[pairs.line]), _FAR)


def serves(pairs: Pairs, mains: Integers, lines: pl.DataFrame, problems: pl.DataFrame) -> Booleans:
    """Say of each pair whether its reorder goes with the main primitive of its execution.

    `problems` has a row for each of `lines`, see `read_problems`: before the primitive the
    reorder makes the layout that one of its inputs has in it, after it the reorder starts from
    the layout of its output.
    """
    main = mains[pairs.candidate]
    tags = _tags(lines["memory_descriptors"])
    sizes = pl.concat([problems[role] for role in BAGS]).rank("dense").fill_null(0)
    size = dict(zip(BAGS, np.split(sizes.cast(pl.Int64).to_numpy(), len(BAGS)), strict=True))
    before = pairs.line < main
    own = np.where(before, tags["dst"][pairs.line], tags["src"][pairs.line])
    output = _outputs(lines["prop_kind"])[main]
    found = np.zeros(len(pairs), bool)
    for number, role in enumerate(BAGS):
        same = (tags[role][main] == own) & (size[role][main] == size["src"][pairs.line])
        found |= same & (before == (output != number))
    return found & (own > 0) & (size["src"][pairs.line] > 0) & (main >= 0)


def _outputs(prop_kinds: pl.Series) -> Integers:
    """Say which operand, by its number in BAGS, primitives of these `prop_kind` put out.

    Verbose lines name a gradient after its tensor: `src` is what backward_data computes.
    """
    outputs = {"backward_weights": "wei", "backward_data": "src", "backward": "src"}
    role = prop_kinds.replace_strict(outputs, default="dst", return_dtype=pl.String)
    return role.replace_strict(BAGS, range(len(BAGS)), return_dtype=pl.Int64).to_numpy()


def _tags(descriptors: pl.Series) -> dict[str, Integers]:
    """Numbers for the layout tags of src, wei and dst: `Acdb16a` of `wei_f32:p:blocked:Acdb16a:f0`.

    0 where there is none. Reorders call their operands src and dst, too.
    """
    layout = {
        role: pl.col("text").str.extract(rf"(?:^| )(?:diff_)?{role}[:_][^ ]*?:blocked:(\w+)", 1)
        for role in BAGS
    }
    texts = descriptors.unique().to_frame("text").with_columns(**layout)
    joined = descriptors.to_frame("text").join(
        texts, on="text", how="left", nulls_equal=True, maintain_order="left"
    )
    codes = pl.concat([joined[role] for role in BAGS]).rank("dense").fill_null(0)
    parts = np.split(codes.cast(pl.Int64).to_numpy(), len(BAGS))
    return dict(zip(BAGS, parts, strict=True))
