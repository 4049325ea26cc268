"""Findings about oneDNN: what it did not run, and what it ran badly."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

from tflogscope.events.onednn_header import header_facts
from tflogscope.grammar.op_kinds import ops_of
from tflogscope.grammar.rewriters import ONEDNN_REWRITES, REWRITERS
from tflogscope.grammar.thresholds import threshold
from tflogscope.model.calls.python_functions import GRADIENT
from tflogscope.model.common.figures import ranked_by
from tflogscope.model.common.frames import holds, is_among, only, row_with, rows, where
from tflogscope.model.common.names import DTYPE, ONEDNN_ON, PRODUCTS
from tflogscope.model.common.origin import fields_of
from tflogscope.model.findings.finding import (
    Finding,
    claim_in_calls,
    claim_nodes,
    definitions_of,
    line_that_sets,
    most,
    total,
    waited_for,
)
from tflogscope.model.findings.verbose import LEAST_US, MUCH, passed_over
from tflogscope.model.links.candidates import families
from tflogscope.model.links.kernels import REORDERING
from tflogscope.model.links.linked import IS_REFERENCE
from tflogscope.model.pipeline import Evidence
from tflogscope.model.reasons.plugins import plugins_of
from tflogscope.model.reasons.rules import NOTHING, RULES, ReasonRule

# core/util/port.cc, IsMKLEnabled, as oneDNN names these CPUs: AVX512_VNNI, AVX_VNNI, AMX.
_ON_BY_DEFAULT = r"DL Boost|bfloat16|AMX"
# Of their time in float64, what is saved in float32; by whether oneDNN is on.
_OF_PRODUCTS = {True: threshold("float64.products_onednn"), False: threshold("float64.products")}
_OF_OTHERS = threshold("float64.others")
# AVX512_BF16 alone was measured to be slower than float32.
_BFLOAT16_CPU = r"(?i)\bAMX\b|amx_bf16"
_HAS_BFLOAT16 = rf"{_BFLOAT16_CPU}|bf16|bfloat16"
_LEAST_PRODUCT_US = threshold("bfloat16.least_product")
_BY_EIGEN, _FACTORIZATION = ops_of("bfloat16-by-eigen"), ops_of("factorization")
_OF_EIGEN = threshold("bfloat16-by-eigen.float32_share")
_EIGEN_US = threshold("bfloat16-by-eigen.call")
_FLOATX = ("set_floatx('float64')", 'set_floatx("float64")')
_SLOW_TYPES = {"DT_HALF": "float16", "DT_INT32": "int32", "DT_INT64": "int64"}
_TRANSPOSED = ("DT_FLOAT", "DT_BFLOAT16")
_WORTH = threshold("loop.worth")
_SWITCH = "TF_ENABLE_ONEDNN_OPTS"  # core/util/port.cc, IsMklEnabled
_LEAST_REORDER_US = threshold("reorders.least")
_CALL_US = threshold("float64.call")
_HALF = r"(?:^|[ _:])f16:"  # a tensor of a primitive
_OF_REFERENCE = threshold("reference-implementation.float32_share")


def onednn_findings(evidence: Evidence) -> Iterator[Finding]:
    """What the nodes and the lines of oneDNN show."""
    yield from _off(evidence)
    yield from _not_rewritten(evidence)
    yield from _bfloat16_by_eigen(evidence)
    lines = evidence.linked.lines
    if lines.height:
        yield from _reorders(evidence, lines)
        yield from _reference(lines, evidence)
        yield from _bfloat16(evidence)


def _off(evidence: Evidence) -> Iterator[Finding]:
    """Nodes and eager ops that oneDNN would have run if it were on."""
    # Of other types oneDNN's kernel leaves a transpose to Eigen (mkl_transpose_op.cc, DoTranspose).
    by_eigen = (pl.col("op") == "Transpose") & ~pl.col("dtype").is_in(_TRANSPOSED)
    nodes = evidence.nodes.filter(~holds(by_eigen), reason="onednn-off")
    off = [number for number, rule in enumerate(RULES) if rule.reason == "onednn-off"]
    kernels, eager = evidence.eager_kernel_of, evidence.eager
    kept = kernels["dispatch"].filter(is_among(kernels["rule"], off))
    eager = only(eager, (eager["kind"] == "op") & is_among(eager["dispatch"], kept))
    if nodes.is_empty() and eager.is_empty():
        return
    facts = {
        "nodes": nodes.height,
        "runs": int(nodes["executions"].sum()),
        "ops": eager.height,
        "names": most(pl.concat([nodes["op"], eager["op"]])),
        "own": evidence.events.primitives.height,
    }
    count, took = nodes.height + eager.height, _time_of_later(evidence, nodes, eager)
    at = sorted([*nodes["ran_at"].to_list(), *eager["at"].to_list()])
    isa = header_facts(evidence.events.primitives).isa
    by_default = isa is not None and not re.search(_ON_BY_DEFAULT, isa)
    itself = next(iter(evidence.events.messages("python_setting")["value"]), None)
    given = fields_of(evidence.recorded_as, "environment").get(_SWITCH)
    set_ = given if itself is None else itself
    is_off = str(set_).lower() in ("0", "false")  # tsl/util/env_var.cc, ReadBoolFromEnvVar
    facts |= {
        "took": took,
        "isa": isa.removeprefix("Intel ") if isa and by_default else None,
        "set": set_ if is_off else None,
        "itself": itself is not None,
        "leads": is_off,
    }
    time = None if by_default else took
    yield Finding("onednn-off", "onednn-off", count, time, at, facts)


def _time_of_later(evidence: Evidence, nodes: pl.DataFrame, eager: pl.DataFrame) -> float | None:
    """What nodes and eager ops took, without the first run of each node and of each eager kernel.

    A first run makes what later ones use again.
    """
    repeated = nodes.filter(pl.col("executions") > 1)
    places = evidence.executions.frame["at"].search_sorted(repeated["ran_at"])
    first = evidence.costs.known("steady_us").gather(places).fill_null(0)
    summed = repeated["total_us" if evidence.costs.price is None else "steady_us"]
    again = eager.filter(pl.col("at") > pl.col("at").min().over("kernel"))
    return total(pl.concat([summed - first, again["cost"]]))


def _not_rewritten(evidence: Evidence) -> Iterator[Finding]:
    """Nodes that stayed as they were for a reason that a program, or its user, can change."""
    settled = [n for n, rule in enumerate(RULES) if rule.change.startswith(NOTHING)]
    left = evidence.nodes.filter(
        pl.col("eligible")
        & pl.col("reason").is_not_null()
        & (pl.col("reason") != "onednn-off")
        & (pl.col("rule") >= 0)  # what no rule explains nobody knows how to change
        & ~pl.col("rule").is_in(settled)
    )
    for nodes in left.partition_by("reason"):
        doubles = nodes.filter(pl.col("dtype") == "DT_DOUBLE")
        numbers = pl.concat([doubles["rule"], nodes["rule"]])  # a verdict names float64 first
        rules = [RULES[rule] for rule in numbers.unique(maintain_order=True)]
        facts = {
            "passes": _passes(evidence, rules),
            "runs": int(nodes["executions"].sum()),
            "ops": most(nodes["op"]),
            "doubles": doubles.height,
            "double_ops": most(doubles["op"]),
            # In float32 they are faster in any case.
            "off": bool((evidence.nodes["reason"] == "onednn-off").any()) and doubles.is_empty(),
            "changes": [*dict.fromkeys(rule.change for rule in rules)],
        }
        time, at = total(nodes[ranked_by(nodes)]), nodes["ran_at"].to_list()
        python, reason = _busiest_line(evidence, nodes), nodes["reason"][0]
        facts["took"], claims = time, list[pl.DataFrame]()
        slow = nodes["dtype"].replace_strict(_SLOW_TYPES, default=None).drop_nulls().unique()
        if doubles.is_empty() and not slow.is_empty():
            facts["types"] = slow.sort().to_list()
            facts["leads"] = (time or 0.0) > _WORTH * evidence.loop_time
        if reason == "dtype" and doubles.is_empty():  # what float32 takes is known of float64
            time = None
        if time is not None and doubles.height:
            time, claims = _narrower(evidence)
            facts |= _double_from(evidence, doubles)
            if factors := _factorizations(evidence, doubles):  # float64 is what they need
                time, claims, facts["factors"] = None, [], factors
        yield Finding("not-rewritten", reason, nodes.height, time, at, facts, python, claims)


def _busiest_line(evidence: Evidence, nodes: pl.DataFrame) -> str | None:
    """The line of the program whose nodes took most time; None: the log has no lines."""
    of_nodes = nodes.select(us=ranked_by(nodes)).with_columns(
        line=evidence.lines.begun_at(nodes["ran_at"])
    )
    per = of_nodes.drop_nulls("line").group_by("line").agg(pl.col("us").sum())
    return next(iter(per.sort("us", "line", descending=[True, False])["line"]), None)


def _double_from(evidence: Evidence, doubles: pl.DataFrame) -> dict[str, Any]:
    """The line of the program by which float64 gets into the functions of these nodes: `edit`.

    A function reads it from variables, has it as an argument, or else makes it by a Cast. What
    NumPy makes is float64, and tensors and variables made of it are so, too
    (python/framework/ops.py, convert_to_tensor). Of several lines the log doesn't say which of them
    counts: `edits`.
    """
    of = evidence.nodes.filter(pl.col("name").is_in(doubles["name"].implode()))
    made = of["attributes"].str
    is_cast = (of["op"] == "Cast") & made.contains("DstT=DT_DOUBLE")
    read = (of["op"] == "ReadVariableOp") & made.contains("dtype=DT_DOUBLE")
    given = (of["op"] == "_Arg") & made.contains("(?:^|, )T=DT_DOUBLE")
    kernels, ran = evidence.eager_kernels, evidence.eager_kernel_of
    makes = [*["VarHandleOp"] * read.any(), *["_EagerConst", "Cast"] * given.any()]
    double = pl.col("attributes").str.contains(r"(?:dtype|T)=DT_DOUBLE")
    mine = where(kernels.select(pl.col("op").is_in(makes) & double).to_series())
    casts = only(of, is_cast & ~is_among(of["name"], of["name"].filter(read | given)))
    lines = evidence.lines
    stacks = rows(lines.of_dispatches, ran["dispatch"].filter(is_among(ran["kernel"], mine)))
    stacks = pl.concat([stacks, lines.of_nodes(casts["name"], casts["node"])]).drop_nulls()
    # An optimizer's variables are of the type of those that they are for.
    frames = lines.stacks["frames"][stacks].str
    stacks = only(stacks, ~frames.contains("<optimizer>", literal=True))
    places = lines.named(stacks).drop_nulls().unique(maintain_order=True).to_list()
    # What Keras makes is of the type that the program sets (keras/src/backend/config.py, floatx).
    floatx = line_that_sets(_FLOATX, evidence)
    edit = floatx or (places[0] if len(places) == 1 else None)
    return {"floatx": floatx, "edits": places, "edit": edit}


def _narrower(evidence: Evidence) -> tuple[float | None, list[pl.DataFrame]]:
    """What all nodes in float64 would take less in float32, in µs; claims of that in their calls.

    Products in float64 run code that was compiled for AVX (TensorFlow's .bazelrc, avx_linux), those
    in float32 oneDNN's, which multiplies and adds at once. What each run takes in any type stays.
    """
    doubles = evidence.nodes.filter(pl.col("dtype") == "DT_DOUBLE")
    of_products = _OF_PRODUCTS[not evidence.events.seen.isdisjoint(ONEDNN_ON)]
    is_product = pl.col("op").str.contains(PRODUCTS)
    saved = pl.when(is_product).then(of_products).otherwise(_OF_OTHERS)
    took = (pl.col(ranked_by(doubles)) - _CALL_US * pl.col("executions")).clip(0.0)
    less = float(doubles.select((saved * took).sum()).item())
    types = evidence.executions.runs.definitions["attributes"].str.extract(DTYPE, 1)
    return claim_nodes(evidence, where(types == "DT_DOUBLE"), less)


def _factorizations(evidence: Evidence, doubles: pl.DataFrame) -> list[str]:
    """The ops that factorize in float64 in functions of these nodes."""
    of = evidence.nodes.filter(pl.col("name").is_in(doubles["name"].implode()))
    return most(of.filter(pl.col("op").str.contains(_FACTORIZATION), dtype="DT_DOUBLE")["op"])


def _passes(evidence: Evidence, rules: list[ReasonRule]) -> list[str]:
    """Whose pass knows nodes: who has the rules, or whoever works where no rule fits."""
    names = {rewriter.id: rewriter.name for rewriter in REWRITERS}
    ruled = {rule.by for rule in rules}
    working = plugins_of(evidence.events).working
    passes = [names[by] for by in names if by in ruled] or [plugin.name for plugin in working]
    if not passes or ruled - set(names):
        passes.append("the layout pass")
    return passes


def _reorders(evidence: Evidence, lines: pl.DataFrame) -> Iterator[Finding]:
    """Nodes and eager ops whose reorders took longer than the primitives that they served.

    The first run of each is left out, for it makes the primitives; so are reorders that take no
    longer than a call does, and kernels that reorder because the program says so. A function that
    trains has no weights that could be constant: what else it may do saves time that no log says.
    """
    long = (lines["primitive"] == "reorder") & (lines["duration_us"] >= _LEAST_REORDER_US)
    linked = only(lines.with_columns(counts=long), lines["execution"] >= 0)
    if not linked["counts"].any():
        return
    executions, execution = evidence.executions, linked["execution"]
    ran = executions.columns("at", "definition", "signature", "function_uid", rows=execution)
    training = evidence.nodes.filter(pl.col("node").str.contains(GRADIENT, literal=True))
    kernel = rows(executions.signatures["kernel"], ran["signature"])
    named = pl.DataFrame(
        {
            "began": ran["at"],
            "problem": last_primitives(evidence, execution)["problem"],
            "kernel": kernel,
            "node": rows(executions.runs.definitions["node"], ran["definition"]),
            "reorders": is_among(pl.Series(families(executions)[execution.to_numpy()]), REORDERING),
            "trains": is_among(ran["function_uid"], training["function_uid"]),
        }
    )
    what = ("definition", "signature")
    first = pl.col("began") == pl.col("began").min().over(*what, "problem")
    per = (
        linked[["at", "duration_us", "primitive", "counts"]]
        .hstack([*ran[what], *named])
        .filter(~first & ~pl.col("reorders"))
        .group_by(what)
        .agg(
            name=pl.coalesce("node", "kernel").first(),
            reorders=pl.col("counts").sum(),
            took=pl.col("duration_us").filter("counts").sum(),
            served=pl.col("duration_us").filter(pl.col("primitive") != "reorder").sum(),
            at=pl.col("at").filter("counts").min(),
            trains=pl.col("trains").any(),
        )
        .filter((pl.col("took") > pl.col("served")) & (pl.col("served") > 0))
        .sort("took", "name", descending=[True, False])
    )
    if per.is_empty():
        return
    facts = {
        "nodes": per.height,
        "took": float(per["took"].sum()),
        "served": float(per["served"].sum()),
        "names": per["name"].unique(maintain_order=True).to_list(),
        "trains": bool(per["trains"].all()),
    }
    count, time = int(per["reorders"].sum()), total(per["took"].filter(~per["trains"]))
    yield Finding("reorders", per["name"][0] or "?", count, time, per["at"].to_list(), facts)


def _reference(lines: pl.DataFrame, evidence: Evidence) -> Iterator[Finding]:
    slow = lines.filter(IS_REFERENCE)
    if slow.is_empty():
        return
    kinds = pl.format("{} {}", "primitive", "implementation").alias("kind")
    took, whole = (float(frame["duration_us"].sum() or 0) for frame in (slow, lines))
    alone = evidence.executions.frame.is_empty()  # the time of ops says more
    facts: dict[str, Any] = {
        "kinds": most(slow.select(kinds)["kind"]),
        "took": took,
        "worth_a_look": alone and took >= max(LEAST_US, MUCH * whole),
        "passed": passed_over(evidence, slow["primitive"].unique()),
    }
    primitives = evidence.events.primitives[["at", "memory_descriptors"]]
    tensors = rows(primitives["memory_descriptors"], row_with(slow[["at"]], primitives[["at"]]))
    half = slow.filter(holds(tensors.str.contains(_HALF)))
    facts["half"] = half.height
    ran = rows(evidence.executions.frame["at"], slow["execution"].unique())
    python = next(iter(most(evidence.lines.begun_at(ran.drop_nulls()))), None)
    subject, at, id_ = slow["primitive"][0], slow["at"].to_list(), "reference-implementation"
    # For other types oneDNN has nothing better, so no change of settings saves that.
    claims = [_claim_primitives(evidence, half)] if half.height else []
    yield Finding(id_, subject, slow.height, None, at, facts, python, claims)


def _claim_primitives(evidence: Evidence, lines: pl.DataFrame) -> pl.DataFrame:
    """Claim, of the calls in which these primitives ran, what float32 saves of their time."""
    ran = rows(evidence.executions.frame[["call", "time", "end_time"]], lines["execution"])
    per = lines.select(us="duration_us").hstack(ran[["call"]]).group_by("call").agg(pl.all().sum())
    saved = pl.col("us") * _OF_REFERENCE * waited_for(ran.unique())
    return claim_in_calls(evidence, per).with_columns(us=saved)


def _bfloat16(evidence: Evidence) -> Iterator[Finding]:
    """Products in float32 that are long enough to gain, the first run of each left out.

    What bfloat16 can shorten is oneDNN's own time. Around that an op's duration has its records,
    which take longer than a small product. OneDNN before 2.7 prints no line for its gemm; there
    the op's duration has to do.
    """
    isa = header_facts(evidence.events.primitives).isa
    if isa is None or not re.search(_BFLOAT16_CPU, isa):
        return
    runs = _float_products(evidence)
    if not (runs["took"] >= _LEAST_PRODUCT_US).any():
        return
    what = ("definition", "signature", "problem")
    later = runs.filter(pl.col("at") > pl.col("at").min().over(what))
    long = later.filter(pl.col("took").median().over(what) >= _LEAST_PRODUCT_US)
    if long.is_empty():
        return
    facts = {
        "products": long[["definition", "signature"]].n_unique(),
        "ops": most(long["op"]),
        "least": _LEAST_PRODUCT_US,
    }
    # What bfloat16 takes depends on shapes and layouts: a trial says it, no log in float32.
    facts["took"] = total(long["took"])
    yield Finding("bfloat16", isa, long.height, None, long["at"].to_list(), facts)


def _bfloat16_by_eigen(evidence: Evidence) -> Iterator[Finding]:
    """Nodes in bfloat16 that Eigen runs number by number on a CPU without such instructions."""
    flags = (evidence.recorded_as or {}).get("cpu_flags") or ()
    isa = header_facts(evidence.events.primitives).isa or " ".join(flags)
    of_eigen = pl.col("op").str.contains(_BY_EIGEN) & (pl.col("rewrite") == "none")
    nodes = evidence.nodes.filter(of_eigen, dtype="DT_BFLOAT16")
    if nodes.is_empty() or not isa or re.search(_HAS_BFLOAT16, isa):
        return
    took, runs = (float(nodes[column].sum()) for column in (ranked_by(nodes), "executions"))
    less = _OF_EIGEN * max(took - _EIGEN_US * runs, 0.0)
    time, claims = claim_nodes(evidence, definitions_of(evidence, nodes), less)
    facts = {"ops": most(nodes["op"]), "runs": int(runs), "took": took, "leads": True}
    at, python = nodes["ran_at"].to_list(), _busiest_line(evidence, nodes)
    yield Finding(
        "bfloat16-by-eigen", nodes["op"][0], nodes.height, time, at, facts, python, claims
    )


def last_primitives(evidence: Evidence, execution: pl.Series) -> pl.DataFrame:
    """What each execution ran last in oneDNN, primitive and problem; null: not known."""
    linked = evidence.linked.links["execution"]
    matched = where(linked.is_not_null())
    last = np.full(evidence.executions.frame.height, -1)
    last[linked[matched].to_numpy()] = matched
    return rows(evidence.events.primitives[["primitive", "problem"]], last[execution])


def _float_products(evidence: Evidence) -> pl.DataFrame:
    """Runs of matrix products on oneDNN in float32, in graphs and eager.

    Columns: at, definition, signature, problem, op, took (µs).
    """
    executions, kernels = evidence.executions, evidence.eager_kernel_of
    signatures, inside = executions.signatures, evidence.linked.executions
    is_product = pl.col("op").str.contains(PRODUCTS) & pl.col("rewrite").is_in(ONEDNN_REWRITES)
    of_products = where(signatures.select(is_product).to_series())
    execution = pl.Series(where(is_among(executions.signature, of_products)))
    ran = rows(executions.frame, execution)
    types = executions.runs.definitions["attributes"].str.extract(DTYPE, 1)
    of_eager = row_with(ran[["dispatch"]].cast(pl.Int64), kernels[["dispatch"]])
    inside_op = rows(inside["primitive_us"], row_with(execution.to_frame(), inside[["execution"]]))
    products = ran.select(
        "at",
        "definition",
        "signature",
        problem=last_primitives(evidence, execution)["problem"],
        op=rows(signatures["op"], ran["signature"]),
        took=pl.coalesce(inside_op, evidence.costs.known("steady_us")[execution]),
        type=pl.coalesce(rows(types, ran["definition"]), rows(kernels["dtype"], of_eager)),
    )
    return only(products, products["type"] == "DT_FLOAT")
