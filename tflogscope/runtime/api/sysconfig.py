"""`tf.sysconfig`."""

from __future__ import annotations

from typing import Any

from tflogscope.runtime.api.missing import missing


def get_build_info() -> dict[str, Any]:
    """For the CPU only."""
    return {"is_cuda_build": False, "is_rocm_build": False, "is_tensorrt_build": False}


__getattr__ = missing("tf.sysconfig")
