"""Iterators of TensorFlow 1: nodes of a graph, which a session keeps under their names.

Told about: `make_one_shot_iterator`, `make_initializable_iterator` of `data/ops/dataset_ops.py`,
`OneShotIteratorOp` of `core/kernels/data/iterator_ops.cc`.
"""

from __future__ import annotations

from typing import Any

from tflogscope.runtime import context
from tflogscope.runtime.context import execute
from tflogscope.runtime.data import structure
from tflogscope.runtime.function.concrete import ConcreteFunction
from tflogscope.runtime.function.func_graph import FuncGraph
from tflogscope.runtime.function.lifting import lift
from tflogscope.runtime.graph import Graph

__all__ = ["GraphIterator", "make_initializable_iterator", "make_one_shot_iterator"]


class GraphIterator:
    """An iterator of a graph: each run of what `get_next` gave takes one element."""

    def __init__(self, resource: Any, element_spec: Any, initializer: Any = None) -> None:
        self._iterator_resource, self.element_spec = resource, element_spec
        self._initializer = initializer

    @property
    def initializer(self) -> Any:
        """The node that sets it to the first element. Raises ValueError if it has none."""
        if self._initializer is None:
            raise ValueError("The iterator does not have an initializer.")
        return self._initializer

    def get_next(self, name: str | None = None) -> Any:
        """The tensors of the next element."""
        kinds = _attributes(self.element_spec)
        tensors = execute("IteratorGetNext", [self._iterator_resource], kinds, name)
        return structure.from_tensors(self.element_spec, tensors)


def make_one_shot_iterator(dataset: Any) -> Any:
    """An iterator that needs no initialisation; eagerly one as `iter` gives it.

    The dataset is made by a function, of copies of the nodes that it is made of in the graph.
    """
    if context.executing_eagerly():
        return iter(dataset)
    graph = FuncGraph(f"_make_dataset_{context.current().unique_name('_make_dataset')}")  # type: ignore[attr-defined]
    made = dataset._variant_tensor
    with context.enter(graph):
        graph.outputs = [lift([made], graph)[made.uid]]
        graph.structured_outputs = graph.outputs[0]
    attributes = {
        **_attributes(dataset.element_spec),
        "dataset_factory": ConcreteFunction(graph).inference,
        "shared_name": _own_name("OneShotIterator"),
    }
    return GraphIterator(execute("OneShotIterator", [], attributes)[0], dataset.element_spec)


def make_initializable_iterator(dataset: Any, shared_name: str | None = None) -> GraphIterator:
    """An iterator that begins whenever its initializer is run. Raises RuntimeError eagerly."""
    if context.executing_eagerly():
        raise RuntimeError(
            "`make_initializable_iterator()` is not supported in eager mode. Use Python-style "
            "iteration instead."
        )
    attributes = {
        **_attributes(dataset.element_spec),
        "shared_name": shared_name or _own_name("IteratorV2"),
    }
    resource = execute("IteratorV2", [], attributes)[0]
    execute("MakeIterator", [dataset._variant_tensor, resource])
    graph: Graph = context.current()  # type: ignore[assignment]
    return GraphIterator(resource, dataset.element_spec, graph.nodes[-1])


def _own_name(type: str) -> str:
    """NB: TensorFlow's node finds its iterator by its own name, and `shared_name` stays empty."""
    graph: Graph = context.current()  # type: ignore[assignment]
    return graph.unique_name(type, mark_as_used=False)


def _attributes(spec: Any) -> dict[str, Any]:
    return {"output_types": structure.dtypes(spec), "output_shapes": structure.shapes(spec)}
