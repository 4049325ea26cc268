"""The core: one place for every op call, registries, tapes as a stack, traces and their keys."""

from __future__ import annotations

import gc
import logging
import threading
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from tflogscope.runtime import api as tf
from tflogscope.runtime import context, operations, tape, telling
from tflogscope.runtime.eager import EAGER
from tflogscope.runtime.errors import BY_CODE, NotInThisRuntime, OpError
from tflogscope.runtime.function.func_graph import FuncGraph
from tflogscope.runtime.gradients import gradient_function


class Story(telling.Listener):
    """What happened, one word each."""

    def __init__(self) -> None:
        self.words: list[str] = []

    def op_dispatched(
        self,
        op: str,
        inputs: Sequence[Any],
        attributes: Mapping[str, Any],
        device: str,
        cached: bool,
    ) -> None:
        del inputs, attributes, device
        name = "call" if op.startswith("__") else op
        self.words.append(f"{name}{' again' if cached else ''}")

    def node_added(self, node: Any) -> None:
        self.words.append(f"node {node.type}")

    def function_traced(self, name: str, function: Any) -> None:
        del name, function
        self.words.append("traced")

    def function_instantiated(self, name: str, function: Any) -> None:
        del name, function
        self.words.append("instantiated")


def test_one_place_for_eager_calls_and_graphs() -> None:
    x, y = tf.constant(1.0), tf.constant(2.0)
    (eager,) = context.execute("AddV2", [x, y])
    assert eager.numpy() == 3.0  # type: ignore[attr-defined]
    with context.enter(FuncGraph("f")) as graph:
        (symbolic,) = context.execute("AddV2", [x, y])
    assert symbolic.op.graph is graph  # type: ignore[attr-defined]
    assert symbolic.dtype is tf.float32


def test_the_story_of_a_function() -> None:
    @tf.function
    def f(x: Any) -> Any:
        return x * x

    x = tf.constant(3.0)
    with telling.listen(Story()) as story:
        f(x)
        f(x)
    assert isinstance(story, Story)
    assert story.words == [
        *("node Placeholder", "node Mul", "node Identity", "traced"),
        *("call", "instantiated", "call again"),
    ]


def test_kernels_are_kept_for_ops_attributes_and_dtypes() -> None:
    EAGER.clear_kernels()
    x = tf.constant([[1.0]])
    with telling.listen(Story()) as story:
        tf.matmul(x, x)
        tf.matmul(x, tf.constant([[2.0]]))
        tf.matmul(x, x, transpose_a=True)
        tf.matmul(tf.constant([[1]]), tf.constant([[1]]))
    assert isinstance(story, Story)
    assert story.words == ["MatMul", "MatMul again", "MatMul", "MatMul"]


def test_an_unknown_op_is_named() -> None:
    with pytest.raises(NotInThisRuntime, match="The op Fft"):
        context.execute("Fft", [])
    with pytest.raises(NotInThisRuntime, match=r"tf\.no_such_function"):
        tf.no_such_function(1)


def test_an_op_is_registered_once() -> None:
    with pytest.raises(ValueError, match="registered twice"):
        operations.register("AddV2", lambda _: [], np.add)


def test_gradients_are_registered_by_type() -> None:
    assert gradient_function("Tanh") is not None
    with pytest.raises(LookupError):
        gradient_function("NoSuchOp")


def test_each_status_code_has_its_class() -> None:
    assert sorted(BY_CODE) == list(range(1, 17))
    assert all(issubclass(kind, OpError) for kind in BY_CODE.values())
    assert BY_CODE[3] is tf.errors.InvalidArgumentError
    error = tf.errors.NotFoundError(None, None, "gone")
    assert (str(error), error.error_code) == ("gone", 5)


def test_tapes_are_a_stack() -> None:
    x = tf.constant(1.0)
    with tf.GradientTape() as outer:
        outer.watch(x)
        assert tape.could_record([x]) == 1
        with tf.GradientTape() as inner:
            inner.watch(x)
            assert tape.could_record([x]) == 2
        assert tape.could_record([x]) == 1
    assert not tape.recording()


def test_a_thread_begins_eagerly_and_without_tapes() -> None:
    seen: list[Any] = []

    @tf.function
    def f(x: Any) -> Any:
        thread = threading.Thread(
            target=lambda: seen.extend([tf.executing_eagerly(), tape.recording()])
        )
        thread.start()
        thread.join()
        return x

    with tf.GradientTape():
        f(1.0)
    assert seen == [True, False]


