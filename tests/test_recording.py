"""`tflogscope record`: made-up programs that write what TensorFlow and oneDNN write."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.makelog import CPU, MATMUL
from tflogscope import open_log
from tflogscope.recording.header import MARK
from tflogscope.recording.pass_on import PassOn
from tflogscope.recording.settings import MODULES, settings

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
) -> tuple[subprocess.CompletedProcess[bytes], Path]:
    """Record a Python program; its log is `name`."""
    log = tmp_path / name
    command = [sys.executable, "-m", "tflogscope", "record", *options, "-o", str(log), "--"]
    done = subprocess.run(
        [*command, sys.executable, "-c", program], capture_output=True, check=False, timeout=60
    )
    return done, log


def test_the_programs_own_output_goes_on_and_the_log_does_not(tmp_path: Path) -> None:
    text = f"hello\n{NODE}{VERBOSE}world\n{WARNING}{DUMP}loss: 0.5\n"
    done, log = record(tmp_path, f"import sys; sys.stdout.write({text!r})")
    assert done.stdout.decode() == "hello\nworld\nloss: 0.5\n"
    assert done.stderr.decode().startswith(WARNING)
    kept = log.read_text().splitlines(keepends=True)
    assert kept[0].startswith(MARK)
    assert "".join(kept[1:]) == text
    assert open_log(log).timeline["op"].to_list() == ["MatMul"]


def test_both_streams_in_the_order_of_writing(tmp_path: Path) -> None:
    program = (
        "import os\nfor number in range(300): os.write(1 + number % 2, b'line %d\\n' % number)"
    )
    done, log = record(tmp_path, program)
    expected = "".join(f"line {number}\n" for number in range(300))
    assert log.read_text().partition("\n")[2] == expected
    assert done.stdout.decode() == expected


@pytest.mark.parametrize("name", ["run.log.zst", "run.log.gz", "run.log"])
def test_the_suffix_says_how_the_log_is_packed(tmp_path: Path, name: str) -> None:
    done, log = record(tmp_path, f"print({NODE!r} * 1000)", name=name)
    assert done.returncode == 0
    assert open_log(log).coverage["recognised"].sum() == 1000


@pytest.mark.parametrize(
    ("program", "status"),
    [("raise SystemExit(7)", 7), ("import os; os.kill(os.getpid(), 9)", 137), ("1 / 0", 1)],
)
def test_the_exit_status_is_the_programs(tmp_path: Path, program: str, status: int) -> None:
    done, _ = record(tmp_path, program)
    assert done.returncode == status


def test_an_existing_log_needs_force(tmp_path: Path) -> None:
    (tmp_path / "run.log").write_text("mine")
    done, log = record(tmp_path, "print(1)")
    assert (done.returncode, log.read_text()) == (2, "mine")
    assert record(tmp_path, "print(1)", "--force")[0].returncode == 0


def test_what_can_not_be_started_is_said(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tflogscope", "record", "-o", str(tmp_path / "x.log"), "--"]
    done = subprocess.run([*command, "no-such-program"], capture_output=True, check=False)
    assert done.returncode == 2
    assert b"no-such-program: can't be started: No such file or directory" in done.stderr
    done = subprocess.run(command[:-1], capture_output=True, check=False)
    assert done.returncode == 2
    assert b"no program is named" in done.stderr


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


def test_exact_timestamps_are_asked_for_where_onednn_has_them() -> None:
    assert "ONEDNN_VERBOSE_TIMESTAMP" not in settings("2.13.1")
    assert "ONEDNN_VERBOSE_TIMESTAMP" not in settings(None)
    assert settings("2.20.0")["ONEDNN_VERBOSE_TIMESTAMP"] == "1"


WAITS = (
    f"import sys, time; sys.stdout.write({NODE!r})\n"
    "try: print('ready', flush=True); time.sleep(60)\n"
    "except KeyboardInterrupt: print('interrupted'); raise SystemExit(5)"
)


def _waiting(tmp_path: Path) -> tuple[subprocess.Popen[bytes], Path]:
    log = tmp_path / "run.log.zst"
    command = [sys.executable, "-m", "tflogscope", "record", "-o", str(log), "--"]
    process = subprocess.Popen(
        [*command, sys.executable, "-c", WAITS],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    return process, log


def test_an_interrupt_is_the_programs_to_obey(tmp_path: Path) -> None:
    process, log = _waiting(tmp_path)
    os.killpg(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=30)
    assert (process.returncode, out) == (5, b"interrupted\n")
    assert open_log(log).timeline.height == 1


def test_a_termination_is_handed_on(tmp_path: Path) -> None:
    process, log = _waiting(tmp_path)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)
    assert process.returncode == 128 + signal.SIGTERM
    assert open_log(log).timeline.height == 1


def test_a_recording_that_was_killed_can_be_read(tmp_path: Path) -> None:
    process, log = _waiting(tmp_path)
    deadline = time.monotonic() + 30
    while log.stat().st_size < 500 and time.monotonic() < deadline:
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=30)
    assert open_log(log).timeline.height == 1


def test_a_prompt_is_shown_before_its_line_ends() -> None:
    shown: list[bytes] = []
    pass_on = PassOn(shown.append, shown.append)
    pass_on.feed(b"2026 is a number, continue? ")
    assert shown == []
    pass_on.idle()
    pass_on.feed(b"yes\nProgress 1\rProgress 2\r")
    assert b"".join(shown) == b"2026 is a number, continue? yes\nProgress 1\rProgress 2\r"


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
    for module in MODULES:
        assert f"| `{module.name}` | {module.level} | {module.tells} |" in text
