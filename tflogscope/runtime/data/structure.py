"""The structure of an element: tuples and dictionaries of tensors and datasets; a list is a tensor."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from tflogscope.runtime.core import nest
from tflogscope.runtime.core.context import op_scope
from tflogscope.runtime.core.conversion import convert_to_tensor
from tflogscope.runtime.core.shapes import SCALAR
from tflogscope.runtime.core.tensors import TensorSpec


class DatasetSpec(TensorSpec):
    """What a dataset is: a variant tensor, whose elements are described."""

    def __init__(self, element_spec: Any, make: Any) -> None:
        super().__init__(SCALAR, "variant")
        self.element_spec, self.make = element_spec, make


def normalized(value: Any) -> Any:
    """The structure with tensors in it."""
    numbers = itertools.count()

    def walk(part: Any) -> Any:
        if isinstance(part, (tuple, Mapping)):
            return nest.like(part, [walk(each) for each in nest.children(part)])
        name = f"component_{next(numbers)}"
        return part if _is_dataset(part) else convert_to_tensor(part, name=name)

    with op_scope(None, "normalize_element"):
        return walk(value)


def _is_dataset(value: Any) -> bool:
    return hasattr(value, "spec")


def spec_of(element: Any) -> Any:
    return nest.map_structure(
        lambda e: e.spec if _is_dataset(e) else TensorSpec(e.shape, e.dtype), element
    )


def tensors_of(element: Any) -> list[Any]:
    return [each.variant if _is_dataset(each) else each for each in nest.flatten(element)]


def restored(spec: Any, tensors: Sequence[Any]) -> Any:
    """The element that is made of these tensors."""
    left = iter(tensors)

    def leaf(each: Any) -> Any:
        tensor = next(left)
        if isinstance(each, DatasetSpec):
            return each.make(tensor, each.element_spec)
        tensor.set_shape(each.shape)
        return tensor

    return nest.map_structure(leaf, spec)


def outputs_of(spec: Any) -> dict[str, Any]:
    leaves = nest.flatten(spec)
    return {
        "output_types": tuple(each.dtype for each in leaves),
        "output_shapes": tuple(each.shape for each in leaves),
    }
