"""Ops that talk or refuse: PrintV2, Assert, CheckNumerics, Timestamp.

Told about: `core/kernels/logging_ops.cc`, `core/kernels/check_numerics_op.cc`,
`python/ops/array_grad.py`.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflogscope.runtime.errors import InvalidArgumentError
from tflogscope.runtime.gradients import gradient, not_differentiable
from tflogscope.runtime.ops.call import call
from tflogscope.runtime.ops.declare import op, scalar, unknown_shape
from tflogscope.runtime.ops.summaries import flat_summary
from tflogscope.runtime.record import OpRecord

Array = NDArray[Any]


@op("PrintV2(input: string; output_stream='stderr', end='\\n')", shape=unknown_shape, stateful=True)
def _print_v2(input: Any, output_stream: str, end: str) -> None:
    text = input[()].decode("utf-8", "replace") + end
    if output_stream.startswith("file://"):
        with open(output_stream.removeprefix("file://"), "a", encoding="utf-8") as file:
            file.write(text)
        return
    # NB: the log streams become stderr here, without TensorFlow's prefix
    stream = sys.stdout if output_stream == "stdout" else sys.stderr
    stream.write(text)
    stream.flush()


@op("Assert(condition: bool, data: list(T); summarize=3)", shape=unknown_shape, stateful=True)
def _assert(condition: Array, *data: Array, summarize: int) -> None:
    if not condition:
        parts = " ".join(f"[{flat_summary(each, summarize)}]" for each in data)
        raise InvalidArgumentError(None, None, f"assertion failed: {parts}")


@op("CheckNumerics(tensor: T; message, T in float) -> output: T", stateful=True)
def _check_numerics(tensor: Array, message: str) -> Array:
    infinite, nan = bool(np.any(np.isinf(tensor))), bool(np.any(np.isnan(tensor)))
    if infinite or nan:
        what = "Inf and NaN" if infinite and nan else "Inf" if infinite else "NaN"
        raise InvalidArgumentError(None, None, f"{message} : Tensor had {what} values")
    return tensor


@gradient("CheckNumerics")
def _check_numerics_gradient(record: OpRecord, grad: Any) -> list[Any]:
    # NB: TensorFlow's Python shows the message as bytes here
    message = (
        "Not a number (NaN) or infinity (Inf) values detected in gradient. "
        f"{record.get_attr('message').encode()!r}"
    )
    return [call("CheckNumerics", grad, message=message)]


@op("Timestamp() -> ts: float64", shape=scalar, stateful=True)
def _timestamp() -> Array:
    return np.array(time.time())


not_differentiable("PrintV2", "Assert", "Timestamp")
