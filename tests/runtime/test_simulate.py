"""`tflogscope simulate`: what the program gets, and how it may end."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from tests.command import run_command
from tflogscope import open_log

PROGRAMS = Path(__file__).parent / "programs"


def simulate(*arguments: str) -> tuple[int, str, str]:
    done = run_command("simulate", *arguments)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def program(folder: Path, text: str) -> str:
    path = folder / "program.py"
    path.write_text(text)
    return str(path)


def test_a_program_gets_its_arguments_and_its_folder() -> None:
    code, out, err = simulate(str(PROGRAMS / "arguments.py"), "41")
    assert (code, err) == (0, "")
    assert out == "['41'] __main__ arguments.py beside\n42\n"


def test_options_behind_the_program_are_its_own(tmp_path: Path) -> None:
    path = program(tmp_path, "import sys; print(sys.argv[1:])")
    assert simulate(path, "--help", "-x", "--", "y") == (0, "['--help', '-x', '--', 'y']\n", "")


@pytest.mark.parametrize(
    ("given", "code", "message"), [("3", 3, ""), ("0", 0, ""), ("why", 1, "why\n")]
)
def test_its_exit_status_is_passed_on(given: str, code: int, message: str) -> None:
    found, _, err = simulate(str(PROGRAMS / "arguments.py"), "1", given)
    assert (found, err) == (code, message)


def test_an_exception_is_shown_as_python_shows_it(tmp_path: Path) -> None:
    path = program(tmp_path, "def f():\n    raise ValueError('no')\nf()\n")
    code, out, err = simulate(path)
    assert (code, out) == (1, "")
    assert err.splitlines()[0] == "Traceback (most recent call last):"
    assert err.splitlines()[1] == f'  File "{path}", line 3, in <module>'
    assert err.splitlines()[-1] == "ValueError: no"
    python = subprocess.run([sys.executable, path], capture_output=True, text=True, check=False)
    assert err == python.stderr


def test_a_syntax_error_is_shown_without_our_frames(tmp_path: Path) -> None:
    path = program(tmp_path, "x = = 1\n")
    code, _, err = simulate(path)
    assert code == 1
    assert (
        err
        == subprocess.run(
            [sys.executable, path], capture_output=True, text=True, check=False
        ).stderr
    )


def test_an_error_of_tensorflow_is_the_users() -> None:
    code, _, err = simulate(str(PROGRAMS / "failing.py"))
    assert code == 1
    assert "InvalidArgumentError" in err
    assert "indices[0] = 5 is not in [0, 2)" in err


def test_a_file_that_is_not_there() -> None:
    code, out, err = simulate("nowhere.py")
    assert (code, out) == (3, "")
    assert err.startswith("tflogscope: nowhere.py: can't be read: No such file or directory\n")


def test_each_way_of_importing_it_is_the_runtime(tmp_path: Path) -> None:
    path = program(
        tmp_path,
        "import tensorflow as tf, keras\n"
        "import tensorflow.keras.layers as layers\n"
        "from tensorflow import keras as k\n"
        "from tensorflow.keras import Sequential\n"
        "from tensorflow.keras.layers import Dense\n"
        "print(tf.keras is k is keras, layers.Dense is Dense, Sequential is k.Sequential)\n"
        "print(tf.__version__, __name__, __file__ == __import__('sys').argv[0])\n",
    )
    assert simulate(path) == (0, "True True True\n2.13.1 __main__ True\n", "")


def test_what_is_not_there_is_refused_by_name(tmp_path: Path) -> None:
    path = program(tmp_path, "import tensorflow.lite\n")
    code, _, err = simulate(path)
    assert code == 1
    assert err.splitlines()[-1] == (
        "ModuleNotFoundError: tensorflow.lite is not in tflogscope's reference runtime, which is "
        "small on purpose. To see TensorFlow's own log of the program, record it: tflogscope "
        "record -- python PROGRAM.py"
    )


def test_a_name_that_is_not_there_is_refused_by_name(tmp_path: Path) -> None:
    path = program(tmp_path, "import tensorflow as tf\ntf.image.resize\n")
    code, _, err = simulate(path)
    assert code == 1
    said = err.splitlines()[-1]
    assert "tf.image is not in tflogscope's reference runtime, which is small on purpose" in said
    assert said.endswith("tflogscope record -- python PROGRAM.py")


def test_help_says_what_the_program_may_do_and_whose_the_exit_code_is() -> None:
    code, out, _ = simulate("--help")
    said = " ".join(out.split())
    assert code == 0
    assert "runs with all your permissions: this is not a sandbox" in said
    assert "Its exit status is passed on" in said


def test_help_does_not_wait_for_the_runtime() -> None:
    command = [sys.executable, "-X", "importtime", "-m", "tflogscope", "simulate", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "numpy" not in done.stderr
    assert "PROGRAM.py" in done.stdout


def test_what_is_there_is_not_overwritten_unasked(tmp_path: Path) -> None:
    path = program(tmp_path, "import tensorflow as tf; tf.constant(1) + 1\n")
    kept, log = tmp_path / "kept.log", tmp_path / "run.log"
    kept.write_text("mine")
    log.symlink_to(kept)
    code, _, err = simulate("-o", str(log), path)
    assert (code, kept.read_text()) == (2, "mine")
    assert "already exists" in err
    assert simulate("-o", str(log), "--force", path)[0] == 0
    assert kept.read_text() == "mine"
    assert "Executing op AddV2" in log.read_text()
    code, _, err = simulate("-o", str(path), "--force", path)
    assert (code, Path(path).read_text()[:6]) == (2, "import")
    assert "different files" in err
    code, _, err = simulate("-o", str(log), "--force", "--dialect", "9", path)
    assert code == 2
    assert "Executing op AddV2" in log.read_text()


def test_a_dialect_is_followed_without_a_log_too(tmp_path: Path) -> None:
    path = program(tmp_path, "import tensorflow as tf; print(tf.keras.__version__.split('.')[0])\n")
    assert simulate(path) == (0, "2\n", "")
    assert simulate("--dialect", "2.20", path) == (0, "3\n", "")
    code, out, err = simulate("--dialect", "2.9", path)
    assert (code, out) == (2, "")
    assert "no dialect 2.9" in err


@pytest.mark.parametrize(
    "options", ["--level 1", "--vmodule a=2", "--seed 1", "--threads 3", "--faults torn"]
)
def test_options_of_the_log_need_one(tmp_path: Path, options: str) -> None:
    code, out, err = simulate(*options.split(), program(tmp_path, "print(1)\n"))
    assert (code, out) == (2, "")
    assert "Add -o run.log" in err


def test_the_log_is_compressed_if_its_name_says_so_or_goes_to_standard_output(
    tmp_path: Path,
) -> None:
    path = program(tmp_path, "import tensorflow as tf; print(tf.constant(1) + 1)\n")
    plain, packed = tmp_path / "run.log", tmp_path / "run.log.gz"
    printed = simulate(path, "-o", str(plain))
    assert simulate(path, "-o", str(packed)) == printed
    assert gzip.decompress(packed.read_bytes()) == plain.read_bytes()
    assert simulate(path, "-o", "-") == (0, plain.read_text(), "")
    code, _, err = simulate(path, "-o", "-", "--truth", "-")
    assert code == 2
    assert "--truth needs a file" in err


def test_a_log_is_not_compressed_in_ways_unknown(tmp_path: Path) -> None:
    path = program(tmp_path, "print(1)\n")
    code, out, err = simulate("-o", str(tmp_path / "run.log.xz"), path)
    assert (code, out) == (2, "")
    assert "Use .zst or .gz" in err


FORKS = """
import os, threading
import tensorflow as tf
print("before", float(tf.constant(1.0) + 2.0))
child = os.fork()
if child == 0:
    print("child", 1)
    os._exit(0)
