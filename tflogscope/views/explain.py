"""The text of `tflogscope explain`: paragraphs for people who do not know TensorFlow's sources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tflogscope.grammar.rewriters import REWRITERS, names_of
from tflogscope.model.figures import count_of
from tflogscope.model.names import MERGED
from tflogscope.views.grid import Column, draw_grid
from tflogscope.views.pieces import EAGER, ERROR, GRAPH, MODES, NAME_WIDTH, REWRITTEN, heading
from tflogscope.views.table import duration
from tflogscope.views.text import print_paragraph, shorten, text

if TYPE_CHECKING:
    from rich.console import Console

Facts = dict[str, Any]
_INDENT = "  "
_GROUPS_SHOWN = 6
_ASKED_SHOWN = 12
_LEAST = 12  # cells of a name
_STATUS = 400  # cells of a status that is quoted

# What made a kernel one of oneDNN or of a plug-in, and where that is decided.
_REWRITES = {
    "layout": "the layout pass rewrote the nodes when their function was made ready "
    "(core/common_runtime/mkl_layout_pass.cc, MklLayoutRewritePass::RewriteNode)",
    "remapper": "grappler's remapper made it of several nodes "
    "(core/grappler/optimizers/remapper.cc)",
    "eager": "the eager rewrite registry replaced the op as it was dispatched "
    "(core/common_runtime/eager/mkl_eager_op_rewrite.cc)",
    "wrapped": "the layout pass rewrote it inside the function that wraps an eager op",
    **{each.id: f"the plug-in {each.package} put it there ({each.where})" for each in REWRITERS},
}
_DISPATCHED = {
    each.id: f"TensorFlow dispatched the op as that of the plug-in {each.package} ({each.eager})"
    for each in REWRITERS
    if each.eager
}


def render_explanation(facts: Facts, console: Console) -> None:
    """Print why executions ran where they ran. Log text reaches the console as text only."""
    eager, graph = facts["eager"], facts["graph"]
    [(what, name)] = facts["asked"].items()
    title = f"line {name:,}" if what == "line" else shorten(str(name), NAME_WIDTH)
    console.print(text(title, "bold"), soft_wrap=True)
    if "execution" in facts:
        _execution(facts, console)
    else:
        print_paragraph(_modes(eager, graph), console, _INDENT)
    if what == "at":
        _asked(facts, console)
    if facts.get("fused_into"):
        print_paragraph(
            f"More of them ran as part of {' and '.join(facts['fused_into'])}, which grappler made "
            "of several ops: that is asked for by its own name.",
            console,
            _INDENT,
        )
    _why_eagerly(facts, console)
    if graph["functions"]:
        heading("Why in graphs", console, GRAPH)
        plugins = {each.id for each in REWRITERS}
        own = any(entry["rewrite"] in plugins for entry in graph["kernels"])
        _functions(graph["functions"][:_GROUPS_SHOWN], console, own_remapper=own)
        _more(len(graph["functions"]), console)
    if what == "op" and facts["compiled_runs"]:
        runs = count_of(facts["compiled_runs"], "execution")
        print_paragraph(
            f"{runs} of the log ran code that XLA compiled. Which ops are in it does not show.",
            console,
            _INDENT,
        )
    _kernels(graph["kernels"], eager, console)
    if facts["primitives"]:
        libraries = dict.fromkeys(entry["library"] for entry in facts["primitives"])
        heading(" and ".join(libraries), console, REWRITTEN)
        for entry in facts["primitives"][:_GROUPS_SHOWN]:
            _primitive(entry, console)
        _more(len(facts["primitives"]), console)


def _asked(facts: Facts, console: Console) -> None:
    """The ops, calls and nodes that a line of the program asked for."""
    runs = sum(each["runs"] + each["dead"] for each in facts["ops"])
    if facts["itself"] < runs:
        said = f"{facts['itself']:,} of these by itself, the others in code that it called."
        print_paragraph(said, console, _INDENT)
    heading("What it asked for", console)
    shown = facts["ops"][:_ASKED_SHOWN]
    names = [
        shorten((each["op"] or "(cut off)").removeprefix(MERGED), NAME_WIDTH) for each in shown
    ]
    how = {"eager": "eagerly", "graph": "in graphs"}
    columns = [
        Column("op", names, least=_LEAST),
        Column(
            "",
            ["a call" if each["kind"] == "call" else how[each["mode"]] for each in shown],
            style=[MODES[each["mode"]] for each in shown],
        ),
        Column("runs", [f"{each['runs']:,}" for each in shown], is_number=True),
        Column("time", [_time(each).strip(" ()") for each in shown], is_number=True),
    ]
    draw_grid(columns, console, indent=2)
    _more(len(facts["ops"]), console, _ASKED_SHOWN)


def _why_eagerly(facts: Facts, console: Console) -> None:
    """Why it ran eagerly; of an op that oneDNN's eager registry knows, why it never did."""
    causes = facts["eager"]["causes"]
    if causes:
        heading("Why eagerly", console, EAGER)
        for entry in causes[:_GROUPS_SHOWN]:
            _cause(entry, console)
        _more(len(causes), console)
    elif "op" in facts["asked"] and facts["eager_rewritable"]:
        heading("Why never eagerly", console)
        print_paragraph(
            "Python code never asked for it outside a graph function. If it did, the op would be "
            "dispatched as its oneDNN kernel too, where shapes and types allow "
            "(core/common_runtime/eager/mkl_eager_op_rewrite.cc).",
            console,
            _INDENT,
        )


