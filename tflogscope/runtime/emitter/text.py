"""Nodes as text: `{{node add}} = AddV2[T=DT_FLOAT](x, y)`. See `SummarizeNodeDef` and
`SummarizeAttrValue` of `core/framework/node_def_util.cc`, `attr_value_util.cc`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tflogscope.runtime.core.definition import FunctionDef, NodeDef
from tflogscope.runtime.core.dtypes import DType
from tflogscope.runtime.core.errors import OpError
from tflogscope.runtime.core.shapes import TensorShape
from tflogscope.runtime.core.tensors import CPU
from tflogscope.runtime.emitter.dialects import Dialect
from tflogscope.runtime.ops.lists import TensorList

_CPP = {"float16": "half", "float32": "float", "float64": "double"}
_SHOWN = 3


def type_name(dtype: DType) -> str:
    """`DT_FLOAT`."""
    return "DT_" + _CPP.get(dtype.name, dtype.name).upper()


def attribute_text(value: Any) -> str:
    """One attribute's value. NB: of a constant only the beginning."""
    if isinstance(value, DType):
        return type_name(value)
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value)).lower()
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, (bytes, str)):
        text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
    if isinstance(value, TensorShape):
        dims = ",".join("?" if dim is None else str(dim) for dim in value.dims or ())
        return "<unknown>" if value.dims is None else f"[{dims}]"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(attribute_text, value)) + "]"
    if isinstance(value, np.ndarray):
        return _array_text(value)
    if isinstance(value, TensorList):
        return "Tensor<type: variant shape: [] values: <TensorList>>"
    return f"{value.name}[]" if isinstance(value, FunctionDef) else str(value)


def _array_text(value: Any) -> str:
    is_text = value.dtype.kind in "OSU"
    kind = "string" if is_text else _CPP.get(value.dtype.name, value.dtype.name)
    first = value.ravel()[:_SHOWN]
    shown = " ".join(attribute_text(e)[1:-1] if is_text else f"{e:.6g}" for e in first)
    shown += "..." if value.size > _SHOWN else ""
    depth, sizes = max(0, value.ndim - 1), ",".join(map(str, value.shape))
    return f"Tensor<type: {kind} shape: [{sizes}] values: {'[' * depth}{shown}{']' * depth}>"


def summary(
    name: str, op: str, attributes: Mapping[str, Any], inputs: Sequence[str], device: str = CPU
) -> str:
    """A node."""
    parts = [
        f"{key}={attribute_text(value)}"
        for key, value in sorted(attributes.items())
        if not key.startswith(("__", "_graph", "_has_manual"))
    ]
    if device and op not in {"_Arg", "_Retval"}:
        parts.append(f'_device="{device}"')
    return f"{{{{node {name}}}}} = {op}[{', '.join(parts)}]({', '.join(inputs)})"


def node_text(node: NodeDef, dialect: Dialect, *, running: bool = False) -> str:
    """A node of a function; a constant that runs no longer has its value."""
    if node.name == "_SOURCE":
        return "{{node _SOURCE}} = NoOp[]()"
    inputs = [f"{name}:{output}" if output else name for name, output in node.inputs]
    inputs += [f"^{name}" for name in node.controls]
    attributes = attributes_of(node.type, node.attributes, dialect)
    if running and node.type == "Const":
        inputs, attributes = [], {"dtype": node.attributes["dtype"]}
    return summary(node.name, node.type, attributes, inputs, node.device or CPU)


def attributes_of(op: str, attributes: Mapping[str, Any], dialect: Dialect) -> Mapping[str, Any]:
    """The attributes, with those that a later release has besides."""
    if dialect.matmul_gradients and op in {"MatMul", "_MklMatMul"}:
        return {"grad_a": False, "grad_b": False, **attributes}
    return attributes


def status(error: BaseException) -> str:
    """`INVALID_ARGUMENT: …`."""
    if not isinstance(error, OpError):
        return f"UNKNOWN: {type(error).__name__}: {error}"
    name = type(error).__name__.removesuffix("Error")
    code = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).upper()
    return f"{code}: {error.message.partition(chr(10) + chr(9) + ' [[')[0]}"
