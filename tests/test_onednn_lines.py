"""Verbose lines of every era: literal ones, made ones, damaged ones."""

from __future__ import annotations

import re
from datetime import UTC, timedelta

import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.conftest import Open
from tests.deep import examples
from tests.makelog import Log
from tests.samples import NAMES, raw_log, run_of
from tests.verbose_samples import VerboseSample, verbose_samples
from tflogscope.errors import GrammarError
from tflogscope.events.onednn import UNPARSED, VERBOSE_SCHEMA, read_verbose
from tflogscope.events.onednn_header import header_facts
from tflogscope.events.verbose_lines import lines_of
from tflogscope.grammar.load import load_grammar
from tflogscope.grammar.verbose import fields_of_text, verbose_grammar

SAMPLES = verbose_samples()
EXEC = [
    sample.line
    for sample in SAMPLES
    if "duration_us" in sample.fields and sample.line.startswith(("onednn", "dnnl", "mkldnn"))
]
GEMM = (
    "onednn_verbose,v1,primitive,exec,cpu,gemm_api,,undef,src_f32::blocked:ab:f0 "
    "wei_f32::blocked:ab:f0 dst_f32::blocked:ab:f0,,,4x8:8x6,1.25"
)


def read(*lines: str) -> pl.DataFrame:
    frame = pl.DataFrame({"at": range(len(lines)), "text": lines})
    return read_verbose(lines_of(frame.cast({"at": pl.Int64, "text": pl.String})))


def one(line: str) -> dict[str, object]:
    """The values of a line's columns that are not null."""
    rows = read(line).to_dicts()
    assert len(rows) == 1
    return {name: value for name, value in rows[0].items() if value is not None and name != "at"}


# ---- literal lines -------------------------------------------------------------------------------


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.line[:80])
def test_each_sample_gives_its_fields_and_no_other(sample: VerboseSample) -> None:
    assert one(sample.line) == sample.fields


def test_all_samples_at_once_give_the_same_as_each_alone() -> None:
    lines = [sample.line for sample in SAMPLES]
    together = read(*lines)
    assert dict(together.schema) == VERBOSE_SCHEMA
    assert together["at"].to_list() == list(range(len(lines)))
    for sample, row in zip(SAMPLES, together.drop("at").to_dicts(), strict=True):
        assert {name: value for name, value in row.items() if value is not None} == sample.fields


def test_each_layout_has_a_sample() -> None:
    eras = {sample.era for sample in SAMPLES}
    assert {layout.era for layout in load_grammar().verbose.layouts} <= eras


def test_no_line_gives_an_empty_table() -> None:
    assert dict(read().schema) == VERBOSE_SCHEMA


# ---- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "event"),
    [
        ("onednn_verbose,exec,cpu,gemm_a", "exec"),
        ("onednn_verbose,exec", "exec"),
        ("onednn_verbose,v1,primitive,exec,cpu,gemm_api,,undef,src", "exec"),
        (GEMM[: GEMM.rindex(",")], "exec"),
        (GEMM + ",1.5", "exec"),
        (GEMM.replace("1.25", "1,234.5"), "exec"),
        (GEMM[:-4], "exec"),
        (GEMM[:-2], "exec"),
        (GEMM.replace("1.25", "0.01611332026"), "exec"),
        (GEMM + " ", "exec"),
        (GEMM + "ms", "exec"),
        (GEMM.replace("1.25", "nan"), "exec"),
        (GEMM.replace("1.25", "-1.25"), "exec"),
        (GEMM.replace(",v1,", ",v2,"), UNPARSED),
        (GEMM.replace("exec", "exed"), UNPARSED),
        (GEMM.replace("onednn", "twodnn"), UNPARSED),
        ("onednn_verbose", UNPARSED),
        ("", UNPARSED),
        ("MKL_VERBOSE SGEMM(T,N,75", "mkl_verbose"),
        ("MKL_VERBOSE SGEMM(T,N) 969.4", "mkl_verbose"),
    ],
)
def test_a_line_that_fits_nothing_is_kept_and_marked(line: str, event: str) -> None:
    row = one(line)
    assert row["event"] == event
    assert row["reason"]
    assert not row.keys() & {"duration_us", "primitive", "problem", "implementation"}


