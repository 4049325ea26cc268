"""What Python runs when it starts in a program that is recorded with `--lines` or `--calibrate`.

It waits for TensorFlow to be imported, and runs the `sitecustomize` that this one hides. It has to
work in Python 3.8, and without tflogscope.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import sys


def _run_hidden() -> None:
    """Run the user's own sitecustomize: the next one on the path."""
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", sys.path)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


try:
    if "TFLOGSCOPE_ERRORS" in os.environ:
        import tflogscope_errors  # type: ignore[import-not-found]

        tflogscope_errors.part_errors()
    if "TFLOGSCOPE_CLOCK" in os.environ:  # a run without a log
        import tflogscope_clock as hook  # type: ignore[import-not-found]  # it is beside this file
    else:
        import tflogscope_patches as hook  # type: ignore[import-not-found]

    sys.meta_path.insert(0, hook.finder())
except Exception as error:  # noqa: BLE001  never the program's
    os.write(2, f"tflogscope off {os.getpid()} {type(error).__name__}\n".encode())

# The program's path is as it would be; programs that it starts find this folder by PYTHONPATH.
_here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120  quick to import
sys.path[:] = [path for path in sys.path if os.path.abspath(path) != _here]  # noqa: PTH100
_run_hidden()
