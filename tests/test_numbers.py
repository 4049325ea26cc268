"""Numbers in a log that no program writes: too large, too long, negative, none."""

from __future__ import annotations

import io
import json
import re
import warnings
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.deep import first_quick
from tests.samples import raw_log
from tests.test_model_schema import SCHEMA
from tests.verbose_samples import verbose_samples
from tflogscope import open_log
from tflogscope.cli.main import main
from tflogscope.digits import whole
from tflogscope.exports.benchdnn import benchdnn_cases
from tflogscope.grammar.load import load_grammar
from tflogscope.model.calls.processes import worker_of
from tflogscope.model.common.origin import place_of
from tflogscope.sources.discover import natural_key
from tflogscope.views.analyze import analyze_document, summary_json
from tflogscope.views.markdown import markdown
from tflogscope.views.terminal import draw

GRAMMAR = load_grammar()
ODD = {
    "2^63": str(2**63), "2^31": str(2**31), "2^70": str(2**70), "5,000 digits": "9" * 5000,
    "zeros": "0" * 5000 + "7", "negative": "-1", "none": "null", "float": "1e999", "script": "٣²",
}  # fmt: skip
odd = pytest.mark.parametrize("number", first_quick((each,) for each in ODD.values()), ids=ODD)
RECORD = (
    "2026-11-21 03:40:00.{:06d}: I tensorflow/core/common_runtime/eager/execute.cc:1678] "
    "Executing op AddV2 in device /job:localhost/replica:0/task:0/device:CPU:0"
)
HEADS = {
    "mpirun": "[1,{}]<stderr>:",
    "hydra": "[{}] ",
    "srun": "{}: ",
    "torchrun": "[default{}]:",
    "ray": "(train_fn pid={}) ",
    "journal": "Nov 21 03:56:34 node1 python[{}]: ",
    "grep": "run.log:{}:",
    "numbered": "    {}\t",
}


def read_all(path: Path, data: bytes) -> None:
    """All tables of a log, and what is shown of it."""
    path.write_bytes(data)
    run = open_log(path)
    assert run.coverage["lines"].sum() == data.count(b"\n") + (not data.endswith(b"\n"))
    assert all(getattr(run, name) is not None for name in SCHEMA)
    assert summary_json(run)
    draw(analyze_document(run), Console(file=io.StringIO(), width=100))
    assert markdown(analyze_document(run))
    _ = run.slices, run.recorded_as, run.findings


def test_a_whole_number_is_of_63_bits() -> None:
    assert [whole("0"), whole(b"007"), whole("0" * 5000 + "7")] == [0, 7, 7]
    assert whole(str(2**63 - 1)) == 2**63 - 1
    for text in ("", "-1", "1.5", "null", "²", "٣", str(2**63), "9" * 5000, "1" + "0" * 5000):
        assert whole(text) is None, text[:20]


def test_digits_of_any_length_are_in_order() -> None:
    names = ["a1", "a01", "a2", "a10", "a" + "9" * 5000]
    assert sorted(names, key=natural_key) == ["a01", *names[:1], *names[2:]]


@odd
@pytest.mark.parametrize("head", HEADS)
def test_what_is_before_a_line_has_any_number(tmp_path: Path, number: str, head: str) -> None:
    path = tmp_path / "run.log"
    numbers = ["0", "1", number]
    lines = [HEADS[head].format(numbers[each % 3]) + RECORD.format(each) for each in range(9)]
    path.write_text("\n".join([*lines, ""]))
    with warnings.catch_warnings(action="ignore"):  # that these are several runs
        coverage = open_log(path).coverage
    assert coverage["lines"].sum() == 9
    assert coverage["recognised"].sum() >= 6


@odd
def test_each_number_of_each_message(tmp_path: Path, number: str) -> None:
    samples = [each.line for message in GRAMMAR.by_id.values() for each in message.samples]
    samples += [each.line for each in verbose_samples()]
    lines = []
    for sample in samples:
        before = GRAMMAR.split_prefix(sample)
        text = before[1] if before else sample
        start = sample.removesuffix(text)
        lines.append(start + re.sub(r"-?[0-9]+", lambda _: number, text))
        # One at a time: a message with all of them may be no message.
        lines += [
            start + text[: found.start()] + number + text[found.end() :]
            for found in list(re.finditer(r"-?[0-9]+", text))[:8]
        ]
    read_all(tmp_path / "run.log", "\n".join(lines).encode())


