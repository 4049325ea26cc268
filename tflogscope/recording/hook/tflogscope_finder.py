"""Changes modules of TensorFlow once they have been run, where `import` finds them.

It runs inside the recorded program; see `tflogscope_lines.py`.
"""

from __future__ import annotations

import functools
import importlib.machinery
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

FUNCTIONS = ("__inference_", "__forward_", "__backward_")
"""How names of graph functions begin (python/eager/polymorphic_function/concrete_function.py)."""


def in_place_of(original: Any, function: Any, module: ModuleType) -> Any:
    """A function that a program can't tell from the original: name, signature, source and pickle.

    Its code is in the module's file: TensorFlow leaves frames of its own out of errors.
    """
    function.__code__ = function.__code__.replace(co_filename=module.__file__)
    functools.update_wrapper(function, original)
    function.__module__ = module.__name__  # functions of C++ are imported from another
    return function


class Finder:
    """Waits for the modules of TensorFlow, each of which is changed once it has been run."""

    def __init__(
        self, patches: dict[str, Callable[[Any], None]], failed: Callable[[Exception], object]
    ) -> None:
        """`failed` is called where a patch raises: an error here is never the program's."""
        self.patches, self.failed = patches, failed

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
                    self.failed(error)

            loader.exec_module = run  # type: ignore[method-assign]
        return spec
