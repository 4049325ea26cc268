"""Links from primitives to executions on real logs, against truth that tflogscope did not make."""

from __future__ import annotations

import re

import pytest

from tests.samples import NAMES, raw_log, run_of

LINK_SHAPES = [name for name in NAMES if name.startswith("link_shapes")]
#: What one exec line says, read without tflogscope; its time may run into the next record's date.
EXEC_TIME = re.compile(
    r"_verbose,(?:v\d+,)?(?:primitive,)?exec,.*?,(\d+(?:\.\d+)?(?:e[+-]\d\d)?)"
    r"(?:$|(?=\d{4}-\d\d-\d\d \d\d:))"
)
#: Kernels that can run each kind of primitive (kernels/mkl/*.cc of TensorFlow).
ABLE = {
    "gemm_api": r"MatMul|Einsum|Conv",
    "matmul": r"MatMul|Einsum",
    "inner_product": r"FusedMatMul|MatMul|Conv",
    "convolution": r"Conv",
    "softmax": r"Softmax",
    "softmax_v2": r"Softmax",
    "pooling": r"Pool",
    "pooling_v2": r"Pool",
    "batch_normalization": r"BatchNorm",
    "layer_normalization": r"LayerNorm",
    "eltwise": r"_Mkl",
    "binary": r"_Mkl",
    "sum": r"_Mkl",
    "reduction": r"_Mkl",
    "reorder": r"_Mkl",
}


def sizes_in_name(node: str) -> str | None:
    found = re.search(
        r"(?:^|/)(?:b?mm_([\dx]+)|conv_ic(\d+)oc(\d+)ih(\d+)|softmax_(\d+x\d+))/", node
    )
    return "x".join(filter(None, found.groups())) if found else None


def sizes_in_problem(primitive: str, problem: str) -> str | None:
    if primitive in {"gemm_api", "matmul", "inner_product"}:
        left, right = problem.split(":")[:2]
        return f"{left}x{right.split('x')[-1]}"
    if primitive == "convolution":
        found = re.match(r"mb\d+_ic(\d+)oc(\d+)_ih(\d+)", problem)
        return "x".join(found.groups()) if found else None
    return problem if primitive.startswith("softmax") else None


@pytest.mark.parametrize("name", LINK_SHAPES)
def test_each_node_runs_the_primitive_of_its_own_sizes(name: str) -> None:
    run = run_of(name)
    nodes = dict(run.timeline.select("line", "node").rows())
    right = total = 0
    for row in run.primitives.filter(event="exec").iter_rows(named=True):
        wanted = sizes_in_problem(row["primitive"], row["problem"])
        if row["primitive"] == "reorder" or wanted is None:
            continue
        fits = sizes_in_name(nodes.get(row["timeline_line"]) or "") == wanted
        total, right = total + 1, right + fits
        assert fits or row["link"] != "certain", row
    assert total > 400
    assert right / total >= 0.99


@pytest.mark.parametrize("name", NAMES)
def test_every_exec_line_is_a_row_with_its_time(name: str) -> None:
    times = [
        float(found[1])
        for line in raw_log(name).decode().split("\n")
        if (found := EXEC_TIME.search(line))
    ]
    rows = run_of(name).primitives.filter(event="exec")
    assert rows.height == len(times)
    assert rows["duration_us"].sum() == pytest.approx(1000 * sum(times), rel=1e-3)


@pytest.mark.parametrize(
    "name", [name for name in NAMES if name.startswith(("function_mlp", "attention"))]
)
def test_lines_are_linked_to_kernels_that_can_run_them(name: str) -> None:
    run = run_of(name)
    lines = run.primitives.filter(event="exec")
    linked = lines.drop_nulls("timeline_line")
    assert linked.height >= 0.99 * lines.height
    kernels = linked.join(
        run.timeline.select("line", "kernel"), left_on="timeline_line", right_on="line"
    )
    assert kernels.height == linked.height
    for primitive, kernel in kernels.select("primitive", "kernel").unique().rows():
        assert re.search(ABLE[primitive], kernel), (primitive, kernel)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_linked_adds_up(name: str) -> None:
    """Each primitive is in one execution or is counted as not linked."""
    run = run_of(name)
    lines = run.primitives.filter(event="exec")
    linked = lines.drop_nulls("timeline_line")
    assert run.timeline["primitives"].sum() == linked.height == run.ops["primitives"].sum()
    assert (lines["timeline_line"].is_null() == (lines["link"] == "none")).all()
    assert set(lines["link"]) <= {"certain", "inferred", "ambiguous", "none"}
    assert run.primitives["link"].drop_nulls().len() == lines.height
    total = linked["duration_us"].sum()
    assert run.timeline["primitive_us"].sum() == pytest.approx(total)
    assert run.ops["primitive_us"].sum() == pytest.approx(total)


def test_products_of_a_compiled_step_are_of_its_calls() -> None:
    """A generator runs Python beside the steps, and nothing else of the program multiplies."""
    run = run_of("bucketed__tf2.20.0__record")
    lines = run.primitives.filter(event="exec")
    assert lines.height == 64
    assert {*lines["link"]} == {"certain"}
    ran = lines.join(run.timeline, left_on="timeline_line", right_on="line")
    assert ran["function"].unique().to_list() == ["multi_step_on_iterator"]
    assert ran["timeline_line"].n_unique() == 16  # two epochs of eight batches
