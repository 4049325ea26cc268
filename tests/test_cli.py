from __future__ import annotations

import builtins
import contextlib
import errno
import io
import itertools
import json
import os
import pty
import re
import signal
import subprocess
import sys
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tflogscope
from tests import stub
from tests.command import run_command
from tests.deep import first_quick
from tests.samples import NAMES, path_of, run_of
from tflogscope.cli.main import main
from tflogscope.errors import did_you_mean

Run = Callable[..., tuple[int, str, str]]
ROOT = Path(__file__).parent.parent


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Run:
    """`tflogscope ARGUMENTS` in this process, over made-up runs: exit code, output, errors."""
    monkeypatch.setattr("tflogscope.cli.inputs.open_with", stub.open_with)
    monkeypatch.setattr("tflogscope.cli.inputs.find_runs", stub.find_runs)
    monkeypatch.setattr("tflogscope.cli.inputs.owned", stub.owned)
    monkeypatch.setitem(sys.modules, "tflogscope.views.analyze", stub.analyze_module())
    for name in ("NO_COLOR", "FORCE_COLOR", "TFLOGSCOPE_TRACEBACK"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments: str) -> tuple[int, str, str]:
        capfdbinary.readouterr()
        code = main(arguments)
        sys.stdout.flush()
        sys.stderr.flush()
        out, err = capfdbinary.readouterr()
        return code, out.decode(), err.decode()

    return run


