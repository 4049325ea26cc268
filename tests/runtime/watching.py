"""What the small TensorFlow did, as text: its side of what `record.py` tells of the real one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from tests.runtime import table
from tflogscope.runtime import telling
from tflogscope.runtime.dtypes import DType
from tflogscope.runtime.shapes import TensorShape

UNTOLD = {"container", "config", "config_proto", "executor_type"}


class _Watcher(telling.Listener):
    def __init__(self) -> None:
        self.ops: list[str] = []

    def op_dispatched(
        self,
        op: str,
        inputs: Sequence[Any],
        attributes: Mapping[str, Any],
        device: str,
        cached: bool,
    ) -> None:
        del inputs, device, cached
        if op not in table.UNTOLD:
            self.ops.append(op + attributes_text(attributes))


@contextmanager
def watch() -> Iterator[list[str]]:
    """The ops that run eagerly within, as text."""
    watcher = _Watcher()
    with telling.listen(watcher):
        yield watcher.ops


def nodes(concrete: Any) -> list[str]:
    """The nodes of a concrete function's graph, as text, in order of creation."""
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
    told = {n: v for n, v in attributes.items() if not n.startswith("_") and n not in UNTOLD}
    return f"[{', '.join(f'{name}={_value(told[name])}' for name in sorted(told))}]"


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