@pytest.mark.parametrize(
    "line",
    [
        # Digits grouped by a locale, in a line of 2.7, which has one field less.
        GEMM.replace("v1,primitive,", "").replace(",,,4x8:8x6,1.25", ",,4x8:8x6,1,234.5"),
        GEMM.replace("v1,primitive,", "").replace(",,,4x8:8x6,1.25", ",,1,024x8:8x6,1.25"),
        GEMM.replace("cpu,gemm_api,,undef", "cpu,,gemm_api,undef"),
        GEMM.replace(",,,4x8:8x6", ",,4x8:8x6,"),
    ],
)
def test_fields_out_of_place_are_noticed(line: str) -> None:
    row = one(line)
    assert row["reason"]
    assert "duration_us" not in row


def test_a_time_of_six_digits_is_none_and_a_true_one_is_exact() -> None:
    line = GEMM.replace("v1,primitive", "1.79523e+12").replace(",,,4x8", ",,4x8")
    assert one(line)["duration_us"] == 1250.0
    assert "time" not in one(line)
    stamped = GEMM.replace("v1,", "v1,1795234892507.741943,")
    assert one(stamped)["time"] == 1795234892507742
    # Since boot, as on Windows; the line does not say since when.
    assert "time" not in one(GEMM.replace("v1,", "v1,86400123.741943,"))


# ---- the header ----------------------------------------------------------------------------------


def test_header_facts_of_the_eras() -> None:
    new = header_facts(
        read(
            "onednn_verbose,v1,info,oneDNN v3.7.3 (commit N/A)",
            "onednn_verbose,v1,info,cpu,runtime:threadpool,nthr:2",
            "onednn_verbose,v1,info,cpu,isa:Intel AVX-512 with float16, Intel DL Boost",
            "onednn_verbose,v1,info,gpu,runtime:none",
            "onednn_verbose,v1,info,experimental functionality for sparse domain is enabled",
            "onednn_verbose,v1,graph,info,template:operation,engine,partition_id",
            "onednn_verbose,v1,primitive,info,template:operation,engine,primitive",
        )
    )
    assert new.version == "3.7.3"
    assert new.isa == "Intel AVX-512 with float16, Intel DL Boost"
    assert (new.cpu_runtime, new.threads) == ("threadpool", 2)
    old = header_facts(
        read(
            "mkldnn_verbose,info,Intel(R) MKL-DNN v0.18.0 (Git Hash 4cfed5),"
            "Intel(R) Advanced Vector Extensions 2 (Intel(R) AVX2)"
        )
    )
    assert old.version == "0.18.0"
    assert old.isa == "Intel(R) Advanced Vector Extensions 2 (Intel(R) AVX2)"
    assert header_facts(read("dnnl_verbose,info,Detected ISA is Intel AVX2")).isa == "Intel AVX2"
    assert header_facts(read(GEMM)).version is None


COLUMNS = (
    "operation,engine,primitive,implementation,prop_kind,memory_descriptors,attributes,"
    "auxiliary,problem_desc,exec_time"
)
TEMPLATE = "onednn_verbose,v1,primitive,info,template:"
MATMUL = (
    "onednn_verbose,v1,primitive,exec,cpu,matmul,jit,undef,src:f32::blocked:ab::f0,"
    "attr-scratchpad:user,,4x8:8x6,1.25"
)


def test_columns_that_a_later_release_adds_are_told_by_its_template() -> None:
    template = TEMPLATE + COLUMNS.replace("problem_desc,", "problem_desc,stream,")
    line = MATMUL.replace(",1.25", ",stream:7,1.25")
    assert one(line)["reason"]
    row = read(template, line).to_dicts()[1]
    assert (row["problem"], row["duration_us"], row["reason"]) == ("4x8:8x6", 1250.0, None)


