"""Which function and which call each row belongs to."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from tests.conftest import Open
from tests.makelog import ADD, MATMUL, RETVAL, SOURCE, TICK, Dialect, Log, Node, X, wrapped
from tflogscope import Run
from tflogscope.model.calls.steps import _each_once

F, G = "__inference_f_24", "__inference_g_51"
STEP = -7748365561995536539
NODES = (X, MATMUL, ADD, RETVAL)
OTHERS = (X, Node(3, "Sum", "Sum", "x"), Node(4, "ret_RetVal", "_Retval", "Sum"))
ELEMENT = (Node(2, "args_0", "_Arg"), Node(3, "mul", "Mul", "args_0"))


def graph(run: Run) -> pl.DataFrame:
    return run.timeline.filter(pl.col("mode") == "graph")


def calls(run: Run) -> pl.DataFrame:
    return run.timeline.filter(pl.col("kind") == "call")


def of_step(run: Run, step: int) -> set[tuple[str | None, int | None]]:
    rows = graph(run).filter(pl.col("step") == step)
    assert rows.height
    return set(rows.select("function", "call").iter_rows())


@pytest.mark.parametrize("dialect", ["classic", "tid", "absl"])
def test_the_rows_of_a_call_carry_its_function_and_number(opened: Open, dialect: Dialect) -> None:
    log = Log(dialect)
    first, _ = log.first_call(F, 6, STEP, *NODES)
    second, _ = log.call(F, 6, STEP + 1, *NODES)
    run = opened(log)
    rows = calls(run).to_dicts()
    assert [row["line"] for row in rows] == [first, second]
    assert [row["call"] for row in rows] == [0, 1]
    for row in rows:
        assert (row["mode"], row["op"], row["kernel"]) == ("eager", F, F)
        assert (row["function"], row["function_uid"], row["flavour"]) == ("f", 24, "inference")
        assert (row["status"], row["node"], row["step"]) == ("done", None, None)
    assert of_step(run, STEP) == {("f", 0)}
    assert of_step(run, STEP + 1) == {("f", 1)}
    assert graph(run)["flavour"].unique().to_list() == ["inference"]
    assert graph(run)["cause"].null_count() == graph(run).height


def test_a_call_spans_its_steps(opened: Open) -> None:
    log = Log()
    log.first_call(F, 6, STEP, *NODES)
    run = opened(log)
    call = calls(run).to_dicts()[0]
    inside = graph(run)
    assert call["start"] <= inside["start"].min()
    assert call["end"] >= inside["end"].max()
    assert call["duration_us"] >= inside["duration_us"].sum()


@pytest.mark.parametrize(
    ("full", "function", "uid", "flavour"),
    [
        ("__inference_train_function_8586", "train_function", 8586, "inference"),
        ("__forward_loss_fn_115", "loss_fn", 115, "forward"),
        ("__inference___backward_loss_73_114", "loss", 114, "backward"),
        ("__backward_loss_114", "loss", 114, "backward"),
        ("__inference_f_1_2", "f_1", 2, "inference"),
    ],
)
def test_names_of_functions(opened: Open, full: str, function: str, uid: int, flavour: str) -> None:
    log = Log()
    log.first_call(full, 6, STEP, *NODES)
    run = opened(log)
    row = calls(run).to_dicts()[0]
    assert (row["op"], row["function"], row["function_uid"], row["flavour"]) == (
        full, function, uid, flavour,
    )  # fmt: skip
    assert of_step(run, STEP) == {(function, 0)}
    assert graph(run)["flavour"].unique().to_list() == [flavour]


def test_a_function_that_is_traced_again_counts_its_traces(opened: Open) -> None:
    log = Log()
    log.first_call("__inference_f_24", 6, STEP, *NODES)
    log.first_call("__inference_g_30", 8, STEP + 1, *OTHERS)
    log.first_call("__inference_f_51", 10, STEP + 2, *NODES)
    log.call("__inference_f_24", 6, STEP + 3, *NODES)
    log.first_call("__inference_f_77", 12, STEP + 4, *NODES)
    table = opened(log).functions
    assert table.select("function", "function_uid", "traces", "calls").rows() == [
        ("f", 24, 1, 2),
        ("g", 30, 1, 1),
        ("f", 51, 2, 1),
        ("f", 77, 3, 1),
    ]


def test_facts_of_a_function(opened: Open) -> None:
    log = Log()
    log.entering(F)
    made = log.instantiating(F)
    log.wait(1000)
    log.rewrite(MATMUL, "MatMul")
    log.instantiated(F, 6)
    log.executing(F)
    log.running(F, 6)
    log.make_executor(F, *NODES)
    log.step(STEP, *NODES)
    log.ran(F, 6)
    log.exiting(F)
    log.call(F, 6, STEP + 1, *NODES)
    run = opened(log)
    row = run.functions.to_dicts()[0]
    durations = calls(run)["duration_us"].to_list()
    assert (row["instantiated_line"], row["first_line"]) == (made, made)
    assert row["instantiation_us"] == 1000 + 6 * TICK
    assert (row["calls"], row["total_us"], row["mean_us"]) == (
        2, sum(durations), sum(durations) / 2,
    )  # fmt: skip
    assert (row["nodes"], row["rewritten_nodes"]) == (5, 1)  # _SOURCE is one of them


def test_a_step_without_a_call_is_one_of_tf_data(opened: Open) -> None:
    log = Log()
    log.step(-11, *ELEMENT)
    log.first_call(F, 6, STEP, *NODES)
    log.step(-12, *ELEMENT)
    log.call(F, 6, STEP + 1, *NODES)
    run = opened(log)
    for step in (-11, -12):
        rows = graph(run).filter(pl.col("step") == step)
        assert rows["call"].null_count() == rows.height
        assert set(rows["cause"].to_list()) == {"dataset-function"}
        assert set(rows["flavour"].to_list()) == {"dataset"}
    assert of_step(run, STEP) == {("f", 0)}
    assert of_step(run, STEP + 1) == {("f", 1)}


def test_steps_of_tf_data_during_a_call_are_not_the_calls(opened: Open) -> None:
    """The element function of a dataset runs between start and end of the training step."""
    log = Log()
    log.first_call(F, 6, STEP, *NODES)
    for number in range(3):
        log.entering(F)
        log.executing(F)
        log.running(F, 6)
        step = STEP + 1 + number
        log.run(SOURCE, step)
        log.step(-(11 + number), *ELEMENT)
        for node in NODES:
            log.run(node, step)
        log.ran(F, 6)
        log.exiting(F)
    run = opened(log)
    for number in range(3):
        assert of_step(run, STEP + 1 + number) == {("f", number + 1)}
        rows = graph(run).filter(pl.col("step") == -(11 + number))
        assert set(rows["cause"].to_list()) == {"dataset-function"}
        assert rows["call"].null_count() == rows.height


def test_steps_of_sessions_have_small_numbers(opened: Open) -> None:
    log = Log()
    for step in (1, 2):
        log.step(step, *NODES)
    run = opened(log)
    assert calls(run).is_empty()
    assert set(graph(run).select("call", "cause", "flavour").iter_rows()) == {
        (None, "session", "other")
    }


def test_a_function_called_in_another_belongs_to_the_call_around_it(opened: Open) -> None:
    log = Log()
    log.entering(F)
    log.instantiate(F, 6)
    log.executing(F)
    log.running(F, 6)
    log.make_executor(F, *NODES)
    log.run(SOURCE, STEP)
    log.run(X, STEP)
    log.instantiate(G, 8)
    log.running(G, 8)
    log.make_executor(G, *OTHERS)
    log.step(STEP + 5, *OTHERS)
    log.ran(G, 8)
    for node in (MATMUL, ADD, RETVAL):
        log.run(node, STEP)
    log.ran(F, 6)
    log.exiting(F)
    run = opened(log)
    assert of_step(run, STEP) == {("f", 0)}
    assert of_step(run, STEP + 5) == {("g", 0)}
    assert run.functions.select("function", "calls").rows() == [("f", 1), ("g", 0)]


def test_without_thread_ids_what_runs_during_a_py_function_is_its_own(opened: Open) -> None:
    log = Log()
    python = Node(4, "EagerPyFunc", "EagerPyFunc", "x", attributes='token="pyfunc_0"')
    log.executing(F)
    log.running(F, 8)
    log.run(SOURCE, STEP)
    log.start(python, STEP)
    log.eager_op("_MklMatMul", 4)
    log.done(python, STEP)
    log.ran(F, 8)
    log.exiting(F)
    log.eager_op("_MklMatMul", 4)
    eager = opened(log).timeline.filter(pl.col("op") == "MatMul", pl.col("mode") == "eager")
    assert eager.select("call", "status", "duration_us").rows() == [
        (0, "done", 2 * TICK),
        (None, "done", 2 * TICK),
    ]


def test_eager_ops_of_python_inside_a_call_carry_its_number(opened: Open) -> None:
    log = Log("tid")
    python = Node(4, "EagerPyFunc", "EagerPyFunc", "x", attributes='token="pyfunc_0"')
    nodes = (X, python, RETVAL)
    log.eager_op("Mul", 6)
    log.entering(F)
    log.instantiate(F, 8)
    log.executing(F)
    log.running(F, 8)
    log.make_executor(F, *nodes)
    log.run(SOURCE, STEP)
    log.run(X, STEP)
    log.start(python, STEP, thread=77)
    log.eager_op("_MklMatMul", 4, thread=77)
    log.eager_op("Mul", 6, thread=88)  # of another thread
    log.done(python, STEP, thread=77)
    log.run(RETVAL, STEP)
    log.ran(F, 8)
    log.exiting(F)
    log.eager_op("Mul", 6)
    run = opened(log)
    eager = run.timeline.filter((pl.col("mode") == "eager") & (pl.col("kind") == "op"))
    assert eager.select("op", "call").rows() == [
        ("Mul", None),
        ("MatMul", 0),
        ("Mul", None),
        ("Mul", None),
    ]
    assert eager["status"].to_list() == ["done"] * 4
    assert of_step(run, STEP) == {("f", 0)}


def test_a_compiled_function_has_a_call_and_no_nodes(opened: Open) -> None:
    """XLA: `Executing op`, then nothing until `Exiting`."""
    log = Log()
    log.entering(F)
    log.executing(F)
    log.wait(500)
    log.exiting(F)
    row = calls(opened(log)).to_dicts()[0]
    assert (row["status"], row["duration_us"]) == ("done", 500 + TICK)


def test_a_failed_call(opened: Open) -> None:
    log = Log()
    status = "INVALID_ARGUMENT: indices[0] = 9 is not in [0, 4)"
    log.entering(F)
    log.executing(F)
    log.running(F, 6)
    log.step(STEP, *NODES)
    log.ran(F, 6, status)
    log.exiting(F, f"INVALID_ARGUMENT: {{{{function_node {F}}}}} {status}")
    log.call(F, 6, STEP + 1, *NODES)
    assert calls(opened(log))["status"].to_list() == ["failed", "done"]


def test_a_killed_program_leaves_its_last_call_unfinished(opened: Open) -> None:
    log = Log()
    log.first_call(F, 6, STEP, *NODES)
    log.entering(F)
    log.executing(F)
    log.running(F, 6)
    log.run(SOURCE, STEP + 1)
    log.start(X, STEP + 1)
    run = opened(log)
    assert calls(run)["status"].to_list() == ["done", "unfinished"]
    assert of_step(run, STEP + 1) == {("f", 1)}
    assert graph(run)["status"].to_list()[-1] == "unfinished"


@pytest.mark.thorough
@pytest.mark.parametrize("dialect", ["classic", "tid", "absl"])
def test_calls_of_two_threads_at_once(opened: Open, dialect: Dialect) -> None:
    """The executor's threads are not those that call, so steps are matched by content."""
    log = Log(dialect)
    one, two, pool = 11, 22, 33
    for function, handle, nodes, step, thread in (
        (F, 6, NODES, STEP, one),
        (G, 8, OTHERS, STEP + 1, two),
    ):
        log.thread = thread
        log.first_call(function, handle, step, *nodes)
    for round_ in range(3):
        for function, handle, thread in ((F, 6, one), (G, 8, two)):
            log.entering(function, thread)
            log.executing(function, thread)
            log.running(function, handle, thread)
        f_step, g_step = STEP + 10 + round_, STEP + 20 + round_
        order = (f_step, g_step) if round_ % 2 else (g_step, f_step)
        for step in order:
            log.run(SOURCE, step, pool)
        for f_node, g_node in zip(NODES, (*OTHERS, None), strict=True):
            log.run(f_node, f_step, pool)
            if g_node is not None:
                log.run(g_node, g_step, pool)
        for function, handle, thread in ((G, 8, two), (F, 6, one)):
            log.ran(function, handle, thread=thread)
            log.exiting(function, thread=thread)
    run = opened(log)
    rows = calls(run)
    assert rows["call"].to_list() == list(range(8))
    threads = [None, None] if dialect == "classic" else [one, two]
    assert rows["thread"].to_list() == threads * 4
    for round_ in range(3):
        assert of_step(run, STEP + 10 + round_) == {("f", 2 + 2 * round_)}
        assert of_step(run, STEP + 20 + round_) == {("g", 3 + 2 * round_)}


