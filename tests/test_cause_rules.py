"""The rules of causes: each pattern with its samples, and changes that must not change a cause."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import Open
from tests.makelog import Dialect, Log, Node, wrapped
from tests.samples import run_of
from tflogscope import open_log
from tflogscope.api import LogRun as Run
from tflogscope.events.events import PLACES
from tflogscope.model.causes.eager_ops import read_eager_ops
from tflogscope.model.causes.patterns import Codes
from tflogscope.model.causes.rules import Shown, cause_grammar

QUICK = settings(max_examples=10)
DIALECTS: tuple[Dialect, ...] = ("classic", "tid", "absl")
TAPE = "./tensorflow/c/eager/tape.h"
FUNCTION = "__inference_f_7"
RULES = cause_grammar().rules
SHOWN = {f"{rule.id}-{number}": shown for rule in RULES for number, shown in enumerate(rule.shown)}
# By the op alone, by what `record` wrote or did not write, and what is left.
BY_NOTHING = {
    "constant",
    "library",
    "other-process",
    "no-program",
    "no-python",
    "no-function",
    "functions-run-eagerly",
}


# ---- each pattern on a piece of a real log ------------------------------------------------------


@dataclass(frozen=True)
class Sample:
    """`LOG: op >op op`, with ">" before the ops that the pattern fits."""

    log: str
    words: list[str]
    fits: list[bool]


@cache
def sample(text: str) -> Sample:
    log, words = text.split(": ", 1)
    return Sample(
        log,
        [word.removeprefix(">") for word in words.split()],
        [word.startswith(">") for word in words.split()],
    )


@cache
def text_of(log: str) -> str:
    """The eager ops of a log and the marks between them."""
    run = run_of(log)
    ops = read_eager_ops(
        run.events,
        run.stages.executions,
        run.stages.instantiations.kernels,
        cause_grammar().variables,
    )
    return f" {' '.join(ops.word.fill_null('|'))} "


def fitted(shown: Shown, words: list[str]) -> list[bool]:
    """Which of some words a pattern fits."""
    ops = pl.Series(words)
    distinct = ops.unique(maintain_order=True)
    code = ops.cast(pl.Enum(distinct)).to_physical().cast(pl.Int64).to_numpy()
    codes = Codes(cause_grammar().words, distinct, code)
    (found,) = codes.find([(shown.ops, shown.within)])
    return [bool(each) for each in found.spread(len(words)) >= 0]


@pytest.mark.parametrize("shown", SHOWN.values(), ids=SHOWN)
def test_a_pattern_fits_its_sample_and_not_its_near_miss(shown: Shown) -> None:
    holds, fails = sample(shown.holds), sample(shown.fails)
    assert fitted(shown, holds.words) == holds.fits
    assert any(holds.fits)
    assert not any(fitted(shown, fails.words))


@pytest.mark.thorough
@pytest.mark.parametrize("shown", SHOWN.values(), ids=SHOWN)
def test_samples_are_of_real_logs(shown: Shown) -> None:
    for each in (sample(shown.holds), sample(shown.fails)):
        assert f" {' '.join(each.words)} " in text_of(each.log)


def test_each_rule_has_a_pattern() -> None:
    assert {rule.id for rule in RULES if not rule.shown} == BY_NOTHING
    ids = [rule.id for rule in (*RULES, *cause_grammar().graph_rules)]
    assert len(set(ids)) == len(ids)


JOIN = "Shape StridedSlice " * 3 + "Pack StridedSlice Equal All All "


@pytest.mark.parametrize(
    ("function", "ops", "count"),
    [
        ("predict_function", "ConcatV2", 1),
        ("predict_function", "Identity Identity", 2),
        ("predict_function", JOIN + "ConcatV2", 12),
        ("one_step_on_data_distributed", (JOIN + "ConcatV2 ") * 2, 24),
        ("multi_step_on_data", JOIN + "Pack", 12),
        ("one_step_on_iterator", "Less", 1),
        ("multi_step_on_iterator", "Greater Less", 2),
        ("one_step_on_data", "Less ReadVariableOp Identity Less", 2),
        ("predict_function", "Mul ConcatV2", 0),
        ("predict_function", JOIN + "ConcatV2 Shape StridedSlice", 12),
        ("one_step_on_data_distributed", "ConcatV2", 0),  # Keras 2.8 alone joins just so
        ("one_step_on_data_distributed", JOIN[6:] + "ConcatV2", 0),
        ("one_step_on_iterator", "Less Mul", 1),
        ("train_function", "Less", 0),
        ("mine", JOIN + "ConcatV2", 0),
    ],
)
def test_what_keras_asks_for_between_its_calls(function: str, ops: str, count: int) -> None:
    [rule] = [rule for rule in RULES if rule.id == "keras-own"]
    words = [f"call:{function}", "AnonymousIteratorV3", *ops.split()]
    fits = zip(*(fitted(shown, words) for shown in rule.shown), strict=True)
    assert sum(map(any, fits)) == count


def test_what_is_no_pattern_is_refused() -> None:
    grammar = cause_grammar()
    for pattern in ("[Cast & Mul]", "[(Cast ! Mul)]"):
        with pytest.raises(ValueError, match=r"pattern|parentheses"):
            words = type(grammar.words)({}, [pattern])
            Codes(words, pl.Series(["Cast", "Mul"]), np.array([0, 1])).find([(pattern, None)])


# ---- logs made for it ---------------------------------------------------------------------------


class Program:
    """Writes the log of ops one after the other.

    Words are those of samples; `VarHandleOp:name[shape]` has the name and shape of its kernel.
    """

    def __init__(self, dialect: Dialect = "classic") -> None:
        self.log = Log(dialect)
        self.handles: dict[str, int] = {}

    def put(self, word: str, thread: int | None = None) -> int:
        """Write the records of a word; return the line of the dispatch."""
        if word == "tape-starts":
            return self.log.record(TAPE, 723, "Initial stack:", thread=thread)
        if word == "tape-ends":
            return self.log.record(TAPE, 896, "Final gradients size: 1", thread=thread)
        new = word not in self.handles
        handle = self.handles.setdefault(word, 2 * len(self.handles))
        if word.startswith("call"):
            return self.call(handle, thread)
        form = re.fullmatch(r"(\w+)(?::([^\[]*))?(?:\[(.*)\])?", word)
        assert form
        line = self.log.executing(form[1], thread)
        self.log.running(wrapped(form[1]), handle, thread)
        if new and form[3] is not None:
            name = f'debug_name="{form[2]}", ' if form[2] else ""
            attributes = f"{name}dtype=DT_FLOAT, shape=[{form[3]}]"
            kernel = Node(3, form[1], form[1], attributes=attributes)
            self.log.make_executor(wrapped(form[1]), kernel, thread=thread)
        self.log.ran_alone(thread=thread)
        return line

    def call(self, handle: int, thread: int | None) -> int:
        self.log.entering(FUNCTION, thread)
        line = self.log.executing(FUNCTION, thread)
        self.log.running(FUNCTION, handle, thread)
        self.log.ran(FUNCTION, handle, thread=thread)
        self.log.exiting(FUNCTION, thread=thread)
        return line


def rules_by_line(run: Run) -> dict[int, str | None]:
    """The rule that gave the cause of each dispatch, by the line of the dispatch."""
    causes = run.stages.causes
    names = [rule.id for rule in RULES]
    return {
        line: names[rule] if rule >= 0 else None
        for line, rule in zip((causes.at // PLACES + 1).tolist(), causes.rule.tolist(), strict=True)
    }


@pytest.mark.parametrize("dialect", DIALECTS)
def test_python_code_of_a_graph(opened: Open, dialect: Dialect) -> None:
    """What runs between the start and the end of an `EagerPyFunc`, on its thread."""
    program = Program(dialect)
    log = program.log
    node = Node(3, "EagerPyFunc", "EagerPyFunc", "x", attributes="Tin=[DT_FLOAT]")
    before = program.put("MatMul")
    log.entering(FUNCTION)
    log.executing(FUNCTION)
    start = log.start(node, -77)
    inside = [program.put("Square"), program.put("ReadVariableOp")]
    log.done(node, -77)
    log.exiting(FUNCTION)
    after = program.put("MatMul")
    run = opened(log)
    found = rules_by_line(run)
    assert [found[line] for line in inside] == ["python-code"] * 2
    assert [found[line] for line in (before, after)] == ["no-function"] * 2
    proven = run.executions.filter(pl.col("rule") == "python-code")["proof_line"]
    assert proven.to_list() == [start] * 2


def test_python_code_of_another_thread(opened: Open) -> None:
    program = Program("tid")
    node = Node(3, "EagerPyFunc", "EagerPyFunc", "x", attributes="Tin=[DT_FLOAT]")
    program.log.start(node, -77, thread=9001)
    inside, beside = program.put("Square", 9001), program.put("Square", 9000)
    program.log.done(node, -77, thread=9001)
    found = rules_by_line(opened(program.log))
    assert (found[inside], found[beside]) == ("python-code", "no-function")


def test_a_py_function_called_eagerly(opened: Open) -> None:
    program = Program()
    outer = program.log.executing("EagerPyFunc")
    program.log.running(wrapped("EagerPyFunc"), 100)
    inner = program.put("Square")
    program.log.ran_alone()
    after = program.put("Square")
    found = rules_by_line(opened(program.log))
    assert [found[line] for line in (outer, inner, after)] == [
        "python-function", "python-code", "no-function",
    ]  # fmt: skip


def test_a_gradient_needs_its_end(opened: Open) -> None:
    """A log that stops inside a tape proves nothing of what follows."""
    program = Program()
    lines = [program.put(word) for word in ("tape-starts", "MatMul", "Mul")]
    found = rules_by_line(opened(program.log))
    assert [found[line] for line in lines[1:]] == ["no-function"] * 2


@pytest.mark.parametrize(
    ("variable", "rule"),
    [
        ("VarHandleOp:adam/kernel_momentum/[4,2]", "optimizer-variable"),
        ("VarHandleOp:loss/total/[]", "metric-variable"),
        ("VarHandleOp:dense/bias/[4]", "variable"),
        ("VarHandleOp:normalization/count/[]", "variable"),
    ],
)
def test_the_name_of_a_variable_says_whose_it_is(opened: Open, variable: str, rule: str) -> None:
    """An optimizer is known by the `iteration` in its name scope; a metric's `count` by `total`."""
    program = Program()
    program.put("VarHandleOp:adam/iteration/[]")
    program.put("AssignVariableOp")
    lines = [program.put(word) for word in ("Fill", variable, "AssignVariableOp")]
    found = rules_by_line(opened(program.log))
    assert [found[line] for line in lines] == [rule] * 3


