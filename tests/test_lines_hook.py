"""What `record` adds to a program to get its lines, with a TensorFlow of a few functions."""

from __future__ import annotations

import ast
import json
import os
import sys
from pathlib import Path

import pytest

import tflogscope
from tests.command import Ended, run_command

HOOK = Path(tflogscope.__file__).parent / "recording" / "hook"

TENSORFLOW = {
    "pywrap_tfe": """
def TFE_Py_FastPathExecute(context, op, name, *inputs): return inputs
def TFE_Py_Execute(handle, device, op, *rest): return op
TFE_Py_ExecuteCancelable = TFE_Py_Execute
def TFE_Py_RecordGradient(op, inputs, attributes, outputs, scope): pass
""",
    "client/pywrap_tf_session": "def TF_GraphToFunction_wrapper(graph, name): return name",
    "framework/ops": """
class Operation:
    def __init__(self, graph, name): self.graph, self.name = graph, name
class Graph:
    def _create_op_internal(self, op_type, name): return Operation(self, name)
""",
    "eager/backprop": """
from tensorflow.python import pywrap_tfe
def _gradient_function(attr_tuple, make): return make()
""",
    "eager/polymorphic_function/polymorphic_function": """
from tensorflow.python.client import pywrap_tf_session
class Function:
    def __init__(self, function): self._python_function, self._name = function, function.__name__
    def __call__(self, *args, **kwds): return self._call(*args, **kwds)
    def _call(self, *args, **kwds):
        graph = None
        return pywrap_tf_session.TF_GraphToFunction_wrapper(None, f"__inference_{self._name}_1")
""",
    "math_ops": """
from tensorflow.python import pywrap_tfe
from tensorflow.python.client import pywrap_tf_session
def add(x, y): return pywrap_tfe.TFE_Py_FastPathExecute(None, "AddV2", None, x, y)
def define(graph): return pywrap_tf_session.TF_GraphToFunction_wrapper(None, graph.name)
""",
}
PROGRAM = """\
import sys, os, threading
from tensorflow.python import math_ops
from tensorflow.python.framework import ops
from tensorflow.python.eager import backprop

def twice(x):
    return math_ops.add(
        x, x)

class Output:
    op = graph = None

print(math_ops.add(1, 2), twice(3))
thread = threading.Thread(target=twice, args=(4,)); thread.start(); thread.join()
graph = ops.Graph()
graph.name = "f"
Output.op, Output.graph = graph._create_op_internal("Add", "a/Add"), graph
attributes = ("T", graph)
backprop.pywrap_tfe.TFE_Py_RecordGradient("Add", (), attributes, [Output], "")
backprop._gradient_function(attributes, lambda: graph._create_op_internal("Neg", "a/Neg"))
backprop._gradient_function((*attributes,), lambda: graph._create_op_internal("Neg", "b/Neg"))
math_ops.define(graph)
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the program, and TensorFlow on its path."""
    for name, text in TENSORFLOW.items():
        path = tmp_path / "packages" / "tensorflow" / "python" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "train.py").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "packages"), prepend=os.pathsep)
    return tmp_path


def record(*command: str, options: tuple[str, ...] = ()) -> tuple[Ended, list[list[str]]]:
    """Record a program; its lines, as words."""
    recorder = ["record", *options, "--force", "-o", "run.log", "--", sys.executable]
    done = run_command(*recorder, *command)
    lines = Path("run.log").read_text().splitlines()
    return done, [line.split(" ")[1:] for line in lines if line.startswith("tflogscope ")]


def places(lines: list[list[str]]) -> list[tuple[str, str, object]]:
    """Kind and name of each line that has a stack, with the nearest frame."""
    stacks = {words[1]: json.loads(words[2])[0] for words in lines if words[0] == "stack"}
    return [(words[0], words[-1], stacks[words[-2]]) for words in lines if words[0] in KINDS]


KINDS = {"op", "node", "gradient"}