def test_columns_in_another_order_are_told_by_the_template() -> None:
    template = TEMPLATE + COLUMNS.replace("engine,primitive", "primitive,engine")
    row = read(template, MATMUL.replace("cpu,matmul", "matmul,cpu")).to_dicts()[1]
    assert (row["engine"], row["primitive"], row["reason"]) == ("cpu", "matmul", None)


def test_a_template_that_is_wrong_does_no_harm() -> None:
    template = TEMPLATE + COLUMNS.replace("engine,primitive", "primitive,engine")
    assert read(template, MATMUL, GEMM)["duration_us"].to_list() == [None, 1250.0, 1250.0]
    for text in (
        "engine,engine,exec_time", "a,b", "operation", "exec_time,primitive",
        "at,event,marker,head,timestamp,message,primitive,reason,exec_time",
    ):  # fmt: skip
        assert read(TEMPLATE + text, MATMUL)["duration_us"].to_list() == [None, 1250.0]


# ---- made lines ----------------------------------------------------------------------------------

names = st.from_regex(r"[a-z][a-z0-9_]{0,12}", fullmatch=True)
implementations = st.from_regex(r"[a-z0-9_]{1,8}(:[a-z0-9_]{1,8}){0,2}", fullmatch=True)
prop_kinds = st.sampled_from(["undef", "forward_training", "backward_data", "backward"])
dims = st.lists(st.integers(1, 9999), min_size=1, max_size=5).map(lambda d: "x".join(map(str, d)))
problems = st.one_of(
    dims,
    st.tuples(dims, dims).map(":".join),
    st.builds("mb{}_ic{}oc{}_ih{}".format, *[st.integers(1, 99)] * 4),
)
milliseconds = st.floats(0, 1e6).map(lambda ms: f"{ms:.6g}")
old_descriptors = st.lists(
    st.builds("{}_{}::blocked:{}:f0".format, names, st.sampled_from(["f32", "s8"]), names),
    min_size=1,
    max_size=4,
).map(" ".join)
new_descriptors = st.lists(
    st.builds("{}:{}::blocked:{}::f0".format, names, st.sampled_from(["f32", "s8"]), names),
    min_size=1,
    max_size=4,
).map(" ".join)
attributes = st.sampled_from(["", "attr-scratchpad:user", "attr-post-ops:sum:2+eltwise_relu"])
auxiliary = st.sampled_from(["", "alg:convolution_direct", "alg:softmax_accurate axis:1"])
timestamps = st.none() | st.integers(10**15, 9 * 10**15)

# era → the head (with {time}), the descriptors, and the fields that its lines do not have
ERAS = {
    "0.x": ("mkldnn_verbose,exec", old_descriptors, {"engine", "attributes"}),
    "1.0": ("mkldnn_verbose,exec", old_descriptors, {"attributes"}),
    "1.1": ("dnnl_verbose,exec", old_descriptors, set[str]()),
    "2.1": ("dnnl_verbose{time},exec", old_descriptors, set[str]()),
    "2.5": ("onednn_verbose{time},exec", old_descriptors, set[str]()),
    "3.3": ("onednn_verbose{time},primitive,exec", old_descriptors, set[str]()),
    "3.6": ("onednn_verbose,v1{time},primitive,exec", new_descriptors, set[str]()),
    "create": ("onednn_verbose,v1{time},primitive,create:cache_hit", new_descriptors, set[str]()),
}


