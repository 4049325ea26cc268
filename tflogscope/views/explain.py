"""What `tflogscope explain` says, for people who do not know TensorFlow's sources."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tflogscope.grammar.load import packaged_toml
from tflogscope.grammar.rewriters import REWRITERS, names_of
from tflogscope.model.common.figures import count_of, duration
from tflogscope.model.reasons.rules import NOTHING
from tflogscope.views import document as doc
from tflogscope.views.analyze import op_name
from tflogscope.views.document import Column
from tflogscope.views.text import shorten

Facts = dict[str, Any]
_GROUPS_SHOWN = 6
_ASKED_SHOWN = 12
_NAME = 44  # cells
_NEVER = ("not-supported-op", "no-kernel")  # no program changes that
_TYPES = {"float": "float32", "double": "float64", "half": "float16"}
_STATUS = 400  # cells of a status that is quoted
_MATCHES = {
    "certain": "certain match",
    "inferred": "inferred match",
    "ambiguous": "several possible matches (ambiguous)",
}

# What made a kernel one of oneDNN or of a plug-in, and where that is decided.
_REWRITES = {id_: row["how"] for id_, row in packaged_toml("sentences/rewrites.toml").items()} | {
    rewriter.id: f"the plug-in {rewriter.package} inserted it ({rewriter.where})"
    for rewriter in REWRITERS
}
_DISPATCHED = {
    rewriter.id: f"TensorFlow dispatched an op of {rewriter.package} instead ({rewriter.eager})"
    for rewriter in REWRITERS
    if rewriter.eager
}


def explain_document(facts: Facts) -> doc.Document:
    """Why executions ran where they ran: `facts` are those of `Run.explain`."""
    [(what, name)] = facts["asked"].items()
    title = f"line {name:,}" if what == "line" else shorten(str(name), _NAME)
    return [
        doc.Section(title, [*_ran(facts, what)]),
        *_asked(facts, what),
        *_why_eagerly(facts),
        *_why_in_graphs(facts),
        *_section("Which kernels, and why", _kernels(facts)),
        *_primitives(facts),
    ]


def _section(title: str, nodes: Iterator[doc.Node]) -> Iterator[doc.Section]:
    children = list(nodes)
    if children:
        yield doc.Section(title, children)


def _said(text: doc.Text, *children: doc.Node) -> doc.Item:
    """A text with what belongs to it."""
    return doc.Item(text, children, mark="")


# ---- what ran ------------------------------------------------------------------------------------


def _ran(facts: Facts, what: str) -> Iterator[doc.Node]:
    if "execution" in facts:
        yield from _execution(facts)
    else:
        yield doc.Paragraph(_modes(facts["eager"], facts["graph"]))
    if what == "at":
        runs = sum(op["runs"] for op in facts["ops"])
        if facts["itself"] < runs:
            took = f" ({duration(facts['steady_us'])})" if facts["steady_us"] else ""
            others = runs - facts["itself"]
            text = f"{facts['itself']:,} directly{took}, {others:,} through code it calls"
            yield doc.Paragraph(f"{count_of(runs, 'execution')}: {text}.")
        calls = [op for op in facts["ops"] if op["kind"] == "call"]
        if us := sum(map(_us, calls)):
            count = sum(call["runs"] for call in calls)
            took = f"{count_of(count, 'function call')} took {duration(us)}"
            yield doc.Paragraph(f"{took}, which includes the nodes of these functions.")
    if facts.get("fused_into"):
        fused = facts["fused_into"]
        yield doc.Paragraph(
            f"Other nodes were fused into {' and '.join(fused)}; try explain --op {fused[0]}."
        )
    if what == "op" and facts["compiled_runs"]:
        runs = count_of(facts["compiled_runs"], "execution")
        xla = f"{runs} ran code compiled by XLA; the log doesn't show which ops are in it."
        yield doc.Paragraph(xla)


def _execution(facts: Facts) -> Iterator[doc.Node]:
    one = facts["execution"]
    if facts.get("text"):
        yield doc.Paragraph(doc.Code(shorten(facts["text"], _STATUS)), "hint")
    end: doc.Text = (" and ends on line ", doc.Line(one["end_line"])) if one["end_line"] else ""
    took = f", {printed}" if (printed := _known(one["work_us"], one["duration_us"])) else ""
    node = f" as node {one['node']}" if one["node"] else ""
    call = "" if one["call"] is None else f", in call {one['call']:,}"
    text = f"is part of an execution of {facts['op']}{node}{call}: it starts on line "
    yield doc.Paragraph((text, doc.Line(one["line"]), end, f" ({one['status']}{took})."))
    if one["python"]:
        yield doc.Fact("at", doc.Code(one["python"]))
    if one["failure"]:
        status = shorten(one["failure"]["status"], _STATUS)
        yield doc.Paragraph((f"It failed: {status} (line ", doc.Line(one["failure"]["line"]), ")"))


def _modes(eager: Facts, graph: Facts) -> str:
    counted = [
        f"{count_of(mode['runs'], 'time')} {how}{_time_at_pace(mode)}{_failed(mode)}"
        for how, mode in (("eagerly", eager), ("in graphs", graph))
        if mode["runs"]
    ]
    if len(counted) == 2:
        return f"ran {' and '.join(counted)}. These are different executions; no op switches modes."
    dead = eager["dead"] + graph["dead"]
    if not counted:
        return f"never ran ({count_of(dead, 'time')} on a branch not taken)."
    never = "in graphs" if eager["runs"] else "eagerly"
    return f"ran {counted[0].rstrip(',')}, never {never}."


def _failed(counted: Facts) -> str:
    return f", {counted['failed']:,} failed," if counted["failed"] else ""


def _time(counted: Facts) -> str:
    time = _known(counted["steady_us"], counted["total_us"])
    return f" ({time})" if time else ""


def _time_at_pace(counted: Facts) -> str:
    """The time at the usual pace, and what first runs and stalls took over it."""
    steady, work = counted["steady_us"], counted["work_us"]
    if steady is None or work is None or work < steady + 1:
        return _time(counted)
    more = f"{duration(work - steady)} extra in first runs and outliers"
    return f" ({duration(steady)}, plus {more})"


def _first_known(counted: Facts) -> float | None:
    return next((us for us in (counted["steady_us"], counted["total_us"]) if us is not None), None)


def _known(estimated: float | None, printed: float | None) -> str:
    """A time without the log; where that isn't known as printed, and said so."""
    if estimated is not None:
        return duration(estimated)
    return "" if printed is None else f"{duration(printed)} as printed"


