"""The namespace `tf`: what is there, and what happens with what is not."""

from __future__ import annotations

from types import ModuleType

import pytest

import tflogscope.runtime.api as tf
from tflogscope.runtime.errors import NotInThisRuntime


@pytest.mark.parametrize(
    ("module", "name"),
    [
        (tf, "sets"),
        (tf.math, "bessel_i0"),
        (tf.nn, "ctc_loss"),
        (tf.raw_ops, "FFT"),
        (tf.compat.v1, "estimator"),
        (tf.random, "stateless_binomial"),
    ],
)
def test_what_is_not_there_is_named(module: ModuleType, name: str) -> None:
    assert not hasattr(module, name)
    with pytest.raises(NotInThisRuntime, match=rf"tf\S*\.{name} is not part of this small runtime"):
        getattr(module, name)


def test_python_own_names_are_ordinary_attribute_errors() -> None:
    with pytest.raises(AttributeError, match="module 'tf' has no attribute"):
        tf.__no_such_thing__  # noqa: B018


@pytest.mark.parametrize(
    "name",
    [
        "function",
        "GradientTape",
        "Variable",
        "Module",
        "Tensor",
        "TensorSpec",
        "TensorShape",
        "init_scope",
        "py_function",
        "numpy_function",
        "map_fn",
        "while_loop",
        "cond",
        "TensorArray",
        "custom_gradient",
        "IndexedSlices",
        "nest",
        "errors",
        "config",
        "random",
        "debugging",
        "strings",
        "raw_ops",
        "compat",
        "autograph",
        "keras",
        "data",
        "linalg",
        "math",
        "nn",
    ],
)
def test_it_is_there(name: str) -> None:
    assert hasattr(tf, name)


def test_an_op_by_its_raw_name() -> None:
    assert tf.raw_ops.AddV2(x=1.0, y=2.0).numpy() == 3.0
    with pytest.raises(TypeError, match="missing required argument"):
        tf.raw_ops.AddV2(x=1.0)


def test_errors_have_tensorflows_codes() -> None:
    assert tf.errors.INVALID_ARGUMENT == 3
    assert issubclass(tf.errors.InvalidArgumentError, tf.errors.OpError)
    assert tf.errors.OutOfRangeError(None, None, "end").error_code == tf.errors.OUT_OF_RANGE


def test_devices() -> None:
    assert [device.name for device in tf.config.list_logical_devices()] == ["/device:CPU:0"]
    assert tf.config.list_physical_devices("GPU") == []


class TestTestCase(tf.test.TestCase):
    def test_arrays(self) -> None:
        self.assertAllEqual(tf.constant([1, 2]), [1, 2])
        self.assertAllClose({"a": tf.constant(1.0)}, {"a": 1.0000001})
        with pytest.raises(AssertionError):
            self.assertAllEqual(tf.constant([1, 2]), [1, 3])
        with pytest.raises(AssertionError):
            self.assertAllClose([tf.constant(1.0)], [1.1])
