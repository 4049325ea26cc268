"""Constant folding: what depends on nothing but constants, or known shapes, is computed once, ahead.
See `core/grappler/optimizers/constant_folding.cc`; rules for single ops are in rules.py.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np

from tflogscope.runtime.core.errors import KERNEL_ERRORS
from tflogscope.runtime.core.graph import NodeDef
from tflogscope.runtime.core.registry import bind, lookup, output_values
from tflogscope.runtime.core.shapes import TensorShape
from tflogscope.runtime.ops.state import DEAD, LOWERED
from tflogscope.runtime.passes.dependencies import CHANGES_FRAME
from tflogscope.runtime.passes.graph import Graph, Properties, is_stateful
from tflogscope.runtime.passes.rules import apply_rules, become_constant, value_of

_TOO_LARGE = 100 * 1024
_OF_SHAPE: dict[str, Callable[[TensorShape], Any]] = {
    "Shape": lambda shape: shape.sizes() if shape.is_fully_defined() else None,
    "Size": lambda shape: shape.num_elements(),
    "Rank": lambda shape: shape.rank,
}
_NEVER = CHANGES_FRAME | {"Merge", "LoopCond", "Const", "Placeholder", "PlaceholderWithDefault"}


def fold_constants(graph: Graph) -> None:
    """Fold until nothing changes any more."""
    properties = Properties(graph)  # NB: as it was at the start; new nodes have none
    while True:
        count = len(graph)
        _use_shapes(graph, properties)
        failed = _fold(graph, properties)
        modified = apply_rules(graph, properties, failed)
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


def _give(
    graph: Graph, node: NodeDef, place: int, value: Any, suffix: str, after: Iterable[str]
) -> str:
    """Let who reads this output read a constant; its name."""
    name, dtype = f"ConstantFolding/{node.name}-{suffix}-{place}", node.dtypes[place]
    if name not in graph:
        value = np.asarray(value, dtype.as_numpy_dtype)
        graph.constant(name, value, dtype, node.device, after)
    graph.replace_output((node.name, place), (name, 0))
    return name


# -- what only depends on shapes


def _use_shapes(graph: Graph, properties: Properties) -> None:
    """NB: neither axes of reductions, nor what is filled with one number."""
    for node in graph:
        shapes = [properties.shape(endpoint) for endpoint in node.inputs]
        if node.type in _OF_SHAPE:
            value = _OF_SHAPE[node.type](shapes[0])
            if value is not None:
                become_constant(graph, node, value)
        elif node.type == "ShapeN":
            for place, shape in enumerate(shapes):
                if shape.is_fully_defined():
                    _give(graph, node, place, shape.sizes(), "matshapes", [node.name])
    for node in graph:
        if node.type == "BroadcastGradientArgs":
            one, other = (_shape_given(graph, node, place, properties) for place in range(2))
            for place, axes in enumerate(_reduced(one, other) or ()):
                _give(graph, node, place, axes, "bcastargs", [node.name])


def _shape_given(graph: Graph, node: NodeDef, place: int, properties: Properties) -> Any:
    """The sizes that this input is; None for one that is not known."""
    value, source = value_of(graph, node.inputs[place]), graph.source(node, place)
    if value is not None:
        return value.ravel().tolist()
    return properties.shape(source.inputs[0]).dims if source.type == "Shape" else None


def _reduced(one: Any, other: Any) -> tuple[list[int], list[int]] | None:
    """Along which axes each was broadcast, if the sizes say so."""
    if one is None or other is None:
        return None
    pairs = list(zip_longest(reversed(one), reversed(other), fillvalue=1))[::-1]
    if any(a != b and None in {a, b} for a, b in pairs):
        return None
    if all(a == b for a, b in pairs) and len(one) == len(other):
        return [], []
    first, second = ([at for at, pair in enumerate(pairs) if pair[k] == 1] for k in range(2))
    return first, second


# -- what only depends on constants


def _fold(graph: Graph, properties: Properties) -> set[str]:
    """Compute what can be computed; the nodes whose kernels refused."""
    waiting = deque(node for node in graph if _can_fold(graph, node, properties))
    failed: set[str] = set()
    while waiting:
        node = waiting.popleft()
        if node.name not in graph or not _can_fold(graph, node, properties):
            continue
        readers = graph.readers(node.name)
        if _fold_node(graph, node):
            waiting += [each for each in readers if _can_fold(graph, each, properties)]
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
    values = [value_of(graph, endpoint) for endpoint in node.inputs]
    if any(value is None or value.dtype == object for value in values):
        return False
    largest = max(sum(value.nbytes for value in values), _TOO_LARGE)
    sizes = [properties.shape((node.name, at)).num_elements() for at in range(len(node.dtypes))]
    return all(
        dtype.is_array and (size or 0) * dtype.size <= largest
        for size, dtype in zip(sizes, node.dtypes, strict=True)
    )


def _fold_node(graph: Graph, node: NodeDef) -> bool:
    values = computed(node, [value_of(graph, endpoint) for endpoint in node.inputs])
    if values is None:
        return False
    waits = [*node.controls, *(wait for name, _ in node.inputs for wait in graph[name].controls)]
    if len(values) == 1:
        graph.rewire(node, [], waits)
        graph.retype(node, "Const", {"value": values[0], "dtype": node.dtypes[0]})
        return True
    # of a Switch only the live output has a value
    live = [(place, value) for place, value in enumerate(values) if value is not DEAD]
    made = [_give(graph, node, place, value, "folded", waits) for place, value in live]
    for reader in graph.control_readers(node.name):
        graph.redirect(reader, node.name, made[-1])
    if not graph.readers(node.name):
        graph.rewire(node, [], [])
    return True
