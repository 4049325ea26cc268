"""The rules of reasons, why a node kept its kernel: rows of `grammars/reasons.toml`."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, NamedTuple

import polars as pl

from tflogscope.grammar.load import frozen, packaged_toml
from tflogscope.grammar.onednn_ops import OPS, refused_by
from tflogscope.grammar.rewriters import REWRITERS
from tflogscope.model.reasons.conditions import Attributes, Values, one_has

ANYBODY = "anybody"
NOTHING = "The program can't change that."
UNKNOWN = "unknown"
NO_KERNEL = "no-kernel"
HAS_KERNEL = (pl.col("eligible") & pl.col("reason").ne_missing(NO_KERNEL)).fill_null(value=False)
"""Of the table `nodes`: those for which a kernel of oneDNN, or of the plug-in at work, exists.

The share of oneDNN is that of the runs of these nodes that ran on such kernels: a program can bring
it to 100 %. TensorFlow has no kernel for AddV2 or Relu alone, which is the reason `no-kernel`.
"""
ON_KERNEL = pl.col("rewrite") != "none"
_FILE = "reasons.toml"
_LAYOUT = "core/common_runtime/mkl_layout_pass.cc"


class ReasonRule(NamedTuple):
    """A row of `grammars/reasons.toml`, or of a plug-in's file, whose keys its fields are.

    `eligible`: whether oneDNN, or the plug-in, could have run the node; None: the log does not say
    what it does. `by`: whose rule it is, BY_ONEDNN or a plug-in's id; ANYBODY's hold for every
    node.
    """

    id: str
    reason: str
    why: str
    change: str
    where: str = ""
    ops: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    attributes: Values = MappingProxyType({})
    other_attributes: Values = MappingProxyType({})
    eligible: bool | None = True
    by: str = "onednn"

    def fits(self, attributes: Attributes) -> bool:
        """Whether a node's attributes are those that the rule asks for."""
        return one_has(attributes, self.attributes, self.other_attributes)

    @property
    def places(self) -> dict[str, str]:
        """For some ops one more place in TensorFlow, beside `where`."""
        return {
            op: place if ".cc" in place else f"{_LAYOUT}, {place}"
            for op, place in refused_by(self.id).items()
        }

    def where_of(self, op: str | None) -> str:
        """The place in TensorFlow that decides for this op."""
        return "; ".join(filter(None, [self.where, self.places.get(op or "")]))


def _rule(
    *,
    why: str,
    ops: tuple[str, ...] | str = (),
    eligible: bool | str = True,
    **entry: Any,
) -> ReasonRule:
    refused = refused_by(entry["id"])
    first = ", ".join(f"{op} {OPS[op].layout}" for op in refused)
    return ReasonRule(
        why=why.replace("${first}", first),
        ops=tuple(refused) if ops == "refusals" else tuple(ops),
        eligible=None if eligible == UNKNOWN else bool(eligible),
        **entry,
    )


RULES = (
    *(_rule(**entry) for entry in frozen(packaged_toml(_FILE)["rule"])),
    *(
        _rule(
            by=plugin.id,
            ops=tuple(op.name for op in plugin.ops.values() if entry["id"] in op.refusals),
            **entry,
        )
        for plugin in REWRITERS
        for entry in plugin.rules
    ),
)
