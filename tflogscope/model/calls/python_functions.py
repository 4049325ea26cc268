"""Which traces are of the same Python function: a name alone does not say so.

Each trace has a uid of its own, and several functions may have one name: Keras 3 makes a
`multi_step_on_iterator` for `fit` and another for `evaluate`, `<lambda>` is any lambda. Traces of
one function take the same number of inputs, captured variables included, and mostly have the same
nodes: what is traced again with other shapes or Python values runs the same code. A trace without
inputs is counted as a function of its own: nothing but its name would tie it to another one.

Two records know more. What `record` adds to a program says of each trace which function it is of.
And TensorFlow warns of a function that is traced again and again: then all traces of that name are
of one function, unless one that was found so far has as many.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from tflogscope.events.events import Events
from tflogscope.events.times import DAY_US
from tflogscope.grammar.load import packaged_toml
from tflogscope.grammar.thresholds import threshold
from tflogscope.model.common.frames import among, looked_up
from tflogscope.model.common.names import PLUMBING_OPS, function_columns

_ALIKE = threshold("python-function.alike_share")
_ROUNDS = 64  # groups of traces of one name; what is left then is taken as functions of their own

_FUNCTIONS = packaged_toml("functions.toml")
PFOR = "python/ops/parallel_for/control_flow_ops.py"
"""Called eagerly, pfor makes a tf.function anew each time, so that it is traced each time."""
OWN_FUNCTIONS = tuple(
    name for own in _FUNCTIONS["own"] if "nodes" not in own for name in own["names"]
)
"""Names that only functions of TensorFlow's own have."""

_IN_PACKAGE = r"/(?:site|dist)-packages/"
_OF_TENSORFLOW = r"/(?:tensorflow|keras|tf_keras)/"

# python/eager/backprop.py, _gradient_function names them. What a step updates says less: some
# optimizers add, as metrics do.
GRADIENT = "gradient_tape/"
"""How the names of nodes begin that only a training step has."""
# saved_model/signature_serialization.py, function_deserialization.py: functions that a save or a
# load makes. None but restored_function_body is ever traced again, and that is a name of them all.
_LOADED = r"^(?:signature_wrapper_|restored_function_body$)"
KERAS_PREDICT: tuple[str, ...] = (*_FUNCTIONS["keras"]["predict"],)
"""Those of `predict`."""
KERAS_STEPS = (*_FUNCTIONS["keras"]["train_and_test"], *KERAS_PREDICT)
"""Functions that Keras's loops call."""


def python_functions(names: pl.Series, nodes: pl.DataFrame, events: Events) -> pl.DataFrame:
    """Say for each function, by its full name, which Python function it is a trace of.

    Args:
        names: full names in the order of the log, each once.
        nodes: a frame of `node_tables.graph_nodes`.
        events: the events of the log.

    Returns:
        A row per name: name, python_function (a number), traces (how many traces of it there are
        so far, this one included), made_by (the file that makes it, if it is TensorFlow's own).
    """
    named = pl.LazyFrame({"name": names}).with_columns(**function_columns(pl.col("name")))
    loaded = pl.col("function").str.contains(_LOADED)
    alone = pl.when((pl.col("inputs") == 0) | loaded).then("order")
    key = pl.struct("function", "flavour", "inputs", alone=alone).rank("dense")
    counted = _with_inputs(named.with_row_index("order"), nodes, events)
    traces = counted.with_columns(key=key).collect()
    records = looked_up(traces[["name"]], traces_recorded(events), "name")
    made_by = _made_by(traces, nodes, records["signature"])
    traces = traces.with_columns(made_by, recorded=records["of"], group=_alike(traces, nodes))
    # pfor's functions live for one call, and CPython gives their ids away again.
    recorded = pl.when(~pl.col("made_by").eq_missing(PFOR)).then("recorded")
    alone = pl.when(recorded.is_null()).then(pl.struct("key", "group"))
    number = pl.struct("flavour", recorded=recorded, alone=alone).rank("dense")
    traces = traces.with_columns(number=number)
    number = pl.coalesce(_warned(traces, events), "number")
    # Parts for several devices, which other processes ask for, are of one trace.
    uid = pl.col("function_uid")
    trace = pl.struct(uid, alone=pl.when(uid.is_null()).then("order"))
    return traces.select(
        "name",
        python_function=number,
        traces=trace.is_first_distinct().cum_sum().cast(pl.UInt32).over(number),
        made_by="made_by",
    )


def _with_inputs(functions: pl.LazyFrame, nodes: pl.DataFrame, events: Events) -> pl.LazyFrame:
    """Add how many `inputs` functions take: as their calls print them, else as their nodes show."""
    inputs = events.messages("eager_input").lazy()
    printed = inputs.group_by(name="op").agg(called=pl.col("index").max())
    arguments = nodes.lazy().filter(pl.col("op") == "_Arg")
    for more in (printed, arguments.group_by("name").agg(arguments=pl.len())):
        functions = functions.join(more, on="name", how="left", maintain_order="left")
    count = pl.coalesce((pl.col("called") + 1).cast(pl.Int64), "arguments", 0)
    return functions.with_columns(inputs=count.cast(pl.Int64))


