"""Values that are known while a graph is built: constants, known shapes, and what follows from
them. Shape rules ask for them, and so does Python code (`tf.get_static_value`).

See `constant_value` and `constant_value_as_shape` of `tensorflow/python/framework/tensor_util.py`,
`ShapeRefiner::ConstantPartialShape`. NB: TensorFlow's shape refiner runs a graph of constants for
this (step -1 while a function is traced); here nothing runs, and the log does not show it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tflogscope.runtime.core.errors import KERNEL_ERRORS
from tflogscope.runtime.core.registry import bind
from tflogscope.runtime.core.shapes import TensorShape
from tflogscope.runtime.core.tensors import EagerTensor, SymbolicTensor

_FOLDED = frozenset(
    "Add AddV2 Sub Mul Maximum Minimum FloorDiv FloorMod Neg Range Cast ConcatV2 Pack Unpack Split "
    "Fill Equal NotEqual BroadcastTo StridedSlice Slice Prod Sum Reshape ExpandDims Squeeze GatherV2 "
    "Identity Select SelectV2 Greater GreaterEqual Less LessEqual Transpose".split()
)


def known_value(tensor: Any, known_before: dict[int, Any] | None = None) -> Any:
    """The array that is the tensor's value, or None if that is not known yet."""
    if isinstance(tensor, EagerTensor):
        return tensor.value if tensor.dtype.is_array else None
    if not isinstance(tensor, SymbolicTensor) or tensor.op is None:
        return None
    values = {} if known_before is None else known_before
    if tensor.uid not in values:
        values[tensor.uid] = _computed(tensor, values)
    return values[tensor.uid]


def _computed(tensor: SymbolicTensor, values: dict[int, Any]) -> Any:
    node = tensor.op
    if node.type == "Const":
        return node.attributes["value"]
    dtype, found = tensor.dtype.as_numpy_dtype, _dimension(tensor)
    if node.type in {"Shape", "ShapeN", "Size", "Rank"}:
        shape: Any = node.inputs[tensor.value_index].shape
        if node.type == "Rank":
            found = shape.rank
        elif shape.is_fully_defined():
            found = shape.num_elements() if node.type == "Size" else shape.sizes()
    if found is not None:
        return np.array(found, dtype)
    if node.type not in _FOLDED:
        return None
    inputs = [known_value(source, values) for source in node.inputs]
    if any(value is None for value in inputs):
        return None
    try:
        with np.errstate(all="ignore"):
            result = bind(node.definition, node.attributes)(*inputs)
    except KERNEL_ERRORS:
        return None
    return np.asarray(result[tensor.value_index] if isinstance(result, (list, tuple)) else result)


def _dimension(tensor: Any) -> Any:
    """`tf.shape(x)[1]`: one dimension may be known where others are not."""
    node = tensor.op
    if node is None or node.type != "StridedSlice" or node.inputs[0].op is None:
        return None
    source, begin = node.inputs[0].op, known_value(node.inputs[1])
    if source.type != "Shape" or begin is None or node.attributes.get("shrink_axis_mask") != 1:
        return None
    dims, at = source.inputs[0].shape.dims, int(begin.ravel()[0])
    return dims[at] if dims is not None and -len(dims) <= at < len(dims) else None


def known_shape(tensor: Any) -> TensorShape:
    """What is known of the shape that this vector is."""
    value = known_value(tensor)
    if value is not None:
        if value.ndim == 0:
            return TensorShape(None)
        return TensorShape([None if dim < 0 else dim for dim in value])
    rule = _SHAPES.get(tensor.op.type) if isinstance(tensor, SymbolicTensor) and tensor.op else None
    if rule is not None:
        return rule(tensor.op, tensor.value_index)
    rank = tensor.shape.dims[0] if tensor.shape.rank == 1 else None
    return TensorShape(None if rank is None else [None] * rank)


def _packed(node: Any, _: int) -> TensorShape:
    values = [known_value(each) for each in node.inputs]
    return TensorShape([None if value is None or value < 0 else value for value in values])


_SHAPES: dict[str, Callable[[Any, int], TensorShape]] = {
    "Shape": lambda node, _: node.inputs[0].shape,
    "ShapeN": lambda node, index: node.inputs[index].shape,
    "Cast": lambda node, _: known_shape(node.inputs[0]),
    "Identity": lambda node, _: known_shape(node.inputs[0]),
    "Pack": _packed,
}
