"""Logs as they come out of terminals and chats: rows are those of the log, or counted as lost."""

from __future__ import annotations

import html
import itertools
import json
import quopri
import re
import textwrap
from collections.abc import Callable
from functools import cache, partial
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
import pytest

from tests.deep import first_quick
from tests.samples import NAMES, raw_log
from tflogscope import Run, open_log
from tflogscope.errors import InputError, NothingRecognised

LOGS = NAMES[:20:2]
ONEDNN_ALONE = "torch_mlp__torch2.13.0__vlog2"
WIDTHS = (80, 100, 120)
_LINES = 300
_DECIMALS = re.compile(r"(?m)^(onednn_verbose,.*),(\d+)\.(\d+)$")


def piece_of(name: str) -> str:
    """Some lines of a log, around one in which oneDNN ran something if there is one."""
    lines = raw_log(name).decode(errors="replace").splitlines()
    ran = [at for at, line in enumerate(lines) if re.match(r"onednn_verbose,.*exec,", line)]
    begin = max(0, (ran[len(ran) // 2] if ran else len(lines) // 2) - _LINES // 2)
    return "".join(f"{line}\n" for line in lines[begin : begin + _LINES])


def folded(text: str, width: int) -> str:
    """Text as a terminal of so many columns shows it."""
    lines = text.split("\n")
    return "\n".join(
        line[at : at + width] for line in lines for at in range(0, max(1, len(line)), width)
    )


def opened(path: Path, text: str) -> Run:
    path.write_text(text)
    return open_log(path)


@cache
def log_of(name: str) -> Run:
    """These lines as a log, opened once; its tables don't read the file again."""
    with TemporaryDirectory() as folder:
        return opened(Path(folder) / "run.log", piece_of(name))


def said(run: Run) -> list[pl.DataFrame]:
    """What a log says, without the numbers of its lines, and what is estimated from these."""
    lines = pl.selectors.contains("line", "source", "work_us", "steady_us")
    ops = run.ops.select(~lines).sort("mode", "kind", "op", "kernel", "rewrite")
    return [ops, *(table.select(~lines) for table in (run.timeline, run.primitives))]


@pytest.mark.parametrize(
    ("name", "width"), [*zip(LOGS, itertools.cycle(WIDTHS), strict=False)], ids=str
)
def test_lines_that_were_folded_are_put_together_again(
    tmp_path: Path, name: str, width: int
) -> None:
    text = piece_of(name)
    log = log_of(name)
    paste = opened(tmp_path / "paste.log", folded(text, width))
    assert paste.summary.recorded.envelope == f"lines folded at {width} columns"
    for mine, its in zip(said(paste), said(log), strict=True):
        assert mine.equals(its)
    # Lines are those of the paste.
    lines = folded(text, width).split("\n")
    for line, node in paste.timeline.drop_nulls("node").select("line", "node").head(20).rows():
        assert node in "".join(lines[line - 1 : line + 9])


@pytest.mark.parametrize("name", LOGS)
def test_times_with_a_decimal_comma_are_read_or_counted(tmp_path: Path, name: str) -> None:
    """A repair is for inputs of which a tenth needs it (`sources/repairs.py`)."""
    text = piece_of(name)
    log = log_of(name)
    paste = opened(tmp_path / "paste.log", _DECIMALS.sub(r"\1,\2,\3", text))
    repaired = "decimal commas" in (paste.summary.recorded.envelope or "")
    lost = 0 if repaired else len(_DECIMALS.findall(text))
    assert paste.summary.recorded.onednn_unread_lines == lost
    assert paste.coverage["unknown"].sum() == log.coverage["unknown"].sum() + lost
    known = log.primitives if repaired else log.primitives.filter(duration_us=0)
    durations = known["duration_us"].drop_nulls()
    assert paste.primitives["duration_us"].drop_nulls().to_list() == durations.to_list()
    assert paste.timeline["node"].equals(log.timeline["node"])


def test_full_lines_before_records_are_no_folds(tmp_path: Path) -> None:
    """Records of one length, and a table of the program's between them."""
    text = "".join(
        f"2026-11-21 03:56:34.{number:06}: I tensorflow/core/common_runtime/eager/execute.cc:1678] "
        f"Executing op Add{number} in device /job:localhost/replica:0/task:0/device:CPU:0\n"
        for number in range(100, 200)
    )
    run = opened(tmp_path / "run.log", text)
    assert run.summary.recorded.envelope is None
    assert run.ops.height == 100


def each(change: Callable[[str], str]) -> Callable[[str], str]:
    """A change of each line."""
    return lambda text: "".join(f"{change(line)}\n" for line in text.split("\n")[:-1])


def numbered(form: str) -> Callable[[str], str]:
    return lambda text: "".join(
        form.format(number, line) for number, line in enumerate(text.split("\n")[:-1], 1)
    )


def quoted_folds(text: str) -> str:
    return each("> {}".format)(folded(text, 78))


_EMOJI = {":abcd:": "🔡", ":abc:": "🔤", ":ab:": "🆎", ":a:": "🅰️", ":b:": "🅱️"}


def with_emoji(text: str) -> str:
    """What GitHub shows for the tags of layouts."""
    for tag, emoji in _EMOJI.items():
        text = text.replace(tag, emoji)
    return text


def wrapped_at_words(line: str) -> str:
    return "\n".join(textwrap.wrap(line, 100)) if line else line


def comma_separated(line: str) -> str:
    quoted = line.replace('"', '""')
    return f'7,"{quoted}"' if {'"', ","} & {*line} else f"7,{line}"


# As logs are in issues, mails, chats and answers; the lines are of our own logs.
WHOLE: dict[str, Callable[[str], str]] = {
    "quoted": each("> {}".format),
    "quoted twice": each("> > {}".format),
    "quoted twice, without a space": each(">> {}".format),
    "quoted and folded": quoted_folds,
    "indented by four": each("    {}".format),
    "indented by a tab": each("\t{}".format),
    "in a fence": "Here is my log:\n```\n{}```\nIs that right?\n".format,
    "with emoji": with_emoji,
    "quoted, with emoji": lambda text: each("> {}".format)(with_emoji(text)),
    "html": each(partial(html.escape, quote=False)),
    "line ends of Windows": lambda text: text.replace("\n", "\r\n"),
    "curly quotes": each(partial(re.sub, r'"([^"]*)"', r"“\1”")),
    "coloured": each("\x1b[31m{}\x1b[0m".format),
    "coloured behind a time": each("\x1b[33m[07:29:05.123]\x1b[0m \x1b[36m{}\x1b[0m".format),
    "a list": each("- {}".format),
    "numbers, a colon": numbered("{}: {}\n"),
    "numbers, no space": numbered("{}:{}\n"),
    "numbers, a bar": numbered("{:4} | {}\n"),
    "numbers, a tab": numbered("{:6}\t{}\n"),
    "found by grep": numbered("train.log:{}:{}\n"),
    "blank lines between": each("{}\n".format),
    "spaces in one": each(partial(re.sub, " +", " ")),
    "a chat": "alice  3:56 PM\n{}bob  4:01 PM\nthanks\n".format,
    "kernel's clock": each("[  12.345678] {}".format),
    "a padded clock": numbered("[{:8}.125] {}\n"),
    "tags eaten": each(partial(re.sub, "<[^<>]*>", "")),
    "emphasis eaten": lambda text: text.replace("*", ""),
    "pytest": each("E       {}".format),
    "named": each("STDERR of 7: {}".format),
    "a byte order mark": "\ufeff{}".format,
    "PowerShell": lambda text: text.replace("\n", "\nAt line:1 char:1\n+ python train.py\n", 1),
    "a bar of progress": each(partial(re.sub, "^(.*MatMul)", "\r 12%|█ | 12/100 [0:01<0:08]\\1")),
    "Airflow": each("[2026-11-21, 03:56:34 UTC] {{subprocess.py:93}} INFO - {}".format),
    "script": lambda text: f"Script started on 2026\r\n{text}".replace("\n", "\r\n"),
    "escaped for Markdown": lambda text: text.replace("_", "\\_"),
    "quotes as entities": each(html.escape),
    "one string": lambda text: json.dumps(text) + "\n",
    "comma-separated": each(lambda line: '1795233394965,"' + line.replace('"', '""') + '"'),
    "comma-separated, quotes where needed": each(comma_separated),
}
LOST: dict[str, Callable[[str], str]] = {
    "cut at 80": each(lambda line: line[:80]),
    "cut at 120": each(lambda line: line[:120]),
    "cut at 200": each(lambda line: line[:200]),
    "cut, with dots": each(lambda line: line if len(line) < 150 else f"{line[:140]}..."),
    "wrapped at words": each(wrapped_at_words),
    "no-break spaces": lambda text: text.replace(" ", "\xa0"),
    "padded": each("{}   ".format),
    "in backticks": each("`{}`".format),
    "without dates": each(partial(re.sub, r"^\d{4}-\d\d-\d\d ", "")),
    "commas": each(partial(_DECIMALS.sub, r"\1,\2,\3")),
    "tabs for spaces": lambda text: text.replace(" ", "\t"),
    "less -S": each(lambda line: line if len(line) < 160 else f"{line[:159]}>"),
    "bold": each("**{}**".format),
    "lines left out": lambda text: re.sub(r"(?s)\A(.{9000}\S*\n).{9000}.*?\n", r"\1...\n", text),
}


def logs_for(shapes: dict[str, Callable[[str], str]]) -> list[Any]:
    return [
        pytest.param(change, LOGS[number % len(LOGS)], id=name)
        for number, (name, change) in enumerate(shapes.items())
    ]


# Which lines of oneDNN were held back is seen from names in quotes.
HELD_BACK = (WHOLE["curly quotes"], "function_mlp__tf2.13.1__vlog2__buffered")


@pytest.mark.parametrize(("change", "name"), [*logs_for(WHOLE), HELD_BACK])
def test_a_paste_is_the_log(tmp_path: Path, change: Callable[[str], str], name: str) -> None:
    log, paste = log_of(name), opened(tmp_path / "paste.log", change(piece_of(name)))
    for mine, its in zip(said(paste), said(log), strict=True):
        assert mine.equals(its)


@pytest.mark.thorough
@pytest.mark.parametrize("shape", ["coloured", "kernel's clock", "pytest", "named", "Airflow"])
def test_what_failed_failed_in_a_paste(tmp_path: Path, shape: str) -> None:
    """The line that says so is not a record, so it is not found in the middle of a line."""
    name = "error__tf2.13.1__vlog2"
    log, paste = log_of(name), opened(tmp_path / "paste.log", WHOLE[shape](piece_of(name)))
    assert "failed" in log.timeline["status"]
    for mine, its in zip(said(paste), said(log), strict=True):
        assert mine.equals(its)
    assert paste.coverage["torn"].sum() == 0


@pytest.mark.thorough
@pytest.mark.parametrize("before", [("a ", "b "), ("7", "8"), ("$", "$")])
def test_other_text_before_records_is_the_programs(tmp_path: Path, before: tuple[str, str]) -> None:
    lines = piece_of("error__tf2.13.1__vlog2").split("\n")[:-1]
    text = "".join(f"{before[at % 2]}{line}\n" for at, line in enumerate(lines))
    paste = opened(tmp_path / "paste.log", text)
    assert paste.summary.recorded.envelope is None
    assert paste.coverage["torn"].sum() > 200


@pytest.mark.parametrize(("change", "name"), logs_for(LOST))
def test_what_a_paste_lost_is_counted(
    tmp_path: Path, change: Callable[[str], str], name: str
) -> None:
    """Or it is the log."""
    log = log_of(name)
    try:
        paste = opened(tmp_path / "paste.log", change(piece_of(name)))
    except NothingRecognised:
        return
    same = all(mine.equals(its) for mine, its in zip(said(paste), said(log), strict=True))
    lost = paste.coverage["recognised"].sum() < log.coverage["recognised"].sum()
    recorded = paste.summary.recorded
    undated = "without a date" in (recorded.envelope or "")  # read, with times that are null
    assert same or lost or recorded.onednn_unread_lines or undated
    assert made_up(paste, log) == []


@pytest.mark.parametrize(
    "change",
    [
        each("{}$".format),
        lambda text: quopri.encodestring(text.encode()).decode(),
    ],
    ids=["cat -A", "quoted-printable"],
)
def test_records_with_something_behind_them_are_lost_and_that_is_said(
    tmp_path: Path, change: Callable[[str], str]
) -> None:
    text = piece_of("function_mlp__tf2.16.2__vlog2")
    paste = opened(tmp_path / "paste.log", change(text))
    [said] = paste.findings.filter(id="lines-lost")["text"]
    assert re.match(r"[\d,]+ TensorFlow records can't be parsed", said)


@pytest.mark.parametrize(
    "change",
    [
        each(lambda line: json.dumps({"labels": {"pod": "a"}, "line": line, "time": 7})),
        each(lambda line: json.dumps([0.1, "o", line])),
        each(lambda line: f",{json.dumps({'stream_name': 'stderr', 'time': 3.5, 'data': line})}"),
    ],
    ids=["Loki", "asciinema", "Kaggle"],
)
def test_records_in_json_of_any_form_are_read(tmp_path: Path, change: Callable[[str], str]) -> None:
    name = "function_mlp__tf2.16.2__vlog2"
    log, paste = log_of(name), opened(tmp_path / "paste.log", change(piece_of(name)))
    for table in ("timeline", "ops", "primitives"):
        mine, its = (getattr(each, table).drop("source", strict=False) for each in (paste, log))
        assert mine.equals(its), table


def test_a_log_with_the_newest_record_first_is_refused(tmp_path: Path) -> None:
    lines = piece_of("function_mlp__tf2.16.2__vlog2").splitlines(keepends=True)
    with pytest.raises(InputError, match="in reverse order"):
        opened(tmp_path / "paste.log", "".join(reversed(lines)))


def made_up(paste: Run, log: Run) -> list[tuple[Any, ...]]:
    """Rows that say what no row of the log does; null says nothing."""
    names = ["mode", "op", "node", "kernel", "duration_us"]
    there = set(log.timeline[names].rows())
    wrong = set(paste.timeline[names].rows()) - there
    verbose = ["primitive", "implementation", "duration_us"]
    times = {f"{row}".rstrip(")") for row in log.primitives[verbose].rows()}
    return [
        *(row for row in wrong if not any(map(partial(_says_less, row), there))),
        # Half a time can't be told from a time.
        *(
            row
            for row in paste.primitives[verbose].rows()
            if any(row) and not any(time.startswith(f"{row}".rstrip("0.)")) for time in times)
        ),
    ]


def _says_less(row: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    return all(mine in {None, its} for mine, its in zip(row, other, strict=True))


@pytest.mark.parametrize(
    ("name", "begin"),
    first_quick([(ONEDNN_ALONE, 0), *itertools.product(LOGS, (0, 20))], of=itemgetter(1)),
)
def test_what_is_there_twice_is_said(tmp_path: Path, name: str, begin: int) -> None:
    """Two screens of a terminal have lines in common; nothing else appears twice."""
    text = piece_of(name)
    lines = text.splitlines(keepends=True)
    assert "twice" not in {limit.id for limit in log_of(name).summary.limits}
    paste = opened(tmp_path / "paste.log", text + "".join(lines[begin:]))
    (limit,) = (each for each in paste.summary.limits if each.id == "twice")
    again, first = (
        int(line.replace(",", "")) for line in re.findall(r"line ([0-9,]+)", limit.text)
    )
    assert again - first == len(lines) - begin