def test_calls_of_one_function_by_two_threads_at_once(opened: Open) -> None:
    """With thread ids each call has its own end."""
    log = Log("tid")
    one, two = 11, 22
    log.first_call(F, 6, STEP, *NODES)
    starts, ends = {}, {}
    for thread in (one, two):
        log.entering(F, thread)
        starts[thread] = log.executing(F, thread)
        log.running(F, 6, thread)
    for step in (STEP + 1, STEP + 2):
        log.step(step, *NODES, thread=33)
    for thread in (two, one):
        ends[thread] = log.ran(F, 6, thread=thread)
        log.exiting(F, thread=thread)
    run = opened(log)
    rows = calls(run).filter(pl.col("call") > 0)
    assert rows["thread"].to_list() == [one, two]
    assert rows["line"].to_list() == [starts[one], starts[two]]
    assert {call for _, call in of_step(run, STEP + 1) | of_step(run, STEP + 2)} == {1, 2}


def test_calls_without_lines_of_components(opened: Open) -> None:
    """TF_CPP_VMODULE=executor=2,execute=2 prints dispatches and nodes alone."""
    log = Log()
    for number in range(4):
        log.executing(F)
        log.step(STEP + number, *NODES)
        log.step(-(11 + number), *ELEMENT)
        log.executing("Mul")
    run = opened(log)
    for number in range(4):
        assert of_step(run, STEP + number) == {("f", number)}
    eager = run.timeline.filter((pl.col("mode") == "eager") & (pl.col("kind") == "op"))
    assert eager["status"].unique().to_list() == ["unknown"]