def render_findings(
    findings: list[Facts], titles: dict[str, tuple[str, str]], console: Console
) -> None:
    """Print findings in full: what, evidence, advice, and the place in TensorFlow.

    `titles` has title and place by id.
    """
    for number, each in enumerate(findings):
        title, where = titles[each["id"]]
        if number:
            console.print()
        style = f"bold {ERROR}" if each["severity"] == "error" else "bold"
        console.print(text(f"{title} ({each['severity']}, {each['id']})", style), soft_wrap=True)
        print_paragraph(each["text"], console, _INDENT)
        if each["lines"]:
            print_paragraph(each["lines"].replace(";", ", "), console, f"{_INDENT}lines   ")
        if each["python"]:
            print_paragraph(each["python"], console, f"{_INDENT}program ")
        print_paragraph(each["advice"], console, f"{_INDENT}change  ")
        print_paragraph(where, console, f"{_INDENT}where   ")


def _execution(facts: Facts, console: Console) -> None:
    one = facts["execution"]
    end = f" and ends on line {one['end_line']:,}" if one["end_line"] else ""
    took = "" if one["duration_us"] is None else f", {duration(one['duration_us'])}"
    node = f" as node {one['node']}" if one["node"] else ""
    call = "" if one["call"] is None else f", in call {one['call']:,}"
    said = f"belongs to an execution of {facts['op']}{node}{call}: it begins on line"
    print_paragraph(f"{said} {one['line']:,}{end} ({one['status']}{took}).", console, _INDENT)
    if one["failure"]:
        status = shorten(one["failure"]["status"], _STATUS)
        line = f"(line {one['failure']['line']:,})"
        print_paragraph(f"It failed: {status} {line}", console, _INDENT)


def _modes(eager: Facts, graph: Facts) -> str:
    counted = [
        f"{count_of(mode['runs'], 'time')} {how}{_time(mode)}{_failed(mode)}"
        for how, mode in (("eagerly", eager), ("in graphs", graph))
        if mode["runs"]
    ]
    if len(counted) == 2:
        return (
            f"ran {counted[0]} and {counted[1]}. These are different executions: none moved from "
            "one mode to the other. Python decides for each call: while a function is being traced "
            "it makes a node, elsewhere it runs the op at once "
            "(python/eager/context.py, executing_eagerly; is_eager in gen_*_ops.py)."
        )
    dead = eager["dead"] + graph["dead"]
    if not counted:
        return f"never ran: {count_of(dead, 'time')} on a branch that was not taken."
    never = "in graphs" if eager["runs"] else "eagerly"
    return f"ran {counted[0].rstrip(',')}, never {never}."