os.waitpid(child, 0)
def work():
    for number in range(3):
        print("thread", float(tf.constant(number * 1.0) * 2.0))
thread = threading.Thread(target=work)
thread.start()
thread.join()
print("after")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_threads_print_once_and_in_order_after_a_fork(tmp_path: Path) -> None:
    log, truth = tmp_path / "run.log", tmp_path / "truth.jsonl"
    simulate("-o", str(log), "--truth", str(truth), program(tmp_path, FORKS))
    words = ("before", "child", "thread", "after")
    printed = [line for line in log.read_text().splitlines() if line.startswith(words)]
    threads = [f"thread {number}" for number in (0.0, 2.0, 4.0)]
    assert printed == ["before 3.0", *threads, "after"]  # NB: the child is not heard
    assert truth.read_text().count('"is":"print"') == 5


ATTENTION = """
import numpy as np
import tensorflow as tf
layer = tf.keras.layers.MultiHeadAttention(2, 4, dropout={dropout})
x = tf.keras.Input((6, 8))
model = tf.keras.Model(x, tf.keras.layers.Flatten()(layer(x, x)))
model.compile(optimizer="sgd", loss="mse")
given = np.linspace(0.0, 1.0, 8 * 48, dtype="float32").reshape(8, 6, 8)
model.fit(given, given.reshape(8, 48), batch_size=4, epochs=1, verbose=0)
query, key, value = (
    np.einsum("abc,cde->abde", given, w) for w in [w.numpy() for w in layer.weights[0:6:2]]
)
scores = np.exp(np.einsum("aecd,abcd->acbe", key, query) / 2.0)
scores /= scores.sum(-1, keepdims=True)
wanted = np.einsum("acbe,aecd->abcd", scores, value) + layer.weights[5].numpy()
wanted = np.einsum("abcd,cde->abe", wanted, layer.weights[6].numpy()) + layer.weights[7].numpy()
# Biases of query and key are still small: one epoch at a low rate.
print(np.allclose(model.predict(given, verbose=0), wanted.reshape(8, 48), atol=0.05))
"""


# The counts of Keras 3 are those of its version 3.15.1 with TensorFlow 2.20.0.
@pytest.mark.parametrize(
    ("dialect", "dropout", "products"),
    [
        ("2.20", 0.0, {"BatchMatMulV2": 9, "Einsum": 6}),
        ("2.20", 0.1, {"BatchMatMulV2": 15}),
        ("2.13", 0.1, {"Einsum": 15}),
    ],
)
def test_attention_multiplies_as_keras_does(
    dialect: str, dropout: float, products: dict[str, int], tmp_path: Path
) -> None:
    path, log = program(tmp_path, ATTENTION.format(dropout=dropout)), tmp_path / "run.log"
    assert simulate(path, "-o", str(log), "--dialect", dialect) == (0, "True\n", "")
    nodes = open_log(log).nodes.filter(pl.col("function") != "predict_function")
    nodes = nodes.filter(pl.col("op").is_in(["BatchMatMulV2", "Einsum"]))
    step = nodes["function_uid"].min()
    counts = nodes.filter(function_uid=step)["op"].value_counts()
    assert dict(counts.iter_rows()) == products
