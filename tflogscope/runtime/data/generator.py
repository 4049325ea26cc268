"""`Dataset.from_generator`: a Python generator as a dataset.

NB: TensorFlow makes it of a `GeneratorDataset` whose three functions call back into Python by
`PyFunc` ops. Here the op of that name holds the generator itself.

Told about: `tensorflow/python/data/ops/from_generator_op.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tflogscope.runtime.conversion import convert_to_tensor
from tflogscope.runtime.data import structure
from tflogscope.runtime.data.elements import Element, Elements
from tflogscope.runtime.dtypes import DType, bfloat16, string
from tflogscope.runtime.errors import NotInThisRuntime
from tflogscope.runtime.py_function import from_python
from tflogscope.runtime.values import to_array

__all__ = ["Generated"]


@dataclass(frozen=True)
class Generated(Elements):
    """What the generator yields, as arrays of the dtypes that were promised."""

    generator: Callable[..., Any]
    arguments: Sequence[Any]
    element_spec: Any

    def __iter__(self) -> Iterator[Element]:
        """Raises OpError where the generator raises an error, or yields what was not promised."""
        try:
            for value in self.generator(*self.arguments):
                yield self._element(value)
        except (NotInThisRuntime, GeneratorExit):
            raise
        except Exception as error:
            failed = from_python(error)
            failed.message += "\n\t [[{{node PyFunc}}]]"
            raise failed from error

    def _element(self, value: Any) -> Element:
        dtypes, shapes = structure.dtypes(self.element_spec), structure.shapes(self.element_spec)
        several = isinstance(self.element_spec, (tuple, dict))
        leaves = structure.flatten(value) if several else [value]
        if len(leaves) != len(dtypes):
            expected = structure.map_structure(lambda spec: spec.dtype, self.element_spec)
            raise TypeError(
                "`generator` yielded an element that did not match the expected structure. The "
                f"expected structure was {expected}, but the yielded element was {value}."
            )
        arrays = list(map(_converted, leaves, dtypes))
        for array, shape in zip(arrays, shapes, strict=True):
            if not shape.is_compatible_with(array.shape):
                raise TypeError(
                    f"`generator` yielded an element of shape {array.shape} where an element of "
                    f"shape {shape} was expected."
                )
        return arrays


def _converted(value: Any, dtype: DType) -> Any:
    value = value.numpy() if hasattr(value, "numpy") else value
    try:
        if dtype in {string, bfloat16}:
            return to_array(value, dtype)[0]
        return np.asarray(value, dtype.as_numpy_dtype)
    except (TypeError, ValueError) as error:
        raise TypeError(
            "`generator` yielded an element that could not be converted to the expected type. The "
            f"expected type was {dtype.name}, but the yielded element was {value}."
        ) from error


def argument_arrays(arguments: Sequence[Any]) -> list[Any]:
    """The generator's arguments as it gets them: arrays."""
    return [convert_to_tensor(each).numpy() for each in arguments]