def _failed(counted: Facts) -> str:
    return f", {counted['failed']:,} of them not to a good end," if counted["failed"] else ""


def _time(counted: Facts) -> str:
    return "" if counted["total_us"] is None else f" ({duration(counted['total_us'])})"


def _cause(entry: Facts, console: Console) -> None:
    kernels = [each for each in entry["kernels"] if each["rewritten"]]
    counts = ", ".join(f"{each['runs']:,} as {each['kernel']}" for each in kernels)
    all_one = len(kernels) == 1 and kernels[0]["runs"] == entry["runs"]
    as_kernel = f", as {kernels[0]['kernel']}" if all_one else f", {counts}" * bool(counts)
    cause = "a call of a graph function" if entry["cause"] is None else entry["cause"]
    print_paragraph(
        f"{cause}: {count_of(entry['runs'], 'time')}{_time(entry)}{as_kernel}", console, _INDENT
    )
    if entry["why"]:
        print_paragraph(f"{entry['why']} {_lines(entry)}", console, _INDENT * 2)
        print_paragraph(entry["change"], console, f"{_INDENT * 2}change  ")
        print_paragraph(entry["where"], console, f"{_INDENT * 2}where   ")
    elif entry["cause"] is None:
        print_paragraph(
            f"Python called the function; what is in it ran as a graph. {_lines(entry)}",
            console,
            _INDENT * 2,
        )
    else:
        print_paragraph(f"The log does not say. {_lines(entry)}", console, _INDENT * 2)


def _lines(entry: Facts) -> str:
    shown = entry.get("evidence") or entry["lines"]
    noun = "line" if len(shown) == 1 else "lines"
    return f"See {noun} {', '.join(f'{line:,}' for line in shown)}."


def _functions(entries: list[Facts], console: Console, *, own_remapper: bool) -> None:
    """Functions whose nodes they are; why they are there once for all of the same reason.

    `own_remapper`: a plug-in may have fused ops in the place of grappler.
    """
    together: dict[str, list[Facts]] = {}
    for entry in entries:
        together.setdefault(_why_there(entry, own_remapper), []).append(entry)
    for why, members in together.items():
        for entry in members:
            _function(entry, console)
        print_paragraph(why, console, _INDENT * 2)


def _function(entry: Facts, console: Console) -> None:
    name = shorten(entry["function"] or "a function that the log does not name", NAME_WIDTH)
    uids = entry["function_uids"]
    traces = f" {uids[0]}" if len(uids) == 1 else f" ({len(uids)} traces)" * bool(uids)
    said = f"{name}{traces}: {count_of(entry['runs'], 'run')}{_time(entry)}, "
    if entry["first_call_line"]:
        calls = "its call" if entry["calls"] == 1 else f"the first of {entry['calls']:,} calls"
        said += f"{calls} on line {entry['first_call_line']:,}, "
    which = "on" if entry["runs"] == 1 else "the first run on"
    print_paragraph(f"{said}{which} line {entry['lines'][0]:,}", console, _INDENT)


def _why_there(entry: Facts, own_remapper: bool) -> str:
    if entry["why"]:
        return str(entry["why"])
    if entry["first_call_line"]:
        return (
            f"{_origin(entry['ops'], own_remapper)}; each call of the function runs it. "
            "Tracing itself has no record."
        )
    return "It is a node of the function."


