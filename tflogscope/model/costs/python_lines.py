"""Which line of the program asked for an execution, from what `record` wrote into the log.

`recording/hook/tflogscope_lines.py` writes these lines. Without them everything here is null.
"""

from __future__ import annotations

import json
from functools import cached_property

import polars as pl

from tflogscope.events.events import Events
from tflogscope.grammar.tables import as_table
from tflogscope.model.common.figures import known_sum, rounded
from tflogscope.model.common.frames import (
    first_of_each,
    first_with,
    holds,
    only,
    row_with,
    rows,
    where,
)
from tflogscope.model.common.names import function_columns, on_mesh
from tflogscope.model.common.pairing import HALF, pair
from tflogscope.model.costs.costs import Costs
from tflogscope.model.executions.executions import Executions, with_places

# Ops that C++ runs inside another one, to make tensors of its arguments: what is announced last is
# that other op. python/eager/pywrap_tfe_src.cc, ConvertToTensor and ReadVariableOp.
_ARGUMENTS = ("_EagerConst", "Cast", "ReadVariableOp")

# Hooks up to 0.3 marked Keras' serialization of configurations as saving. Only that is called by
# what looks an optimizer, a metric or an initializer up by its name.
_SERIALIZED = r"<saving>;(<(?:optimizer|metric|initializer)>)"

_SAID = ("row", "said_at", "alone")
_FACTS = (
    *("source", "first_line", "python", "function", "eager_runs", "eager_us", "calls"),
    *("graph_runs", "graph_us", "ops"),
)


