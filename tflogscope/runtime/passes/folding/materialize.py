"""Shapes, sizes and ranks that are known become constants, and what depends on shapes alone.

Told about: `MaterializeShapes` and `MaterializeConstants` of `constant_folding.cc`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

import numpy as np

from tflogscope.runtime.passes.constant_edges import control_anchor
from tflogscope.runtime.passes.facts import REDUCTIONS
from tflogscope.runtime.passes.folding.constants import (
    become_constant,
    new_constant,
    optimized_name,
    value_of,
)
from tflogscope.runtime.passes.graph import MutableGraph, Node
from tflogscope.runtime.passes.numbering import is_number, numbers_of
from tflogscope.runtime.passes.shapes import Properties

__all__ = ["materialize"]


def materialize(graph: MutableGraph, properties: Properties) -> None:
    """Make constants of what the shapes tell."""
    for node in graph:
        if node.type in {"Shape", "Size", "Rank"}:
            _shape(graph, node, properties)
        elif node.type == "ShapeN":
            _shapes(graph, node, properties)
    for node in graph:
        if node.type == "BroadcastGradientArgs":
            _broadcast_arguments(graph, node, properties)
        elif node.type in REDUCTIONS:
            _reduction_indices(graph, node, properties)
        elif node.type in {"Fill", "ZerosLike", "OnesLike"}:
            _filled(graph, node, properties)


def _shape(graph: MutableGraph, node: Node, properties: Properties) -> None:
    shape = properties.shape(node.inputs[0])
    numpy_dtype = node.dtypes[0].as_numpy_dtype
    if node.type == "Rank":
        if shape.rank is not None:
            become_constant(graph, node, np.array(shape.rank, numpy_dtype))
    elif shape.is_fully_defined():
        known = shape.as_tuple() if node.type == "Shape" else shape.num_elements()
        become_constant(graph, node, np.array(known, numpy_dtype))


def _shapes(graph: MutableGraph, node: Node, properties: Properties) -> None:
    for place, endpoint in enumerate(node.inputs):
        shape = properties.shape(endpoint)
        readers = [
            (reader, at)
            for reader, at in graph.data_readers(node.name)
            if reader.inputs[at][1] == place
        ]
        if not readers or not shape.is_fully_defined():
            continue
        name = optimized_name(node, f"-matshapes-{place}")
        if name not in graph:
            value = np.array(shape.as_tuple(), node.dtypes[place].as_numpy_dtype)
            new_constant(graph, name, value, node.dtypes[place], node.device, node.name)
        for reader, at in readers:
            graph.set_input(reader, at, (name, 0))


def _broadcast_arguments(graph: MutableGraph, node: Node, properties: Properties) -> None:
    """Which dimensions a gradient has to be summed over, because the input was broadcast."""
    names = [optimized_name(node, f"-bcastargs-{place}") for place in range(2)]
    shapes = [_known_shape(graph.source(node, place), properties) for place in range(2)]
    if shapes[0] is None or shapes[1] is None:
        return
    indices = _reduced(shapes[0], shapes[1])
    if indices is None:
        return
    dtype = node.dtypes[0]
    for place, (name, dims) in enumerate(zip(names, indices, strict=True)):
        if name not in graph:
            value = np.array(dims, dtype.as_numpy_dtype)
            new_constant(graph, name, value, dtype, node.device, node.name)
        graph.replace_output((node.name, place), (name, 0))


def _known_shape(node: Node, properties: Properties) -> tuple[int, ...] | None:
    if node.type == "Shape":
        return numbers_of(properties.shape(node.inputs[0]))
    value = value_of(node)
    return None if value is None else tuple(value.ravel().tolist())


def _reduced(one: Sequence[int], other: Sequence[int]) -> tuple[list[int], list[int]] | None:
    """For both shapes the dimensions of the result that it does not have, or has as 1; None if that
    can't be told, or they do not go together.

    NB: TensorFlow too compares dimensions that are not known from the left.
    """
    if any(a != b and is_number(max(a, b)) for a, b in zip_longest(one, other, fillvalue=0)):
        return None
    if one == other:
        return [], []
    rank = max(len(one), len(other))
    padded = [[1] * (rank - len(shape)) + [*shape] for shape in (one, other)]
    if any(a != b and 1 not in {a, b} for a, b in zip(*padded, strict=True)):
        return None
    first, second = ([at for at, dim in enumerate(shape) if dim == 1] for shape in padded)
    return first, second


def _reduction_indices(graph: MutableGraph, node: Node, properties: Properties) -> None:
    """A reduction over all dimensions, whatever its indices are, if the result has none."""
    if len(node.inputs) < 2 or graph.source(node, 1).type == "Const":
        return
    shape = properties.shape(node.inputs[0])
    if not shape.rank:
        return
    count = properties.shape(node.inputs[1]).num_elements()
    full = properties.shape((node.name, 0)).rank == 0 or count == shape.rank
    if not full:
        readers = graph.readers(node.name)
        full = bool(readers) and all(
            reader.type == "Reshape" and properties.shape((reader.name, 0)).num_elements() == 1
            for reader in readers
        )
    name = optimized_name(node, "-reduction_indices")
    if full and name not in graph:
        source = graph.source(node, 1)
        dtype = source.dtypes[node.inputs[1][1]]
        value = np.arange(shape.rank, dtype=dtype.as_numpy_dtype)
        after = control_anchor(graph, node.inputs[1])
        new_constant(graph, name, value, dtype, node.device, after)
        graph.set_input(node, 1, (name, 0))


def _filled(graph: MutableGraph, node: Node, properties: Properties) -> None:
    shape = properties.shape((node.name, 0))
    if not shape.is_fully_defined() or not node.dtypes[0].is_array:
        return
    if node.type == "Fill":
        element = value_of(graph.source(node, 1))
        if element is None or graph.source(node, 0).type != "Const":
            return
    else:
        element = np.array(node.type == "OnesLike")
    if element.dtype == object:
        return
    dtype = node.dtypes[0].as_numpy_dtype
    become_constant(graph, node, np.full(shape.as_tuple(), element.astype(dtype)[()], dtype))