@pytest.mark.thorough
@pytest.mark.parametrize("era", ERAS)
@given(data=st.data())
@settings(max_examples=examples(10))
def test_what_is_rendered_is_read(era: str, data: st.DataObject) -> None:
    head, descriptors, missing = ERAS[era]
    time = data.draw(timestamps) if "{time}" in head else None
    fields = {
        "engine": data.draw(st.sampled_from(["cpu", "gpu:0", "cpu2gpu"])),
        "primitive": data.draw(names),
        "implementation": data.draw(implementations),
        "prop_kind": data.draw(prop_kinds),
        "memory_descriptors": data.draw(descriptors),
        "attributes": data.draw(attributes),
        "auxiliary": data.draw(auxiliary),
        "problem": data.draw(problems),
    }
    assume(fields["primitive"] != "gemm_api")
    fields = {name: value for name, value in fields.items() if name not in missing}
    ms = data.draw(milliseconds)
    stamp = "" if time is None else f",{time // 1000}.{time % 1000:03}000"
    row = one(",".join([head.format(time=stamp), *fields.values(), ms]))
    assert "reason" not in row
    assert row.get("time") == time
    assert row["duration_us"] == pytest.approx(float(ms) * 1000, rel=1e-12)
    for name, value in fields.items():
        assert row.get(name, "") == value, name


# ---- damaged lines -------------------------------------------------------------------------------

_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?(?:e[-+][0-9]+)?\Z")


def check_number(line: str, row: dict[str, object]) -> None:
    """A duration is the number at the end of the line, after a comma."""
    if row.get("duration_us") is None:
        return
    last = line.rpartition(",")[2]
    assert _NUMBER.match(last), line
    assert row["duration_us"] == pytest.approx(float(last) * 1000, rel=1e-12, abs=1e-9)


@pytest.mark.thorough
@given(st.sampled_from(EXEC), st.data())
def test_a_damaged_line_is_read_or_kept_with_a_reason(line: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(line) - 1))
    mark = st.sampled_from(list(",.:x0159e-+ \t\n_#'\"{}*é\x00")) | st.characters(
        exclude_categories=["Cs"]
    )
    damaged = data.draw(
        st.sampled_from(
            [
                line[:at],
                line[:at] + line[at + 1 :],
                line[:at] + data.draw(mark) + line[at:],
                line[:at] + data.draw(mark) + line[at + 1 :],
                line[:at] + line[data.draw(st.integers(0, len(line))) :],
                line[:at] + data.draw(st.sampled_from(EXEC)),
            ]
        )
    )
    row = one(damaged)
    check_number(damaged, row)
    if "reason" in row:
        assert "duration_us" not in row
        assert "primitive" not in row


@pytest.mark.thorough
@given(st.text(max_size=200))
def test_any_text_is_read_or_kept(text: str) -> None:
    for line in (text, f"onednn_verbose,{text}", f"onednn_verbose,v1,primitive,exec,{text}"):
        check_number(line, one(line))


def test_a_line_that_is_cut_gives_no_other_number_than_its_beginning() -> None:
    cuts = [line[:end] for line in EXEC for end in range(len(line))]
    for cut, row in zip(cuts, read(*cuts).to_dicts(), strict=True):
        check_number(cut, row)
        if row["duration_us"] is not None:
            whole = [line for line in EXEC if line.startswith(cut)]
            assert any(line.rindex(",") + 1 < len(cut) for line in whole), cut


# ---- whole logs ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_exec_lines_and_their_times_are_those_of_a_plain_scan(name: str) -> None:
    count, milliseconds, unread = 0, 0.0, 0
    for line in raw_log(name).decode(errors="replace").split("\n"):
        for piece in re.split(r"(?=(?:onednn|dnnl|mkldnn)_verbose,)", line)[1:]:
            if ",exec," not in piece:
                continue
            count += 1
            text = re.split(r"\d{4}-\d\d-\d\d |[IWEF]\d{4} ", piece)[0].rpartition(",")[2]
            try:
                milliseconds += float(text)
            except ValueError:
                unread += 1
    rows = run_of(name).events.primitives.filter(event="exec")
    assert rows.height == count
    assert rows["duration_us"].null_count() == unread
    assert rows["duration_us"].sum() == pytest.approx(milliseconds * 1000, rel=1e-3)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_of_a_sample_log_is_left_unparsed(name: str) -> None:
    rows = run_of(name).events.primitives
    assert not rows["reason"].count()
    assert rows.filter(event=UNPARSED).is_empty()


