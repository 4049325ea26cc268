"""What AutoGraph's code calls: an op where a tensor decides, else what Python does. See
`tensorflow/python/autograph/operators/`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tflogscope.runtime.core.calls import O
from tflogscope.runtime.core.context import current
from tflogscope.runtime.core.conversion import convert_to_tensor
from tflogscope.runtime.core.dtypes import bool_, int32
from tflogscope.runtime.core.errors import OperatorNotAllowedInGraphError
from tflogscope.runtime.core.graph import control_dependencies
from tflogscope.runtime.core.known import known_value
from tflogscope.runtime.core.nest import assert_same_structure, flatten, map_structure
from tflogscope.runtime.core.tensors import Tensor
from tflogscope.runtime.function.branches import cond
from tflogscope.runtime.function.checks import Assert
from tflogscope.runtime.function.func_graph import FuncGraph, placeholder
from tflogscope.runtime.function.loops import while_loop
from tflogscope.runtime.function.tensor_array import TensorArray
from tflogscope.runtime.function.variables import Variable
from tflogscope.runtime.library import arrays, numbers

Values = tuple[Any, ...]
Getter = Callable[[], Values]
Setter = Callable[[Values], None]
Thunk = Callable[[], Any]


class Undefined:
    """The value of a variable that has none."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, name: str) -> Undefined:
        return self


class UndefinedReturnValue:
    """The result of a function that has not returned yet."""


def load(value: Any) -> Any:
    """A variable's value. Raises UnboundLocalError if it has none."""
    if isinstance(value, Undefined):
        raise UnboundLocalError(f"'{value.name}' is used before assignment")
    return value


def returned(value: Any) -> Any:
    """What the function gives."""
    return None if isinstance(value, UndefinedReturnValue) else value


def is_tensor(value: Any) -> bool:
    """Would a graph decide?"""
    return isinstance(value, (Tensor, Variable))


def not_(value: Any) -> Any:
    """`not value`."""
    return O.LogicalNot(value) if is_tensor(value) else not value


def and_(left: Thunk, right: Thunk) -> Any:
    """`left and right`."""
    value = left()
    return cond(value, right, lambda: value) if is_tensor(value) else value and right()


def or_(left: Thunk, right: Thunk) -> Any:
    """`left or right`."""
    value = left()
    return cond(value, lambda: value, right) if is_tensor(value) else value or right()


def if_exp(condition: Any, body: Thunk, orelse: Thunk) -> Any:
    """`body if condition else orelse`."""
    if is_tensor(condition):
        return cond(condition, body, orelse)
    return body() if condition else orelse()


# -- conditionals


def if_stmt(
    condition: Any,
    body: Thunk,
    orelse: Thunk,
    get_state: Getter,
    set_state: Setter,
    names: Values,
    outputs: int,
) -> None:
    """An `if`. Raises ValueError or TypeError if its sides leave other kinds of values."""
    if not is_tensor(condition):
        (body if condition else orelse)()
        return
    condition = _scalar(condition, "if statement")
    before = get_state()
    results: dict[str, Values] = {}

    def branch(block: Thunk, which: str) -> Thunk:
        def traced() -> Values:
            set_state(before)
            block()
            after = results[which] = get_state()[:outputs]
            for name, value in zip(names, after, strict=False):
                if isinstance(value, Undefined):
                    raise ValueError(f"'{name}' must also be initialized in the {which} branch")
                if isinstance(value, UndefinedReturnValue):
                    raise ValueError(f"the {which} branch must also have a return statement.")
            if len(results) == 2:
                _check_sides(results["main"], results["else"], names)
            return after or (0,)  # a block that is there for its side effects gives a constant

        return traced

    after = cond(condition, branch(body, "main"), branch(orelse, "else"))
    set_state((*after[:outputs], *before[outputs:]))


def _scalar(condition: Any, what: str) -> Any:
    condition = convert_to_tensor(condition)
    if condition.dtype is not bool_ or (condition.shape.num_elements() or 1) > 1:
        raise ValueError(f"condition of {what} expected to be `tf.bool` scalar, got {condition}")
    return condition if condition.shape.rank == 0 else arrays.reshape(condition, [])


