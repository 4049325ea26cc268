"""Why ops ran where they ran, and as which kernels: the facts of `tflogscope explain`.

What is asked for (an op, a node, a line) chooses executions. Eager ones are grouped by the rule
that gave them their cause, graph ones by function, by kernel and by the rule that kept them from
oneDNN.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import polars as pl

from tflogscope.errors import UsageError, did_you_mean
from tflogscope.grammar.onednn_ops import EAGER_OPS
from tflogscope.grammar.rewriters import ONEDNN_REWRITES
from tflogscope.model.causes.causes import LIBRARY, package_of
from tflogscope.model.causes.rules import UNKNOWN, cause_grammar
from tflogscope.model.common.figures import round_time, sum_known, summed
from tflogscope.model.common.names import MERGED, is_rewritten
from tflogscope.model.executions.failures import END_OF_DATA
from tflogscope.model.reasons import rules as reason_rules

if TYPE_CHECKING:
    from tflogscope.model.common.tables import Tables

Facts = dict[str, Any]

_LINES = 6  # of evidence for one answer
_NODE = ["function", "function_uid", "node"]


class Explainer:
    """Explains executions of one run."""

    def __init__(self, run: Tables) -> None:
        self._run = run
        ended = run.statuses.filter(pl.col("status").str.contains(END_OF_DATA))["row"]
        executions = run.executions.with_row_index("row")
        self._executions = executions.with_columns(ended=pl.col("row").is_in(ended.implode()))

    # ---- what is asked for -----------------------------------------------------------------------

    def op(self, name: str) -> Facts:
        """Explain all executions of an op type, or of a kernel.

        Raises:
            UsageError: the log has no execution of it.
        """
        executions = self._executions.filter(pl.col("kind") != "call")
        op = pl.col("op").cast(pl.String).str.strip_prefix(MERGED)
        meant = executions.filter((op == name.removeprefix(MERGED)) | (pl.col("kernel") == name))
        if meant.is_empty():
            raise self._no_op(name, executions)
        return self._facts({"op": name}, meant) | {"fused_into": self._fused_into(name)}

    def _fused_into(self, name: str) -> list[str]:
        """Ops that grappler made of this op and others: `_FusedMatMul` of `MatMul` and `Relu`."""
        fused = self._run.nodes.filter(
            pl.col("op").str.starts_with("_Fused") & (pl.col("executions") > 0)
        )
        others = fused["attributes"].str.extract(r"fused_ops=\[(.*?)\]")
        within = others.str.contains(f'"{name}"', literal=True).fill_null(value=False)
        kernels = fused["op"].filter(within | (fused["op"] == f"_Fused{name}"))
        return kernels.unique().sort().to_list()

    def _no_op(self, name: str, executions: pl.DataFrame) -> UsageError:
        calls = self._executions.filter(pl.col("kind") == "call")["op"].cast(pl.String)
        if fused := self._fused_into(name):
            hint = f"Grappler fused it into another op: explain --op {' or '.join(fused)}."
        elif name in calls or calls.str.contains(f"__inference_{name}_", literal=True).any():
            hint = "This is a function: tflogscope timeline LOG --function shows what ran inside."
        elif runs := int(self._executions["compiled"].sum()):
            ran = f"{runs:,} execution{'s' * (runs > 1)} ran XLA-compiled code;"
            hint = f"{ran} the log doesn't show its ops."
        else:
            return _not_there("op", name, _texts(executions["op"]) + _texts(executions["kernel"]))
        return UsageError("no execution of this op", name, hint)

    def node(self, name: str) -> Facts:
        """Explain all executions of a node: by its whole name, or by the end of it after a `/`.

        Raises:
            UsageError: the log has no execution of it.
        """
        names = pl.Series(_texts(self._executions["node"]), dtype=pl.String)
        meant = names.filter((names == name) | names.str.ends_with(f"/{name}"))
        if meant.is_empty():
            raise _not_there("node", name, names.to_list())
        executions = self._executions.filter(pl.col("node").is_in(meant.implode()))
        return self._facts({"node": name}, executions)

    def line(self, number: int) -> Facts:
        """Explain the execution that a line of the first source begins, ends, or was run by.

        Raises:
            UsageError: no execution starts or ends there.
        """
        here = (pl.col("line") == number) | (pl.col("end_line") == number)
        numbers = self._of_first_source(self._executions).filter(here)["row"]
        for table, row in ((self._run.linked_primitives, "execution"), (self._run.statuses, "row")):
            records = self._of_first_source(table).filter(pl.col("line") == number)
            numbers = pl.concat([numbers, records[row].drop_nulls().cast(pl.UInt32)])
        if numbers.is_empty():
            raise UsageError(
                "no execution starts or ends there", f"line {number:,}", self._nearest(number)
            )
        one = self._executions[int(numbers[0])]
        return self._facts({"line": number}, one) | {"execution": self._execution(one)}

    def _of_first_source(self, table: pl.DataFrame) -> pl.DataFrame:
        return table.filter(pl.col("source") == self._run.coverage["source"][0])

    def at(self, place: str) -> Facts:
        """Explain what a line of the program asked for, `train.py:31`, itself or through others.

        Raises:
            UsageError: the log has no lines, or this one asked for nothing.
        """
        stacks = self._run.stacks
        if stacks.is_empty():
            hint = "Record the program with tflogscope record, without --no-lines."
            raise UsageError("the log has no lines of the program", "--at", hint)
        frames = pl.concat_str(pl.lit(";"), "frames", pl.lit(";"))
        wanted, nearest = re.escape(place.replace(";", ",")), pl.col("python")
        itself = (nearest == place) | nearest.str.ends_with(f"/{place}")
        through = itself | frames.str.contains(f"[;/]{wanted} ")
        meant = stacks.select("id", itself=itself, asked=through).filter("asked")
        executions = self._executions.filter(pl.col("stack").is_in(meant["id"].implode()))
        if executions.is_empty():
            raise _not_there("line of the program", place, stacks["python"].unique().to_list())
        of_line = meant.filter("itself")["id"].implode()
        directly = executions.filter(
            pl.col("stack").is_in(of_line), pl.col("status") != "dead", pl.col("kind").is_in(_RUN)
        )
        facts = self._facts({"at": place}, executions)
        of_ops = _cost(_counted(directly.filter(kind="op")))
        ops = executions.filter(kind="op")
        # As in the lines of `analyze`: calls are a sentence of their own.
        counted = {
            mode: facts[mode] | _counted(ops.filter(mode=mode)) for mode in ("eager", "graph")
        }
        return (
            facts
            | (counted if ops.height else {})
            | {
                "ops": _asked(executions),
                "itself": directly.height,
                "steady_us": round_time(of_ops),
            }
        )

    def _run_by(self, executions: pl.DataFrame) -> list[str]:
        """The packages that ran rows, and where the program called them."""
        stacks = self._run.stacks.select("id", "python", package=package_of(pl.col("frames")))
        called = stacks.filter(pl.col("id").is_in(executions["stack"].implode()))
        named = pl.format("{}, called at {}", pl.col("package").str.extract(r"^([^.]+)"), "python")
        return called.select(named.unique(maintain_order=True)).to_series().to_list()

    def _nearest(self, line: int) -> str:
        nodes = self._run.rewrites.filter(pl.col("line") == line)["node"].drop_nulls()
        if len(nodes):
            return f"It reports a rewrite: explain --node {nodes[0]}"
        before = self._of_first_source(self._executions).filter(pl.col("line") <= line)["line"]
        of_program = f"For a line of the program: explain --at FILE:{line}"
        if before.is_empty():
            return f"The first execution starts after it. {of_program}"
        return f"The last execution before it starts on line {before[-1]:,}. {of_program}"

    # ---- the facts -------------------------------------------------------------------------------

    def _facts(self, question: Facts, executions: pl.DataFrame) -> Facts:
        eager, graph = (executions.filter(pl.col("mode") == mode) for mode in ("eager", "graph"))
        return {
            "asked": question,
            "op": executions["op"][0],
            "eager": self._eager(eager),
            "graph": self._graph(graph),
            "primitives": self._primitives(executions["row"]),
            "eager_rewritable": executions["op"][0] in EAGER_OPS
            and graph["rewrite"].is_in(ONEDNN_REWRITES).any(),
            "compiled_runs": int(self._executions["compiled"].sum()),
        }

    def _eager(self, executions: pl.DataFrame) -> Facts:
        rules = {rule.id: rule for rule in cause_grammar().rules}
        causes = []
        for (rule,), here in executions.group_by("rule", maintain_order=True):
            evidence = {here["line"][0], here["proof_line"][0]} - {None} if rule else set()
            causes.append(
                {
                    **_said(rules.get(str(rule))),
                    "cause": getattr(rules.get(str(rule)), "cause", UNKNOWN) if rule else None,
                    **_counted(here),
                    "kernels": _counts(here),
                    "lines": here["line"].head(_LINES).to_list(),
                    "evidence": sorted(evidence),
                    "run_by": self._run_by(here) if rule == LIBRARY else [],
                }
            )
        causes.sort(key=lambda entry: (-_cost(entry), -entry["runs"], entry["lines"]))
        return {
            **_counted(executions),
            "causes": causes,
            "rewritten": _rewritten(executions),
            "kernels": self._eager_kernels(_texts(executions["op"])),
        }

    def _eager_kernels(self, ops: list[str]) -> list[Facts]:
        """By kernel and type: what kept eager ops from oneDNN, and where that shows."""
        kept = self._run.eager_kernels.filter(pl.col("op").is_in(ops)).drop_nulls("rule")
        keys = ["kernel", "op", "dtype", "rule"]
        grouped = kept.group_by(keys, maintain_order=True).agg("proof_line")
        return [
            {
                "kernel": kernel,
                "dtype": dtype,
                **_said(_REASONS.get(rule), op),
                "evidence": sorted(set(proof))[:_LINES],
            }
            for kernel, op, dtype, rule, proof in grouped.rows()
        ]

    def _graph(self, runs: pl.DataFrame) -> Facts:
        rules = {rule.cause: rule for rule in cause_grammar().graph_rules}
        functions = [
            {
                "function": function,
                "function_uids": here["function_uid"].drop_nulls().unique().sort().to_list(),
                "flavour": flavour,
                "cause": cause,
                "why": rules[str(cause)].why if cause in rules else None,
                "ops": _texts(here["op"]),
                **_counted(here),
                "calls": max(here["call"].drop_nulls().n_unique(), self._calls_of(here)),
                "first_call_line": self._call_line(here["call"].min()),
                "lines": here["line"].head(_LINES).to_list(),
            }
            for (function, flavour, cause), here in runs.group_by(
                "function", "flavour", "cause", maintain_order=True
            )
        ]
        return {**_counted(runs), "functions": functions, "kernels": self._kernels(runs)}

    def _calls_of(self, runs: pl.DataFrame) -> int:
        """How often the functions of these runs were called: threads call at the same time."""
        called = runs["function_uid"].drop_nulls().unique().implode()
        return int(self._executions.filter(kind="call")["function_uid"].is_in(called).sum())

    def _call_line(self, call: object) -> int | None:
        if call is None:
            return None
        calls = self._executions.filter((pl.col("kind") == "call") & (pl.col("call") == call))
        return int(calls["line"][0])

    def _kernels(self, runs: pl.DataFrame) -> list[Facts]:
        """By kernel and rule: how many nodes, why they have it, and where that shows."""
        named = runs.drop("rule", "proof_line").with_columns(pl.col(pl.Categorical).cast(pl.String))
        kept = self._run.nodes.select(*_NODE, rule=self._run.reasons["rule"])
        kept = kept.with_columns(self._run.reasons["proof_line"])
        passed = self._run.rewrites.filter(pl.col("by") != "remapper")
        passed = passed.select(*_NODE, rewritten_line="line").unique(_NODE, keep="first")
        joined = named
        for table in (kept.unique(_NODE, keep="first"), passed):
            joined = joined.join(
                table, on=_NODE, how="left", nulls_equal=True, maintain_order="left"
            )
        kernels = []
        for (kernel, rewrite, rule), here in joined.group_by(
            "kernel", "rewrite", "rule", maintain_order=True
        ):
            proof = here["rewritten_line"] if rewrite != "none" else here["proof_line"]
            kernels.append(
                {
                    "kernel": kernel,
                    "rewrite": rewrite,
                    **_said(_REASONS.get(str(rule)), here["op"][0]),
                    "nodes": here.select(_NODE).n_unique(),
                    "examples": here["node"].unique(maintain_order=True).head(3).to_list(),
                    **_counted(here),
                    "lines": here["line"].head(_LINES).to_list(),
                    "evidence": proof.drop_nulls().unique().sort().head(_LINES).to_list(),
                }
            )
        return sorted(kernels, key=lambda entry: (-_cost(entry), -entry["runs"]))

    def _primitives(self, numbers: pl.Series) -> list[Facts]:
        ran = self._run.linked_primitives.filter(
            (pl.col("event") == "exec") & pl.col("execution").is_in(numbers.implode())
        )
        grouped = ran.group_by("library", "primitive", "implementation", "link").agg(
            count=pl.len(), us=summed("duration_us"), line=pl.col("line").first()
        )
        order = ["us", "line"]
        return grouped.sort(order, descending=[True, False], nulls_last=True).to_dicts()

    def _execution(self, one: pl.DataFrame) -> Facts:
        """The one execution that a line belongs to."""
        names = (
            *("line", "end_line", "status", "work_us", "duration_us", "node", "call"),
            "python",
        )
        failed = self._run.statuses.filter(pl.col("row") == one["row"][0])
        failure = failed.select("status", "line").head(1).to_dicts()
        return {**one.select(names).to_dicts()[0], "failure": failure[0] if failure else None}


_REASONS = {rule.id: rule for rule in reason_rules.RULES}


def _said(rule: Any, op: str | None = None) -> Facts:
    """What a rule says; of a reason, the place that decides it for that op."""
    if rule is None:
        return {"rule": None, "why": None, "where": None, "change": None}
    where = rule.where_of(op) if hasattr(rule, "where_of") else rule.where
    facts = {"rule": rule.id, "why": rule.why, "where": where, "change": rule.change}
    return facts | ({"reason": rule.reason} if hasattr(rule, "reason") else {})


_RUN = ("op", "call")  # not what constant folding computed, nor transfers


def _asked(executions: pl.DataFrame) -> list[Facts]:
    """Ops, functions and nodes: how often each ran and how long, the most time first."""
    groups = executions.filter(pl.col("kind").is_in(_RUN)).group_by("mode", "kind", "op")
    ops = [{"mode": mode, "kind": kind, "op": op, **_counted(h)} for (mode, kind, op), h in groups]
    return sorted(ops, key=lambda op: (-_cost(op), -op["runs"], op["op"]))


def _rewritten(executions: pl.DataFrame) -> list[Facts]:
    """Eager ops that ran as kernels of oneDNN or a plug-in, by what replaced them."""
    ran = executions.filter((pl.col("rewrite") != "none") & (pl.col("status") != "failed"))
    return [
        {
            "kernel": kernel,
            "rewrite": rewrite,
            **_counted(here),
            "lines": here["line"].head(_LINES).to_list(),
        }
        for (kernel, rewrite), here in ran.group_by("kernel", "rewrite", maintain_order=True)
    ]


def _counted(executions: pl.DataFrame) -> Facts:
    alive = executions.filter(pl.col("status") != "dead")
    return {
        "runs": alive.height,
        "failed": alive.filter(pl.col("status") == "failed", ~pl.col("ended")).height,
        "dead": executions.height - alive.height,
        "steady_us": sum_known(alive["steady_us"]),
        "work_us": sum_known(alive["work_us"]),
        "total_us": sum_known(alive["duration_us"]),
    }


def _cost(counted: Facts) -> float:
    """What counts are ordered by: the time without the log, or as printed if it isn't known."""
    steady, printed = counted["steady_us"], counted["total_us"]
    return float(steady if steady is not None else printed or 0)


def _counts(executions: pl.DataFrame) -> list[Facts]:
    """Each kernel with its number of runs, the most frequent first; `rewritten`: by anybody."""
    kernels = executions.select(pl.col("kernel").cast(pl.String)).drop_nulls()
    counted = kernels.group_by("kernel").agg(runs=pl.len())
    counted = counted.with_columns(rewritten=is_rewritten(pl.col("kernel")))
    return counted.sort("runs", "kernel", descending=[True, False]).to_dicts()


def _texts(values: pl.Series) -> list[str]:
    """Distinct texts, sorted."""
    return values.drop_nulls().unique().cast(pl.String).sort().to_list()


def _not_there(what: str, name: str, names: list[str]) -> UsageError:
    lists = {
        "op": "tflogscope ops LOG lists the ops.",
        "node": "tflogscope export LOG --table nodes lists the nodes.",
        "line of the program": "tflogscope export LOG --table stacks lists the lines.",
    }
    hint = did_you_mean(name, names, lists[what], most=3)
    return UsageError(f"no execution of this {what}", name, hint)