def test_a_call_has_its_own_step_among_many_of_tf_data(opened: Open) -> None:
    """At level 1 no line names what is instantiated; tf.data fetches ahead during the first."""
    log = Log()
    for number in range(3):
        log.executing(F)
        log.step(STEP + number, *NODES)
        for element in range(0 if number else 5):
            log.step(-(11 + element), *ELEMENT)
        log.executing("Mul")
    run = opened(log)
    for number in range(3):
        assert of_step(run, STEP + number) == {("f", number)}
    assert set(graph(run).filter(pl.col("step") > -100)["cause"]) == {"dataset-function"}


def test_steps_of_one_function_at_once_are_that_functions(opened: Open) -> None:
    """Without thread ids and ends, the next dispatch of any thread seems to end a call."""
    log = Log()
    for _ in range(3):
        log.executing(F)
    for number in range(3):
        log.step(STEP + number, *NODES)
    log.executing(F)
    log.step(STEP + 3, *NODES)
    run = opened(log)
    assert of_step(run, STEP + 3) == {("f", 3)}
    assert {name for name, _ in of_step(run, STEP) | of_step(run, STEP + 1)} == {"f"}
    assert graph(run)["cause"].null_count() == graph(run).height


def test_a_wrapped_op_on_an_executor_is_no_function(opened: Open) -> None:
    log = Log()
    log.executing("Softmax")
    log.running(wrapped("Softmax"), 8)
    log.ran(wrapped("Softmax"), 8)
    run = opened(log)
    assert run.functions.is_empty()
    assert run.timeline.select("op", "kind", "status").rows() == [("Softmax", "op", "done")]


