"""Redacted logs hold no word of the program, and give the same tables as the log.

The property is tested on all sample logs: by the words of the texts, and by all tables, findings
and checks, once the pseudonyms are put back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import pytest

import tflogscope
from tests.samples import UNLIKE, path_of, raw_log, run_of, unpacked
from tflogscope import Run
from tflogscope.checks.evaluation import check_run
from tflogscope.cli.main import main
from tflogscope.exports.redact import DROPPED, Redactor
from tflogscope.exports.schema import TABLES
from tflogscope.recording.header import footer_line, header_line
from tflogscope.sources.source import Source

KEY = b"the key of these tests"
LOGS = [name for name in UNLIKE if not name.startswith(("control_flow", "keras"))]  # not too large
OF_THE_FILE = {"source", "bytes", "checksum"}  # the redacted log is another file
# Descriptors, problems and implementations of oneDNN have forms, not names.
OF_ONEDNN = re.compile(rb"^(?:onednn|dnnl|mkldnn)_verbose,.*$", re.MULTILINE)
AFFIXES = re.compile(
    r"^_*(?:(?:inference|forward|backward|wrapped)_+)*(?:Dataset_)?"
    r"|(?:_\d+|_partitioned)*(?:is)?_*$|(?:_[A-Za-z_]+_\d+)*_device_$"
)


def words_of(text: bytes) -> set[bytes]:
    """Distinct words, of letters, digits and `_`, with a letter; not those in lines of oneDNN."""
    found = set(re.findall(rb"[A-Za-z_0-9\x80-\xff]+", OF_ONEDNN.sub(b"", text)))
    return {word for word in found if re.search(rb"[A-Za-z\x80-\xff]", word)}


@lru_cache(2)
def redacted(name: str) -> tuple[Redactor, bytes]:
    redactor = Redactor(KEY)
    return redactor, b"".join(text for text, _ in redactor.blocks(Source(str(path_of(name)))))


@lru_cache(1)
def redacted_run(name: str) -> Run:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "redacted.log"
        path.write_bytes(redacted(name)[1])
        return tflogscope.open_log(path)


@pytest.mark.thorough
@pytest.mark.parametrize("name", LOGS)
def test_no_word_of_the_program_is_left(name: str) -> None:
    redactor, text = redacted(name)
    known = {word.encode() for word in redactor.vocabulary}
    words = words_of(text)
    left = (words_of(raw_log(name)) - known) & words
    # What is left of a name is a number with a unit, and TensorFlow's pieces around a known word.
    parts = {word: AFFIXES.sub("", word.decode()).encode() for word in left}
    stays = re.compile(rb"[\d_x]*(?:e\d*|us|ms|s|h|min)?|[IWEF](?:\d{4})?")
    odd = {word for word, core in parts.items() if core not in known and not stays.fullmatch(core)}
    assert not odd
    names = {name.encode() for name in redactor.names.values() if name and not name[0].isdigit()}
    assert not names & words


@pytest.mark.thorough
@pytest.mark.parametrize("name", LOGS)
def test_the_tables_are_the_same(name: str) -> None:
    before, after, redactor = run_of(name), redacted_run(name), redacted(name)[0]
    assert raw_log(name).count(b"\n") == redacted(name)[1].count(b"\n")
    for table in TABLES:
        expected, found = getattr(before, table), getattr(after, table)
        assert found.height == expected.height, table
        for column in set(expected.columns) - OF_THE_FILE:
            old, new = expected[column], found[column]
            if old.equals(new, null_equal=True):
                continue
            new = put_back(new, redactor)
            different = [
                (one, other) for one, other in zip(old, new, strict=True) if not same(one, other)
            ]
            assert not different, (table, column)


@pytest.mark.thorough
@pytest.mark.parametrize("name", LOGS)
def test_the_checks_are_the_same(name: str) -> None:
    old, new = (check_run(run).checks for run in (run_of(name), redacted_run(name)))
    assert [(c.name, c.passed, c.measured) for c in old] == [
        (c.name, c.passed, c.measured) for c in new
    ]


SAID = ["id", "severity", "count", "time_us", "advice", "lines"]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "name",
    [
        "fit_cycle__tf2.20.0__record",  # functions that Keras and TensorFlow make
        "forward_mode__tf2.20.0",
        "python_in_step__tf2.13.1__record",  # a placeholder that is not fed
        "generator_data__tf2.20.0",
        "map_raises__tf2.20.0",
        "rewritten__itex",
        "rewritten__zentf",
    ],
)
def test_what_is_known_by_its_words_is_known_without_names(name: str) -> None:
    old, new = run_of(name), redacted_run(name)
    figures = [(each.name, each.value) for each in old.headline.figures]  # the step is named
    assert [(each.name, each.value) for each in new.headline.figures] == figures
    assert new.findings.select(SAID).rows() == old.findings.select(SAID).rows()
    assert [each.id for each in new.summary.limits] == [each.id for each in old.summary.limits]


def test_what_a_plug_in_writes_has_no_names_of_the_program() -> None:
    redactor, text = redacted("rewritten__zentf")
    assert b"[API    ][info   ]" in text
    assert not {b"other_fusion", b"without_product", b"rewritten"} & words_of(text)
    assert not {name.encode() for name in redactor.names.values() if "_" in name} & words_of(text)


def put_back(column: pl.Series, redactor: Redactor) -> pl.Series:
    """A column with the names of the program."""
    if column.dtype != pl.String or not redactor.names:
        return column
    return column.str.replace_many([*redactor.names], [*redactor.names.values()])


def same(one: object, other: object) -> bool:
    """Equal, but for the order of names in a list, the log's own name, and where a text is cut."""
    if isinstance(one, str) and isinstance(other, str):
        if one.endswith(".log.zst") and other.endswith(".log"):
            return True
        if "…" in one + other:
            return re.split(r"\W", one)[:5] == re.split(r"\W", other)[:5]
        return sorted(one.split(";")) == sorted(other.split(";"))
    return bool(one == other) if not isinstance(one, pl.Series) else one.to_list() == list(other)  # type: ignore[call-overload]


