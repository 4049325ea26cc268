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


@dataclass(slots=True)
class Plan:
    """A primitive that a kernel is going to run."""

    kind: str
    implementation: str
    prop: str
    memories: str
    """`src=f32:ab wei=f32:ba bia=`: names with dtypes and formats; those without are not there."""
    problem: str
    attributes: str = ""
    auxiliary: str = ""


def _mark(dialect: Dialect) -> str:
    return "onednn_verbose,v1" if dialect.onednn >= "3.6" else "onednn_verbose"


def header(dialect: Dialect, threads: int) -> list[str]:
    """What comes before the first primitive."""
    version = dialect.onednn
    count = "" if version < "2.6" else f",nthr:{threads}"
    template = "info,prim_template" if version < "3.3" else "primitive,info,template"
    texts = (
        f"info,oneDNN v{version} (commit N/A)",
        f"info,cpu,runtime:threadpool{count}",
        "info,cpu,isa:Intel AVX-512 with Intel DL Boost and bfloat16 support",
        "info,gpu,runtime:none",
        f"{template}:{_TEMPLATE}",
    )
    return [f"{_mark(dialect)},{text}" for text in texts]


def line(plan: Plan, milliseconds: float, dialect: Dialect) -> str:
    """The line of a primitive that has run."""
    component = "" if dialect.onednn < "3.3" else "primitive,"
    gemm = plan.kind == "gemm_api"
    series = "2" if gemm else dialect.onednn.rpartition(".")[0]  # gemm_api has kept the old way
    memories = " ".join(_memory(each, series) for each in plan.memories.split())
    attributes = plan.attributes
    if attributes and dialect.onednn < "3.5":
        attributes += " "
    fields = [plan.kind, plan.implementation, plan.prop, memories, attributes]
    if not (gemm and dialect.old_onednn):  # NB: 2.7 leaves a field out
        fields.append(plan.auxiliary)
    fields += [plan.problem, f"{milliseconds:g}"]
    return f"{_mark(dialect)},{component}exec,cpu,{','.join(fields)}"


def _memory(text: str, series: str) -> str:
    name, _, described = text.partition("=")
    dtype, _, tag = described.partition(":")
    joint, strides = ":" if series >= "3.6" else "_", "" if series < "3" else ":"
    if not dtype:
        return f"{name}{joint}undef::undef::{strides or 'f0'}"
    return f"{name}{joint}{dtype}::blocked:{tag}{strides}:f0"
