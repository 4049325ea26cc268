"""The parts of the link, one by one."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tflogscope.grammar.onednn_ops import FAMILIES
from tflogscope.model.links.assignment import NO_SLOT, assign, exchangeable
from tflogscope.model.links.candidates import open_pairs
from tflogscope.model.links.kernels import families_of, roles
from tflogscope.model.links.late import may_be_late
from tflogscope.model.links.pairs import MAIN, Graded
from tflogscope.model.links.problems import read_problems
from tflogscope.model.links.tensors import TensorOutputs

KEY = ("unknown", "vague", "odd", "seldom", "apart")


def family_of(kernel: str) -> int:
    return int(families_of(pl.Series([kernel]))[0])


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


def test_families_of_a_column_are_those_of_its_kernels() -> None:
    kernels = pl.Series(["_MklMatMul", None, "AddV2", "_MklMatMul"])
    assert families_of(kernels).tolist() == [family_of("_MklMatMul"), -1, -1, 0]


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
    assert found["shape"].to_list() == ["2x30", "", "0x4", None, "2x30"]
    assert outputs.named(pl.Series(["a/b:1"]))["at"].to_list() == [1]


def test_open_pairs_are_lines_inside_intervals() -> None:
    until = pl.Series([5, 20, None])
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


@st.composite
def matchings(draw: st.DrawFn) -> tuple[list[int], list[tuple[int, int]]]:
    """Intervals, and a point in each of them, all points different."""
    count = draw(st.integers(1, 12))
    points = draw(st.permutations(range(0, 10 * count, 10)))
    spans = [
        (point - draw(st.integers(0, 60)), point + draw(st.integers(0, 60))) for point in points
    ]
    return sorted(points), spans


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


def graded(**parts: list[int]) -> Graded:
    """Pairs of one line, with these parts of their grades; the others are 0."""
    count = len(next(iter(parts.values())))
    zero = np.zeros(count, np.int64)
    own = {name: np.array(column) for name, column in parts.items()}
    key = {name: own.get(name, zero) for name in KEY}
    return Graded(zero, np.arange(count), zero + MAIN, zero, zero, **key)


def test_grades_are_compared_part_by_part() -> None:
    for first, second in pairwise(KEY):
        better, worse = graded(**{first: [0, 1], second: [9, 0]}).grade
        assert better < worse, (first, second)
    alike, other = graded(odd=[2, 2], seldom=[1, 1]), graded(odd=[2, 2], seldom=[1, 0])
    assert len(set(alike.grade)) == 1
    assert len(set(other.grade)) == 2


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
