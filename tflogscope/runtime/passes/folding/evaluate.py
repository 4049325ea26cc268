"""Nodes whose inputs are all constants are run now, and become constants themselves.

Told about: `FoldGraph` and `MaybeFoldable` of `constant_folding.cc`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflogscope.runtime import telling
from tflogscope.runtime.eager import output_values
from tflogscope.runtime.errors import NotInThisRuntime, OpError
from tflogscope.runtime.operations import bind, lookup
from tflogscope.runtime.passes.facts import CHANGES_FRAME, has_outputs, is_stateful
from tflogscope.runtime.passes.folding.constants import optimized_name, value_of
from tflogscope.runtime.passes.graph import MutableGraph, Node
from tflogscope.runtime.passes.shapes import Properties

__all__ = ["fold"]

_TOO_LARGE = 100 * 1024
"""Bytes: `kMaxConstantSize`. A larger result is computed only from even larger inputs."""
_SWITCHES = frozenset({"Switch", "_SwitchN"})
_NEVER = frozenset({"FakeParam", "LoopCond", "Const", "Placeholder", "PlaceholderWithDefault"})


def fold(graph: MutableGraph, properties: Properties) -> set[str]:
    """Run what can be run; the names of nodes that were left because they failed."""
    folding = _Folding(graph, properties)
    waiting = deque(node for node in graph if folding.can_fold(node))
    done: set[str] = set()
    failed: set[str] = set()
    while waiting:
        node = waiting.popleft()
        if node.name in done or node.name not in graph:
            continue
        done.add(node.name)
        readers = graph.readers(node.name)
        if folding.fold(node):
            waiting += [each for each in readers if each.name in graph and folding.can_fold(each)]
        else:
            failed.add(node.name)
    for node in graph:
        if not graph.readers(node.name) and node.name not in graph.kept:
            graph.remove(node.name)
    return failed


class _Folding:
    def __init__(self, graph: MutableGraph, properties: Properties) -> None:
        self.graph = graph
        self.properties = properties

    def can_fold(self, node: Node) -> bool:
        graph = self.graph
        if not node.inputs and not node.controls:
            return False
        fetched = node.name in graph.fetched and len(node.dtypes) == 1  # keeps its name
        if (node.name in graph.kept and not fetched) or node.type in _NEVER | CHANGES_FRAME:
            return False
        if is_stateful(node.type) or not has_outputs(node.type):
            return False
        if any(part in node.type for part in ("Save", "Restore", "Reader", "Quantized")):
            return False
        if node.type.startswith("Sparse") or not graph.readers(node.name):
            return False
        if node.type == "Merge":
            return any(self._is_certain(graph[name]) for name, _ in node.inputs)
        for name, _ in node.inputs:
            value = value_of(graph[name])
            if value is None or value.dtype == object:
                return False
        return all(dtype.is_array for dtype in node.dtypes) and not self._is_too_large(node)

    @staticmethod
    def _is_certain(node: Node) -> bool:
        value = value_of(node)
        return value is not None and value.dtype != object and not node.controls

    def _is_too_large(self, node: Node) -> bool:
        taken = sum(_bytes(value_of(self.graph[name])) for name, _ in node.inputs)
        for place, dtype in enumerate(node.dtypes):
            count = self.properties.shape((node.name, place)).num_elements()
            size = (count or 0) * dtype.size
            if size > taken and size > _TOO_LARGE:
                return True
        return False

    def fold(self, node: Node) -> bool:
        """Run it; False if it can't be run."""
        graph = self.graph
        if node.type == "Merge":
            return self._fold_merge(node)
        arrays = [value_of(graph[name]) for name, _ in node.inputs]
        try:
            with np.errstate(all="ignore"):
                result = bind(lookup(node.type), node.attributes)(*arrays)
            values = _live(result) if node.type in _SWITCHES else output_values(result, node.dtypes)
        except (OpError, NotInThisRuntime, ValueError, TypeError):
            return False
        if telling.listener is not None:
            telling.listener.node_folded(node.name, node.type, node.attributes)
        waits = dict.fromkeys(node.controls)
        for name, _ in node.inputs:
            waits.update(dict.fromkeys(graph[name].controls))
        if len(values) == 1:
            graph.rewire(node, [], waits)
            graph.retype(node, "Const", {"value": values[0], "dtype": node.dtypes[0]})
        else:
            self._replace_outputs(node, values, waits)
        return True

    def _replace_outputs(
        self, node: Node, values: Sequence[NDArray[Any] | None], waits: Collection[str]
    ) -> None:
        """A node with several outputs is replaced by a constant for each that is there.

        The output of a Switch that is not taken stays as it is, and with it the node.
        """
        graph = self.graph
        name = ""
        for place, value in enumerate(values):
            if value is None:
                continue
            name = optimized_name(node, f"-folded-{place}")
            dtype = node.dtypes[place]
            attributes = {"value": value, "dtype": dtype}
            constant = Node(name, "Const", [], list(waits), attributes, node.device, (dtype,))
            graph.add(constant)
            graph.replace_output((node.name, place), (name, 0))
        for reader in graph.control_readers(node.name) if name else ():
            graph.remove_control(reader, node.name)
            graph.add_control(reader, name)
        if not graph.readers(node.name):
            graph.rewire(node, [], [])
        for place, value in enumerate(values):
            name = optimized_name(node, f"-folded-{place}")
            if value is not None and not graph.readers(name):
                graph.remove(name)

    def _fold_merge(self, node: Node) -> bool:
        """A Merge hands on what comes first, and a constant is there from the start."""
        graph = self.graph
        names = [optimized_name(node, suffix) for suffix in ("_const", "_index")]
        if any(name in graph for name in names):
            return False
        for place, (name, _) in enumerate(node.inputs):
            source = graph[name]
            if not self._is_certain(source):
                continue
            constant = source.copy(names[0])
            constant.controls, constant.device = [node.name], node.device
            graph.add(constant)
            dtype = node.dtypes[1]
            value = np.array(place, dtype.as_numpy_dtype)
            attributes = {"value": value, "dtype": dtype}
            graph.add(Node(names[1], "Const", [], [node.name], attributes, node.device, (dtype,)))
            graph.replace_output((node.name, 0), (names[0], 0))
            graph.replace_output((node.name, 1), (names[1], 0))
            return True
        return False


def _live(outputs: Sequence[Any]) -> list[NDArray[Any] | None]:
    """The outputs of a Switch: an array where there is one."""
    return [value if isinstance(value, np.ndarray) else None for value in outputs]


def _bytes(value: NDArray[Any] | None) -> int:
    return 0 if value is None else value.nbytes
