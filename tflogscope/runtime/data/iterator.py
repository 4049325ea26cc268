"""Iterators: `iter(dataset)` makes one and `next` asks it for an element, both with ops.

Told about: `OwnedIterator` and `IteratorSpec` of `tensorflow/python/data/ops/iterator_ops.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tflogscope.runtime import dtypes
from tflogscope.runtime.context import execute, name_scope
from tflogscope.runtime.data import structure
from tflogscope.runtime.errors import OutOfRangeError
from tflogscope.runtime.shapes import SCALAR
from tflogscope.runtime.tensors import TensorSpec

if TYPE_CHECKING:
    from tflogscope.runtime.data.dataset import Dataset

__all__ = ["IteratorSpec", "Optional", "OwnedIterator"]


class OwnedIterator:
    """An iterator over a dataset. It lives as long as this object does."""

    def __init__(self, resource: Any, element_spec: Any) -> None:
        self._iterator_resource = resource
        self.element_spec = element_spec
        self._dataset: Dataset | None = None

    @classmethod
    def over(cls, dataset: Dataset) -> OwnedIterator:
        """A new one, at the first element of the dataset."""
        spec = dataset.element_spec
        resource = execute("AnonymousIteratorV3", [], _attributes(spec))[0]
        execute("MakeIterator", [dataset._variant_tensor, resource])
        iterator = cls(resource, spec)
        iterator._dataset = dataset  # keeps alive what its functions need
        return iterator

    def get_next(self) -> Any:
        """The next element. Raises OutOfRangeError after the last."""
        tensors = execute(
            "IteratorGetNext", [self._iterator_resource], _attributes(self.element_spec)
        )
        return structure.from_tensors(self.element_spec, tensors)

    def get_next_as_optional(self) -> Optional:
        """The next element if there is one: asking for it does not fail at the end."""
        attributes = _attributes(self.element_spec)
        return Optional(
            execute("IteratorGetNextAsOptional", [self._iterator_resource], attributes)[0],
            self.element_spec,
        )

    def __autograph_for__(
        self, extra_test: Any, body: Any, get_state: Any, set_state: Any, names: Any, options: Any
    ) -> None:
        """`for` over it in a function that AutoGraph converts."""
        from tflogscope.runtime.autograph.operators.loops import for_iterator

        for_iterator(self, extra_test, body, get_state, set_state, names, options)

    def __iter__(self) -> OwnedIterator:
        return self

    def __next__(self) -> Any:
        try:
            return self.get_next()
        except OutOfRangeError:
            raise StopIteration from None

    @property
    def _type_spec(self) -> IteratorSpec:
        return IteratorSpec(self.element_spec)


class Optional:
    """An element that may not be there."""

    def __init__(self, variant: Any, element_spec: Any) -> None:
        self._variant_tensor = variant
        self.element_spec = element_spec

    @classmethod
    def from_value(cls, value: Any) -> Optional:
        """One that is there."""
        with name_scope("optional") as scope:
            spec = structure.spec_of(value)
            tensors = structure.to_tensors(value)
            types = {"Toutput_types": structure.dtypes(spec)}
            return cls(execute("OptionalFromValue", tensors, types, scope)[0], spec)

    @classmethod
    def empty(cls, element_spec: Any) -> Optional:
        """One that is not."""
        return cls(execute("OptionalNone", [])[0], element_spec)

    @property
    def _type_spec(self) -> OptionalSpec:
        return OptionalSpec(self.element_spec)

    def has_value(self) -> Any:
        """Is it there? A scalar bool tensor."""
        return execute("OptionalHasValue", [self._variant_tensor])[0]

    def get_value(self) -> Any:
        """The element. Raises InvalidArgumentError if there is none."""
        tensors = execute(
            "OptionalGetValue", [self._variant_tensor], _attributes(self.element_spec)
        )
        return structure.from_tensors(self.element_spec, tensors)


class OptionalSpec:
    """What optionals with the same kind of elements have in common."""

    def __init__(self, element_spec: Any) -> None:
        self.element_spec = element_spec

    def _to_components(self, value: Optional) -> list[Any]:
        return [value._variant_tensor]

    def _from_components(self, components: list[Any]) -> Optional:
        return Optional(components[0], self.element_spec)


class IteratorSpec:
    """What iterators with the same kind of elements have in common: a function traced for one
    serves them all.
    """

    def __init__(self, element_spec: Any) -> None:
        self.element_spec = element_spec

    @property
    def _component_specs(self) -> tuple[TensorSpec]:
        return (TensorSpec(SCALAR, dtypes.resource),)

    def _to_components(self, value: OwnedIterator) -> list[Any]:
        return [value._iterator_resource]

    def _from_components(self, components: list[Any]) -> OwnedIterator:
        return OwnedIterator(components[0], self.element_spec)

    def is_subtype_of(self, other: object) -> bool:
        """Would an iterator of this spec do where one of `other` is asked for?"""
        return isinstance(other, IteratorSpec) and structure.is_subtype(
            self.element_spec, other.element_spec
        )

    def common_supertype(self, other: object) -> IteratorSpec | None:
        """The narrowest spec that includes both, None if there is none."""
        if not isinstance(other, IteratorSpec):
            return None
        spec = structure.common_supertype(self.element_spec, other.element_spec)
        return None if spec is None else IteratorSpec(spec)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IteratorSpec) and self.element_spec == other.element_spec

    def __hash__(self) -> int:
        return hash((IteratorSpec, *structure.flatten(self.element_spec)))

    def __repr__(self) -> str:
        return f"IteratorSpec({self.element_spec!r})"


def _attributes(spec: Any) -> dict[str, Any]:
    return {"output_types": structure.dtypes(spec), "output_shapes": structure.shapes(spec)}
