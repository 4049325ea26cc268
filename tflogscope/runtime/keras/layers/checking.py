"""What a layer may be called on, and what an error within `call` says of the layer.

Told about: `keras/src/engine/input_spec.py`, `inject_argument_info_in_traceback` of
`keras/src/utils/traceback_utils.py`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import tflogscope.runtime.api as tf
from tflogscope.runtime.errors import NotInThisRuntime

__all__ = ["InputSpec", "check_inputs", "explained", "explaining"]


class InputSpec:
    """Rank, dtype and sizes that a layer asks of an input; None where it takes any."""

    def __init__(
        self,
        dtype: Any = None,
        shape: Any = None,
        ndim: int | None = None,
        max_ndim: int | None = None,
        min_ndim: int | None = None,
        axes: dict[int, int | None] | None = None,
        allow_last_axis_squeeze: bool = False,
        name: str | None = None,
    ) -> None:
        self.dtype = None if dtype is None else tf.as_dtype(dtype).name
        self.shape = None if shape is None else tuple(tf.TensorShape(shape))
        self.ndim = ndim if shape is None else len(tuple(shape))
        self.max_ndim, self.min_ndim = max_ndim, min_ndim
        self.allow_last_axis_squeeze, self.name = allow_last_axis_squeeze, name
        self.axes = {int(axis): size for axis, size in (axes or {}).items()}

    def __repr__(self) -> str:
        told = {
            "dtype": self.dtype,
            "shape": self.shape,
            "ndim": self.ndim,
            "max_ndim": self.max_ndim,
            "min_ndim": self.min_ndim,
            "axes": self.axes or None,
        }
        return f"InputSpec({', '.join(f'{k}={v}' for k, v in told.items() if v)})"

    def problem(self, value: Any) -> str | None:
        """What is wrong with an input, None if nothing."""
        shape = value.shape
        if shape.rank is None:
            return None
        full = f"Full shape received: {tuple(shape)}"
        if self.ndim is not None and self.shape is None and shape.rank != self.ndim:
            return f"expected ndim={self.ndim}, found ndim={shape.rank}. {full}"
        if self.max_ndim is not None and shape.rank > self.max_ndim:
            return f"expected max_ndim={self.max_ndim}, found ndim={shape.rank}"
        if self.min_ndim is not None and shape.rank < self.min_ndim:
            return f"expected min_ndim={self.min_ndim}, found ndim={shape.rank}. {full}"
        if self.dtype is not None and value.dtype.name != self.dtype:
            return f"expected dtype={self.dtype}, found dtype={value.dtype}"
        for axis, size in self.axes.items():
            if size is not None and shape[axis] not in (size, None):
                return (
                    f"expected axis {axis} of input shape to have value {size}, but received "
                    f"input with shape {tuple(shape)}"
                )
        if self.shape is not None and not self._fits(tuple(shape)):
            return f"expected shape={self.shape}, found shape={tuple(shape)}"
        return None

    def _fits(self, found: tuple[int | None, ...]) -> bool:
        wanted: tuple[int | None, ...] = self.shape or ()
        if not self.allow_last_axis_squeeze:
            return bool(tf.TensorShape(wanted).is_compatible_with(found))
        wanted, found = (each[:-1] if each[-1:] == (1,) else each for each in (wanted, found))
        pairs = zip(wanted, found, strict=False)  # NB: as many as both have
        return all(None in pair or pair[0] == pair[1] for pair in pairs)


def check_inputs(spec: Any, inputs: Any, layer: str) -> None:
    """Raises ValueError if the inputs are not what the layer asks for."""
    if spec is None:
        return
    names = [getattr(each, "name", None) for each in tf.nest.flatten(spec)]
    if isinstance(inputs, dict) and all(names):
        missing = next((name for name in names if name not in inputs), None)
        if missing is not None:
            raise ValueError(
                f'Missing data for input "{missing}". You passed a data dictionary with keys '
                f"{list(inputs)}. Expected the following keys: {names}"
            )
        inputs = [inputs[name] for name in names]
    specs, values = tf.nest.flatten(spec), tf.nest.flatten(inputs)
    if len(specs) != len(values):
        raise ValueError(
            f'Layer "{layer}" expects {len(specs)} input(s), but it received {len(values)} input '
            f"tensors. Inputs received: {inputs}"
        )
    for index, (each, value) in enumerate(zip(specs, values, strict=True)):
        if not hasattr(value, "shape"):
            raise TypeError(
                f"Inputs to a layer should be tensors. Got {value!r} (of type {type(value)}) as "
                f"input for layer '{layer}'."
            )
        problem = None if each is None else each.problem(value)
        if problem is not None:
            raise ValueError(
                f'Input {index} of layer "{layer}" is incompatible with the layer: {problem}'
            )


def explaining(
    call: Callable[..., Any], layer: Any, *, inferring: bool = False
) -> Callable[..., Any]:
    """`call`, whose errors also say in which layer they happened, with which arguments.

    `Layer._infer_output_signature` puts the layer's name in other quotes than `Layer.__call__`.
    """
    quote = '"' if inferring else "'"
    where = f"layer {quote}{layer.name}{quote} (type {type(layer).__name__})"
    start, end = "Exception encountered when calling", "Call arguments received by"
    return explained(call, layer, (f"{start} {where}.\n\n", f"\n\n{end} {where}:\n"))


def explained(call: Callable[..., Any], layer: Any, around: tuple[str, str]) -> Callable[..., Any]:
    """`call`, whose errors have these texts around theirs, and its arguments, shortened, behind."""

    @functools.wraps(call)
    def calling(*args: Any, **kwargs: Any) -> Any:
        try:
            return call(*args, **kwargs)
        except NotInThisRuntime:
            raise
        except Exception as error:
            if hasattr(error, "_keras_call_info_injected"):
                raise
            new = _explained(error, inspect.signature(layer.call), (args, kwargs), around)
            raise new.with_traceback(error.__traceback__) from None

    return calling


def _explained(error: Exception, signature: Any, given: Any, around: tuple[str, str]) -> Exception:
    args, kwargs = given
    try:
        bound = signature.bind(*args, **kwargs).arguments
    except TypeError:
        return error
    values = {
        name: tf.nest.map_structure(_short, bound[name]) if name in bound else each.default
        for name, each in signature.parameters.items()
    }
    if not values:
        return error
    of_op = isinstance(error, tf.errors.OpError)
    message = error.message if isinstance(error, tf.errors.OpError) else next(iter(error.args), "")
    text = f"{message}".join(around) + "\n".join(
        f"  • {name}={value}" for name, value in values.items()
    )
    kind: Any = type(error)
    try:
        new: Any = kind(None, None, text) if of_op else kind(text)
    except TypeError:
        new = RuntimeError(text)
    new._keras_call_info_injected = True
    return new  # type: ignore[no-any-return]


def _short(value: Any) -> str:
    """Told about: `format_argument_value` of `keras/src/utils/traceback_utils.py`."""
    if isinstance(value, tf.Tensor):
        return f"tf.Tensor(shape={value.shape}, dtype={value.dtype.name})"
    return repr(value)
