"""`tf.test.TestCase`: Python's own, with assertions about arrays.

Told about: `python/framework/test_util.py`. NB: only what tests of TensorFlow 2 need.
"""

from __future__ import annotations

import unittest
from typing import Any
from unittest.util import safe_repr

import numpy as np
from numpy.typing import NDArray

from tflogscope.runtime import nest
from tflogscope.runtime.library import seeds

__all__ = ["TestCase"]


def _array(value: Any) -> NDArray[Any]:
    return np.asarray(value.numpy() if hasattr(value, "numpy") else value)


class TestCase(unittest.TestCase):
    """A test case whose random seed is always the same."""

    def setUp(self) -> None:
        """Set the seed."""
        super().setUp()
        seeds.set_global_seed(87654321)

    def evaluate(self, tensors: Any) -> Any:
        """The same structure with arrays."""
        return nest.map_structure(
            lambda each: each.numpy() if hasattr(each, "numpy") else each, tensors
        )

    def assertAllEqual(self, a: Any, b: Any, msg: str | None = None) -> None:
        """All elements are equal, and so are the shapes."""
        self.assertShapeEqual(_array(a), b)
        np.testing.assert_array_equal(_array(a), _array(b), err_msg=msg or "")

    def assertAllClose(
        self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: str | None = None
    ) -> None:
        """Structures of arrays that are about equal."""
        pairs = [(a, b)]
        if isinstance(a, dict):
            nest.assert_same_structure(a, b, check_types=False)
            pairs = list(zip(nest.flatten(a), nest.flatten(b), strict=True))
        elif isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
            self.assertEqual(len(a), len(b), msg)
            pairs = list(zip(a, b, strict=True))
        for one, other in pairs:
            np.testing.assert_allclose(_array(one), _array(other), rtol, atol, err_msg=msg or "")

    def assertShapeEqual(self, np_array: Any, tf_tensor: Any, msg: str | None = None) -> None:
        """The shapes are the same."""
        self.assertEqual(_array(np_array).shape, _array(tf_tensor).shape, msg)

    def assertNotAllEqual(self, a: Any, b: Any, msg: str | None = None) -> None:
        """The shapes or some elements differ."""
        same = _array(a).shape == _array(b).shape and bool(np.all(_array(a) == _array(b)))
        self.assertFalse(same, msg or "The two values are equal at all elements.")

    def assertNotAllClose(
        self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: str | None = None
    ) -> None:
        """Some elements are not about equal."""
        try:
            self.assertAllClose(a, b, rtol, atol)
        except AssertionError:
            return
        raise AssertionError(
            msg or f"The two values are close at all elements: rtol={rtol}, atol={atol}"
        )

    def assertDTypeEqual(self, target: Any, expected_dtype: Any) -> None:
        """Its elements are of that type."""
        self.assertEqual(_array(target).dtype, np.dtype(expected_dtype))

    def assertLen(self, container: Any, expected_len: int, msg: str | None = None) -> None:
        """It has that many elements. Told about: `absl/testing/absltest.py`."""
        if len(container) != expected_len:
            text = f"{safe_repr(container)} has length of {len(container)}"
            self.fail(self._formatMessage(msg, f"{text}, expected {expected_len}."))

    def assertEmpty(self, container: Any, msg: str | None = None) -> None:
        """It has no elements. Told about: `absl/testing/absltest.py`."""
        if len(container):
            text = f"{safe_repr(container)} has length of {len(container)}."
            self.fail(self._formatMessage(msg, text))

    def assertNotEmpty(self, container: Any, msg: str | None = None) -> None:
        """It has elements. Told about: `absl/testing/absltest.py`."""
        if not len(container):
            text = f"{safe_repr(container)} has length of 0."
            self.fail(self._formatMessage(msg, text))

    def assertNear(self, f1: float, f2: float, err: float, msg: str | None = None) -> None:
        """Two numbers are no further apart than `err`."""
        self.assertLessEqual(abs(float(f1) - float(f2)), err, msg)

    def assertAllInRange(self, target: Any, lower_bound: Any, upper_bound: Any) -> None:
        """All elements are from the lower to the upper bound."""
        array = _array(target)
        self.assertTrue(bool(np.all((array >= lower_bound) & (array <= upper_bound))))