def _check_sides(body: Values, orelse: Values, names: Values) -> None:
    for name, left, right in zip(names, body, orelse, strict=False):
        try:
            assert_same_structure(left, right)
        except (ValueError, TypeError) as error:
            raise TypeError(
                f"'{name}' must have the same nested structure in the main and else "
                f"branches:\n\n{error}"
            ) from error
        _check_alike(name, left, right, "in the main branch", "in the else branch")


def _check_alike(name: str, one: Any, other: Any, here: str, there: str) -> None:
    for a, b in zip(flatten(one), flatten(other), strict=False):
        if b is None:
            raise ValueError(f"'{name}' is None {there}")
        dtypes = [_dtype(a), _dtype(b)]
        if dtypes[0] != dtypes[1] and None not in dtypes:
            raise TypeError(
                f"'{name}' has dtype {dtypes[0].name} {here}, but dtype {dtypes[1].name} {there}"
            )


def _dtype(value: Any) -> Any:
    plain = isinstance(value, (bool, int, float, str, np.ndarray))
    return getattr(convert_to_tensor(value) if plain else value, "dtype", None)


# -- loops


def while_stmt(
    test: Thunk, body: Thunk, get_state: Getter, set_state: Setter, names: Values
) -> None:
    """A `while`: as an op if its test gives a tensor the first time."""
    with FuncGraph("tmp").as_default():
        first = test()
    if is_tensor(first):
        _graph_while(test, body, get_state, set_state, names)
        return
    while first:
        body()
        first = _python_truth(test())


def for_stmt(
    iterated: Any,
    extra_test: Thunk | None,
    body: Callable[[Any], None],
    get_state: Getter,
    set_state: Setter,
    names: Values,
) -> None:
    """A `for`: as an op over a tensor, or whatever has `__autograph_for__`."""
    state = (get_state, set_state, names)
    if hasattr(iterated, "__autograph_for__"):
        # NB: TensorFlow has a registry of types; here datasets and iterators have a method
        iterated.__autograph_for__(lambda items: _for_iterator(items, extra_test, body, *state))
    elif is_tensor(iterated):
        ranged = getattr(getattr(iterated, "op", None), "type", None) == "Range"
        (_for_range if ranged else _for_rows)(iterated, extra_test, body, *state)
    elif extra_test is None or _python_truth(extra_test()):
        for item in iterated:
            body(item)
            if extra_test is not None and not _python_truth(extra_test()):
                break


def _python_truth(value: Any) -> bool:
    try:
        return bool(value)
    except OperatorNotAllowedInGraphError as error:
        raise NotImplementedError(
            "break and return statements which depend on a TF condition are not supported in Python "
            "loops. Did you intend to make it a TF loop?"
        ) from error


def _tested(main: Any, extra_test: Thunk | None) -> Any:
    return main if extra_test is None else cond(main, extra_test, lambda: False)


def _counting(
    body: Thunk, value: list[Any], test: Thunk, get_state: Getter, set_state: Setter, names: Values
) -> None:
    """A loop with one more variable: `value[0]`."""

    def get() -> Values:
        return (value[0], *get_state())

    def put(values: Values) -> None:
        value[0], *rest = values
        set_state(tuple(rest))

    _graph_while(test, body, get, put, ("<internal iterate>", *names))


def _for_range(iterated: Any, extra_test: Any, body: Any, *state: Any) -> None:
    start, limit, delta = iterated.op.inputs
    number = [start]

    def step() -> None:
        body(number[0])
        number[0] += delta

    def test() -> Any:
        known = known_value(delta)
        if known is None:
            up = O.LogicalAnd(delta >= 0, number[0] < limit)
            return _tested(O.LogicalOr(up, O.LogicalAnd(delta < 0, number[0] > limit)), extra_test)
        return _tested(number[0] < limit if known >= 0 else number[0] > limit, extra_test)

    _counting(step, number, test, *state)


def _for_rows(iterated: Any, extra_test: Any, body: Any, *state: Any) -> None:
    count = len_(iterated)
    rows = TensorArray(iterated.dtype, size=count).unstack(iterated)
    index: list[Any] = [0]

    def step() -> None:
        body(rows.read(index[0]))
        index[0] += 1

    _counting(step, index, lambda: _tested(index[0] < count, extra_test), *state)