# ---- what must not get through -------------------------------------------------------------------

STAMP = "2026-11-21 03:56:54.527949: I tensorflow/core/common_runtime/"
DEVICE = "/job:localhost/replica:0/task:0/device:CPU:0"
EXECUTING, NODE = (
    f"{STAMP}eager/execute.cc:1678] ",
    f"{STAMP}executor.cc:841] Process node: 5 step 7 ",
)
HIDDEN_NODE = (
    "{{node hidden/MatMul_1}} = MatMul[T=DT_FLOAT, "
    '_user="alice", value=Tensor<type: string shape: [] values: 4711 hidden>]() device: '
)
GEMM = "src_f32::blocked:ab:f0 wei_f32::blocked:ab:f0 dst_f32::blocked:ab:f0"
HEADER = {"command": ["hidden"], "system": "alice", "environment": {"TF_X": "4711"}, "cpus": 2}
ABORTING = "Executor start aborting: INVALID_ARGUMENT: card 4711 of alice at /home/alice"
AUTOGRAPH = "WARNING:tensorflow:AutoGraph could not transform "
SECRETS = [
    "Acme customer 4711 said hello",
    "/home/alice/hidden.py:12: some warning of 10.1.2.3",
    f"{EXECUTING}Executing op MatMul in device {DEVICE.replace('localhost', 'hidden')}",
    f"{EXECUTING}hidden text 4711",
    f"{STAMP}hidden_file.cc:1] alice 4711",
    f"{NODE}{HIDDEN_NODE}{DEVICE}",
    f"{NODE}torn by alice 4711",
    f"{STAMP}executor.cc:1200] [{DEVICE}] {ABORTING}",
    "\t [[{{node hidden/alice_3}}]] 4711",
    "WARNING:tensorflow:From /home/alice/hidden.py:4711: x is deprecated",
    f"{AUTOGRAPH}<function hidden at 0x7f06d4c804a0> and will run it as-is.",
    f"onednn_verbose,exec,cpu,gemm_api,,undef,{GEMM},,32x128:128x10,0.005alice 4711",
    "onednn_verbose,alice 4711 hidden",
    "onednn_verbose,v1,graph,exec,cpu,1,hidden_op,alice;hidden,,,fpm:strict,,0.1",
    f"# tflogscope record {json.dumps(HEADER, separators=(',', ':'))}",
    f"{NODE}{NODE}alice\x1f4711",
    "\x1b[31malice\x07 h\u00efdden 4711",
]


