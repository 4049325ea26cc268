"""The packaged grammar files against their own samples, and what a wrong grammar file says."""

from __future__ import annotations

import marshal
import subprocess
import sys
import tomllib
from pathlib import Path
from zlib import crc32

import pytest

from tflogscope.errors import GrammarError
from tflogscope.grammar import load
from tflogscope.grammar.check import misfits
from tflogscope.grammar.load import load_grammar, packaged_file, read_toml
from tflogscope.grammar.model import Message

GRAMMAR = load_grammar()
#: Names that keep their lower-case first letter.
NAMES = ("oneDNN", "bfloat16", "py_function")

MESSAGE = """
source = "somewhere/own.cc"
file = "own.cc"

[[message]]
id = "own_message"
level = 1
text = 'Own ${op:name} took ${ms:float} ms$[ on ${device:device}$]'
meaning = "A message of a user's own."
  [[message.sample]]
  line = '2026-11-21 03:56:34.965368: I somewhere/own.cc:12] Own MatMul took 0.5 ms'
  fields = { op = "MatMul", ms = 0.5 }
"""


@pytest.mark.parametrize("message", GRAMMAR.by_id.values(), ids=lambda message: message.id)
def test_every_message_is_held_by_its_samples_in_both_engines(message: Message) -> None:
    assert message.samples
    assert not [*misfits(GRAMMAR, [message])]


def test_every_message_says_what_it_means_in_a_sentence() -> None:
    for message in GRAMMAR.by_id.values():
        assert message.meaning[0].isupper() or message.meaning.startswith(NAMES), message.id
        assert message.meaning.endswith("."), message.id


def test_prefixes_give_the_pieces_their_samples_promise() -> None:
    assert set(GRAMMAR.prefixes) == {"classic", "absl", "glog"}
    assert all(prefix.samples for prefix in GRAMMAR.prefixes.values())
    assert not [*misfits(GRAMMAR, [], GRAMMAR.prefixes.values())]


@pytest.mark.parametrize(
    "line",
    [
        "2026-11-21 04:15:50,136 INFO app:12] step 2 Executing op FAKE in device x",
        "user stdout: Process node: 5 step 1 {{node fake}} = MatMul[]() device: x 0",
        " 2026-11-21 03:56:34.965368: I tensorflow/x.cc:1] shifted",
        "I0000 00:00:1795234191.578 5496 executor.cc:879] too few digits",
    ],
)
def test_lines_that_only_look_like_records_have_no_prefix(line: str) -> None:
    assert GRAMMAR.split_prefix(line) is None


def test_verbose_lines_are_known_by_their_markers() -> None:
    markers = GRAMMAR.markers
    assert {"mkldnn_verbose,", "dnnl_verbose,", "onednn_verbose,"} <= set(markers.literals)
    for marker in markers.markers:
        assert all(sample.startswith(marker.literal) for sample in marker.samples)


def test_loading_imports_neither_polars_nor_pyparsing() -> None:
    program = (
        "import sys; from tflogscope.grammar.load import load_grammar; load_grammar();"
        "sys.exit(bool({'polars', 'pyparsing'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_what_was_parsed_at_install_is_what_the_files_say() -> None:
    for file in packaged_file("").rglob("*.toml"):
        assert read_toml(file, file.name) == tomllib.loads(file.read_text())


def test_a_file_that_changed_since_the_install_is_parsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, parsed = tmp_path / "own.toml", tmp_path / "parsed"
    file.write_text("number = 1")
    ready = {crc32(file.read_bytes()): marshal.dumps({"number": "as it was parsed"})}
    parsed.write_bytes(marshal.dumps(ready))
    monkeypatch.setattr(load, "_PARSED", parsed)
    monkeypatch.setattr(load, "_parsed", load._parsed.__wrapped__)
    assert read_toml(file, "own") == {"number": "as it was parsed"}
    parsed.write_bytes(parsed.read_bytes()[:-9])
    assert read_toml(file, "own") == {"number": 1}
    parsed.write_bytes(marshal.dumps(ready))
    file.write_text("number = 2")
    assert read_toml(file, "own") == {"number": 2}


def test_a_user_directory_adds_a_message(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(MESSAGE)
    grammar = load_grammar(tmp_path)
    assert grammar.message("own_message").fields == {
        "op": "name",
        "ms": "float",
        "device": "device",
    }
    assert grammar.files["executor.cc"] == GRAMMAR.files["executor.cc"]
    assert "own.cc" not in GRAMMAR.files


def test_a_user_directory_adds_to_a_file_that_is_known(tmp_path: Path) -> None:
    text = MESSAGE.replace("own.cc", "executor.cc")
    (tmp_path / "executor.toml").write_text(text)
    messages = load_grammar(tmp_path).files["executor.cc"].messages
    assert [message.id for message in messages][-1] == "own_message"
    assert messages[0].id == "process_node"


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('"own_message"', '"process_node"', "taken by"),
        ("${ms:float}", "${ms:real}", "no field type 'real'"),
        ("${ms:float}", "${ms}", "not ${name:type}"),
        ("$[ on", " on", "closes nothing"),
        ("$]'", "'", "$] is missing"),
        ("${op:name} took", "${op:name}${more:word} took", "no literal text"),
        ("${ms:float}", "${op:float}", "occurs twice"),
        ("Own ${op", "Own $ {op", "write $$"),
        ("ms = 0.5", "ms = 0.75", "'ms' is 0.5, not 0.75"),
        ("took 0.5", "lasted 0.5", "a sample does not match: expected op"),
        ("own.cc:12", "other.cc:12", "a line of other.cc"),
        ("  line = '2026", "  line = 'at 2026", "unknown prefix"),
        ("level = 1", "levels = 1", "unknown key `levels`"),
        ("level = 1", 'level = "1"', "`level` is not a int"),
        ('file = "own.cc"', 'files = ["own.cc", "b.cc"]', "needs a `file`"),
        ('meaning = "', "meaning = ", "not TOML"),
    ],
)
def test_a_wrong_grammar_file_is_named(tmp_path: Path, old: str, new: str, complaint: str) -> None:
    assert old in MESSAGE
    (tmp_path / "own.toml").write_text(MESSAGE.replace(old, new))
    with pytest.raises(GrammarError) as error:
        load_grammar(tmp_path)
    assert complaint in str(error.value)
    assert "own.toml" in str(error.value)


def test_a_message_without_sample_is_refused(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(MESSAGE.split("  [[message.sample]]", maxsplit=1)[0])
    with pytest.raises(GrammarError, match=r"own_message.*no sample"):
        load_grammar(tmp_path)


def test_a_sample_that_an_earlier_message_takes_is_refused(tmp_path: Path) -> None:
    second = MESSAGE.split("\n[[message]]")[1].replace("own_message", "later")
    (tmp_path / "own.toml").write_text(f"{MESSAGE}\n[[message]]{second}")
    with pytest.raises(GrammarError, match="'own_message' comes first"):
        load_grammar(tmp_path)


def test_a_directory_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(GrammarError, match="not a directory"):
        load_grammar(tmp_path / "nowhere")
