"""CudnnRNN and CudnnRNNV3: a recurrent layer as one kernel of a GPU. A CPU has none, but graphs
hold them: Keras traces both ways, and where a graph runs decides.

Told about: `core/ops/cudnn_rnn_ops.cc`, `python/ops/cudnn_rnn_grad.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tflogscope.runtime.errors import InvalidArgumentError
from tflogscope.runtime.gradients import gradient
from tflogscope.runtime.operations import Inference
from tflogscope.runtime.ops.call import results
from tflogscope.runtime.ops.declare import op
from tflogscope.runtime.record import OpRecord
from tflogscope.runtime.shapes import UNKNOWN, TensorShape

_GIVEN = "input: T, input_h: T, input_c: T, params: T"
_MADE = "output: T, output_h: T, output_c: T"
_SPACE = "reserve_space: T"
_BACK = "output_backprop: T, output_h_backprop: T, output_c_backprop: T"
_GRADIENTS = "input_backprop: T, input_h_backprop: T, input_c_backprop: T, params_backprop: T"
_SHARED = (
    "T in float, rnn_mode='lstm', input_mode='linear_input', direction='unidirectional', "
    "dropout=0.0, seed=0, seed2=0"
)


def _shapes(i: Inference) -> list[TensorShape]:
    before, state = i.shape(0), i.shape(1)
    ways = 2 if i.attributes["direction"] == "bidirectional" else 1
    units = None if state.rank is None else state[2]
    steps = [None, None] if before.rank is None else before.as_list()[:2]
    output = TensorShape([*steps, None if units is None else units * ways])
    carry = state if i.attributes["rnn_mode"] == "lstm" else TensorShape([])
    spaces = [UNKNOWN] * (2 if i.op == "CudnnRNNV3" else 1)
    return [output, state, carry, *spaces]


def _like_inputs(i: Inference) -> list[TensorShape]:
    return [i.shape(place) for place in range(4)]


def _declare(type: str, signature: str, shape: Callable[[Inference], list[TensorShape]]) -> None:
    @op(f"{type}({signature}", shape=shape, stateful=True)
    def kernel(*_: Any, **__: Any) -> Any:
        raise InvalidArgumentError(
            None, None, f"No OpKernel was registered to support Op '{type}' on a CPU"
        )


_declare("CudnnRNN", f"{_GIVEN}; {_SHARED}, is_training=True) -> {_MADE}, {_SPACE}", _shapes)
_declare(
    "CudnnRNNV3",
    f"{_GIVEN}, sequence_lengths: int32; {_SHARED}, num_proj=0, is_training=True, time_major=True) "
    f"-> {_MADE}, {_SPACE}, host_reserved: int8",
    _shapes,
)
_declare(
    "CudnnRNNBackprop",
    f"{_GIVEN}, {_MADE}, {_BACK}, {_SPACE}; {_SHARED}) -> {_GRADIENTS}",
    _like_inputs,
)
_declare(
    "CudnnRNNBackpropV3",
    f"{_GIVEN}, sequence_lengths: int32, {_MADE}, {_BACK}, {_SPACE}, host_reserved: int8; "
    f"{_SHARED}, num_proj=0, time_major=True) -> {_GRADIENTS}",
    _like_inputs,
)


def _backprop(record: OpRecord, type: str, grads: tuple[Any, ...]) -> list[Any]:
    attributes = {
        name: value for name, value in record.attributes.items() if name not in {"is_training", "T"}
    }
    made = record.outputs[:3]
    inputs = [*record.inputs, *made, *grads[:3], *record.outputs[3:]]
    return list(results(type, *inputs, **attributes))


@gradient("CudnnRNN")
def _rnn_gradient(record: OpRecord, *grads: Any) -> list[Any]:
    return _backprop(record, "CudnnRNNBackprop", grads)


@gradient("CudnnRNNV3")
def _rnn_v3_gradient(record: OpRecord, *grads: Any) -> list[Any]:
    return [*_backprop(record, "CudnnRNNBackpropV3", grads), None]
