"""Lines for benchdnn (tests/benchdnn.toml): those of oneDNN's converter, and nothing guessed."""

from __future__ import annotations

import io
import tomllib
from pathlib import Path

import polars as pl
import pytest

import tflogscope
from tests.samples import NAMES, run_of
from tests.verbose_samples import verbose_samples
from tflogscope.exports.benchdnn import benchdnn_cases, write_benchdnn

CASES = tomllib.loads((Path(__file__).parent / "benchdnn.toml").read_text())


def cases(tmp_path: Path, *lines: str) -> pl.DataFrame:
    """The cases of a log with these lines, each without its time: 0.25 ms."""
    whole = (line if "_verbose," in line else f"onednn_verbose,{line}" for line in lines)
    log = tmp_path / "run.log"
    log.write_text("".join(f"{line},0.25\n" for line in whole))
    return benchdnn_cases(tflogscope.open_log(log).primitives)


@pytest.mark.parametrize("case", CASES["case"], ids=lambda case: case["line"].split()[0])
def test_line(tmp_path: Path, case: dict[str, str]) -> None:
    (row,) = cases(tmp_path, case["log"]).iter_rows(named=True)
    assert (row["line"], row["reason"]) == (case["line"], None)


@pytest.mark.thorough
@pytest.mark.parametrize("case", CASES["unsaid"], ids=lambda case: case["reason"])
def test_nothing_is_guessed(tmp_path: Path, case: dict[str, str]) -> None:
    (row,) = cases(tmp_path, case["log"]).iter_rows(named=True)
    assert row["line"] is None
    assert case["reason"] in row["reason"]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "hostile", ["$(id)", "`id`", "'", '"', "*", ";id", "|id", "\\", "--batch=x", "é"]
)
def test_a_line_has_only_what_benchdnn_knows(tmp_path: Path, hostile: str) -> None:
    """Put into each place of each line, what a shell obeys is in no line, and in no comment."""
    made = {
        ",".join([*fields[:at], f"{field[:cut]}{between}{hostile}{field[cut:]}", *fields[at + 1 :]])
        for case in CASES["case"]
        for fields in [case["log"].split(",")]
        for at, field in enumerate(fields)
        for cut in {0, field.find(":") + 1, len(field)}
        for between in ("", " ")
    }
    stream = io.BytesIO()
    write_benchdnn(cases(tmp_path, *sorted(made)), stream, "made by a test")
    comments: list[str] = []
    lines: list[str] = []
    for line in stream.getvalue().decode().splitlines()[2:]:
        (comments if line.startswith("#") else lines).append(line)
    text = "\n".join(lines) + "\n".join(comment.replace("×", "") for comment in comments)
    assert not set(text) & set("$`'\"*|\\é<>&")
    assert not set("\n".join(lines)) & set(";()")
    assert "--batch" not in {word.partition("=")[0] for line in lines for word in line.split()}


def test_counts_and_order(tmp_path: Path) -> None:
    first, second = CASES["case"][0]["log"], CASES["case"][1]["log"]
    found = cases(tmp_path, first, second, second)
    assert found["count"].to_list() == [2, 1]
    assert found["time_us"].to_list() == [500, 250]
    stream = io.BytesIO()
    write_benchdnn(found, stream, "made by a test")
    text = stream.getvalue().decode().splitlines()
    assert "2 of 2 problems, 100.0% of the time" in text[0]
    assert text[2:4] == ["# 2 × in 0.500 ms", CASES["case"][1]["line"]]


@pytest.mark.parametrize("name", NAMES)
def test_all_that_ran_is_said_or_counted(name: str) -> None:
    ran = run_of(name).primitives.filter(event="exec").drop_nulls("primitive")
    found = benchdnn_cases(ran)
    assert found["count"].sum() == ran.height
    assert found["time_us"].sum() == pytest.approx(ran["duration_us"].sum())
    assert (found["line"].is_null() != found["reason"].is_null()).all()
    # All that TensorFlow runs has a driver, but for dnnl_sgemm.
    assert set(found.drop_nulls("reason")["primitive"]) <= {"gemm_api"}