@pytest.mark.usefixtures("program")
def test_each_op_and_each_node_has_its_line() -> None:
    done, lines = record("train.py")
    assert done.stdout == b"(1, 2) (3, 3)\n"
    assert places(lines) == [
        ("op", "AddV2", ["train.py", 13, "<module>"]),
        ("op", "AddV2", ["train.py", 7, "twice"]),
        ("op", "AddV2", ["train.py", 7, "twice"]),
        ("node", "a/Add", ["train.py", 17, "<module>"]),
        ("gradient", "a/Neg", ["train.py", 17, "<module>"]),  # the line of the forward node
        ("node", "b/Neg", ["train.py", 21, "<lambda>"]),  # no tape knows it
    ]
    threads = [words[1] for words in lines if words[0] == "op"]
    assert threads[0] == threads[1] != threads[2]


def test_an_installed_package_that_the_program_called_is_in_the_stack(program: Path) -> None:
    package = program / "packages" / "site-packages"
    (package / "wrapt").mkdir(parents=True)
    (package / "wrapt" / "__init__.py").write_text("def call(function, x): return function(x)\n")
    (package / "loops.py").write_text(
        "from tensorflow.python import math_ops\n"
        "def minimize(loss, x): loss(x); return math_ops.add(x, x)\n"
    )
    (program / "train.py").write_text(
        "import sys; sys.path.insert(0, 'packages/site-packages')\n"
        "import functools, loops, wrapt\n"
        "def loss(x): return loops.math_ops.add(x, 1)\n"
        "functools.partial(wrapt.call, functools.partial(loops.minimize, loss))(2)\n"
        "wrapt.call(loss, 3)\n"
    )
    _, lines = record("train.py")
    module = ["train.py", 4, "<module>"]
    loss = ["train.py", 3, "loss"]
    stacks = [json.loads(words[2]) for words in lines if words[0] == "stack"]
    assert stacks == [
        [loss, module],
        ["package:loops", module],
        [loss, ["train.py", 5, "<module>"]],
    ]


@pytest.mark.parametrize(
    "name", ["util/deprecation", "autograph/impl/api", "ops/custom_gradient", "module/module"]
)
def test_what_a_decorator_of_tensorflow_calls_is_in_the_stack(program: Path, name: str) -> None:
    package = program / "packages" / "site-packages"
    package.mkdir()
    wrapper = program / "packages" / "tensorflow" / "python" / f"{name}.py"
    wrapper.parent.mkdir(parents=True, exist_ok=True)
    wrapper.write_text("def wrap(f):\n    def wrapper(x): return f(x)\n    return wrapper\n")
    imports = (
        "from tensorflow.python import math_ops\n"
        f"from tensorflow.python.{name.replace('/', '.')} import wrap\n"
    )
    (package / "loops.py").write_text(
        f"{imports}@wrap\ndef minimize(x): return math_ops.add(x, x)\n"
    )
    (program / "train.py").write_text(
        "import sys; sys.path.insert(0, 'packages/site-packages')\n"
        f"{imports}import loops\n"
        "loops.minimize(1)\n"
        "wrap(math_ops.add.__get__(1))(2)\n"
        "wrap(lambda x: math_ops.add(x, x))(3)\n"
    )
    _, lines = record("train.py")
    assert [json.loads(words[2]) for words in lines if words[0] == "stack"] == [
        ["package:loops", ["train.py", 5, "<module>"]],
        [["train.py", 6, "<module>"]],
        [["train.py", 7, "<lambda>"], ["train.py", 7, "<module>"]],
    ]


@pytest.mark.parametrize("path", sorted(HOOK.glob("*.py")), ids=lambda path: path.stem)
def test_python_3_8_can_run_the_hook(path: Path) -> None:
    tree = ast.parse(path.read_text(), feature_version=(3, 8))
    statements = [each for each in tree.body if isinstance(each, ast.Assign)]
    subscripts = (each for statement in statements for each in ast.walk(statement))
    assert not [
        ast.unparse(each)
        for each in subscripts
        if isinstance(each, ast.Subscript) and ast.unparse(each.value) in ("dict", "list", "tuple")
    ]


@pytest.mark.usefixtures("program")
def test_a_stack_is_spelled_once() -> None:
    Path("train.py").write_text(
        "from tensorflow.python import math_ops\nfor x in range(9): math_ops.add(x, x)\n"
    )
    _, lines = record("train.py")
    lines = [words for words in lines if words[0] != "computed"]  # on a busy machine
    kinds = [words[0] for words in lines]
    assert kinds[:11] == ["stack", *["op"] * 9, "cost"]
    assert int(lines[10][2]) > 0
    if sys.platform == "linux":
        (threads,) = lines[11:]
        assert threads[0] == "threads"
        assert threads[1] in threads[2:]  # the first one has the number of the process


