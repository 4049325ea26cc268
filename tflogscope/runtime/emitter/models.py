"""A train step of BERT on paper: nodes, shapes, who reads whom. For logs that are only large."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tflogscope.runtime.dtypes import float32

__all__ = ["Layer", "bert"]

Shape = tuple[int, ...]
_T = {"T": float32}
_MKL = {**_T, "_kernel": "MklNameChangeOp"}


@dataclass
class Layer:
    """One node."""

    name: str
    op: str
    inputs: Sequence[str]
    shapes: Sequence[Shape]
    attributes: dict[str, Any] = field(default_factory=lambda: dict(_T))


class _Model:
    def __init__(self, batch: int, length: int, hidden: int) -> None:
        self.nodes: list[Layer] = []
        self.batch, self.length, self.hidden = batch, length, hidden
        self.rows = batch * length
        self.weights: list[tuple[str, Shape]] = []

    def add(
        self, name: str, op: str, inputs: Sequence[str], *shapes: Shape, **attributes: Any
    ) -> str:
        base = _MKL if op.startswith("_Mkl") and op != "_MklFusedBatchMatMulV2" else _T
        base = {"dtype": float32} if op == "Const" else base
        self.nodes.append(Layer(name, op, inputs, shapes, {**base, **attributes}))
        return name

    def weight(self, name: str, *shape: int) -> str:
        resource = self.add(f"{name.lower().replace('/', '_')}_resource", "_Arg", (), ())
        self.weights.append((name, shape))
        return self.add(f"{name}/ReadVariableOp", "ReadVariableOp", (resource,), shape)

    def dense(self, name: str, source: str, inputs: int, outputs: int) -> str:
        rows = (self.rows, outputs)
        flat = self.add(f"{name}/Tensordot/Reshape", "Reshape", (source,), (self.rows, inputs))
        weight = self.weight(f"{name}/Tensordot", inputs, outputs)
        product = self.add(
            f"{name}/Tensordot/MatMul",
            "_MklMatMul",
            (flat, weight),
            rows,
            transpose_a=False,
            transpose_b=False,
        )
        bias = self.weight(f"{name}/BiasAdd", outputs)
        return self.add(f"{name}/BiasAdd", "BiasAdd", (product, bias), rows, data_format="NHWC")

    def norm(self, name: str, source: str) -> str:
        rows = (self.rows, self.hidden)
        mean = self.add(f"{name}/moments/mean", "Mean", (source,), (self.rows, 1))
        spread = self.add(
            f"{name}/moments/SquaredDifference", "SquaredDifference", (source, mean), rows
        )
        variance = self.add(f"{name}/moments/variance", "Mean", (spread,), (self.rows, 1))
        inverse = self.add(f"{name}/batchnorm/Rsqrt", "Rsqrt", (variance,), (self.rows, 1))
        gamma = self.weight(f"{name}/batchnorm/mul", self.hidden)
        scale = self.add(f"{name}/batchnorm/mul", "Mul", (inverse, gamma), rows)
        scaled = self.add(f"{name}/batchnorm/mul_1", "Mul", (source, scale), rows)
        return self.add(f"{name}/batchnorm/add_1", "AddV2", (scaled, mean), rows)

    def heads(self, name: str, source: str, count: int) -> str:
        size = self.hidden // count
        split = (self.batch, self.length, count, size)
        apart = self.add(f"{name}/Reshape", "Reshape", (source,), split)
        order = self.add(f"{name}/transpose/perm", "Const", (), (4,))
        moved = (self.batch, count, self.length, size)
        return self.add(f"{name}/transpose", "_MklTranspose", (apart, order), moved)

    def attention(self, name: str, source: str, count: int) -> str:
        parts = [
            self.heads(
                f"{name}/{each}",
                self.dense(f"{name}/{each}", source, self.hidden, self.hidden),
                count,
            )
            for each in ("query", "key", "value")
        ]
        scores = (self.batch, count, self.length, self.length)
        product = self.add(
            f"{name}/MatMul", "_MklBatchMatMulV2", parts[:2], scores, adj_x=False, adj_y=True
        )
        scaled = self.add(f"{name}/truediv", "RealDiv", (product,), scores)
        weights = self.add(f"{name}/Softmax", "_MklSoftmax", (scaled,), scores)
        size = self.hidden // count
        result = self.add(
            f"{name}/MatMul_1",
            "_MklBatchMatMulV2",
            (weights, parts[2]),
            (self.batch, count, self.length, size),
            adj_x=False,
            adj_y=False,
        )
        return self.add(f"{name}/Reshape", "Reshape", (result,), (self.rows, self.hidden))

    def backward(self) -> None:
        """The gradient of each product, and an Adam step for each weight."""
        last = self.nodes[-1].name
        for node in [node for node in self.nodes if node.op == "_MklMatMul"]:
            inputs, outputs = self._sizes(node)
            name = f"gradient_tape/{node.name}"
            before = self.add(f"{name}/Reshape", "Reshape", (last,), (self.rows, outputs))
            last = self.add(
                f"{name}/MatMul",
                "_MklMatMul",
                (before, node.inputs[1]),
                (self.rows, inputs),
                transpose_a=False,
                transpose_b=True,
            )
            self.add(
                f"{name}/MatMul_1",
                "_MklMatMul",
                (node.inputs[0], before),
                (inputs, outputs),
                transpose_a=True,
                transpose_b=False,
            )
        for number, (name, shape) in enumerate(self.weights):
            self._adam(f"Adam/{name}", number, shape, last)

    def _sizes(self, node: Layer) -> tuple[int, int]:
        source = next(each for each in self.nodes if each.name == node.inputs[1])
        return source.shapes[0][0], source.shapes[0][1]

    def _adam(self, name: str, number: int, shape: Shape, after: str) -> None:
        source = after
        for step, op in enumerate(
            ("Mul", "Sub", "Mul", "AssignAddVariableOp", "Square", "Sub", "Mul")
        ):
            made = () if op.startswith("Assign") else (shape,)
            found = self.add(f"{name}/{op.lower()}_{number}_{step}", op, (source,), *made)
            source = found if made else source


def bert(layers: int = 12, hidden: int = 768, *, batch: int = 8, length: int = 128) -> list[Layer]:
    """A train step of a BERT of that size."""
    model = _Model(batch, length, hidden)
    heads = max(1, hidden // 64)
    source = model.add("bert/embeddings/add", "AddV2", (), (batch * length, hidden))
    for number in range(layers):
        name = f"bert/encoder/layer_._{number}"
        seen = model.attention(f"{name}/attention/self", source, heads)
        seen = model.dense(f"{name}/attention/output/dense", seen, hidden, hidden)
        seen = model.add(
            f"{name}/attention/output/add", "AddV2", (seen, source), (batch * length, hidden)
        )
        source = model.norm(f"{name}/attention/output/LayerNorm", seen)
        inner = model.dense(f"{name}/intermediate/dense", source, hidden, 4 * hidden)
        inner = model.add(
            f"{name}/intermediate/Gelu", "Tanh", (inner,), (batch * length, 4 * hidden)
        )
        inner = model.dense(f"{name}/output/dense", inner, 4 * hidden, hidden)
        inner = model.add(f"{name}/output/add", "AddV2", (inner, source), (batch * length, hidden))
        source = model.norm(f"{name}/output/LayerNorm", inner)
    model.backward()
    return model.nodes
