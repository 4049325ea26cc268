"""Elements have a structure: tuples and dicts of components. Here it is taken apart and put
together again.

An *element spec* is the same structure with a `TensorSpec` or `DatasetSpec` in place of each
component. Lists are no structure in tf.data: a list is one tensor.

Told about: `tensorflow/python/data/util/nest.py` and `structure.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tflogscope.runtime import composites
from tflogscope.runtime.context import op_scope
from tflogscope.runtime.conversion import convert_to_tensor
from tflogscope.runtime.dtypes import DType
from tflogscope.runtime.shapes import TensorShape
from tflogscope.runtime.tensors import Tensor, TensorSpec

__all__ = [
    "common_supertype",
    "dtypes",
    "flatten",
    "from_tensors",
    "is_subtype",
    "map_structure",
    "normalize_element",
    "pack_as",
    "shapes",
    "spec_of",
    "to_tensors",
]


def flatten(structure: Any) -> list[Any]:
    """The components, dicts in the order of their keys."""
    if isinstance(structure, Mapping):
        return [leaf for key in sorted(structure) for leaf in flatten(structure[key])]
    if isinstance(structure, tuple):
        return [leaf for item in structure for leaf in flatten(item)]
    return [structure]


def pack_as(structure: Any, flat: Iterable[Any]) -> Any:
    """The same structure with other components."""
    leaves = iter(flat)

    def packed(part: Any) -> Any:
        if isinstance(part, Mapping):
            filled = {key: packed(part[key]) for key in sorted(part)}
            return type(part)((key, filled[key]) for key in part)  # type: ignore[call-arg]
        if isinstance(part, tuple):
            items = [packed(item) for item in part]
            return type(part)(*items) if hasattr(part, "_fields") else type(part)(items)
        return next(leaves)

    return packed(structure)


def map_structure(function: Callable[[Any], Any], structure: Any) -> Any:
    """The structure with `function` of each component."""
    return pack_as(structure, [function(leaf) for leaf in flatten(structure)])


def normalize_element(element: Any) -> Any:
    """The structure with each component as a tensor; datasets stay what they are."""
    with op_scope(None, "normalize_element"):
        leaves = [
            leaf if _is_composite(leaf) else convert_to_tensor(leaf, name=f"component_{index}")
            for index, leaf in enumerate(flatten(element))
        ]
    return pack_as(element, leaves)


def spec_of(element: Any) -> Any:
    """The element spec of a structure of tensors and datasets.

    Raises TypeError for a component that is neither.
    """
    return map_structure(_component_spec, element)


def _component_spec(value: Any) -> Any:
    if _is_composite(value):
        return composites.type_spec(value)
    if isinstance(value, Tensor):
        return TensorSpec(value.shape, value.dtype)
    tensor = convert_to_tensor(value)
    return TensorSpec(tensor.shape, tensor.dtype)


def _is_composite(value: Any) -> bool:
    return hasattr(value, "_variant_tensor")


def to_tensors(element: Any) -> list[Tensor]:
    """The flat tensors that stand for an element; a dataset is its variant tensor."""
    return [
        leaf._variant_tensor if _is_composite(leaf) else convert_to_tensor(leaf)
        for leaf in flatten(element)
    ]


def from_tensors(spec: Any, tensors: Iterable[Any]) -> Any:
    """The element of that spec that these flat tensors stand for. Shapes that the spec knows are
    set.
    """
    return pack_as(
        spec,
        [_component(leaf, tensor) for leaf, tensor in zip(flatten(spec), tensors, strict=True)],
    )


def _component(spec: Any, tensor: Any) -> Any:
    if not isinstance(spec, TensorSpec):
        return composites.from_components(spec, [tensor])
    tensor.set_shape(spec.shape)
    return tensor


def _same_structure(one: Any, other: Any) -> bool:
    return bool(pack_as(one, [0] * len(flatten(one))) == pack_as(other, [0] * len(flatten(other))))


def is_subtype(one: Any, other: Any) -> bool:
    """Is each component of one element spec a case of the other's?"""
    return _same_structure(one, other) and all(
        (
            isinstance(b, TensorSpec) and a.dtype is b.dtype and a.shape.is_subtype_of(b.shape)
            if isinstance(a, TensorSpec)
            else a.is_subtype_of(b)
        )
        for a, b in zip(flatten(one), flatten(other), strict=True)
    )


def common_supertype(one: Any, other: Any) -> Any:
    """The narrowest element spec that includes both, None if there is none."""
    if not _same_structure(one, other):
        return None
    pairs = zip(flatten(one), flatten(other), strict=True)
    common = [_common_component(a, b) for a, b in pairs]
    return None if None in common else pack_as(one, common)


def _common_component(one: Any, other: Any) -> Any:
    if not isinstance(one, TensorSpec):
        return one.common_supertype(other)
    if not isinstance(other, TensorSpec) or one.dtype is not other.dtype:
        return None
    return TensorSpec(one.shape.most_specific_compatible_shape(other.shape), one.dtype)


def dtypes(spec: Any) -> tuple[DType, ...]:
    """The dtype of each flat tensor of an element."""
    return tuple(tensor_spec(leaf).dtype for leaf in flatten(spec))


def shapes(spec: Any) -> tuple[TensorShape, ...]:
    """The shape of each flat tensor of an element."""
    return tuple(tensor_spec(leaf).shape for leaf in flatten(spec))


def tensor_spec(leaf: Any) -> TensorSpec:
    """The spec of the tensor that stands for a component."""
    if isinstance(leaf, TensorSpec):
        return leaf
    spec: TensorSpec
    (spec,) = composites.specs(leaf)
    return spec
