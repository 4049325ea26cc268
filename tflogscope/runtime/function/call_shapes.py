"""What a call's results look like: the function's shape functions, asked again for these arguments.

A function traced for `[None, 3]` and called by another with `[2, 3]` gives that one a tensor of
which more is known than was when it was traced.

Told about: `ShapeRefiner::InferShapesForFunction` of `core/common_runtime/shape_refiner.cc`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tflogscope.runtime.operations import Inference, OpDef, Spec
from tflogscope.runtime.refusing import RefusedInside, refusal
from tflogscope.runtime.shapes import TensorShape
from tflogscope.runtime.tensors import SymbolicTensor, Tensor, uncounted
from tflogscope.runtime.traversal import inputs_first

if TYPE_CHECKING:
    from tflogscope.runtime.function.graph_function import GraphFunction

__all__ = ["result_specs"]


_ARGUMENT = OpDef("_Arg", lambda _: [], lambda: None)


class _Body:
    """The function's graph as this call sees it."""

    building_function = True

    def __init__(self, name: str) -> None:
        self.name = name
        self.known_values: dict[tuple[str, int], Any] = {}


class _Op:
    """As much of a node as shape functions ask for."""

    def __init__(
        self,
        graph: _Body,
        name: str,
        definition: OpDef,
        attributes: Mapping[str, Any],
        inputs: Sequence[SymbolicTensor],
    ) -> None:
        self.graph = graph
        self.name = name
        self.definition = definition
        self.attributes = attributes
        self.inputs = tuple(inputs)
        self.outputs: list[SymbolicTensor] = []

    @property
    def type(self) -> str:
        return self.definition.type


def result_specs(function: GraphFunction, arguments: Sequence[Tensor]) -> list[Spec]:
    """Dtype, shape and handle of each result of this call. Raises RefusedInside."""
    traced = [_spec(tensor) for tensor in function.outputs]
    if all(shape.is_fully_defined() for _, shape, *_ in traced):
        return traced
    with uncounted():
        found = _results(function, arguments)
    return [
        (dtype, shape.merge_with(given.shape), handle)  # type: ignore[misc]
        for (dtype, shape, handle), given in zip(traced, found, strict=True)
    ]


def _spec(tensor: Tensor) -> Any:
    return tensor.dtype, tensor.shape, tensor.handle_data


def _results(function: GraphFunction, arguments: Sequence[Tensor]) -> list[Tensor]:
    body = _Body(function.name)
    tensors: dict[int, SymbolicTensor] = {}
    for inner, outer in zip(function.inputs, arguments, strict=True):
        op = _Op(body, inner.op.name, _ARGUMENT, {"value": outer}, ())
        _give(op, [(inner.dtype, outer.shape, outer.handle_data)])
        tensors[id(inner)] = op.outputs[0]
    # not as they were made: a loop whose gradient was asked for has inputs made after it
    for node in inputs_first(function.graph.nodes):
        if any(id(output) in tensors for output in node.outputs):
            continue  # it stands for an argument
        inputs = [tensors[id(source)] for source in node.inputs]
        op = _Op(body, node.name, node.definition, node.attributes, inputs)
        _give(op, _asked(op))
        tensors |= {id(old): new for old, new in zip(node.outputs, op.outputs, strict=True)}
    return [tensors[id(output)] for output in function.outputs]


def _asked(op: _Op) -> Sequence[Any]:
    inference = Inference(op.type, op.inputs, op.attributes)
    try:
        return op.definition.infer(inference)
    except RefusedInside:
        raise
    except ValueError:
        raise RefusedInside(str(refusal(op.name, op.definition, inference))) from None


def _give(op: Any, specs: Sequence[Any]) -> None:
    for place, (dtype, shape, *handle) in enumerate(specs):
        tensor = SymbolicTensor(op, place, dtype, TensorShape(shape))
        tensor.handle_data = next(iter(handle), None)
        op.outputs.append(tensor)
