"""Ops dispatched alone: what they were before a rewrite, what ran them, when they ended."""

from __future__ import annotations

import polars as pl
import pytest

from tests.conftest import Open
from tests.makelog import CPU, MATMUL, TICK, Dialect, Log, Node, wrapped
from tflogscope import Run

SOFTMAX = Node(5, "Softmax", "_MklSoftmax", "logits")
STEP = -3331


def eager(run: Run) -> pl.DataFrame:
    return run.timeline.filter(pl.col("mode") == "eager")


def softmax_made(log: Log, handle: int, *, rewritten: bool = True) -> None:
    """The first dispatch of a Softmax makes the function that wraps it."""
    name = wrapped("Softmax")
    log.eager_input("Softmax")
    log.instantiate(name, handle, *([(SOFTMAX, "Softmax")] if rewritten else []))


def test_an_eager_op_has_time_place_and_no_node(opened: Open) -> None:
    log = Log()
    line = log.eager_op("Mul", 6)
    row = opened(log).timeline.to_dicts()[0]
    assert (row["mode"], row["kind"], row["status"]) == ("eager", "op", "done")
    assert (row["line"], row["end_line"], row["duration_us"]) == (line, line + 2, 2 * TICK)
    assert (row["op"], row["kernel"], row["rewrite"]) == ("Mul", "Mul", "none")
    nulls = ("node", "function", "function_uid", "flavour", "call", "step", "thread")
    assert [row[name] for name in nulls] == [None] * len(nulls)
    assert row["device"] == CPU


def test_an_op_of_the_eager_registry_has_its_name_from_before(opened: Open) -> None:
    """`MatMul:input:0` … `Executing op _MklMatMul`."""
    log = Log()
    log.eager_input("MatMul")
    line = log.eager_op("_MklMatMul", 4)
    run = opened(log)
    row = run.timeline.to_dicts()[0]
    assert (row["op"], row["kernel"], row["rewrite"]) == ("MatMul", "_MklMatMul", "eager")
    rewrite = run.rewrites.to_dicts()[0]
    assert (rewrite["line"], rewrite["from_op"], rewrite["to_op"]) == (line, "MatMul", "_MklMatMul")
    assert (rewrite["by"], rewrite["ran"], rewrite["node"]) == ("eager", True, None)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("kernel", "op"),
    [
        ("_MklNativeConv2D", "Conv2D"),
        ("_MklNativeAvgPool", "AvgPool"),
        ("_MklBatchMatMulV2", "BatchMatMulV2"),
        ("_MklEinsum", "Einsum"),
        ("_MklNativeFusedBatchNormV3", "FusedBatchNormV3"),
        ("_MklNativeDepthwiseConv2dNative", "DepthwiseConv2dNative"),
        ("_MklEagerConv2D", "Conv2D"),
    ],
)
def test_names_that_the_registry_dispatches(opened: Open, kernel: str, op: str) -> None:
    log = Log()
    log.eager_op(kernel, 4)
    row = eager(opened(log)).to_dicts()[0]
    assert (row["op"], row["kernel"], row["rewrite"]) == (op, kernel, "eager")


def test_a_wrapped_rewrite_is_found_by_its_handle_ever_after(opened: Open) -> None:
    """Later runs print `Executing op Softmax` only; the kernel is `_MklSoftmax`."""
    log = Log()
    softmax_made(log, 8)
    first = log.executing("Softmax")
    log.running(wrapped("Softmax"), 8)
    log.ran_alone()
    log.eager_op("Mul", 6)
    later = log.eager_op("Softmax", 8)
    run = opened(log)
    rows = eager(run).filter(pl.col("op") == "Softmax")
    assert rows.select("line", "kernel", "rewrite").rows() == [
        (first, "_MklSoftmax", "wrapped"),
        (later, "_MklSoftmax", "wrapped"),
    ]
    rewrites = run.rewrites.to_dicts()
    assert [(row["by"], row["wrapped_op"], row["ran"]) for row in rewrites] == [
        ("wrapped", "Softmax", True)
    ]
    assert (rewrites[0]["from_op"], rewrites[0]["to_op"]) == ("Softmax", "_MklSoftmax")
    assert rewrites[0]["function"] is None


def test_the_same_op_of_another_dtype_has_a_handle_of_its_own(opened: Open) -> None:
    log = Log()
    softmax_made(log, 8)
    log.eager_op("Softmax", 8)
    softmax_made(log, 10, rewritten=False)  # DT_DOUBLE: no such kernel of oneDNN
    log.eager_op("Softmax", 10)
    log.eager_op("Softmax", 8)
    assert eager(opened(log))["kernel"].to_list() == ["_MklSoftmax", "Softmax", "_MklSoftmax"]


def test_a_rewrite_whose_function_never_ran_is_a_phantom(opened: Open) -> None:
    log = Log()
    softmax_made(log, 8)
    softmax_made(log, 10)
    log.eager_op("Softmax", 10)
    run = opened(log)
    assert run.rewrites.select("by", "ran").rows() == [("wrapped", False), ("wrapped", True)]
    assert eager(run)["kernel"].to_list() == ["_MklSoftmax"]