@pytest.mark.usefixtures("program")
def test_what_a_thread_computes_between_ops_is_no_wait() -> None:
    Path("train.py").write_text(
        "import threading, time\n"
        "from tensorflow.python import math_ops\n"
        "def compute():\n"
        "    until = time.thread_time() + .03\n"
        "    while time.thread_time() < until: pass\n"
        "def ask(pause):\n"
        "    for _ in range(4): math_ops.add(1, 1); pause()\n"
        "for pause in compute, lambda: time.sleep(.03):\n"
        "    thread = threading.Thread(target=ask, args=(pause,)); thread.start(); thread.join()\n"
    )
    _, lines = record("train.py")
    threads = dict.fromkeys(words[1] for words in lines if words[0] == "op")
    said = {
        thread: [int(words[3]) for words in lines if words[:2] == ["computed", thread]]
        for thread in threads
    }
    computing, sleeping = said.values()
    assert len(computing) == len(sleeping) == 3  # the first op of a thread has none before it
    assert min(computing) >= 30_000
    assert max(sleeping) < 10_000
    kinds = [words[0] for words in lines if words[0] in ("computed", "op")]
    assert kinds == ["op", *["computed", "op"] * 3] * 2


@pytest.mark.usefixtures("program")
def test_a_trace_says_what_it_is_for_and_calls_nothing_of_the_programs() -> None:
    Path("train.py").write_text(
        "from tensorflow.python.eager.polymorphic_function.polymorphic_function import Function\n"
        "def fail(*_): raise ValueError\n"
        "class Odd: __eq__ = __hash__ = __repr__ = __getattr__ = __len__ = fail\n"
        "class Model:\n"
        "    def step(self, x, *, flag=False): pass\n"
        "def f(x, y=1): pass\n"
        "def made(size): return Function(lambda x: size)\n"
        "once, odd, model = Function(f), Odd(), Model()\n"
        "once(2); once([1, 1]); once(odd); once(x={'a': 1, Model: (None, 'b c')})\n"
        "Function(f)(odd); made(1)(0); made(2)(0)\n"
        "Function(model.step)(3, flag=True); Function(Model().step)(3)\n"
        "import enum; once(enum.Enum('Mode', 'ON').ON)\n"
    )
    _, lines = record("train.py")
    traces = [(*words[1:3], *json.loads(words[4])) for words in lines if words[0] == "trace"]
    process = traces[0][0].split(".")[0]
    assert [
        (of.removeprefix(f"{process}."), int(number), arguments)
        for of, number, _, arguments, _ in traces
    ] == [
        ("1", 1, [["x", "2"], ["y", "1"]]),
        ("1", 1, [["x", "list of 2 1"], ["y", "1"]]),
        ("1", 1, [["x", "Odd object 1"], ["y", "1"]]),
        ("1", 1, [["x", "dict('a': 1, type: tuple(None, 'b c'))"], ["y", "1"]]),
        ("1", 2, [["x", "Odd object 1"], ["y", "1"]]),  # the same Python function
        ("2", 3, [["x", "0"]]),
        ("3", 4, [["x", "0"]]),  # it closes over something else
        ("4", 5, [["x", "3"], ["flag", "True"]]),
        ("5", 6, [["x", "3"], ["flag", "False"]]),
        ("1", 1, [["x", "Mode.ON"], ["y", "1"]]),
    ]
    assert {tuple(place) for _, _, place, *_ in traces} == {
        ("train.py", line) for line in (5, 6, 7)
    }
    assert not [words for words in lines if words[0] == "off"]


def test_the_users_own_sitecustomize_still_runs(program: Path) -> None:
    (program / "packages" / "sitecustomize.py").write_text("import sys; sys.mine = 7")
    Path("train.py").write_text("import sys; print(sys.mine)")
    assert record("train.py")[0].stdout == b"7\n"


