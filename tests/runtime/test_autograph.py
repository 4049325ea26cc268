"""What AutoGraph makes of Python's control flow gives what Python gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

tf: Any = None


@pytest.fixture(autouse=True)
def its_functions_find_it(tf: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """AutoGraph reads the functions below, so that `tf` is a name of this module in them."""
    monkeypatch.setitem(globals(), "tf", tf)


def jumps_in_a_for(n: Any) -> Any:
    total = 0
    for i in tf.range(n):
        if i == 2:
            continue
        if i > 5:
            break
        total += i
    return total


def jumps_in_a_while(n: Any) -> Any:
    while n > 0:
        n -= 3
        if n == 4:
            n += 1
            continue
        if n == 5:
            break
    return n


def returns(n: Any) -> Any:
    if n > 3:
        return n * 2
    n += 1
    if n > 2:
        return n
    return n - 1


def a_loop_in_a_python_loop(n: Any) -> Any:
    total = 0
    for i in range(4):
        for j in tf.range(n):
            if j > i:
                break
            if j == 1 and i == 2:
                continue
            total += i * j
    return total


def a_variable_of_the_loop(n: Any) -> Any:
    for i in tf.range(n):
        last = i * 2
    return last


def jumps_of_python(n: Any) -> Any:
    parts = []
    for i in range(4):
        if i == 1:
            continue
        parts.append(n + i)
        if i == 2:
            break
    return tf.add_n(parts)


def expressions(n: Any) -> Any:
    a = 1 if n > 2 else 2
    return a + (3 if not (n > 2 or n < 0) else 4) if 0 < n < 9 else n


def rows(n: Any) -> Any:
    def least(k: Any) -> Any:
        if k > 2:
            return k
        return k + 10

    total = 0
    for row in tf.reshape(tf.range(6), [3, 2]):
        total += row[0] * least(n)
    return total


def fibonacci(n: int) -> Any:
    return tf.constant(n) if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


FUNCTIONS = [
    jumps_in_a_for,
    jumps_in_a_while,
    returns,
    a_loop_in_a_python_loop,
    a_variable_of_the_loop,
    jumps_of_python,
    expressions,
    rows,
]


@pytest.mark.thorough
@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_gives_what_python_gives(function: Callable[..., Any]) -> None:
    staged = tf.function(function, input_signature=[tf.TensorSpec([], tf.int32)])
    for n in (1, 2, 3, 5, 8, 11):
        assert int(staged(n)) == int(function(tf.constant(n)))
    assert staged.experimental_get_tracing_count() == 1


def test_a_function_that_names_itself_is_converted() -> None:
    assert int(tf.function(fibonacci)(7)) == 13


def test_a_loop_that_never_ran_has_no_value_for_its_variable() -> None:
    staged = tf.function(a_variable_of_the_loop)
    with pytest.raises(tf.errors.InvalidArgumentError, match="at least once"):
        staged(tf.constant(0))


def test_variables_are_made_on_the_first_call_only() -> None:
    def makes(x: Any) -> Any:
        return tf.Variable(1.0) * x

    with pytest.raises(ValueError, match="first call"):
        tf.function(makes)(tf.constant(1.0))
