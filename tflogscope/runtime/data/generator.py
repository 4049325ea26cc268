"""`Dataset.from_generator`: a Python generator as a dataset.

It is a `GeneratorDataset` within a `flat_map`: three functions call back into Python by `PyFunc`
ops. The first gives each iteration a number, the second asks the iterator of that number for an
element, the third drops it.

Told about: `tensorflow/python/data/ops/from_generator_op.py`,
`tensorflow/core/kernels/data/generator_dataset_op.cc`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tflogscope.runtime import dtypes
from tflogscope.runtime.conversion import convert_to_tensor
from tflogscope.runtime.data import structure
from tflogscope.runtime.data.elements import Captured, Element, Elements
from tflogscope.runtime.dtypes import DType, bfloat16, string
from tflogscope.runtime.errors import OutOfRangeError
from tflogscope.runtime.py_function import numpy_function
from tflogscope.runtime.values import to_array

__all__ = ["Generated", "PythonGenerator"]


@dataclass(frozen=True)
class Generated(Elements):
    """What the second function gives for the state that the first gave, until it says
    `OutOfRangeError`; the third has the last word. `GeneratorDataset`.
    """

    arguments: tuple[Any, ...]
    begin: Captured
    following: Captured
    end: Captured

    def __iter__(self) -> Iterator[Element]:
        state = self.begin(*self.arguments)
        try:
            while True:
                try:
                    element = self.following(*state)
                except OutOfRangeError:
                    return
                yield element
        finally:
            self.end(*state)


class PythonGenerator:
    """A function that gives iterators, and those that are in use, by number."""

    def __init__(
        self, generator: Callable[..., Any], arguments: Sequence[Any], element_spec: Any
    ) -> None:
        self.generator = generator
        self.arguments = [convert_to_tensor(each) for each in arguments]
        self.element_spec = element_spec
        self._iterators: dict[int, Iterator[Any]] = {}
        self._number = 0

    def functions(self) -> tuple[Callable[[Any], Any], ...]:
        """What begins an iteration and gives its number, what gives the next element of one, and
        what drops it.
        """
        types, shapes = structure.dtypes(self.element_spec), structure.shapes(self.element_spec)

        def get_iterator_id_fn(dummy: Any) -> Any:
            del dummy
            return numpy_function(self._begin, self.arguments, dtypes.int64)

        def generator_next_fn(number: Any) -> Any:
            values = numpy_function(self._next, [number], list(types))
            for value, shape in zip(values, shapes, strict=True):
                value.set_shape(shape)
            return structure.pack_as(self.element_spec, values)

        def finalize_fn(number: Any) -> Any:
            return numpy_function(self._drop, [number], dtypes.int64)

        return get_iterator_id_fn, generator_next_fn, finalize_fn

    def _begin(self, *arguments: Any) -> Any:
        number, self._number = self._number, self._number + 1
        self._iterators[number] = self._started(arguments)
        return np.array(number, np.int64)

    def _next(self, number: Any) -> Element:
        return self._element(next(self._iterators[int(number)]))

    def _drop(self, number: Any) -> Any:
        del self._iterators[int(number)]
        return np.array(0, np.int64)

    def _started(self, arguments: Sequence[Any]) -> Iterator[Any]:
        """The generator is called when the first element is asked for."""
        yield from self.generator(*arguments)

    def _element(self, value: Any) -> Element:
        expected_dtypes = structure.dtypes(self.element_spec)
        shapes = structure.shapes(self.element_spec)
        several = isinstance(self.element_spec, (tuple, dict))
        leaves = structure.flatten(value) if several else [value]
        if len(leaves) != len(expected_dtypes):
            expected = structure.map_structure(lambda spec: spec.dtype, self.element_spec)
            raise TypeError(
                "`generator` yielded an element that did not match the expected structure. The "
                f"expected structure was {expected}, but the yielded element was {value}."
            )
        arrays = list(map(_converted, leaves, expected_dtypes))
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
