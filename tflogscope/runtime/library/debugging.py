"""Assertions: `tf.debugging.assert_equal`, `tf.debugging.check_numerics` and others.

Eagerly a failed one raises at once, with a text made in Python. In graphs it is an op Assert; if
its data are not all strings and int32 it is put into the branch of a cond, so that they need not be
copied from a GPU when all is well.

Told about: `python/ops/check_ops.py`, `python/ops/control_flow_assert.py`,
`python/ops/numerics.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tflogscope.runtime import dtypes
from tflogscope.runtime.constant_value import constant_value
from tflogscope.runtime.context import executing_eagerly, op_scope
from tflogscope.runtime.conversion import convert_to_tensor
from tflogscope.runtime.dtypes import DType, as_dtype, float32
from tflogscope.runtime.errors import InvalidArgumentError
from tflogscope.runtime.library import arrays, elementary
from tflogscope.runtime.library.comparison import boolean_mask, less, less_equal
from tflogscope.runtime.library.grouping import group, no_op, with_dependencies
from tflogscope.runtime.library.reductions import reduce_all
from tflogscope.runtime.ops.call import call, call_node, generated
from tflogscope.runtime.tensors import Tensor

check_numerics = generated("CheckNumerics")


def Assert(condition: Any, data: Any, summarize: int | None = None, name: str | None = None) -> Any:
    """Refuse to go on unless the condition holds. Raises InvalidArgumentError, eagerly at once."""
    if executing_eagerly():
        if not condition:
            texts = "\n".join(
                _summary(each, summarize) for each in [convert_to_tensor(each) for each in data]
            )
            raise InvalidArgumentError(
                None, None, f"Expected '{condition!s}' to be true. Summarized data: {texts}"
            )
        return None
    with op_scope(name, "Assert"):
        tensors = [convert_to_tensor(each) for each in data]
        if all(each.dtype in (dtypes.string, dtypes.int32) for each in tensors):
            return call_node("Assert", condition, data, summarize=summarize, name="Assert")
        from tflogscope.runtime.control_flow.cond import cond

        condition = convert_to_tensor(condition, name="Condition")

        def failing() -> Any:
            return call_node("Assert", condition, data, summarize=summarize, name="Assert")

        return cond(condition, no_op, failing, name="AssertGuard").op


def _summary(value: Any, summarize: int | None) -> str:
    count = 3 if summarize is None else value.shape.num_elements() if summarize < 0 else summarize
    flat = np.asarray(value.numpy()).reshape(-1)
    shown = ", ".join(str(each) for each in flat[:count])
    return f"{shown}, ..." if len(flat) > count else shown


# -- two tensors compared


def _eager_data(symbol: str, x: Any, y: Any, test: Any, summarize: int) -> list[Any]:
    """What an eager assertion says: where the tensors differ, and how they begin."""
    data: list[Any] = [f"Condition x {symbol} y did not hold."]
    if summarize <= 0:
        return data
    if x.shape == y.shape and x.shape.rank:
        mask = call("LogicalNot", test)
        places = call("Where", mask).numpy()  # type: ignore[attr-defined]
        count = min(summarize, len(places))
        data += [f"Indices of first {count} different values:", places[:count]]
        for name, each in (("x", x), ("y", y)):
            chosen: Any = boolean_mask(each, mask)
            data += [f"Corresponding {name} values:", chosen.numpy().reshape(-1)[:count]]
    for name, each in (("x", x), ("y", y)):
        flat = np.asarray(each.numpy()).reshape(-1)[:summarize]
        data += [f"First {len(flat)} elements of {name}:", flat]
    return data


def _printed(item: Any, summarize: int) -> str:
    if not isinstance(item, Tensor):
        return str(item)
    value = item.numpy()  # type: ignore[attr-defined]
    if np.ndim(value) == 0:
        return str(value)
    flat = value.reshape(-1)
    return str(
        [str(each) for each in flat[:summarize]] + (["..."] if len(flat) > summarize else [])
    )


def _compare(
    symbol: str, scope: str, op: str, static: Callable[..., Any], x: Any, y: Any, *,
    data: Any, summarize: int | None, message: str | None, name: str | None,
) -> Any:  # fmt: skip
    with op_scope(name, scope):
        x, y = convert_to_tensor(x, name="x"), convert_to_tensor(y, name="y")
        prefix = [] if message is None else [message]
        if executing_eagerly():
            test = call(op, x, y)
            if reduce_all(test):
                return None
            shown = 3 if summarize is None else 10**9 if summarize < 0 else summarize
            found = _eager_data(symbol, x, y, test, shown) if data is None else data
            text = "\n".join(_printed(each, shown) for each in prefix + list(found))
            raise InvalidArgumentError(None, None, text)
        if data is None:
            data = [
                f"Condition x {symbol} y did not hold element-wise:",
                f"x ({x.name}) = ",
                x,
                f"y ({y.name}) = ",
                y,
            ]
        data = prefix + list(data)
        condition = reduce_all(call(op, x, y))
        known = constant_value(x), constant_value(y)
        if known[0] is not None and known[1] is not None and not np.all(static(*known)):
            texts = [str(each) if _known(each) is None else str(_known(each)) for each in data]
            raise InvalidArgumentError(None, None, "\n".join(texts))
        return Assert(condition, data, summarize=summarize)


def _known(value: Any) -> Any:
    return constant_value(value) if isinstance(value, Tensor) else value


def _comparison(symbol: str, scope: str, op: str, static: Callable[..., Any]) -> Callable[..., Any]:
    def check(
        x: Any,
        y: Any,
        message: str | None = None,
        summarize: int | None = None,
        name: str | None = None,
        data: Any = None,
    ) -> Any:
        return _compare(
            symbol,
            scope,
            op,
            static,
            x,
            y,
            data=data,
            summarize=summarize,
            message=message,
            name=name,
        )

    check.__doc__ = (
        f"Refuse to go on unless `x {symbol} y` holds for all elements. Raises "
        "InvalidArgumentError."
    )
    return check


assert_greater = _comparison(">", "assert_greater", "Greater", np.greater)
assert_greater_equal = _comparison(">=", "assert_greater_equal", "GreaterEqual", np.greater_equal)
assert_less = _comparison("<", "assert_less", "Less", np.less)
assert_less_equal = _comparison("<=", "assert_less_equal", "LessEqual", np.less_equal)
assert_none_equal = _comparison("!=", "assert_none_equal", "NotEqual", np.not_equal)
_assert_equal = _comparison("==", "assert_equal", "Equal", np.equal)


def assert_equal(
    x: Any,
    y: Any,
    message: str | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> Any:
    """Refuse to go on unless all elements are equal. Raises InvalidArgumentError."""
    with op_scope(name, "assert_equal"):
        if x is y:  # of itself a tensor is never different
            return None if executing_eagerly() else no_op()
    return _assert_equal(x, y, message, summarize, name)


def assert_near(
    x: Any,
    y: Any,
    rtol: Any = None,
    atol: Any = None,
    message: str | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> Any:
    """Refuse to go on unless all elements are about equal. Raises InvalidArgumentError."""
    with op_scope(name, "assert_near"):
        x = convert_to_tensor(x, name="x")
        y = convert_to_tensor(y, x.dtype, name="y")
        dtype = x.dtype.real_dtype
        default = 10 * np.finfo(dtype.as_numpy_dtype).eps
        relative = convert_to_tensor(default if rtol is None else rtol, dtype, name="rtol")
        absolute = convert_to_tensor(default if atol is None else atol, dtype, name="atol")
        data = [
            _prefix(message),
            f"x and y not equal to tolerance rtol = {relative!s}, atol = {absolute!s}",
            f"x ({_called(x)}) = ", x, f"y ({_called(y)}) = ", y,
        ]  # fmt: skip
        tolerance = absolute + relative * elementary.abs(y)
        difference = elementary.abs(x - y)
        condition = reduce_all(call("Less", difference, tolerance))
        return Assert(condition, data, summarize=summarize)


def _prefix(message: str | None) -> str:
    return f"{message}.  " if message else ""


def _called(x: Any) -> str:
    return f"shape={x.shape} dtype={x.dtype.name}" if executing_eagerly() else str(x.name)


def _sign(
    scope: str, symbol: str, check: Callable[..., Any], *, zero_first: bool
) -> Callable[..., Any]:
    def assert_sign(
        x: Any, message: str | None = None, summarize: int | None = None, name: str | None = None
    ) -> Any:
        with op_scope(name, scope):
            x = convert_to_tensor(x, name="x")
            data = [
                _prefix(message),
                f"Condition x {symbol} 0 did not hold element-wise:",
                f"x ({_called(x)}) = ",
                x,
            ]
            zero = convert_to_tensor(0, x.dtype)
            return check(*((zero, x) if zero_first else (x, zero)), data=data, summarize=summarize)

    assert_sign.__doc__ = (
        f"Refuse to go on unless `x {symbol} 0` holds for all elements. Raises "
        "InvalidArgumentError."
    )
    return assert_sign


assert_negative = _sign("assert_negative", "<", assert_less, zero_first=False)
assert_non_negative = _sign("assert_non_negative", ">=", assert_less_equal, zero_first=True)
assert_non_positive = _sign("assert_non_positive", "<=", assert_less_equal, zero_first=False)
assert_positive = _sign("assert_positive", ">", assert_less, zero_first=True)

# -- what is known while building


def assert_type(
    tensor: Any, tf_type: Any, message: str | None = None, name: str | None = None
) -> Any:
    """Raises TypeError unless the tensor has that dtype."""
    wanted = as_dtype(tf_type)
    with op_scope(name, "assert_type"):
        tensor = convert_to_tensor(tensor, name="tensor")
        if tensor.dtype is not wanted:
            called = "tensor" if executing_eagerly() else tensor.name
            raise TypeError(
                f"{_prefix(message)}{called} must be of type {wanted!r}; got {tensor.dtype!r}"
            )
        return no_op("statically_determined_correct_type")


def _rank_check(
    scope: str, words: str, holds: Callable[[int, int], bool], op: str
) -> Callable[..., Any]:
    def check(x: Any, rank: Any, message: str | None = None, name: str | None = None) -> Any:
        with op_scope(name, scope):
            x, wanted = convert_to_tensor(x, name="x"), convert_to_tensor(rank, name="rank")
            called = "" if executing_eagerly() else x.name
            data = [
                _prefix(message),
                f"Tensor {called} must have {words}",
                wanted,
                "Received shape: ",
                arrays.shape(x),
            ]
            assert_type(wanted, dtypes.int32)
            known = constant_value(wanted)
            if known is not None and x.shape.rank is not None:
                if not holds(x.shape.rank, int(known)):
                    raise ValueError(
                        f"{_prefix(message)}Tensor {called} must have {words} {int(known)}.  "
                        f"Received rank {x.shape.rank}, shape {x.shape}"
                    )
                return no_op(name="static_checks_determined_all_ok")
            return Assert(call(op, arrays.rank(x), wanted), data)

    check.__doc__ = (
        f"Raises ValueError unless the tensor has {words} `rank`, InvalidArgumentError if only "
        "running shows it."
    )
    return check


assert_rank = _rank_check("assert_rank", "rank", lambda found, wanted: found == wanted, "Equal")
assert_rank_at_least = _rank_check(
    "assert_rank_at_least", "rank at least", lambda found, wanted: found >= wanted, "GreaterEqual"
)


def assert_rank_in(
    x: Any, ranks: Sequence[int], message: str | None = None, name: str | None = None
) -> Any:
    """Raises ValueError unless it has one of these ranks.

    NB: a rank that is not known while building is not checked here.
    """
    with op_scope(name, "assert_rank"):
        x = convert_to_tensor(x, name="x")
        if x.shape.rank is None or x.shape.rank in ranks:
            return no_op("static_checks_determined_all_ok")
        called = "" if executing_eagerly() else x.name
        raise ValueError(
            f"{_prefix(message)}Tensor {called} must have rank in {tuple(ranks)}.  Received rank "
            f"{x.shape.rank}, shape {x.shape}"
        )


def assert_integer(x: Any, message: str | None = None, name: str | None = None) -> Any:
    """Raises TypeError unless it has whole numbers."""
    with op_scope(name, "assert_integer"):
        x = convert_to_tensor(x, name="x")
        if x.dtype.is_integer:
            return no_op("statically_determined_was_integer")
        found = f"tensor of dtype {x.dtype}"
        called = '"x"' if executing_eagerly() else x.name
        raise TypeError(f"{_prefix(message)}Expected {called} to be integer type.  Found: {found}")


def assert_scalar(tensor: Any, message: str | None = None, name: str | None = None) -> None:
    """Raises ValueError if the tensor has a shape."""
    with op_scope(name, "assert_scalar") as scope:
        tensor = convert_to_tensor(tensor, name=scope)
        if tensor.shape.rank != 0:
            called = "" if executing_eagerly() else f" for {tensor.name}"
            raise ValueError(
                f"{_prefix(message)}Expected scalar shape{called}, saw shape: {tensor.shape}."
            )


def assert_shapes(
    shapes: Any,
    data: Any = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Any:
    """Check shapes given as numbers and letters, where a letter always means the same number.
    Raises ValueError.

    NB: dimensions that are not known while building are not checked here.
    """
    del data, summarize
    pairs = list(shapes.items()) if isinstance(shapes, dict) else list(shapes)
    with op_scope(name, "assert_shapes"):
        tensors = [
            (convert_to_tensor(x), tuple(symbols)) for x, symbols in pairs if symbols is not None
        ]
        for x, _ in tensors:
            arrays.shape(x)
        checks = []
        sizes: dict[Any, tuple[int, str]] = {}
        for x, symbols in tensors:
            if len(symbols) > 1:
                checks.append(assert_rank(x, len(symbols), message))
            for place, (dim, symbol) in enumerate(zip(x.shape, symbols, strict=True)):
                if symbol is None or dim is None:
                    continue
                by = f"Specified by tensor {_called(x)} dimension {place}"
                wanted, by = (
                    (symbol, "Specified explicitly")
                    if isinstance(symbol, int)
                    else sizes.setdefault(symbol, (dim, by))
                )
                if dim != wanted:
                    raise ValueError(
                        f"{_prefix(message)}{by}.  Tensor {_called(x)} dimension "
                        f"{place} must have size {wanted}.  Received size {dim}, shape {x.shape}"
                    )
    from tflogscope.runtime.ops.call import control_dependencies

    with control_dependencies([check for check in checks if check is not None]):
        return group()


def assert_all_finite(x: Any, message: str, name: str | None = None) -> Tensor:
    """The tensor, if all of it is a finite number. Raises InvalidArgumentError."""
    with op_scope(name, "VerifyFinite"):
        x = convert_to_tensor(x, name="x")
        verified = call("CheckNumerics", x, message=message)
        return with_dependencies([verified], x)


def is_non_decreasing(x: Any, name: str | None = None) -> Tensor:
    """Is no element less than the one before it?"""
    with op_scope(name, "is_non_decreasing"):
        steps = _steps(x)
        return reduce_all(less_equal(convert_to_tensor(0, dtype=steps.dtype), steps))


def is_strictly_increasing(x: Any, name: str | None = None) -> Tensor:
    """Is each element greater than the one before it?"""
    with op_scope(name, "is_strictly_increasing"):
        steps = _steps(x)
        return reduce_all(less(convert_to_tensor(0, dtype=steps.dtype), steps))


def _steps(x: Any) -> Tensor:
    """From each element to the next. Told about: `_get_diff_for_monotonic_comparison`."""
    from tflogscope.runtime.control_flow.cond import cond
    from tflogscope.runtime.library.slicing import strided_slice

    flat: Any = arrays.reshape(x, [-1])
    if not is_numeric_tensor(flat):
        raise TypeError(f"Expected x to be numeric, instead found: {flat}")
    short = less(arrays.size(flat), 2)
    count = arrays.shape(flat) - 1

    def steps() -> Any:
        return strided_slice(flat, [1], 1 + count) - strided_slice(flat, [0], count)

    return cond(short, lambda: convert_to_tensor([], dtype=flat.dtype), steps)  # type: ignore[no-any-return]


def assert_proper_iterable(values: Any) -> None:
    """Raise TypeError for what is no iterable of tensors but a tensor, an array or a text."""
    if isinstance(values, (Tensor, np.ndarray, bytes, str)):
        kind = 'Expected argument "values" to be a "proper" iterable.'
        raise TypeError(f"{kind}  Found: {type(values)}")
    if not hasattr(values, "__iter__"):
        raise TypeError(f'Expected argument "values" to be iterable.  Found: {type(values)}')


def assert_same_float_dtype(tensors: Any = None, dtype: Any = None) -> DType:
    """The one dtype of them all. Raises ValueError if it is not one, or none of floats."""
    given, first = dtype, None
    for item in tensors or ():
        if item is None:
            continue
        called = item.name if hasattr(item, "name") else str(item)
        if dtype is None:
            dtype, first = item.dtype, called
        elif dtype != item.dtype:
            said = f" as {first}" if given is None else ""
            raise ValueError(
                f"{called}, type={item.dtype}, must be of the same type ({dtype}){said}."
            )
    if dtype is None:
        return float32
    if not dtype.is_floating:
        raise ValueError(f"Expected floating point type, got {dtype}.")
    return dtype  # type: ignore[no-any-return]


def is_numeric_tensor(tensor: Any) -> bool:
    """Is it a tensor of numbers?"""
    return isinstance(tensor, Tensor) and tensor.dtype.is_numeric and not tensor.dtype.is_bool