def test_functions_of_equal_nodes_that_run_at_once_have_a_step_each(opened: Open) -> None:
    """As in the two directions of a recurrent layer; here their executors are made at once, too."""
    log = Log()
    forth, back = "__inference_forth_61", "__inference_back_62"
    log.entering(F)
    log.executing(F)
    log.running(F, 6)
    log.running(forth, 7)
    log.make_executor(forth)
    log.running(back, 8)
    log.make_executor(back, *NODES, SOURCE, *NODES)
    for node in NODES:
        log.run(node, STEP)
        log.run(node, STEP + 1)
    log.ran(forth, 7)
    log.ran(back, 8)
    log.running(back, 8)
    log.step(STEP + 2, *NODES)
    log.running(forth, 7)
    log.step(STEP + 3, *NODES)
    log.ran(back, 8)
    log.ran(forth, 7)
    log.ran(F, 6)
    log.exiting(F)
    run = opened(log)
    functions = [of_step(run, STEP + number) for number in range(4)]
    assert functions == [{("forth", 0)}, {("back", 0)}, {("back", 0)}, {("forth", 0)}]


def test_a_step_of_tf_data_is_of_the_function_of_equal_nodes_that_was_made_last(
    opened: Open,
) -> None:
    """What is folded before an executor is made has kernels, too, and a `_SOURCE` of its own."""
    log = Log()
    folded = Node(4, "factor", "Const")
    for number, name in enumerate(["__inference_Dataset_map_a_8", "__inference_Dataset_map_b_9"]):
        log.instantiate(name, 3 + number)
        log.make_executor(name, folded, SOURCE, folded, *ELEMENT)
        log.step(STEP + number, *ELEMENT)
    run = opened(log)
    functions = [of_step(run, STEP + number) for number in range(2)]
    assert functions == [{("Dataset_map_a", None)}, {("Dataset_map_b", None)}]
    assert graph(run)["flavour"].unique().to_list() == ["dataset"]


def test_a_step_that_began_earlier_takes_a_run_from_a_later_one() -> None:
    """The last step has another run around it, and the one before has none."""
    step, run = _each_once(
        step=np.array([0, 1, 1, 2, 2]),
        run=np.array([0, 0, 1, 1, 2]),
        at=np.array([1, 2, 3]),
        end=np.array([10, 20, 30]),
    )
    assert sorted(zip(step.tolist(), run.tolist(), strict=True)) == [(0, 0), (1, 1), (2, 2)]
