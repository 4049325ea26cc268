"""Why ops ran where they ran, and as which kernels: the facts of `tflogscope explain`.

What is asked for (an op, a node, a line) chooses executions. Eager ones are grouped by the rule
that gave them their cause, graph ones by function, by kernel and by the rule that kept them from
oneDNN.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tflogscope.errors import UsageError
from tflogscope.events.events import PLACES
from tflogscope.grammar.onednn_ops import EAGER_OPS
from tflogscope.grammar.rewriters import ONEDNN_REWRITES
from tflogscope.model.causes.causes import Causes
from tflogscope.model.causes.rules import UNKNOWN, cause_grammar
from tflogscope.model.executions import STATUSES, Executions, with_places
from tflogscope.model.figures import summed
from tflogscope.model.instantiations import Instantiations
from tflogscope.model.links.candidates import compiled_runs
from tflogscope.model.links.linked import Linked
from tflogscope.model.names import MERGED, function_columns, is_rewritten
from tflogscope.model.python_lines import PythonLines
from tflogscope.model.reasons import rules as reason_rules
from tflogscope.model.reasons.reasons import Reasons

Facts = dict[str, Any]
Chosen = NDArray[np.bool_]

_LINES = 6  # of evidence for one answer
_DEAD, _FAILED = STATUSES.index("dead"), STATUSES.index("failed")


@dataclass(frozen=True)
class Explainer:
    """Explains executions of one run."""

    executions: Executions
    instantiations: Instantiations
    linked: Linked
    causes: Causes
    graph_nodes: pl.DataFrame
    reasons: Reasons
    eager_kernels: pl.DataFrame
    lines: PythonLines
    statuses: pl.DataFrame  # `failures.read_statuses`

    # ---- what is asked for -----------------------------------------------------------------------

    def op(self, name: str) -> Facts:
        """Explain all executions of an op type, or of a kernel.

        Raises:
            UsageError: the log has no execution of it.
        """
        signatures = self.executions.signatures.filter(pl.col("kind") != "call")
        meant = signatures.filter(
            (pl.col("op").str.strip_prefix(MERGED) == name.removeprefix(MERGED))
            | (pl.col("kernel") == name)
        )
        if meant.is_empty():
            raise self._no_op(name, signatures)
        rows = self.executions.frame["signature"].is_in(meant["signature"].implode())
        return self._facts({"op": name}, rows.to_numpy()) | {"fused_into": self._fused_into(name)}

    def _fused_into(self, name: str) -> list[str]:
        """Ops that grappler made of this op and others: `_FusedMatMul` of `MatMul` and `Relu`."""
        fused = self.executions.runs.definitions.filter(
            pl.col("op").str.starts_with("_Fused").fill_null(value=False)
        )
        others = fused["attributes"].str.extract(r"fused_ops=\[(.*?)\]")
        within = others.str.contains(f'"{name}"', literal=True).fill_null(value=False)
        found = fused["op"].filter(within | (fused["op"] == f"_Fused{name}"))
        return found.unique().sort().to_list()

    def _no_op(self, name: str, signatures: pl.DataFrame) -> UsageError:
        calls = self.executions.signatures.filter(pl.col("kind") == "call")["op"]
        if fused := self._fused_into(name):
            hint = f"Grappler made it part of another op: explain --op {' or '.join(fused)}."
        elif name in calls or calls.str.contains(f"__inference_{name}_", literal=True).any():
            hint = "It is a function: tflogscope timeline LOG --function shows what ran inside."
        else:
            names = pl.concat([signatures["op"], signatures["kernel"]]).drop_nulls().unique()
            return _not_there("op", name, names.to_list())
        return UsageError("no execution of such an op", name, hint)

    def node(self, name: str) -> Facts:
        """Explain all executions of a node: by its whole name, or by the end of it after a `/`.

        Raises:
            UsageError: the log has no execution of it.
        """
        names = self.executions.runs.definitions["node"]
        meant = ((names == name) | names.str.ends_with(f"/{name}")).fill_null(False).to_numpy()
        if not meant.any():
            raise _not_there("node", name, names.drop_nulls().unique().to_list())
        definition = self.executions.frame["definition"]
        rows = np.append(meant, False)[definition.fill_null(-1).to_numpy()]
        return self._facts({"node": name}, rows)

    def line(self, number: int) -> Facts:
        """Explain the execution that a line of the first source begins, ends, or was run by.

        Raises:
            UsageError: no execution begins or ends there.
        """
        line, frame = number - 1, self.executions.frame
        here = (frame["at"] // PLACES == line) | (frame["end_at"] // PLACES == line)
        rows = here.fill_null(False).to_numpy()
        primitive = self.linked.links.filter(pl.col("at") // PLACES == line)
        if not rows.any() and primitive["execution"].count():
            rows = np.arange(frame.height) == primitive["execution"].drop_nulls()[0]
        failed = self.statuses.filter(pl.col("at") // PLACES == line)["row"].drop_nulls()
        if not rows.any() and len(failed):
            rows = np.arange(frame.height) == failed[0]
        if not rows.any():
            raise UsageError(
                "no execution begins or ends there", f"line {number}", self._nearest(line)
            )
        rows = np.arange(frame.height) == np.flatnonzero(rows)[0]
        return self._facts({"line": number}, rows) | {"execution": self._execution(rows)}

    def at(self, place: str) -> Facts:
        """Explain what a line of the program asked for, `train.py:31`, itself or through others.

        Raises:
            UsageError: the log has no lines, or this one asked for nothing.
        """
        if self.lines.stacks.is_empty():
            hint = "Record it with tflogscope record, without --no-lines."
            raise UsageError("this log has no lines of a program", "--at", hint)
        asked = self.lines.asked_at(place)
        rows, itself = asked["asked"].to_numpy(), int(asked["itself"].sum())
        if not rows.any():
            raise _not_there("line of the program", place, self.lines.python.unique().to_list())
        return self._facts({"at": place}, rows) | {"ops": self._asked(rows), "itself": itself}

    def _asked(self, rows: Chosen) -> list[Facts]:
        """Ops, functions and nodes: how often each ran and how long, the most time first."""
        frame = self.executions.frame.filter(pl.Series(rows))
        signatures = self.executions.signatures.select("mode", "kind", "op")
        named = frame.hstack(signatures.select(pl.all().gather(frame["signature"])))
        groups = named.filter(pl.col("kind") != "plumbing").group_by("mode", "kind", "op")
        asked = [
            {"mode": mode, "kind": kind, "op": op, **_counted(here)}
            for (mode, kind, op), here in groups
        ]
        return sorted(asked, key=lambda each: (-(each["total_us"] or 0), -each["runs"], each["op"]))

    def _nearest(self, line: int) -> str:
        rewrites = self.instantiations.rewrites
        rewrites = pl.concat([rewrites, self.instantiations.plugin_rewrites], how="diagonal")
        nodes = rewrites.filter(pl.col("at") // PLACES == line)["node"].drop_nulls()
        if len(nodes):
            return f"It reports a rewrite: explain --node {nodes[0]}"
        before = self.executions.frame["at"].search_sorted(line * PLACES, side="right") - 1
        if before < 0:
            return "The first execution begins after it."
        line = self._lines([int(self.executions.frame["at"][before])])[0]
        return f"The last execution before it begins on line {line:,}."

    # ---- the facts -------------------------------------------------------------------------------

    def _facts(self, asked: Facts, rows: Chosen) -> Facts:
        frame = self.executions.frame.with_row_index("row").filter(pl.Series(rows))
        frame = frame.hstack(
            self.executions.signatures.select(
                pl.col("mode", "kind", "op", "kernel", "rewrite").gather(frame["signature"])
            )
        )
        eager = frame.filter(pl.col("mode") == "eager")
        graph = frame.filter(pl.col("mode") == "graph")
        return {
            "asked": asked,
            "op": frame["op"][0],
            "eager": self._eager(eager),
            "graph": self._graph(graph),
            "primitives": self._primitives(frame["row"]),
            "eager_rewritable": frame["op"][0] in EAGER_OPS
            and graph["rewrite"].is_in(ONEDNN_REWRITES).any(),
            "compiled_runs": compiled_runs(self.executions).height,
        }

    def _eager(self, frame: pl.DataFrame) -> Facts:
        rule = self.causes.rule[frame["dispatch"].to_numpy()]
        causes = []
        for number in np.unique(rule):
            here = frame.filter(pl.Series(rule == number))
            cause = _rule_of(self.causes.rules, int(number))
            evidence = self.causes.evidence.filter(pl.col("dispatch") == here["dispatch"][0])[
                "at"
            ].to_list()
            causes.append(
                {
                    **cause,
                    "cause": None if number < 0 else cause.pop("cause", UNKNOWN),
                    **_counted(here),
                    "kernels": _counts(here),
                    "lines": self._lines(here["at"].head(_LINES).to_list()),
                    "evidence": self._lines(evidence),
                }
            )
        causes.sort(key=lambda entry: (-entry["runs"], entry["lines"]))
        kernels = self._eager_kernels(frame["op"].unique())
        return {
            **_counted(frame),
            "causes": causes,
            "rewritten": self._rewritten(frame),
            "kernels": kernels,
        }

    def _rewritten(self, frame: pl.DataFrame) -> list[Facts]:
        """Eager ops that ran as kernels of oneDNN or a plug-in, by what replaced them."""
        ran = frame.filter((pl.col("rewrite") != "none") & (pl.col("status") != _FAILED))
        return [
            {
                "kernel": kernel,
                "rewrite": rewrite,
                **_counted(here),
                "lines": self._lines(here["at"].head(_LINES).to_list()),
            }
            for (kernel, rewrite), here in ran.group_by("kernel", "rewrite", maintain_order=True)
        ]

    def _eager_kernels(self, ops: pl.Series) -> list[Facts]:
        """By kernel and type: what kept eager ops from oneDNN, and where that shows."""
        kept = self.eager_kernels.filter(pl.col("op").is_in(ops.implode()), pl.col("rule") >= 0)
        keys = ["kernel", "op", "dtype", "rule"]
        grouped = kept.group_by(keys, maintain_order=True).agg("proof")
        return [
            {
                "kernel": kernel,
                "dtype": dtype,
                **_rule_of(reason_rules.RULES, rule, op),
                "evidence": self._lines(sorted(set(proof))[:_LINES]),
            }
            for kernel, op, dtype, rule, proof in grouped.rows()
        ]

    def _graph(self, frame: pl.DataFrame) -> Facts:
        steps = self.executions.steps
        row = frame["step_row"].cast(pl.UInt32)
        placed = frame.with_columns(steps.select(pl.col("name", "cause").gather(row)))
        named = placed.hstack(placed.select(**function_columns(pl.col("name"))))
        rules = {rule.cause: rule for rule in cause_grammar().graph_rules}
        functions = [
            {
                "function": function,
                "function_uids": here["function_uid"].drop_nulls().unique().sort().to_list(),
                "flavour": flavour,
                "cause": cause,
                "why": rules[str(cause)].why if cause in rules else None,
                "ops": here["op"].drop_nulls().unique().sort().to_list(),
                **_counted(here),
                "calls": int(here["call"].n_unique() - (here["call"].null_count() > 0)),
                "first_call_line": self._call_line(here["call"].drop_nulls().min()),
                "lines": self._lines(here["at"].head(_LINES).to_list()),
            }
            for (function, flavour, cause), here in named.group_by(
                "function", "flavour", "cause", maintain_order=True
            )
        ]
        return {**_counted(frame), "functions": functions, "kernels": self._kernels(placed)}

    def _call_line(self, call: object) -> int | None:
        if call is None:
            return None
        calls = self.executions.dispatches.calls
        return self._lines(calls.filter(pl.col("call") == call)["at"].to_list())[0]

    def _kernels(self, frame: pl.DataFrame) -> list[Facts]:
        """By kernel and rule: how many nodes, why they have it, and where that shows."""
        nodes = frame["definition"]
        definitions = self.executions.runs.definitions["node"].gather(nodes.cast(pl.UInt32))
        wanted = frame.with_columns(node=definitions)
        rule = self.graph_nodes.select(
            "name", "node", rule=pl.Series(self.reasons.rule), proof=pl.Series(self.reasons.proof)
        )
        joined = wanted.join(
            rule, on=["name", "node"], how="left", nulls_equal=True, maintain_order="left"
        ).with_columns(pl.col("rule").fill_null(-1))
        passed = pl.concat(
            each.select("node", "function", rewritten_at="at")
            for each in (self.instantiations.rewrites, self.instantiations.plugin_rewrites)
        ).unique(["node", "function"], keep="first", maintain_order=True)
        joined = joined.join(
            passed,
            left_on=["node", "name"],
            right_on=["node", "function"],
            how="left",
            maintain_order="left",
        )
        kernels = []
        for (kernel, rewrite, number), here in joined.group_by(
            "kernel", "rewrite", "rule", maintain_order=True
        ):
            reason = _rule_of(reason_rules.RULES, int(str(number)), here["op"][0])
            proof = here["rewritten_at"] if rewrite != "none" else here["proof"]
            kernels.append(
                {
                    "kernel": kernel,
                    "rewrite": rewrite,
                    **reason,
                    "nodes": here.select("name", "node").n_unique(),
                    "examples": here["node"].unique(maintain_order=True).head(3).to_list(),
                    **_counted(here),
                    "lines": self._lines(here["at"].head(_LINES).to_list()),
                    "evidence": self._lines(
                        proof.filter(proof >= 0).unique().sort().head(_LINES).to_list()
                    ),
                }
            )
        return sorted(kernels, key=lambda entry: (-(entry["total_us"] or 0), -entry["runs"]))

    def _primitives(self, rows: pl.Series) -> list[Facts]:
        ran = self.linked.lines.filter(pl.col("execution").is_in(rows.implode()))
        grouped = ran.group_by("library", "primitive", "implementation", "link").agg(
            count=pl.len(),
            us=summed("duration_us"),
            at=pl.col("at").min(),
        )
        table = grouped.sort("us", "at", descending=[True, False], nulls_last=True)
        lines = self._lines(table["at"].to_list())
        return table.drop("at").with_columns(line=pl.Series(lines, dtype=pl.UInt64)).to_dicts()

    def _execution(self, rows: Chosen) -> Facts:
        """The one execution that a line belongs to."""
        row = self.executions.frame.filter(pl.Series(rows)).row(0, named=True)
        node = None
        if row["definition"] is not None:
            node = self.executions.runs.definitions["node"][row["definition"]]
        end = None if row["end_at"] is None else self._lines([row["end_at"]])[0]
        return {
            "line": self._lines([row["at"]])[0],
            "failure": self._failure(int(np.flatnonzero(rows)[0])),
            "end_line": end,
            "status": STATUSES[row["status"]],
            "duration_us": row["duration_us"],
            "node": node,
            "call": row["call"],
        }

    def _failure(self, row: int) -> Facts | None:
        """The status that an execution ended with, where that is not OK."""
        found = self.statuses.filter(pl.col("row") == row)
        if found.is_empty():
            return None
        first = found.row(0, named=True)
        return {"status": first["status"], "line": self._lines([first["at"]])[0]}

    def _lines(self, at: Sequence[int]) -> list[int]:
        """Line numbers in the source, from 1, of lines over all sources."""
        table = pl.DataFrame({"at": pl.Series(list(at), dtype=pl.Int64)})
        return with_places(self.executions.spans, table)["line"].to_list()


def _rule_of(rules: Sequence[Any], number: int, op: str | None = None) -> Facts:
    """What a rule says; of a reason, the place that decides it for that op."""
    if number < 0:
        return {"rule": None, "why": None, "where": None, "change": None}
    rule = rules[number]
    where = rule.where_of(op) if isinstance(rule, reason_rules.Rule) else rule.where
    said = {"rule": rule.id, "why": rule.why, "where": where, "change": rule.change}
    for kind in ("cause", "reason"):
        if hasattr(rule, kind):
            said[kind] = getattr(rule, kind)
    return said


def _counted(frame: pl.DataFrame) -> Facts:
    alive = frame.filter(pl.col("status") != _DEAD)
    known = alive["duration_us"].drop_nulls()
    return {
        "runs": alive.height,
        "failed": int((alive["status"] == _FAILED).sum()),
        "dead": frame.height - alive.height,
        "total_us": int(known.sum()) if len(known) else None,
    }


def _counts(frame: pl.DataFrame) -> list[Facts]:
    """Each kernel with its number of runs, the most frequent first; `rewritten`: by anybody."""
    counted = frame.drop_nulls("kernel").group_by("kernel").agg(runs=pl.len())
    counted = counted.with_columns(rewritten=is_rewritten(pl.col("kernel")))
    return counted.sort("runs", "kernel", descending=[True, False]).to_dicts()


def _not_there(what: str, name: str, names: list[str]) -> UsageError:
    near = get_close_matches(name, names, n=3, cutoff=0.5)
    lists = {
        "op": "tflogscope ops LOG lists the ops.",
        "node": "tflogscope export LOG --table nodes lists the nodes.",
        "line of the program": "tflogscope export LOG --table stacks lists the lines.",
    }
    hint = f"Did you mean {' or '.join(near)}?" if near else lists[what]
    return UsageError(f"no execution of such a{'n' * (what == 'op')} {what}", name, hint)
