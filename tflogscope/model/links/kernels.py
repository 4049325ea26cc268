"""Which oneDNN primitives a kernel can run: the families of grammars/onednn/ops.toml, by number.

What oneDNN runs inside a primitive (a gemm inside a convolution) prints no line and is not there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tflogscope.grammar.onednn_ops import FAMILIES
from tflogscope.grammar.rewriters import REWRITERS
from tflogscope.model.common.frames import Integers

OUTPUT, NO_TENSOR = -1, -2  # of OPERANDS: the kernel's first output; none, or it is not known which
NUMBERS = {family.name: number for number, family in enumerate(FAMILIES)}
COMPILED, ANY = NUMBERS["compiled"], NUMBERS["other"]
# Kernels whose own work is a reorder: transposes and quantization that the program asked for.
REORDERING = tuple(
    number for number, family in enumerate(FAMILIES) if family.primitives == ("reorder",)
)
ONCE = np.array([not family.many for family in FAMILIES])
BLOCKS = np.array([family.blocks for family in FAMILIES])
MULTIPLIES = np.array([family.product is not None for family in FAMILIES])
# Which input of its node each operand (src, wei, dst) is.
OPERANDS = np.array(
    [[NO_TENSOR if n is None else n for n in (kind.src, kind.wei, kind.dst)] for kind in FAMILIES]
)
# Of a node that calls a function made with jit_compile=True (compiler/jit/defs.cc).
COMPILED_ATTRIBUTE = "_XlaMustCompile=true"

# Devices of Intel's plug-in, whose kernels keep the names of their ops (itex/core/kernels/gpu).
ACCELERATED = "device:XPU:"

_OF_OPS = {op.name: number for number, family in enumerate(FAMILIES) for op in family.ops}
_OF_OPS |= {
    op.name: NUMBERS[op.family] for plugin in REWRITERS for op in plugin.ops.values() if op.family
}
_DIRECTIONS = ("forward", "backward")  # how a prop_kind begins that says something


def families_of(signatures: pl.DataFrame) -> Integers:
    """Return the number of each kernel's family in FAMILIES, -1 if it runs no primitives.

    `signatures` has the columns op, kernel and rewrite (`none` if the kernel is TensorFlow's own).
    """
    kernels = signatures[["op", "kernel", "rewrite"]].rows()
    return np.array([_family(*row) for row in kernels], np.int64)


def _family(op: str, kernel: str | None, rewrite: str | None) -> int:
    if kernel is None:
        return -1
    rewritten = rewrite != "none"
    if rewritten and op in _OF_OPS:
        return _OF_OPS[op]
    matching = (n for n, family in enumerate(FAMILIES) if re.fullmatch(family.kernels, kernel))
    # A rewritten kernel that has no row (of a newer release, of a plug-in) may run anything.
    return next(matching, NUMBERS["other"] if rewritten else -1)


def roles(kinds: Sequence[tuple[str, str]]) -> NDArray[np.int8]:
    """Return a table, family by kind: 0 can't run it, 1 runs it beside, 2 as its main one.

    A kind is (primitive, prop_kind); a `prop_kind` that is "" or `undef` says nothing.
    """
    table = np.zeros((len(FAMILIES), len(kinds)), np.int8)
    for row, family in enumerate(FAMILIES):
        for column, (primitive, prop_kind) in enumerate(kinds):
            if primitive in family.primitives or not family.primitives:
                against = prop_kind.startswith(_DIRECTIONS)
                against &= not prop_kind.startswith(family.direction)
                table[row, column] = 0 if against else 2
            elif primitive in family.beside:
                table[row, column] = 1
    return table
