"""What oneDNN prints with `ONEDNN_VERBOSE=1`: a header before its first primitive, then a line for
each.

Told about: `src/common/verbose.cpp` of oneDNN 2.5, 2.7, 3.3 and 3.7.
"""

from __future__ import annotations

from tflogscope.runtime.emitter.dialects import Dialect
from tflogscope.runtime.emitter.memory import Memory, Plan

__all__ = ["header", "line"]

_TEMPLATE = (
    "operation,engine,primitive,implementation,prop_kind,memory_descriptors,attributes,"
    "auxiliary,problem_desc,exec_time"
)
_GRAPH_TEMPLATE = (
    "operation,engine,partition_id,partition_kind,op_names,data_formats,logical_tensors,"
    "fpmath_mode,implementation,backend,exec_time"
)


def _mark(dialect: Dialect) -> str:
    return "onednn_verbose,v1" if dialect.onednn >= "3.6" else "onednn_verbose"


def header(dialect: Dialect, threads: int) -> list[str]:
    """The lines before the first primitive, without ends."""
    mark = _mark(dialect)
    count = "" if dialect.onednn < "2.6" else f",nthr:{threads}"
    lines = [
        f"{mark},info,oneDNN v{dialect.onednn} (commit N/A)",
        f"{mark},info,cpu,runtime:threadpool{count}",
        f"{mark},info,cpu,isa:Intel AVX-512 with Intel DL Boost and bfloat16 support",
        f"{mark},info,gpu,runtime:none",
    ]
    if dialect.onednn < "3.3":
        return [*lines, f"{mark},info,prim_template:{_TEMPLATE}"]
    if dialect.onednn >= "3.5":
        lines += [
            f"{mark},info,graph,backend,0:dnnl_backend",
            f"{mark},info,experimental functionality for sparse domain is enabled",
        ]
    lines.append(f"{mark},primitive,info,template:{_TEMPLATE}")
    if dialect.onednn >= "3.5":
        lines.append(f"{mark},graph,info,template:{_GRAPH_TEMPLATE}")
    return lines


def line(plan: Plan, milliseconds: float, dialect: Dialect) -> str:
    """The line of a primitive that has run."""
    component = "" if dialect.onednn < "3.3" else "primitive,"
    gemm = plan.kind == "gemm_api"
    series = "2" if gemm else dialect.onednn_series  # gemm_api has kept the old way of writing
    memories = " ".join(_memory(each, series) for each in plan.memories)
    attributes = plan.attributes
    if attributes and dialect.onednn < "3.5":
        attributes += " "
    fields = [plan.kind, plan.implementation, plan.prop, memories, attributes]
    if not (gemm and dialect.onednn < "3"):  # NB: 2.7 leaves a field out
        fields.append(plan.auxiliary)
    fields += [plan.problem, f"{milliseconds:g}"]
    return f"{_mark(dialect)},{component}exec,cpu,{','.join(fields)}"


def _memory(memory: Memory, series: str) -> str:
    joint = ":" if series >= "3.6" else "_"
    if memory.dtype == "undef":
        return f"{memory.name}{joint}undef::undef::{'f0' if series < '3' else ':'}"
    strides = "" if series < "3" else ":"
    return f"{memory.name}{joint}{memory.dtype}:{memory.flags}:blocked:{memory.tag}{strides}:f0"
