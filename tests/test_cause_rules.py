"""Each rule of causes on a small log that shows it, and what must not change a cause."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conftest import Open
from tests.makelog import Dialect, Log, Node, wrapped
from tflogscope import Run, open_log
from tflogscope.model.causes.rules import GRAPH_RULES, RULES

QUICK = settings(
    max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
DIALECTS: tuple[Dialect, ...] = ("classic", "tid", "absl")
TAPE = "./tensorflow/c/eager/tape.h"
FUNCTION = "__inference_f_7"

# Ops in order; those after ">" are given by the rule. Also: "call", a call of a graph function;
# "<tape" and "tape>", a gradient; "VarHandleOp:name[shape]", the name and the shape of its kernel.
EXAMPLES = {
    "constant": ">_EagerConst Mul",
    "asked-whether-initialized": ">VarIsInitializedOp >VarIsInitializedOp >Pack call",
    "dataset-op": ">RangeDataset >MapDataset >AnonymousIteratorV3 >MakeIterator >IteratorGetNext",
    "dataset-helper": "Mul >Equal >Equal >LogicalAnd >SelectV2 ShuffleDatasetV3",
    "metric-variable": ">Fill >VarHandleOp[] >AssignVariableOp >Fill >VarHandleOp[] "
    ">AssignVariableOp",
    "optimizer-variable": "<tape tape> >Fill >VarHandleOp[4] >AssignVariableOp call",
    "variable": ">StatelessRandomGetKeyCounter >StatelessRandomUniformV2 >Sub >Mul >AddV2 "
    ">VarHandleOp[4,2] >AssignVariableOp",
    "checkpoint": ">StaticRegexFullMatch >Select >StringJoin >ShardedFilename >VarIsInitializedOp "
    ">ReadVariableOp >Identity >SaveV2 >Pack >MergeV2Checkpoints >Identity Mul",
    "count": ">AssignAddVariableOp",
    "keras-batch": "ReadVariableOp Identity ReadVariableOp Identity AnonymousIteratorV3 "
    "MakeIterator ReadVariableOp Identity IteratorGetNext >MatMul >Relu AssignAddVariableOp "
    "ReadVariableOp Identity",
    "metric-result": ">ReadVariableOp >ReadVariableOp >DivNoNan >Identity Mul",
    "metric-reset": "AnonymousIteratorV3 MakeIterator >AssignVariableOp >AssignVariableOp",
    "metric-update": "BiasAdd >Cast >ArgMax >Equal >Cast >Sum AssignAddVariableOp >Cast "
    "AssignAddVariableOp",
    "gradient": "MatMul <tape >MatMul >Mul tape> Sub",
    "jacobian": ">Shape >Reshape call >Shape >StridedSlice >ConcatV2 >Reshape Mul",
    "new-value": "Mul >AssignVariableOp Mul",
    "read": ">ReadVariableOp MatMul",
    "read-copy": "ReadVariableOp >Identity",
    "loop": ">Unpack >Less >LogicalAnd >Mul >Less >LogicalAnd >Mul >Less >LogicalAnd >Pack",
    "no-function": ">MatMul >Relu >Sum",
}
# Other forms of the same.
MORE = {
    "dataset-helper": (
        "Mul >StridedSlice >StridedSlice >StridedSlice RangeDataset MapDataset",
        # A strategy of two devices.
        (
            "IteratorGetNextAsOptional IteratorGetNextAsOptional OptionalHasValue >Cast "
            "OptionalHasValue >Cast >Pack >Range >Sum >Reshape >Greater OptionalHasValue "
            "OptionalGetValue"
        ),
    ),
    "checkpoint": (">RestoreV2 >Identity >AssignVariableOp >NoOp Mul",),
    "keras-batch": (
        # Keras 3: a step ends with an optional.
        (
            "AnonymousIteratorV3 MakeIterator IteratorGetNext >MatMul >Mul OptionalFromValue "
            "OptionalHasValue OptionalGetValue"
        ),
    ),
    "metric-update": (
        # Keras 3 adds before it assigns.
        (
            "Softmax >Equal >Cast >Sum >ReadVariableOp >AddV2 >AssignVariableOp >Shape >Cast "
            ">ReadVariableOp >AddV2 >AssignVariableOp"
        ),
        # The errors of each row; true and false positives.
        "BiasAdd >SquaredDifference >Mean >Sum AssignAddVariableOp >Cast AssignAddVariableOp",
        (
            "Sigmoid >Tile >Greater >LogicalAnd >Cast >Sum AssignAddVariableOp >LogicalAnd >Cast "
            ">Sum AssignAddVariableOp"
        ),
    ),
    "metric-result": (
        ">ReadVariableOp >ReadVariableOp >AddV2 >ReadVariableOp >DivNoNan Mul",
        ">ReadVariableOp >ReadVariableOp >DivNoNan >Sqrt Mul",
    ),
    "metric-reset": (
        "AnonymousIteratorV3 MakeIterator >Fill >AssignVariableOp >Fill >AssignVariableOp",
    ),
    "metric-variable": (
        # While a function is traced they may be made right after the slots.
        (
            "<tape tape> Fill VarHandleOp[4] AssignVariableOp >Fill >VarHandleOp[] "
            ">AssignVariableOp >Fill >VarHandleOp[] >AssignVariableOp call"
        ),
        (
            ">Fill >VarHandleOp:loss/total/[] >AssignVariableOp >Fill "
            ">VarHandleOp:loss/count/[] >AssignVariableOp"
        ),
        ">Fill >VarHandleOp:true_positives/[20] >AssignVariableOp",
    ),
    "optimizer-variable": (
        (
            ">Cast >VarHandleOp:adam/iteration/[] >AssignVariableOp "
            ">VarHandleOp:adam/learning_rate/[] >AssignVariableOp "
            ">VarHandleOp:adam/dense_kernel_momentum/[4,2] >AssignVariableOp"
        ),
    ),
    "variable": (
        # The program asks for the value itself; then a layer's initializer does.
        "Fill >VarHandleOp[4] >AssignVariableOp",
        ">Fill >VarHandleOp:dense/bias/[4] >AssignVariableOp",
        # A layer's count is no metric's: it has no total before it.
        ">Fill >VarHandleOp:normalization/count/[] >AssignVariableOp",
        ">RestoreV2 >Identity >VarHandleOp[4] >AssignVariableOp",
    ),
    "no-function": (
        # A mean of the whole batch is the program's own.
        ">MatMul >Square >Mean Range Sum AssignAddVariableOp Cast AssignAddVariableOp",
        ">LogicalAnd >Mul >LogicalAnd >Mul",
        "<tape tape> >Mul",
    ),
}
WHOLE_PROGRAM = {"python-code", "python-function"}  # tests of their own below
NO_VARIABLES = [
    text for text in EXAMPLES.values() if "VarHandleOp" not in text and "tape" not in text
]


class Program:
    """Writes the log of ops one after the other."""

    def __init__(self, dialect: Dialect = "classic") -> None:
        self.log = Log(dialect)
        self.handles: dict[str, int] = {}

    def put(self, word: str, thread: int | None = None) -> int:
        """Write what a word of an example stands for; return the line that dispatches."""
        word = word.removeprefix(">")
        if word == "<tape":
            return self.log.record(TAPE, 723, "Initial stack:", thread=thread)
        if word == "tape>":
            return self.log.record(TAPE, 896, "Final gradients size: 1", thread=thread)
        new = word not in self.handles
        handle = self.handles.setdefault(word, 2 * len(self.handles))
        if word == "call":
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

    def put_all(self, text: str, thread: int | None = None) -> list[tuple[str, int]]:
        """Write an example; return its words with their lines."""
        return [(word, self.put(word, thread)) for word in text.split()]


def rules_by_line(run: Run) -> dict[int, str | None]:
    """The rule that gave the cause of each dispatch, by the line of the dispatch."""
    causes = run._causes
    names = [rule.id for rule in RULES]
    return {
        line: names[rule] if rule >= 0 else None
        for line, rule in zip((causes.at + 1).tolist(), causes.rule.tolist(), strict=True)
    }


# ---- each rule ----------------------------------------------------------------------------------


def test_each_rule_has_an_example() -> None:
    assert set(EXAMPLES) | WHOLE_PROGRAM == {rule.id for rule in RULES}
    assert len({rule.id for rule in (*RULES, *GRAPH_RULES)}) == len(RULES) + len(GRAPH_RULES)


@pytest.mark.parametrize(
    ("rule", "text"),
    [(rule, text) for rule, first in EXAMPLES.items() for text in (first, *MORE.get(rule, ()))],
)
def test_a_rule_on_a_log_that_shows_it(opened: Open, rule: str, text: str) -> None:
    program = Program()
    written = program.put_all(text)
    run = opened(program.log)
    found = rules_by_line(run)
    for word, line in written:
        if word in {"<tape", "tape>"}:
            continue
        assert (found[line] == rule) == word.startswith(">"), (word, found[line])
    (cause,) = {each.cause for each in RULES if each.id == rule}
    lines = [line for word, line in written if word.startswith(">")]
    timeline = run.timeline.filter(pl.col("line").is_in(lines))
    assert timeline["cause"].unique().to_list() == [cause]


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
    assert start - 1 in run._causes.evidence.filter(rule="python-code")["at"].to_list()


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
    written = program.put_all("<tape MatMul Mul")
    found = rules_by_line(opened(program.log))
    assert [found[line] for _, line in written[1:]] == ["no-function"] * 2


# ---- what must not change a cause ---------------------------------------------------------------


def test_the_dialect_of_the_prefix_changes_nothing(opened: Open) -> None:
    found = []
    for dialect in DIALECTS:
        program = Program(dialect)
        program.put_all(" ".join(EXAMPLES.values()))
        found.append(rules_by_line(opened(program.log)))
    assert found[0] == found[1] == found[2]


def open_text(path: Path, text: str) -> Run:
    path.write_text(text)
    return open_log(path)


@given(
    st.lists(st.sampled_from(sorted(EXAMPLES.values())), min_size=1, max_size=4),
    st.lists(st.integers(0, 40), max_size=8),
)
@QUICK
def test_constants_anywhere_change_nothing(
    tmp_path: Path, texts: list[str], places: list[int]
) -> None:
    """Which constants have a line hangs on what was used before (they are cached)."""
    words = [word for word in " ".join(texts).split() if word != ">_EagerConst"]
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


@given(
    st.lists(st.sampled_from(NO_VARIABLES), min_size=1, max_size=3),
    st.lists(st.sampled_from(NO_VARIABLES), min_size=1, max_size=3),
    st.randoms(use_true_random=False),
)
@QUICK
def test_threads_may_be_shuffled(tmp_path: Path, one: list[str], other: list[str], order) -> None:  # type: ignore[no-untyped-def]
    """With thread ids each thread has the causes that it has alone."""
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