@odd
def test_each_number_of_a_prefix(tmp_path: Path, number: str) -> None:
    samples = [each.line for prefix in GRAMMAR.prefixes.values() for each in prefix.samples]
    lines = [
        sample[: found.start()] + number + sample[found.end() :]
        for sample in [*samples, RECORD.format(1)]
        for found in re.finditer(r"[0-9]+", sample)
    ]
    read_all(tmp_path / "run.log", "\n".join([RECORD.format(1), *lines]).encode())


@odd
def test_each_number_that_record_writes(tmp_path: Path, number: str) -> None:
    header: dict[str, Any] = {
        "versions": {"tensorflow": "2.20.0", "python": "3.11.9"},
        "command": ["python", "train.py"],
        "environment": {"RANK": "NUMBER", "OMP_NUM_THREADS": "NUMBER", "TF_CONFIG": "NUMBER"},
        "started": "2026-11-21T03:39:59.000+01:00",
        "calibrated": {"f": 17},
        "zone_seconds": 17,
        "cpus": 17,
    }
    first = json.dumps(header).replace("17", "NUMBER").replace("NUMBER", number)
    for settings in (first, first.replace(f'"{number}"', number)):
        head = "# tflogscope record " + settings.replace(" ", "")
        foot = f'# tflogscope record {{"status":{number},"ended":"2026-11-21T03:41:00.000+01:00"}}'
        read_all(tmp_path / "run.log", "\n".join([head, RECORD.format(1), foot, ""]).encode())
    config = {"cluster": {"worker": ["a", "b"]}, "task": {"type": "worker", "index": 0}}
    settings = json.dumps(config).replace("0", number)
    assert place_of({"TF_CONFIG": settings, "RANK": number})[1] in (None, 2**31, 7)


@odd
def test_a_stack_with_any_line(tmp_path: Path, number: str) -> None:
    text = raw_log("py_function__tf2.21.0__vlog2").decode()
    if "tflogscope stack" not in text:
        frames = f'tflogscope stack 1.1 [["a.py",{number},"f"],["a.py",2,"g"]]'
        text = f"{frames}\ntflogscope op {number} 1.1 AddV2\ntflogscope op 7 1.1 AddV2\n{text}"
    read_all(tmp_path / "run.log", text.encode())


BESIDE = {
    "processors": "onednn_verbose,v1,info,cpu,runtime:threadpool,nthr:{}",
    "version": "onednn_verbose,v1,info,oneDNN v{0}.{0}.{0} (commit N/A)",
    "problem": "onednn_verbose,v1,primitive,exec,cpu,matmul,x,undef,src_f32::blocked:ab::f0,"
    "attr-post-ops:eltwise_relu:{0},,{0}x{0}:{0}x{0},{0}.{0}",
    "tests": "==== {0} failed, {0} passed in {0}.{0}s ====",
    "task": RECORD.format(1).replace("/job:localhost", "/job:worker").replace("task:0", "task:{}"),
    "device": RECORD.format(1).replace("CPU:0", "CPU:{}"),
    "error": 'Traceback (most recent call last):\n  File "a.py", line {0}, in <module>\n'
    "ValueError: Incompatible shapes: [{0},3] vs. [{0},4]",
    "trace": "tflogscope trace 7.1 {0} __inference_f_{0} "
    '[["a.py",{0}],[["x","list of {0} 0.5"],["y","float32[{0},32]"]],{0}]\n'
    "tflogscope trace 7.1 {0} __inference_f_{0} "
    '[["a.py",{0}],[["x","list of 2{0} 0.5"],["y","float32[2{0},32]"]],{0}]',
    "call": RECORD.format(1).partition("Executing")[0] + "Executing op __inference_f_{0} in device "
    "/job:localhost/replica:{0}/task:{0}/device:CPU:{0}",
}


@odd
@pytest.mark.parametrize("text", BESIDE)
def test_numbers_that_no_message_has(tmp_path: Path, number: str, text: str) -> None:
    """They are read by patterns of their own, from the end of a log or a part of a message."""
    line = BESIDE[text].replace("{0}", number).replace("{}", number)
    log = "\n".join([RECORD.format(1), RECORD.format(2), line, RECORD.format(3), line, ""])
    read_all(tmp_path / "run.log", log.encode())
    run = open_log(tmp_path / "run.log")
    assert worker_of(run.events) in (None, 1, 7, 2**31)
    run.check()
    run.report(tmp_path / "run.html")
    run.trace(tmp_path / "run.json")
    assert benchdnn_cases(run.primitives).columns
    assert main(["redact", str(tmp_path / "run.log"), "-o", str(tmp_path / "out.log")]) == 0
