"""Nodes that do nothing, given what is known of the shapes, become identities.

A transpose that moves nothing, a slice of everything, a reshape to the same shape, and so on. In
the table of rules the first that applies to a node is the one that counts.

Told about: `SimplifyNode` of `constant_folding.cc`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflogscope.runtime.dtypes import int32
from tflogscope.runtime.passes.constant_edges import control_anchor
from tflogscope.runtime.passes.facts import REDUCTIONS
from tflogscope.runtime.passes.folding import arithmetic, joining, steering
from tflogscope.runtime.passes.folding.constants import (
    become_identity,
    new_constant,
    optimized_name,
    value_of,
)
from tflogscope.runtime.passes.graph import MutableGraph, Node
from tflogscope.runtime.passes.shapes import Properties

__all__ = ["simplify", "without_axes"]

Rule = Callable[[MutableGraph, Node, Properties], bool]


def simplify(graph: MutableGraph, properties: Properties, left: Collection[str]) -> bool:
    """Apply the rules to all nodes but those in `left`; has anything changed?"""
    modified = False
    for node in graph:
        if node.name in left or node.name not in graph:
            continue
        for rule in RULES:
            if rule(graph, node, properties):
                modified = True
                break
    return modified


def _split_of_one(graph: MutableGraph, node: Node, _: Properties) -> bool:
    if node.type not in {"Split", "SplitV"} or node.attributes.get("num_split") != 1:
        return False
    become_identity(graph, node, 1 if node.type == "Split" else 0)
    return True


def _transpose_of_nothing(graph: MutableGraph, node: Node, properties: Properties) -> bool:
    if node.type != "Transpose":
        return False
    shape, order = properties.shape(node.inputs[0]), properties.value(node.inputs[1])
    if shape.rank is None or order is None or len(order) != shape.rank:
        return False
    moved = any(
        size != 1 and place != at
        for place, (size, at) in enumerate(zip(shape.as_list(), order, strict=True))
    )
    return not moved and _identity(graph, node)


def _shuffle_of_one(graph: MutableGraph, node: Node, properties: Properties) -> bool:
    shape = properties.shape(node.inputs[0]) if node.type == "RandomShuffle" else None
    if shape is None or shape.rank is None:
        return False
    return (shape.rank == 0 or shape[0] == 1) and _identity(graph, node)


def _reverse_of_ones(graph: MutableGraph, node: Node, properties: Properties) -> bool:
    if node.type != "ReverseV2":
        return False
    shape, axes = properties.shape(node.inputs[0]), properties.value(node.inputs[1])
    if shape.rank is None or axes is None:
        return False
    turned = {int(axis) % shape.rank for axis in axes} if shape.rank else set()
    stays = all(size == 1 or at not in turned for at, size in enumerate(shape.as_list()))
    return stays and _identity(graph, node)


def _slice_of_all(graph: MutableGraph, node: Node, properties: Properties) -> bool:
    if node.type != "Slice":
        return False
    shape = properties.shape(node.inputs[0])
    begin, size = (properties.value(endpoint) for endpoint in node.inputs[1:3])
    if shape.rank is None or begin is None or size is None:
        return False
    parts = zip(shape.as_list(), begin, size, strict=False)
    return all(b == 0 and s in {-1, dim} for dim, b, s in parts) and _identity(graph, node)


def _strided_slice_of_all(graph: MutableGraph, node: Node, properties: Properties) -> bool:
    if node.type != "StridedSlice":
        return False
    masks = {
        which: node.attributes.get(f"{which}_mask", 0)
        for which in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")
    }
    shape = properties.shape(node.inputs[0])
    limits = [properties.value(endpoint) for endpoint in node.inputs[1:4]]
    if masks["new_axis"] or masks["shrink_axis"] or not shape.is_fully_defined():
        return False
    if any(limit is None for limit in limits):
        return False
    begin, end, strides = limits
    return _takes_all(shape.as_tuple(), begin, end, strides, masks) and _identity(graph, node)


def _takes_all(
    sizes: tuple[int, ...], begin: Any, end: Any, strides: Any, masks: dict[str, int]
) -> bool:
    given = len(strides)
    ellipsis = next((at for at in range(len(sizes)) if masks["ellipsis"] >> at & 1), None)
    if ellipsis is None and given < len(sizes):
        ellipsis = given
        skipped = len(sizes) - given
    else:
        skipped = len(sizes) - given + 1 if ellipsis is not None else 0
    for place, size in enumerate(sizes):
        at = place
        if ellipsis is not None and place >= ellipsis:
            if place < ellipsis + skipped:
                continue
            at = place - skipped + (1 if masks["ellipsis"] else 0)
        whole = (masks["begin"] >> at & 1 or begin[at] == 0) and (
            masks["end"] >> at & 1 or end[at] == size
        )
        if not whole or strides[at] != 1:
            return False
    return True


def _tile_once(graph: MutableGraph, node: Node, properties: Properties) -> bool:
    return _if_value(graph, node, properties, {"Tile"}, lambda value: bool(np.all(value == 1)))


def _pad_nothing(graph: MutableGraph, node: Node, properties: Properties) -> bool:
    ops = {"Pad", "PadV2"}
    return _if_value(graph, node, properties, ops, lambda value: not np.any(value))


def _if_value(
    graph: MutableGraph,
    node: Node,
    properties: Properties,
    types: Collection[str],
    test: Callable[[NDArray[Any]], bool],
) -> bool:
    value = properties.value(node.inputs[1]) if node.type in types else None
    return value is not None and test(value) and _identity(graph, node)


def _squeeze_nothing(graph: MutableGraph, node: Node, properties: Properties) -> bool:
    shape = properties.shape(node.inputs[0]) if node.type == "Squeeze" else None
    if shape is None or shape.rank is None:
        return False
    return all(size is not None and size > 1 for size in shape.as_list()) and _identity(graph, node)


def _pack_of_one(graph: MutableGraph, node: Node, _: Properties) -> bool:
    """Packing one tensor only gives it a dimension."""
    name = optimized_name(node, "_const_axis")
    if node.type != "Pack" or len(node.inputs) != 1 or name in graph:
        return False
    after = control_anchor(graph, node.inputs[0])
    value = np.array(node.attributes.get("axis", 0), np.int32)
    new_constant(graph, name, value, int32, node.device, after)
    graph.rewire(node, [*node.inputs, (name, 0)])
    kept = {key: each for key, each in node.attributes.items() if key not in {"axis", "N"}}
    graph.retype(node, "ExpandDims", {**kept, "Tdim": int32})
    return True


def _reduction_of_nothing(graph: MutableGraph, node: Node, properties: Properties) -> bool:
    """One element reduced is a reshape, but to a scalar: TensorFlow fails to make the constant for
    that. No dimension, or only those of size 1 that are kept: an identity.
    """
    if node.type not in REDUCTIONS:
        return False
    indices = value_of(graph.source(node, 1))
    if indices is None:
        return False
    if indices.size == 0:
        return _identity(graph, node)
    before, after = properties.shape(node.inputs[0]), properties.shape((node.name, 0))
    if not before.is_fully_defined() or not after.is_fully_defined():
        return False
    keep = node.attributes.get("keep_dims", False)
    sizes = before.as_tuple()
    flat = indices.ravel()
    nothing = all(-len(sizes) <= at < len(sizes) and sizes[at] == 1 for at in flat)
    if keep and nothing:
        return _identity(graph, node)
    one = before.num_elements() == after.num_elements() == 1
    if one and after.rank and not keep and "T" in node.attributes:
        name = optimized_name(node, "_shape_const")
        value = np.ones(after.rank, np.int32)
        new_constant(graph, name, value, int32, node.device, node.inputs[1][0])
        graph.set_input(node, 1, (name, 0))
        graph.retype(node, "Reshape", {**without_axes(node), "Tshape": int32})
        return True
    return False


def without_axes(node: Node) -> dict[str, Any]:
    """The attributes of a reduction that is to become another op."""
    return {
        name: value for name, value in node.attributes.items() if name not in {"Tidx", "keep_dims"}
    }


def _reshape_to_same(graph: MutableGraph, node: Node, properties: Properties) -> bool:
    if node.type != "Reshape":
        return False
    wanted = value_of(graph.source(node, 1))
    shape = properties.shape(node.inputs[0])
    if wanted is None or not shape.is_fully_defined() or wanted.size != shape.rank:
        return False
    same = all(a in {-1, b} for a, b in zip(wanted.ravel().tolist(), shape.as_tuple(), strict=True))
    return same and _identity(graph, node)


def _identity(graph: MutableGraph, node: Node) -> bool:
    become_identity(graph, node, 0)
    return True


RULES: tuple[Rule, ...] = (
    _split_of_one,
    _transpose_of_nothing,
    _shuffle_of_one,
    _reverse_of_ones,
    _slice_of_all,
    _strided_slice_of_all,
    _tile_once,
    _pad_nothing,
    _squeeze_nothing,
    _pack_of_one,
    steering.constant_past_enter,
    steering.switch_on_itself,
    _reduction_of_nothing,
    _reshape_to_same,
    arithmetic.neutral_element,
    arithmetic.multiply_by_reciprocal,
    arithmetic.push_constant_down,
    arithmetic.push_past_convolution,
    joining.constants_through_identities,
    joining.constants_among_addends,
    joining.constants_among_parts,
    joining.merge_concatenations,
    steering.case_of_one,
    steering.select_known,
)
"""In TensorFlow's order."""
