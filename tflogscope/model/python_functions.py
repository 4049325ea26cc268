"""Which traces are of the same Python function: a name alone does not say so.

Each trace has a uid of its own, and several functions may have one name: Keras 3 makes a
`multi_step_on_iterator` for `fit` and another for `evaluate`, `<lambda>` is any lambda. Traces of
one function take the same number of inputs, captured variables included, and mostly have the same
nodes: what is traced again with other shapes or Python values runs the same code. A trace without
inputs is counted as a function of its own: nothing but its name would tie it to another one.
"""

from __future__ import annotations

import polars as pl

from tflogscope.events.events import Events
from tflogscope.model.names import PLUMBING_OPS, function_columns

_ALIKE = 0.5  # of the nodes of the smaller of two traces
_ROUNDS = 64  # groups of traces of one name; what is left then is taken as functions of their own

# Functions that TensorFlow makes for itself: name, what names of nodes in it begin with ("": any),
# and where it is made.
_MULTI_DEVICE = "python/data/ops/multi_device_iterator_ops.py"
_OWN = (
    ("initialize_variables", "", "python/eager/polymorphic_function/polymorphic_function.py"),
    ("_jvp_relaxed_shapes", "", "python/eager/forwardprop.py"),
    ("_jvp_exact_shapes", "", "python/eager/forwardprop.py"),
    *(
        (f"_{where}{what}_func", "", _MULTI_DEVICE)
        for where in ("", "remote_")
        for what in ("init", "next", "finalize")
    ),
    ("f", "loop_body/", "python/ops/parallel_for/control_flow_ops.py, pfor"),
)
OWN_FUNCTIONS = tuple(name for name, prefix, _ in _OWN if not prefix)
"""Names that only functions of TensorFlow's own have."""

KERAS_STEPS = (
    "train_function",
    "test_function",
    "predict_function",
    "one_step_on_iterator",
    "multi_step_on_iterator",
    "one_step_on_data",
    "one_step_on_data_distributed",
    "multi_step_on_data",
)
"""Functions that Keras's loops call. Between two calls only callbacks run code of the program.

Keras 2 engine/training.py, make_train_function and its like; Keras 3 backend/tensorflow/trainer.py.
"""


def python_functions(names: pl.Series, nodes: pl.DataFrame, events: Events) -> pl.DataFrame:
    """Say for each function, by its full name, which Python function it is a trace of.

    Args:
        names: full names in the order of the log, each once.
        nodes: a frame of `tables.graph_nodes`.
        events: the events of the log.

    Returns:
        A row per name: name, python_function (a number), traces (how many traces of it there are
        so far, this one included), made_by (the file that makes it, if it is TensorFlow's own).
    """
    known = pl.DataFrame({"name": names}).with_columns(**function_columns(pl.col("name")))
    known = known.with_row_index("order").join(
        _inputs(names, nodes, events), on="name", how="left", maintain_order="left"
    )
    alone = pl.when(pl.col("inputs") == 0).then("order")
    key = pl.struct("function", "flavour", "inputs", alone=alone).rank("dense")
    known = known.with_columns(key=key)
    body = _body(known, nodes)
    groups = _alike(known.select("name", "key", "order"), body)
    known = known.join(groups, on="name", how="left", maintain_order="left").with_columns(
        python_function=pl.struct("key", "group").rank("dense")
    )
    running = pl.int_range(1, pl.len() + 1).over("python_function", order_by="order")
    return known.join(_made_by(known, nodes), on="name", how="left", maintain_order="left").select(
        "name", "python_function", traces=running.cast(pl.UInt32), made_by="made_by"
    )


def _inputs(names: pl.Series, nodes: pl.DataFrame, events: Events) -> pl.DataFrame:
    """How many inputs each function takes: as its call prints them, else as its nodes show."""
    printed = events.messages("eager_input").filter(pl.col("op").is_in(names.implode()))
    called = printed.group_by(name="op").agg(called=pl.col("index").max() + 1)
    arguments = nodes.filter(pl.col("op") == "_Arg").group_by("name").agg(arguments=pl.len())
    both = pl.DataFrame({"name": names}).join(called, on="name", how="left")
    both = both.join(arguments, on="name", how="left")
    return both.select(
        "name", inputs=pl.coalesce(pl.col("called", "arguments").cast(pl.Int64)).fill_null(0)
    )


def _body(known: pl.DataFrame, nodes: pl.DataFrame) -> pl.DataFrame:
    """The nodes of functions that share a name with another: name, key, order, node.

    Their names alone: grappler folds and fuses other nodes in each trace, but keeps the names.
    """
    shared = known.filter(pl.len().over("key") > 1)
    inside = nodes.filter(~pl.col("op").is_in((*PLUMBING_OPS, "NoOp")))
    inside = inside.select("name", "node").unique()
    return shared.select("name", "key", "order").join(inside, on="name")


def _alike(known: pl.DataFrame, body: pl.DataFrame) -> pl.DataFrame:
    """Number the traces of each key by likeness: name, group.

    In each round the trace with the most nodes is the measure, and takes what is like it with it.
    """
    if body.is_empty():
        return known.select("name", group=pl.lit(0, pl.Int64))
    groups, left = [], known.select("name", "key")
    sizes = body.group_by("name", "key", "order").agg(size=pl.len())
    for number in range(_ROUNDS):
        first = sizes.sort("size", "order", descending=[True, False]).unique("key", keep="first")
        of_first = body.join(first.select("name"), on="name").select("key", "node")
        common = body.join(of_first, on=["key", "node"]).group_by("name").agg(common=pl.len())
        like = sizes.join(first.select("key", most="size"), on="key").join(
            common, on="name", how="left"
        )
        # The measure has the most nodes, so the other one is the smaller.
        unlike = like.filter(pl.col("common").fill_null(0) < _ALIKE * pl.col("size"))["name"]
        apart = left["name"].is_in(unlike.implode())
        groups.append(left.filter(~apart).select("name", group=pl.lit(number, pl.Int64)))
        left = left.filter(apart)
        if left.is_empty():
            break
        body = body.filter(pl.col("name").is_in(unlike.implode()))
        sizes = sizes.filter(pl.col("name").is_in(unlike.implode()))
    groups.append(left.select("name", group=_ROUNDS + pl.int_range(pl.len(), dtype=pl.Int64)))
    return pl.concat(groups)


def _made_by(known: pl.DataFrame, nodes: pl.DataFrame) -> pl.DataFrame:
    """The file of TensorFlow that makes each function that is its own: name, made_by."""
    found = [known.select("name", made_by=pl.lit(None, pl.String)).clear()]
    own = known["function"].unique().to_list()
    for function, prefix, where in _OWN:
        if function not in own:
            continue
        named = known.filter(pl.col("function") == function).select("name")
        if prefix:
            inside = nodes.filter(pl.col("node").str.starts_with(prefix))
            named = named.filter(pl.col("name").is_in(inside["name"].implode()))
        found.append(named.with_columns(made_by=pl.lit(where)))
    return pl.concat(found)
