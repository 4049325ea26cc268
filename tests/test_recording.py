"""`tflogscope record`: made-up programs that write what TensorFlow and oneDNN write."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.command import Ended, run_command
from tests.deep import first_quick
from tests.makelog import CPU, MATMUL
from tests.samples import raw_log, unpacked
from tests.waiting import PATIENCE_S, has_ended, wait_until
from tflogscope import open_log
from tflogscope.cli.main import main
from tflogscope.errors import NothingRecognised
from tflogscope.model.common.origin import has_end
from tflogscope.model.common.recorded import is_busy
from tflogscope.recording.header import MARK, footer_line
from tflogscope.recording.pass_on import PassOn
from tflogscope.recording.settings import MODULES, settings
from tflogscope.recording.usage import Usage
from tflogscope.views.analyze import first_screen
from tflogscope.views.terminal import drawn

RECORD = "2026-11-21 04:09:48.123456: I tensorflow/core/common_runtime/executor.cc:841] "
NODE = f"{RECORD}Process node: 1 step 5 {MATMUL.definition()} device: {CPU}\n"
WARNING = "2026-11-21 04:09:48.123456: W tensorflow/core/a.cc:1] careful\n"
VERBOSE = "onednn_verbose,exec,cpu,matmul,x,undef,src_f32::blocked:ab:f0,,,1x1:1x1,0.1\n"
DUMP = (
    "2026-11-21 04:09:48.123456: I tensorflow/core/common_runtime/eager/execute.cc:1] signature {\n"
    '  name: "__wrapped__Mul"\n  attr {\n    name: "T"\n  }\n  is_stateful: true\n}\n'
    'node_def {\n  op: "Mul"\n}\n\n'
)


def record(
    tmp_path: Path, program: str, *options: str, name: str = "run.log"
) -> tuple[Ended, Path]:
    """Record a Python program; its log is `name`."""
    log = tmp_path / name
    recorded = ["--", sys.executable, "-c", program]
    return run_command("record", *options, "-o", log, *recorded), log


def test_the_programs_own_output_goes_on_and_the_log_does_not(tmp_path: Path) -> None:
    text = f"hello\n{NODE}{VERBOSE}world\n{WARNING}{DUMP}loss: 0.5\n"
    done, log = record(tmp_path, f"import sys; sys.stdout.write({text!r})")
    assert done.stdout.decode() == "hello\nworld\nloss: 0.5\n"
    assert done.stderr.decode().startswith(WARNING)
    kept = log.read_text().splitlines(keepends=True)
    assert kept[0].startswith(MARK)
    assert "".join(kept[1:-1]) == text
    assert json.loads(kept[-1].removeprefix(MARK))["status"] == 0
    run = open_log(log)
    assert run.timeline["op"].to_list() == ["MatMul"]
    assert f"recorded {run.coverage['lines'][0]} lines to " in done.stderr.decode()


def test_a_crash_in_native_code_says_which_line_of_python_led_there(tmp_path: Path) -> None:
    done, log = record(tmp_path, "import os\ndef crash(): os.abort()\ncrash()")
    assert done.returncode == 128 + signal.SIGABRT
    assert "Fatal Python error: Aborted" in log.read_text()
    assert 'File "<string>", line 2 in crash' in log.read_text()


def test_what_python_writes_to_standard_error_goes_there(tmp_path: Path) -> None:
    program = (
        "import os, subprocess, sys\n"
        "print('a warning', file=sys.stderr)\n"
        f"sys.stderr.write({NODE!r})\n"
        "print('a result', flush=True)\n"
        "subprocess.run([sys.executable, '-c', 'raise ValueError(7)'])\n"
        "assert sys.stderr.fileno() == 2\n"
        "os.dup2(os.open(os.devnull, os.O_WRONLY), 2)\n"
        "print('not for anybody', file=sys.stderr)"
    )
    done, log = record(tmp_path, program)
    assert done.stdout == b"a result\n"
    errors = done.stderr.decode()
    assert errors.startswith("a warning\n")
    assert "\nValueError: 7\n" in errors
    text = log.read_text()
    assert NODE not in errors
    assert NODE in text
    assert "a warning\n" in text
    assert "\nValueError: 7\n" in text
    assert "not for anybody" not in errors + text


def test_lines_of_both_channels_stay_whole(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "for number in range(2000):\n"
        "    print(number, 'x' * 50, flush=number % 7 == 0)\n"
        "    print(number, 'y' * 50, file=sys.stderr)"
    )
    done, log = record(tmp_path, program)
    lines = [line for line in log.read_text().splitlines() if line[-1:] in {"x", "y"}]
    for letter, stream in (("x", done.stdout), ("y", done.stderr)):
        whole = [f"{number} {letter * 50}" for number in range(2000)]
        assert [line for line in lines if line.endswith(letter)] == whole
        assert stream.decode().splitlines()[:2000] == whole


def test_both_streams_in_the_order_of_writing(tmp_path: Path) -> None:
    program = (
        "import os\nfor number in range(300): os.write(1 + number % 2, b'line %d\\n' % number)"
    )
    done, log = record(tmp_path, program)
    expected = "".join(f"line {number}\n" for number in range(300))
    assert "".join(log.read_text().splitlines(keepends=True)[1:-1]) == expected
    assert done.stdout.decode() == expected


@pytest.mark.parametrize(
    "name", first_quick((name,) for name in ("run.log.zst", "run.log.gz", "run.log"))
)
def test_the_suffix_says_how_the_log_is_packed(tmp_path: Path, name: str) -> None:
    done, log = record(tmp_path, f"print({NODE!r} * 1000)", name=name)
    assert done.returncode == 0
    assert open_log(log).coverage["recognised"].sum() == 1000


@pytest.mark.parametrize(
    ("program", "status"),
    first_quick(
        [("raise SystemExit(7)", 7), ("import os; os.kill(os.getpid(), 9)", 137), ("1 / 0", 1)]
    ),
)
def test_the_exit_status_is_the_programs(tmp_path: Path, program: str, status: int) -> None:
    done, _ = record(tmp_path, program)
    assert done.returncode == status


def test_an_existing_log_needs_force(tmp_path: Path) -> None:
    (tmp_path / "run.log").write_text("mine")
    done, log = record(tmp_path, "print(1)")
    assert (done.returncode, log.read_text()) == (2, "mine")
    assert record(tmp_path, "print(1)", "--force")[0].returncode == 0


def test_a_log_that_can_not_be_made_is_said_with_what_to_do(tmp_path: Path) -> None:
    done, _ = record(tmp_path, "print(1)", name="no/run.log")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"can't write: No such file or directory\nCreate its directory first." in done.stderr


def test_what_can_not_be_started_is_said(tmp_path: Path) -> None:
    command = ["record", "-o", str(tmp_path / "x.log"), "--"]
    done = run_command(*command, "no-such-program")
    assert done.returncode == 2
    assert b"no-such-program: can't be started: No such file or directory" in done.stderr
    done = run_command(*command[:-1])
    assert done.returncode == 2
    assert b"no program given" in done.stderr


def test_what_can_not_be_started_destroys_no_recording(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    assert run_command("record", "-o", log, "--", "/no/such/program").returncode == 2
    assert not log.exists()
    log.write_text("an hour's recording")
    run_command("record", "-o", log, "--force", "--", "/no/such/program")
    assert log.read_text() == "an hour's recording"


def test_a_full_disk_ends_the_recording_and_not_the_program(tmp_path: Path) -> None:
    program = f"print({NODE!r} * 2000, end=''); print('trained'); raise SystemExit(7)"
    log = tmp_path / "run.log"
    command = [sys.executable, "-m", "tflogscope", "record", "-o", str(log), "--"]
    limit = 'export PYTHONDONTWRITEBYTECODE=1; ulimit -f 100; exec "$@"'
    limited = ["bash", "-c", limit, "bash", *command]
    done = subprocess.run(
        [*limited, sys.executable, "-c", program], capture_output=True, check=False
    )
    assert (done.returncode, done.stdout) == (7, b"trained\n")
    assert done.stderr.decode() == (
        f"tflogscope: {log}: can't write: File too large. The program continued; its log ends "
        "after 102.4 kB.\n"
    )
    assert open_log(log).timeline.height > 100


@pytest.mark.thorough
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has /dev/full")
@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
def test_a_disk_that_is_full_from_the_beginning_lets_the_program_run(
    tmp_path: Path, suffix: str
) -> None:
    (tmp_path / f"run.log{suffix}").symlink_to("/dev/full")
    done, _ = record(tmp_path, "print('trained')", "--force", name=f"run.log{suffix}")
    assert (done.returncode, done.stdout) == (0, b"trained\n")
    assert b"No space left on device. The program continued" in done.stderr
    assert done.stderr.count(b"\n") == 1


@pytest.mark.thorough
def test_a_full_disk_on_standard_output_ends_no_recording(tmp_path: Path) -> None:
    log, output = tmp_path / "run.log", tmp_path / "output"
    command = [sys.executable, "-m", "tflogscope", "record", "-o", str(log), "--"]
    limited = f'{shlex.join(command)} {sys.executable} -c "print(1)" > /dev/full'
    done = subprocess.run(["bash", "-c", limited], stderr=subprocess.PIPE, check=False)
    assert done.returncode == 0, output
    assert b"The log has the program's output." in done.stderr
    assert log.read_text().splitlines()[-2] == "1"


def test_the_header_says_what_was_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TF_ENABLE_ONEDNN_OPTS", "1")
    monkeypatch.setenv("SECRET_TOKEN", "x")
    secrets = ["TF_VAR_db", "TF_TOKEN_app_terraform_io", "TF_HTTP_PASSWORD", "KERAS_API_KEY"]
    for name in secrets:  # Terraform's variables begin as TensorFlow's do
        monkeypatch.setenv(name, "x")
    _, log = record(tmp_path, "print('\\x1b[31m')")
    facts = json.loads(log.read_text().splitlines()[0].removeprefix(MARK))
    assert facts["command"][0] == sys.executable
    assert facts["versions"]["python"].startswith("3.")
    assert facts["environment"]["TF_ENABLE_ONEDNN_OPTS"] == "1"
    assert facts["environment"]["TF_CPP_VMODULE"] == settings(None)["TF_CPP_VMODULE"]
    assert not {"SECRET_TOKEN", *secrets} & set(facts["environment"])


def test_the_program_does_not_inherit_how_the_libraries_of_record_are_set(tmp_path: Path) -> None:
    names = ("OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS", "POLARS_ENGINE_AFFINITY")
    own = {name: value for name, value in os.environ.items() if name not in names}
    own["POLARS_MAX_THREADS"] = "3"  # the user's
    asks = f"import os; print([os.environ.get(name) for name in {names}])"
    program = [sys.executable, "-c", asks]
    command = [sys.executable, "-m", "tflogscope", "record", "-o", str(tmp_path / "log"), "--"]
    done = subprocess.run([*command, *program], env=own, capture_output=True, check=True)
    assert done.stdout.decode() == "[None, '3', None]\n"


def test_exact_timestamps_are_asked_for_where_onednn_has_them() -> None:
    assert "ONEDNN_VERBOSE_TIMESTAMP" not in settings("2.13.1")
    assert "ONEDNN_VERBOSE_TIMESTAMP" not in settings(None)
    assert settings("2.20.0")["ONEDNN_VERBOSE_TIMESTAMP"] == "1"


# It sleeps again and again: a signal that comes just before a sleep begins is seen after it.
SLEEPS = "while True: time.sleep(0.05)"
WAITS = (
    f"import sys, time; sys.stdout.write({NODE!r})\n"
    "try:\n"
    "    print('ready', flush=True)\n"
    f"    {SLEEPS}\n"
    "except KeyboardInterrupt: print('interrupted'); raise SystemExit(5)"
)


def _waiting(tmp_path: Path, program: str = WAITS) -> tuple[subprocess.Popen[bytes], Path]:
    log = tmp_path / "run.log.zst"
    command = [sys.executable, "-m", "tflogscope", "record", "-o", str(log), "--"]
    process = subprocess.Popen(
        [*command, sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    return process, log


@pytest.mark.thorough
def test_an_interrupt_is_the_programs_to_obey(tmp_path: Path) -> None:
    process, log = _waiting(tmp_path)
    os.killpg(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, out) == (5, b"interrupted\n")
    assert open_log(log).timeline.height == 1


@pytest.mark.thorough
def test_a_termination_is_handed_on(tmp_path: Path) -> None:
    process, log = _waiting(tmp_path)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 128 + signal.SIGTERM
    assert open_log(log).timeline.height == 1


@pytest.mark.thorough
@pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name
)
def test_a_signal_that_only_record_gets_reaches_all_that_it_runs(
    tmp_path: Path, number: signal.Signals
) -> None:
    child = f"import os, time; print(os.getpid(), flush=True)\n{SLEEPS}"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    process, _ = _waiting(tmp_path, f"print('ready', flush=True); {parent}")
    assert process.stdout is not None
    started = int(process.stdout.readline())
    process.send_signal(number)
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, b"still running" in errors) == (128 + number, False)
    wait_until(lambda: has_ended(started))


@pytest.mark.thorough
def test_what_the_program_leaves_running_does_not_keep_record(tmp_path: Path) -> None:
    # The shell ignores it before it leaves anything running, or the signal may come first. It never
    # rests: on a busy machine nothing might come in the moment in which record looks.
    forever = "trap '' HUP; (while echo x; do :; done) & echo ready"
    done, log = record(tmp_path, f"import os; os.system({forever!r})")
    assert done.returncode == 0
    assert b"processes that the program started are still running" in done.stderr
    assert b"ready\n" in log.read_bytes()


@pytest.mark.thorough
def test_a_second_signal_ends_record_whatever_the_program_does(tmp_path: Path) -> None:
    ignoring = (
        "import os, signal, time\n"
        "for number in (2, 15): signal.signal(number, signal.SIG_IGN)\n"
        "print('ready', flush=True); print(os.getpid(), flush=True); time.sleep(600)"
    )
    process, log = _waiting(tmp_path, ignoring)
    assert process.stdout is not None
    program = int(process.stdout.readline())
    try:
        process.send_signal(signal.SIGTERM)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=1)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE_S)
    finally:
        os.kill(program, signal.SIGKILL)
    assert process.returncode == 128 + signal.SIGINT
    assert b"still running" in errors
    assert b"ready" in unpacked(log)


@pytest.mark.thorough
def test_a_recording_that_was_killed_can_be_read(tmp_path: Path) -> None:
    process, log = _waiting(tmp_path)
    wait_until(lambda: log.stat().st_size >= 500)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=PATIENCE_S)
    assert open_log(log).timeline.height == 1


def test_a_recording_without_its_end_is_said(tmp_path: Path) -> None:
    _, log = record(tmp_path, f"print({NODE!r} * 9)")
    assert open_log(log).check().notes == ()
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(lines[:-1]))
    run = open_log(log)
    cut = (
        "The recording is incomplete: the program is still running, tflogscope record was "
        "killed, or the disk filled up."
    )
    assert cut in " ".join(drawn(first_screen(run)).split())
    (note,) = run.check().notes
    assert note.startswith(f"Only the readable part was checked. {cut}")


@pytest.mark.parametrize("release", ["0.2.9", "", "x.y.z", "99999999.1.1", "1", None, 3, {}])
def test_a_header_that_names_no_new_release_promises_no_end(release: object) -> None:
    assert has_end({"versions": {"tflogscope": release}}, [b"no end"])
    assert has_end({"versions": release}, [b"no end"])
    for known in ("0.3.0", "0.12.1rc1", "1.0.0"):
        assert not has_end({"versions": {"tflogscope": known}}, [b"no end"])


def test_a_prompt_is_shown_before_its_line_ends() -> None:
    shown: list[bytes] = []
    pass_on = PassOn(shown.append, shown.append)
    pass_on.feed(b"2026 is a number, continue? ")
    assert shown == []
    pass_on.idle()
    pass_on.feed(b"yes\nProgress 1\rProgress 2\r")
    assert b"".join(shown) == b"2026 is a number, continue? yes\nProgress 1\rProgress 2\r"


@pytest.mark.parametrize(
    ("line", "before", "shown"),
    [
        (b"\n", b"", 100_000),
        (b"a\n", b"", 200_000),
        (b" \n", (NODE + "\n").encode(), 0),  # after a line of log: it may be the end of it
        (b"onednn_verbose,\n", b"", 0),
    ],
    ids=["empty", "short", "blank", "onednn"],
)
def test_lines_alike_are_passed_on_together(line: bytes, before: bytes, shown: int) -> None:
    """What is done takes as long as the bytes do, and not as long as there are lines."""
    output = bytearray()
    pass_on = PassOn(output.extend, output.extend)
    done = 0

    def count(_frame: object, _event: str, _argument: object) -> None:
        nonlocal done
        done += 1

    sys.setprofile(count)
    try:
        pass_on.feed(before + 100_000 * line)
    finally:
        sys.setprofile(None)
    pass_on.idle()
    assert len(output) == shown
    assert done < 1000


def test_a_traceback_behind_an_empty_line_is_the_programs() -> None:
    status = b"2026-11-21 03:56:54.527949: W core/op.cc:9] INVALID_ARGUMENT: ValueError: no\n"
    traceback = b"Traceback (most recent call last):\n"
    for between, shown in ((b"", b""), (b"\n", traceback)):
        output, errors = bytearray(), bytearray()
        PassOn(output.extend, errors.extend).feed(status + between + traceback)
        assert output == shown
        assert errors == status + (between if shown else traceback)


@pytest.mark.parametrize("release", ["2.13.1", "2.22.0rc0"])
@pytest.mark.parametrize("step", [777, 1 << 20])
def test_of_statuses_of_python_code_only_warnings_are_shown(release: str, step: int) -> None:
    """Messages of two lines, an empty one in between, causes: `raised.py` prints the first line."""
    log = raw_log(f"raised__tf{release}__record")
    log = log[log.index(b"\n") + 1 : log.rindex(b"# tflogscope record")]
    output, errors = bytearray(), bytearray()
    pass_on = PassOn(output.extend, errors.extend)
    for start in range(0, len(log), step):
        pass_on.feed(log[start : start + step])
    printed = ["begins", *["caught InvalidArgumentError"] * 2, "caught UnknownError"]
    assert output.decode().split("\n") == [*printed, "in two lines", "ends", ""]
    begins = [line for line in errors.split(b"\n") if line.startswith((b"20", b"W0000", b"E0000"))]
    assert begins
    assert not [line for line in begins if b": I " in line or b"executor.cc" in line[:99]]
    assert errors.count(b"RuntimeError: second") >= 2  # the status of the warning, with its end


def test_a_message_of_several_lines_belongs_to_its_status() -> None:
    """What check_numerics was given as its message has two lines; the program prints one, too."""
    info = b"I0000 00:00:1795693475.396484   29681 executor.cc:1283] aborting: "
    status = info + b"INVALID_ARGUMENT: not\n"
    ended = b"finite : Tensor had Inf values\n\t [[{{node CheckNumerics}}]]\n\t [[ReduceDataset]]\n"
    for text, shown in (
        (status + ended + info + b"\n", b""),
        (status + ended + b"caught\n", b"caught\n"),
        (status + b"caught\n" + info + b"\n", b"caught\n"),
        (info + b"\n" + b"caught\n\t [[mine]]\n", b"caught\n\t [[mine]]\n"),
    ):
        output = bytearray()
        pass_on = PassOn(output.extend, output.extend)
        pass_on.feed(text)
        pass_on.idle()
        assert output == shown, text


def test_a_line_of_any_length_is_passed_on_as_it_comes() -> None:
    for beginning, passes in ((b"2026 ", True), (NODE[:60].encode(), False)):
        shown: list[bytes] = []
        pass_on = PassOn(shown.append, shown.append)
        pass_on.feed(beginning)
        for _ in range(200):
            pass_on.feed(b"x" * 100)
        assert len(b"".join(shown)) == (20_005 if passes else 0)
        held = [value for value in vars(pass_on).values() if isinstance(value, bytes)]
        assert sum(map(len, held)) < 1000


STATUS = (  # two lines of TensorFlow 2.13's, written where the executor has VLOG level 1
    "2026-11-22 12:02:35.434808: W   22506 tensorflow/core/common_runtime/executor.cc:1059] 0x5648"
    "7abd0a70 Compute status: INVALID_ARGUMENT: You must feed a value for placeholder tensor\n"
    "2026-11-22 12:02:35.434853: W   22506 tensorflow/core/common_runtime/simple_propagator_state."
    "cc:126]     Input 0: Tensor<type: float shape: [0], bytes: 0>\n"
)


@pytest.mark.parametrize(("least", "shown"), [(0, WARNING), (1, WARNING), (2, "")])
def test_warnings_that_only_a_recording_causes_are_not_shown(least: int, shown: str) -> None:
    errors: list[bytes] = []
    pass_on = PassOn(errors.append, errors.append, least=least)
    pass_on.feed(f"{STATUS}{WARNING}".encode())
    assert b"".join(errors).decode() == shown


def test_the_users_own_least_severity_is_obeyed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "2")
    done, log = record(tmp_path, f"print({WARNING!r})")
    assert WARNING not in done.stderr.decode()
    assert WARNING in log.read_text()


KEPT_BACK = "TensorFlow wrote no record"


@pytest.mark.thorough
def test_a_program_that_keeps_its_records_back_is_said_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done, log = record(tmp_path, f"print({VERBOSE!r}, end='')")
    assert done.stderr.decode().startswith("tflogscope: recorded 3 lines to ")
    assert KEPT_BACK in done.stderr.decode()
    assert "TF_CPP_MIN_LOG_LEVEL" in done.stderr.decode()
    assert main(["analyze", str(log)]) == 0
    screen = " ".join(capsys.readouterr().out.split())
    assert f"{KEPT_BACK}s, so it is unknown which ops ran." in screen
    assert "TF_CPP_MIN_LOG_LEVEL" in screen
    done, log = record(tmp_path, "print('trained')", "--force")
    with pytest.raises(NothingRecognised, match="TF_CPP_MIN_LOG_LEVEL"):
        open_log(log)
    done, _ = record(tmp_path, f"print({NODE!r}, end='')", "--force")
    assert KEPT_BACK not in done.stderr.decode()


@pytest.mark.thorough
def test_analyze_shows_which_tensorflow_was_recorded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "run.log"
    for header, shown in (
        (
            '{"versions":{"python":"3.11.7","tensorflow":"2.13.1"}}',
            "TensorFlow 2.13.1 · log format classic",
        ),
        ('{"versions":{"tensorflow":["x"]}}', "TensorFlow · log format classic"),
        ('{"versions":[]}', "TensorFlow · log format classic"),
    ):
        log.write_text(f"{MARK}{header}\n{NODE}")
        assert main(["analyze", "--full", str(log)]) == 0
        assert shown in capsys.readouterr().out


@pytest.mark.parametrize("begun", ["tf", "tflogscope comp", "2026-11-2", "I0000 00:0"])
@pytest.mark.parametrize("before", ["", "a prompt "])
def test_a_record_may_come_in_two_pieces(before: str, begun: str) -> None:
    """A program that waits for a processor while it writes one."""
    output: list[bytes] = []
    pass_on = PassOn(output.append, lambda _: None)
    pass_on.feed(f"{before}{begun}".encode())
    pass_on.idle(surely=False)
    assert b"".join(output).decode() == before
    pass_on.idle()
    assert b"".join(output).decode() == before + begun


@pytest.mark.parametrize("size", [1, 7, 64])
def test_pieces_of_any_size_are_sorted_alike(size: int) -> None:
    text = (NODE + "a\n" + DUMP + VERBOSE + "b\n" + WARNING).encode()
    output: list[bytes] = []
    errors: list[bytes] = []
    pass_on = PassOn(output.append, errors.append)
    for start in range(0, len(text), size):
        pass_on.feed(text[start : start + size])
    pass_on.idle()
    assert (b"".join(output), b"".join(errors)) == (b"a\nb\n", WARNING.encode())


@pytest.mark.parametrize(
    "second",
    [
        "To enable the following instructions: AVX2 FMA, rebuild TensorFlow.\n",
        "\t [[{{node CheckNumerics}}]]\n",
    ],
)
def test_the_second_line_of_a_record_is_no_output_of_the_program(second: str) -> None:
    output: list[bytes] = []
    errors: list[bytes] = []
    pass_on = PassOn(output.append, errors.append)
    pass_on.feed(f"{NODE}{second}{second}a\n".encode())
    assert (b"".join(output), errors) == (b"a\n", [])
    pass_on.feed(second.encode())  # not behind a record: the program's own
    assert b"".join(output) == f"a\n{second}".encode()


def test_a_function_that_begins_in_the_next_line_is_no_output_of_the_program() -> None:
    record = "I0000 00:00:1795394356.096260    7452 execute.cc:986] goo.gle/debugstr   \n"
    function = (
        'signature {\n  name: "f"\n  attr {\n    name: "T"\n  }\n}\nnode_def {\n  op: "Mul"\n}\n\n'
    )
    output: list[bytes] = []
    PassOn(output.append, output.append).feed(f"{record}{function}a\n".encode())
    assert output == [b"a\n"]


def test_what_absl_warns_of_goes_to_standard_error() -> None:
    text = (
        b"WARNING: All log messages before absl::InitializeLog() is called are written to STDERR\n"
    )
    output: list[bytes] = []
    errors: list[bytes] = []
    PassOn(output.append, errors.append).feed(text + b"a\n")
    assert (output, errors) == ([b"a\n"], [text])


def test_the_docs_name_what_is_set() -> None:
    text = (Path(__file__).parent.parent / "docs" / "commands.md").read_text()
    for name, module in MODULES.items():
        assert f"| `{name}` | {module['level']} | {module['shows']} |" in text


LINES_OF_ALL = [
    b"\n",
    b"1\n",
    b"of the program\n",
    b"onednn_verbose,exec\n",
    b"2026-11-21 03:57:31.425431: I tensorflow/core/x.cc:1] text {\n",
    b"2026-11-21 03:57:31.425431: W tensorflow/core/x.cc:1] text\n",
    b"WARNING: All log messages before absl::InitializeLog() is called are written\n",
    b"WARNING: other\n",
    b"  name: 7\n",
    b"}\n",
    b"tflogscope op 1\n",
    b"To enable the following instructions: AVX2\n",
]


@given(st.lists(st.sampled_from(LINES_OF_ALL), max_size=12), st.integers(1, 40))
def test_lines_that_come_together_go_where_they_go_alone(lines: list[bytes], size: int) -> None:
    """Whole lines of output are passed on at once; in pieces each line is looked at."""
    text, found = b"".join(lines), []
    for step in (len(text) or 1, size):
        output: list[bytes] = []
        errors: list[bytes] = []
        sorter = PassOn(output.append, errors.append)
        for at in range(0, len(text), step):
            sorter.feed(text[at : at + step])
        found.append((b"".join(output), b"".join(errors)))
    assert found[0] == found[1]


SOURCE_PLACES = (  # TensorFlow 2.22.0rc0: a status that says where it comes from
    "I0000 00:00:1795469481.812300   16470 executor.cc:1156] 0x1 Compute status: INVALID_ARGUMENT: "
    "indices = 7 is not in [0, 3)\n"
    "=== Source Location Trace: ===\n"
    "tensorflow/core/kernels/gather_op.cc:198\n"
    "tensorflow/core/common_runtime/executor.cc:1156\n\n"
)
PYTHON_FAILED = (  # the status of Python code that failed has a traceback
    "2026-11-23 21:31:28.943280: {} 16626 tensorflow/core/framework/op_kernel.cc:1842] "
    "INVALID_ARGUMENT: ValueError: gen\nTraceback (most recent call last):\n\n"
    '  File "a.py", line 269, in gen\n    raise ValueError("gen")\n\nValueError: gen\n\n\n'
)
OWN_TRACEBACK = (
    'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\nValueError\n'
)


@pytest.mark.parametrize(
    ("text", "output", "errors"),
    [
        (SOURCE_PLACES + "gather_op.cc\n", "gather_op.cc\n", ""),
        ("tensorflow/a.cc:1\n", "tensorflow/a.cc:1\n", ""),  # no record before it
        (PYTHON_FAILED.format("I") + "done\n", "done\n", ""),
        (
            PYTHON_FAILED.format("I").replace("\nValueError: gen", "\nStopIteration")
            + SOURCE_PLACES,
            "",
            "",
        ),
        (PYTHON_FAILED.format("W"), "", PYTHON_FAILED.format("W")),
        (NODE + OWN_TRACEBACK, OWN_TRACEBACK, ""),
        ("caught tflogscope op 7\n", "caught tflogscope op 7\n", ""),
        ("at I0926 01:02:03.123456 of\n", "at I0926 01:02:03.123456 of\n", ""),
        ('tflogscope trace 7.1 1 __inference_f_9 [["a.py",1],[]]\n', "", ""),
        # A line of oneDNN came between the prefix of a record and its message.
        (NODE.replace("] ", f"] {VERBOSE}", 1) + "mine\n", "mine\n", ""),
    ],
)
@pytest.mark.parametrize("size", [1, 50, 10_000])
def test_what_goes_on_from_a_record_is_not_shown(
    text: str, output: str, errors: str, size: int
) -> None:
    shown: dict[str, list[bytes]] = {"output": [], "errors": []}
    pass_on = PassOn(shown["output"].append, shown["errors"].append)
    for start in range(0, len(text), size):
        pass_on.feed(text[start : start + size].encode())
    found = {name: b"".join(each).decode() for name, each in shown.items()}
    assert found == {"output": output, "errors": errors}


@pytest.mark.parametrize("size", [1, 7, 30, 1000])
def test_a_record_in_the_middle_of_a_line_is_cut_out(size: int) -> None:
    """Also where its beginning comes in pieces. What the program wrote is passed on, no more."""
    shown: list[bytes] = []
    pass_on = PassOn(shown.append, shown.append)
    seconds = "I0000 00:00:1795666492.559101   21483 executor.cc:916] Process node: 3"  # 2.16 on
    text = f"caught{NODE}\n1{NODE}\nepoch 20tflogscope op 5 f.py:3\ndone\n"
    text += f"later {seconds}\n24 {seconds}\nof tflogscope node 20311.8 20311.7 x\n3 ms{seconds}\n"
    for start in range(0, len(text), size):
        pass_on.feed(text.encode()[start : start + size])
    assert b"".join(shown) == b"caught\n1\nepoch 20done\nlater 24 of 3 ms"


@pytest.mark.parametrize("waits", [True, False])
def test_a_line_goes_on_behind_records(*, waits: bool) -> None:
    """Dots of a test runner, the prompt of a debugger: ops run before their lines end."""
    shown: list[bytes] = []
    pass_on = PassOn(shown.append, shown.append)
    for dot in (b".", b".", b"F", b"."):
        pass_on.feed(dot)
        if waits:
            pass_on.idle()
        pass_on.feed(NODE.encode() + VERBOSE.encode() + DUMP.encode())
    pass_on.feed(b" [100%]\n\nloss" + NODE.encode() + b"\n" + NODE.encode() + b"1 failed\n")
    assert b"".join(shown) == b"..F. [100%]\n\nloss\n1 failed\n"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no numbers of descriptors")
def test_the_program_has_the_descriptors_that_record_was_given(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.write(writer, b"data")
    os.close(writer)
    program = f"import os; print(os.read({reader}, 9), sorted(os.listdir('/proc/self/fd')))"
    alone = [sys.executable, "-c", program]
    command = [sys.executable, "-m", "tflogscope", "record"]
    command += ["-o", str(tmp_path / "run.log"), "--"]
    done = subprocess.run(
        [*command, *alone], pass_fds=[reader], capture_output=True, check=False, timeout=PATIENCE_S
    )
    os.close(reader)
    listing = sorted({"0", "1", "2", str(reader), "3" if reader != 3 else "4"})
    assert done.stdout.decode() == f"b'data' {listing}\n"


def test_what_might_begin_a_record_is_shown_if_no_more_comes() -> None:
    shown: list[bytes] = []
    pass_on = PassOn(shown.append, shown.append)
    for piece in (b"loss ", b"20", b"26-"):
        pass_on.feed(piece)
    assert b"".join(shown) == b"loss "
    pass_on.idle()
    assert b"".join(shown) == b"loss 2026-"


@pytest.mark.parametrize("name", ["function_mlp__tf2.21.0__vlog2", "eager_basics__tf2.8.4__vlog2"])
def test_a_log_goes_where_its_lines_go_alone(name: str) -> None:
    raw, found = raw_log(name), []
    for lines in (raw.splitlines(keepends=True), [raw]):
        output: list[bytes] = []
        errors: list[bytes] = []
        sorter = PassOn(output.append, errors.append)
        for line in lines:
            sorter.feed(line)
        found.append((b"".join(output), b"".join(errors), sorter.has_records))
    assert found[0] == found[1]
    assert found[0][2]


def test_the_footer_says_how_much_of_the_machine_others_used(tmp_path: Path) -> None:
    usage = Usage()
    facts = usage.facts()
    if sys.platform != "linux":
        assert not facts
        return
    assert 0 <= facts["others_cpu_share"] <= 1
    assert json.loads(footer_line(0, facts)[len(MARK) :]).keys() >= facts.keys()
    log = tmp_path / "run.log"
    for share, busy in ((0.9, True), (0.1, False)):
        log.write_bytes(
            raw_log("eager_basics__tf2.13.1__vlog2") + footer_line(0, {"others_cpu_share": share})
        )
        run = open_log(log)
        assert is_busy(run.summary.recorded) is busy
        assert ("other processes used 90%" in drawn(first_screen(run))) is busy
        assert bool(run.diff(run)["busy"]) is busy
