"""Run a program on the runtime and tell what it did, in the form in which `record_programs.py`
tells it of TensorFlow.

python -m tests.runtime.run_watched PROGRAM.py [RELEASE]        prints JSON
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.runtime.record_programs import node_text, normal
from tflogscope.runtime import telling
from tflogscope.runtime.simulate import run_program


class Watcher(telling.Listener):
    """Notes the eager ops and the traced functions."""

    def __init__(self) -> None:
        self.eager: list[str] = []
        self.functions: list[tuple[str, list[str]]] = []

    def constant_made(self, tensor: Any, *, cast: bool) -> None:
        del tensor
        self.eager += ["Cast", "_EagerConst"] if cast else ["_EagerConst"]

    def op_dispatched(
        self,
        op: str,
        inputs: Sequence[Any],
        attributes: Mapping[str, Any],
        device: str,
        cached: bool,
    ) -> None:
        del inputs, attributes, device, cached
        self.eager.append(normal(op))

    def function_traced(self, name: str, function: Any) -> None:
        self.functions.append((normal(name), nodes(function)))


def nodes(function: Any) -> list[str]:
    """The nodes of a function's graph as text."""
    lines = []
    for node in function.graph.nodes:
        inputs = [_input(tensor) for tensor in node.inputs]
        inputs += [f"^{each.name}" for each in node.control_inputs]
        lines.append(node_text(node.name, node.type, inputs))
    return lines


def _input(tensor: Any) -> str:
    name: str = tensor.op.name
    return name + (f":{tensor.value_index}" if tensor.value_index else "")


def main() -> None:
    """Run it, then print what was seen."""
    path, *releases = Path(sys.argv[1]), *sys.argv[2:]
    printed, watcher = io.StringIO(), Watcher()
    with contextlib.redirect_stdout(printed), telling.listen(watcher):
        status = run_program(str(path), path.read_bytes(), [], *releases)
    seen = {
        "status": status,
        "stdout": printed.getvalue(),
        "eager": watcher.eager,
        "graphs": watcher.functions,
    }
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