# ---- what must not change a cause ---------------------------------------------------------------

PIECES = (
    "Equal Equal LogicalAnd SelectV2 ShuffleDatasetV3",
    "ReadVariableOp ReadVariableOp DivNoNan Identity Mul",
    "Cast ArgMax Equal Cast Sum AssignAddVariableOp Cast AssignAddVariableOp",
    "MatMul tape-starts MatMul Mul tape-ends Sub",
    "Shape Reshape call Shape StridedSlice ConcatV2 Reshape Mul",
    "StatelessRandomUniformV2 Sub Mul AddV2 VarHandleOp[4,2] AssignVariableOp",
    "AnonymousIteratorV3 MakeIterator AssignVariableOp AssignVariableOp",
    "Fill VarHandleOp[] AssignVariableOp Fill VarHandleOp[] AssignVariableOp",
)
NO_VARIABLES = [text for text in PIECES if "VarHandleOp" not in text and "tape" not in text]


def test_the_dialect_of_the_prefix_changes_nothing(opened: Open) -> None:
    found = []
    for dialect in DIALECTS:
        program = Program(dialect)
        for word in " ".join(PIECES).split():
            program.put(word)
        found.append(rules_by_line(opened(program.log)))
    assert found[0] == found[1] == found[2]
    assert len({*found[0].values()}) > len(PIECES)