def _alike(functions: pl.DataFrame, nodes: pl.DataFrame) -> pl.Series:
    """Number the traces of each key by likeness, from 0.

    In each round the trace with the most nodes is the measure, and takes what is like it with it.
    """
    group = np.zeros(functions.height, np.int64)
    if functions["key"].n_unique() == functions.height:
        return pl.Series(group)
    # Names of nodes alone: grappler folds and fuses other ones in each trace, but keeps the names.
    inside = nodes.filter(~pl.col("op").is_in((*PLUMBING_OPS, "NoOp")))
    shared = functions.filter(pl.col("key").is_duplicated()).select("name", "order", "key")
    body = shared.join(inside.select("name", "node").unique(), on="name")
    sizes = body.group_by("order", "key").agg(size=pl.len())
    for _ in range(_ROUNDS):
        first = sizes.sort("size", "order", descending=[True, False]).unique("key", keep="first")
        of_first = body.join(first.select("order"), on="order").select("key", "node")
        common = body.join(of_first, on=["key", "node"]).group_by("order").agg(common=pl.len())
        like = looked_up(sizes, common, "order")
        # The measure has the most nodes, so the other one is the smaller.
        unlike = like.filter(pl.col("common").fill_null(0) < _ALIKE * pl.col("size"))["order"]
        group[unlike.to_numpy()] += 1
        body, sizes = (frame.filter(among(pl.col("order"), unlike)) for frame in (body, sizes))
        if sizes.is_empty():
            break
    left = np.sort(sizes["order"].to_numpy())
    group[left] += np.arange(len(left))
    return pl.Series(group)


def traces_recorded(events: Events) -> pl.DataFrame:
    """What the hook of `record` says of traces: name, of (the Python function), object, signature.

    `grammars/lines.toml`, python_trace.
    """
    records = events.messages("python_trace").lazy()
    of = pl.format("{}.{}", "process", "python_function")
    traces = records.select("object", "signature", "process", name="function", of=of)
    return traces.unique("name", keep="first", maintain_order=True).collect()


def defined_by_packages(events: Events) -> pl.Series:
    """The functions, by full name, that installed packages define, TensorFlow and Keras aside."""
    traces = traces_recorded(events)
    path = pl.col("signature").str.json_path_match("$[0][0]")
    return traces.filter(path.str.contains(_IN_PACKAGE) & ~path.str.contains(_OF_TENSORFLOW))[
        "name"
    ]


def read_tracing(events: Events) -> pl.DataFrame:
    """How long each function was traced, where `record` wrote it down: at, name, took (µs)."""
    records = events.messages("python_trace")
    took = pl.col("signature").str.json_path_match("$[2]").cast(pl.Float64, strict=False)
    return records.select("at", name="function", took=took).filter(
        pl.col("took").is_between(0, DAY_US)
    )


RETRACE_WARNINGS = ("retrace_warning", "retrace_warning_absl", "retrace_warning_absl_old")
"""Messages of python/eager/polymorphic_function, FrequentTracingDetector.called_with_tracing."""


def retrace_warnings(events: Events) -> pl.DataFrame:
    """TensorFlow's warnings that a function is traced again and again: at, function, traced."""
    warned = events.messages(*RETRACE_WARNINGS).drop_nulls("function")
    return warned.select("at", "traced", function=pl.col("function").str.extract(r"([^.]+)$", 1))


def _warned(functions: pl.DataFrame, events: Events) -> pl.Expr:
    """The number of all traces of a name that was warned of; null where that adds nothing."""
    most = retrace_warnings(events).group_by("function").agg(pl.col("traced").max())
    number = pl.col("number").min().over("function", "flavour")
    if most.is_empty():
        return pl.lit(None, functions["number"].dtype)
    warned = pl.col("function").replace_strict(most["function"], most["traced"], default=None)
    largest = pl.len().over("number").max().over("function", "flavour")
    unknown = pl.col("recorded").is_null().all().over("function", "flavour")
    return pl.when(unknown & (largest < warned)).then(number)


def _made_by(named: pl.DataFrame, nodes: pl.DataFrame, signatures: pl.Series) -> pl.Expr:
    """The file of TensorFlow that makes each function that is its own, null for others.

    `signatures` are those that `record` wrote down.
    """
    defined = pl.lit(signatures).str.json_path_match("$[0][0]")
    functions = {*named["function"]}
    made_by = pl.lit(None, pl.String)
    for own in _FUNCTIONS["own"]:
        is_own = pl.col("function").is_in(own["names"])
        if "nodes" in own and not functions.isdisjoint(own["names"]):
            inside = nodes.filter(pl.col("node").str.contains(own["nodes"], literal=True))["name"]
            marked = pl.col("name").is_in(inside.implode())
            is_own &= pl.coalesce(defined.str.ends_with(own["file"]), marked)
        made_by = pl.when(is_own).then(pl.lit(own["file"])).otherwise(made_by)
    return made_by.alias("made_by")
