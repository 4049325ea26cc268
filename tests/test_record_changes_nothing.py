"""A program under `record` is the program: what it gives, leaves, and finds of itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_lines_hook import TENSORFLOW, program, record

__all__ = ["program"]  # the fixture, which pytest finds by its name here

LOOKS = """
import inspect, json, os, pickle, signal, sys, threading
from multiprocessing import popen_fork
from tensorflow.python import math_ops, pywrap_tfe
from tensorflow.python.client import pywrap_tf_session
from tensorflow.python.framework import ops

def looks():
    found = {}
    for function in (
        pywrap_tfe.TFE_Py_FastPathExecute, pywrap_tfe.TFE_Py_Execute,
        pywrap_tfe.TFE_Py_RecordGradient,
        pywrap_tf_session.TF_GraphToFunction_wrapper, ops.Graph._create_op_internal,
        ops.Graph.__init__, popen_fork.Popen._send_signal,
    ):
        assert pickle.loads(pickle.dumps(function)) is function
        found[function.__qualname__] = [
            str(inspect.signature(function)), inspect.getsource(function),
            inspect.getsourcefile(function), function.__module__, function.__name__,
            function.__doc__,
        ]
    assert pickle.loads(pickle.dumps(os._exit)) is os._exit
    found["exit"] = [str(inspect.signature(os._exit)), os._exit.__name__, os._exit.__doc__]
    handlers = [signal.getsignal(each) for each in (1, 2, 13, 14, 15, 17)]
    found["signals"] = [getattr(each, "__name__", str(each)) for each in handlers]
    found["threads"] = [each.name for each in threading.enumerate()]
    found["descriptors"] = sorted(os.listdir("/proc/self/fd"))
    return found
"""
SIGNALS = """
class Late(Exception): pass
def late(*_): raise Late
signal.signal(signal.SIGALRM, late)
math_ops.add(0, 0)  # before any alarm: on a busy machine one may come in each op
caught = 0
for number in range(300):
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.001)
        while True: exec(f"math_ops.add({number}, 1)" )
    except Late:
        caught += 1
print(json.dumps(looks()), caught)
os.kill(os.getpid(), signal.SIGTERM)
"""
PROCESSES = """
import concurrent.futures, multiprocessing
def work(number): return math_ops.add(number, number)
if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(2) as pool: print(pool.map(work, range(9)))
    with concurrent.futures.ThreadPoolExecutor(4) as pool: print([*pool.map(work, range(200))])
    with multiprocessing.get_context("spawn").Pool(1) as pool: print(pool.map(work, range(2)))
    print(json.dumps(looks()))
    sys.exit(7)
"""
DESCRIPTORS = """
math_ops.add(0, 0)
os.close(2)
own = open("own.txt", "w")
assert own.fileno() == 2
for number in range(9): exec(f"math_ops.add({number}, 1)")
own.write("mine"); own.flush()
print(json.dumps(looks()))
raise SystemExit("ended")
"""


def left_behind(folder: Path, before: set[Path]) -> dict[str, bytes]:
    """What a program wrote into its folder, which is then as it was."""
    found = {}
    for path in {*folder.iterdir()} - before:
        if path.is_file():
            found[path.name] = path.read_bytes()
            path.unlink()
    return found


@pytest.mark.parametrize("text", [SIGNALS, PROCESSES, DESCRIPTORS], ids=["a", "b", "c"])
def test_a_program_is_the_same_with_and_without(program: Path, text: str) -> None:
    init = "class Graph:\n    def __init__(self, name=None): self.name = name"
    own = program / "packages" / "tensorflow" / "python" / "framework" / "ops.py"
    own.write_text(TENSORFLOW["framework/ops"].replace("class Graph:", init))
    (program / "train.py").write_text(LOOKS + text)
    before = {*program.iterdir()}
    # As `record` starts it: what this process was given is open there, too.
    alone = subprocess.run(
        [sys.executable, "train.py"], capture_output=True, check=False, close_fds=False
    )
    files = left_behind(program, before)
    done, lines = record("train.py")
    assert {"op", "stack"} <= {words[0] for words in lines}
    assert "off" not in {words[0] for words in lines}
    recorded = left_behind(program, before)
    del recorded["run.log"]
    assert done.stdout.decode() == alone.stdout.decode()
    assert recorded == files
    code = alone.returncode
    assert done.returncode == (code if code >= 0 else 128 - code)


def test_a_handler_that_runs_an_op_waits_for_nobody(program: Path) -> None:
    (program / "train.py").write_text(
        "import faulthandler, signal\n"
        "from tensorflow.python import math_ops\n"
        "faulthandler.dump_traceback_later(60, exit=True)\n"
        "signal.signal(signal.SIGALRM, lambda *_: math_ops.add(1, 1))\n"
        "signal.setitimer(signal.ITIMER_REAL, .001, .001)\n"
        "def main():\n" + "    math_ops.add(1, 1)\n" * 4000 + "main()\n"
        "signal.setitimer(signal.ITIMER_REAL, 0)\nprint('ended')\n"
    )
    done, lines = record("train.py")
    assert done.stdout == b"ended\n"
    stacks = [words[1] for words in lines if words[0] == "stack"]
    known = set()
    for words in lines:  # a stack is there before it is named
        if words[0] == "stack":
            known.add(words[1])
        elif words[0] == "op":
            assert words[2] in known
    assert len({*stacks}) == len(stacks) >= 4000


def test_lines_that_are_left_out_are_counted(program: Path) -> None:
    (program / "train.py").write_text(
        "import os\nfrom tensorflow.python import math_ops\nkept = os.dup(2)\n"
        "own = os.open('own.txt', os.O_CREAT | os.O_WRONLY)\nos.dup2(own, 2)\n"
        "for x in range(3): math_ops.add(x, x)\nos.dup2(kept, 2)\nmath_ops.add(4, 4)\n"
    )
    _, lines = record("train.py")
    assert (program / "own.txt").read_bytes() == b""
    assert [words[0] for words in lines if words[0] in ("op", "left_out")] == ["op", "left_out"]
    assert lines[-1][2] == "3"


def test_a_graph_may_be_a_weak_reference(program: Path) -> None:
    (program / "train.py").write_text(
        "import weakref\nfrom tensorflow.python import math_ops\n"
        "from tensorflow.python.framework import ops\ngraph = ops.Graph()\n"
        "class Proxied(ops.Graph):\n"
        "    def _create_op_internal(self, op_type, name):\n"
        "        return ops.Graph._create_op_internal(weakref.proxy(self), op_type, name)\n"
        "graph = Proxied()\nfor name in 'ab': graph._create_op_internal('Add', name)\n"
    )
    _, lines = record("train.py")
    assert [words[0] for words in lines if words[0] in ("node", "off")] == ["node", "node"]
    assert len({words[1] for words in lines if words[0] == "node"}) == 1