def test_a_graph_goes_with_what_hangs_on_it() -> None:
    function = tf.function(lambda x: x + 1.0)
    concrete = function.get_concrete_function(tf.constant(1.0))
    function(tf.constant(1.0))
    name, graph = concrete.inference.name, weakref.ref(concrete.graph)
    assert operations.lookup(name).type == name
    del function, concrete
    gc.collect()
    assert graph() is None
    with pytest.raises(NotInThisRuntime):
        operations.lookup(name)


def test_it_warns_of_too_many_traces(caplog: pytest.LogCaptureFixture) -> None:
    @tf.function
    def f(x: Any) -> Any:
        return x

    with caplog.at_level(logging.WARNING, "tensorflow"):
        for number in range(20):
            f(number)
    texts = [record.getMessage() for record in caplog.records]
    assert len(texts) == 2  # and then it is quiet
    assert texts[0].startswith("5 out of the last 5 calls to <function ")
    assert "triggered tf.function retracing" in texts[0]


def test_small_tensors_are_known_while_tracing_and_large_are_not() -> None:
    small, large = tf.ones([128]), tf.ones([129])

    @tf.function
    def f() -> Any:
        return tf.reduce_sum(small) + tf.reduce_sum(large)

    concrete = f.get_concrete_function()
    kinds = [internal.op.type for _, internal in concrete.graph.captures]
    assert kinds == ["Const", "Placeholder"]
    assert f().numpy() == 257.0


def test_a_tensor_of_a_trace_is_of_no_use_outside() -> None:
    leaked: list[Any] = []

    @tf.function
    def f(x: Any) -> Any:
        leaked.append(x + 1)
        return x

    f(tf.constant(1))
    with pytest.raises(TypeError, match="is out of scope and cannot be used here"):
        _ = leaked[0] + 1


def test_a_variable_made_of_an_argument_is_assigned_when_the_function_runs() -> None:
    made: list[Any] = []

    @tf.function
    def f(x: Any) -> Any:
        if not made:
            made.append(tf.Variable(x + 1.0))
        return made[0].assign_add(x)

    assert [f(tf.constant(value)).numpy() for value in (2.0, 3.0)] == [5.0, 8.0]


def test_gradients_through_loops_over_slices() -> None:
    def gradient(call: Any, x: Any) -> Any:
        with tf.GradientTape() as recorded:
            recorded.watch(x)
            y = call(x)
        return recorded.gradient(y, x).numpy().tolist()

    def squares(m: Any) -> Any:
        return tf.reduce_sum(tf.map_fn(lambda row: row * row, m))

    def product(v: Any) -> Any:
        return tf.scan(lambda a, e: a * e, v)[-1]

    for wrap in (lambda f: f, tf.function):
        assert gradient(wrap(squares), tf.constant([1.0, 2.0])) == [2.0, 4.0]
        assert gradient(wrap(product), tf.constant([1.0, 2.0, 3.0])) == [6.0, 3.0, 2.0]


def test_functions_run_eagerly_when_asked() -> None:
    calls: list[bool] = []

    @tf.function
    def f(x: Any) -> Any:
        calls.append(tf.executing_eagerly())
        return x

    f(tf.constant(1))
    tf.config.run_functions_eagerly(True)
    try:
        f(tf.constant(1))
        f(tf.constant(1))
    finally:
        tf.config.run_functions_eagerly(False)
    f(tf.constant(1))
    assert calls == [False, True, True]


def test_compiled_functions_give_the_same() -> None:
    plain = tf.function(lambda x: tf.tanh(x) * x)
    compiled = tf.function(lambda x: tf.tanh(x) * x, jit_compile=True)
    assert plain(tf.constant(0.5)).numpy() == compiled(tf.constant(0.5)).numpy()


def test_a_source_that_is_not_watched_has_no_gradient() -> None:
    weights, x = tf.Variable([[1.0], [2.0]]), tf.constant([[3.0, 4.0]])
    with tf.GradientTape() as recorded:
        y = tf.matmul(x, weights)
    of_weights, of_x = recorded.gradient(y, [weights, x])
    assert of_weights.numpy().tolist() == [[3.0], [4.0]]
    assert of_x is None


def test_each_iterator_has_random_numbers_of_its_own() -> None:
    tf.random.set_seed(1)
    data = tf.data.Dataset.range(2).map(lambda _: tf.random.uniform([]))
    one, other = iter(data), iter(data)
    numbers = [float(next(each)) for each in (one, other, one, other)]
    assert numbers[0] == numbers[1] != numbers[2] == numbers[3]


def test_a_node_called_like_a_result_gets_a_number() -> None:
    function = tf.compat.v1.wrap_function(lambda x: tf.add(x, 1.0, name="sum"), [tf.TensorSpec([])])
    definition = function.inference.definition
    assert definition.result_names == ("sum",)
    assert definition.results == (("sum_0", 0),)
