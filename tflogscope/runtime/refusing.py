"""What TensorFlow says when a shape function refuses the inputs of a node.

    Dimensions must be equal, but are 3 and 2 for '{{node MatMul}} = MatMul[T=DT_FLOAT, …](x, ones)'
    with input shapes: [2,3], [2,3].

Told about: `InferenceContext::AttachContext` of `core/framework/shape_inference.cc`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tflogscope.runtime.constant_value import (
    Asked,
    constant_shape,
    folded_value,
    noting_what_is_asked,
)
from tflogscope.runtime.node_text import node_text, shape_text
from tflogscope.runtime.operations import Inference, OpDef

__all__ = ["RefusedInside", "refusal"]


class RefusedInside(ValueError):
    """A shape function in a called function refused what the call brought; the text says which."""


def refusal(name: str, definition: OpDef, inference: Inference) -> ValueError:
    """The error for a node of that name: why, which node, and what was known of its inputs."""
    with noting_what_is_asked() as asked:
        try:
            definition.infer(inference)
        except RefusedInside as error:
            return ValueError(str(error))
        except ValueError as error:
            why = error
        known = _known_inputs(inference, asked)
    inputs: Any = inference.inputs
    text = node_text(name, definition.type, inference.attributes, inputs)
    shapes = ", ".join(shape_text(tensor.shape) for tensor in inputs)
    return ValueError(f"{why} for '{text}' with input shapes: {shapes}{known}.")


def _known_inputs(inference: Inference, asked: Asked) -> str:
    values, shapes = [], []
    as_values, as_shapes = set(map(id, asked.values or ())), set(map(id, asked.shapes or ()))
    for at, tensor in enumerate(inference.inputs):
        if id(tensor) in as_shapes and (shape := constant_shape(tensor)).rank is not None:
            shapes.append(f"input[{at}] = {shape_text(shape)}")
        elif id(tensor) in as_values and (value := folded_value(tensor)) is not None:
            values.append(f"input[{at}] = <{_summary(value)}>")
    told = ""
    if values:
        told += f" and with computed input tensors: {', '.join(values)}"
    if shapes:
        told += f" and with input tensors computed as partial shapes: {', '.join(shapes)}"
    return told


def _summary(value: np.ndarray[Any, Any]) -> str:
    """Rows in brackets. Told about: `Tensor::SummarizeValue`."""
    if value.ndim < 2:
        return " ".join(str(each) for each in value.ravel())
    return "".join(f"[{_summary(row)}]" for row in value)
