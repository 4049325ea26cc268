"""Loops over the first dimension: `tf.map_fn`, `tf.foldl`, `tf.foldr`, `tf.scan`.

All are `tf.while_loop`s: TensorArrays hold the slices, an index counts, and what a step gives is
written to other TensorArrays. Told about: `python/ops/map_fn.py` and `functional_ops.py`.
NB: TensorFlow also takes ragged and sparse tensors; here elements are plain tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tflogscope.runtime import context, nest
from tflogscope.runtime.autograph.conversion import control_status, tf_convert
from tflogscope.runtime.control_flow.tensor_array import TensorArray
from tflogscope.runtime.control_flow.while_loop import while_loop
from tflogscope.runtime.conversion import constant, convert_to_tensor
from tflogscope.runtime.dtypes import as_dtype
from tflogscope.runtime.library import arrays
from tflogscope.runtime.shapes import UNKNOWN, TensorShape
from tflogscope.runtime.tensors import Tensor, TensorSpec

__all__ = ["foldl", "foldr", "map_fn", "scan"]


def map_fn(
    fn: Callable[[Any], Any],
    elems: Any,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
    fn_output_signature: Any = None,
) -> Any:
    """`fn` of each slice of `elems` (a tensor `[n, ...]`, or a structure of them), stacked.

    `fn_output_signature` (or `dtype`) must be given if `fn` gives another structure or other dtypes
    than it takes. Raises TypeError for what is no function, ValueError for scalars.
    """
    if not callable(fn):
        raise TypeError(f"The provided function {fn} is not callable.fn must be callable.")
    signature = dtype if fn_output_signature is None else fn_output_signature
    elems = _read(elems)
    if not nest.flatten(elems):
        raise ValueError(
            "elems must be a Tensor or (possibly nested) sequence of Tensors. Got "
            f"{elems}, which does not contain any Tensors."
        )
    results_like = elems if signature is None else signature
    with context.name_scope(name or "map"):
        slices = _Slices(nest.flatten(elems), infer_shape=True)
        specs = [_spec(each) for each in nest.flatten(results_like)]
        index = constant(0)
        results = [
            TensorArray(spec.dtype, slices.count, infer_shape=infer_shape, element_shape=spec.shape)
            for spec in specs
        ]

        def step(i: Any, written: Sequence[TensorArray]) -> Any:
            element = nest.pack_sequence_as(elems, slices.read(i))
            value = tf_convert(fn, control_status())(element)
            nest.assert_same_structure(results_like, value, check_types=False)
            return i + 1, _write(written, i, nest.flatten(value))

        _, results = while_loop(
            lambda i, _: i < slices.count,
            step,
            (index, results),
            parallel_iterations=_parallel(parallel_iterations),
            back_prop=back_prop,
            swap_memory=swap_memory,
            maximum_iterations=slices.count,
        )
        return nest.pack_sequence_as(results_like, slices.stacked(results))


def scan(
    fn: Callable[[Any, Any], Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    reverse: bool = False,
    name: str | None = None,
) -> Any:
    """All the values of `a = fn(a, element)`, stacked; `a` begins as `initializer`, or as the first
    element.

    Raises TypeError for what is no function, ValueError if `fn` gives another structure than `a`.
    """
    if not callable(fn):
        raise TypeError(f"{fn} is not callable. Please provide a callable function.")
    like = elems if initializer is None else initializer
    with context.name_scope(name or "scan"):
        slices = _Slices(nest.flatten(elems), infer_shape=True, known_shapes=True)
        last = slices.count - 1 if reverse else 0
        if initializer is None:
            value, done = slices.read(last), 1
        else:
            value, done = [convert_to_tensor(each) for each in nest.flatten(initializer)], 0
        results = [
            TensorArray(
                each.dtype,
                slices.count,
                element_shape=each.shape if infer_shape else None,
                infer_shape=infer_shape,
            )
            for each in value
        ]
        if initializer is None:
            results = _write(results, last, value)

        def step(i: Any, accumulated: Any, written: Sequence[TensorArray]) -> Any:
            element = nest.pack_sequence_as(elems, slices.read(i))
            value = fn(nest.pack_sequence_as(like, accumulated), element)
            nest.assert_same_structure(like, value, check_types=False)
            flat = nest.flatten(value)
            return i - 1 if reverse else i + 1, flat, _write(written, i, flat)

        _, _, results = while_loop(
            lambda i, *_: i >= 0 if reverse else i < slices.count,
            step,
            (slices.count - 1 - done if reverse else done, value, results),
            parallel_iterations=parallel_iterations,
            back_prop=back_prop,
            swap_memory=swap_memory,
            maximum_iterations=slices.count,
        )
        return nest.pack_sequence_as(like, slices.stacked(results))


def foldl(
    fn: Callable[[Any, Any], Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """The last value of `a = fn(a, element)`, from the first element to the last.

    `a` begins as `initializer`, or as the first element. Raises TypeError for what is no function.
    """
    del swap_memory
    return _fold(fn, elems, initializer, parallel_iterations, back_prop, name, backwards=False)


def foldr(
    fn: Callable[[Any, Any], Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """The last value of `a = fn(a, element)`, from the last element to the first."""
    del swap_memory
    return _fold(fn, elems, initializer, parallel_iterations, back_prop, name, backwards=True)


def _fold(
    fn: Callable[[Any, Any], Any],
    elems: Any,
    initializer: Any,
    parallel_iterations: int,
    back_prop: bool,
    name: str | None,
    *,
    backwards: bool,
) -> Any:
    if not callable(fn):
        raise TypeError(f"{fn} is not callable. Please provide a callable function.")
    with context.name_scope(name or ("foldr" if backwards else "foldl")):
        slices = _Slices(nest.flatten(elems), infer_shape=True)
        count = slices.count

        def element(i: Any) -> Any:
            return nest.pack_sequence_as(elems, slices.read(i))

        def forward_step(i: Any, a: Any) -> Any:
            a = fn(a, element(i))
            return [i + 1, a]

        def backward_step(i: Any, a: Any) -> Any:
            i = i - 1
            return [i, fn(a, element(i))]

        if backwards:
            index: Any = count if initializer is not None else count - 1
            value = element(index) if initializer is None else initializer
        else:
            value = element(0) if initializer is None else initializer
            index = constant(1 if initializer is None else 0)
        _, result = while_loop(
            (lambda i, _: i > 0) if backwards else (lambda i, _: i < count),
            backward_step if backwards else forward_step,
            [index, value],
            parallel_iterations=parallel_iterations,
            back_prop=back_prop,
            maximum_iterations=count,
        )
        return result


class _Slices:
    """The slices of some tensors along their first dimension, in TensorArrays."""

    def __init__(
        self, elems: Sequence[Any], *, infer_shape: bool, known_shapes: bool = False
    ) -> None:
        tensors = [convert_to_tensor(each, name="elem") for each in elems]
        if tensors[0].shape.rank == 0:
            raise ValueError("Elements in elems must be 1+ dimensional Tensors, not scalars")
        first = tensors[0].shape[:1] if tensors[0].shape.rank else TensorShape([None])
        self.rows = TensorShape(first)
        self.count: Any = self.rows[0] or arrays.shape(tensors[0])[0]
        made = [
            TensorArray(
                each.dtype,
                self.count,
                infer_shape=infer_shape,
                element_shape=each.shape[1:] if known_shapes else None,
            )
            for each in tensors
        ]
        self._arrays = [array.unstack(each) for array, each in zip(made, tensors, strict=True)]

    def read(self, index: Any) -> list[Tensor]:
        """The slices at that index."""
        return [array.read(index) for array in self._arrays]

    def stacked(self, written: Sequence[TensorArray]) -> list[Tensor]:
        """What was written for each slice as one tensor."""
        results = [array.stack() for array in written]
        for each in results:
            if not context.executing_eagerly() and each.shape.rank is not None:
                each.set_shape(self.rows.concatenate(each.shape[1:]))
        return results


def _write(written: Sequence[TensorArray], index: Any, values: Sequence[Any]) -> list[TensorArray]:
    return [array.write(index, value) for array, value in zip(written, values, strict=True)]


def _read(elems: Any) -> Any:
    """Variables as their values."""
    return nest.map_structure(lambda e: e.read_value() if hasattr(e, "read_value") else e, elems)


def _spec(value: Any) -> TensorSpec:
    """What one result of a step is like: as given, or of the dtype of the tensor."""
    if isinstance(value, TensorSpec):
        return value
    if isinstance(value, Tensor):
        return TensorSpec(UNKNOWN, value.dtype)
    try:
        return TensorSpec(UNKNOWN, as_dtype(value))
    except TypeError:
        return TensorSpec(UNKNOWN, convert_to_tensor(value).dtype)


def _parallel(parallel_iterations: int | None) -> int:
    return parallel_iterations or (1 if context.executing_eagerly() else 10)
