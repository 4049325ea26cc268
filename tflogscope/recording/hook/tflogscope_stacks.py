"""Which lines of the program are about to do something: its stack, without frames of libraries.

It runs inside the recorded program; see `tflogscope_lines.py`. A stack is written once and has a
number. Frames of the user's own are named by file, line and function; of the others some say what
goes on (`gradient`, `optimizer`), which is written as a mark.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import sysconfig
from collections.abc import Callable
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

from tflogscope_autograph import (  # type: ignore[import-not-found]  # it is beside this file
    Origin,
    Origins,
    moved,
)

_FRAMES = 24  # of a stack, the nearest ones
LINE = 3900  # characters of them: a pipe takes no more than 4,096 bytes as one piece
NAME = 300  # characters of a file's or a function's name
KNOWN = 1 << 16  # so many places are remembered

_PACKAGES = ("/site-packages/", "/dist-packages/")
_DECORATORS = {"check_shapes", "decorator", "jaxtyping", "typeguard", "wrapt"}  # they run nothing
# Those of TensorFlow: `deprecated`, `do_not_convert`, `custom_gradient`, `with_name_scope`, and
# what wraps its own functions (dispatch.py, traceback_utils.py). They may call a library.
_WRAPPERS = (
    "/tensorflow/python/util/",
    "/tensorflow/python/autograph/impl/api.py",
    "/tensorflow/python/ops/custom_gradient.py",
    "/tensorflow/python/module/module.py",
)
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
    ("/src/layers/", "loop", ("quantize",)),
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
    ("/serialization_lib.py", ""),  # of configurations: optimizers.get("adam") writes no file
    ("/serialization.py", ""),  # of Keras 2, and the next one
    ("/model_config.py", ""),
    ("/keras/saving/", "saving"),
    ("/src/saving/", "saving"),
    ("/src/export/", "saving"),
    ("/multiprocessing/process.py", "process", ("start",)),
)


if TYPE_CHECKING:  # Python 3.8 can't run these
    # A code, whether it is the user's own, its mark, and its module in a package ("": it is the
    # user's, of TensorFlow or of Keras; None: of Python or of a decorator, which say nothing).
    _Kind = tuple[CodeType, bool, str, str | None]
    _Codes = dict[int, _Kind]
    _Known = tuple[_Codes, dict[tuple[Any, ...], int]]  # codes, and numbers of stacks


class Stacks:
    """The stacks there are. A process that is forked begins anew."""

    def __init__(self, write: Callable[[str], None]) -> None:
        """`write` writes a line."""
        self.write = write
        self.folder = os.environ.get("TFLOGSCOPE_LINES", "")
        self.generated: dict[str, Origins] = {}
        self.moved: dict[int, tuple[Any, Origin]] = {}
        self.installed = _installed()
        self.forked()

    def forked(self) -> None:
        """Number everything from the beginning, for this process."""
        self.process = os.getpid()
        self.known: _Known = ({}, {})
        self.numbers = itertools.count(1)
        self.texts: dict[str, int] = {}

    def origins(self, filepath: str, *generated: Any) -> None:
        """Keep where code comes from that AutoGraph generated."""
        self.generated[filepath] = Origins(*generated, self.moved)

    def shifted(self, module: Any, node: Any, entity: Any) -> None:
        """Keep origins of a function that AutoGraph gives other lines."""
        self.moved.update(moved(module, node, entity))

    def number(self, frame: FrameType | None) -> int:
        """The number of the stack of the user's own frames; 0 if there is none of these."""
        if len(self.known[0]) > KNOWN:
            self.known = ({}, {})
        (codes, stacks), first = self.known, frame
        key: list[int | str] = []
        own_seen, entered = False, ""
        while frame is not None:
            code = frame.f_code
            _, is_own, mark, package = codes.get(id(code)) or self._kind(code, frame, codes)
            if mark and not (key and key[-1] == mark):
                key.append(mark)
            if is_own:
                if entered and not own_seen:
                    key.append(entered)
                own_seen = True
                key.append(id(code))
                key.append(frame.f_lasti)
            if package is not None:
                entered = package
            frame = frame.f_back
        if not own_seen:
            return 0
        number = stacks.get(tuple(key))
        if number is None:
            number = stacks[tuple(key)] = self._new(first, codes)
        return number

    def _kind(self, code: CodeType, frame: FrameType, codes: _Codes) -> _Kind:
        """Whether a frame is the user's own, what it says ("": nothing), and its package."""
        name, module = file_of(code, frame.f_globals), str(frame.f_globals.get("__name__", ""))
        is_own, mark = True, ""
        package: str | None = ""
        origins = self.generated.get(name)
        if origins:  # AutoGraph rewrites functions of Keras, too
            name, module = origins.file, ""
        if name.startswith("<"):  # `<string>` is the program with `python -c`, else it is called
            main = getattr(sys.modules.get("__main__"), "__file__", None) is None
            is_own = (module == "__main__" and main) or name.startswith(("<ipython", "<stdin"))
            package = "" if is_own else None
        else:
            path = os.path.abspath(name).replace(os.sep, "/")  # noqa: PTH100
            top = module.partition(".")[0]
            outside = top in _LIBRARIES or "__autograph_generated" in path
            packaged = any(part in path for part in _PACKAGES)
            if outside or packaged or path.startswith(self.installed):
                is_own, mark = False, _mark(path, code.co_name)
                wraps = top in _DECORATORS or any(part in path for part in _WRAPPERS)
                package = None if wraps else "" if outside else module if packaged else None
        if is_own and code.co_argcount and _is_metric(frame.f_locals.get(code.co_varnames[0])):
            mark = "metric"
        kind = codes[id(code)] = (code, is_own, mark, package)  # a code that is kept keeps its id
        return kind

    def _new(self, frame: FrameType | None, codes: _Codes) -> int:
        frames: list[object] = []
        entered, nearest = "", True
        while frame is not None and len(frames) < _FRAMES:
            _, is_own, mark, package = codes.get(id(frame.f_code), (None, False, "", ""))
            if mark and (not frames or frames[-1] != mark):
                frames.append(mark)
            if is_own:
                if entered and nearest:
                    frames.append(f"package:{entered}")
                nearest = False
                frames.append(self._place(frame))
            if package is not None:
                entered = package
            frame = frame.f_back
        text = word(json.dumps(frames, separators=(",", ":")))
        while len(text) > LINE:
            frames.pop()
            text = word(json.dumps(frames, separators=(",", ":")))
        number = self.texts.get(text)
        if number is None:
            # Written first, so that no line names a stack that is not there; two threads may write
            # one twice.
            number = next(self.numbers)
            self.write(f"stack {self.process}.{number} {text}")
            self.texts[text] = number
        return number

    def _place(self, frame: FrameType) -> tuple[str, int, str]:
        code, line = frame.f_code, frame.f_lineno
        name, function = file_of(code, frame.f_globals), code.co_name
        origins = self.generated.get(name)
        if origins:
            name, line, function = origins.of(frame)
        return self.relative(name), line, function[:NAME]

    def relative(self, name: str) -> str:
        """A file as the log names it: from the folder of the program on, or the notebook's cell."""
        name = _cell(name)
        if not name.startswith(("<", "In[")):
            name = os.path.abspath(name)  # noqa: PTH100
            if self.folder and name.startswith(self.folder + os.sep):
                name = name[len(self.folder) + 1 :].replace(os.sep, "/")
        return name[-NAME:]


