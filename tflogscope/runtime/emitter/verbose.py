"""oneDNN's verbose lines, as each version writes them. See `src/common/verbose.cpp` of oneDNN.

NB: memory formats are plain ones here; oneDNN chooses blocked ones for weights.
"""

from __future__ import annotations

from dataclasses import dataclass

from tflogscope.runtime.emitter.dialects import Dialect

_TEMPLATE = (
    "operation,engine,primitive,implementation,prop_kind,memory_descriptors,attributes,auxiliary,"
    "problem_desc,exec_time"
)
_GRAPH_TEMPLATE = (
    "operation,engine,partition_id,partition_kind,op_names,data_formats,logical_tensors,fpmath_mode,"
    "implementation,backend,exec_time"
)


@dataclass(slots=True)
class Plan:
    """A primitive that a kernel is going to run."""

    kind: str
    implementation: str
    prop: str
    memories: tuple[tuple[str, str, str], ...]
    """Each with its name, its dtype ("" if there is none) and its format."""
    problem: str
    size: int
    """How many bytes it reads and writes."""
    work: int
    """How many operations it makes."""
    attributes: str = ""
    auxiliary: str = ""


def _mark(dialect: Dialect) -> str:
    return "onednn_verbose,v1" if dialect.onednn >= "3.6" else "onednn_verbose"


def header(dialect: Dialect, threads: int) -> list[str]:
    """What comes before the first primitive."""
    mark, version = _mark(dialect), dialect.onednn
    count = "" if version < "2.6" else f",nthr:{threads}"
    lines = [
        f"{mark},info,oneDNN v{version} (commit N/A)",
        f"{mark},info,cpu,runtime:threadpool{count}",
        f"{mark},info,cpu,isa:Intel AVX-512 with Intel DL Boost and bfloat16 support",
        f"{mark},info,gpu,runtime:none",
    ]
    if version < "3.3":
        return [*lines, f"{mark},info,prim_template:{_TEMPLATE}"]
    if version >= "3.5":
        lines += [
            f"{mark},info,graph,backend,0:dnnl_backend",
            f"{mark},info,experimental functionality for sparse domain is enabled",
        ]
    lines.append(f"{mark},primitive,info,template:{_TEMPLATE}")
    if version >= "3.5":
        lines.append(f"{mark},graph,info,template:{_GRAPH_TEMPLATE}")
    return lines


def line(plan: Plan, milliseconds: float, dialect: Dialect) -> str:
    """The line of a primitive that has run."""
    component = "" if dialect.onednn < "3.3" else "primitive,"
    gemm = plan.kind == "gemm_api"
    series = "2" if gemm else dialect.onednn.rpartition(".")[0]  # gemm_api has kept the old way
    memories = " ".join(_memory(*each, series) for each in plan.memories)
    attributes = plan.attributes
    if attributes and dialect.onednn < "3.5":
        attributes += " "
    fields = [plan.kind, plan.implementation, plan.prop, memories, attributes]
    if not (gemm and dialect.old_onednn):  # NB: 2.7 leaves a field out
        fields.append(plan.auxiliary)
    fields += [plan.problem, f"{milliseconds:g}"]
    return f"{_mark(dialect)},{component}exec,cpu,{','.join(fields)}"


def _memory(name: str, dtype: str, tag: str, series: str) -> str:
    joint = ":" if series >= "3.6" else "_"
    if not dtype:
        return f"{name}{joint}undef::undef::{'f0' if series < '3' else ':'}"
    strides = "" if series < "3" else ":"
    return f"{name}{joint}{dtype}::blocked:{tag}{strides}:f0"