def test_secrets_do_not_get_through(tmp_path: Path) -> None:
    log, out, names = (tmp_path / name for name in ("run.log", "out.log", "map.json"))
    log.write_text("".join(f"{line}\n" for line in SECRETS))
    assert main(["redact", str(log), "-o", str(out), "--map", str(names)]) == 0
    text = out.read_text()
    for secret in ("alice", "hidden", "4711", "Acme", "10.1.2.3", "dden", "7f06d4c804a0", "home"):
        assert secret not in text, secret
    assert len(text.splitlines()) == len(SECRETS)
    kept = [line for line in text.splitlines() if not line.endswith(DROPPED)]
    assert any("MatMul_1}} = MatMul[T=DT_FLOAT" in line for line in kept)
    assert {"hidden", "alice"} <= set(json.loads(names.read_text())["names"].values())


TOKENS = [
    "alice",
    "4111111111111111",
    "+14155550123",
    "2001:db8:85a3::8a2e:370:7334",
    "ZürichKunde",
    "550e8400-e29b-41d4-a716-446655440000",
    "%73%65%63%72%65%74",
    "\U0001f600\U0001f608",
    "kunde_77123",
]
VERBOSE = (
    "onednn_verbose,exec,cpu,convolution,jit:avx512_core,forward_training,"
    "src_f32::blocked:abcd:f0 dst_f32::blocked:abcd:f0,"
    "attr-scratchpad:user ,alg:convolution_direct,mb2_ic3oc8_ih8oh8kh3,0.1"
)
QUOTED = f'{NODE}{{{{node a/b}}}} = MatMul[T=DT_FLOAT, _user="x @ y"]() device: {DEVICE}'
TENSOR = (
    f"{NODE}{{{{node a}}}} = Const[dtype=DT_STRING, "
    f'value=Tensor<type: string shape: [] values: a>, b>, _u="c"]() device: {DEVICE}'
)


