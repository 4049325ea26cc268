"""Memory descriptors, attributes and problems of every era."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.samples import NAMES, run_of
from tflogscope.events.onednn_fields import (
    MemoryDescriptor,
    Problem,
    parse_attributes,
    parse_memory_descriptors,
    parse_problem,
    post_ops,
)
from tflogscope.grammar.load import packaged_verbose_samples

MD = MemoryDescriptor


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # 0.x
        ("in:f32_nchw", MD("in", "f32", "", None, "nchw", None, None)),
        ("fsrc:nChw8c", MD("fsrc", None, "", None, "nChw8c", None, None)),
        ("fbia:undef", MD("fbia", None, "", None, "undef", None, None)),
        ("dt:f32 fmt:nchw", MD(None, "f32", "", None, "nchw", None, None)),
        # 1.0 to 3.1, and gemm_api of all
        ("src_f32::blocked:ab:f0", MD("src", "f32", "", "blocked", "ab", None, "f0")),
        ("bia_undef::undef::f0", MD("bia", "undef", "", "undef", None, None, "f0")),
        ("undef::undef::", MD(None, "undef", "", "undef", None, None, None)),
        (
            "diff_wei_s8:p:blocked:Acdb16a:f3:s8m2:zpm1",
            MD("diff_wei", "s8", "p", "blocked", "Acdb16a", None, "f3", ("s8m2", "zpm1")),
        ),
        ("f32::blocked:aBcd16b:f0", MD(None, "f32", "", "blocked", "aBcd16b", None, "f0")),
        # 3.2 to 3.5
        ("wei_f32:a:blocked:Acdb32a::f0", MD("wei", "f32", "a", "blocked", "Acdb32a", None, "f0")),
        ("src_f32::blocked:ab:8x1:f0", MD("src", "f32", "", "blocked", "ab", "8x1", "f0")),
        ("bia_undef::undef:::", MD("bia", "undef", "", "undef", None, None, None)),
        ("src_u8:a:any:any::f0", MD("src", "u8", "a", "any", "any", None, "f0")),
        # 3.6 and later
        ("src_iter:bf16::blocked:abcd::f0",
         MD("src_iter", "bf16", "", "blocked", "abcd", None, "f0")),
        ("bia:undef::undef:::", MD("bia", "undef", "", "undef", None, None, None)),
        ("src:f8_e4m3:ap:blocked:ba:1x64:f0",
         MD("src", "f8_e4m3", "ap", "blocked", "ba", "1x64", "f0")),
        ("src_f8_e4m3::blocked:ab:f0", MD("src", "f8_e4m3", "", "blocked", "ab", None, "f0")),
        ("wei:s8::sparse:csr::f0", MD("wei", "s8", "", "sparse", "csr", None, "f0")),
        ("wei:s8::sparse:grouped:0:4::f0",
         MD("wei", "s8", "", "sparse", "grouped:0:4", None, "f0")),
        ("wei:f32:a:wino:::f0", MD("wei", "f32", "a", "wino", None, None, "f0")),
        ("src:f32::blocked:*:*:f0", MD("src", "f32", "", "blocked", "*", "*", "f0")),
        ("bia:f32::blocked:ab::f0_mask2",
         MD("bia", "f32", "", "blocked", "ab", None, "f0", (), 2)),
        ("wei:s8::blocked:ab::f0:zid2:zs1",
         MD("wei", "s8", "", "blocked", "ab", None, "f0", ("zid2", "zs1"))),
    ],
)  # fmt: skip
def test_a_descriptor(text: str, expected: MemoryDescriptor) -> None:
    assert parse_memory_descriptors(text) == (expected,)


def test_each_descriptor_of_a_line_is_read_by_its_own_syntax() -> None:
    text = "src_f32::blocked:ab:f0 wei:f32:a:blocked:ba::f0 bia:undef::undef:::"
    found = parse_memory_descriptors(text)
    assert [each.argument for each in found] == ["src", "wei", "bia"]
    assert [each.tag for each in found] == ["ab", "ba", None]
    assert [each.is_undefined for each in found] == [False, False, True]


def test_two_descriptors_without_a_space_between_them() -> None:
    glued = "dst:f32::blocked:ab::f0diff_dst:f32::blocked:ba::f0"
    assert parse_memory_descriptors(glued) == parse_memory_descriptors(glued.replace("0d", "0 d"))
    assert [each.tag for each in parse_memory_descriptors(glued)] == ["ab", "ba"]


@pytest.mark.parametrize("text", [None, "", "#too long", "hello", ":::", "src:f32", "a b c"])
def test_what_is_no_descriptor(text: str | None) -> None:
    assert all(each.format_kind is None for each in parse_memory_descriptors(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, {}),
        ("", {}),
        ("#a buffer was too small", {}),
        ("attr-scratchpad:user attr-post-ops:sum:2+eltwise_relu:0.1:0:2 ",
         {"scratchpad": "user", "post_ops": "sum:2+eltwise_relu:0.1:0:2"}),
        ("scratchpad_mode:user;oscale:0:43.6907;post_ops:'sum:2;eltwise_relu;';",
         {"scratchpad": "user", "oscale": "0:43.6907", "post_ops": "sum:2;eltwise_relu;"}),
        ("oscale:0:43.6907;zero_points:'dst:0:129';",
         {"oscale": "0:43.6907", "zero_points": "dst:0:129"}),
        ("attr-acc:f32 attr-deterministic:1", {"acc_mode": "f32", "deterministic": "1"}),
        ("lda:4 ldb:8 attr-post-ops:sum:1.000000e+00",
         {"lda": "4", "ldb": "8", "post_ops": "sum:1.000000e+00"}),
        ("attr-scales:src0:0:f32+wei:3:f16:1x32 rnn_data_qparams:1:2",
         {"scales": "src0:0:f32+wei:3:f16:1x32", "rnn_data_qparams": "1:2"}),
    ],
)  # fmt: skip
def test_attributes(text: str | None, expected: dict[str, str]) -> None:
    assert parse_attributes(text) == expected


def test_post_ops_of_both_syntaxes() -> None:
    assert post_ops(parse_attributes("attr-post-ops:sum:2+eltwise_relu ")) == [
        "sum:2",
        "eltwise_relu",
    ]
    assert post_ops(parse_attributes("post_ops:'sum:2;eltwise_relu;';")) == [
        "sum:2",
        "eltwise_relu",
    ]
    assert post_ops({}) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("4x64:64x32", Problem(((4, 64), (64, 32)))),
        ("8x12x64x64:8x12x64x64:8x12x64x64", Problem(((8, 12, 64, 64),) * 3)),
        ("2048", Problem(((2048,),))),
        ("*x32:32x10", Problem(((None, 32), (32, 10)))),
        ("b1408m52n64k52", Problem((), (("b", 1408), ("m", 52), ("n", 64), ("k", 52)))),
        ("mb128ic768oc768", Problem((), (("mb", 128), ("ic", 768), ("oc", 768)))),
        ("g16mb8_ic16oc16_ih5oh3kh3",
         Problem((), (("g", 16), ("mb", 8), ("ic", 16), ("oc", 16), ("ih", 5), ("oh", 3),
                      ("kh", 3)))),
        ("mb2ic16ih5iw5ls5beta0.75",
         Problem((), (("mb", 2), ("ic", 16), ("ih", 5), ("iw", 5), ("ls", 5), ("beta", 0.75)))),
        ("l1t3mb2sic4", Problem((), (("l", 1), ("t", 3), ("mb", 2), ("sic", 4)))),
        (None, Problem()),
        ("", Problem()),
        ("4x", Problem()),
        ("mb4 ic", Problem()),
        ("#long", Problem()),
    ],
)  # fmt: skip
def test_problems(text: str | None, expected: Problem) -> None:
    assert parse_problem(text) == expected


@settings(deadline=None)
@given(st.text(alphabet="abcdfsru0123x:_-+;'#* .", max_size=80))
def test_any_text_gives_something(text: str) -> None:
    for each in parse_memory_descriptors(text):
        assert isinstance(each, MemoryDescriptor)
    assert isinstance(parse_attributes(text), dict)
    assert isinstance(parse_problem(text), Problem)


@pytest.mark.parametrize("name", NAMES)
def test_each_field_of_a_sample_log_is_taken_apart_without_rest(name: str) -> None:
    rows = run_of(name)._events.primitives.filter(event="exec")
    for text in rows["memory_descriptors"].drop_nulls().unique():
        assert len(parse_memory_descriptors(text)) == len(text.split())
        assert all(each.data_type and each.format_kind for each in parse_memory_descriptors(text))
    for text in rows["problem"].drop_nulls().unique():
        assert parse_problem(text) != Problem()
    for text in rows["attributes"].drop_nulls().unique():
        assert len(parse_attributes(text)) == len(text.split())


def test_each_problem_of_the_grammar_is_known() -> None:
    problems = [
        str(sample.fields["problem"])
        for sample in packaged_verbose_samples()
        if "problem" in sample.fields and sample.fields["marker"] != "MKL_VERBOSE"
    ]
    assert len(problems) > 50
    assert all(parse_problem(problem) != Problem() for problem in problems)
