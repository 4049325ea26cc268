"""grammars/onednn/ops.toml against the kernels that releases register, real logs and the page."""

from __future__ import annotations

import csv
from pathlib import Path

import polars as pl
import pytest

from tests.reasons_tables import ops_table, rules_table, tables_of_page
from tests.samples import MANIFEST, NAMES, run_of
from tflogscope.grammar.onednn_ops import EAGER_OPS, FAMILIES, OPS, refused_by
from tflogscope.model.common.names import op_of_kernel, rewrite_of_kernel
from tflogscope.model.links.kernels import families_of
from tflogscope.model.reasons.plugins import BY_ONEDNN
from tflogscope.model.reasons.rules import RULES

WITH_KERNEL = [op.name for op in OPS.values() if op.has_kernel]
ROW = "its row in grammars/onednn/ops.toml"
KERNELS = Path(__file__).parent / "reasons" / "kernels.csv"


def release(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:2])


def registered() -> dict[str, dict[str, set[str]]]:
    """Kernel → release → types, as `tests/reasons/registered.py` recorded them."""
    with KERNELS.open() as file:
        rows = list(csv.DictReader(file))
    return {
        row.pop("kernel"): {name: set(types.split()) for name, types in row.items()} for row in rows
    }


REGISTERED = registered()
REWRITTEN = pl.DataFrame(
    {"kernel": [name for name in REGISTERED if name.startswith("_Mkl")]}
).with_columns(op=op_of_kernel(pl.col("kernel")))


def native(op: str) -> dict[str, set[str]]:
    """Release → types of the op's kernels that keep TensorFlow's layout."""
    found: dict[str, set[str]] = {}
    for kernel in REWRITTEN.filter(op=op)["kernel"]:
        for name, types in REGISTERED[kernel].items():
            found[name] = found.get(name, set()) | types - {"blocked"}
    return found


@pytest.mark.parametrize("name", WITH_KERNEL)
def test_an_op_with_a_kernel_has_one_from_its_release_on(name: str) -> None:
    layout = OPS[name].layout
    assert layout is not None
    for each, types in native(name).items():
        assert bool(types) == (release(each) >= release(layout)), (
            f"{name}: {ROW} says layout = {layout}, and TensorFlow {each} registers "
            f"{' '.join(sorted(types)) or 'no kernel'} (tests/reasons/kernels.csv)"
        )


@pytest.mark.parametrize("name", WITH_KERNEL)
def test_types_are_those_of_the_kernels(name: str) -> None:
    types, found = set(OPS[name].types), native(name)
    for each in ("2.13.1", "2.21.0"):
        # Transposes are registered for all types; IsMklOp lets some through.
        kept = found[each] & types if "Transpose" in name else found[each]
        kept -= {"DT_HALF"} if each == "2.13.1" else set()
        expected = types if each == "2.21.0" else types - {"DT_HALF"}
        assert not kept or kept == expected, (
            f"{name}: TensorFlow {each} registers {sorted(kept)} (tests/reasons/kernels.csv), "
            f"{ROW} has {sorted(expected)}"
        )


def test_what_never_has_a_kernel_has_none_and_what_has_one_is_there() -> None:
    never = [op.name for op in OPS.values() if op.layout == "never"]
    wrong = [name for name in never if any(native(name).values())]
    assert not wrong, f"{wrong}: {ROW} says layout = never, tests/reasons/kernels.csv has kernels"
    missing = set(REWRITTEN["op"]) - set(OPS)
    assert not missing, f"{missing}: in tests/reasons/kernels.csv, not in grammars/onednn/ops.toml"


def test_each_kernel_has_a_family() -> None:
    kernel = pl.col("kernel")
    known = pl.DataFrame({"kernel": list(REGISTERED)}).with_columns(
        op=op_of_kernel(kernel), rewrite=rewrite_of_kernel(kernel)
    )
    names = [FAMILIES[number].name if number >= 0 else "other" for number in families_of(known)]
    others = [kernel for kernel, name in zip(REGISTERED, names, strict=True) if name == "other"]
    assert not others, f"no [[family]] of grammars/onednn/ops.toml has the op of {others}"


def test_an_op_is_in_one_row() -> None:
    names = [op.name for family in FAMILIES for op in family.ops]
    twice = [name for name in names if names.count(name) > 1]
    assert not twice, f"grammars/onednn/ops.toml has more than one row of {set(twice)}"
    assert len({family.name for family in FAMILIES}) == len(FAMILIES)
    assert all(".cc" in family.source or ".h" in family.source for family in FAMILIES)


def test_what_refuses_is_a_rule_that_asks_for_the_op() -> None:
    rules = {rule.id: rule for rule in RULES}
    for op in OPS.values():
        for refusal in op.refusals:
            assert op.name in (rules[refusal].ops or [op.name]), (
                f"{op.name}: {ROW} names the refusal {refusal}, whose rule is not about this op"
            )
    own = [rule for rule in RULES if rule.by == BY_ONEDNN]
    assert all(refused_by(rule.id) for rule in own if rule.ops)


# ---- real logs -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_rewrites_of_real_logs_are_in_the_file(name: str) -> None:
    rewrites = run_of(name).rewrites
    version = MANIFEST[name]["release"].split()[-1]
    for op, by, to in rewrites.select("from_op", "by", "to_op").unique().rows():
        if by == "remapper":
            assert OPS[to].remapper, f"{to}: {ROW} does not say `remapper`"
        elif not op.startswith("__MklDummy"):
            layout = OPS[op].layout
            assert layout is not None
            assert release(layout) <= release(version), f"{op}: layout of {ROW}; seen in {version}"


@pytest.mark.parametrize("name", NAMES)
def test_the_registry_replaces_its_ops_and_the_pass_the_others(name: str) -> None:
    """An eager op that the registry has no entry for meets the pass in the function around it."""
    ops = run_of(name).ops.filter(mode="eager")
    replaced, wrapped = (set(ops.filter(rewrite=by)["op"]) for by in ("eager", "wrapped"))
    assert replaced <= EAGER_OPS
    assert not wrapped & EAGER_OPS
    if name == "attention__tf2.16.2__vlog2":
        assert replaced
        assert wrapped


# ---- the page ------------------------------------------------------------------------------------


def test_the_page_has_the_tables() -> None:
    assert tables_of_page() == [ops_table(), rules_table()]
