"""Lines in which a block of standard output ended."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from tflogscope.events.onednn_cut import join_cut
from tflogscope.events.verbose_lines import lines_of
from tflogscope.native.library import PLACES

LINE = (
    "onednn_verbose,exec,cpu,gemm_api,,undef,src_f32::blocked:ab:f0 wei_f32::blocked:ab:f0 "
    "dst_f32::blocked:ab:f0,,64x64:64x64,0.00610352"
)
OTHER = LINE.replace("0.00610352", "0.25")


def lines(**texts: str) -> pl.DataFrame:
    """`at3="text"` is line 3."""
    found = {"at": [PLACES * int(name[2:]) for name in texts], "text": list(texts.values())}
    return pl.DataFrame(found, schema={"at": pl.Int64, "text": pl.String})


def joined(head: str, rest: str, newline: bool = False) -> list[str]:
    verbose = lines(at1=OTHER, at3=head, at90=OTHER, at91=OTHER)
    return cut_at_3(verbose, lines(at1="a", at90=rest), newline)["text"].to_list()


def cut_at_3(verbose: pl.DataFrame, before: pl.DataFrame, newline: bool = False) -> pl.DataFrame:
    """Verbose lines, with the rest of line 3; `before` are lines before some of them."""
    torn = np.flatnonzero(verbose["at"] == 3 * PLACES)
    return join_cut(lines_of(verbose), torn, np.array([newline] * len(torn)), before).frame()


@pytest.mark.thorough
@pytest.mark.parametrize("end", range(len("onednn_verbose,"), len(LINE), 3))
def test_a_cut_line_gets_its_rest(end: int) -> None:
    assert joined(LINE[:end], LINE[end:]) == [OTHER, LINE, OTHER, OTHER]


@pytest.mark.parametrize(
    ("rest", "newline"),
    [
        ("hello", False),
        ("", False),
        ("52 ", False),
        ("520", False),  # no "%g" ends with a zero
        ("5", True),  # the newline of the cut line follows: it is whole
        (LINE, False),
    ],
)
def test_what_is_not_the_rest_of_a_line_is_left_alone(rest: str, newline: bool) -> None:
    assert joined(LINE[:-2], rest, newline) == [OTHER, LINE[:-2], OTHER, OTHER]


def test_the_rest_stands_right_before_the_next_verbose_line() -> None:
    verbose = lines(at3=LINE[:40], at50=OTHER, at90=OTHER)
    assert cut_at_3(verbose, lines(at90=LINE[40:])).equals(verbose)
    assert cut_at_3(verbose, lines()).equals(verbose)
    assert cut_at_3(verbose.head(1), lines(at90=LINE[40:])).height == 1
