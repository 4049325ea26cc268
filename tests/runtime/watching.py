"""What the runtime did, as text: its side of what `record.py` says of TensorFlow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from tests.runtime import table
from tflogscope.runtime.core import telling
from tflogscope.runtime.core.dtypes import DType
from tflogscope.runtime.core.shapes import TensorShape

NOT_SHOWN = {"container", "config", "config_proto", "executor_type"}


class Watcher(telling.Listener):
    """Notes the ops that run eagerly."""

    def __init__(self) -> None:
        self.ops: list[str] = []

    def op_dispatched(
        self,
        op: str,
        inputs: Sequence[Any],
        attributes: Mapping[str, Any],
        outputs: Sequence[Any],
        cached: bool,
    ) -> None:
        del inputs, outputs, cached
        if op not in table.UNTOLD:
            self.ops.append(op + attributes_text(attributes))


@contextmanager
def watch() -> Iterator[list[str]]:
    watcher = Watcher()
    with telling.listen(watcher):
        yield watcher.ops


def nodes(concrete: Any) -> list[str]:
    """The nodes of a concrete function's graph, in order of creation."""
    return [node_text(each) for each in concrete.graph.nodes]


def node_text(node: Any) -> str:
    """`name = Type[attributes](inputs)`, control inputs with a `^`."""
    inputs = [
        tensor.op.name + (f":{tensor.value_index}" if tensor.value_index else "")
        for tensor in node.inputs
    ]
    inputs += sorted(f"^{each.name}" for each in node.control_inputs)
    line = f"{node.name} = {node.type}{attributes_text(node.attributes)}({', '.join(inputs)})"
    return table.without_numbers(line)


def attributes_text(attributes: Mapping[str, Any]) -> str:
    """`[T=float32, …]`, by name."""
    shown = {n: v for n, v in attributes.items() if not n.startswith("_") and n not in NOT_SHOWN}
    return f"[{', '.join(f'{name}={_value(shown[name])}' for name in sorted(shown))}]"


def _value(value: Any) -> str:
    if isinstance(value, DType):
        return value.name
    if isinstance(value, TensorShape):
        return str(value)
    if isinstance(value, (list, tuple)):
        parts = [p.name if isinstance(p, DType) else str(p) for p in value]
        return f"[{', '.join(parts)}]"
    if isinstance(value, str):
        value = value.encode()
    if value is None or isinstance(value, (bytes, bool, int, float, np.ndarray)):
        return table.text_of_attribute(value)
    return "func"
