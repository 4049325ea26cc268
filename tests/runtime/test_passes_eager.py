"""What eager ops go through: wrapper functions, the layout pass, the eager rewrite registry."""

from __future__ import annotations

from typing import Any

import pytest

import tflogscope.runtime.api as tf
from tflogscope.runtime import passes, telling

CPU = "/job:localhost/replica:0/task:0/device:CPU:0"


class Recorder(telling.Listener):
    """What was told, in order."""

    def __init__(self) -> None:
        self.told: list[tuple[str, ...]] = []

    def function_instantiated(self, name: str, function: Any) -> None:
        """A wrapper is ready."""
        self.told.append(("function", name, *(node.type for node in function.nodes)))

    def node_rewritten(self, name: str, op: str, new: str, attributes: Any) -> None:
        """The layout pass."""
        del attributes
        self.told.append(("layout", name, op, new))

    def op_rewritten(self, op: str, new: str, attributes: Any) -> None:
        """The registry."""
        del attributes
        self.told.append(("registry", op, new))

    def kernel_created(self, node: Any, device: str) -> None:
        """A kernel."""
        del device
        self.told.append(("kernel", node.type))

    def op_dispatched(self, op: str, *_: Any) -> None:
        """It runs."""
        self.told.append(("dispatch", op))


def told(function: Any, *arguments: Any, onednn: bool = True) -> list[tuple[str, ...]]:
    """What is told of one call."""
    recorder = Recorder()
    with passes.using(passes.Settings(onednn=onednn)), telling.listen(recorder):
        function(*arguments)
    return recorder.told


@pytest.fixture
def matrix() -> Any:
    """Of an odd size, so that no kernel for it is cached."""
    return tf.ones([3, 3], tf.float32)


def wrapper(op: str) -> str:
    return f"__wrapped__{op}_device_{CPU}"


def test_matmul_is_rewritten_twice_and_the_first_never_runs(matrix: Any) -> None:
    """The phantom: the layout pass rewrites the wrapper, then the registry takes another op."""
    lines = told(lambda: tf.linalg.matmul(matrix, matrix, transpose_a=True, transpose_b=True))
    assert ("layout", "MatMul", "MatMul", "_MklMatMul") in lines
    assert lines[-3:] == [
        ("function", wrapper("__MklMatMul"), "_MklMatMul"),
        ("kernel", "_MklMatMul"),
        ("dispatch", "_MklMatMul"),
    ]
    assert ("registry", "MatMul", "_MklMatMul") in lines


def test_without_onednn_nothing_is_rewritten(matrix: Any) -> None:
    lines = told(lambda: tf.linalg.matmul(matrix, matrix), onednn=False)
    assert lines[-1] == ("dispatch", "MatMul")
    assert not [line for line in lines if line[0] in {"layout", "registry"}]


def test_what_the_registry_does_not_list_is_rewritten_inside_the_wrapper() -> None:
    """Softmax: dispatched under its own name, its wrapper runs oneDNN's."""
    lines = told(tf.nn.softmax, tf.ones([5, 7]))
    assert ("layout", "Softmax", "Softmax", "_MklSoftmax") in lines
    assert ("dispatch", "Softmax") in lines


def test_a_kernel_is_made_once(matrix: Any) -> None:
    first = told(lambda: tf.math.cosh(matrix))
    second = told(lambda: tf.math.cosh(matrix))
    assert ("kernel", "Cosh") in first
    assert second == [("dispatch", "Cosh")]