@pytest.mark.usefixtures("program")
def test_an_error_inside_switches_it_off_with_one_line() -> None:
    Path("train.py").write_text(
        "from tensorflow.python import math_ops\n"
        "class Odd:\n    def __format__(self, _): raise ValueError('very odd')\n"
        "for name in 'Relu', Odd(), Odd(), 'Relu': math_ops.pywrap_tfe.TFE_Py_Execute(0, 0, name)\n"
        "print('trained')\n"
    )
    done, lines = record("train.py")
    assert (done.returncode, done.stdout) == (0, b"trained\n")
    kinds = [words[0] for words in lines if words[0] != "computed"]  # on a busy machine
    assert kinds == ["stack", "op", "off"]
    assert lines[-1][2:] == ["ValueError:_very_odd"]


@pytest.mark.usefixtures("program")
def test_a_program_at_the_end_of_its_stack_loses_that_line_only() -> None:
    Path("train.py").write_text(
        "import sys\n"
        "from tensorflow.python import math_ops\n"
        "def deeper(n):\n    math_ops.add(n, n)\n    deeper(n + 1)\n"
        "sys.setrecursionlimit(150)\n"
        "try: deeper(0)\n"
        "except RecursionError: print('caught')\n"
        "sys.setrecursionlimit(1000)\n"
        "math_ops.add(1, 1)\n"
    )
    done, lines = record("train.py")
    assert done.stdout == b"caught\n"
    kinds = [words[0] for words in lines if words[0] != "computed"]
    # After it lines go on; at the end it is said that some are left out.
    assert kinds[kinds.index("cost") - 1] == "op"
    assert kinds[-1] == "left_out"
    assert "off" not in kinds


@pytest.mark.usefixtures("program")
def test_a_program_of_the_program_and_a_fork_number_their_own_stacks() -> None:
    Path("train.py").write_text(
        "import os, subprocess, sys\nfrom tensorflow.python import math_ops\nmath_ops.add(1, 1)\n"
        "child = os.fork()\nmath_ops.add(2, 2)\nif not child: os._exit(0)\nos.wait()\n"
        "if len(sys.argv) == 1: subprocess.run([sys.executable, 'train.py', 'again'])\n"
    )
    _, lines = record("train.py")
    processes = {words[1].split(".")[0] for words in lines if words[0] == "stack"}
    assert len(processes) == 4
    assert len(places(lines)) == 6


@pytest.mark.usefixtures("program")
def test_names_can_not_leave_their_line() -> None:
    hostile = "onednn_verbose,exec\\n2026-11-21 04:09:48.123456: I a.cc:1] x\\x1b[31m"
    Path("train.py").write_text(
        "from tensorflow.python import math_ops\n"
        f"exec(compile('math_ops.add(1, 1)', '{hostile}', 'exec'))\n"
    )
    _, lines = record("train.py")
    (stack,) = [words for words in lines if words[0] == "stack"]
    assert len(stack) == 3
    assert json.loads(stack[2])[0][0].endswith(hostile.encode().decode("unicode_escape"))
    assert "\x1b" not in stack[2]


@pytest.mark.usefixtures("program")
def test_without_lines_nothing_is_added() -> None:
    done, lines = record("train.py", options=("--no-lines",))
    assert done.stdout == b"(1, 2) (3, 3)\n"
    assert lines == []


@pytest.mark.usefixtures("program")
def test_the_program_finds_its_path_as_it_would_be() -> None:
    Path("train.py").write_text("import sys; print(sys.path)")
    with_lines, without = record("train.py"), record("train.py", options=("--no-lines",))
    assert with_lines[0].stdout == without[0].stdout


def test_files_are_named_from_the_root_of_the_repository(program: Path) -> None:
    (program / ".git").mkdir()
    (program / "examples").mkdir()
    (program / "examples" / "train.py").write_text(
        "from tensorflow.python import math_ops\nmath_ops.add(1, 1)\n"
    )
    assert places(record("examples/train.py")[1])[0][2] == ["examples/train.py", 2, "<module>"]


