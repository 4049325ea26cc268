"""The structure of an element: tuples and dictionaries of tensors and datasets; a list is a tensor."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tflogscope.runtime.core.context import op_scope
from tflogscope.runtime.core.conversion import convert_to_tensor
from tflogscope.runtime.core.shapes import SCALAR
from tflogscope.runtime.core.tensors import TensorSpec


class DatasetSpec(TensorSpec):
    """What a dataset is: a variant tensor, whose elements are described."""

    def __init__(self, element_spec: Any, make: Any) -> None:
        super().__init__(SCALAR, "variant")
        self.element_spec, self.make = element_spec, make


def flatten(value: Any) -> list[Any]:
    if isinstance(value, Mapping):
        return [leaf for key in sorted(value) for leaf in flatten(value[key])]
    return [leaf for e in value for leaf in flatten(e)] if isinstance(value, tuple) else [value]


def packed(like: Any, leaves: Iterator[Any]) -> Any:
    if isinstance(like, Mapping):
        filled = {key: packed(like[key], leaves) for key in sorted(like)}
        return {key: filled[key] for key in like}
    if isinstance(like, tuple):
        items = [packed(each, leaves) for each in like]
        return type(like)(*items) if hasattr(like, "_fields") else tuple(items)
    return next(leaves)


def mapped(function: Callable[[Any], Any], value: Any) -> Any:
    return packed(value, iter([function(leaf) for leaf in flatten(value)]))


def normalized(value: Any) -> Any:
    numbers = iter(range(len(flatten(value))))

    def leaf(each: Any) -> Any:
        name = f"component_{next(numbers)}"
        return each if _is_dataset(each) else convert_to_tensor(each, name=name)

    with op_scope(None, "normalize_element"):
        return mapped(leaf, value)


def _is_dataset(value: Any) -> bool:
    return hasattr(value, "spec")


def spec_of(value: Any) -> Any:
    return mapped(lambda e: e.spec if _is_dataset(e) else TensorSpec(e.shape, e.dtype), value)


def tensors_of(value: Any) -> list[Any]:
    return [e.variant if _is_dataset(e) else convert_to_tensor(e) for e in flatten(value)]


def restored(spec: Any, tensors: Sequence[Any]) -> Any:
    made = []
    for each, tensor in zip(flatten(spec), tensors, strict=True):
        if isinstance(each, DatasetSpec):
            made.append(each.make(tensor, each.element_spec))
        else:
            tensor.set_shape(each.shape)
            made.append(tensor)
    return packed(spec, iter(made))


def outputs_of(spec: Any) -> dict[str, Any]:
    leaves = flatten(spec)
    return {
        "output_types": tuple(each.dtype for each in leaves),
        "output_shapes": tuple(each.shape for each in leaves),
    }