def file_of(code: CodeType, names: dict[str, Any]) -> str:
    """The file of a code. cloudpickle (joblib, Ray) sends code without it, its globals with it."""
    name = code.co_filename
    return str(names.get("__file__", name)) if name == "<dynamic-code>" else name


def _installed() -> tuple[str, ...]:
    """The folders of Python's own modules and of packages, with `/` at the end."""
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    paths = [sysconfig.get_paths().get(name) for name in names]
    paths += [os.path.dirname(os.__file__), os.path.dirname(__file__)]  # noqa: PTH120
    folders = {os.path.abspath(path).replace(os.sep, "/") + "/" for path in paths if path}  # noqa: PTH100
    return tuple(sorted(folders))


def _mark(path: str, function: str) -> str:
    """What a frame of TensorFlow or Keras says; "": nothing."""
    if not any(f"/{name}/" in path for name in (*_LIBRARIES, "multiprocessing")):
        return ""  # of another package, with folders of the same names
    for part, mark, *functions in _MARKS:
        if part in path and (not functions or function in functions[0]):
            return mark
    return ""


def _is_metric(value: object) -> bool:
    """Whether this is a metric of Keras, or of a class that the program derived from it."""
    classes = type(value).__mro__
    return any(
        base.__name__ == "Metric" and base.__module__.partition(".")[0] in _LIBRARIES
        for base in classes
    )


def _cell(name: str) -> str:
    """`In[3]` for the file that IPython makes of a notebook's cell, else the name itself."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    cells = getattr(getattr(shell, "compile", None), "_filename_map", {})
    return f"In[{cells[name]}]" if name in cells else name


def word(text: str) -> str:
    """Text that is a word, whatever is in it, and that looks like no record."""
    text = "".join(letter if letter.isprintable() else f"\\u{ord(letter):04x}" for letter in text)
    return text.replace(" ", "\\u0020").replace("_verbose,", "\\u005fverbose,")
