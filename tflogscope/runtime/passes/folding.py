"""Constant folding: what depends on nothing but constants is computed once, ahead. See
`core/grappler/optimizers/constant_folding.cc`; rules for single ops are in simplify.py.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

import numpy as np

from tflogscope.runtime.core.definition import NodeDef
from tflogscope.runtime.core.errors import KERNEL_ERRORS
from tflogscope.runtime.core.registry import bind, lookup, output_values
from tflogscope.runtime.core.shapes import known
from tflogscope.runtime.ops.flow import DEAD, LOWERED
from tflogscope.runtime.passes.dependencies import CHANGES_FRAME
from tflogscope.runtime.passes.graph import Graph, is_stateful
from tflogscope.runtime.passes.shapes import Properties
from tflogscope.runtime.passes.simplify import (
    become_constant,
    optimized_name,
    simplify,
    value_of,
)

_TOO_LARGE = 100 * 1024
_NEVER = CHANGES_FRAME | {"Merge", "LoopCond", "Const", "Placeholder", "PlaceholderWithDefault"}


def fold_constants(graph: Graph) -> None:
    """Fold until nothing changes any more."""
    properties = Properties(graph)  # NB: as it was at the start; new nodes have none
    while True:
        count = len(graph)
        _materialize(graph, properties)
        failed = _fold(graph, properties)
        modified = simplify(graph, properties, failed)
        if not modified and len(graph) == count:
            return


def computed(node: NodeDef, inputs: Sequence[Any]) -> list[Any] | None:
    """What the node gives for these arrays; None if its kernel refuses them."""
    try:
        with np.errstate(all="ignore"):
            result = bind(lookup(node.type), node.attributes)(*inputs)
        return list(result) if node.type in LOWERED else output_values(result, node.dtypes)
    except (*KERNEL_ERRORS, TypeError):
        return None


# -- what only depends on shapes


def _materialize(graph: Graph, properties: Properties) -> None:
    """NB: neither axes of reductions, nor what is filled with one number."""
    for node in graph:
        if node.type in {"Shape", "Size", "Rank"}:
            _shape(graph, node, properties)
        elif node.type == "ShapeN":
            for place in range(len(node.inputs)):
                _one_shape(graph, node, place, properties)
    for node in graph:
        if node.type == "BroadcastGradientArgs":
            _broadcast_arguments(graph, node, properties)


def _shape(graph: Graph, node: NodeDef, properties: Properties) -> None:
    shape = properties.shape(node.inputs[0])
    value: Any = None
    if node.type == "Rank":
        value = shape.rank
    elif shape.is_fully_defined():
        value = shape.sizes() if node.type == "Shape" else shape.num_elements()
    if value is not None:
        become_constant(graph, node, np.array(value, node.dtypes[0].as_numpy_dtype))


def _one_shape(graph: Graph, node: NodeDef, place: int, properties: Properties) -> None:
    shape, dtype = properties.shape(node.inputs[place]), node.dtypes[place]
    if not graph.data_readers(node.name, place) or not shape.is_fully_defined():
        return
    name = optimized_name(node, f"-matshapes-{place}")
    if name not in graph:
        value = np.array(shape.sizes(), dtype.as_numpy_dtype)
        graph.constant(name, value, dtype, node.device, [node.name])
    graph.replace_output((node.name, place), (name, 0))


def _broadcast_arguments(graph: Graph, node: NodeDef, properties: Properties) -> None:
    shapes: list[Any] = []
    for place in range(2):
        source = graph.source(node, place)
        value = value_of(source)
        of_shape = properties.shape(source.inputs[0]).dims if source.type == "Shape" else None
        shapes.append(of_shape if value is None else tuple(value.ravel().tolist()))
    indices = None if None in shapes else _reduced(shapes[0], shapes[1])
    for place, dims in enumerate(indices or ()):
        name, dtype = optimized_name(node, f"-bcastargs-{place}"), node.dtypes[0]
        if name not in graph:
            value = np.array(dims, dtype.as_numpy_dtype)
            graph.constant(name, value, dtype, node.device, [node.name])
        graph.replace_output((node.name, place), (name, 0))


def _reduced(one: Sequence[int], other: Sequence[int]) -> tuple[list[int], list[int]] | None:
    """Along which axes each was broadcast, if the sizes say so."""
    pairs = list(zip_longest(one, other, fillvalue=0))
    if any(a != b and not (known(a) and known(b)) for a, b in pairs):
        return None
    if one == other:
        return [], []
    rank = max(len(one), len(other))
    first, second = ([1] * (rank - len(shape)) + [*shape] for shape in (one, other))
    if any(a != b and 1 not in {a, b} for a, b in zip(first, second, strict=True)):
        return None
    return [k for k, dim in enumerate(first) if dim == 1], [
        k for k, dim in enumerate(second) if dim == 1
    ]


# -- what only depends on constants


def _fold(graph: Graph, properties: Properties) -> set[str]:
    """Compute what can be computed; the nodes whose kernels refused."""
    waiting = deque(node for node in graph if _can_fold(graph, node, properties))
    done: set[str] = set()
    failed: set[str] = set()
    while waiting:
        node = waiting.popleft()
        if node.name in done or node.name not in graph:
            continue
        done.add(node.name)
        readers = graph.readers(node.name)
        if _fold_node(graph, node):
            there = [each for each in readers if each.name in graph]
            waiting += [each for each in there if _can_fold(graph, each, properties)]
        else:
            failed.add(node.name)
    for node in graph:
        if not graph.readers(node.name) and node.name not in graph.kept:
            graph.remove(node.name)
    return failed


def _can_fold(graph: Graph, node: NodeDef, properties: Properties) -> bool:
    if not node.inputs or node.name in graph.kept or node.type in _NEVER:
        return False
    if is_stateful(node.type) or not node.dtypes or not graph.readers(node.name):
        return False
    values = [value_of(graph[name]) for name, _ in node.inputs]
    if any(value is None or value.dtype == object for value in values):
        return False
    taken = sum(value.nbytes for value in values)
    for place, dtype in enumerate(node.dtypes):
        size = (properties.shape((node.name, place)).num_elements() or 0) * dtype.size
        if not dtype.is_array or size > max(taken, _TOO_LARGE):
            return False
    return True


def _fold_node(graph: Graph, node: NodeDef) -> bool:
    values = computed(node, [value_of(graph[name]) for name, _ in node.inputs])
    if values is None:
        return False
    waits = dict.fromkeys(node.controls)
    for name, _ in node.inputs:
        waits.update(dict.fromkeys(graph[name].controls))
    if len(values) == 1:
        graph.rewire(node, [], waits)
        graph.retype(node, "Const", {"value": values[0], "dtype": node.dtypes[0]})
    else:
        _replace_outputs(graph, node, values, list(waits))
    return True


def _replace_outputs(graph: Graph, node: NodeDef, values: list[Any], waits: list[str]) -> None:
    """A constant for each output that is read; of a Switch only the live one has a value."""
    made = []
    for place, value in enumerate(values):
        if value is not DEAD:
            made.append(optimized_name(node, f"-folded-{place}"))
            graph.constant(made[-1], value, node.dtypes[place], node.device, waits)
            graph.replace_output((node.name, place), (made[-1], 0))
    for reader in graph.control_readers(node.name) if made else ():
        graph.remove_control(reader, node.name)
        graph.add_control(reader, made[-1])
    if not graph.readers(node.name):
        graph.rewire(node, [], [])
    for name in made:
        if not graph.readers(name):
            graph.remove(name)
