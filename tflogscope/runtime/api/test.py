"""`tf.test`."""

from __future__ import annotations

import unittest

from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.library import testing

TestCase = testing.TestCase
main = unittest.main


def is_built_with_cuda() -> bool:
    """There is only a CPU."""
    return False


def is_gpu_available(cuda_only: bool = False) -> bool:
    """There is only a CPU."""
    del cuda_only
    return False


def gpu_device_name() -> str:
    """There is only a CPU."""
    return ""


__getattr__ = missing("tf.test")
