"""Reorders next to the primitive they serve.

A kernel of oneDNN reorders what it takes in to the layout that its main primitive wants, runs
that, and reorders what came out to TensorFlow's layout. So the tags in the memory descriptors say
which reorder goes with which primitive, and on which side of it the reorder stands.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from tflogscope.model.frames import Booleans, Integers, alike, rows
from tflogscope.model.links.pairs import MAIN, Pairs
from tflogscope.model.links.problems import BAGS

# Verbose lines name a gradient after its tensor: `src` is what backward_data computes.
_OUTPUTS = {"backward_weights": "wei", "backward_data": "src", "backward": "src"}


def serves(
    pairs: Pairs, got: Integers, descriptors: pl.Series, problems: pl.DataFrame, problem: Integers
) -> Booleans:
    """Say of each pair whether its reorder goes with the main primitive of its execution.

    `got` is the pair of each line that has its place already, `descriptors` are the lines' memory
    descriptors, `problem` are their rows in `problems` (`read_problems`). Before the primitive the
    reorder makes the layout that one of its inputs has in it, after it the reorder starts from the
    layout of its output.
    """
    held = got[got >= 0]
    held = held[pairs.role[held] == MAIN]
    mains = np.full(int(pairs.candidate.max(initial=-1)) + 1, -1)
    mains[pairs.candidate[held]] = pairs.line[held]
    main = mains[pairs.candidate]
    (number,) = alike(descriptors.to_frame())
    _, first, which = np.unique(number, return_index=True, return_inverse=True)
    tags = [tag[which] for tag in alike(*_tags(rows(descriptors, first)))]
    sizes = [size[problem] for size in alike(*(problems[[role]] for role in BAGS))]
    (src, _, dst), size = tags, sizes[0][pairs.line]
    before = pairs.line < main
    own = np.where(before, dst[pairs.line], src[pairs.line])
    kinds = problems["prop_kind"]
    output = np.array([BAGS.index(_OUTPUTS.get(kind, "dst")) for kind in kinds])[problem]
    found = np.zeros(len(pairs), bool)
    for role in range(len(BAGS)):
        same = (tags[role][main] == own) & (sizes[role][main] == size)
        found |= same & (before == (output[main] != role))
    return found & (own > 0) & (main >= 0)


def _tags(descriptors: pl.Series) -> list[pl.DataFrame]:
    """Layout tags of src, wei and dst: `Acdb16a` of `wei_f32:p:blocked:Acdb16a:f0`.

    Reorders call their operands src and dst, too.
    """
    tag = r"(?:^| )(?:diff_)?{}[:_][^ ]*?:blocked:(\w+)"
    text = pl.lit(descriptors)
    tags = pl.select(text.str.extract(tag.format(role), 1).alias(role) for role in BAGS)
    return [tags[[role]] for role in BAGS]
