"""How a program ended: what `crashed` says of made-up ends of logs."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import tflogscope
from tests.conftest import Open
from tests.makelog import Log
from tests.samples import path_of, raw_log
from tflogscope import Run
from tflogscope.exports.redact import Redactor
from tflogscope.recording.header import footer_line
from tflogscope.sources.source import Source
from tflogscope.views.analyze import analyze_document
from tflogscope.views.html import html
from tflogscope.views.markdown import markdown
from tflogscope.views.terminal import drawn

MODULE = 'File "/home/alice/train.py", line 9, in <module>'
_USER_CODE = 'StagingError: in user code:\n\n    File "/home/alice/train.py", line 5, in step  *'
INSIDE = 'File "/home/alice/train.py", line 5, in step'


def ended(*frames: str, error: str = "KeyError: 'x'", status: int | None = None) -> Log:
    """A log that ends with a traceback, and with `record`'s last line if a status is given."""
    log = Log()
    log.executing("MatMul")
    log.raw("Traceback (most recent call last):")
    for frame in frames:
        log.raw(f"  {frame}")
        log.raw("    step(x)")
    for line in error.split("\n"):
        log.raw(line)
    if status is not None:
        log.raw(footer_line(status).decode().rstrip("\n"))
    return log


def crashed(run: Run) -> list[dict[str, str]]:
    return run.findings.filter(pl.col("id") == "crashed").to_dicts()


def test_a_traceback_from_the_programs_first_frame_on_may_have_ended_it(opened: Open) -> None:
    (found,) = crashed(opened(ended(MODULE, INSIDE)))
    assert found["text"].startswith(
        "The log ends with this traceback (the program may have continued)"
    )
    assert found["python"] == "train.py:5"


def test_a_message_ends_with_its_own_last_line(opened: Open) -> None:
    """AutoGraph says what happened further down, and TensorFlow may print a node in between."""
    node = 'name: "f"\nop: "f"\nattr {\n  key: "T"\n}'
    message = f"{_USER_CODE}\n\n{node}\n    ValueError: not twice" + "{last}\n"
    for last in ("", f"\n{node}", "\nRecord 7 }"):
        (found,) = crashed(opened(ended(MODULE, INSIDE, error=message.replace("{last}", last))))
        assert "StagingError: in user code: ValueError: not twice" in found["text"]
    plain = f"ValueError: in all:\n\n{node}\n  the values differ\n{node}"
    (found,) = crashed(opened(ended(MODULE, error=plain)))
    assert "ValueError: in all: the values differ" in found["text"]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("error", "node"),
    [
        (
            "{{function_node f}} indices[0] = 9 is not in [0, 4)",
            ". Failed node: PartitionedCall/GatherV2",
        ),
        ("indices[0] = 7 is not in [0, 4)", ""),
    ],
)
def test_a_verdict_names_the_node_whose_failure_ended_the_program(
    tmp_path: Path, error: str, node: str
) -> None:
    """The failures of this log were caught, until one was not. Another error is of no node."""
    ending = (
        f"Traceback (most recent call last):\n  {MODULE}\n    f(x)\nInvalidArgumentError: {error}\n"
    )
    log = tmp_path / "run.log"
    log.write_bytes(raw_log("failures__tf2.20.0") + ending.encode() + footer_line(1))
    verdict = tflogscope.open_log(log).headline.verdict
    assert verdict.startswith("The program crashed: InvalidArgumentError (train.py:9)")
    assert verdict.endswith(f". {error.removeprefix('{{function_node f}} ')}{node}.")


def test_one_that_was_caught_in_a_function_is_not_said(opened: Open) -> None:
    assert not crashed(opened(ended(INSIDE)))
    assert crashed(opened(ended(INSIDE, status=1)))


@pytest.mark.thorough
@pytest.mark.parametrize("status", [-2, 130, None])
def test_an_interrupt_is_not_a_crash(opened: Open, status: int | None) -> None:
    assert not crashed(opened(ended(MODULE, error="KeyboardInterrupt", status=status)))
    assert crashed(opened(ended(MODULE, error="MemoryError", status=1)))


HOSTILE = "\x1b[2J[bold]\x07<script>alert(1)</script>|=cmd\u202e"


@pytest.mark.thorough
def test_what_a_crash_printed_has_no_effect(opened: Open) -> None:
    hostile = ended(MODULE.replace("train", f"t{HOSTILE}"), error=f"E: {HOSTILE}", status=1)
    run = opened(hostile)
    document = analyze_document(run)
    screen = drawn(document)
    assert "[bold]" in screen
    assert not {"\x1b", "\x07", "\u202e"} & set(screen)
    for page in (html(document), markdown(document)):
        assert "<script>alert" not in page


@pytest.mark.thorough
def test_redacted_it_is_known_by_its_status_and_not_by_its_words(tmp_path: Path) -> None:
    name = "ends_key__tf2.20.0__record"
    redactor = Redactor(b"a key")
    text = b"".join(text for text, _ in redactor.blocks(Source(str(path_of(name)))))
    assert b"missing" not in text
    assert b"raises_py" not in text
    log = tmp_path / "redacted.log"
    log.write_bytes(text)
    (found,) = crashed(tflogscope.open_log(log))
    assert found["text"].startswith("The program exited with status 1")
    assert found["python"] is None
