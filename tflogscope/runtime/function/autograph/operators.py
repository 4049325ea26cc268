"""What AutoGraph's code calls: an op where a tensor decides, else what Python does. See
`tensorflow/python/autograph/operators/`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tflogscope.runtime.core.calls import O
from tflogscope.runtime.core.conversion import convert_to_tensor
from tflogscope.runtime.core.graph import control_dependencies
from tflogscope.runtime.core.known import known_value
from tflogscope.runtime.core.nest import map_structure
from tflogscope.runtime.core.tensors import Tensor
from tflogscope.runtime.function.branches import Assert, cond
from tflogscope.runtime.function.func_graph import FuncGraph
from tflogscope.runtime.function.loops import while_loop
from tflogscope.runtime.function.tensor_array import TensorArray
from tflogscope.runtime.function.variables import Variable
from tflogscope.runtime.library import arrays, numbers

Values = tuple[Any, ...]
Thunk = Callable[[], Any]


class Undefined:
    """The value of a variable that has none, or the result of a function that has not returned."""


def is_tensor(value: Any) -> bool:
    """Would a graph decide?"""
    return isinstance(value, (Tensor, Variable))


def not_(value: Any) -> Any:
    return O.LogicalNot(value) if is_tensor(value) else not value


def and_(left: Thunk, right: Thunk) -> Any:
    value = left()
    return if_exp(value, right, lambda: value)


def or_(left: Thunk, right: Thunk) -> Any:
    value = left()
    return if_exp(value, lambda: value, right)


def if_exp(condition: Any, body: Thunk, orelse: Thunk) -> Any:
    if is_tensor(condition):
        return cond(condition, body, orelse)
    return body() if condition else orelse()


# -- conditionals


def if_stmt(condition: Any, body: Thunk, orelse: Thunk, *state: Any) -> None:
    """An `if`. Raises ValueError or TypeError if its sides leave other kinds of values."""
    if not is_tensor(condition):
        (body if condition else orelse)()
        return
    get_state, set_state, names, outputs = state
    condition, before = _scalar(condition), get_state()

    def traced(block: Thunk) -> Values:
        set_state(before)
        block()
        after: Values = get_state()[:outputs]
        if any(isinstance(each, Undefined) for each in after):
            raise ValueError(f"{names[:outputs]} must be initialized in both branches of an `if`")
        return after or (0,)  # a block that is there for its side effects gives a constant

    after = cond(condition, lambda: traced(body), lambda: traced(orelse))
    set_state((*after[:outputs], *before[outputs:]))


def _scalar(condition: Any) -> Any:
    condition = convert_to_tensor(condition)
    return condition if condition.shape.rank == 0 else arrays.reshape(condition, [])


# -- loops


def while_stmt(test: Thunk, body: Thunk, *state: Any) -> None:
    """A `while`: as an op if its test gives a tensor the first time."""
    with FuncGraph("tmp").as_default():
        first = test()
    if is_tensor(first):
        _graph_while(test, body, *state)
        return
    while first:
        body()
        first = test()


def for_stmt(
    iterated: Any, extra_test: Thunk | None, body: Callable[[Any], None], *state: Any
) -> None:
    """A `for`: as an op over a tensor, or whatever has `__autograph_for__`."""
    if hasattr(iterated, "__autograph_for__"):
        # NB: TensorFlow has a registry of types; here datasets and iterators have a method
        iterated.__autograph_for__(lambda items: _for_iterator(items, extra_test, body, *state))
    elif is_tensor(iterated):
        _for_tensor(iterated, extra_test, body, *state)
    elif extra_test is None or extra_test():
        for item in iterated:
            body(item)
            if extra_test is not None and not extra_test():
                break


def _counting(body: Thunk, value: list[Any], test: Thunk, extra_test: Any, *state: Any) -> None:
    """A loop with one more variable: `value[0]`."""
    get, put, names = state

    def put_all(values: Values) -> None:
        value[0], *rest = values
        put(tuple(rest))

    def tested() -> Any:
        return test() if extra_test is None else cond(test(), extra_test, lambda: False)

    names = ("<internal iterate>", *names)
    _graph_while(tested, body, lambda: (value[0], *get()), put_all, names)


def _for_tensor(iterated: Any, extra_test: Any, body: Any, *state: Any) -> None:
    """Over the numbers of `tf.range` as they are; over the rows of any other tensor."""
    ranged = getattr(getattr(iterated, "op", None), "type", None) == "Range"
    delta = known_value(iterated.op.inputs[2]) if ranged else None
    if delta is None:
        delta, number, limit, step_ = 1, [0], _len(iterated), 1
        item: Any = TensorArray(iterated.dtype, size=limit).unstack(iterated).read
    else:
        start, limit, step_ = iterated.op.inputs
        number, item = [start], lambda at: at

    def step() -> None:
        body(item(number[0]))
        number[0] += step_

    def test() -> Any:
        return number[0] < limit if delta >= 0 else number[0] > limit

    _counting(step, number, test, extra_test, *state)


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

    _counting(step, has_next, lambda: has_next[0], extra_test, *state)


def _graph_while(test: Thunk, body: Thunk, get_state: Any, set_state: Any, names: Values) -> None:
    """A loop as an op. A variable that has no value before it begins as zeros like what the body gives
    when it is tried out; one more variable then says whether the loop ran at all.
    """
    before = get_state()
    unset = [n for n, v in zip(names, before, strict=True) if v is None or isinstance(v, Undefined)]
    ran: list[Any] = [False] if unset else []
    if unset:
        with FuncGraph("tmp").as_default():
            body()
            found = dict(zip(names, get_state(), strict=True))
        parts = zip(names, before, strict=True)
        before = [map_structure(_zeros, found[n]) if n in unset else part for n, part in parts]
        set_state(tuple(before))

    def condition(*values: Any) -> Any:
        set_state(values[len(ran) :])
        return _scalar(test())

    def step(*values: Any) -> Values:
        set_state(values[len(ran) :])
        body()
        return (*[True for _ in ran], *get_state())

    after = while_loop(condition, step, (*ran, *before))
    if unset:
        told = f"loop must iterate at least once to initialize {', '.join(unset)}"
        with control_dependencies([Assert(after[0], [told])]):
            after = map_structure(lambda e: arrays.identity(e) if is_tensor(e) else e, after[1:])
    set_state(tuple(after))


def _zeros(value: Any) -> Any:
    tensor = convert_to_tensor(value)
    dims = [] if tensor.shape.rank is None else tensor.shape.as_list()
    return arrays.zeros([dim or 0 for dim in dims], tensor.dtype)


# -- Python's functions


def _len(value: Any) -> Any:
    if not is_tensor(value):
        return len(value)
    known = value.shape[0] if value.shape.rank else None
    return arrays.shape(value)[0] if known is None else known


def _where_tensors(python: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *given: (function if any(map(is_tensor, given)) else python)(*given)


OVERLOADS: dict[Any, Callable[..., Any]] = {
    len: _len,
    range: _where_tensors(range, arrays.range_),
    abs: _where_tensors(abs, numbers.abs_),
    int: _where_tensors(int, lambda value: arrays.cast(value, "int32")),
    float: _where_tensors(float, lambda value: arrays.cast(value, "float32")),
}