def _origin(ops: list[str], own_remapper: bool) -> str:
    """Who made the nodes. Python can't ask for ops whose names begin with an underscore."""
    if not ops or not all(op.startswith("_") for op in ops):
        return "Python asked for it while the function was traced, so it became a node"
    if all(op.startswith("_Fused") for op in ops):
        plugin = ", or the plug-in's own" if own_remapper else ""
        return (
            "Python asked for the ops that it is made of while the function was traced; grappler "
            "made one node of them when the function was made ready "
            f"(core/grappler/optimizers/remapper.cc{plugin})"
        )
    return "TensorFlow added it itself when it made the function ready"


def _kernels(nodes: list[Facts], dispatched: Facts, console: Console) -> None:
    """Kernels of nodes, then of eager ops, and what kept eager ops of the type from oneDNN."""
    rewritten, eager = dispatched["rewritten"], dispatched["kernels"]
    if not nodes and not rewritten and not eager:
        return
    heading("Which kernels, and why", console)
    for entry in nodes[:_GROUPS_SHOWN]:
        _kernel(entry, console)
    _more(len(nodes), console)
    for entry in rewritten:
        head = f"{entry['kernel']}, run eagerly: {count_of(entry['runs'], 'run')}{_time(entry)}"
        print_paragraph(head, console, _INDENT)
        how = _DISPATCHED.get(entry["rewrite"], _REWRITES[entry["rewrite"]])
        said = f"{_whose(entry)} kernel: {how}. {_lines(entry)}"
        print_paragraph(said, console, _INDENT * 2)
    known = {entry["rule"] for entry in nodes}
    for entry in eager[:_GROUPS_SHOWN]:
        typed = entry["dtype"] and entry["reason"] != "not-supported-op"
        dtype = f" of {entry['dtype']}" if typed else ""
        head = f"{entry['kernel']}{dtype}, run eagerly"
        if entry["rule"] in known:
            print_paragraph(f"{head}: {entry['reason']} too. {_lines(entry)}", console, _INDENT)
            continue
        print_paragraph(head, console, _INDENT)
        _refusal(entry, console)
        known.add(entry["rule"])
    _more(len(eager), console)


def _kernel(entry: Facts, console: Console) -> None:
    said = f"{entry['kernel']}: {count_of(entry['nodes'], 'node')}, "
    print_paragraph(
        f"{said}{count_of(entry['runs'], 'run')}{_time(entry)}, such as "
        f"{shorten(entry['examples'][0] or '?', NAME_WIDTH)}",
        console,
        _INDENT,
    )
    if entry["rewrite"] != "none":
        print_paragraph(
            f"{_whose(entry)} kernel: {_REWRITES[entry['rewrite']]}. {_lines(entry)}",
            console,
            _INDENT * 2,
        )
    elif entry["rule"]:
        _refusal(entry, console)
    else:
        print_paragraph(f"TensorFlow's own kernel. {_lines(entry)}", console, _INDENT * 2)


def _whose(entry: Facts) -> str:
    [name] = names_of([entry["rewrite"]])
    return f"{'An' if name[0] in 'AEIO' else 'A'} {name}"


def _refusal(entry: Facts, console: Console) -> None:
    """Why it stayed as it was, what would change that, and where it is decided."""
    said = f"Not rewritten, {entry['reason']}: {entry['why']} {_lines(entry)}"
    print_paragraph(said, console, _INDENT * 2)
    print_paragraph(entry["change"], console, f"{_INDENT * 2}change  ")
    print_paragraph(entry["where"], console, f"{_INDENT * 2}where   ")


def _primitive(entry: Facts, console: Console) -> None:
    name = " ".join(filter(None, (entry["primitive"], entry["implementation"])))
    took = "" if entry["us"] is None else f", {duration(entry['us'])}"
    print_paragraph(
        f"{name}: {count_of(entry['count'], 'time')}{took} "
        f"({entry['link']}), the first on line {entry['line']:,}",
        console,
        _INDENT,
    )


def _more(count: int, console: Console, shown: int = _GROUPS_SHOWN) -> None:
    if count > shown:
        print_paragraph(f"and {count - shown} more (--json has all)", console, _INDENT)