def _for_iterator(iterator: Any, extra_test: Any, body: Any, *state: Any) -> None:
    """Over a dataset's iterator: as long as it has an element."""
    get_state, set_state, _ = state
    has_next: list[Any] = [True]

    def step() -> None:
        element = iterator.get_next_as_optional()
        has_next[0] = element.has_value()
        entry = get_state()

        def main() -> Values:
            body(element.get_value())
            return get_state() or (0,)

        after = cond(has_next[0], main, lambda: entry or (0,))
        set_state(after if entry else ())

    _counting(step, has_next, lambda: _tested(has_next[0], extra_test), *state)


def _graph_while(
    test: Thunk, body: Thunk, get_state: Getter, set_state: Setter, names: Values
) -> None:
    """A loop as an op. Raises ValueError for a variable that has no value before it, and that no
    placeholder can be found for.
    """
    original = get_state()
    missing = [value is None or isinstance(value, _MISSING) for value in original]
    before = _initial(body, get_state, set_state, original, names) if any(missing) else original
    extra = any(missing)  # one more variable says whether it ran at all

    def condition(*values: Any) -> Any:
        set_state(values[extra:])
        return _scalar(test(), "while loop")

    def step(*values: Any) -> Values:
        set_state(values[extra:])
        body()
        after = get_state()
        for name, first, last in zip(names, values[extra:], after, strict=True):
            _check_alike(name, first, last, "before the loop", "after one iteration")
        return (True, *after) if extra else after

    after = while_loop(condition, step, (False, *before) if extra else before)
    if extra:
        unset = ", ".join(name for name, absent in zip(names, missing, strict=True) if absent)
        ran = Assert(after[0], [f"loop must iterate at least once to initialize {unset}"])
        with control_dependencies([ran]):
            after = map_structure(
                lambda part: arrays.identity(part) if is_tensor(part) else part, tuple(after[1:])
            )
    set_state(tuple(after))


_MISSING = (Undefined, UndefinedReturnValue)


def _initial(
    body: Thunk, get_state: Getter, set_state: Setter, before: Values, names: Values
) -> Values:
    """Values for variables that the body will set: zeros like what it gives when it is tried out."""

    def like(value: Any) -> Any:
        if isinstance(value, (bool, int, float, np.ndarray)):
            tensor = convert_to_tensor(value)
            return placeholder(current(), tensor.dtype, tensor.shape)
        return value

    try:
        with FuncGraph("tmp").as_default():
            set_state(tuple(map_structure(like, value) for value in before))
            body()
            found = get_state()
    finally:
        set_state(before)
    values = []
    for name, value, after in zip(names, before, found, strict=True):
        if value is not None and not isinstance(value, _MISSING):
            values.append(value)
        elif after is None or isinstance(after, _MISSING):
            raise ValueError(f"'{name}' must be defined before the loop")
        else:
            values.append(map_structure(_zeros, after))
    return tuple(values)


def _zeros(value: Any) -> Any:
    if not is_tensor(value):
        return type(value)(0)
    dims = [] if value.shape.rank is None else value.shape.as_list()
    return arrays.zeros([dim or 0 for dim in dims], value.dtype)


# -- Python's functions


def len_(value: Any) -> Any:
    """`len(value)`."""
    if isinstance(value, TensorArray):
        return value.size()
    if not is_tensor(value):
        return len(value)
    known = value.shape[0] if value.shape.rank else None
    return arrays.shape(value)[0] if known is None else known


def _range(*arguments: Any) -> Any:
    if not any(map(is_tensor, arguments)):
        return range(*arguments)
    return arrays.range_(*arguments)


def _number(kind: Any, dtype: Any) -> Callable[..., Any]:
    return lambda value=0: arrays.cast(value, dtype) if is_tensor(value) else kind(value)


OVERLOADS: dict[Any, Callable[..., Any]] = {
    len: len_,
    range: _range,
    abs: lambda value: numbers.abs_(value) if is_tensor(value) else abs(value),
    int: _number(int, int32),
    float: _number(float, "float32"),
}