def open_text(path: Path, text: str) -> Run:
    path.write_text(text)
    return open_log(path)


@pytest.mark.thorough
@given(
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=4),
    st.lists(st.integers(0, 40), max_size=8),
)
@QUICK
def test_constants_anywhere_change_nothing(
    tmp_path: Path, texts: list[str], places: list[int]
) -> None:
    """Which constants have a line depends on what was used before (they are cached)."""
    words = " ".join(texts).split()
    plain, mixed = Program(), Program()
    lines = [plain.put(word) for word in words]
    moved = []
    for number, word in enumerate(words):
        for _ in range(places.count(number)):
            mixed.put("_EagerConst")
        moved.append(mixed.put(word))
    one = rules_by_line(open_text(tmp_path / "plain", plain.log.text()))
    other = rules_by_line(open_text(tmp_path / "mixed", mixed.log.text()))
    pairs = [(one.get(a), other.get(b)) for a, b in zip(lines, moved, strict=True)]
    assert all(a == b for a, b in pairs), list(zip(words, pairs, strict=True))


@pytest.mark.thorough
@given(
    st.lists(st.sampled_from(NO_VARIABLES), min_size=1, max_size=3),
    st.lists(st.sampled_from(NO_VARIABLES), min_size=1, max_size=3),
    st.randoms(use_true_random=False),
)
@QUICK
def test_threads_may_be_shuffled(tmp_path: Path, one: list[str], other: list[str], order) -> None:  # type: ignore[no-untyped-def]
    """With thread ids each thread has the causes that it would have alone."""
    parts = {9000: " ".join(one).split(), 9100: " ".join(other).split()}
    alone = {}
    for thread, words in parts.items():
        program = Program("tid")
        lines = [program.put(word, thread) for word in words]
        found = rules_by_line(open_text(tmp_path / f"{thread}", program.log.text()))
        alone[thread] = [found[line] for line in lines]
    turns = [thread for thread, words in parts.items() for _ in words]
    order.shuffle(turns)
    program = Program("tid")
    left = {thread: list(words) for thread, words in parts.items()}
    put: dict[int, list[int]] = {thread: [] for thread in parts}
    for thread in turns:
        put[thread].append(program.put(left[thread].pop(0), thread))
    found = rules_by_line(open_text(tmp_path / "both", program.log.text()))
    together = {thread: [found[line] for line in put[thread]] for thread in parts}
    assert together == alone