def test_a_constant_that_looks_like_its_end_is_replaced_whole(tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    log.write_text(TENSOR.replace("b>", "4111 1111>") + "\n")
    text = b"".join(text for text, _ in Redactor(KEY).blocks(Source(str(log)))).decode()
    assert "4111" not in text


def test_no_planted_token_survives(tmp_path: Path) -> None:
    """A token between any two words of a line of oneDNN; in strings, anywhere."""
    places = [(VERBOSE, at) for at in range(40, len(VERBOSE) - 4)]
    places += [(QUOTED, QUOTED.index(" @"))]
    places += [(TENSOR, at) for at in range(TENSOR.index("b>, _u"), TENSOR.index('c"]'))]
    lines = [line[:at] + token + line[at:] for line, at in places for token in TOKENS]
    log = tmp_path / "run.log"
    log.write_text("\n".join(lines) + "\n")
    text = b"".join(text for text, _ in Redactor(KEY).blocks(Source(str(log)))).decode()
    assert len(text.splitlines()) == len(lines)
    for token in TOKENS:
        assert token not in text, token
    assert text.isascii()


@pytest.mark.parametrize(
    "text",
    [
        "call_0301234567",
        "layer_411111_111111_1111/x",
        "12/34/56/78",
        "4111-1111-1111-1111",
        "1234",
        "call 12 34 56",
    ],
)
def test_numbers_of_the_program_in_strings_are_replaced(text: str) -> None:
    redacted = Redactor(KEY)._string(f'"{text}"')
    assert not set(re.findall(r"\d+", text)) & set(re.findall(r"\d+", redacted))


@pytest.mark.parametrize("text", ["dense_1/MatMul:0", "while_12/cond_345/Less", "loc:@add_7"])
def test_what_tensorflow_numbers_in_strings_stays(text: str) -> None:
    redacted = Redactor(KEY)._string(f'"{text}"')
    assert re.findall(r"(?<=_)\d+|:\d+", text) == re.findall(r"(?<=_)\d+|:\d+", redacted)


def test_what_the_header_keeps_has_the_form_of_it(tmp_path: Path) -> None:
    header = {
        "versions": {"tensorflow": "2.13.1", "python": "alice", "alice": "1.0", "keras": ["x"]},
        "started": "alice",
        "zone_seconds": "4111111111111111",
        "cpus": ["alice"],
        "cpu_flags": ["avx2", "alice", 7],
        "environment": {"ONEDNN_VERBOSE": "1", "OMP_NUM_THREADS": "alice", "TF_X": "1"},
    }
    log = tmp_path / "run.log"
    log.write_text(f"# tflogscope record {json.dumps(header, separators=(',', ':'))}\n")
    ((line, _),) = Redactor(KEY).blocks(Source(str(log)))
    assert json.loads(line.removeprefix(b"# tflogscope record ")) == {
        "versions": {"tensorflow": "2.13.1"},
        "cpu_flags": ["avx2"],
        "environment": {"ONEDNN_VERBOSE": "1"},
    }


def test_when_the_program_began_and_ended_stays(tmp_path: Path) -> None:
    written = header_line(["python"], {}, {}), footer_line(-9)
    log = tmp_path / "run.log"
    log.write_bytes(b"".join(written))
    text = b"".join(text for text, _ in Redactor(KEY).blocks(Source(str(log))))
    for line, kept in zip(written, text.splitlines(), strict=True):
        facts, left = (
            json.loads(each.removeprefix(b"# tflogscope record ")) for each in (line, kept)
        )
        for name in {"started", "ended", "status", "signal"} & set(facts):
            assert left[name] == facts[name]


def some_words(path: Path) -> Iterator[str]:
    yield from re.findall(r"\bx[a-z2-7]{10}\b", path.read_text())


@pytest.fixture
def log(tmp_path: Path) -> str:
    """The last lines of a sample log, which call functions."""
    path = tmp_path / "run.log"
    lines = raw_log("function_mlp__tf2.13.1__vlog2").splitlines(keepends=True)
    path.write_bytes(b"".join(lines[-2000:]))
    return str(path)


@pytest.mark.thorough
def test_pseudonyms_depend_on_the_key(tmp_path: Path, log: str) -> None:
    first, same_key, other = (tmp_path / name for name in ("1.log", "2.log", "3.log"))
    names = tmp_path / "map.json"
    assert main(["redact", log, "-o", str(first), "--map", str(names)]) == 0
    assert main(["redact", log, "-o", str(same_key), "--map", str(names)]) == 0
    assert main(["redact", log, "-o", str(other)]) == 0
    assert first.read_bytes() == same_key.read_bytes()
    assert set(some_words(first)).isdisjoint(some_words(other))
    mapped = json.loads(names.read_text())["names"]
    assert set(some_words(first)) <= set(mapped)


@pytest.mark.thorough
def test_kept_names_and_packing(tmp_path: Path, log: str) -> None:
    out = tmp_path / "out.log.zst"
    assert main(["redact", log, "-o", str(out), "--keep", "functions"]) == 0
    assert b"__inference_train_" in unpacked(out)
    assert main(["redact", log, "-o", str(out), "--force"]) == 0
    assert b"__inference_train_" not in unpacked(out)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--keep", "shapes"], 2),
        (["--map", "out.log"], 2),
        (["--map", "broken.json"], 2),
        (["--map", "prints.log"], 2),
        ([], 3),
    ],
)
def test_wrong_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("prints.log").write_text("Epoch 1\nEpoch 2\n")
    Path("broken.json").write_text("{}")
    assert main(["redact", "prints.log", "-o", "out.log", *arguments]) == code
    assert not Path("out.log").exists()
