"""Sums and products of many: added at once, ordered by size, equal ones counted."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import cmp_to_key

import numpy as np

from tflogscope.runtime.dtypes import variant
from tflogscope.runtime.function.definition import Endpoint
from tflogscope.runtime.passes.arithmetic.stage import Work, broadcasts, is_smaller
from tflogscope.runtime.passes.facts import ADDITIONS
from tflogscope.runtime.passes.graph import Node
from tflogscope.runtime.passes.numbering import numbers_of
from tflogscope.runtime.shapes import UNKNOWN, TensorShape

__all__ = ["add_many_at_once", "equal_addends", "negations", "small_ones_first"]

_ADDED = "_grappler_ArithmeticOptimizer_AddOpsRewriteStage"
_ORDERED = "_grappler_ArithmeticOptimizer_MinimizeBroadcasts"
_SUMS = ADDITIONS | {"AddN"}
_AGGREGATES = ADDITIONS | {"AddN", "AccumulateNV2"}


@dataclass
class _Group:
    """A tree of the same operation: its root, the inner nodes, and what it is applied to."""

    root: Node
    inner: list[Node]
    inputs: list[tuple[Endpoint, TensorShape]]


def _fits(work: Work, node: Node) -> bool:
    shape = work.shape((node.name, 0))
    return shape.rank is not None and all(
        broadcasts(shape, work.shape(endpoint)) for endpoint in node.inputs
    )


def _can_be_added(work: Work, node: Node) -> bool:
    if node.type not in _SUMS or work.kept(node) or _ADDED in node.attributes:
        return False
    return not work.is_controlled(node) and _fits(work, node)


def add_many_at_once(work: Work, node: Node) -> Endpoint | None:
    """(a + b) + c is one AddN of all three; those of different shapes are added by shape first."""
    if not _can_be_added(work, node):
        return None

    def absorbed(inner: Node) -> bool:
        return _can_be_added(work, inner) and inner.device == node.device and work.only_user(inner)

    group = _group(work, node, absorbed)
    if not group.inner:
        return None
    for each in (node, *group.inner):
        each.attributes[_ADDED] = True
    by_shape: dict[tuple[int, ...] | None, list[Endpoint]] = {}
    for endpoint, shape in group.inputs:
        by_shape.setdefault(numbers_of(shape), []).append(endpoint)
    if len(by_shape) == 1:
        return _add_equal(
            work, node, work.name(node, "AddOpsRewrite"), [endpoint for endpoint, _ in group.inputs]
        )
    shapes = list({numbers_of(shape): shape for _, shape in group.inputs}.values())
    shapes.sort(key=cmp_to_key(_compare))
    parts = deque(
        _add_equal(
            work, node, work.name(node, "AddOpsRewrite", f"Leaf_{at}"), by_shape[numbers_of(shape)]
        )
        for at, shape in enumerate(shapes)
    )
    made = 0
    while len(parts) > 1:
        left, right = parts.popleft(), parts.popleft()
        suffix = f"Internal_{made}" if parts else ""
        made += 1
        name = work.name(node, "AddOpsRewrite", suffix)
        attributes = {"T": node.dtypes[0], _ADDED: True}
        new = work.add(name, "AddV2", [left, right], node.dtypes[0], node.device, **attributes)
        parts.appendleft((new.name, 0))
    return parts[0]


def _compare(one: TensorShape, other: TensorShape) -> int:
    return is_smaller(other, one) - is_smaller(one, other)


def _add_equal(work: Work, root: Node, name: str, inputs: list[Endpoint]) -> Endpoint:
    if len(inputs) == 1:
        return inputs[0]
    attributes = {"T": root.dtypes[0], "N": len(inputs), _ADDED: True}
    work.add(name, "AddN", inputs, root.dtypes[0], root.device, **attributes)
    return name, 0


def _group(work: Work, root: Node, absorbed: object) -> _Group:
    group = _Group(root, [], [])
    waiting = deque(root.inputs)
    while waiting:
        endpoint = waiting.popleft()
        source = work.graph[endpoint[0]]
        if absorbed(source):  # type: ignore[operator]
            group.inner.append(source)
            waiting.extendleft(reversed(source.inputs))
        else:
            group.inputs.append((endpoint, work.shape(endpoint)))
    return group


def small_ones_first(work: Work, node: Node) -> Endpoint | None:
    """(tensor · scalar) · other tensor: multiply by the scalar what is smallest, so that less is
    broadcast; the same for sums.
    """
    if node.type not in ADDITIONS | {"Mul"} or _ORDERED in node.attributes:
        return None
    if _ADDED in node.attributes or not _fits(work, node):
        return None

    def absorbed(inner: Node) -> bool:
        return (
            inner.type == node.type
            and not work.kept(inner)
            and _ORDERED not in inner.attributes
            and _ADDED not in inner.attributes
            and not work.is_controlled(inner)
            and inner.device == node.device
            and work.only_user(inner)
            and all(
                broadcasts(work.shape((inner.name, 0)), work.shape(each)) for each in inner.inputs
            )
        )

    group = _group(work, node, absorbed)
    if not group.inner or len(group.inputs) != len(group.inner) + 2:
        return None
    for each in (node, *group.inner):
        each.attributes[_ORDERED] = True
    if len({numbers_of(shape) for _, shape in group.inputs}) <= 1:
        return node.name, 0
    return _ordered(work, group)


def _ordered(work: Work, group: _Group) -> Endpoint:
    waiting: deque[tuple[Endpoint, TensorShape]] = deque()
    for each in group.inputs:  # a stable sort by size, where sizes can be compared
        at = len(waiting)
        while at and is_smaller(each[1], waiting[at - 1][1]):
            at -= 1
        waiting.insert(at, each)
    left_over = waiting.pop() if len(waiting) % 2 else None
    nodes = list(group.inner)
    while True:
        left, right = waiting.popleft(), waiting.popleft()
        node = nodes.pop() if nodes else group.root
        _set_inputs(work, node, [left[0], right[0]])
        made = ((node.name, 0), UNKNOWN)
        if len(waiting) > 1 and is_smaller(waiting[0][1], waiting[1][1]):
            waiting.appendleft(made)
        else:
            waiting.append(made)
        if len(waiting) == 1:
            break
    if left_over is not None:
        _set_inputs(work, group.root, [waiting[0][0], left_over[0]])
        return group.root.name, 0
    return waiting[0][0]


def _set_inputs(work: Work, node: Node, inputs: list[Endpoint]) -> None:
    if node.inputs != inputs:
        work.graph.rewire(node, inputs)
        work.forget(node)
        work.again(node)


def negations(work: Work, node: Node) -> Endpoint | None:
    """Differences: x + (−y) is x − y, and x − (−y) is x + y."""
    if node.type not in ADDITIONS | {"Sub"} or work.kept(node):
        return None
    graph = work.graph
    x, y = graph.source(node, 0), graph.source(node, 1)
    if y.type == "Neg":
        graph.rewire(node, [node.inputs[0], y.inputs[0]])
        work.wait_as(node, y)
        graph.retype(node, "AddV2" if node.type == "Sub" else "Sub", node.attributes)
    elif node.type != "Sub" and x.type == "Neg":
        graph.rewire(node, [node.inputs[1], x.inputs[0]])
        work.wait_as(node, x)
        graph.retype(node, "Sub", node.attributes)
    else:
        return None
    work.again(node)
    return None


def equal_addends(work: Work, node: Node) -> Endpoint | None:
    """Equal addends: x + x is 2 · x."""
    if node.type not in _AGGREGATES or not node.inputs or node.dtypes[0] is variant:
        return None
    if len(node.inputs) + len(node.controls) == 1:
        return node.inputs[0]
    if any(endpoint != node.inputs[0] for endpoint in node.inputs):
        return None
    names = [work.name(node, "SimplifyAggregation", each) for each in ("Const", "Mul")]
    if any(name in work.graph for name in names):
        return None
    dtype = node.dtypes[0]
    count = np.array(len(node.inputs), dtype.as_numpy_dtype)
    work.constant(names[0], count, dtype, node.device, after=node.inputs[0][0])
    product = work.add(
        names[1], "Mul", [(names[0], 0), node.inputs[0]], dtype, node.device, T=dtype
    )
    work.wait_as(product, node)
    return product.name, 0
