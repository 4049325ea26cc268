"""Runs a program file with `import tensorflow as tf` bound to the runtime.

Python looks into `sys.modules` before it looks for files, so the runtime's namespaces are entered
there under TensorFlow's names; a name that is not there is refused at the import, instead of being
found in a real TensorFlow that may be installed.
"""

from __future__ import annotations

import importlib.abc
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from importlib.machinery import ModuleSpec
    from types import TracebackType

NAMES = ("tensorflow", "keras")
_API, _DATA, _KERAS = (f"tflogscope.runtime.{chapter}" for chapter in ("api", "data", "keras"))


def bind() -> ModuleType:
    """Make `import tensorflow` and `import keras` mean the runtime in this process.

    Returns:
        The `tf` namespace.
    """
    from tflogscope.runtime import api, keras

    bound = {name: module for name, module in sys.modules.items() if _is_ours(name)}
    for name in bound:
        del sys.modules[name]
    sys.modules.update(_namespaces("tensorflow", api))
    sys.modules.update(_namespaces("keras", keras))
    if not any(isinstance(finder, _Refusal) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Refusal())
    return api


def run_program(path: str, source: bytes, arguments: Sequence[str]) -> int:
    """Run a program as `python PATH ARGUMENTS` would, on the runtime.

    Args:
        path: the program's file as the user named it: its folder becomes `sys.path[0]`.
        source: what is in it.
        arguments: the rest of `sys.argv`.

    Returns:
        The exit status; what the program raised and did not catch was printed as Python prints it.
    """
    bind()
    # TensorFlow 2.13 came with NumPy 1: a list of numbers prints [0.5], not [np.float32(0.5)]
    np.set_printoptions(legacy="1.25")
    sys.argv = [path, *arguments]
    sys.path.insert(0, str(Path(path).absolute().parent))
    program = ModuleType("__main__")
    program.__dict__.update(__file__=path, __builtins__=__builtins__)
    sys.modules["__main__"] = program
    try:
        exec(compile(source, path, "exec"), program.__dict__)  # noqa: S102  it is what was asked for
    except SystemExit as ended:
        return _exit_status(ended)
    except BaseException as error:  # noqa: BLE001  as Python itself at the end
        _print_uncaught(error)
        return 130 if isinstance(error, KeyboardInterrupt) else 1
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
    return found.__name__ in {_DATA, _KERAS} or found.__name__.startswith(f"{_API}.")


class _Refusal(importlib.abc.MetaPathFinder):
    """Says which part of TensorFlow the runtime does not have, when a program imports it."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
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


def _print_uncaught(error: BaseException) -> None:
    """The traceback of the user's program, without the frame of this module that started it."""
    trace: TracebackType | None = error.__traceback__
    if isinstance(error, SyntaxError) and trace is not None and trace.tb_next is None:
        trace = None  # it did not compile: Python shows no frame at all
    elif trace is not None:
        trace = trace.tb_next
    if sys.excepthook is sys.__excepthook__:
        traceback.print_exception(type(error), error, trace)
    else:
        sys.excepthook(type(error), error, trace)