_ASKED = (
    Column("name", "op", "name"),
    Column("how", "", tone=doc.mode_tone),
    Column("runs", "runs", "count"),
    Column("us", "time", "us"),
)


def _asked(facts: Facts, what: str) -> Iterator[doc.Section]:
    """The ops, calls and nodes that a line of the program asked for."""
    if what != "at":
        return
    how = {"eager": "eagerly", "graph": "in graphs"}
    ops: list[doc.Row] = [
        op
        | {"name": op_name(op["op"]), "us": _first_known(op)}
        | {"how": "a call" if op["kind"] == "call" else how[op["mode"]]}
        for op in facts["ops"][:_ASKED_SHOWN]
    ]
    if rest := facts["ops"][_ASKED_SHOWN:]:
        runs, us = sum(op["runs"] for op in rest), sum(map(_us, rest))
        name = f"{len(rest)} more (--json has all)"
        ops.append({"name": name, "how": "", "mode": "graph", "runs": runs, "us": us})
    yield doc.Section("What it ran", [doc.Table(_ASKED, ops)])


def _us(counted: Facts) -> float:
    return _first_known(counted) or 0.0


# ---- why there -----------------------------------------------------------------------------------


def _why_eagerly(facts: Facts) -> Iterator[doc.Section]:
    """Why it ran eagerly; of an op that oneDNN's eager registry knows, why it never did."""
    causes = facts["eager"]["causes"]
    if causes:
        items = [*map(_cause, causes[:_GROUPS_SHOWN]), *doc.left_out(len(causes), _GROUPS_SHOWN)]
        yield doc.Section("Why eagerly", items, tone="eager")
    elif "op" in facts["asked"] and facts["eager_rewritable"]:
        never = (
            "Python never called it outside a graph function. Eager calls would use the oneDNN "
            "kernel too, if shapes and types allow "
            "(core/common_runtime/eager/mkl_eager_op_rewrite.cc)."
        )
        yield doc.Section("Why never eagerly", [doc.Paragraph(never)])