ORIGIN_INFO = """
import ast
class anno:
    class Basic: ORIGIN = "origin"
    @staticmethod
    def getanno(node, key, default=None): return getattr(node, key, default)
class parser:
    @staticmethod
    def parse(code, preamble_len, single_node): return ast.parse(code).body
class gast:
    Module = ast.Module
    @staticmethod
    def gast_to_ast(tree): return tree
def create_source_map(nodes, code, filepath): return "as before"
def resolve_entity(node, source, entity): node.origin = entity.origin
"""
CONVERTED = """
import ast, functools
from types import SimpleNamespace as Some
from tensorflow.python import math_ops
from tensorflow.python.autograph.pyct import origin_info

def run(number, nodes, code):
    path = f"/tmp/__autograph_generated_file{number}.py"
    assert origin_info.create_source_map(nodes, code, path) == "as before"
    exec(compile(code, path, "exec"))

def at(line):
    return Some(loc=Some(filename=__file__, lineno=line), function_name=None)

code = "math_ops.add(1, 1); math_ops.add(2, 2)"
first, second = ast.parse(code).body
first.value.origin, second.value.args[0].origin = at(3), at(2)
run(1, (first, second), code)

def wrapped(): pass

@functools.wraps(wrapped)
def wrapper(): pass

wrapper.origin = at(5)  # AutoGraph has the lines of what is wrapped
(node,) = ast.parse("math_ops.add(3, 3)").body
origin_info.resolve_entity(node, "", wrapper)
run(2, (node,), "math_ops.add(3, 3)")
"""


def test_a_line_of_code_that_autograph_made_is_that_of_its_origin(program: Path) -> None:
    path = program / "packages" / "tensorflow" / "python" / "autograph" / "pyct" / "origin_info.py"
    path.parent.mkdir(parents=True)
    path.write_text(ORIGIN_INFO)
    Path("train.py").write_text(CONVERTED)
    done, lines = record("train.py")
    assert done.returncode == 0
    assert [place for _, _, place in places(lines)] == [
        ["train.py", 3, "<lambda>"],
        ["train.py", 2, "<lambda>"],
        ["train.py", 1 + CONVERTED.splitlines().index("@functools.wraps(wrapped)"), "wrapper"],
    ]


@pytest.mark.usefixtures("program")
def test_a_cell_of_a_notebook_has_its_number() -> None:
    Path("train.py").write_text(
        "import sys\n"
        "from types import SimpleNamespace as Some\n"
        "from tensorflow.python import math_ops\n"
        "shell = Some(compile=Some(_filename_map={'/tmp/ipykernel_1/7.py': 3}))\n"
        "sys.modules['IPython'] = Some(get_ipython=lambda: shell)\n"
        "for name in '/tmp/ipykernel_1/7.py', '/tmp/ipykernel_1/8.py':\n"
        "    exec(compile('math_ops.add(1, 1)', name, 'exec'))\n"
    )
    (cell, other) = places(record("train.py")[1])
    assert cell[2] == ["In[3]", 1, "<module>"]
    assert other[2] == ["/tmp/ipykernel_1/8.py", 1, "<module>"]


@pytest.mark.usefixtures("program")
def test_code_that_cloudpickle_sent_has_the_file_of_its_globals() -> None:
    Path("train.py").write_text(
        "from tensorflow.python import math_ops\n"
        "from tensorflow.python.eager.polymorphic_function.polymorphic_function import Function\n"
        "def work(x):\n"
        "    math_ops.add(x, x)\n"
        "work.__code__ = work.__code__.replace(co_filename='<dynamic-code>')\n"
        "work(1); Function(work)(1)\n"
    )
    _, lines = record("train.py")
    assert places(lines)[0][2] == ["train.py", 4, "work"]
    (trace,) = (json.loads(words[4]) for words in lines if words[0] == "trace")
    assert trace[0] == ["train.py", 3]


@pytest.mark.usefixtures("program")
def test_a_model_that_was_loaded_is_called_and_not_saved() -> None:
    folder = Path("packages/tensorflow/python/saved_model")
    folder.mkdir()
    (folder / "load.py").write_text(
        "from tensorflow.python import math_ops\n"
        "def load(): return math_ops.add(1, 1)\n"
        "def _call_flat(): return math_ops.add(1, 1)\n"
    )
    Path("train.py").write_text(
        "from tensorflow.python.saved_model.load import load, _call_flat\nload()\n_call_flat()\n"
    )
    _, lines = record("train.py")
    stacks = [json.loads(words[2]) for words in lines if words[0] == "stack"]
    assert stacks == [["saving", ["train.py", 2, "<module>"]], [["train.py", 3, "<module>"]]]


