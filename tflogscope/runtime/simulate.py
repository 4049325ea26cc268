"""Runs a program file with `import tensorflow` bound to the runtime, with the rights of whoever runs
it: this is no sandbox.
"""

from __future__ import annotations

import importlib.abc
import sys
import traceback
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

import numpy as np

from tflogscope.runtime.core import context
from tflogscope.runtime.names import bind

_OWN = str(Path(__file__).parent)


class _Refusal(importlib.abc.MetaPathFinder):
    """A module of TensorFlow that the runtime does not have is refused where it is imported, and not
    found in a real TensorFlow that may be installed.
    """

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        if name.partition(".")[0] not in {"tensorflow", "keras"}:
            return None
        raise ModuleNotFoundError(
            f"{name} is not in tflogscope's reference runtime, which is small on purpose. To see "
            "TensorFlow's own log of the program, record it: tflogscope record -- python PROGRAM.py",
            name=name,
        )


def run_program(
    path: str, source: bytes, arguments: Sequence[str], followed: str = context.BASE
) -> int:
    """Run a program as `python PATH ARGUMENTS` would. Gives its exit code; what it raised and did not
    catch has been printed as Python prints it.
    """
    bind(followed)
    # with NumPy 1 a list of numbers prints [0.5], not [np.float32(0.5)]; TensorFlow 2.18 was the
    # first to allow NumPy 2
    np.set_printoptions(legacy=False if context.since(2, 18) else "1.25")
    file = Path(path).absolute()
    program = ModuleType("__main__")
    program.__dict__.update(__file__=str(file), __builtins__=__builtins__)
    sys.argv = [path, *arguments]
    sys.path.insert(0, str(file.parent))
    sys.modules["__main__"] = program
    refusal = _Refusal()
    sys.meta_path.insert(0, refusal)
    try:
        exec(compile(source, file, "exec"), program.__dict__)  # noqa: S102 - it is what was asked for
    except SystemExit as ended:
        code: Any = ended.code
        if isinstance(code, str):
            sys.stderr.write(f"{code}\n")
        return code & 0xFF if isinstance(code, int) else int(code is not None)
    except BaseException as error:  # noqa: BLE001 - as Python itself at the end
        _print_uncaught(error)
        return 130 if isinstance(error, KeyboardInterrupt) else 1
    finally:
        sys.meta_path.remove(refusal)
        bind()  # what comes next in this process follows the runtime's own release again
    return 0


def _print_uncaught(error: BaseException) -> None:
    """The traceback of the program, without the runtime's frames."""
    kept: TracebackType | None = None
    for frame, line in reversed(list(traceback.walk_tb(error.__traceback__))):
        if not frame.f_code.co_filename.startswith(_OWN):
            kept = TracebackType(kept, frame, frame.f_lasti, line)
    sys.excepthook(type(error), error.with_traceback(kept), kept)
