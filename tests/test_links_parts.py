"""The parts of the link, one by one."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tflogscope.grammar.onednn_ops import FAMILIES
from tflogscope.model.common.names import op_of_kernel, rewrite_of_kernel
from tflogscope.model.links.assignment import NO_SLOT, assign, exchangeable
from tflogscope.model.links.candidates import FOREVER, open_pairs
from tflogscope.model.links.kernels import families_of, roles
from tflogscope.model.links.late import are_late, link_late, may_be_late
from tflogscope.model.links.problems import read_problems
from tflogscope.model.links.signs import NO, UNKNOWN, YES, grades, shape_fit
from tflogscope.model.links.tensors import TensorOutputs


def families(*kernels: str) -> list[int]:
    kernel = pl.col("kernel")
    signatures = pl.DataFrame({"kernel": kernels}, schema={"kernel": pl.String}).with_columns(
        op=op_of_kernel(kernel), rewrite=rewrite_of_kernel(kernel)
    )
    return [int(number) for number in families_of(signatures)]


def family_of(kernel: str) -> int:
    return families(kernel)[0]


def name_of(kernel: str) -> str | None:
    number = family_of(kernel)
    return None if number < 0 else FAMILIES[number].name


@pytest.mark.parametrize(
    ("kernel", "name"),
    [
        ("_MklMatMul", "matmul"),
        ("_MklNativeFusedMatMul", "fused_matmul"),
        ("_MklFusedBatchMatMulV2", "batch_matmul"),
        ("_MklEinsum", "einsum"),
        ("_MklNativeConv2D", "convolution"),
        ("_MklEagerConv2D", "convolution"),
        ("_MklNativePadWithFusedConv2D", "convolution"),
        ("_MklNativeFusedDepthwiseConv2dNative", "convolution"),
        ("_MklNativeConv2DBackpropFilterWithBias", "convolution_filter"),
        ("_MklNativeDepthwiseConv2dNativeBackpropInput", "convolution_input"),
        ("_MklNativeConv3DBackpropInputV2", "convolution_input"),
        ("_MklNativeMaxPoolGrad", "max_pooling_gradient"),
        ("_MklNativeAvgPool3D", "pooling"),
        ("_MklNativeFusedBatchNormEx", "batch_normalization"),
        ("_MklNativeFusedBatchNormGradV3", "batch_normalization_gradient"),
        ("_MklFusedInstanceNorm", "batch_normalization"),
        ("_MklLayerNorm", "layer_normalization"),
        ("_MklTranspose", "transpose"),
        ("_MklSwish", "eltwise"),
        ("_MklQuantizedConv2DWithBiasAndReluAndRequantize", "quantized"),
        ("_MklQuantizeV2", "quantize"),
        ("_MklNativeSomethingNew", "other"),
        ("MatMul", "eigen_matmul"),
        ("_FusedConv2D", "eigen_convolution"),
        ("Conv2DBackpropInput", "eigen_convolution_gradient"),
        ("BlockLSTMV2", "eigen_contraction"),
        ("_XlaRun", "compiled"),
        ("AddV2", None),
        ("MaxPool", None),
        ("BiasAdd", None),
    ],
)
def test_kernels_have_their_family(kernel: str, name: str | None) -> None:
    assert name_of(kernel) == name


def test_a_kernel_that_is_not_known_has_no_family() -> None:
    signatures = pl.DataFrame({"op": ["AddN"], "kernel": [None], "rewrite": ["none"]})
    assert families_of(signatures).tolist() == [-1]


def test_roles_say_what_a_family_runs() -> None:
    kinds = [("gemm_api", "undef"), ("reorder", "undef"), ("convolution", "")]
    table = roles(kinds)
    assert table[family_of("_MklMatMul")].tolist() == [2, 1, 0]
    assert table[family_of("_MklTranspose")].tolist() == [0, 2, 0]
    assert table[family_of("_MklNativeConv2D")].tolist() == [1, 1, 2]
    assert table[family_of("_MklNew")].tolist() == [2, 2, 2]


@pytest.mark.parametrize(
    ("prop_kind", "runs"),
    [
        ("forward_training", [2, 0, 0, 2]),
        ("forward_inference", [2, 0, 0, 2]),
        ("backward_data", [0, 2, 0, 2]),
        ("backward_weights", [0, 0, 2, 2]),
        ("backward_bias_of_some_day", [0, 0, 0, 2]),
        ("undef", [2, 2, 2, 2]),
        ("", [2, 2, 2, 2]),
    ],
)
def test_a_kernel_runs_its_main_primitive_in_one_direction(prop_kind: str, runs: list[int]) -> None:
    table = roles([("convolution", prop_kind)])
    conv = "_MklNativeConv2D"
    kernels = (conv, f"{conv}BackpropInput", f"{conv}BackpropFilter", "_MklNew")
    assert [table[family_of(kernel)][0] for kernel in kernels] == runs


@pytest.mark.parametrize(
    ("primitive", "problem", "expected"),
    [
        ("gemm_api", "64x96:96x32", {"b": 1, "m": 64, "k": 96, "n": 32}),
        ("matmul", "3x16x45:3x45x51:3x16x51", {"b": 3, "m": 16, "k": 45, "n": 51}),
        ("matmul", "8x12x64x5:1x1x5x32", {"b": 96, "m": 64, "k": 5, "n": 32}),
        ("gemm_api", "64x9", {"m": 64, "k": 9, "n": None, "dst": None}),
        ("gemm_api", None, {"m": None, "n": None}),
        ("inner_product", "mb32ic64oc256", {"m": 32, "k": 64, "n": 256, "wei": "64x256"}),
        ("inner_product", "mb2ic4ih3iw3oc5", {"m": 2, "k": 36, "n": 5}),
        (
            "convolution",
            "mb2_ic8oc14_ih16oh15kh3sh1dh0ph1_iw16ow15kw3sw1dw0pw1",
            {"src": "2x8x16x16", "wei": "3x3x8x14", "dst": "2x14x15x15", "m": None},
        ),
        (
            "convolution",
            "g16mb8_ic16oc32_ih5oh3kh3sh1dh0ph0_iw5ow3kw3sw1dw0pw0",
            {"src": "5x5x8x16", "wei": "2x3x3x16", "dst": "3x3x8x32"},
        ),
        (
            "pooling",
            "mb8ic8_ih24oh12kh2sh2dh0ph0_iw24ow12kw2sw2dw0pw0",
            {"src": "8x8x24x24", "dst": "8x8x12x12"},
        ),
        ("softmax", "70x1x49", {"src": "49x70", "dst": "49x70", "count": 3430}),
        ("batch_normalization", "mb8ic16ih5iw5", {"src": "5x5x8x16", "count": 3200}),
        ("reorder", "2048", {"src": "2048", "count": 2048}),
        ("binary", "1x2:1x2:1x2", {"src": None, "count": None}),
        ("rnn", "nonsense", {"src": None, "m": None}),
        ("rnn", "l1t3mb2sic4slc5dhc4dic4", {"src": None, "count": None}),  # sic and dic are no ic
    ],
)
def test_problems_give_sizes(
    primitive: str, problem: str | None, expected: dict[str, object]
) -> None:
    columns = {"primitive": [primitive], "prop_kind": ["undef"], "problem": [problem]}
    row = read_problems(pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String)))
    assert {name: row[name][0] for name in expected} == expected


SHAPES = {
    **dict.fromkeys(("src", "wei", "dst"), pl.String),
    **dict.fromkeys(("src_count", "wei_count", "dst_count", "b", "m", "k", "n"), pl.Int64),
}
CONVOLUTION = {"src": "2x8x12x12", "wei": "3x3x8x16", "dst": "2x10x10x16"}
POOLING = "mb8ic8_ih24oh12kh2sh2dh0ph0_iw24ow12kw2sw2dw0pw0"
PROBLEM = "mb2_ic8oc16_ih12oh10kh3sh1dh0ph0_iw12ow10kw3sw1dw0pw0"


@pytest.mark.parametrize(
    ("kernel", "primitive", "problem", "shape", "expected"),
    [
        ("_MklMatMul", "gemm_api", "2x3:3x4", {"b": 1, "m": 2, "k": 3, "n": 4}, YES),
        ("_MklMatMul", "gemm_api", "2x3:3x4", {"b": 1, "m": 2, "k": 3, "n": 5}, NO),
        ("_MklMatMul", "gemm_api", "2x3:3x4", {"m": 2, "n": 4}, YES),
        ("_MklMatMul", "gemm_api", "2x3:3x4", {}, UNKNOWN),
        ("_MklBatchMatMulV2", "matmul", "5x2x3:5x3x4", {"b": 6, "m": 2, "k": 3, "n": 4}, NO),
        # Eigen splits a product into smaller ones; they have no more than its sizes.
        ("MatMul", "gemm_api", "2x3:3x4", {"m": 2, "k": 3, "n": 4}, YES),
        ("MatMul", "gemm_api", "2x3:3x4", {"m": 20, "k": 30, "n": 40}, UNKNOWN),
        ("MatMul", "gemm_api", "2x3:3x4", {"m": 20, "k": 2, "n": 40}, NO),
        ("_MklNativeConv2D", "convolution", PROBLEM, CONVOLUTION, YES),
        ("_MklNativeConv2D", "convolution", PROBLEM, {"src": "2x8x12x12"}, YES),
        ("_MklNativeConv2D", "convolution", PROBLEM, {**CONVOLUTION, "wei": "3x3x8x17"}, NO),
        ("_MklNativeConv2D", "convolution", PROBLEM, {}, UNKNOWN),
        ("_MklNativeAvgPool", "pooling", POOLING, {}, UNKNOWN),  # neither says its weights
        # A reorder works on any operand, also laid flat; another size fits if one is unknown.
        ("_MklNativeConv2D", "reorder", "16x8x3x3", CONVOLUTION, UNKNOWN),
        ("_MklNativeConv2D", "reorder", "16x8x3x5", CONVOLUTION, NO),
        ("_MklNativeConv2D", "reorder", "16x8x3x5", {**CONVOLUTION, "dst": None}, UNKNOWN),
        ("_MklNativeConv2D", "reorder", "1152", {**CONVOLUTION, "wei_count": 1152}, UNKNOWN),
        ("_MklNativeConv2D", "reorder", "1153", {**CONVOLUTION, "wei_count": 1152}, NO),
        ("_MklEinsum", "reorder", "16x8x3x5", CONVOLUTION, UNKNOWN),
    ],
)
def test_shapes_fit_what_a_primitive_worked_on(
    kernel: str, primitive: str, problem: str, shape: dict[str, object], expected: int
) -> None:
    said = {"primitive": [primitive], "prop_kind": ["undef"], "problem": [problem]}
    problems = read_problems(pl.DataFrame(said))
    shapes = pl.DataFrame({name: [shape.get(name)] for name in SHAPES}, schema=SHAPES)
    first = np.array([0])
    family = np.array([family_of(kernel)])
    assert shape_fit(problems, first, shapes, first, family).tolist() == [expected]


def test_tensor_outputs_have_reference_and_shape() -> None:
    head = 'kernel_name: "a/b"'
    texts = [
        f"{head} tensor {{ dtype: DT_FLOAT shape {{ dim {{ size: 2 }} dim {{ size: 30 }} }} ",
        f"{head} index: 1 tensor {{ dtype: DT_FLOAT shape {{ }} ",
        f"{head} index: 2 tensor {{ dtype: DT_FLOAT shape {{ dim {{ }} dim {{ size: 4 }} }} ",
        f"{head} index: 3 tensor {{ dtype: DT_FLOAT shape {{ unknown_rank: true }} ",
    ]
    codes = np.array([0, 1, 2, 3, 0])
    outputs = TensorOutputs(np.arange(5), np.full(5, 7), codes, pl.Series(texts))
    found = outputs.named(pl.Series(["a/b", "a/b:1", "a/b:2", "a/b:3"]))
    assert found["shape"].to_list() == ["2x30", "", "0x4", None]
    assert outputs.named(pl.Series(["a/b:1"])).rows() == [(1, "a/b:1", "")]


def test_open_pairs_are_lines_inside_intervals() -> None:
    until = np.array([5, 20, FOREVER])
    line, interval = open_pairs(np.array([1, 4, 9]), np.array([0, 4, 9]), until)
    assert list(zip(line.tolist(), interval.tolist(), strict=True)) == [
        (0, 0),
        (1, 0),
        (1, 1),
        (2, 1),
        (2, 2),
    ]


@pytest.mark.parametrize(
    ("version", "late"),
    [("2.6.3", False), ("2.7.3", True), ("3.1", True), ("3.2.1", False), (None, True)],
)
def test_only_some_releases_hold_lines_back(version: str | None, *, late: bool) -> None:
    assert may_be_late(version) == late


def late_linked(
    lines: list[tuple[int, int | None]], runs: list[tuple[str, int, int, int | None]]
) -> list[tuple[int, bool]]:
    """What `link_late` says of lines (at, m; None: cut) and runs (kernel, at, end_at, m)."""
    made = pl.DataFrame(lines, schema={"at": pl.Int64, "m": pl.Int64}, orient="row")
    schema = {"kernel": pl.String, "at": pl.Int64, "end_at": pl.Int64, "m": pl.Int64}
    ran = pl.DataFrame(runs, schema=schema, orient="row")
    k, n = (pl.when(pl.col("m").is_not_null()).then(size) for size in (3, 4))
    sizes = [frame.select("m", k=k, n=n) for frame in (made, ran)]
    kernels = ran["kernel"].to_list()
    family = pl.Series(families(*kernels), dtype=pl.Int64)
    candidates = ran.select("at", "end_at", family=family)
    found, by_size = link_late(made.select("at").hstack(sizes[0]), candidates, sizes[1])
    return list(zip(found.tolist(), by_size.tolist(), strict=True))


MKL = "_MklMatMul"


@pytest.mark.parametrize(
    ("lines", "runs", "expected"),
    [
        # The first of a size belongs to the first that was done, whatever began before.
        ([(90, 2), (91, 2)], [(MKL, 1, 9, 2), (MKL, 2, 5, 2)], [(1, True), (0, True)]),
        ([(90, 7), (91, 2)], [(MKL, 1, 5, 2), (MKL, 6, 9, 7)], [(1, True), (0, True)]),
        # Eigen's may have other lines too, so oneDNN's own kernels come first.
        ([(90, 2), (91, 2)], [("MatMul", 1, 2, 2), (MKL, 3, 4, 2)], [(1, True), (0, True)]),
        # More lines than runs of a size: which are whose is not known.
        ([(90, 2), (91, 2)], [(MKL, 1, 5, 2)], [(0, False), (-1, False)]),
        # None comes before its kernel began, by size or by order.
        ([(1, 2)], [(MKL, 1, 5, 2)], [(-1, False)]),
        ([(1, 2)], [(MKL, 1, 5, None)], [(-1, False)]),
        # By order alone: to runs of unknown size, of oneDNN's kernels only, and each once.
        ([(90, 2), (91, 7)], [(MKL, 1, 5, None), (MKL, 6, 9, 7)], [(0, False), (1, True)]),
        ([(90, 2)], [("MatMul", 1, 5, None)], [(-1, False)]),
        ([(90, 2)], [(MKL, 1, 5, 7)], [(-1, False)]),
        # A line that was cut has the size of the run at its place.
        ([(90, 2), (91, None)], [(MKL, 1, 5, 2), (MKL, 6, 9, 7)], [(0, True), (1, True)]),
        ([(90, None)], [(MKL, 1, 5, None)], [(0, False)]),
        ([(90, 2)], [("AddV2", 1, 5, 2)], [(-1, False)]),
        ([(90, 2)], [], [(-1, False)]),
    ],
)
def test_late_lines_go_by_size_and_then_by_order(
    lines: list[tuple[int, int | None]],
    runs: list[tuple[str, int, int, int | None]],
    expected: list[tuple[int, bool]],
) -> None:
    assert late_linked(lines, runs) == expected


@pytest.mark.parametrize(
    ("placed", "candidate", "after", "late"),
    [
        ([False, False], [0, 1], [True, True], True),
        ([True, True], [0, 1], [True, True], False),  # what was open explains them
        ([False, False], [-1, -1], [], False),  # nothing explains them: grappler ran them
        ([False, False], [0, 1], [False, False], False),  # in their place, but of another kind
        ([True, False], [0, 1], [False, True], True),
        ([False], [0], [True], True),
        ([True] * 49 + [False], [0] * 50, [True], False),  # so many are lost as records are torn
    ],
)
def test_lines_are_late_if_only_their_order_explains_them(
    placed: list[bool], candidate: list[int], after: list[bool], *, late: bool
) -> None:
    found = are_late(np.array(placed), np.array(candidate), np.array(after, bool))
    assert found == late


@st.composite
def matchings(draw: st.DrawFn) -> tuple[list[int], list[tuple[int, int]]]:
    """Intervals, and a point in each of them, all points different."""
    count = draw(st.integers(1, 12))
    points = draw(st.permutations(range(0, 10 * count, 10)))
    spans = [
        (point - draw(st.integers(0, 60)), point + draw(st.integers(0, 60))) for point in points
    ]
    return sorted(points), spans


@pytest.mark.thorough
@given(matchings())
def test_where_each_execution_has_one_line_all_find_a_place(
    made: tuple[list[int], list[tuple[int, int]]],
) -> None:
    points, spans = made
    pairs = [
        (line, slot)
        for line, point in enumerate(points)
        for slot, (start, end) in enumerate(spans)
        if start <= point <= end
    ]
    line, slot = np.array(pairs).T
    likes = np.argsort(np.argsort([spans[number][1] for number in slot], kind="stable"))
    got = assign(line, slot, likes, merit=line * len(spans) + slot)
    assert (got >= 0).all()
    assert sorted(slot[got].tolist()) == list(range(len(spans)))


def test_a_slot_keeps_the_better_line_and_the_other_goes_on() -> None:
    line, slot = np.array([0, 1, 1]), np.array([0, 0, 1])
    got = assign(line, slot, likes=np.array([0, 0, 1]), merit=np.array([0, 1, 2]))
    assert got.tolist() == [0, 2]
    got = assign(line, slot, likes=np.array([0, 0, 1]), merit=np.array([1, 0, 2]))
    assert got.tolist() == [-1, 1]


def test_grades_are_compared_part_by_part() -> None:
    better, worse = grades(np.array([0, 1]), np.array([9, 0]), np.array([0, 0]))
    assert better < worse
    better, worse = grades(np.array([1, 1]), np.array([2, 2]), np.array([1, 3]))
    assert better < worse
    one, other = grades(np.array([2, 2]), np.array([1, 1]))
    assert one == other


def test_there_is_room_for_any_number_without_a_slot() -> None:
    slot = np.array([NO_SLOT, NO_SLOT])
    assert assign(np.array([0, 1]), slot, slot, slot).tolist() == [0, 1]


def test_a_solution_is_the_only_one_if_nobody_can_change_places() -> None:
    line, candidate = np.array([0, 0, 1]), np.array([0, 1, 1])
    got = np.array([0, 2])
    equal = np.ones(3, bool)
    assert exchangeable(line, candidate, candidate, got, equal).tolist() == [False, False]
    line, candidate = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    got, equal = np.array([0, 3]), np.ones(4, bool)
    assert exchangeable(line, candidate, candidate, got, equal).tolist() == [True, True]
