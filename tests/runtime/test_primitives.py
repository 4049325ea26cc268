"""The model of primitives: what oneDNN printed for the same kernels in TensorFlow 2.13."""

from __future__ import annotations

from typing import Any

import pytest

from tflogscope.runtime.dtypes import float32
from tflogscope.runtime.emitter.dialects import dialect
from tflogscope.runtime.emitter.memory import Plan
from tflogscope.runtime.emitter.primitives import Kernel, plans

Shape = tuple[int, ...]


def run(op: str, inputs: list[Shape], output: Shape, release: str, **attributes: Any) -> list[Plan]:
    """What the kernel runs."""
    return plans(Kernel(op, {"T": float32, **attributes}, inputs, [output], dialect(release)))


@pytest.mark.parametrize(
    ("equation", "left", "right", "tags", "problem"),
    [
        ("abc,cde->abde", (8, 10, 16), (16, 2, 9), "ab ab ab", "80x16:16x18:80x18"),
        (
            *("acbe,aecd->abcd", (8, 2, 10, 11), (8, 11, 2, 7)),
            *("abcd abdc abcd", "8x2x10x11:8x2x11x7:8x2x10x7"),
        ),
        ("abcd,cde->abe", (8, 10, 2, 9), (2, 9, 16), "ab ab ab", "80x18:18x16:80x16"),
        ("btd,vd->btv", (3, 12, 32), (50, 32), "ab ba ab", "36x32:32x50:36x50"),
        ("ji,jk->ik", (6, 5), (6, 7), "ba ab ab", "5x6:6x7:5x7"),
        ("ij,jk->ki", (5, 6), (6, 7), "ab ab ab", "5x6:6x7:5x7"),
        ("ijk,ijk->i", (3, 4, 5), (3, 4, 5), "acb abc abc", "3x1x20:3x20x1:3x1x1"),
        ("i,j->ij", (4,), (5,), "ba ab ab", "4x1:1x5:4x5"),
        (
            *("...ij,jk->...ik", (2, 3, 4, 5), (5, 6)),
            *("abcd abcd abcd", "2x3x4x5:1x1x5x6:2x3x4x6"),
        ),
        ("ijk,kl->ijl", (1, 4, 5), (5, 6), "ab ab ab", "4x5:5x6:4x6"),
    ],
)
def test_an_einsum_is_one_product(
    equation: str, left: Shape, right: Shape, tags: str, problem: str
) -> None:
    """Whatever has to be transposed for it is no primitive."""
    (plan,) = run("_MklEinsum", [left, right], (1,), "2.13", equation=equation)
    assert (plan.kind, plan.problem) == ("matmul", problem)
    assert " ".join(memory.tag for memory in plan.memories) == tags


@pytest.mark.parametrize("release", ["2.13", "2.20"])
def test_layer_norm_copies_scale_and_shift(release: str) -> None:
    """Two copies, then the primitive, which has another name in oneDNN 2."""
    *copies, main = run("_MklLayerNorm", [(8, 10, 16), (16,), (16,)], (8, 10, 16), release)
    assert [(copy.kind, copy.problem) for copy in copies] == [("reorder", "16")] * 2
    assert main.kind == ("layer_normalization_v2" if release == "2.13" else "layer_normalization")
    assert main.problem == "8x10x16"


@pytest.mark.parametrize(("overwrites", "kinds"), [(True, []), (False, ["reorder"])])
def test_what_is_added_is_copied_if_somebody_else_reads_it(
    overwrites: bool, kinds: list[str]
) -> None:
    """Nobody else does in the loop of a `SimpleRNN`; a residual's input is read twice."""
    found = plans(
        Kernel(
            "_MklNativeFusedMatMul",
            {"T": float32, "fused_ops": (b"BiasAdd", b"Add")},
            [(8, 3), (3, 6), (6,), (8, 6)],
            [(8, 6)],
            dialect("2.20"),
            {"overwrites": [False, False, False, overwrites]},
        )
    )
    assert [plan.kind for plan in found] == [*kinds, "inner_product"]