def _cause(entry: Facts) -> doc.Item:
    kernels = [kernel for kernel in entry["kernels"] if kernel["rewritten"]]
    counts = ", ".join(f"{kernel['runs']:,} as {kernel['kernel']}" for kernel in kernels)
    all_one = len(kernels) == 1 and kernels[0]["runs"] == entry["runs"]
    as_kernel = f", as {kernels[0]['kernel']}" if all_one else f", {counts}" * bool(counts)
    cause = "a call of a graph function" if entry["cause"] is None else entry["cause"]
    head = f"{cause}: {count_of(entry['runs'], 'time')}{_time(entry)}{as_kernel}"
    if entry["why"]:
        run_by = [doc.Fact("run by", name) for name in entry["run_by"][:_GROUPS_SHOWN]]
        text = doc.Paragraph((f"{entry['why']} ", _lines(entry)))
        change, source = _change(entry)
        return _said(head, text, *run_by, *([change] if entry["runs"] > 1 else []), source)
    why = "The log doesn't show why. "
    if entry["cause"] is None:
        why = "Python called the function; its ops ran as a graph. "
    return _said(head, doc.Paragraph((why, _lines(entry))))


def _change(entry: Facts) -> tuple[doc.Fact, doc.Fact]:
    """What would change it, and where it is decided."""
    return doc.Fact("fix", entry["change"]), doc.Fact("source", entry["where"])


def _lines(entry: Facts) -> doc.Text:
    shown = entry.get("evidence") or entry["lines"]
    return "See log ", doc.log_lines(shown), "."


def _why_in_graphs(facts: Facts) -> Iterator[doc.Section]:
    functions = facts["graph"]["functions"]
    if functions:
        items = _functions(functions[:_GROUPS_SHOWN])
        more = doc.left_out(len(functions), _GROUPS_SHOWN)
        yield doc.Section("Why in graphs", [*items, *more], tone="graph")


def _functions(entries: Sequence[Facts]) -> Iterator[doc.Item]:
    """Functions whose nodes they are; why they are there once for all of the same reason."""
    together: dict[str, list[Facts]] = {}
    for entry in entries:
        together.setdefault(_why_there(entry), []).append(entry)
    for why, (*others, last) in together.items():
        yield from (_said(_function(entry)) for entry in others)
        yield _said(_function(last), doc.Paragraph(why))


def _function(entry: Facts) -> doc.Text:
    name = shorten(entry["function"] or "an unnamed function", _NAME)
    uids = entry["function_uids"]
    which_of = f"_{uids[0]}" if len(uids) == 1 else f" ({len(uids)} traces)" * bool(uids)
    call: doc.Text = ""
    if entry["first_call_line"]:
        often = "called" if entry["calls"] == 1 else f"called {entry['calls']:,} times"
        call = (f", {often} (log line ", doc.Line(entry["first_call_line"]), ")")
    ran = f": {count_of(entry['runs'], 'run')}{_time(entry)}, first on log line "
    return f"{name}{which_of}", call, ran, doc.Line(entry["lines"][0])


def _why_there(entry: Facts) -> str:
    if entry["why"]:
        return str(entry["why"])
    if entry["first_call_line"]:
        return f"{_origin(entry['ops'])}; each call of the function runs that node."
    return "It is a node of the function."


def _origin(ops: list[str]) -> str:
    """Who made the nodes. Python can't ask for ops whose names begin with an underscore."""
    if not ops or not all(op.startswith("_") for op in ops):
        return "Python called the op while the function was traced, so it became a node"
    if all(op.startswith("_Fused") for op in ops):
        return (
            "Python called the ops it consists of while the function was traced; grappler "
            "fused them when the function was instantiated "
            "(core/grappler/optimizers/remapper.cc, or that of a plug-in)"
        )
    return "TensorFlow added it when instantiating the function"


# ---- kernels and primitives ----------------------------------------------------------------------


