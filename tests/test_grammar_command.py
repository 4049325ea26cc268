"""`tflogscope grammar check`, and `--grammar` with the user's own files."""

from __future__ import annotations

import errno
import json
import os
import re
from pathlib import Path
from textwrap import indent

import pytest
import typer

import tflogscope
from tests.command import run_command
from tests.samples import path_of
from tests.test_docs import own_grammar, program, section
from tests.test_grammar_files import MESSAGE
from tests.test_grammar_new import DIALECT, EXECUTOR
from tflogscope.cli.main import main
from tflogscope.cli.watch import Watching
from tflogscope.errors import GrammarError, NothingRecognised
from tflogscope.grammar.load import load_grammar
from tflogscope.grammar.template import FIELD_TYPES
from tflogscope.live.follow import GrowingFile

LINE = "2026-11-21 03:56:34.965368: I somewhere/own.cc:12] Own MatMul took 0.5 ms"
NEW = "<2026/11/21 03:56:35.000007> I thread 12 at core/common_runtime/executor.cc:841: "
NODE = "Process node: 7 step -5 {{node a}} = NoOp[]() device: /device:CPU:0\n"
NO_LOGS = {"grammar", "record", "simulate", "trend"}


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A folder with a grammar file."""
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "own.toml").write_text(MESSAGE)
    return folder


@pytest.fixture
def log(own: Path) -> Path:
    """A log with a line that the file describes, and a prefix that another one does."""
    (own / "dialect.toml").write_text(DIALECT)
    path = own.parent / "run.log"
    path.write_text(f"{LINE}\n{NEW}{NODE}")
    return path


# ---- grammar check -------------------------------------------------------------------------------


def test_samples_that_fit_are_counted(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (own / "more.toml").write_text(EXECUTOR)
    assert main(["grammar", "check", str(own / "own.toml"), str(own / "more.toml")]) == 0
    assert capsys.readouterr().out == "3 samples tested: all match\n"


def test_a_caret_shows_where_each_sample_departs(
    own: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [own / "own.toml", own / "more.toml"]
    files[0].write_text(MESSAGE.replace("Own MatMul took 0.5", "Own MatMul took x0.5"))
    files[1].write_text(EXECUTOR.replace("node a}} = NoOp[]", "node a} = NoOp[]"))
    assert main(["grammar", "check", *map(str, files)]) == 1
    *shown, tried = capsys.readouterr().out.splitlines()
    assert tried == "3 samples tested: 3 do not match"
    heads, lines, carets = shown[::3], shown[1::3], shown[2::3]
    assert [head.split(": ")[0] for head in heads] == [
        f"{files[0]}, message 'own_message'",
        f"{files[1]}, message 'node_begins'",
        f"{files[1]}, message 'node_stops'",
    ]
    assert heads[0].endswith("expected ms (float), found 'x0.5 ms'")
    at = [line[len(caret) - 1 :] for line, caret in zip(lines, carets, strict=True)]
    assert at[0] == "x0.5 ms"
    assert [text[:8] for text in at[1:]] == ["a} = NoO", "a} = NoO"]
    assert {caret.strip() for caret in carets} == {"^"}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("ms = 0.5", "ms = 0.75", "'ms' is 0.5, not 0.75"),
        ("own.cc:12", "other.cc:12", "a line of other.cc"),
        ("  line = '2026", "  line = 'at 2026", "unknown prefix"),
    ],
)
def test_what_else_is_wrong_with_a_sample_is_said(
    own: Path, old: str, new: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (own / "own.toml").write_text(MESSAGE.replace(old, new))
    assert main(["grammar", "check", str(own / "own.toml")]) == 1
    assert said in capsys.readouterr().out


def test_a_sample_of_a_prefix_is_tried(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sample = f"  [[prefix.sample]]\n  line = '{NEW}'\n  fields = {{ severity = 'E' }}\n"
    (own / "dialect.toml").write_text(DIALECT + sample)
    assert main(["grammar", "check", str(own / "dialect.toml")]) == 1
    assert "prefix 'new': it gives {'time': '<2026/11/21" in capsys.readouterr().out
    with pytest.raises(GrammarError, match="a sample does not match"):
        tflogscope.open_log(path_of("eager_basics__tf2.8.4__vlog2"), grammar=own)


def test_a_sample_is_text_for_the_terminal(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = LINE.replace("MatMul took", "MatMul lasted \\u001b[31m\\u202e")
    text = MESSAGE.replace(f"'{LINE}'", f'"{line}"')
    (own / "own.toml").write_text(text)
    assert main(["grammar", "check", str(own / "own.toml")]) == 1
    shown = capsys.readouterr().out
    assert not {"\x1b", "\u202e"} & set(shown)
    assert r"\x1b[31m" in shown


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("level = 1", "levels = 1", "unknown key `levels`"),
        ("${ms:float}", "${ms:real}", "no field type 'real'"),
        ('meaning = "', "meaning = ", "not TOML"),
        ("level = 1", 'level = 1\nscan = "Own ${op:word} took"', "the scanner can't read"),
    ],
)
def test_a_file_that_is_not_a_grammar_file_is_an_error_of_the_input(
    own: Path, old: str, new: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (own / "own.toml").write_text(MESSAGE.replace(old, new, 1))
    assert main(["grammar", "check", str(own / "own.toml")]) == 3
    printed = capsys.readouterr()
    assert said in printed.err
    assert printed.out == ""


def test_a_file_that_can_not_be_read_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bytes.toml").write_bytes(b"\xff")
    for wrong in (tmp_path / "nowhere.toml", tmp_path, tmp_path / "bytes.toml"):
        assert main(["grammar", "check", str(wrong)]) == 3
        assert f"{wrong}: can't be read" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["grammar"], ["grammar", "check"], ["grammar", "try"]])
def test_what_is_no_command_is_an_error_of_usage(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert "grammar" in capsys.readouterr().err


def test_the_docs_show_what_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    file = Path("own/resample.toml")
    file.parent.mkdir()
    file.write_text(own_grammar().replace("Resampled 64 rows", "Resampled many rows"))
    assert main(["grammar", "check", str(file)]) == 1
    assert indent(capsys.readouterr().out, "    ") in section("grammar")


def test_the_docs_name_each_type_of_field() -> None:
    assert all(f"`{name}`" in section("grammar") for name in FIELD_TYPES)


# ---- --grammar -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted({*program().commands} - NO_LOGS))
def test_each_command_that_reads_logs_has_the_option(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = program().commands[name]
    assert "--grammar" in [each for parameter in command.params for each in parameter.opts]
    assert isinstance(command, typer.core.TyperCommand)
    if name == "watch":  # it needs a terminal
        return
    log, target = str(path_of("eager_basics__tf2.8.4__vlog2")), str(tmp_path / "out.html")
    arguments = {
        "collect": [log, "-o", target], "diff": [log, log], "export": [log, "--table", "ops"],
        "query": [log, "SELECT * FROM ops"], "ranks": [log, log], "redact": [log, "-o", target],
    }  # fmt: skip
    wrong = str(tmp_path / "nowhere")
    assert main([name, *arguments.get(name, [log]), "--grammar", wrong]) == 2
    assert f"{wrong}: not a directory with grammar files" in capsys.readouterr().err
    assert not Path(target).exists()


def test_a_log_is_read_by_the_users_grammar_too(
    own: Path, log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(NothingRecognised):
        tflogscope.open_log(log)
    run = tflogscope.open_log(log, grammar=own)
    assert run.coverage.select("records", "recognised", "unknown").row(0) == (2, 2, 0)
    assert run.timeline["node"].to_list() == ["a"]
    assert main(["analyze", str(log), "--json"]) == 3
    capsys.readouterr()
    assert main(["export", str(log), "--table", "timeline", "--format", "jsonl", "--grammar",
                 str(own)]) == 0  # fmt: skip
    assert json.loads(capsys.readouterr().out)["node"] == "a"


def test_redacting_keeps_the_words_of_the_users_grammar(own: Path) -> None:
    log, target = own.parent / "run.log", own.parent / "redacted.log"
    log.write_text(f"{LINE}\n")
    assert main(["redact", str(log), "-o", str(target), "--grammar", str(own)]) == 0
    assert re.fullmatch(r".* Own MatMul took 0\.5 ms\n", target.read_text())
    assert main(["report", str(log), "-o", str(own.parent / "page.html"), "--redacted",
                 "--grammar", str(own)]) == 0  # fmt: skip


def test_watch_follows_by_the_users_grammar(own: Path, log: Path) -> None:
    file = GrowingFile(str(log))
    watching = Watching(str(log), file, str(own))
    file.stop()
    watching.growing.scan.wait()
    assert watching.growing.run().timeline["node"].to_list() == ["a"]


@pytest.mark.thorough
def test_a_store_is_collected_again_when_the_grammar_changes(own: Path, log: Path) -> None:
    store = str(own.parent / "store")

    def collected() -> tuple[str, int]:
        main(["collect", str(log), "-o", store, "--workers", "1", "--grammar", str(own)])
        (row,) = tflogscope.open_store(store).rows.to_dicts()
        run = tflogscope.open_store(store).run(row["run"])
        return row["tool_version"], run.coverage["recognised"].item()

    first = collected()
    assert collected() == first
    assert first[0].startswith(f"{tflogscope.__version__}+grammar.")
    (own / "own.toml").unlink()
    second = collected()
    assert second[0] != first[0]
    assert (first[1], second[1]) == (2, 1)


_MESSAGE = "source='x/y.cc'\nfile='y.cc'\n[[message]]\nid='m'\nlevel=1\nmeaning='m'\n"
_SAMPLE = "[[message.sample]]\nline='2026-11-21 03:56:34.965368: I x/y.cc:12] ab'\n"
_ENVELOPE = "[[envelope]]\nid='e'\nname='n'\nmeaning='m'\nsource='s'\n"


@pytest.mark.parametrize(
    "text",
    [
        "[envelope]\nid='e'\n",
        "message='x'\nsource='a'\nfile='b'\n",
        "message=1\n",
        "prefix=[1]\n",
        "files=1\n",
        "files=[[1]]\n",
        "[[marker]]\nliteral='x'\nmeaning='y'\nsamples=3\n",
        _ENVELOPE + "head=[1]\nsample=[{line=1,text=1}]\n",
        _ENVELOPE + "head='<x> '\nsample='x'\n",
        "x=" + "[" * 20_000,
        _MESSAGE + "text='a" + "$[" * 500 + "b" + "$]" * 500 + "'\n" + _SAMPLE + "fields={}\n",
        _MESSAGE + "text='ab'\nscan=3\n" + _SAMPLE + "fields=3\n",
    ],
    ids=range(12),
)
def test_a_grammar_file_of_another_shape_is_refused_in_words(tmp_path: Path, text: str) -> None:
    own = tmp_path / "own.toml"
    own.write_text(text)
    done = run_command("grammar", "check", own)
    assert done.returncode in (1, 3)
    assert b"fault" not in done.stderr
    with pytest.raises(GrammarError):
        load_grammar(tmp_path)


def test_a_folder_of_grammar_files_that_can_not_be_read_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: str) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(GrammarError, match="can't be read"):
        load_grammar(tmp_path)


def test_a_pipe_in_a_folder_of_grammar_files_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "own.toml")
    with pytest.raises(GrammarError, match="not a file"):
        load_grammar(tmp_path)
