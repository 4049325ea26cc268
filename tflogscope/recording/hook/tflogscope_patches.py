"""What takes the place of functions of TensorFlow, so that lines are written of what they do.

It runs inside the recorded program; `tflogscope_lines.py` says why these functions.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
from collections.abc import Callable
from time import perf_counter
from typing import Any

from tflogscope_finder import (  # type: ignore[import-not-found]  # it is beside this file
    Finder,
    in_place_of,
)
from tflogscope_lines import lines  # type: ignore[import-not-found]
from tflogscope_stacks import word  # type: ignore[import-not-found]

_IOLBF = 1  # whole lines: stdio.h of Linux and macOS
_CONSTANT = "_EagerConst"  # the op that makes a tensor of a value
_SWITCH = "TF_ENABLE_ONEDNN_OPTS"  # TensorFlow reads it when it first wants to know
_BEFORE = os.environ.get(_SWITCH)


def _before(original: Callable[..., Any], at: int) -> Callable[..., Any]:
    """The function of C++ that starts the op whose name is argument `at`."""

    def execute(*args: Any) -> Any:
        lines.spend(lines.op, args, at, sys._getframe(1))  # noqa: SLF001
        try:
            return original(*args)
        finally:  # the last element of a dataset is an error, too
            lines.ended()

    return execute


def _write_whole_lines() -> None:
    """Old oneDNN leaves it to the C library when to write, which keeps back 4 KB for a pipe.

    Without a buffer of its own the library writes a line in pieces.
    """
    import ctypes

    library, size = ctypes.CDLL(None), 1 << 16
    lines.buffer = ctypes.create_string_buffer(size)  # for good: the library goes on to use it
    stdout = ctypes.c_void_p.in_dll(library, "stdout")
    library.setvbuf(stdout, lines.buffer, _IOLBF, ctypes.c_size_t(size))


def _patch_tfe(module: Any) -> None:
    with contextlib.suppress(Exception):  # a C library that calls it something else
        _write_whole_lines()
    if (value := os.environ.get(_SWITCH, "")) not in ("", _BEFORE):
        lines.spend(lines.write, f"setting {lines.process} {word(value)}")
    _patch_exit()
    for name, at in ("FastPathExecute", 1), ("Execute", 2), ("ExecuteCancelable", 2):
        original = getattr(module, f"TFE_Py_{name}")
        setattr(module, f"TFE_Py_{name}", in_place_of(original, _before(original, at), module))

    # In a notebook Python would print dispatches, and leave out time and thread.
    module.TFE_Py_EnableInteractivePythonLogging = lambda: None
    original = module.TFE_Py_RecordGradient

    def record(*args: Any) -> Any:
        lines.spend(lines.tape, args)
        return original(*args)

    module.TFE_Py_RecordGradient = in_place_of(original, record, module)


def _patch_exit() -> None:
    """A process that was forked ends by os._exit, which runs nothing of what waits for the end."""
    original = os._exit

    def leave(*args: Any, **kwargs: Any) -> None:
        lines.cost()
        original(*args, **kwargs)

    os._exit = in_place_of(original, leave, os)


def _patch_session(module: Any) -> None:
    original = module.TF_GraphToFunction_wrapper

    def make(*args: Any) -> Any:
        lines.spend(lines.function, args, sys._getframe(1))  # noqa: SLF001
        return original(*args)

    module.TF_GraphToFunction_wrapper = in_place_of(original, make, module)


def _patch_ops(module: Any) -> None:
    original = module.Graph._create_op_internal  # noqa: SLF001

    def create(*args: Any, **kwargs: Any) -> Any:
        op = original(*args, **kwargs)
        lines.spend(lines.node, op, sys._getframe(1))  # noqa: SLF001
        return op

    module.Graph._create_op_internal = in_place_of(original, create, module)  # noqa: SLF001
    init_original = module.Graph.__init__

    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        init_original(self, *args, **kwargs)
        self._tflogscope_began = perf_counter(), lines.spent

    module.Graph.__init__ = in_place_of(init_original, init, module)


def _patch_constants(module: Any) -> None:
    original = module.convert_to_eager_tensor

    def convert(*args: Any, **kwargs: Any) -> Any:
        lines.spend(lines.op, (_CONSTANT,), 0, sys._getframe(1))  # noqa: SLF001
        tensor = original(*args, **kwargs)
        lines.ended()
        return tensor

    module.convert_to_eager_tensor = in_place_of(original, convert, module)


def _patch_autograph(module: Any) -> None:
    original = module.create_source_map

    def create(nodes: Any, code: Any, filepath: str) -> Any:
        made = original(nodes, code, filepath)
        lines.spend(lines.stacks.origins, filepath, module, nodes, code)
        return made

    module.create_source_map = in_place_of(original, create, module)
    resolve_original = module.resolve_entity

    def resolve(node: Any, source: str, entity: Any) -> None:
        resolve_original(node, source, entity)
        lines.spend(lines.stacks.shifted, module, node, entity)

    module.resolve_entity = in_place_of(resolve_original, resolve, module)


def _patch_process(module: Any) -> None:
    original = module._cleanup  # noqa: SLF001  the first that `start` calls, of 3.8 and later

    def cleanup() -> None:
        lines.spend(lines.stacks.number, sys._getframe(1))  # noqa: SLF001
        original()

    module._cleanup = in_place_of(original, cleanup, module)  # noqa: SLF001


def _patch_popen(module: Any) -> None:
    """A pool ends its workers by a signal, which says nothing of what they had to do."""
    original = module.Popen._send_signal  # noqa: SLF001

    def send(self: Any, number: int) -> None:
        lines.spend(lines.write, f"stopped {self.pid} {int(number)}")
        original(self, number)

    module.Popen._send_signal = in_place_of(original, send, module)  # noqa: SLF001


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
    "multiprocessing.popen_fork": _patch_popen,
    "multiprocessing.process": _patch_process,
    "ipykernel.iostream": _patch_kernel,
}


def finder() -> Finder:
    """What changes the modules of a program whose lines are written down."""
    atexit.register(lines.cost)
    return Finder(_PATCHES, lines.off)
