"""Writes which line of the program asked for an eager op, and for a node of a graph.

It runs inside the recorded program, in TensorFlow 2.8 to 2.21 and Python 3.8 and later, without
tflogscope. `grammars/lines.toml` describes what it writes.

It does not use TensorFlow's op callbacks. They belong to one thread, they come when an op has
ended, and not at all for one that fails. Every release looks up the few functions of C++ that start
an op (`TFE_Py_FastPathExecute`, …) in their module each time it calls them, so a function that
writes a line and then calls the original can take their place. Nothing else changes.

It has no locks: a signal handler of the program, which runs ops of its own, would wait for itself.
What threads share is numbered by `next`, and kept in dictionaries, each in one step of Python.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import importlib.machinery
import itertools
import json
import os
import signal
import sys
import sysconfig
import threading
from collections.abc import Callable, Sequence
from time import perf_counter, thread_time, time
from types import CodeType, FrameType, ModuleType
from typing import TYPE_CHECKING, Any

from tflogscope_autograph import (  # type: ignore[import-not-found]  # it is beside this file
    Origin,
    Origins,
    moved,
)
from tflogscope_traces import Traces  # type: ignore[import-not-found]  # it is beside this file

_FRAMES = 24  # of a stack, the nearest ones
_LINE = 3900  # characters of them: a pipe takes no more than 4,096 bytes as one piece
_NAME = 300  # characters of a file's or a function's name
_KNOWN = 1 << 16  # so many places are remembered
_TIMED = 10_000  # so many lines are timed
_LONG = 0.001  # seconds between two ops of a thread, from which on what it computed is written

_PACKAGES = ("/site-packages/", "/dist-packages/")
_DECORATORS = {"check_shapes", "decorator", "jaxtyping", "typeguard", "wrapt"}  # they run nothing
# Whose frames are left out, besides all that is installed.
_LIBRARIES = {"tensorflow", "keras", "tf_keras", "keras_core", "tensorflow_estimator"}
# Frames that are left out but say something: what is in the file's name, and what is written; of
# some files only frames of a few functions do.
_STEPS = ("train_step", "test_step", "predict_step")
_LOOPS = ("fit", "evaluate", "predict", "train_on_batch", "test_on_batch", "predict_on_batch")
_MARKS: tuple[tuple[str, str] | tuple[str, str, tuple[str, ...]], ...] = (
    ("/tensorflow/python/ops/script_ops.py", "py_function"),
    ("/tensorflow/python/eager/backprop.py", "gradient"),
    ("/tensorflow/python/data/", "dataset"),
    ("/distribute/input_lib.py", "dataset"),
    ("/optimizers/", "optimizer"),
    ("/optimizer_v2/", "optimizer"),
    ("/metrics", "metric"),  # and utils/metrics_utils.py, which wraps results
    ("/compile_utils.py", "metric", ("result", "reset_state", "update_state")),
    ("/initializers/", "initializer"),
    ("/tensorflow/python/framework/func_graph.py", "tracing"),
    ("/engine/training", "step", _STEPS),
    ("/engine/training", "loop", _LOOPS),
    ("/backend/tensorflow/trainer.py", "step", _STEPS),
    ("/backend/tensorflow/trainer.py", "loop", _LOOPS),
    ("preprocessing", "loop", ("adapt",)),  # a layer; Keras 2: base_preprocessing_layer.py
    ("/keras/callbacks", "callback"),
    ("/src/callbacks", "callback"),
    ("/tensorflow/python/checkpoint/", "saving"),
    ("/training/tracking/util.py", "saving", ("save", "write", "read", "restore")),  # up to 2.9
    ("/training/checkpoint_management.py", "saving"),
    ("/tensorflow/python/training/saving/", "saving"),
    ("/tensorflow/python/saved_model/", "saving", ("save", "load", "load_partial")),
    ("/saved_model/utils.py", ""),  # a model that was loaded is called
    ("/export/tfsm_layer.py", ""),
    ("/tensorflow/lite/", "saving"),
    ("/keras/saving/", "saving"),
    ("/src/saving/", "saving"),
    ("/src/export/", "saving"),
    ("/multiprocessing/process.py", "process", ("start",)),
)
_IOLBF = 1  # whole lines: stdio.h of Linux and macOS
_CONSTANT = "_EagerConst"  # the op that makes a tensor of a value
_SWITCH = "TF_ENABLE_ONEDNN_OPTS"  # TensorFlow reads it when it first wants to know
_BEFORE = os.environ.get(_SWITCH)


if TYPE_CHECKING:  # Python 3.8 can't run these
    # A code, whether it is the user's own, its mark, and its module in a package ("": it is the
    # user's, of TensorFlow or of Keras; None: of Python or of a decorator, which say nothing).
    _Kind = tuple[CodeType, bool, str, str | None]
    _Codes = dict[int, _Kind]
    _Known = tuple[_Codes, dict[tuple[Any, ...], int]]  # codes, and numbers of stacks


class _Lines:
    """The state: which stacks there are. A process that is forked begins anew."""

    def __init__(self) -> None:
        self.on = True
        self.buffer: Any = None
        self.folder = os.environ.get("TFLOGSCOPE_LINES", "")
        self.channel = _file_of(2)  # what it writes to
        self.writing: set[int] = set()  # threads that write a line now
        self.generated: dict[str, Origins] = {}
        self.moved: dict[int, tuple[Any, Origin]] = {}
        self.installed = _installed()
        self.graphs = itertools.count(1)
        self.forked()

    def forked(self) -> None:
        """Number everything from the beginning, for this process."""
        self.process = os.getpid()
        self.known: _Known = ({}, {})
        self.numbers = itertools.count(1)
        self.texts: dict[str, int] = {}
        self.taped: dict[int, tuple[Any, int]] = {}
        self.traces = Traces()
        self.spent = 0.0  # seconds that the program waited for the hook
        self.left_out = 0  # lines that could not be written
        self.thread = threading.local()
        self.took: list[float] = []  # seconds of lines about ops with stacks that were known

    def spend(self, call: Callable[..., object], *args: Any) -> None:
        """Do something, unless it is off, and take its time."""
        if self.on:
            began = perf_counter()
            try:
                call(*args)
            except BlockingIOError:  # the program does not wait for it
                self.left_out += 1
            except Exception as error:
                if _of_a_handler(error):
                    raise
                self.off(error)
            self.spent += perf_counter() - began

    def origins(self, filepath: str, *generated: Any) -> None:
        """Keep where code comes from that AutoGraph generated."""
        self.generated[filepath] = Origins(*generated, self.moved)

    def shifted(self, module: Any, node: Any, entity: Any) -> None:
        """Keep origins of a function that AutoGraph gives other lines."""
        self.moved.update(moved(module, node, entity))

    # ---- where the program is ------------------------------------------------------------------

    def stack(self, frame: FrameType | None) -> int:
        """The number of the stack of the user's own frames; 0 if there is none of these."""
        if len(self.known[0]) > _KNOWN:
            self.known = ({}, {})
        (codes, stacks), first = self.known, frame
        key: list[int | str] = []
        own, entered = False, ""
        while frame is not None:
            code = frame.f_code
            _, is_own, mark, package = codes.get(id(code)) or self._kind(code, frame, codes)
            if mark and not (key and key[-1] == mark):
                key.append(mark)
            if is_own:
                if entered and not own:
                    key.append(entered)
                own = True
                key.append(id(code))
                key.append(frame.f_lasti)
            if package is not None:
                entered = package
            frame = frame.f_back
        if not own:
            return 0
        number = stacks.get(tuple(key))
        if number is None:
            number = stacks[tuple(key)] = self._new(first, codes)
        return number

    def _kind(self, code: CodeType, frame: FrameType, codes: _Codes) -> _Kind:
        """Whether a frame is the user's own, what it says ("": nothing), and its package."""
        name, module = code.co_filename, str(frame.f_globals.get("__name__", ""))
        own, mark = True, ""
        package: str | None = ""
        origins = self.generated.get(name)
        if origins:  # AutoGraph rewrites functions of Keras, too
            name, module = origins.file, ""
        if name.startswith("<"):  # `<string>` is the program with `python -c`, else it is called
            main = getattr(sys.modules.get("__main__"), "__file__", None) is None
            own = (module == "__main__" and main) or name.startswith(("<ipython", "<stdin"))
            package = "" if own else None
        else:
            path = os.path.abspath(name).replace(os.sep, "/")  # noqa: PTH100
            top = module.partition(".")[0]
            outside = top in _LIBRARIES or "__autograph_generated" in path
            packaged = any(each in path for each in _PACKAGES)
            if outside or packaged or path.startswith(self.installed):
                own, mark = False, _mark(path, code.co_name)
                known = packaged and top not in _DECORATORS
                package = "" if outside else module if known else None
        if own and code.co_argcount and _is_metric(frame.f_locals.get(code.co_varnames[0])):
            mark = "metric"
        found = codes[id(code)] = (code, own, mark, package)  # a code that is kept keeps its id
        return found

    def _new(self, frame: FrameType | None, codes: _Codes) -> int:
        frames: list[object] = []
        entered, nearest = "", True
        while frame is not None and len(frames) < _FRAMES:
            _, own, mark, package = codes.get(id(frame.f_code), (None, False, "", ""))
            if mark and (not frames or frames[-1] != mark):
                frames.append(mark)
            if own:
                if entered and nearest:
                    frames.append(f"package:{entered}")
                nearest = False
                frames.append(self._place(frame))
            if package is not None:
                entered = package
            frame = frame.f_back
        text = _text(json.dumps(frames, separators=(",", ":")))
        while len(text) > _LINE:
            frames.pop()
            text = _text(json.dumps(frames, separators=(",", ":")))
        number = self.texts.get(text)
        if number is None:
            # Written first, so that no line names a stack that is not there; two threads may write
            # one twice.
            number = next(self.numbers)
            self.write(f"stack {self.process}.{number} {text}")
            self.texts[text] = number
        return number

    def _place(self, frame: FrameType) -> tuple[str, int, str]:
        name, line, function = frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name
        origins = self.generated.get(name)
        if origins:
            name, line, function = origins.of(frame)
        return self._relative(name), line, function[:_NAME]

    def _relative(self, name: str) -> str:
        """A file as the log names it: from the folder of the program on, or the notebook's cell."""
        name = _cell(name)
        if not name.startswith(("<", "In[")):
            name = os.path.abspath(name)  # noqa: PTH100
            if self.folder and name.startswith(self.folder + os.sep):
                name = name[len(self.folder) + 1 :].replace(os.sep, "/")
        return name[-_NAME:]

    # ---- what is written -----------------------------------------------------------------------

    def write(self, text: str) -> None:
        """Write one line, at once and past all buffers.

        Raises BlockingIOError where it can't be: descriptor 2 is a file of the program's own, or a
        signal came while this thread wrote half a line to a terminal.
        """
        me = threading.get_ident()
        if me in self.writing or _file_of(2) != self.channel:
            raise BlockingIOError
        self.writing.add(me)
        try:
            data = f"tflogscope {text}\n".encode("ascii", "backslashreplace")
            while data:
                data = data[os.write(2, data) :]
        finally:
            self.writing.discard(me)

    def op(self, args: Sequence[Any], at: int, frame: FrameType) -> None:
        """The op, or function, whose name is argument `at` is about to be run eagerly."""
        self.computed()
        began, known, name = perf_counter(), len(self.texts), args[at]
        if isinstance(name, bytes):
            name = name.decode()
        number = self.stack(frame)
        self.write(f"op {threading.get_native_id()} {self.process}.{number} {name}")
        if known == len(self.texts) and len(self.took) < _TIMED:
            self.took.append(perf_counter() - began)

    def ended(self) -> None:
        """An op that was announced has run."""
        self.thread.ended = perf_counter(), thread_time()

    def computed(self) -> None:
        """Write how long this thread computed since its last op, if that was long ago.

        The rest it slept, or waited: for a processor, or for another thread of Python.
        """
        ended, self.thread.ended = getattr(self.thread, "ended", None), None
        if ended is not None and perf_counter() - ended[0] > _LONG:
            took = round((thread_time() - ended[1]) * 1e6)
            self.write(f"computed {threading.get_native_id()} {self.process} {took}")

    def node(self, op: Any, frame: FrameType) -> None:
        """A node was added to a graph."""
        graph = op.graph
        forward = _forward(frame)
        number = forward or self.stack(frame)
        if number:
            kind = "gradient" if forward else "node"
            _nodes(graph)[op.name] = number
            self.write(f"{kind} {self.graph(graph)} {self.process}.{number} {_text(op.name)}")

    def function(self, args: Sequence[Any], frame: FrameType) -> None:
        """A graph is made into a function, as a rule because a tf.function was traced."""
        name = args[1].decode() if isinstance(args[1], bytes) else args[1]
        graph = frame.f_locals.get("graph", frame.f_locals.get("temp_graph"))
        if graph is not None:
            number = f"{self.process}.{self.stack(frame)}"
            self.write(f"function {self.graph(graph)} {number} {_text(name)}")
        try:
            self.trace(name, graph, frame)
        except Exception:  # noqa: BLE001  an argument that can't be looked at; lines go on
            return

    def trace(self, name: str, graph: Any, frame: FrameType) -> None:
        """A tf.function was traced, if this is one."""
        traced = self.traces.traced(name, frame)
        if traced is None:
            return
        function, number, code, arguments = traced
        place = code and [self._relative(code.co_filename), code.co_firstlineno]
        took_us = None
        if hasattr(graph, "_tflogscope_began"):
            began, spent = graph._tflogscope_began  # noqa: SLF001
            took_us = round((perf_counter() - began - (self.spent - spent)) * 1e6)
        text = _text(json.dumps([place, arguments, took_us], separators=(",", ":")))
        while len(text) > _LINE and arguments:
            arguments.pop()
            text = _text(json.dumps([place, arguments, took_us], separators=(",", ":")))
        self.write(f"trace {self.process}.{function} {number} {_text(name)} {text}")

    def tape(self, args: Sequence[Any]) -> None:
        """A tape takes down a node; `_forward` finds it by its attributes."""
        attributes, outputs = args[2:4]
        graph = getattr(outputs[0], "graph", None) if outputs else None
        if attributes and graph is not None:
            if len(self.taped) > _KNOWN:
                self.taped = {}
            self.taped[id(attributes)] = (attributes, _nodes(graph).get(outputs[0].op.name, 0))

    def graph(self, graph: Any) -> str:
        """The graph's number, with the process that gave it."""
        number: str | None = getattr(graph, "_tflogscope_number", None)
        if number is None:
            # Not in its `__dict__`: what is given may be a weak reference that acts as the graph.
            number = graph._tflogscope_number = f"{self.process}.{next(self.graphs)}"  # noqa: SLF001
        return number

    def cost(self) -> None:
        """The program's own code has ended: what a line about an op cost, the median, and now."""
        if self.on and self.took:
            median = sorted(self.took)[len(self.took) // 2]
            with contextlib.suppress(OSError):
                self.write(f"cost {self.process} {round(median * 1e9)} {round(time() * 1e6)}")
                threads = " ".join(os.listdir("/proc/self/task"))  # noqa: PTH208  Linux
                self.write(f"threads {self.process} {threads}"[:_LINE])
        if self.left_out:
            with contextlib.suppress(OSError):
                self.write(f"left_out {self.process} {self.left_out}")

    def off(self, error: Exception) -> None:
        """Stop for good: an error here is never the program's."""
        if self.on:
            self.on = False
            said = _text(f"{type(error).__name__}: {error}".replace(" ", "_"))[:_NAME]
            with contextlib.suppress(OSError):
                self.write(f"off {self.process} {said}")


def _file_of(descriptor: int) -> tuple[int, int] | None:
    """Which file that is; None: it is closed."""
    try:
        status = os.fstat(descriptor)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _of_a_handler(error: Exception) -> bool:
    """Whether a signal handler of the program raised this: it came while the hook was at work."""
    codes = set()
    for number in range(1, signal.NSIG):
        with contextlib.suppress(ValueError):  # not a signal of this system
            handler: Any = signal.getsignal(number)
            while isinstance(handler, functools.partial):
                handler = handler.func
            if callable(handler):
                functions = getattr(handler, "__func__", handler), type(handler).__call__
                codes |= {getattr(each, "__code__", None) for each in functions}
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code in codes:
            return True
        trace = trace.tb_next
    return False


def _installed() -> tuple[str, ...]:
    """The folders of Python's own modules and of packages, with `/` at the end."""
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    paths = [sysconfig.get_paths().get(name) for name in names]
    paths += [os.path.dirname(os.__file__), os.path.dirname(__file__)]  # noqa: PTH120
    known = {os.path.abspath(each).replace(os.sep, "/") + "/" for each in paths if each}  # noqa: PTH100
    return tuple(sorted(known))


def _mark(path: str, function: str) -> str:
    """What a frame of TensorFlow or Keras says; "": nothing."""
    if not any(f"/{each}/" in path for each in (*_LIBRARIES, "multiprocessing")):
        return ""  # of another package, with folders of the same names
    for part, mark, *functions in _MARKS:
        if part in path and (not functions or function in functions[0]):
            return mark
    return ""


def _is_metric(value: object) -> bool:
    """Whether this is a metric of Keras, or of a class that the program derived from it."""
    classes = type(value).__mro__
    return any(
        each.__name__ == "Metric" and each.__module__.partition(".")[0] in _LIBRARIES
        for each in classes
    )


def _cell(name: str) -> str:
    """`In[3]` for the file that IPython makes of a notebook's cell, else the name itself."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    cells = getattr(getattr(shell, "compile", None), "_filename_map", {})
    return f"In[{cells[name]}]" if name in cells else name


def _text(text: str) -> str:
    """Text that is a word, whatever is in it, and that looks like no record."""
    text = "".join(each if each.isprintable() else f"\\u{ord(each):04x}" for each in text)
    return text.replace(" ", "\\u0020").replace("_verbose,", "\\u005fverbose,")


def _nodes(graph: Any) -> dict[str, int]:
    """The stacks of a graph's nodes, by their names."""
    found: dict[str, int] | None = getattr(graph, "_tflogscope_nodes", None)
    if found is None:
        found = graph._tflogscope_nodes = {}  # noqa: SLF001
    return found


def _forward(frame: FrameType | None) -> int:
    """The stack of the forward node if a gradient of it is being made, else 0."""
    while frame is not None:
        code = frame.f_code
        if code.co_name in _GRADIENTS and code.co_filename.endswith(_GRADIENTS[code.co_name]):
            values = frame.f_locals
            op = values.get("op")
            if op is not None:
                return _nodes(op.graph).get(op.name, 0)
            # A tape hands back the very tuple of attributes that it was given.
            attributes, number = _lines.taped.get(id(values.get("attr_tuple")), (None, 0))
            return number if attributes is values.get("attr_tuple") else 0
        frame = frame.f_back
    return 0


_GRADIENTS = {
    "_gradient_function": "backprop.py",
    "_MaybeCompile": "gradients_util.py",
}

# ---- what takes the place of TensorFlow's functions --------------------------------------------


def _before(original: Callable[..., Any], at: int) -> Callable[..., Any]:
    """The function of C++ that starts the op whose name is argument `at`."""

    def execute(*args: Any) -> Any:
        _lines.spend(_lines.op, args, at, sys._getframe(1))  # noqa: SLF001
        result = original(*args)
        _lines.ended()
        return result

    return execute


def _in_place_of(original: Any, function: Any, module: ModuleType) -> Any:
    """A function that a program can't tell from the original: name, signature, source and pickle.

    Its code is in the module's file: TensorFlow leaves frames of its own out of errors.
    """
    function.__code__ = function.__code__.replace(co_filename=module.__file__)
    functools.update_wrapper(function, original)
    function.__module__ = module.__name__  # functions of C++ are imported from another
    return function


def _write_whole_lines() -> None:
    """Old oneDNN leaves it to the C library when to write, which keeps back 4 KB for a pipe.

    Without a buffer of its own the library writes a line in pieces.
    """
    import ctypes

    library, size = ctypes.CDLL(None), 1 << 16
    _lines.buffer = ctypes.create_string_buffer(size)  # for good: the library goes on to use it
    stdout = ctypes.c_void_p.in_dll(library, "stdout")
    library.setvbuf(stdout, _lines.buffer, _IOLBF, ctypes.c_size_t(size))


def _patch_tfe(module: Any) -> None:
    with contextlib.suppress(Exception):  # a C library that calls it something else
        _write_whole_lines()
    if (value := os.environ.get(_SWITCH, "")) not in ("", _BEFORE):
        _lines.spend(_lines.write, f"setting {_lines.process} {_text(value)}")
    for name, at in ("FastPathExecute", 1), ("Execute", 2), ("ExecuteCancelable", 2):
        original = getattr(module, f"TFE_Py_{name}")
        setattr(module, f"TFE_Py_{name}", _in_place_of(original, _before(original, at), module))

    # In a notebook Python would print dispatches, and leave out time and thread.
    module.TFE_Py_EnableInteractivePythonLogging = lambda: None
    original = module.TFE_Py_RecordGradient

    def record(*args: Any) -> Any:
        _lines.spend(_lines.tape, args)
        return original(*args)

    module.TFE_Py_RecordGradient = _in_place_of(original, record, module)


def _patch_session(module: Any) -> None:
    original = module.TF_GraphToFunction_wrapper

    def make(*args: Any) -> Any:
        _lines.spend(_lines.function, args, sys._getframe(1))  # noqa: SLF001
        return original(*args)

    module.TF_GraphToFunction_wrapper = _in_place_of(original, make, module)


def _patch_ops(module: Any) -> None:
    original = module.Graph._create_op_internal  # noqa: SLF001

    def create(*args: Any, **kwargs: Any) -> Any:
        op = original(*args, **kwargs)
        _lines.spend(_lines.node, op, sys._getframe(1))  # noqa: SLF001
        return op

    module.Graph._create_op_internal = _in_place_of(original, create, module)  # noqa: SLF001
    init_original = module.Graph.__init__

    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        init_original(self, *args, **kwargs)
        self._tflogscope_began = perf_counter(), _lines.spent

    module.Graph.__init__ = _in_place_of(init_original, init, module)


def _patch_constants(module: Any) -> None:
    original = module.convert_to_eager_tensor

    def convert(*args: Any, **kwargs: Any) -> Any:
        _lines.spend(_lines.op, (_CONSTANT,), 0, sys._getframe(1))  # noqa: SLF001
        tensor = original(*args, **kwargs)
        _lines.ended()
        return tensor

    module.convert_to_eager_tensor = _in_place_of(original, convert, module)


def _patch_autograph(module: Any) -> None:
    original = module.create_source_map

    def create(nodes: Any, code: Any, filepath: str) -> Any:
        made = original(nodes, code, filepath)
        _lines.spend(_lines.origins, filepath, module, nodes, code)
        return made

    module.create_source_map = _in_place_of(original, create, module)
    resolve_original = module.resolve_entity

    def resolve(node: Any, source: str, entity: Any) -> None:
        resolve_original(node, source, entity)
        _lines.spend(_lines.shifted, module, node, entity)

    module.resolve_entity = _in_place_of(resolve_original, resolve, module)


def _patch_process(module: Any) -> None:
    original = module._cleanup  # noqa: SLF001  the first that `start` calls, of 3.8 and later

    def cleanup() -> None:
        _lines.spend(_lines.stack, sys._getframe(1))  # noqa: SLF001
        original()

    module._cleanup = _in_place_of(original, cleanup, module)  # noqa: SLF001


def _patch_kernel(module: Any) -> None:
    """Let C++ write past the kernel of a notebook, which cuts lines anywhere."""
    original = module.OutStream.__init__

    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        kwargs["watchfd"] = False
        original(self, *args, **kwargs)

    if "watchfd" in getattr(getattr(original, "__code__", None), "co_varnames", ()):
        module.OutStream.__init__ = init


_PATCHES: dict[str, Callable[[Any], None]] = {
    "tensorflow.python.pywrap_tfe": _patch_tfe,
    "tensorflow.python.client.pywrap_tf_session": _patch_session,
    "tensorflow.python.framework.ops": _patch_ops,
    "tensorflow.python.framework.constant_op": _patch_constants,
    "tensorflow.python.autograph.pyct.origin_info": _patch_autograph,
    "multiprocessing.process": _patch_process,
    "ipykernel.iostream": _patch_kernel,
}


class Finder:
    """Waits for the modules of TensorFlow, each of which is changed once it has been run."""

    def __init__(self, patches: dict[str, Callable[[Any], None]]) -> None:
        self.patches = patches

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Find a module as Python would, and see to it that it is changed."""
        patch = self.patches.get(name)
        if patch is None:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            loader = spec.loader
            original = loader.exec_module

            def run(module: ModuleType) -> None:
                original(module)
                try:
                    patch(module)
                except Exception as error:  # noqa: BLE001
                    _lines.off(error)

            loader.exec_module = run  # type: ignore[method-assign]
        return spec


def finder() -> Finder:
    """What changes the modules of a program whose lines are written down."""
    atexit.register(_lines.cost)
    return Finder(_PATCHES)


_lines = _Lines()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_lines.forked)
