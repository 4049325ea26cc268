"""Record what the real TensorFlow does for each row of the table: run it with TensorFlow 2.13.

    python -m tests.runtime.record [PATTERN]

writes `data/ops.jsonl.gz`, one line per row. With a PATTERN only prints the rows that hold it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import tensorflow as tf  # type: ignore[import-not-found,import-untyped,unused-ignore]
from tensorflow.python.eager import context  # type: ignore[import-not-found,import-untyped,unused-ignore]
from tensorflow.python.framework import (  # type: ignore[import-not-found,import-untyped,unused-ignore]
    op_callbacks,
    op_def_registry,
)

from tests.runtime import table


@contextmanager
def watch() -> Iterator[list[str]]:
    """The ops that run eagerly within, as text."""
    seen: list[str] = []

    def told(
        op_type: Any,
        _inputs: Any,
        attributes: Any,
        _outputs: Any,
        op_name: Any = None,  # noqa: ARG001 - what a callback takes
        graph: Any = None,
    ) -> None:
        op_type = op_type.decode() if isinstance(op_type, bytes) else op_type
        if graph is None and op_type not in table.UNTOLD:
            pairs = dict(zip(attributes[::2], attributes[1::2], strict=True)) if attributes else {}
            seen.append(op_type + _attributes(op_type, pairs))

    op_callbacks.add_op_callback(told)
    try:
        yield seen
    finally:
        op_callbacks.remove_op_callback(told)


def _attributes(op_type: str, pairs: dict[str, Any]) -> str:
    definition = op_def_registry.get(op_type)
    known = {each.name: each for each in definition.attr} if definition else {}
    kinds = {name: each.type for name, each in known.items()}
    for name, value in pairs.items():
        if value is None and name in known:  # left to its default
            pairs[name] = _value(known[name].default_value)
    texts = [
        f"{name}={_attribute(kinds.get(name, ''), value)}"
        for name, value in sorted(pairs.items())
        if not name.startswith("_")
        and name not in {"container", "config", "config_proto", "executor_type"}
    ]
    return f"[{', '.join(texts)}]"


def _attribute(kind: str, value: Any) -> str:  # noqa: PLR0911 - one for each kind
    if kind == "type":
        return str(tf.as_dtype(value).name)
    if kind == "list(type)":
        return table.text_of_attribute([tf.as_dtype(part).name for part in value])
    if kind == "shape":
        return str(tf.TensorShape(value))
    if kind == "list(shape)":
        return table.text_of_attribute([str(tf.TensorShape(part)) for part in value])
    if kind == "tensor":
        return table.text_of_attribute(tf.make_ndarray(value))
    if kind == "func":
        return "func"
    if kind == "int" and value is not None:
        value = int(value)
    if kind == "bool":
        value = bool(value)
    if isinstance(value, str):
        value = value.encode()
    return table.text_of_attribute(value)


def nodes(concrete: Any) -> list[str]:
    """The nodes of a concrete function's graph, as text, in order of creation."""
    return [_node(each) for each in concrete.graph.as_graph_def().node]


def _node(node: Any) -> str:
    pairs = {name: _value(value) for name, value in node.attr.items()}
    inputs = ", ".join(node.input)  # control inputs are sorted already
    return table.without_numbers(f"{node.name} = {node.op}{_attributes(node.op, pairs)}({inputs})")


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    found: Any = getattr(value, kind) if kind else None
    if kind == "list":
        return [part for field, parts in found.ListFields() for part in parts]
    return found


def main() -> None:
    """Record every row, or print those that match."""
    pattern = sys.argv[1] if len(sys.argv) > 1 else None
    records = []
    for row in table.rows():
        if pattern is not None and pattern not in row.text:
            continue
        tf.keras.backend.clear_session()
        context.context()._clear_caches()  # of zeros that gradients made before
        records.append(table.run(tf, row, watch, nodes))
        if pattern is not None:
            print(json.dumps(records[-1], indent=1))  # noqa: T201
    if pattern is None:
        table.keep(records)


if __name__ == "__main__":
    main()