class PythonLines:
    """The stacks of the log, and which of them asked for what. A stack is a row of `stacks`."""

    def __init__(self, events: Events, executions: Executions) -> None:
        self._events = events
        self._executions = executions

    @cached_property
    def stacks(self) -> pl.DataFrame:
        """Stacks in the order of the log: at, process, stack, python, function, frames.

        python and function are those of the nearest frame. A stack that is torn is left out.
        """
        messages = self._events.messages("python_stack")
        schema = dict.fromkeys(("python", "function", "frames"), pl.String)
        read = pl.DataFrame([_read(text) for text in messages["frames"]], schema, orient="row")
        read = read.with_columns(pl.col("frames").str.replace_all(_SERIALIZED, "$1"))
        stacks = messages[["at", "process", "stack"]].hstack(read)
        if stacks.is_empty():
            return stacks
        return first_of_each(stacks.drop_nulls("python"), ["process", "stack"])

    @cached_property
    def python(self) -> pl.Series:
        """The nearest frame of each stack, `train.py:31`."""
        return self.stacks["python"]

    def table(self) -> pl.DataFrame:
        """The `stacks` table: source, line, id, python, frames."""
        stacks = self.stacks.with_row_index("id")
        placed = with_places(self._events.spans, stacks.select("at", "id", "python", "frames"))
        return as_table("stacks", placed)

    def _with_rows(self, messages: pl.DataFrame, process: str = "process") -> pl.DataFrame:
        """Put the row of `stacks` into `row` (null: the stack is not there)."""
        row = row_with(messages[[process, "stack"]], self.stacks[["process", "stack"]])
        return messages.hstack([pl.Series("row", row).cast(pl.UInt32, strict=False)])

    # ---- eager ---------------------------------------------------------------------------------

    @property
    def of_dispatches(self) -> pl.Series:
        """The stack of each eager dispatch."""
        return self._asked["row"]

    @property
    def unasked(self) -> pl.Series:
        """Whether no Python code asked for a dispatch: the hook, which was there, said nothing."""
        silent = not {"python_off", "python_left_out"}.isdisjoint(self._events.seen)
        return self._asked["said_at"].is_null() & (not silent)

    @property
    def alone(self) -> pl.Series:
        """Whether Python code asked for a dispatch, and none of it is the program's own."""
        return holds(self._asked["alone"])

    @cached_property
    def _asked(self) -> pl.DataFrame:
        """Where each eager dispatch was announced, said_at, and the stack that did it, row;
        alone: no frame of the program is in it.

        An op is announced on the thread that then runs it. Several threads are kept apart only
        where TensorFlow's records have thread ids.
        """
        records = self._with_rows(self._events.messages("python_op")).select(
            *("at", "row", "op"),
            thread=pl.col("os_thread").cast(pl.Int64),
            said_at="at",
            alone=pl.col("stack") == 0,
        )
        mesh = self._executions.dispatches.eager["mesh"]
        eager = self._executions.dispatches.eager.select(
            "dispatch",
            "at",
            op=pl.when("is_call").then(on_mesh(pl.col("name"))).otherwise("op"),
            thread=pl.col("thread").cast(pl.Int64),
        )
        if records.is_empty():
            return records[[*_SAID]].clear(eager.height)
        if (eager["thread"] < 0).any():
            records, eager = (frame.with_columns(thread=pl.lit(-1)) for frame in (records, eager))
        ops = eager.join_asof(records, on="at", by=["thread", "op"], check_sortedness=False)
        if mesh.any():  # DTensor has threads of its own
            any_thread = eager.join_asof(records, on="at", by="op", check_sortedness=False)
            ops = ops.with_columns(any_thread[name].zip_with(mesh, ops[name]) for name in _SAID)
        used = pl.col("said_at") == pl.col("said_at").shift().over("thread", "op")
        last = eager.join_asof(records.drop("op"), on="at", by="thread", check_sortedness=False)
        return ops.select(
            pl.when(pl.col("op").is_in(_ARGUMENTS) & ~mesh)
            .then(last[name])
            .when(~used.fill_null(False))
            .then(name)
            .alias(name)
            for name in _SAID
        )

    # ---- graphs --------------------------------------------------------------------------------

    @cached_property
    def _functions(self) -> pl.DataFrame:
        """Functions by full name: name, process, graph, row."""
        records = self._with_rows(self._events.messages("python_function"), "stack_process")
        functions = records[["process", "graph", "row", "function"]]
        return functions if functions.is_empty() else first_of_each(functions, "function")

    def of_functions(self, names: pl.Series) -> pl.Series:
        """The stack that first called each function, by its full name."""
        functions = self._functions
        return rows(functions["row"], row_with(names.to_frame(), functions[["function"]]))

    def made_at(self, function: str) -> str | None:
        """The line of the program that had a function traced first, by its short name.

        A name that ends in `_` is the beginning of several.
        """
        made = self._functions
        short = made.select(function_columns(pl.col("function"))["function"]).to_series()
        named = short.str.starts_with(function) if function.endswith("_") else short == function
        of = only(made["row"], named).drop_nulls()
        return self.python[of[0]] if of.len() else None

    @cached_property
    def nodes(self) -> pl.DataFrame:
        """Nodes as they were traced, gradients too: process, graph, node, row (of the stack)."""
        records = self._events.messages("python_node", "python_gradient")
        return self._with_rows(records, "stack_process")

    def of_nodes(self, names: pl.Series, nodes: pl.Series) -> pl.Series:
        """The stack of each node, given by the full name of its function and its own.

        Where a function is inlined, its nodes have the caller's name before their own: then the
        longest end that is a node's name counts, if all nodes of that name have one line.
        """
        records = self.nodes
        if records.is_empty():
            return pl.Series([None], dtype=pl.UInt32).new_from_index(0, len(nodes))
        keys = ["process", "graph", "node"]
        functions = self._functions
        made = rows(functions[keys[:2]], row_with(names.to_frame(), functions[["function"]]))
        exact = rows(records["row"], row_with(made.hstack([nodes.alias("node")]), records[keys]))
        open_ = where(exact.is_null())
        ends = (
            pl.DataFrame({"wanted": open_, "piece": rows(nodes, open_).str.split("/")})
            .with_columns(skip=pl.int_ranges(pl.col("piece").list.len()))
            .explode("skip")
            .select("wanted", "skip", node=pl.col("piece").list.slice("skip").list.join("/"))
        )
        lines = records.with_columns(python=pl.lit(self.python).gather(pl.col("row")))
        alike = lines.group_by("node").agg(
            row=pl.when(pl.col("python").n_unique() == 1).then(pl.col("row").first())
        )
        nearest = first_of_each(ends.join(alike, on="node").sort("wanted", "skip"), "wanted")
        return exact.scatter(nearest["wanted"], nearest["row"])

    # ---- executions ----------------------------------------------------------------------------

    @cached_property
    def of_executions(self) -> pl.Series:
        """The stack of each row of `Executions.frame`."""
        executions = self._executions
        frame = executions.frame
        if self.stacks.is_empty():
            return pl.Series([None], dtype=pl.UInt32).new_from_index(0, frame.height)
        # By numbers: nodes and the functions that they ran in, each pair once.
        names, nodes = executions.steps["name"], executions.runs.definitions["node"]
        number = names.rank("dense").cast(pl.Int64).fill_null(0)
        key = pair(frame["definition"], number[frame["step_row"]]).fill_null(-1)
        pairs = key.filter(key >= 0).unique().sort()
        of_number = first_with(number.to_numpy(), len(number) + 1)
        named = rows(names, of_number[(pairs % HALF).to_numpy()])
        stacks = self.of_nodes(named, nodes[pairs // HALF])
        graph = rows(stacks, row_with(key.to_frame(), pairs.to_frame()))
        return pl.select(pl.coalesce(self.of_dispatches[frame["dispatch"]], graph)).to_series()

    def named(self, stacks: pl.Series) -> pl.Series:
        """`train.py:31` of stacks."""
        return self.python[stacks]

    def begun_at(self, at: pl.Series) -> pl.Series:
        """`train.py:31` of the executions that begin there; null: none does."""
        return self.named(self.of_begins(at))

    def of_begins(self, at: pl.Series) -> pl.Series:
        """The stack of the executions that begin there; null: none does."""
        execution = row_with(at.to_frame(), self._executions.frame[["at"]])
        return rows(self.of_executions, execution)

    def facts(self, costs: Costs) -> pl.DataFrame:
        """What each line of the program asked for, the most eager time first.

        Columns: source, first_line, python, function (of Python), eager_runs and eager_us without
        calls, calls, graph_runs and graph_us of nodes that it made, ops: op types, the most
        time first. Empty in logs that `record` did not make.
        """
        if self.stacks.is_empty():
            return pl.DataFrame(schema=_FACTS)
        frame = self._executions.frame
        stack, time = self.of_executions.alias("row"), costs.known("steady_us")
        counts = (frame["status"] != "dead") & stack.is_not_null()
        ran = only(frame[["at", "signature"]].hstack([stack, time]), counts)
        # By numbers first: texts of as many rows as the log has executions took a fifth of the
        # memory of `analyze` (a recording of 2.3 GB).
        ran = ran.group_by("row", "signature").agg(
            pl.col("at").min(), us=known_sum(pl.col("steady_us")), runs=pl.len()
        )
        ran = ran.sort("at")
        ran = ran.hstack(
            [
                *rows(self._executions.signatures[["mode", "kind", "op"]], ran["signature"]),
                *rows(self.stacks[["python", "function"]], ran["row"]),
            ]
        )
        eager = (pl.col("mode") == "eager") & (pl.col("kind") == "op")
        graph = (pl.col("mode") == "graph") & (pl.col("kind") == "op")
        us, runs = pl.col("us"), pl.col("runs")
        by_op = (
            ran.filter(eager | graph).group_by("python", "op").agg(rounded(us.sum()), runs.sum())
        )
        ops = (
            by_op.sort("us", "runs", "op", descending=[True, True, False])
            .group_by("python", maintain_order=True)
            .agg(ops="op")
        )
        table = ran.group_by("python").agg(
            pl.col("at").min(),
            pl.col("function").first(),
            eager_runs=runs.filter(eager).sum(),
            eager_us=rounded(known_sum(us.filter(eager))),
            calls=runs.filter(pl.col("kind") == "call").sum(),
            graph_runs=runs.filter(graph).sum(),
            graph_us=rounded(known_sum(us.filter(graph))),
        )
        table = table.join(ops, on="python", how="left").sort(
            "eager_us", "eager_runs", "at", descending=[True, True, False], nulls_last=True
        )
        placed = with_places(self._events.spans, table)
        return placed.rename({"line": "first_line"}).select(_FACTS)


def _read(text: str) -> tuple[str, str, str] | tuple[None, None, None]:
    """The nearest frame, its function, and all of them, `;`-joined; null if the stack is torn."""
    try:
        frames = json.loads(text)
        named = [
            f"<{frame}>" if isinstance(frame, str) else f"{frame[0]}:{frame[1]} {frame[2]}"
            for frame in frames
        ]
        nearest = next(frame for frame in frames if not isinstance(frame, str))
        joined = ";".join(frame.replace(";", ",") for frame in named)
        return f"{nearest[0]}:{nearest[1]}", str(nearest[2]), joined
    except (ValueError, TypeError, LookupError, StopIteration):
        return None, None, None
