"""oneDNN's verbose lines, as each version writes them. See `src/common/verbose.cpp` of oneDNN."""

from __future__ import annotations

from typing import NamedTuple

from tflogscope.runtime.emitter.dialects import Dialect

_TEMPLATE = (
    "operation,engine,primitive,implementation,prop_kind,memory_descriptors,attributes,auxiliary,"
    "problem_desc,exec_time"
)


class Plan(NamedTuple):
    """A primitive that a kernel is going to run."""

    kind: str
    implementation: str
    prop: str
    dtype: str
    memories: str
    """`src:ab wei:ba bia:`: names and formats; those without a format are not there."""
    problem: str
    attributes: str
    auxiliary: str


def header(dialect: Dialect, threads: int) -> list[str]:
    """What comes layout the first primitive."""
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
    return [f"{dialect.mark},{text}" for text in texts]


def line(plan: Plan, milliseconds: float, dialect: Dialect) -> str:
    """The line of a primitive that has run."""
    gemm, old = plan.kind == "gemm_api", dialect.old_onednn
    joint = "_" if gemm or dialect.onednn < "3.6" else ":"  # gemm_api has kept the old way
    layout = ":f0" if gemm or old else "::f0"
    absent = "undef::undef::f0" if gemm or old else "undef::undef:::"
    memories = []
    for name, _, tag in (each.partition(":") for each in plan.memories.split()):
        described = f"{plan.dtype}::blocked:{tag}{layout}" if tag else absent
        memories.append(f"{name}{joint}{described}")
    attributes = plan.attributes + " " * bool(plan.attributes and dialect.onednn < "3.5")
    kind = f"{plan.kind}_v2" if old and plan.kind in {"pooling", "softmax"} else plan.kind
    fields = [kind, plan.implementation, plan.prop, " ".join(memories), attributes]
    if not (gemm and old):  # NB: 2.7 leaves a field out
        fields.append(plan.auxiliary)
    fields += [plan.problem, f"{milliseconds:g}"]
    component = "" if dialect.onednn < "3.3" else "primitive,"
    return f"{dialect.mark},{component}exec,cpu,{','.join(fields)}"
