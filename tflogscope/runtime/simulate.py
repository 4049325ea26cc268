"""Runs a program file with `import tensorflow as tf` bound to the runtime.

Python looks into `sys.modules` before it looks for files, so the runtime's namespaces are entered
there under TensorFlow's names; a name that is not there is refused at the import, instead of being
found in a real TensorFlow that may be installed.
"""

from __future__ import annotations

import importlib.abc
import os
import sys
import traceback
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from tflogscope.runtime import release, shapes, stacks

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from importlib.machinery import ModuleSpec

NAMES = ("tensorflow", "keras")
_API = "tflogscope.runtime.api"
_DATA, *_KERAS = (f"tflogscope.runtime.{chapter}" for chapter in ("data", "keras", "keras3"))


def keras_of_release() -> ModuleType:
    """The Keras that comes with the release that is followed: 2.16 was the first with Keras 3."""
    if release.since(2, 16):
        from tflogscope.runtime import keras3

        return keras3
    from tflogscope.runtime import keras as keras2

    return keras2


def bind(followed: str = release.BASE) -> ModuleType:
    """Make `import tensorflow` and `import keras` mean the runtime in this process.

    Args:
        followed: the release of TensorFlow that it is like, where releases differ.

    Returns:
        The `tf` namespace.
    """
    from tflogscope.runtime import api

    release.follow(followed)
    shapes.show_unknown_dimensions_as("None")
    api.version.follow(followed)
    keras: Any = keras_of_release()
    api.__version__, keras.__version__ = api.version.VERSION, api.version.KERAS_VERSION
    api.keras = keras
    for chapter in ("initializers", "losses", "metrics", "optimizers"):
        setattr(api, chapter, getattr(keras, chapter))
    bound = {name: module for name, module in sys.modules.items() if _is_ours(name)}
    for name in bound:
        del sys.modules[name]
    namespaces = {**dict(_namespaces("keras", keras)), **dict(_namespaces("tensorflow", api))}
    for module in namespaces.values():
        if not hasattr(module, "__path__"):
            module.__path__ = []  # to Python a package: what it lacks is looked for
    sys.modules.update(namespaces)
    sys.meta_path[:] = [each for each in sys.meta_path if not isinstance(each, _Refusal)]
    sys.meta_path.insert(0, _Refusal({part.__name__: name for name, part in namespaces.items()}))
    return api


def run_program(
    path: str, source: bytes, arguments: Sequence[str], followed: str = release.BASE
) -> int:
    """Run a program as `python PATH ARGUMENTS` would, on the runtime.

    Args:
        path: the program's file as the user named it: its folder becomes `sys.path[0]`.
        source: what is in it.
        arguments: the rest of `sys.argv`.
        followed: the release of TensorFlow that it is like, where releases differ.

    Returns:
        The exit status; what the program raised and did not catch was printed as Python prints it.
    """
    bind(followed)
    # with NumPy 1 a list of numbers prints [0.5], not [np.float32(0.5)]; 2.18 was the first
    # TensorFlow to allow NumPy 2 (REQUIRED_PACKAGES of tensorflow/tools/pip_package/setup.py)
    np.set_printoptions(legacy=False if release.since(2, 18) else "1.25")
    sys.argv = [path, *arguments]
    file = Path(path).absolute()
    sys.path.insert(0, str(file.parent))
    program = ModuleType("__main__")
    program.__dict__.update(__file__=str(file), __builtins__=__builtins__)
    sys.modules["__main__"] = program
    try:
        exec(compile(source, file, "exec"), program.__dict__)  # noqa: S102  it is what was asked for
    except SystemExit as ended:
        return _exit_status(ended)
    except BaseException as error:  # noqa: BLE001  as Python itself at the end
        _print_uncaught(error)
        return 130 if isinstance(error, KeyboardInterrupt) else 1
    finally:
        bind()  # what comes next in this process follows the runtime's own release again
    return 0


def _is_ours(name: str) -> bool:
    return name.partition(".")[0] in NAMES


def _namespaces(name: str, module: ModuleType) -> Iterator[tuple[str, ModuleType]]:
    """The module and those inside it that belong to the public API, with their dotted names."""
    yield name, module
    for attribute, value in list(vars(module).items()):
        if isinstance(value, ModuleType) and _is_part(value, module) and attribute[0] != "_":
            yield from _namespaces(f"{name}.{attribute}", value)


def _is_part(found: ModuleType, module: ModuleType) -> bool:
    """Whether a module found as an attribute is a part of the other, not just imported by it."""
    if not module.__name__.startswith(_API):
        return found.__name__.startswith(f"{module.__name__}.")
    # The files of `api` are no tree: `tf.config.experimental` is config_experimental.py.
    return found.__name__ in {_DATA, *_KERAS} or found.__name__.startswith(f"{_API}.")


class _Refusal(importlib.abc.MetaPathFinder):
    """Says which part of TensorFlow the runtime does not have, when a program imports it.

    `names`: what programs call the modules of the runtime. `from tensorflow.nn import x` looks for
    a submodule of the module that `tensorflow.nn` is, if that has no `x`.
    """

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del target
        parent, _, part = name.rpartition(".")
        if parent in self._names and PathFinder.find_spec(name, path) is None:
            name = f"{self._names[parent]}.{part}"
        if _is_ours(name):
            raise ModuleNotFoundError(f"{name} is not in tflogscope's reference runtime", name=name)
        return None


def _exit_status(ended: SystemExit) -> int:
    """What the shell would see: `sys.exit("message")` prints it and means 1."""
    code: Any = ended.code
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    sys.stderr.write(f"{code}\n")
    return 1


def _users_frames(trace: TracebackType | None) -> TracebackType | None:
    kept: TracebackType | None = None
    for frame, line in reversed(list(traceback.walk_tb(trace))):
        if not stacks.is_runtimes(frame.f_code.co_filename):
            kept = TracebackType(kept, frame, frame.f_lasti, line)
    return kept


def _print_uncaught(error: BaseException) -> None:
    """The traceback of the user's program, without the runtime's frames and that of this module.

    TensorFlow leaves its own frames out too: `util/traceback_utils.py`.
    """
    trace: TracebackType | None = error.__traceback__
    if isinstance(error, SyntaxError) and trace is not None and trace.tb_next is None:
        trace = None  # it did not compile: Python shows no frame at all
    elif not os.environ.get("TFLOGSCOPE_TRACEBACK"):
        trace = _users_frames(trace)
    if sys.excepthook is sys.__excepthook__:
        traceback.print_exception(type(error), error, trace)
    else:
        sys.excepthook(type(error), error, trace)
