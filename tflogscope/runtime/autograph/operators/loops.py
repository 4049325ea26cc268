"""`while` and `for`: a tensor as condition, or a tensor or dataset to iterate over, makes a
`tf.while_loop`.

The loop's variables are the state of the statement; `for` adds its own (the index or the next
number). Told about: `while_stmt` and `for_stmt` of autograph/operators/control_flow.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tflogscope.runtime import nest
from tflogscope.runtime.autograph.operators.builtins import len_
from tflogscope.runtime.autograph.operators.checks import check_loop_variables, scalar_condition
from tflogscope.runtime.autograph.operators.placeholders import initial_values
from tflogscope.runtime.autograph.operators.variables import (
    Undefined,
    UndefinedReturnValue,
    is_missing,
)
from tflogscope.runtime.constant_value import constant_value
from tflogscope.runtime.control_flow.cond import cond as tf_cond
from tflogscope.runtime.control_flow.structures import is_tensor
from tflogscope.runtime.control_flow.tensor_array import TensorArray
from tflogscope.runtime.control_flow.while_loop import while_loop
from tflogscope.runtime.dtypes import int32
from tflogscope.runtime.errors import OperatorNotAllowedInGraphError
from tflogscope.runtime.function.func_graph import FuncGraph
from tflogscope.runtime.library import arrays, elementary
from tflogscope.runtime.ops.call import call, control_dependencies

Values = tuple[Any, ...]
Getter = Callable[[], Values]
Setter = Callable[[Values], None]
Options = dict[str, Any]

_LIMITATIONS = (
    "\nSee https://github.com/tensorflow/tensorflow/blob/master/tensorflow/python/autograph/g3doc"
    "/reference/limitations.md#consistency-of-control-flow-types for more info."
)


def while_stmt(
    test: Callable[[], Any],
    body: Callable[[], None],
    get_state: Getter,
    set_state: Setter,
    names: Sequence[str],
    options: Options,
) -> None:
    """Loops in Python, or builds a While op; which one, the condition tells, evaluated once on
    trial.
    """
    with FuncGraph("tmp").as_default():
        first = test()
    if is_tensor(first):
        graph_while(test, body, get_state, set_state, names, options)
        return
    if not first:
        return
    body()
    while _python_condition(test(), "while"):
        body()


def for_stmt(
    iterated: Any,
    extra_test: Callable[[], Any] | None,
    body: Callable[[Any], None],
    get_state: Getter,
    set_state: Setter,
    names: Sequence[str],
    options: Options,
) -> None:
    """Iterates in Python, or builds a While op if `iterated` is a tensor or a dataset.

    `extra_test`: goes on only while this holds, what a `break` or `return` in the loop leaves.
    """
    if hasattr(iterated, "__autograph_for__"):
        # NB: TensorFlow has a registry of types (`for_loop_registry`); here datasets and iterators
        # have a method.
        iterated.__autograph_for__(extra_test, body, get_state, set_state, names, options)
    elif is_tensor(iterated):
        loop = _for_range if _is_range(iterated) else _for_rows
        loop(iterated, extra_test, body, get_state, set_state, tuple(names), options)
    elif extra_test is None:
        for item in iterated:
            body(item)
    elif _python_condition(extra_test(), "for"):
        for item in iterated:
            body(item)
            if not _python_condition(extra_test(), "for"):
                break


def _python_condition(value: Any, loop: str) -> bool:
    try:
        return bool(value)
    except OperatorNotAllowedInGraphError as error:
        if loop == "for":
            raise NotImplementedError(
                "break and return statements which depend on a TF condition are not supported in "
                f"Python for loops. Did you intend to make it a TF loop?{_LIMITATIONS}"
            ) from error
        raise NotImplementedError(
            "The condition of while loop started as non-Tensor, then changed to Tensor. This may "
            "happen either because variables changed type, or when a break or return statement "
            "inside the loop depends on a Tensor condition. In both cases, changing to a TF loop "
            f"should remove the error.{_LIMITATIONS}"
        ) from error


def _is_range(value: Any) -> bool:
    return getattr(getattr(value, "op", None), "type", None) == "Range"


def _tested(main: Any, extra_test: Callable[[], Any] | None) -> Any:
    return main if extra_test is None else tf_cond(main, extra_test, lambda: False)


def _for_range(
    iterated: Any,
    extra_test: Callable[[], Any] | None,
    body: Callable[[Any], None],
    get_state: Getter,
    set_state: Setter,
    names: tuple[str, ...],
    options: Options,
) -> None:
    """Counts in the loop; the range itself is not needed (and pruned)."""
    start, limit, delta = iterated.op.inputs
    number = start

    def get() -> Values:
        state = tuple(
            number if name == options["iterate_names"] and isinstance(value, Undefined) else value
            for name, value in zip(names, get_state(), strict=True)
        )
        return (number, *state)

    def put(values: Values) -> None:
        nonlocal number
        number, *rest = values
        set_state(tuple(rest))

    def step() -> None:
        nonlocal number
        body(number)
        number += delta

    def test() -> Any:
        known = constant_value(delta)
        if known is None:
            up = call("LogicalAnd", delta >= 0, number < limit)
            down = call("LogicalAnd", delta < 0, number > limit)
            return _tested(call("LogicalOr", up, down), extra_test)
        return _tested(number < limit if known >= 0 else number > limit, extra_test)

    # TensorFlow counts the iterations beforehand, for XLA; without it these nodes are there, and
    # pruned.
    elementary.cast(_range_length(start, limit, delta), int32)
    graph_while(test, step, get, put, ("<internal iterate>", *names), options)


def _range_length(start: Any, limit: Any, delta: Any) -> Any:
    distance = limit - start
    length = distance // delta
    ragged = call("NotEqual", distance % delta, arrays.zeros_like(length))
    length = length + elementary.cast(ragged, distance.dtype)
    return call("Maximum", length, arrays.zeros_like(length))


def _for_rows(
    iterated: Any,
    extra_test: Callable[[], Any] | None,
    body: Callable[[Any], None],
    get_state: Getter,
    set_state: Setter,
    names: tuple[str, ...],
    options: Options,
) -> None:
    """Iterates over the first dimension of a tensor."""
    count = len_(iterated)
    rows = TensorArray(iterated.dtype, size=count).unstack(iterated)
    index: Any = 0

    def get() -> Values:
        return (index, *get_state())

    def put(values: Values) -> None:
        nonlocal index
        index, *rest = values
        set_state(tuple(rest))

    def step() -> None:
        nonlocal index
        body(rows.read(index))
        index += 1

    graph_while(
        lambda: _tested(index < count, extra_test),
        step,
        get,
        put,
        ("<internal iterate>", *names),
        options,
    )


def for_iterator(
    iterator: Any,
    extra_test: Callable[[], Any] | None,
    body: Callable[[Any], None],
    get_state: Getter,
    set_state: Setter,
    names: Sequence[str],
    options: Options,
) -> None:
    """Iterates over a tf.data iterator inside a function, until it has no next element."""
    names = ("<internal has_next>", *names)
    has_next: Any = True

    def get() -> Values:
        return (has_next, *get_state())

    def put(values: Values) -> None:
        nonlocal has_next
        has_next, *rest = values
        set_state(tuple(rest))

    before = get()

    def step() -> None:
        nonlocal has_next
        element = iterator.get_next_as_optional()
        has_next = element.has_value()
        entry = get()

        def main() -> Values:
            body(element.get_value())
            after = get()
            check_loop_variables(before, entry, after, names, options)
            return after

        put(tf_cond(has_next, main, lambda: entry))

    graph_while(lambda: _tested(has_next, extra_test), step, get, put, names, options)


def graph_while(
    test: Callable[[], Any],
    body: Callable[[], None],
    get_state: Getter,
    set_state: Setter,
    names: Sequence[str],
    options: Options,
) -> None:
    """Builds a While op over the state."""
    before = original = get_state()
    missing = [is_missing(value) for value in before]
    invariants = {id(value): shape for value, shape in options.get("shape_invariants", ())}
    must_run = False
    if any(missing):
        wanted = [invariants.get(id(value)) for value in before]
        must_run, before, extra = initial_values(
            body, get_state, set_state, before, missing, wanted, names
        )
        if must_run:
            shapes = [
                invariants.get(id(old), more) for old, more in zip(original, extra, strict=True)
            ]
            invariants = {
                id(new): shape
                for new, shape in zip(before, shapes, strict=True)
                if shape is not None
            }
    options = dict(options)
    options.pop("iterate_names", None)
    options.pop("shape_invariants", None)
    if invariants:
        options["shape_invariants"] = tuple(
            invariants.get(
                id(value),
                nest.map_structure(lambda part: part.shape if is_tensor(part) else None, value),
            )
            for value in before
        )

    def condition(*values: Any) -> Any:
        set_state(values[1:] if must_run else values)
        return scalar_condition(test(), "while loop")

    def step(*values: Any) -> Values:
        state = values[1:] if must_run else values
        set_state(state)
        body()
        after = get_state()
        check_loop_variables(before, state, after, names, options)
        return (True, *after) if must_run else after

    loop_options = dict(options)
    if must_run and invariants:
        loop_options["shape_invariants"] = (None, *options["shape_invariants"])
    after = while_loop(condition, step, (False, *before) if must_run else before, **loop_options)
    if must_run:
        after = _having_run(after, names, missing, original)
    set_state(tuple(after))


def _having_run(
    after: Any, names: Sequence[str], missing: Sequence[bool], original: Values
) -> Values:
    """The state, after an Assert that the loop ran at all."""
    unset = [
        "the function return value" if isinstance(value, UndefinedReturnValue) else name
        for name, absent, value in zip(names, missing, original, strict=True)
        if absent
    ]
    from tflogscope.runtime.library.debugging import Assert

    ran = Assert(after[0], [f"loop must iterate at least once to initialize {', '.join(unset)}"])
    with control_dependencies([ran]):
        return tuple(
            nest.map_structure(
                lambda part: arrays.identity(part) if is_tensor(part) else part, value
            )
            for value in after[1:]
        )
