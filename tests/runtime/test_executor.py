"""Graphs that run: pruning, dead branches, loop frames, threads, and what is told of it."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tflogscope.runtime import api as tf
from tflogscope.runtime import telling
from tflogscope.runtime.executor.plan import compile_plan
from tflogscope.runtime.executor.threads import inter_op_threads, set_inter_op_threads


class Nodes(telling.Listener):
    """Notes which nodes ran, which were dead, and on which threads."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.dead: list[str] = []
        self.threads: set[int] = set()

    def node_done(self, step: int, node: Any, outputs: Sequence[Any]) -> None:
        del step, outputs
        self.ran.append(node.name)
        self.threads.add(threading.get_ident())

    def node_dead(self, step: int, node: Any) -> None:
        del step
        self.dead.append(node.name)


@contextmanager
def threads(count: int) -> Iterator[None]:
    before = inter_op_threads()
    set_inter_op_threads(count)
    try:
        yield
    finally:
        set_inter_op_threads(before)


def run_nodes(function: Any, *args: Any) -> Nodes:
    with telling.listen(Nodes()) as nodes:
        function(*args)
    assert isinstance(nodes, Nodes)
    return nodes


def test_what_the_result_does_not_need_is_pruned() -> None:
    @tf.function
    def f(x: Any) -> Any:
        tf.sin(x, name="unused")
        return tf.cos(x, name="used")

    concrete = f.get_concrete_function(tf.constant(1.0))
    planned = [step.node.name for step in compile_plan(concrete.inference.definition).steps]
    assert "used" in planned
    assert "unused" not in planned


def test_a_stateful_op_is_not_pruned() -> None:
    v = tf.Variable(0)

    @tf.function
    def f(x: Any) -> Any:
        v.assign_add(2)
        return x

    f(1.0)
    f(1.0)
    assert v.numpy() == 4


def test_the_branch_not_taken_is_dead() -> None:
    @tf.function
    def f(x: Any) -> Any:
        return tf.cond(x > 0.0, lambda: tf.sin(x, name="yes"), lambda: tf.cos(x, name="no"))

    nodes = run_nodes(f, tf.constant(1.0))
    assert any(name.endswith("yes") for name in nodes.ran)
    assert any(name.endswith("no") for name in nodes.dead)
    nodes = run_nodes(f, tf.constant(-1.0))
    assert any(name.endswith("no") for name in nodes.ran)


def test_a_loop_body_runs_once_for_each_iteration() -> None:
    @tf.function
    def f(n: Any) -> Any:
        total: Any = 0
        numbers: Any = tf.range(n)
        for i in numbers:
            total = tf.add(total, i, name="step")
        return total

    nodes = run_nodes(f, tf.constant(4))
    assert sum(name.endswith("step") for name in nodes.ran) == 4
    assert f(tf.constant(4)).numpy() == 6
    assert f(tf.constant(0)).numpy() == 0


def test_an_error_ends_the_step_and_names_the_node() -> None:
    @tf.function
    def f(x: Any) -> Any:
        return tf.gather(x, [9], name="asks_too_much")

    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Node: 'asks_too_much'"):
        f(tf.constant([1.0]))
    with threads(4), pytest.raises(tf.errors.InvalidArgumentError, match="is not in"):
        f(tf.constant([1.0]))


def test_effects_keep_their_order_on_several_threads() -> None:
    v = tf.Variable(1.0)

    @tf.function
    def f() -> Any:
        for k in range(20):
            v.assign(v * 2.0 if k % 2 else v + 1.0)
        return v.read_value()

    def expected() -> float:
        value = 1.0
        for k in range(20):
            value = value * 2.0 if k % 2 else value + 1.0
        return value

    with threads(4):
        assert f().numpy() == expected()


def test_plans_are_made_once() -> None:
    @tf.function
    def f(x: Any) -> Any:
        return x + 1.0

    f(1.0)
    definition = f.get_concrete_function(1.0).inference.definition
    first = definition.plan
    f(1.0)
    assert definition.plan is first
    assert first is not None


# -- drawn graphs: however they run, they give the same

UNARY = ("tanh", "sin", "abs", "negative", "square", "sigmoid")
BINARY = ("add", "subtract", "multiply", "maximum", "minimum")


@st.composite
def graphs(draw: st.DrawFn) -> list[tuple[str, tuple[int, ...]]]:
    """Ops, each with the numbers of the values that it takes; values 0 and 1 are the arguments."""
    steps: list[tuple[str, tuple[int, ...]]] = []
    for count in range(2, 2 + draw(st.integers(1, 12))):
        places = st.integers(0, count - 1)
        if draw(st.booleans()):
            steps.append((draw(st.sampled_from(UNARY)), (draw(places),)))
        else:
            steps.append((draw(st.sampled_from(BINARY)), (draw(places), draw(places))))
    return steps


def build(steps: list[tuple[str, tuple[int, ...]]], branches: bool) -> Any:
    def function(x: Any, y: Any) -> Any:
        values = [x, y]
        for op, places in steps:
            arguments = [values[place] for place in places]
            if branches and len(places) == 2:
                values.append(branching(op, *arguments))
            else:
                values.append(getattr(tf, op)(*arguments))
        return tf.tanh(values[-1]), tf.add_n([tf.tanh(value) for value in values])

    return function


def branching(op: str, a: Any, b: Any) -> Any:
    """The op, or if `a` is small a loop over `b`."""

    def loop() -> Any:
        return tf.while_loop(lambda i, _: i < 2, lambda i, v: (i + 1, tf.tanh(v)), (0, b))[1]

    return tf.cond(tf.reduce_sum(a) > 0.0, lambda: getattr(tf, op)(a, b), loop)


@settings(max_examples=25, deadline=None)
@given(
    graphs(),
    st.booleans(),
    st.lists(st.floats(-2, 2, width=32), min_size=3, max_size=3),
    st.lists(st.floats(-2, 2, width=32), min_size=3, max_size=3),
)
def test_eager_traced_and_on_threads_are_the_same(
    steps: list[tuple[str, tuple[int, ...]]], branches: bool, one: list[float], other: list[float]
) -> None:
    function = build(steps, branches)
    x, y = tf.constant(one), tf.constant(other)

    def with_gradient(call: Any) -> list[Any]:
        with tf.GradientTape() as tape:
            tape.watch([x, y])
            last, total = call(x, y)
        grads = tape.gradient(total, [x, y])
        return [each.numpy() for each in (last, total, *grads)]

    eager = with_gradient(function)
    traced = tf.function(function, autograph=False)
    for count in (1, 4):
        with threads(count):
            for ours, theirs in zip(with_gradient(traced), eager, strict=True):
                np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-6)
