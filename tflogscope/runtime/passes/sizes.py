"""The product of all dimensions of a shape is the tensor's size, which is one op.

Told about: `core/grappler/optimizers/shape_optimizer.cc`. NB: it also makes a constant of one size
divided by another (`Div`), which TensorFlow 2 does not write any more.
"""

from __future__ import annotations

from tflogscope.runtime.passes.folding.simplify import without_axes
from tflogscope.runtime.passes.graph import MutableGraph
from tflogscope.runtime.passes.shapes import Properties

__all__ = ["use_sizes"]


def use_sizes(graph: MutableGraph) -> None:
    """Let each `Prod` over a `Shape` be a `Size`, if it gives a scalar."""
    shapes = [node for node in graph if node.type == "Shape"]
    if not shapes or all(node.type != "Prod" for node in graph):
        return
    properties = Properties(graph)
    for shape in shapes:
        for product, place in graph.data_readers(shape.name):
            if product.type != "Prod" or place or product.attributes.get("keep_dims"):
                continue
            if properties.shape(product.inputs[1]).num_elements() != 1:
                continue
            types = {"T": shape.attributes["T"], "out_type": product.attributes["T"]}
            graph.rewire(product, shape.inputs[:1], [shape.name, *product.controls])
            graph.retype(product, "Size", without_axes(product) | types)
