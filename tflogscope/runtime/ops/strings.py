"""Strings: StringJoin, AsString, Substr, StringToNumber, … Strings are `bytes` in object arrays.

Told about: `core/ops/string_ops.cc`, `core/kernels/as_string_op.cc` and others beside it.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflogscope.runtime.constant_value import folded_value
from tflogscope.runtime.dtypes import DType
from tflogscope.runtime.errors import InvalidArgumentError
from tflogscope.runtime.gradients import not_differentiable
from tflogscope.runtime.operations import Inference
from tflogscope.runtime.ops.declare import op, scalar, unknown_shape
from tflogscope.runtime.ops.summaries import nested_summary
from tflogscope.runtime.shapes import UNKNOWN, TensorShape, broadcast_shapes

Array = NDArray[Any]


def _each(function: Callable[..., Any], *arrays: Array) -> Array:
    """The function applied to each element, as an object array (NumPy gives a bare object for a
    scalar).
    """
    found = np.frompyfunc(function, len(arrays), 1)(*arrays)
    if isinstance(found, np.ndarray):
        return found
    result = np.empty((), object)
    result[()] = found
    return result


def _joined_shape(i: Inference) -> TensorShape:
    shape = i.shape(0)
    for each in i.inputs[1:]:
        shape = broadcast_shapes(shape, each.shape)
    return shape


@op("StringJoin(inputs: N*string; separator='') -> output: string", shape=_joined_shape)
def _string_join(*inputs: Array, separator: str) -> Array:
    by = separator.encode()
    try:
        return _each(lambda *parts: by.join(parts), *inputs)
    except ValueError:
        shapes = " vs. ".join(str(list(each.shape)) for each in inputs)
        raise InvalidArgumentError(None, None, f"Input shapes do not match: {shapes}") from None


def _reduce_join_shape(i: Inference) -> TensorShape:
    axes, shape = folded_value(i.inputs[1]), i.shape(0)
    if axes is None or shape.rank is None:
        return UNKNOWN
    chosen = {int(axis) % shape.rank for axis in np.ravel(axes)} if shape.rank else set()
    keep = i.attributes["keep_dims"]
    return TensorShape(
        [1 if k in chosen else dim for k, dim in enumerate(shape) if keep or k not in chosen]
    )


@op(
    "ReduceJoin(inputs: string, reduction_indices: int32; keep_dims=False, separator='') -> "
    "output: string",
    shape=_reduce_join_shape,
)
def _reduce_join(inputs: Array, reduction_indices: Array, keep_dims: bool, separator: str) -> Array:
    axes = [int(axis) % inputs.ndim for axis in np.ravel(reduction_indices)] if inputs.ndim else []
    others = [k for k in range(inputs.ndim) if k not in axes]
    moved = np.transpose(inputs, others + axes).reshape([inputs.shape[k] for k in others] + [-1])
    joined = np.empty(moved.shape[:-1], object)
    for place in np.ndindex(joined.shape):
        joined[place] = separator.encode().join(moved[place])
    shape = [1 if k in axes else dim for k, dim in enumerate(inputs.shape)]
    return joined.reshape(shape) if keep_dims else joined


_AS_STRING = "precision=-1, scientific=False, shortest=False, width=-1, fill=''"


@op(f"AsString(input: T; {_AS_STRING}) -> output: string")
def _as_string(
    input: Array,
    T: DType,
    precision: int,
    scientific: bool,
    shortest: bool,
    width: int,
    fill: str,
) -> Array:
    digits = "" if precision < 0 else f".{precision}"
    size = "" if width < 0 else str(width)
    kind = "e" if scientific else "g" if shortest else "f"
    pattern = f"%{fill}{size}{digits}{kind}" if T.is_floating else f"%{fill}{size}d"

    def text(element: Any) -> bytes:
        if T.is_bool:
            return (b"true" if element else b"false").rjust(max(width, 0))
        if T.is_complex:
            return f"({pattern % element.real},{pattern % element.imag})".encode()
        return element if isinstance(element, bytes) else (pattern % element).encode()

    if T.is_complex:
        pattern = f"%{fill}{size}{digits}{kind}"
    return _each(text, input)


@op(
    "StringFormat(inputs: list(T); template='%s', placeholder='%s', summarize=3) -> output: string",
    shape=scalar,
)
def _string_format(*inputs: Array, template: str, placeholder: str, summarize: int) -> Array:
    parts = template.split(placeholder)
    if len(parts) != len(inputs) + 1:
        raise InvalidArgumentError(
            None,
            None,
            f"num placeholders in template and num inputs must match: {len(parts) - 1} vs. "
            f"{len(inputs)}",
        )
    text = parts[0]
    for value, after in zip(inputs, parts[1:], strict=True):
        text += nested_summary(value, summarize) + after
    result = np.empty((), object)
    result[()] = text.encode()
    return result


def _by_element(type: str, attributes: str, function: Callable[..., Any]) -> None:
    op(f"{type}(input: string; {attributes}) -> output: string")(
        lambda input: _each(function, input)
    )


_by_element("StringLower", "encoding=''", bytes.lower)
_by_element("StringUpper", "encoding=''", bytes.upper)
_by_element("StringStrip", "", bytes.strip)


@op("StringLength(input: string; unit='BYTE') -> output: int32")
def _string_length(input: Array, unit: str) -> Array:
    count = len if unit == "BYTE" else lambda text: len(text.decode("utf-8", "replace"))
    return np.asarray(_each(count, input), np.int32)


def _to_dense(rows: list[Any], shape: list[int], default: Any, dtype: Any) -> Any:
    result = np.full(shape, default, dtype)
    for place, row in zip(range(shape[0]), rows, strict=False):
        if len(shape) > 1 and isinstance(row, list):
            result[place] = _to_dense(row, shape[1:], default, dtype)
        else:
            result[place] = row
    return result


def _widest(rows: Any, depth: int) -> list[int]:
    if depth == 0:
        return []
    inner = [_widest(row, depth - 1) for row in rows]
    return (
        [len(rows), *(max(sizes) for sizes in zip(*inner, strict=True))] if inner else [0] * depth
    )


@op(
    "RaggedTensorToTensor(shape: Tshape, values: T, default_value: T, row_partition_tensors: "
    "num_row_partition_tensors*Tindex; row_partition_types, Tindex=int64, Tshape=int64) -> result: "
    "T",
    shape=unknown_shape,
)
def _ragged_to_tensor(shape: Array, values: Array, default_value: Array, *splits: Array) -> Array:
    """The rows, filled up to the longest, or to the shape that is asked for."""
    rows: Any = list(values)
    for cuts in reversed(splits):
        rows = [rows[start:end] for start, end in itertools.pairwise(cuts)]
    depth = len(splits) + 1
    widest = [*_widest(rows, depth), *values.shape[1:]]
    wanted = [int(dim) for dim in shape] if shape.ndim else []
    dims = [
        wanted[k] if k < len(wanted) and wanted[k] >= 0 else widest[k] for k in range(len(widest))
    ]
    return np.asarray(_to_dense(rows, dims, default_value[()], values.dtype))


@op("Substr(input: string, pos: T, len: T; unit='BYTE', T in index) -> output: string",
    shape=lambda i: broadcast_shapes(i.shape(0), i.shape(1)))  # fmt: skip
def _substr(input: Array, pos: Array, len: Array, unit: str) -> Array:
    size = bytes.__len__
    if unit == "UTF8_CHAR":

        def characters(text: bytes, at: int, count: int) -> bytes:
            return text.decode("utf-8", "replace")[at : at + count].encode()

        return _each(characters, input, pos, len)

    places = itertools.count()

    def part(text: bytes, at: int, count: int) -> bytes:
        place = next(places)
        begin = at if at >= 0 else size(text) + at
        if not 0 <= begin <= size(text):
            raise InvalidArgumentError(
                None, None, f"pos {at} out of range for string b'{text.decode()}' at index {place}"
            )
        return text[begin : begin + count]

    return _each(part, input, pos, len)


@op("StringToNumber(string_tensor: string; out_type=float32) -> output: out_type")
def _string_to_number(string_tensor: Array, out_type: DType) -> Array:
    target = out_type.as_numpy_dtype

    def number(text: bytes) -> Any:
        try:
            return target(float(text) if out_type.is_floating else int(text))
        except (ValueError, OverflowError):
            raise InvalidArgumentError(
                None,
                None,
                f"StringToNumberOp could not correctly convert string: {text.decode()}",
            ) from None

    return np.asarray(_each(number, string_tensor).tolist(), target).reshape(string_tensor.shape)


def _replace(text: bytes, pattern: bytes, rewrite: bytes, count: int) -> bytes:
    try:
        compiled = re.compile(pattern)
    except re.error:
        # NB: which error it is, RE2 says in its own words
        raise InvalidArgumentError(None, None, f"Invalid pattern: {pattern.decode()}") from None
    return compiled.sub(re.sub(rb"\\0", rb"\\g<0>", rewrite), text, count=count)


@op("StaticRegexReplace(input: string; pattern, rewrite, replace_global=True) -> output: string")
def _static_regex_replace(input: Array, pattern: str, rewrite: str, replace_global: bool) -> Array:
    count = 0 if replace_global else 1
    return _each(lambda text: _replace(text, pattern.encode(), rewrite.encode(), count), input)


@op(
    "RegexReplace(input: string, pattern: string, rewrite: string; replace_global=True) -> "
    "output: string"
)
def _regex_replace(input: Array, pattern: Any, rewrite: Any, replace_global: bool) -> Array:
    count = 0 if replace_global else 1
    return _each(lambda text: _replace(text, pattern[()], rewrite[()], count), input)


@op("StaticRegexFullMatch(input: string; pattern) -> output: bool")
def _static_regex_full_match(input: Array, pattern: str) -> Array:
    return np.asarray(
        _each(lambda text: re.fullmatch(pattern.encode(), text) is not None, input), np.bool_
    )


@op(
    "StringSplitV2(input: string, sep: string; maxsplit=-1) -> indices: int64, values: string, "
    "shape: int64",
    shape=lambda _: [TensorShape([None, 2]), TensorShape([None]), TensorShape([2])],
)
def _string_split(input: Array, sep: Array, maxsplit: int) -> tuple[Array, Array, Array]:
    by = sep[()] or None
    rows = [text.split(by, maxsplit) for text in input]
    indices = [(row, column) for row, parts in enumerate(rows) for column in range(len(parts))]
    values = np.empty(len(indices), object)
    values[:] = [part for parts in rows for part in parts]
    shape = np.array([len(rows), max((len(parts) for parts in rows), default=0)], np.int64)
    return np.array(indices, np.int64).reshape(-1, 2), values, shape


not_differentiable(
    "StringJoin",
    "ReduceJoin",
    "AsString",
    "StringFormat",
    "StringToNumber",
    "Substr",
    "StringLength",
    "StringSplitV2",
    "StaticRegexReplace",
    "RegexReplace",
    "StaticRegexFullMatch",
    "StringLower",
    "StringUpper",
    "StringStrip",
)