def _kernels(facts: Facts) -> Iterator[doc.Node]:
    """Kernels of nodes, then of eager ops, and what kept eager ops of the type from oneDNN."""
    nodes, dispatched = facts["graph"]["kernels"], facts["eager"]
    eager = dispatched["kernels"]
    if "at" in facts["asked"]:  # of many ops, those that could be oneDNN's
        nodes = [entry for entry in nodes if entry.get("reason") not in _NEVER]
        eager = [entry for entry in eager if entry["reason"] not in _NEVER]
    yield from map(_kernel, nodes[:_GROUPS_SHOWN])
    yield from doc.left_out(len(nodes), _GROUPS_SHOWN)
    for entry in dispatched["rewritten"]:
        [whose] = names_of([entry["rewrite"]])
        how = _DISPATCHED.get(entry["rewrite"], _REWRITES[entry["rewrite"]])
        head = f"{entry['kernel']}, run eagerly: {count_of(entry['runs'], 'run')}{_time(entry)}"
        yield _said(head, doc.Paragraph((f"{whose} kernel: {how}. ", _lines(entry))))
    explained = {entry["rule"] for entry in nodes}
    alike: dict[tuple[str, str], Facts] = {}
    for entry in eager:
        typed = entry["dtype"] and entry["reason"] != "not-supported-op"
        dtype = f" of {_type(entry['dtype'])}" if typed else ""
        key = f"{entry['kernel']}{dtype}, run eagerly", entry["rule"]
        before = alike[key]["evidence"] if key in alike else []
        alike[key] = {**entry, "evidence": [*before, *entry["evidence"]]}
    for (head, _), entry in [*alike.items()][:_GROUPS_SHOWN]:
        if entry["rule"] in explained:
            yield doc.Paragraph(
                (f"{head}: not rewritten either ({entry['reason']}). ", _lines(entry))
            )
        else:
            yield _said(head, *_refusal(entry))
            explained.add(entry["rule"])
    yield from doc.left_out(len(alike), _GROUPS_SHOWN)


def _kernel(entry: Facts) -> doc.Item:
    text = f"{entry['kernel']}: {count_of(entry['nodes'], 'node')}"
    such = "first: " * (entry["nodes"] > 1) + shorten(entry["examples"][0] or "?", _NAME)
    head = f"{text} ({such}), {count_of(entry['runs'], 'run')}{_time(entry)}"
    if entry["rewrite"] != "none":
        how = f"{names_of([entry['rewrite']])[0]} kernel: {_REWRITES[entry['rewrite']]}. "
        return _said(head, doc.Paragraph((how, _lines(entry))))
    if entry["rule"]:
        return _said(head, *_refusal(entry))
    return _said(head, doc.Paragraph(("TensorFlow's own kernel. ", _lines(entry))))


def _type(dtype: str) -> str:
    """A type as Python has it: `float32` of `DT_FLOAT`."""
    name = dtype.removeprefix("DT_").lower()
    return _TYPES.get(name, name)


def _refusal(entry: Facts) -> Iterator[doc.Node]:
    """Why it stayed as it was, what would change that, and where it is decided."""
    why, changes = entry["why"], [*_change(entry)]
    if entry["change"].startswith(NOTHING):
        why = f"{why} {changes.pop(0).text}"
    yield doc.Paragraph((f"Not rewritten ({entry['reason']}): {why} ", _lines(entry)))
    yield from changes


def _primitives(facts: Facts) -> Iterator[doc.Section]:
    primitives = facts["primitives"]
    if primitives:
        libraries = dict.fromkeys(entry["library"] for entry in primitives)
        items: list[doc.Node] = [*map(_primitive, primitives[:_GROUPS_SHOWN])]
        items += doc.left_out(len(primitives), _GROUPS_SHOWN)
        kernels = [*facts["graph"]["kernels"], *facts["eager"]["kernels"]]
        if any(entry.get("reason") == "onednn-off" for entry in kernels):
            own = (
                "The log still has oneDNN lines: Eigen's contraction kernel calls oneDNN's GEMM "
                "even with oneDNN ops off (tsl/framework/contraction)."
            )
            items.append(doc.Paragraph(own))
        yield doc.Section(" and ".join(libraries), items, tone="rewritten")


def _primitive(entry: Facts) -> doc.Paragraph:
    name = " ".join(filter(None, (entry["primitive"], entry["implementation"])))
    took = "" if entry["us"] is None else f", {duration(entry['us'])} including first runs"
    runs = f"{count_of(entry['count'], 'run')}{took}, {_MATCHES[entry['link']]}"
    return doc.Paragraph((f"{name}: {runs}, first on log line ", doc.Line(entry["line"])))
