"""A node as TensorFlow prints it in errors.

    {{node MatMul}} = MatMul[T=DT_FLOAT, transpose_a=false, transpose_b=false](x, ones)

Told about: `FormatNodeDefForError` and `SummarizeAttrValue` of `core/framework`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tflogscope.runtime.dtypes import DType
from tflogscope.runtime.shapes import TensorShape
from tflogscope.runtime.tensors import SymbolicTensor

__all__ = [
    "attribute_text",
    "endpoint_text",
    "escaped",
    "function_name",
    "node_text",
    "shape_text",
    "short_name",
    "type_name",
]

_SHOWN = 3
"""How many values of a tensor are shown."""
_CPP = {"float16": "half", "float32": "float", "float64": "double"}


def node_text(
    name: str, type: str, attributes: Mapping[str, Any], inputs: Sequence[SymbolicTensor]
) -> str:
    """The node: name, type, attributes by name, inputs."""
    shown = ", ".join(f"{key}={attribute_text(attributes[key])}" for key in sorted(attributes))
    takes = ", ".join(endpoint_text(tensor) for tensor in inputs)
    return f"{{{{node {name}}}}} = {type}[{shown}]({takes})"


def shape_text(shape: TensorShape) -> str:
    """A shape as TensorFlow's C++ prints it: `[2,?]`, `?` if nothing is known."""
    if shape.rank is None:
        return "?"
    return "[" + ",".join("?" if size is None else str(size) for size in shape.as_list()) + "]"


def short_name(dtype: DType) -> str:
    """`float`: the name of a dtype in C++."""
    return _CPP.get(dtype.name, dtype.name)


def type_name(dtype: DType) -> str:
    """`DT_FLOAT`."""
    return "DT_" + short_name(dtype).upper()


def attribute_text(value: Any) -> str:
    """The value of an attribute."""
    if isinstance(value, DType):
        return type_name(value)
    if isinstance(value, bool | np.bool_):
        return str(bool(value)).lower()
    if isinstance(value, float):
        return _float_text(value)
    if isinstance(value, bytes | str):
        return f'"{escaped(value.encode() if isinstance(value, str) else value)}"'
    if isinstance(value, TensorShape):
        return shape_text(value) if value.rank is not None else "<unknown>"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(attribute_text, value)) + "]"
    if isinstance(value, np.ndarray):
        return _tensor_text(value)
    name = function_name(value)
    return str(value) if name is None else f"{name}[]"


def function_name(value: Any) -> str | None:
    """The name of a function that is an attribute; None for what is none."""
    return getattr(getattr(value, "inference", value), "name", None)


def _tensor_text(value: np.ndarray) -> str:
    """The first three values, in brackets by dimension. Told about: `SummarizeArray` of
    `core/framework/tensor.cc`.
    """
    kind = "string" if value.dtype.kind in "OSU" else value.dtype.name
    sizes = "[" + ",".join(map(str, value.shape)) + "]"
    shown = _values_text(value, _SHOWN) + ("..." if value.size > _SHOWN else "")
    return f"Tensor<type: {_CPP.get(kind, kind)} shape: {sizes} values: {shown}>"


def _values_text(value: np.ndarray, left: int) -> str:
    """Of these values the first `left`."""
    if value.ndim == 0:
        return _element_text(value.item() if value.dtype.kind in "OSU" else value[()])
    if value.ndim == 1:
        return " ".join(_values_text(each, left) for each in map(np.asarray, value[:left]))
    text = ""
    for part in value:
        if left <= 0:
            break
        cut = "..." if part.ndim == 1 and part.size > left else ""
        text += f"[{_values_text(part, left)}{cut}]"
        left -= part.size
    return text


def _element_text(value: Any) -> str:
    """A value in a tensor."""
    if isinstance(value, bytes | str):
        return escaped(value.encode() if isinstance(value, str) else value)
    if isinstance(value, np.complexfloating):
        return "?"
    if isinstance(value, np.float64):
        short = f"{value:.15g}"
        return short if float(short) == value or np.isnan(value) else f"{value:.17g}"
    if isinstance(value, bool | np.bool_ | np.integer | int):
        return str(int(value))
    try:
        return _float_text(float(value))
    except (TypeError, ValueError):
        return str(value)


def endpoint_text(tensor: SymbolicTensor) -> str:
    """An input of a node: `split:1`, of a first output without the number."""
    index = f":{tensor.value_index}" if tensor.value_index else ""
    return f"{tensor.op.name}{index}"


def _float_text(value: float) -> str:
    """As `strings::StrCat` prints a float: six digits, if these tell it from all others."""
    short = f"{value:.6g}"
    single = np.float32(value)
    return short if np.float32(short) == single or np.isnan(single) else f"{single:.9g}"


_NAMED = {10: "\\n", 13: "\\r", 9: "\\t", 34: '\\"', 39: "\\'", 92: "\\\\"}


def escaped(value: bytes) -> str:
    """As `str_util::CEscape`."""
    return "".join(
        _NAMED.get(byte, chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}") for byte in value
    )
