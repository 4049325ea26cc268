"""Powers, squares, roots, logarithms and exponentials in the form that costs least."""

from __future__ import annotations

import numpy as np

from tflogscope.runtime.function.definition import Endpoint
from tflogscope.runtime.passes.arithmetic.stage import Work, broadcasts
from tflogscope.runtime.passes.facts import ADDITIONS
from tflogscope.runtime.passes.graph import Node
from tflogscope.runtime.passes.shapes import same_shape
from tflogscope.runtime.shapes import TensorShape

__all__ = [
    "comparison_for_negation",
    "exp_minus_one",
    "log_of_one_plus",
    "log_of_softmax",
    "powers",
    "root_in_divisor",
    "square_for_product",
    "squared_difference",
]

_UNARY = {2.0: "Square", 0.5: "Sqrt", -0.5: "Rsqrt", -1.0: "Reciprocal"}
_OPPOSITE = {
    "Equal": "NotEqual",
    "NotEqual": "Equal",
    "Less": "GreaterEqual",
    "LessEqual": "Greater",
    "Greater": "LessEqual",
    "GreaterEqual": "Less",
}


def powers(work: Work, node: Node) -> Endpoint | None:
    """Powers: x² is a square, x³ a product with one, x^½ a root, x^−1 a reciprocal, x⁰ one."""
    exponent = work.constant_value(node.inputs[1]) if node.type == "Pow" else None
    if exponent is None or not exponent.size or np.any(exponent != exponent.flat[0]):
        return None
    graph, power = work.graph, float(exponent.flat[0])
    x, y = graph.source(node, 0), graph.source(node, 1)
    same = same_shape(work.shape(node.inputs[0]), work.shape((node.name, 0)))
    if power in _UNARY or (power == 1 and same):
        graph.rewire(node, node.inputs[:1], [y.name, *node.controls])
        graph.retype(node, _UNARY.get(power, "Identity"), node.attributes)
        work.again(node, y)
    elif power == 3:
        name = work.name(node, "ConvertPow", "_inner")
        if name not in graph:
            work.add(name, "Square", node.inputs[:1], node.dtypes[0], node.device, T=node.dtypes[0])
        graph.rewire(node, [node.inputs[0], (name, 0)], [*node.controls, y.name])
        graph.retype(node, "Mul", node.attributes)
        work.again(node, graph[name], y)
    elif power == 0 and same:
        dtype = node.dtypes[0]
        ones = np.ones(work.shape((node.name, 0)).as_tuple(), dtype.as_numpy_dtype)
        graph.rewire(node, [], [x.name, y.name, *node.controls])
        graph.retype(node, "Const", {"value": ones, "dtype": dtype})
        work.again(node, x, y)
    return None


def square_for_product(work: Work, node: Node) -> Endpoint | None:
    """Of products: x · x is the square of x."""
    if node.type not in {"Mul", "MulNoNan"} or node.inputs[0] != node.inputs[1]:
        return None
    name = work.name(node, "ReplaceMulWithSquare")
    if name in work.graph:
        return None
    square = node.copy(name)
    square.type, square.inputs = "Square", node.inputs[:1]
    work.graph.add(square)
    return name, 0


def comparison_for_negation(work: Work, node: Node) -> Endpoint | None:
    """Of comparisons: not (a < b) is a >= b."""
    if node.type != "LogicalNot" or work.kept(node):
        return None
    source = work.graph.source(node, 0)
    if work.kept(source) or not work.only_reader(source) or source.type not in _OPPOSITE:
        return None
    work.graph.retype(source, _OPPOSITE[source.type], source.attributes)
    return source.name, 0


def root_in_divisor(work: Work, node: Node) -> Endpoint | None:
    """Of quotients: x / √y is x · y^−½."""
    if node.type not in {"RealDiv", "Div", "TruncateDiv", "Xdivy"}:
        return None
    y = work.graph.source(node, 1)
    if y.type != "Sqrt" or work.kept(y) or not work.only_reader(y):
        return None
    if node.type == "Xdivy":
        work.graph.rewire(node, [node.inputs[1], node.inputs[0]])
        work.graph.retype(node, "MulNoNan", node.attributes)
    else:
        work.graph.retype(node, "Mul", node.attributes)
    work.graph.retype(y, "Rsqrt", y.attributes)
    work.again(node, y)
    return None


def squared_difference(work: Work, node: Node) -> Endpoint | None:
    """(a − b)² is one op."""
    if node.type != "Square":
        return None
    difference = work.graph.source(node, 0)
    if difference.type != "Sub" or work.kept(difference) or not work.only_reader(difference):
        return None
    if difference.dtypes[0].is_complex:
        return None
    work.graph.retype(node, "Identity", node.attributes)
    work.graph.retype(difference, "SquaredDifference", difference.attributes)
    work.again(node, difference)
    return None


def log_of_softmax(work: Work, node: Node) -> Endpoint | None:
    """The logarithm of a softmax is one op."""
    if node.type != "Log":
        return None
    x = work.graph.source(node, 0)
    if x.type != "Softmax" or work.kept(x) or not work.only_reader(x):
        return None
    work.graph.retype(node, "LogSoftmax", node.attributes)
    work.graph.retype(x, "Identity", x.attributes)
    work.again(node, x)
    return None


def log_of_one_plus(work: Work, node: Node) -> Endpoint | None:
    """log(1 + x) is one op."""
    if node.type != "Log" or work.graph.source(node, 0).type not in ADDITIONS:
        return None
    total = work.graph.source(node, 0)
    for place in range(2):
        x, one = total.inputs[place], total.inputs[1 - place]
        if _is_one_like(work, one, x):
            work.graph.rewire(node, [x], [*node.controls, one[0]])
            work.graph.retype(node, "Log1p", node.attributes)
            work.wait_as(node, total)
            work.again(node, total, work.graph[x[0]], work.graph[one[0]])
            return node.name, 0
    return None


def exp_minus_one(work: Work, node: Node) -> Endpoint | None:
    """exp(x) − 1 is one op."""
    if node.type != "Sub" or work.graph.source(node, 0).type != "Exp":
        return None
    power, one = work.graph.source(node, 0), node.inputs[1]
    if not _is_one_like(work, one, node.inputs[0]):
        return None
    work.graph.rewire(node, power.inputs[:1], [one[0], *node.controls])
    work.graph.retype(node, "Expm1", node.attributes)
    work.wait_as(node, power)
    work.again(node, power, work.graph.source(power, 0), work.graph[one[0]])
    return node.name, 0


def _is_one_like(work: Work, one: Endpoint, x: Endpoint) -> bool:
    """Is it a constant of ones that does not make x larger?"""
    value = work.constant_value(one)
    if value is None or value.dtype.kind not in "fc" or not np.all(value == 1):
        return False
    shape = work.shape(x)
    if shape.rank is None or value.ndim > shape.rank:
        return False
    pairs = zip(reversed(shape.as_list()), reversed(value.shape), strict=False)
    return broadcasts(shape, TensorShape(value.shape)) and all(b in {1, a} for a, b in pairs)
