"""Values that go through branches and loops: tensors in nested structures, TensorArrays as the flow
of theirs, and composites as what they are made of.
"""

from __future__ import annotations

from typing import Any

from tflogscope.runtime import composites, nest
from tflogscope.runtime.control_flow.tensor_array import TensorArray
from tflogscope.runtime.conversion import convert_to_tensor
from tflogscope.runtime.indexed_slices import IndexedSlices
from tflogscope.runtime.tensors import HandleData, Tensor
from tflogscope.runtime.variables import Variable

__all__ = [
    "copy_handle_data",
    "is_tensor",
    "merged_handle_data",
    "packed",
    "to_flows",
    "to_tensors",
]


def is_tensor(value: Any) -> bool:
    """A tensor or a variable? What `tf.is_tensor` says."""
    return isinstance(value, Tensor | Variable)


def to_tensors(structure: Any) -> Any:
    """The structure with a tensor for each leaf; TensorArrays and composites stay."""
    return nest.map_structure(
        lambda leaf: leaf if _stays(leaf) else convert_to_tensor(leaf), structure
    )


def _stays(leaf: Any) -> bool:
    if isinstance(leaf, Tensor | Variable | IndexedSlices):
        return False
    return isinstance(leaf, TensorArray) or composites.is_composite(leaf)


def to_flows(structure: Any) -> Any:
    """The structure with the flow of each TensorArray and the parts of each composite in its
    place.
    """

    def flow(leaf: Any) -> Any:
        if isinstance(leaf, TensorArray):
            return leaf.flow
        return composites.components(leaf) if _stays(leaf) else leaf

    return nest.map_structure(flow, structure)


def packed(like: Any, tensors: Any) -> Any:
    """The tensors in the structure `like`, with a TensorArray of that flow where `like` has one,
    None where that has None.
    """
    rest = iter(tensors)

    def leaf(original: Any) -> Any:
        if original is None:
            return None
        if composites.is_composite(original):
            spec = composites.type_spec(original)
            count = len(composites.components(original))
            return composites.from_components(spec, [next(rest) for _ in range(count)])
        return original.with_flow(next(rest)) if isinstance(original, TensorArray) else next(rest)

    return nest.map_structure(leaf, like)


def copy_handle_data(sources: Any, targets: Any) -> None:
    """Let resource and variant tensors know what they lead to."""
    for source, target in zip(sources, targets, strict=False):
        if target.handle_data is None:
            target.handle_data = source.handle_data


def merged_handle_data(tensors: Any) -> HandleData | None:
    """What is known of the value behind one of these tensors, whichever it is."""
    known = [tensor.handle_data for tensor in tensors]
    if any(each is None for each in known):
        return None
    shape = known[0].shape
    for each in known[1:]:
        shape = shape.most_specific_compatible_shape(each.shape)
    return HandleData(shape, known[0].dtype)
