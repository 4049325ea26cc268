"""What graphs compute again from values that don't change: in each turn of a loop, or each call."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from tflogscope.grammar.thresholds import threshold
from tflogscope.model.calls.python_functions import traces_recorded
from tflogscope.model.common.names import (
    CONTROL_OPS,
    FUNCTION_CALLS,
    IDLE_OPS,
    NEXT,
    PLUMBING_OPS,
    PYTHON_OPS,
    UPDATES,
)
from tflogscope.model.findings.finding import Finding
from tflogscope.model.findings.lookups import FOLDED, read_edges
from tflogscope.model.findings.unneeded import IN_BODY, find_nodes, is_much, nodes_of_program
from tflogscope.model.pipeline import NEW_VALUE, Evidence

# core/common_runtime/lower_while_op.cc: the names of what a loop is made of, and of its body.
_LOOP = r"^(.*)/(?:enter/_\d+$|body/_\d+/)"
# python/ops/gradients_util.py: the scope of what an op's gradient takes; python/ops/while_v2.py.
_OF_OP = r"/gradients/(.+)_grad/[^/]+$"
_ENTER, _MERGE, _SWITCH, _NEXT_TURN = "Enter", "Merge", "Switch", "NextIteration"
# The same inputs may give something else, or what leaves a loop is of its last turn.
_VARIES = rf"Random|Multinomial|^Exit$|{FUNCTION_CALLS}|{NEXT}|{PYTHON_OPS}|{UPDATES}"
_READ = "ReadVariableOp"
# As `record` writes the signature of a trace, and TensorFlow what an argument is named.
_ARGUMENT, _SPECIFIED = r'\["([^"]+)","', r'\b_user_specified_name="([^"]+)"'
_HANDLE = r"\bT=DT_(?:RESOURCE|VARIANT)\b"
_SHAPES = r"_handle_shapes=(\[\[[^\]]*\]\])"
_MOVES = [_READ, *CONTROL_OPS, *PLUMBING_OPS]
_SAME = ["name", "node"]
_NAMED, _ROOM = 2, 36  # ops, and characters for them: a verdict has two lines
_LEAST_PART = threshold("loop-invariant.least_part")


def invariant_findings(evidence: Evidence) -> Iterator[Finding]:
    """Nodes that compute a constant in each call, or in each turn of a loop what none changes."""
    nodes = nodes_of_program(evidence)
    captured, updating = _captured(evidence, nodes), _updating(evidence, nodes)
    if captured.is_empty() and not updating and not (nodes["op"] == _ENTER).any():
        return
    every = read_edges(evidence).filter(~pl.col("source").str.starts_with("^"))
    edges = _without_turns(every)
    folded = pl.col("node").str.replace(FOLDED, "")
    constants = nodes.filter(op="Const").select("name", folded).unique()
    always = _constant(edges, pl.concat([constants, captured]))
    entered = nodes.filter(op=_ENTER).with_columns(loop=pl.col("node").str.extract(_LOOP))
    in_loops = _constant(_without_reads(edges), pl.concat([always, entered.select(_SAME)]).unique())
    in_loops = in_loops.join(always, on=_SAME, how="anti")
    loops = entered.group_by("name", "loop").agg(entered=pl.col("executions").max())
    ran = pl.col("executions")
    computing = nodes.filter(~pl.col("op").str.contains(IDLE_OPS), ~pl.col("op").is_in(_MOVES))
    in_calls, reads = captured, _steady_reads(evidence, updating, nodes, every)
    if captured.height or reads.select(pl.col("matrix").any()).item():
        reads = reads.select(_SAME)
        in_calls = _constant(edges, pl.concat([always, reads]).unique())
        # A log without training doesn't say whether its weights change.
        known = constants if updating else pl.concat([constants, reads])
        in_calls = in_calls.join(_constant(edges, known), on=_SAME, how="anti")
    each_call = computing.join(in_calls, on=_SAME, how="semi").with_columns(needed=1 / ran)
    each_turn = computing.join(in_loops, on=_SAME, how="semi")
    each_turn = each_turn.with_columns(loop=pl.col("node").str.extract(_LOOP))
    each_turn = each_turn.join(loops, on=["name", "loop"]).with_columns(
        needed=pl.col("entered") / ran
    )
    each_turn = _with_gradients(each_turn, computing)
    less = pl.col("us") * (1 - pl.col("needed"))
    for where, repeated in (("call", each_call), ("turn", each_turn)):
        by_time = repeated.with_columns(less=less, of="op").sort("us", descending=True)
        for again in by_time.partition_by("name"):
            if is_much("loop-invariant", again["less"], nodes["us"]):
                mine = again.filter(pl.col("less") > _LEAST_PART * pl.col("less").sum())
                names = mine["op"].unique(maintain_order=True).head(_NAMED).to_list()
                names = names if len("".join(names)) < _ROOM else names[:1]
                facts = {where: True, "runs": mine["executions"].max(), "names": names}
                facts["gradients"] = bool(mine["node"].str.contains(_OF_OP).any())
                facts["variables"] = mine.join(always, on=_SAME, how="anti").height > 0
                yield find_nodes("loop-invariant", evidence, mine, facts)


def _with_gradients(each_turn: pl.DataFrame, nodes: pl.DataFrame) -> pl.DataFrame:
    """The same nodes with those for their gradients, which become one of the sum over all turns."""
    path = pl.col("node").str.replace(rf"^.*?{IN_BODY}", "")
    of = each_turn.select("name", "needed", of_op=path)
    gradients = nodes.with_columns(of_op=pl.col("node").str.extract(_OF_OP))
    gradients = gradients.join(of, on=["name", "of_op"])
    return pl.concat([each_turn, gradients.drop("of_op")], how="diagonal").unique(_SAME)


def _captured(evidence: Evidence, nodes: pl.DataFrame) -> pl.DataFrame:
    """Arguments that are tensors which a function captured, the same in all its calls: name, node.

    Those that a call gives have the names of the signature, which `record` writes down, at the
    beginning of theirs (python/eager/polymorphic_function/function_type_utils.py).
    """
    written = traces_recorded(evidence.events)
    given = pl.col("signature").str.json_path_match("$[1]").str.extract_all(_ARGUMENT)
    written = written.select("name", given=given.list.eval(pl.element().str.extract(_ARGUMENT)))
    own, is_tensor = pl.col("own"), ~pl.col("attributes").str.contains(_HANDLE)
    # Where another function calls one, the tensors may be that function's.
    called = pl.col("name").is_in(evidence.calls["name"].implode())
    arguments = nodes.filter(is_tensor, called, op="_Arg").join(written, on="name")
    arguments = arguments.with_columns(own=pl.col("attributes").str.extract(_SPECIFIED))
    arguments = arguments.filter(own.ne_missing(pl.col("node")))
    # Of a sparse tensor the shape has no such name.
    begins = pl.coalesce("own", "node").str.starts_with(pl.col("given"))
    of_calls = arguments.explode("given").filter(begins)
    return arguments.join(of_calls, on=_SAME, how="anti").select(_SAME).unique()


def _updating(evidence: Evidence, nodes: pl.DataFrame) -> list[str] | None:
    """The function, if any, that updates variables again and again; None: several may do so."""
    by_program = (pl.col("rule") == NEW_VALUE) & ~pl.col("before_calls")
    updates = nodes.filter(pl.col("op").str.contains(UPDATES), pl.col("executions") > 1)
    names = updates["name"].unique().to_list()
    return None if len(names) > 1 or evidence.placed.filter(by_program).height else names


def _steady_reads(
    evidence: Evidence, updating: list[str] | None, nodes: pl.DataFrame, edges: pl.DataFrame
) -> pl.DataFrame:
    """Reads of variables that are not updated: name, node, matrix (it has two dimensions or more).

    None where several functions may update some, or one does so inside of a loop or another
    function, as its handle shows: which ones, the log doesn't say.
    """
    first, names = pl.col("place") == 0, ["name", "source"]
    reads = edges.filter(pl.col("op") == _READ, first)
    handles = edges.filter(pl.col("op").str.contains(UPDATES), first).select(names)
    shape = pl.col("attributes").str.extract(_SHAPES)
    arguments = nodes.filter(op="_Arg").select(
        "name", source="node", matrix=shape.str.contains(",")
    )
    if updating is None or handles.join(arguments, on=names, how="anti").height:
        reads = reads.clear()
    if updating:  # what others read, this function may update between their calls
        calls = evidence.calls.select("name", "at").drop_nulls()
        own = calls.filter(name=updating[0]).select(first=pl.min("at"), last=pl.max("at"))
        spans = calls.group_by("name").agg(begin=pl.min("at"), end=pl.max("at"))
        apart = (pl.col("begin") > pl.col("last")) | (pl.col("end") < pl.col("first"))
        alone = spans.join(own, how="cross").filter(apart)["name"]
        reads = reads.filter(pl.col("name").is_in([*updating, *alone]))
    steady = reads.join(handles, on=names, how="anti").join(arguments, on=names, how="left")
    return steady.select(*_SAME, "matrix").unique()


def _without_turns(edges: pl.DataFrame) -> pl.DataFrame:
    """The edges by which values reach nodes; of a loop's variable those that no turn changes.

    Its Switch gives the body what its Merge has, which is what entered, where NextIteration takes
    it from the Switch as it is.
    """
    op, first = pl.col("op"), pl.col("place") == 0
    switches = edges.filter(op == _SWITCH, first).select("name", merge="source", source="node")
    back = edges.filter(op == _NEXT_TURN).select("name", "source", turned="node")
    passes = edges.filter(op == "Identity").select("name", source="node", before="source")
    for _ in range(2):  # as inlining makes them of a function's input and output
        back = back.join(passes, on=["name", "source"], how="left")
        back = back.with_columns(source=pl.coalesce("before", "source")).drop("before")
    kept = back.join(switches, on=["name", "source"]).select("name", "turned", node="merge")
    ends = edges.filter(op == _MERGE, pl.col("place") == 1).rename({"source": "turned"})
    kept = ends.select(*_SAME, "turned").join(kept, on=[*_SAME, "turned"], how="semi")
    merges = edges.filter(op == _MERGE, first).join(kept, on=_SAME, how="semi")
    varies = op.str.contains(_VARIES) | op.is_in([_MERGE, _NEXT_TURN, _ENTER, _SWITCH])
    entering = edges.filter(op.is_in([_ENTER, _SWITCH]), first)
    return pl.concat([edges.filter(~varies), entering, merges])


def _without_reads(edges: pl.DataFrame) -> pl.DataFrame:
    """The same without reads of variables in functions whose loops update some."""
    inside = pl.col("node").str.contains(IN_BODY)
    updates = (pl.col("op").str.contains(UPDATES) & inside).any().over("name")
    return edges.filter((pl.col("op") != _READ) | ~updates)


def _constant(edges: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
    """The nodes that get nothing but what these give, through other nodes as well: name, node."""
    left = edges.join(known, on=_SAME, how="anti")
    while True:
        given = left.join(
            known.with_columns(given=True), left_on=["name", "source"], right_on=_SAME, how="left"
        )
        more = given.group_by(_SAME).agg(pl.col("given").fill_null(value=False).all())
        more = more.filter("given").select(_SAME)
        if more.is_empty():
            return known
        known = pl.concat([known, more])
        left = left.join(more, on=_SAME, how="anti")