def test_a_function_that_is_made_and_never_called_has_phantoms(opened: Open) -> None:
    log = Log()
    log.instantiate("__inference_never_7", 8, (MATMUL, "MatMul"))
    log.instantiate("__inference_f_9", 10, (MATMUL, "MatMul"))
    log.call("__inference_f_9", 10, STEP, MATMUL)
    rewrites = opened(log).rewrites
    assert rewrites.select("function", "function_uid", "by", "ran").rows() == [
        ("never", 7, "layout", False),
        ("f", 9, "layout", True),
    ]
    assert rewrites.select("node", "from_op", "to_op").unique().rows() == [
        ("MatMul", "MatMul", "_MklMatMul")
    ]


def test_before_2_10_an_eager_op_has_no_end(opened: Open) -> None:
    log = Log()
    log.eager_input("MatMul")
    log.executing("_MklMatMul")
    log.executing("Softmax")
    run = opened(log)
    assert eager(run).select("op", "status", "duration_us").rows() == [
        ("MatMul", "unknown", None),
        ("Softmax", "unknown", None),
    ]
    assert run.ops["total_us"].to_list() == [None, None]


def test_a_failed_eager_op(opened: Open) -> None:
    log = Log()
    log.eager_op("Mul", 6)
    log.executing("_MklMatMul")
    log.running(wrapped("_MklMatMul"), 4)
    log.ran_alone("INVALID_ARGUMENT: Matrix size-incompatible: In[0]: [4,4], In[1]: [3,3]")
    log.eager_op("Mul", 6)
    rows = eager(opened(log))
    assert rows["status"].to_list() == ["done", "failed", "done"]
    assert rows["duration_us"].to_list() == [2 * TICK] * 3


def test_the_failure_of_two_ops_at_once_is_that_of_the_later_one(opened: Open) -> None:
    log = Log()
    log.executing("MaxPool")
    log.running(wrapped("MaxPool"), 4)
    log.executing("IteratorGetNext")
    log.running(wrapped("IteratorGetNext"), 6)
    failed = log.ran_alone("OUT_OF_RANGE: End of sequence")
    done = log.ran_alone()
    rows = eager(opened(log)).select("op", "status", "end_line").rows()
    assert rows == [("MaxPool", "done", done), ("IteratorGetNext", "failed", failed)]


def test_a_log_that_ends_in_an_eager_op(opened: Open) -> None:
    log = Log()
    log.eager_op("Mul", 6)
    log.executing("Mul")
    log.running(wrapped("Mul"), 6)
    assert eager(opened(log))["status"].to_list() == ["done", "unfinished"]


@pytest.mark.parametrize("dialect", ["classic", "tid", "absl"])
def test_async_eager_ops_run_on_another_thread(opened: Open, dialect: Dialect) -> None:
    """`Executing op` is printed when the op is enqueued; a thread of its own runs it later."""
    log = Log(dialect)
    python, runner = 26187, 26200
    lines = [log.executing(op, python) for op in ("Mul", "Softmax", "Mul")]
    ends = []
    for op, handle in (("Mul", 6), ("Softmax", 8), ("Mul", 6)):
        log.wait(50)
        log.running(wrapped(op), handle, runner)
        ends.append(log.ran_alone(thread=runner))
    rows = eager(opened(log))
    assert rows.select("line", "end_line").rows() == list(zip(lines, ends, strict=True))
    assert rows["thread"].unique().to_list() == [None if dialect == "classic" else python]
    assert rows["status"].to_list() == ["done"] * 3


def test_threads_do_not_end_each_others_ops(opened: Open) -> None:
    log = Log("tid")
    one, two = 11, 22
    first = log.executing("Mul", one)
    log.running(wrapped("Mul"), 6, one)
    second = log.executing("Mul", two)
    log.running(wrapped("Mul"), 6, two)
    second_end = log.ran_alone(thread=two)
    first_end = log.ran_alone(thread=one)
    rows = eager(opened(log))
    assert rows.select("line", "end_line", "thread").rows() == [
        (first, first_end, one),
        (second, second_end, two),
    ]


def test_the_op_names_of_functions_are_not_taken_for_ops(opened: Open) -> None:
    log = Log()
    log.executing("__inference_f_7")
    log.executing("Mul")
    rows = eager(opened(log))
    assert rows.select("kind", "op", "call").rows() == [
        ("call", "__inference_f_7", 0),
        ("op", "Mul", None),
    ]


@pytest.mark.parametrize("op", ["Mul", "_EagerConst", "MklX", "Addons>Bar", "TensorListReserve"])
def test_op_names_are_kept_to_the_letter(opened: Open, op: str) -> None:
    log = Log()
    log.eager_op(op, 6)
    row = eager(opened(log)).to_dicts()[0]
    assert (row["op"], row["kernel"], row["rewrite"], row["status"]) == (op, op, "none", "done")


def test_a_wrap_is_named_by_the_lengths_of_lists_too(opened: Open) -> None:
    log = Log()
    log.executing("ConcatV2")
    log.running(f"__wrapped__ConcatV2_N_2_device_{CPU}", 6)
    log.ran_alone()
    assert eager(opened(log)).select("op", "status").rows() == [("ConcatV2", "done")]