@pytest.mark.usefixtures("program")
def test_a_configuration_is_no_file() -> None:
    folder = Path("packages/keras/src/saving")
    folder.mkdir(parents=True)
    (folder / "serialization_lib.py").write_text("def deserialize(made): return made()\n")
    (folder / "saving_lib.py").write_text(
        "from keras.src.saving.serialization_lib import deserialize\n"
        "def load_model(made): return deserialize(made)\n"
    )
    Path("train.py").write_text(
        "from tensorflow.python import math_ops\n"
        "from keras.src.saving import saving_lib, serialization_lib\n"
        "def made(): math_ops.add(1, 1)\n"
        "serialization_lib.deserialize(made)\n"
        "saving_lib.load_model(made)\n"
    )
    _, lines = record("train.py")
    made = ["train.py", 3, "made"]
    assert [json.loads(words[2]) for words in lines if words[0] == "stack"] == [
        [made, ["train.py", 4, "<module>"]],
        [made, "saving", ["train.py", 5, "<module>"]],
    ]


CALLED = """
from tensorflow.python import pywrap_tfe
f, once = "__inference_f_7", "__inference_once_3"
for name in (f, f.encode(), "__inference_f_9", once, "Mul", "Mul"):
    print(pywrap_tfe.TFE_Py_Execute(None, "", name))
open("runs", "a").write("x")
"""


def test_calibrate_times_later_calls_of_functions_in_a_run_of_its_own(program: Path) -> None:
    done, lines = record("-c", CALLED, options=("--calibrate",))
    assert (program / "runs").read_text() == "xx"
    assert done.stdout.decode().count("__inference_once_3") == 1  # printed once
    header = json.loads((program / "run.log").read_text().split("\n")[0].partition("record ")[2])
    assert [*header["calibrated"]] == ["__inference_f"]
    assert header["calibrated"]["__inference_f"] >= 0
    assert lines


def test_where_no_function_is_called_twice_nothing_is_calibrated(program: Path) -> None:
    done, _ = record("-c", "print(1)", options=("--calibrate",))
    assert b"not calibrated" in done.stderr
    assert b'"calibrated"' not in (program / "run.log").read_bytes()


def test_a_process_that_ends_by_itself_says_so(program: Path) -> None:
    """One that is killed does not; os._exit is how forked processes end."""
    (program / "train.py").write_text(
        "import os, signal\nfrom tensorflow.python import math_ops\n"
        "def child(end):\n"
        "    if not os.fork():\n        math_ops.add(1, 2)\n        end()\n"
        "    os.wait()\n"
        "child(lambda: os._exit(0))\nchild(lambda: os._exit(status=3))\n"
        "child(lambda: os.kill(os.getpid(), signal.SIGKILL))\nchild(lambda: None)\n"
    )
    _, lines = record("train.py")
    ran = {words[2].partition(".")[0] for words in lines if words[0] == "op"}
    ended = [words[1] for words in lines if words[0] == "threads"]
    assert len(ran) == 4
    assert len(ended) == len({*ended}) == 3


def test_a_worker_that_is_stopped_is_said_to_be(program: Path) -> None:
    """As a pool stops its workers; this one can't end by itself before."""
    (program / "train.py").write_text(
        "import multiprocessing, time\nfrom tensorflow.python import math_ops\n"
        "def work(ran):\n"
        "    math_ops.add(1, 2)\n    ran.set()\n    time.sleep(60)\n"
        "if __name__ == '__main__':\n"
        "    for way in ('fork', 'spawn'):\n"
        "        context = multiprocessing.get_context(way)\n"
        "        ran = context.Event()\n"
        "        worker = context.Process(target=work, args=(ran,))\n"
        "        worker.start()\n        ran.wait()\n"
        "        worker.terminate()\n        worker.join()\n"
    )
    _, lines = record("train.py")
    ran = {words[2].partition(".")[0] for words in lines if words[0] == "op"}
    stopped = [words[1:] for words in lines if words[0] == "stopped"]
    assert len(ran) == 2
    assert {process for process, _ in stopped} == ran
    assert [signal for _, signal in stopped] == ["15", "15"]
