"""The functions of `map`, `filter`, …: traced once, when the dataset is made, and run for each
element.

Their graphs have names such as `__inference_Dataset_map_double_12`.

Told about: `tensorflow/python/data/ops/structured_function.py`.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any

from tflogscope.runtime.autograph.conversion import control_status, tf_convert
from tflogscope.runtime.conversion import convert_to_tensor
from tflogscope.runtime.data import structure
from tflogscope.runtime.function.polymorphic import PolymorphicFunction, functions_run_eagerly
from tflogscope.runtime.tensors import TensorSpec

__all__ = ["MappedFunction", "dataset_function", "function_with_state"]


class MappedFunction:
    """A function of elements, traced: `function` is the ConcreteFunction, `output_spec` the spec of
    what it returns.
    """

    def __init__(
        self, python_function: Callable[..., Any], transformation: str, input_spec: Any
    ) -> None:
        """`transformation` is `Dataset_map`, `reduce`, …: the first part of the graph's name.

        Raises TypeError if the function returns what can't be an element.
        """
        if functions_run_eagerly():
            warnings.warn(
                "Even though the `tf.config.experimental_run_functions_eagerly` option is set, "
                "this option does not apply to tf.data functions. To force eager execution of "
                "tf.data functions, please use `tf.data.experimental.enable_debug_mode()`.",
                stacklevel=4,
            )
        self.output_spec: Any = None
        converted = tf_convert(python_function, control_status())

        def wrapped_fn(*args: Any) -> list[Any]:
            arguments = structure.from_tensors(input_spec, args)
            result = converted(*arguments) if type(arguments) is tuple else converted(arguments)
            result = tuple(result) if isinstance(result, list) else result
            self.output_spec = structure.spec_of(
                structure.map_structure(_value_of_variable, result)
            )
            return [convert_to_tensor(tensor) for tensor in structure.to_tensors(result)]

        specs = [structure.tensor_spec(leaf) for leaf in structure.flatten(input_spec)]
        self.function = PolymorphicFunction(
            wrapped_fn,
            name=_sanitized(f"{transformation}_{_name_of(python_function)}"),
            input_signature=[TensorSpec(spec.shape, spec.dtype) for spec in specs],
            autograph=False,
            attributes={"_tf_data_function": True},
        ).get_concrete_function()

    @property
    def captured_inputs(self) -> list[Any]:
        """The tensors from outside that the function uses: inputs of the dataset op."""
        return list(self.function.captured_inputs)


def dataset_function(
    function: Callable[..., Any], transformation: str, input_spec: Any
) -> MappedFunction:
    """The same for a function that makes a dataset of each element. Raises TypeError if it does
    not.
    """
    traced = MappedFunction(function, transformation, input_spec)
    if not hasattr(traced.output_spec, "element_spec"):
        raise TypeError(
            "The `map_func` argument must return a `Dataset` object. Got "
            f"{type(traced.output_spec)!r}."
        )
    return traced


def function_with_state(
    function: Callable[..., Any],
    transformation: str,
    state: Any,
    element_spec: Any,
    *,
    state_at: int | None = None,
) -> tuple[MappedFunction, Any]:
    """The same for a function of state and element that gives the next state, and the spec of the
    state.

    What it returns is the state, or holds it at the index `state_at`. If the shape of the state
    changes, it is traced again with a state of which less is known. Raises TypeError if its dtypes
    change.
    """
    spec = structure.spec_of(state)
    while True:
        traced = MappedFunction(function, transformation, (spec, element_spec))
        result = traced.output_spec if state_at is None else traced.output_spec[state_at]
        pairs = list(zip(structure.flatten(spec), structure.flatten(result), strict=True))
        for old, new in pairs:
            if structure.tensor_spec(old).dtype is not structure.tensor_spec(new).dtype:
                raise TypeError(
                    "The element types for the new state must match the initial state. Expected "
                    f"{spec} but got {result}."
                )
        general = [_general(old, new) for old, new in pairs]
        if general == structure.flatten(spec):
            return traced, spec
        spec = structure.pack_as(spec, general)


def _general(old: Any, new: Any) -> Any:
    if not isinstance(old, TensorSpec):
        return old
    return TensorSpec(old.shape.most_specific_compatible_shape(new.shape), old.dtype)


def _value_of_variable(value: Any) -> Any:
    return convert_to_tensor(value) if hasattr(value, "assign") else value


def _name_of(function: Any) -> str:
    if isinstance(function, functools.partial):
        return _name_of(function.func)
    if inspect.ismethod(function):
        return f"{type(function.__self__).__name__}.{function.__name__}"
    function = getattr(function, "python_function", function)
    return str(function.__name__) if inspect.isroutine(function) else str(type(function))


def _sanitized(name: str) -> str:
    return "".join(letter for letter in name if letter not in "<>\\' ")