def test_a_log_without_tensorflow_gives_the_primitive_side() -> None:
    run = run_of("torch_mlp__torch2.13.0__vlog2")
    assert run.timeline.is_empty()
    rows = run.primitives.filter(event="exec")
    assert rows.height == 83
    assert set(rows["onednn_version"]) == {"3.12.0"}
    assert {"convolution", "matmul", "reorder"} <= set(rows["primitive"])


# Not columns of the table: how the line begins, and what is computed from other fields.
NOT_SHOWN = {"event", "marker", "version_tag", "component", "primitive_kind", "time", "reason"}


@pytest.mark.parametrize("name", ["torch_mlp__torch2.13.0__vlog2", None])
def test_each_text_of_a_line_is_in_the_table(opened: Open, name: str | None) -> None:
    run = run_of(name) if name else opened("\n".join(sample.line for sample in SAMPLES) + "\n")
    read_lines, shown = run.events.primitives, run.primitives
    assert shown.height == read_lines.height
    for fields, row in zip(read_lines.to_dicts(), shown.to_dicts(), strict=True):
        for field, value in fields.items():
            if value is None or field in NOT_SHOWN or field == "at":
                continue
            place = row["auxiliary"] if field in ("message", "source_location") else row[field]
            assert value in place if isinstance(value, str) else value == place, row


def test_what_a_header_says_is_in_the_table(opened: Open) -> None:
    lines = [
        "onednn_verbose,v1,info,oneDNN v3.7.3 (commit N/A)",
        "onednn_verbose,v1,primitive,info,template:operation,engine,primitive,exec_time",
        "onednn_verbose,v1,primitive,create:dispatch,brgemm,bad flags,src/cpu/a.cpp:7",
        GEMM,
    ]
    rows = opened("\n".join([*lines, ""])).primitives
    assert rows["auxiliary"].to_list() == [
        "oneDNN v3.7.3 (commit N/A)",
        "operation,engine,primitive,exec_time",
        "bad flags,src/cpu/a.cpp:7",
        None,
    ]


def test_unread_lines_count_as_unknown(opened: Open) -> None:
    header = "onednn_verbose,v1,info,oneDNN v3.7.3 (commit N/A)"
    run = opened("\n".join([header, GEMM, GEMM[:-4], "onednn_verbose,hello,1", ""]))
    row = run.coverage.to_dicts()[0]
    assert (row["recognised"], row["unknown"], row["lines"]) == (2, 2, 4)
    events = run.primitives["event"].to_list()
    assert events == ["info", "exec", "exec", UNPARSED]


def test_times_are_brought_to_the_zone_of_the_records(opened: Open) -> None:
    log = Log()
    log.executing("Mul")
    start = opened(log).timeline["start"][0]
    utc = start.replace(tzinfo=UTC) - timedelta(hours=5, minutes=45)
    log.raw(GEMM.replace("v1,", f"v1,{int(utc.timestamp())}000.250000,"))
    assert opened(log).primitives["time"][0] == start.replace(microsecond=250)


# ---- the grammar of lines ------------------------------------------------------------------------


def test_a_text_of_fields() -> None:
    assert fields_of_text("{engine},{message*},{place}") == (("engine", "message", "place"), 1)
    for text in ("engine", "{a},{a}", "{a*},{b*}", "{a},", "{A}"):
        with pytest.raises(ValueError, match="list of fields"):
            fields_of_text(text)


@pytest.mark.parametrize(
    ("layout", "what"),
    [
        ({"name": "x", "events": "exec$"}, "`text` is missing"),
        ({"name": "x", "events": "exec$", "text": "engine"}, "not a list of fields"),
        ({"name": "x", "event_": "exec$"}, "unknown key `event_`"),
    ],
)
def test_what_is_wrong_in_a_layout_is_told(layout: dict[str, str], what: str) -> None:
    with pytest.raises(GrammarError, match=re.escape(what)) as error:
        verbose_grammar({"era": "e", "markers": ["onednn_verbose"], "layout": [layout]}, "own.toml")
    assert error.value.where == "own.toml, layout 'x'"