def spawn(
    *arguments: str,
    stdout: int | IO[bytes] = subprocess.PIPE,
    stderr: int = subprocess.PIPE,
    env: dict[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    """The same in a process of its own."""
    command = [sys.executable, "-m", "tests.stub", *arguments]
    return subprocess.Popen(command, cwd=ROOT, stdout=stdout, stderr=stderr, env=env)


def harmless(text: str) -> bool:
    """The line end is the only character with an effect."""
    bad = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    return {each for each in text if unicodedata.category(each) in bad} <= {"\n"}


# Start


@pytest.mark.parametrize(
    "arguments",
    first_quick((words,) for words in (["--help"], ["--version"], ["ops", "--help"], ["nonsense"])),
)
def test_help_and_version_do_not_wait_for_polars(arguments: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "tflogscope", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    imported = set(re.findall(r"\| +(\w+)$", done.stderr, re.MULTILINE))
    assert "typer" in imported
    assert not imported & {"polars", "numpy", "rich", "pyparsing"}


@pytest.mark.thorough
def test_an_ordinary_command_line_does_not_import_pydantic() -> None:
    code = (
        "import sys; from tflogscope.cli.main import main\n"
        f"code = main(['analyze', {str(path_of(NAMES[0]))!r}, '--format', 'json'])\n"
        "sys.exit(code or 'pydantic' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL, check=False)
    assert done.returncode == 0


def test_import_does_not_import_polars() -> None:
    code = "import sys, tflogscope; sys.exit('polars' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_module_has_no_other_lazy_names() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        _ = tflogscope.nonsense
    assert {"open_log", "Run", "__version__"} <= set(dir(tflogscope))


def test_version(cli: Run) -> None:
    assert cli("--version") == (0, f"tflogscope {tflogscope.__version__}\n", "")


def test_help_tells_where_to_start(cli: Run) -> None:
    code, out, _ = cli("--help")
    assert code == 0
    assert "Start here" in out
    assert "tflogscope analyze run.log" in out


def test_no_command_is_help_and_wrong_usage(cli: Run) -> None:
    code, out, err = cli()
    assert (code, out) == (2, "")
    assert "Start here" in err


@pytest.mark.parametrize("command", ["analyze", "ops", "export"])
def test_each_command_shows_an_example(cli: Run, command: str) -> None:
    code, out, _ = cli(command, "--help")
    assert code == 0
    assert f"    tflogscope {command} " in out


# Ends


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["opps"], 2, "tflogscope: No such command 'opps'. Did you mean 'ops'?"),
        (["ops", "--nonsense"], 2, "tflogscope: No such option: --nonsense"),
        (["ops", "x", "--format", "xml"], 2, "'xml' is not one of 'csv'"),
        (["export", "x"], 2, "Missing option '--table'"),
        (["ops", "x", "-o", "y.xlsx"], 2, "tflogscope: y.xlsx: unknown suffix '.xlsx'"),
        (["ops", "x", "-o", "no/y.csv"], 2, "tflogscope: no: no such directory"),
        (["ops", "x", "-o", "/"], 2, "tflogscope: /: the file name has no suffix"),
        (["export", "x", "--table", "timelin"], 2, "Did you mean timeline?"),
        (["export", "x", "--table", "zzz"], 2, "Available: timeline, ops"),
        (["ops", "missing.log"], 3, "tflogscope: missing.log: no such file\nCheck the path."),
        (["analyze", "nothing.log"], 3, "tflogscope: nothing.log: no record of"),
        (["ops", "crash"], 4, "tflogscope: internal error: KeyError: '\\x1b[31m'"),
        (["ops", "interrupt"], 130, "tflogscope: interrupted"),
    ],
)
def test_errors_are_one_or_two_lines(
    cli: Run, arguments: list[str], code: int, message: str
) -> None:
    ended, out, err = cli(*arguments)
    assert ended == code
    assert out == ""
    assert message in err
    assert "Traceback" not in err
    assert err.startswith("tflogscope: ")
    assert 1 <= err.count("\n") <= 2


def test_a_traceback_is_shown_when_asked_for(cli: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TFLOGSCOPE_TRACEBACK", "1")
    code, _, err = cli("ops", "crash")
    assert code == 4
    assert "Traceback" in err


@pytest.mark.thorough
@given(st.text(st.characters(exclude_characters="/\x00")) | st.sampled_from(stub.HOSTILE))
def test_names_in_errors_have_no_effect(cli: Run, name: str) -> None:
    hostile = "missing" + name.replace("/", "")
    for arguments in (["ops", "--", hostile], ["export", "x", "--table", hostile], [hostile]):
        code, out, err = cli(*arguments)
        assert code in {2, 3}
        assert out == ""
        assert harmless(err)
        assert 1 <= err.count("\n") <= 2


@pytest.mark.parametrize(
    "command",
    first_quick(
        (command,)
        for command in (
            "analyze {}",
            "report {} -o x.html",
            "collect {} -o x",
            "collect LOG -o x --grammar {}",
            "ops LOG --grammar {}",
            "redact LOG --map {}",
            "ranks {} LOG",
            "diff LOG {}",
        )
    ),
)
def test_a_name_that_is_too_long_is_no_fault(
    tmp_path: Path,
    command: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    words = command.replace("LOG", str(path_of("eager_basics__tf2.8.4__vlog2"))).split()
    code = main([word.format("a" * 300) for word in words])
    said = capsys.readouterr().err
    assert code in {2, 3}
    assert "File name too long" in said or "no such file" in said


def test_a_program_that_may_not_be_read_is_said_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tests may run as root, whom no permission stops."""
    opened = open

    def refuse(path: Any, *rest: Any, **more: Any) -> Any:
        if path == "train.py":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return opened(path, *rest, **more)

    monkeypatch.setattr(builtins, "open", refuse)
    assert main(["simulate", "train.py", "-o", "run.log"]) == 3
    assert capsys.readouterr().err == (
        "tflogscope: train.py: can't be read: Permission denied\n"
        "Get permission to read it, or a copy.\n"
    )


def test_long_names_in_errors_are_cut(cli: Run) -> None:
    _, _, err = cli("export", "x", "--table", "x" * 100_000)
    assert len(err) < 2000


@pytest.mark.thorough
def test_a_reader_that_went_away_ends_it_quietly() -> None:
    for arguments in (["ops", "big"], ["ops", "big", "--format", "json"], ["--help"]):
        process = spawn(*arguments)
        assert process.stdout is not None
        process.stdout.close()
        _, err = process.communicate()
        assert (process.returncode, err) == (141, b""), arguments


@pytest.mark.thorough
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has /dev/full")
@pytest.mark.parametrize("arguments", [["ops", "x", "--format=csv"], ["analyze", "x"], ["--help"]])
def test_a_full_disk_on_standard_output_is_said(arguments: list[str]) -> None:
    with open("/dev/full", "wb") as full:
        process = spawn(*arguments, stdout=full)
        _, err = process.communicate()
    assert process.returncode == 2
    assert err.decode() == "tflogscope: standard output: can't write: No space left on device\n"


@pytest.mark.thorough
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has /dev/full")
@pytest.mark.parametrize(
    ("arguments", "code"), [(["analyze", "/nothing"], 3), (["--bogus"], 2), (["--version"], 0)]
)
def test_the_exit_code_is_right_where_standard_error_is_full(
    arguments: list[str], code: int
) -> None:
    command = [sys.executable, "-m", "tflogscope", *arguments]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=full, check=False)
    assert done.returncode == code


def test_a_name_is_proposed_once() -> None:
    assert did_you_mean("Nope", ["NoOp", "NoOp"], most=2) == "Did you mean NoOp?"


@pytest.mark.thorough
@pytest.mark.parametrize(("form", "unbuffered"), [("csv", ""), ("parquet", ""), ("table", "1")])
def test_a_write_that_ends_early_is_said(tmp_path: Path, form: str, unbuffered: str) -> None:
    limit = f"ulimit -f 1; exec {sys.executable} -B -m tests.stub ops big --format {form}"
    with open(tmp_path / "out.csv", "wb") as out:
        done = subprocess.run(
            ["bash", "-c", limit],
            cwd=ROOT,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
            stdout=out,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 2
    assert b"can't write: File too large" in done.stderr


LOG = ROOT / "sample_logs" / "eager_basics__tf2.8.4__vlog2.log.zst"
CLOSED = b"tflogscope: standard output: can't write: Bad file descriptor\n"


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("arguments", "closed", "ends"),
    [
        ("--help", ">&-", (2, b"", CLOSED)),
        ("analyze LOG", ">&-", (2, b"", CLOSED)),
        ("ops LOG --format csv", ">&-", (2, b"", CLOSED)),
        ("ops LOG --format parquet", ">&-", (2, b"", CLOSED)),
        ("ops LOG -o OUT", ">&-", (0, b"", b"")),
        ("ops LOG -o OUT", ">&- 2>&- <&-", (0, b"", b"")),
        ("ops missing.log", "2>&-", (3, b"", b"")),
        ("ops --nonsense", "2>&-", (2, b"", b"")),
        ("--version", "2>&-", (0, f"tflogscope {tflogscope.__version__}\n".encode(), b"")),
        ("record -o OUT -- sh -c 'exit 7'", ">&- 2>&- <&-", (7, b"", b"")),
    ],
)
def test_closed_descriptors(
    tmp_path: Path, arguments: str, closed: str, ends: tuple[int, bytes, bytes]
) -> None:
    arguments = arguments.replace("LOG", str(LOG)).replace("OUT", str(tmp_path / "out.csv"))
    command = f"exec {sys.executable} -m tflogscope {arguments} {closed}"
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == ends
    if "OUT" in arguments:
        assert (tmp_path / "out.csv").stat().st_size > 0


@pytest.mark.thorough
@pytest.mark.parametrize(
    "module", ["typer", "polars", "numpy", "rich.console", "tflogscope.cli.app"]
)
def test_an_interrupt_while_modules_are_imported(module: str) -> None:
    code = (
        "import sys\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, *rest):\n"
        f"        if name == {module!r}: raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupting())\n"
        "from tflogscope.__main__ import main\n"
        "sys.exit(main())"
    )
    command = [sys.executable, "-c", code, "analyze", str(LOG)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"tflogscope: interrupted\n")


@pytest.mark.thorough
@pytest.mark.parametrize("command", ["analyze", "ops"])
def test_an_interrupt_while_a_log_is_scanned_and_standard_error_is_no_terminal(
    command: str,
) -> None:
    """The log has no end, so only the interrupt ends the command."""
    text = (b"onednn_verbose,exec,cpu\n" + b"text\n" * 200) * 1000
    arguments = [sys.executable, "-m", "tflogscope", command, "-"]
    process = subprocess.Popen(
        arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError):
        for written in itertools.count():
            process.stdin.write(text)
            if written == 20:
                process.send_signal(signal.SIGINT)
            assert written < 2000, "it goes on and on"
    with contextlib.suppress(BrokenPipeError):
        process.stdin.close()
    process.stdin = None
    out, err = process.communicate()
    assert (process.returncode, out, err) == (130, b"", b"tflogscope: interrupted\n")


def test_too_little_memory_is_said(cli: Run) -> None:
    for short in ("no memory", "no thread"):
        code, out, err = cli("ops", short)
        assert (code, out) == (4, "")
        assert err.startswith("tflogscope: out of memory\n")
        assert "internal error" not in err


@pytest.mark.thorough
def test_an_ascii_terminal_gets_escapes_not_errors() -> None:
    process = spawn(
        "ops", "x", "--format", "table", env={**os.environ, "PYTHONIOENCODING": "ascii"}
    )
    out, err = process.communicate()
    assert (process.returncode, err) == (0, b"")
    assert out.isascii()


# Inputs


def test_without_log_standard_input_is_read_if_it_is_piped(
    cli: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[str, ...]] = []

    def open_with(_: int, *inputs: str, **__: object) -> stub.StubRun:
        seen.append(inputs)
        return stub.StubRun()

    monkeypatch.setattr("tflogscope.cli.inputs.open_with", open_with)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    assert cli("ops")[0] == 0
    assert cli("ops", "a", "-", "b")[0] == 0
    assert seen == [("-",), ("a", "-", "b")]
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    code, _, err = cli("ops")
    assert code == 2
    assert "no log given" in err


# Outputs


def test_analyze(cli: Run) -> None:
    code, out, err = cli("analyze", "--full", "x")
    assert (code, err) == (0, "")
    assert out == "\\x1b[31mred\\x1b[0m\n"


def test_analyze_json(cli: Run) -> None:
    code, out, err = cli("analyze", "x", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["op"] == stub.HOSTILE
    assert harmless(out)


def test_a_pipe_gets_csv(cli: Run) -> None:
    code, out, err = cli("ops", "x")
    assert (code, err) == (0, "")
    assert out.startswith("mode,kind,op,kernel,rewrite,executions,")
    assert out == cli("ops", "x", "-o", "-", "--format", "csv")[1]
    assert out == cli("export", "x", "--table", "ops")[1]


@pytest.mark.parametrize("suffix", ["csv", "json", "jsonl", "parquet", "arrow"])
def test_the_suffix_or_the_option_says_the_format(cli: Run, tmp_path: Path, suffix: str) -> None:
    named, chosen = tmp_path / f"a.{suffix}", tmp_path / "b"
    assert cli("ops", "x", "-o", str(named)) == (0, "", "")
    assert cli("export", "x", "--table", "ops", "-o", str(chosen), "--format", suffix)[0] == 0
    assert named.read_bytes() == chosen.read_bytes()
    assert named.stat().st_size > 100


@pytest.mark.thorough
def test_binary_formats_go_through_a_pipe() -> None:
    out, err = spawn("ops", "x", "--format", "parquet").communicate()
    assert err == b""
    assert pl.read_parquet(out).equals(stub.StubRun().ops)


def test_a_table_fits_a_hundred_columns_and_its_file_has_no_colours(
    cli: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, out, _ = cli("ops", "x", "--format", "table")
    assert max(map(len, out.split("\n"))) <= 100
    assert harmless(out)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[" in cli("ops", "x", "--format", "table")[1]
    target = tmp_path / "ops.txt"
    assert cli("ops", "x", "--format", "table", "-o", str(target))[0] == 0
    assert target.read_text() == out


def test_rows_are_sorted_and_the_first_of_them_shown() -> None:
    log = path_of("keras_fit_mlp__tf2.13.1__vlog2")
    lines = run_command("ops", log, "--sort", "executions", "--top", "3").stdout.split(b"\n")
    counts = [int(line.split(b",")[5]) for line in lines[1:-1]]
    assert counts == run_of("keras_fit_mlp__tf2.13.1__vlog2").ops["executions"].top_k(3).to_list()
    by_name = ("export", log, "--table", "ops", "--sort", "op", "--top", "2", "--format", "table")
    shown = run_command(*by_name).stdout.decode().split("\n")
    assert [row.split()[1] for row in shown[2:4]] == ["AddV2", "AddV2"]
    wrong = run_command("ops", log, "--sort", "p95")
    assert (wrong.returncode, b"Did you mean p95_us?" in wrong.stderr) == (2, True)


@pytest.mark.parametrize("command", [["ops"], ["export", "--table", "ops"]])
def test_an_existing_file_needs_force(cli: Run, tmp_path: Path, command: list[str]) -> None:
    target = tmp_path / "ops.csv"
    target.write_text("old")
    code, _, err = cli(*command, "x", "-o", str(target))
    assert code == 2
    assert "already exists" in err
    assert "--force" in err
    assert target.read_text() == "old"
    assert cli(*command, "x", "-o", str(target), "--force")[0] == 0
    assert target.read_text().startswith("mode,")


def test_the_log_itself_is_never_the_output(cli: Run, tmp_path: Path) -> None:
    log = tmp_path / "run.csv"
    log.write_text("log")
    code, _, err = cli("ops", str(log), "-o", str(tmp_path / "." / "run.csv"), "--force")
    assert code == 2
    assert "the log itself" in err
    assert log.read_text() == "log"


@pytest.mark.parametrize("command", ["ops", "report", "check", "trace"])
def test_a_log_in_a_directory_is_never_the_output(tmp_path: Path, command: str) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    log = logs / "run.json"
    log.write_bytes(LOG.read_bytes())
    os.link(log, tmp_path / "another.json")
    for name in (log, tmp_path / "another.json"):
        assert main([command, str(logs), "-o", str(name), "--force"]) == 2
        assert log.read_bytes() == LOG.read_bytes()


def test_what_standard_input_reads_is_never_the_output(tmp_path: Path) -> None:
    log = tmp_path / "run.csv"
    log.write_bytes(LOG.read_bytes())
    command = f"{sys.executable} -m tflogscope ops - -o {log} --force < {log}"
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, check=False)
    assert (done.returncode, log.read_bytes()) == (2, LOG.read_bytes())


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="FIFOs are POSIX's")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["diff", "PIPE", "PIPE"], "a pipe can only be read once"),
        (["diff", "-", "-"], "a pipe can only be read once"),
        (["collect", "-", "-o", "STORE"], "-: collect reads files, not a pipe"),
        (["collect", "PIPE", "-o", "STORE"], "collect reads files, not a pipe"),
    ],
)
def test_a_pipe_that_had_to_be_read_twice_is_refused(
    cli: Run, tmp_path: Path, arguments: list[str], said: str
) -> None:
    """No one writes into the pipe: whatever opens it waits."""
    os.mkfifo(tmp_path / "PIPE")
    named = [str(tmp_path / each) if each.isupper() else each for each in arguments]
    code, out, err = cli(*named)
    assert (code, out) == (2, "")
    assert said in err


def test_outputs_are_refused_before_logs_are_read(cli: Run, tmp_path: Path) -> None:
    assert cli("ops", "crash", "-o", str(tmp_path))[0] == 2
    assert cli("ops", "crash", "-o", str(tmp_path / "x.y"))[0] == 2


def test_nothing_is_written_when_reading_fails(cli: Run, tmp_path: Path) -> None:
    assert cli("ops", "missing", "-o", str(tmp_path / "x.csv"))[0] == 3
    assert list(tmp_path.iterdir()) == []


# A terminal


def on_a_terminal(*arguments: str, **environment: str) -> tuple[int, str]:
    """Run with a terminal as standard output and standard error."""
    ours, theirs = pty.openpty()
    clean = {k: v for k, v in os.environ.items() if k not in {"NO_COLOR", "FORCE_COLOR", "COLUMNS"}}
    process = spawn(
        *arguments, stdout=theirs, stderr=theirs, env={**clean, "TERM": "xterm", **environment}
    )
    os.close(theirs)
    data = b""
    try:
        while block := os.read(ours, 65536):
            data += block
    except OSError:  # Linux says so when the other side is closed
        pass
    os.close(ours)
    return process.wait(), data.decode()


@pytest.mark.thorough
def test_a_terminal_gets_a_table_in_colour() -> None:
    code, out = on_a_terminal("ops", "x")
    assert code == 0
    assert "────" in out
    assert "\x1b[1m" in out
    code, plain = on_a_terminal("ops", "x", NO_COLOR="1")
    assert code == 0
    assert harmless(plain.replace("\r\n", "\n"))
    assert plain == on_a_terminal("ops", "x", TERM="dumb")[1]


@pytest.mark.thorough
def test_binary_formats_are_not_for_a_terminal() -> None:
    code, out = on_a_terminal("ops", "x", "--format", "parquet")
    assert code == 2
    assert "-o FILE" in out


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("export --table ti", [b"time", b"timeline"]),
        ("simulate --dialect 2.2", [b"2.20", b"2.21"]),
        ("ops --format js", [b"json", b"jsonl"]),
    ],
)
def test_completion_knows_the_values(words: str, wanted: list[bytes]) -> None:
    environment = {
        **os.environ,
        "_TFLOGSCOPE_COMPLETE": "complete_bash",
        "COMP_WORDS": f"tflogscope {words}",
        "COMP_CWORD": "3",
    }
    out, _ = spawn(env=environment).communicate()
    assert sorted(out.split()) == wanted


def test_help_is_as_wide_as_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    widths = []
    for columns in ("60", "150"):
        monkeypatch.setenv("COLUMNS", columns)
        help_ = run_command("analyze", "--help").stdout.decode()
        widths.append(max(map(len, help_.splitlines())))
    assert 50 < widths[0] < 80 < widths[1] <= 150
