"""`Dataset.from_generator`: a Python generator as a dataset.

NB: TensorFlow makes it of a `GeneratorDataset` whose three functions call back into Python by
`PyFunc` ops. Here the op of that name holds the generator itself.

Told about: `tensorflow/python/data/ops/from_generator_op.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tflogscope.runtime.conversion import convert_to_tensor
from tflogscope.runtime.data import structure
from tflogscope.runtime.data.elements import Element, Elements, checked
from tflogscope.runtime.errors import InvalidArgumentError
from tflogscope.runtime.values import to_array

__all__ = ["Generated"]


@dataclass(frozen=True)
class Generated(Elements):
    """What the generator yields, as arrays of the dtypes that were promised."""

    generator: Callable[..., Any]
    arguments: Sequence[Any]
    element_spec: Any

    def __iter__(self) -> Iterator[Element]:
        """Raises InvalidArgumentError for a value that does not have the promised shape, TypeError
        for another kind.
        """
        dtypes, shapes = structure.dtypes(self.element_spec), structure.shapes(self.element_spec)
        for value in self.generator(*self.arguments):
            leaves = (
                structure.flatten(value)
                if isinstance(self.element_spec, (tuple, dict))
                else [value]
            )
            if len(leaves) != len(dtypes):
                raise InvalidArgumentError(
                    message="`generator` yielded an element that did not match the expected "
                    f"structure: {value}"
                )
            arrays = [
                to_array(_plain(leaf), dtype)[0] for leaf, dtype in zip(leaves, dtypes, strict=True)
            ]
            yield checked(arrays, shapes)


def _plain(value: Any) -> Any:
    return value.numpy() if hasattr(value, "numpy") else value


def argument_arrays(arguments: Sequence[Any]) -> list[Any]:
    """The generator's arguments as it gets them: arrays."""
    return [convert_to_tensor(each).numpy() for each in arguments]
