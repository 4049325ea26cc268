"""What all methods of `Dataset` need to call their op."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tflogscope.runtime import dtypes
from tflogscope.runtime.conversion import convert_to_tensor
from tflogscope.runtime.data import ops, structure
from tflogscope.runtime.shapes import TensorShape, as_shape
from tflogscope.runtime.tensors import TensorSpec

__all__ = [
    "deterministic_attribute",
    "int64",
    "make_variant",
    "size_of",
    "spec_of_types",
    "tensor_dtypes",
    "tensors_of",
]


def make_variant(
    op: str,
    spec: Any,
    inputs: Mapping[str, Any],
    name: str | None,
    *,
    types: str = "output_types",
    **attributes: Any,
) -> Any:
    """The variant tensor of a dataset with elements of `spec`; `types` is what the op calls the
    dtypes of its elements.
    """
    common = {
        types: structure.dtypes(spec),
        "output_shapes": structure.shapes(spec),
        "metadata": _metadata(name),
    }
    return ops.call(op, inputs, attributes | common)[0]


def tensors_of(op: str, dataset: Any, name: str | None) -> list[Any]:
    """What an op makes of a dataset: tensors like those of its elements."""
    spec = dataset.element_spec
    attributes = {
        "output_types": structure.dtypes(spec),
        "output_shapes": structure.shapes(spec),
        "metadata": _metadata(name),
    }
    return ops.call(op, {"dataset": dataset._variant_tensor}, attributes)


def _metadata(name: str | None) -> bytes:
    """The name in a proto message of one field."""
    return b"" if name is None else bytes([10, len(name)]) + name.encode()


def int64(value: Any, name: str) -> Any:
    """A number as the int64 tensor that dataset ops take."""
    return convert_to_tensor(value, dtypes.int64, name)


def deterministic_attribute(value: bool | None) -> str:
    """How ops spell whether the order of elements must be kept."""
    return "default" if value is None else str(value).lower()


def tensor_dtypes(tensors: Sequence[Any]) -> tuple[dtypes.DType, ...]:
    """The dtype of each."""
    return tuple(tensor.dtype for tensor in tensors)


def size_of(spec: TensorSpec) -> int | None:
    """How many slices a component has. Raises ValueError for a scalar, which has none."""
    if spec.shape.rank == 0:
        raise ValueError("Unbatching a tensor is only supported for rank >= 1")
    size: int | None = spec.shape[0]
    return size


def batched(spec: Any, size: int | None) -> Any:
    """The spec of `size` (or not known how many) elements stacked."""
    return structure.map_structure(
        lambda each: TensorSpec(TensorShape([size]) + each.shape, each.dtype), spec
    )


def most_general(first: Any, second: Any) -> Any:
    """The narrowest spec for elements of both. Raises TypeError if their dtypes differ."""
    pairs = list(zip(structure.flatten(first), structure.flatten(second), strict=True))
    for one, other in pairs:
        if one.dtype is not other.dtype:
            raise TypeError(f"Incompatible dtypes of datasets: {one.dtype!r} and {other.dtype!r}.")
    shapes = [one.shape.most_specific_compatible_shape(other.shape) for one, other in pairs]
    return structure.pack_as(
        first, [TensorSpec(shape, one.dtype) for shape, (one, _) in zip(shapes, pairs, strict=True)]
    )


def spec_of_types(types: Any, shapes: Any) -> Any:
    """The element spec for a structure of dtypes and, if given, one of shapes."""
    flat = [dtypes.as_dtype(each) for each in structure.flatten(types)]
    if shapes is None:
        found: list[Any] = [TensorShape(None)] * len(flat)
    elif len(flat) == 1:
        found = [as_shape(shapes)]
    else:
        found = [as_shape(each) for each in shapes]
    specs = [TensorSpec(shape, dtype) for shape, dtype in zip(found, flat, strict=True)]
    return structure.pack_as(types, specs)
