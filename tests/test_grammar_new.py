"""What is new in TensorFlow's texts is an entry in a grammar file, and the scanner reads it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.makelog import CPU
from tflogscope.errors import GrammarError
from tflogscope.events.events import Events
from tflogscope.events.scan import Scan
from tflogscope.grammar.compiled import compile_grammar
from tflogscope.grammar.load import load_grammar
from tflogscope.sources.source import Source

DIALECT = """
[[prefix]]
id = "new"
shape = "<YYYY/MM/DD hh:mm:ss.ffffff> S "
site = "thread ${thread:uint} at ${path:path}:${line:uint}: "
meaning = "A dialect that no TensorFlow has."
"""
MARKER = """
[[marker]]
literal = "newdnn_verbose,"
meaning = "A marker that no oneDNN has."
"""
EXECUTOR = r'''
source = "tensorflow/core/common_runtime/executor.cc"
file = "executor.cc"
[[message]]
id = "node_begins"
level = 1
text = 'Node ${id:uint} of step ${step:int} begins: ${definition} device: ${device:device}'
scan = """Node ${id:uint} of step ${step:int} begins: \
    $<{{node ${node:text}}} = ${op:text}[${attributes:longest}](${inputs:text}) \
    device: ${device:device}"""
table = "nodes"
starts = ["id", "step", "device"]
meaning = "A form that no executor has."
  [[message.sample]]
  release = "2.99"
  origin = "source"
  line = """2026-11-21 03:56:35.000000: I tensorflow/core/common_runtime/executor.cc:841] \
    Node 7 of step -5 begins: {{node a}} = NoOp[]() device: /device:CPU:0"""
    [message.sample.fields]
    id = 7
    step = -5
    device = "/device:CPU:0"
    node = "a"
    op = "NoOp"
    attributes = ""
    inputs = ""
[[message]]
id = "node_stops"
level = 1
text = 'Node ${id:uint} of step ${step:int} stops: ${definition} device: ${device:device}'
scan = """Node ${id:uint} of step ${step:int} stops: \
    $<{{node ${node:text}}} = ${op:text}[${attributes:longest}](${inputs:text}) \
    device: ${device:device}"""
table = "nodes"
ends = ["id", "step", "device"]
meaning = "Its end."
  [[message.sample]]
  release = "2.99"
  origin = "source"
  line = """2026-11-21 03:56:35.000000: I tensorflow/core/common_runtime/executor.cc:898] \
    Node 7 of step -5 stops: {{node a}} = NoOp[]() device: /device:CPU:0"""
    [message.sample.fields]
    id = 7
    step = -5
    device = "/device:CPU:0"
    node = "a"
    op = "NoOp"
    attributes = ""
    inputs = ""
'''
DEFINITION = f'{{{{node a}}}} = NoOp[_device="{CPU}"]()'


def events(tmp_path: Path, entries: str, log: str) -> Events:
    folder = tmp_path / "grammar"
    folder.mkdir()
    (folder / "new.toml").write_text(entries)
    path = tmp_path / "run.log"
    path.write_text(log)
    grammar = load_grammar(folder)
    return Events(Scan([Source(str(path))], grammar).wait(), grammar)


def test_a_dialect(tmp_path: Path) -> None:
    begin = "<2026/11/21 03:56:35.000007> I thread 12 at core/common_runtime/executor.cc:841: "
    message = f"Process node: 7 step -5 {DEFINITION} device: {CPU}\n"
    glued = f"printed by the program{begin}{message}"
    found = events(tmp_path, DIALECT, f"{begin}{message}{glued}")
    assert found.runs.select("time", "step").rows() == [(1_795_233_395_000_007, 0)] * 2
    assert found.steps.tolist() == [-5]
    assert found.threads.tolist() == [12]
    assert found.coverage["torn"].to_list() == [1]


def test_a_marker(tmp_path: Path) -> None:
    line = "newdnn_verbose,exec,cpu,reorder,jit:uni,undef,src_f32::blocked:ab:f0,,,4x32,0.046875\n"
    found = events(tmp_path, MARKER, f"{line}printed{line}")
    assert [text for (text,) in found.verbose.frame().select("text").rows()] == [line[:-1]] * 2


def test_a_form_of_the_executors_line(tmp_path: Path) -> None:
    prefix = "2026-11-21 03:56:35.00000{}: I tensorflow/core/common_runtime/executor.cc:841] "
    begin = f"{prefix.format(7)}Node 7 of step -5 begins: {DEFINITION} device: {CPU}\n"
    end = f"{prefix.format(9)}Node 7 of step -5 stops: {DEFINITION} device: {CPU}\n"
    found = events(tmp_path, EXECUTOR, begin + end)
    assert found.seen == {"node_begins", "node_stops"}
    (run,) = found.runs.select("step", "time", "end_time").rows()
    assert run == (0, 1_795_233_395_000_007, 1_795_233_395_000_009)
    assert found.steps.tolist() == [-5]
    definitions = found.definitions.select("node", "op", "device", "whole")
    assert definitions.rows() == [("a", "NoOp", CPU, True)]


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        (DIALECT.replace(".ffffff", ""), "needs .ffffff"),
        (DIALECT.replace("${line:uint}: ", "${line:uint}"), "literal"),
        (EXECUTOR.replace('"nodes"', '"knots"'), "nodes"),
        (EXECUTOR.replace("${inputs:text}", "${inputs:word}"), "inputs"),
        (EXECUTOR.replace('"device"]', '"thread"]'), "thread"),
        (EXECUTOR.replace('"id", "step"', '"step", "id"'), "in the order"),
        (EXECUTOR.replace(" device: ", " on "), "ends with"),
    ],
)
def test_what_the_scanner_can_not_read_is_said(tmp_path: Path, entries: str, said: str) -> None:
    (tmp_path / "new.toml").write_text(entries)
    with pytest.raises(GrammarError, match=said):
        compile_grammar(load_grammar(tmp_path))
