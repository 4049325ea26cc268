"""What colours mean in the terminal, and that nothing is said by them alone."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import cycle

import pytest

from tests.samples import path_of
from tflogscope.cli.main import main

EAGER, GRAPH, ONEDNN, ERROR = "33", "36", "32", "31"
_STYLED = re.compile(r"\x1b\[([\d;]*)m([^\x1b]*)")

Print = Callable[..., str]


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Print:
    """`printed("FORCE_COLOR", 80, "analyze", …)`: what a command prints."""

    def run(variable: str, width: int, command: str, name: str, *options: str) -> str:
        monkeypatch.delenv("FORCE_COLOR", raising=False)
        monkeypatch.delenv("NO_COLOR", raising=False)
        monkeypatch.setenv(variable, "1")
        monkeypatch.setenv("COLUMNS", str(width))
        main([command, str(path_of(name)), *options])
        return capsys.readouterr().out

    return run


def words(text: str, colour: str) -> str:
    """What has this colour."""
    found = [said for codes, said in _STYLED.findall(text) if colour in codes.split(";")]
    return " ".join(" ".join(found).split())


SCREENS = [
    ("analyze", "eager_basics__tf2.13.1__vlog2"),
    ("analyze", "error__tf2.13.1__vlog2"),
    ("ops", "keras_fit_mlp__tf2.13.1__vlog2", "--format", "table"),
    ("explain", "keras_fit_mlp__tf2.13.1__vlog2", "--op", "AddV2"),
    ("explain", "error__tf2.13.1__vlog2"),
    ("check", "run_eagerly__tf2.13.1__vlog2"),
    ("timeline", "keras_fit_mlp__tf2.13.1__vlog2"),
]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("screen", "width"),
    [*zip(SCREENS, cycle([60, 120]), strict=False)],
    ids=lambda value: "-".join(value[:2]) if isinstance(value, tuple) else str(value),
)
def test_without_colour_the_text_is_the_same(
    printed: Print, screen: tuple[str, ...], width: int
) -> None:
    coloured = printed("FORCE_COLOR", width, *screen)
    plain = printed("NO_COLOR", width, *screen)
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == plain
    assert any(words(coloured, colour) for colour in (EAGER, GRAPH, ONEDNN, ERROR))


@pytest.mark.thorough
def test_eager_graph_and_kernels_of_onednn_have_their_colours(printed: Print) -> None:
    screen = printed("FORCE_COLOR", 120, "analyze", "keras_fit_mlp__tf2.13.1__vlog2", "--full")
    assert words(screen, EAGER).startswith("eager eager ")
    assert words(screen, GRAPH).startswith("graph graph ")
    assert "%" in words(screen, ONEDNN)
    assert not words(screen, ERROR)
    ops = printed("FORCE_COLOR", 140, "ops", "keras_fit_mlp__tf2.13.1__vlog2", "--format", "table")
    assert "_MklMatMul" in words(ops, ONEDNN)
    assert "MatMul" not in words(ops, ONEDNN).replace("_MklMatMul", "").split()
    why = printed("FORCE_COLOR", 120, "explain", "keras_fit_mlp__tf2.13.1__vlog2", "--op", "AddV2")
    assert (words(why, EAGER), words(why, GRAPH)) == ("Why eagerly", "Why in graphs")


@pytest.mark.thorough
def test_an_error_is_red(printed: Print) -> None:
    screen = printed("FORCE_COLOR", 120, "analyze", "error__tf2.13.1__vlog2")
    errors = [line for line in screen.split("\n") if words(line, ERROR)]
    assert errors
    assert errors[0].startswith("\x1b[31m! ")
    failed = printed("FORCE_COLOR", 120, "check", "run_eagerly__tf2.13.1__vlog2")
    assert words(failed, ERROR).startswith("FAILED unexpected_eager")


@pytest.mark.thorough
def test_in_a_narrow_terminal_no_figure_of_what_ran_is_left_out(printed: Print) -> None:
    screen = printed("NO_COLOR", 60, "analyze", "keras_fit_mlp__tf2.13.1__vlog2", "--full")
    table = screen.split("Eager and graph\n")[1].split("\n\n")[0].split("\n")[2:]
    rows = [line.split() for line in table[:5]]
    assert [row[0] for row in rows] == ["eager", "eager", "graph", "graph", "graph"]
    assert [row[1][:3] for row in rows] == ["ops", "tf.", "op", "tra", "con"]
    assert "46 (3%, 3% of time)" in table[2]
