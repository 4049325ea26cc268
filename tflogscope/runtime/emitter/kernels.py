"""A kernel at work in the log: the primitives it runs, the memory it takes.

Shared by eager ops and nodes of graphs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tflogscope.runtime.dtypes import DType
from tflogscope.runtime.emitter.primitives import Kernel, Shape, plans
from tflogscope.runtime.emitter.records import Execution, Primitive
from tflogscope.runtime.emitter.verbose import header, line
from tflogscope.runtime.emitter.voice import Voice
from tflogscope.runtime.node_text import type_name

__all__ = ["Engine", "memory_text", "shape_of"]


def shape_of(value: Any) -> Shape:
    """The shape of an array or an eager tensor; of a resource or a list of tensors none."""
    array = getattr(value, "value", value)
    return array.shape if isinstance(array, np.ndarray) else getattr(value, "sizes", ())


class Engine:
    """oneDNN in this process: it says who it is before its first primitive."""

    def __init__(self, threads: int, *, verbose: bool = True) -> None:
        self.threads = threads
        self.verbose = verbose
        self._introduced = False
        self._allocations = 0

    def run(
        self,
        voice: Voice,
        op: str,
        attributes: Mapping[str, Any],
        inputs: Sequence[Shape],
        outputs: Sequence[Shape],
        execution: Execution,
        settings: Mapping[str, Any],
    ) -> None:
        """Let the kernel run: its time passes, its primitives are said."""
        size = 4 * sum(_count(shape) for shape in (*inputs, *outputs))
        if not op.startswith("_Mkl"):
            voice.strand.now += voice.costs.kernel(size, size)
            return
        found = plans(Kernel(op, attributes, inputs, outputs, voice.dialect, settings))
        if not found:
            voice.strand.now += voice.costs.kernel(size, size)
            return
        if op == "_MklMatMul" and found[0].kind == "gemm_api":
            voice.say("sgemm", "MKL DNN SGEMM called")
        for plan in found:
            ms = voice.costs.primitive(plan.kind, plan.problem, plan.size, plan.work)
            voice.strand.now += 3
            if not self.verbose or (plan.kind == "gemm_api" and not voice.dialect.gemm):
                voice.strand.now += int(ms * 1000)
                continue
            if not self._introduced:
                self._introduced = True
                for text in header(voice.dialect, self.threads):
                    voice.bare("onednn", text)
            voice.strand.now += int(ms * 1000)
            primitive = Primitive(
                plan.kind.removesuffix("_v2"), plan.implementation, plan.problem, ms, execution
            )
            voice.strand.primitives.append(primitive)
            voice.bare("onednn", line(plan, ms, voice.dialect), primitive)

    def output(
        self, voice: Voice, step: int, node: str, index: int, dtype: DType, shape: Shape
    ) -> None:
        """An output of a node is there: `log_memory.cc` tells its shape."""
        self._allocations += 1
        voice.say(
            "memory", memory_text(voice, step, node, index, dtype, shape, self._allocations), 12
        )


def _count(shape: Shape) -> int:
    count = 1
    for size in shape:
        count *= size
    return count


def memory_text(
    voice: Voice, step: int, node: str, index: int, dtype: DType, shape: Shape, number: int
) -> str:
    """`MemoryLogTensorOutput` with its protocol buffer in one line."""
    dims = "".join(f"dim {{ size: {size} }} " for size in shape)
    size = _count(shape) * (dtype.size if dtype.is_array else 192)
    note = "goo.gle/debugonly   " if voice.dialect.redacted else ""
    place = f"index: {index} " if index else ""
    return (
        f"__LOG_MEMORY__ MemoryLogTensorOutput {{ {note}step_id: {step} "
        f'kernel_name: "{node}" {place}tensor {{ dtype: {type_name(dtype)} shape {{ {dims}}} '
        f"allocation_description {{ requested_bytes: {size} allocated_bytes: {size} "
        f'allocator_name: "mklcpu" allocation_id: {number} '
        f"ptr: {94_000_000_000_000 + 64 * number} }} }} }}"
    )