def test_every_era_of_the_grammar_is_read() -> None:
    """No descriptor or attribute of a sample line is of a form that the table doesn't know."""
    samples = [sample for sample in verbose_samples() if sample.fields["event"] == "exec"]
    columns = [
        "event", "engine", "primitive", "prop_kind", "memory_descriptors", "attributes",
        "auxiliary", "problem", "duration_us", "onednn_version",
    ]  # fmt: skip
    rows = [{name: sample.fields.get(name) for name in columns} for sample in samples]
    found = benchdnn_cases(pl.DataFrame(rows, infer_schema_length=None))
    assert found.drop_nulls("line").height > found.height / 2
    unread = found.filter(pl.col("reason").str.contains("known form"))["primitive"].to_list()
    assert set(unread) <= {"sdpa", "sum"}  # a buffer that was too small has `#`


@pytest.mark.parametrize(
    ("attributes", "options"),
    [
        ("attr-dropout:ab:s32:0:0", "--attr-dropout=0.5:12345:ab:0"),
        ("attr-dropout:ab:s64:1:1", "--attr-dropout=0.5:12345:ab:987654321:1"),
        (
            "attr-scales:src0:0:f32:host_scalar attr-zero-points:src0:0:s32:host_scalar",
            "--attr-scales=src0:host_scalar:0.5 --attr-zero-points=src0:host_scalar:1",
        ),
        ("attr-scales:src0:0:f32", "--attr-scales=src0:0:0.5"),
        ("attr-zero-points:wei:3:s8:32x1", "--attr-zero-points=wei:3:s8:32x1"),
        (
            "attr-precomputed-reductions:src0:3:s32:1x32",
            "--attr-precomputed-reductions=src0:3:s32:1x32",
        ),
        ("attr-post-ops:binary_add:f32:3:ab:600x1", "--attr-post-ops=binary_add:f32:3:ab:600x1"),
    ],
)
def test_attributes_of_3_13(attributes: str, options: str) -> None:
    """Lines of onednn 2026.1.0 that benchdnn of 3.13.1 takes, and prints again."""
    descriptors = "src:f32::blocked:ab::f0 wei:f32::blocked:ab::f0 dst:f32::blocked:ab::f0"
    row = {
        "event": "exec", "engine": "cpu", "primitive": "matmul", "prop_kind": "undef",
        "memory_descriptors": descriptors, "attributes": attributes, "auxiliary": None,
        "problem": "128x256:256x512", "duration_us": 1.0, "onednn_version": "3.13.2",
    }  # fmt: skip
    [line] = benchdnn_cases(pl.DataFrame([row]))["line"]
    assert all(option in line.split() for option in options.split())


def test_a_select_and_a_sparse_source() -> None:
    src = "src:f32::blocked:abcd::f0"
    select = {
        "event": "exec", "engine": "cpu", "primitive": "binary", "prop_kind": "undef",
        "memory_descriptors": f"{src} {src} src:s8::blocked:abcd::f0 dst:f32::blocked:abcd::f0",
        "attributes": None, "auxiliary": "alg:binary_select", "duration_us": 2.0,
        "problem": "2x8x12x12:2x8x12x12:2x8x12x12", "onednn_version": "3.13.2",
    }  # fmt: skip
    sparse = {
        **select, "primitive": "matmul", "problem": "128x256:256x64", "auxiliary": None,
        "memory_descriptors": "src:f32::sparse:csr::f0 wei:f32::blocked:ab::f0 "
        "dst:f32::blocked:ab::f0", "duration_us": 1.0,
    }  # fmt: skip
    found = benchdnn_cases(pl.DataFrame([select, sparse]))
    assert "--sdt=f32:f32 --ddt=f32 --stag=abcd:abcd --dtag=abcd" in found["line"][0]
    assert found["line"][0].endswith(" 2x8x12x12:2x8x12x12")
    assert found["reason"][1] == ("the number of non-zero values of a CSR source is not in the log")
