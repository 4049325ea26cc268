"""What the passes know of ops by their names.

Told about: `core/grappler/op_types.cc` and the flags of `REGISTER_OP`.
"""

from __future__ import annotations

from tflogscope.runtime import operations
from tflogscope.runtime.errors import NotInThisRuntime

__all__ = [
    "ADDITIONS",
    "CHANGES_FRAME",
    "COMMUTATIVE",
    "IDENTITIES",
    "REDUCTIONS",
    "has_outputs",
    "is_stateful",
]

ADDITIONS = frozenset({"Add", "AddV2"})
IDENTITIES = frozenset({"Identity", "IdentityN"})
REDUCTIONS = frozenset({"Sum", "Prod", "Min", "Max", "Mean", "Any", "All", "EuclideanNorm"})
COMMUTATIVE = frozenset(
    {
        *("AccumulateNV2", "AddN", "AddV2", "ApproximateEqual", "BitwiseAnd", "BitwiseOr"),
        *("BitwiseXor", "Equal", "LogicalAnd", "LogicalOr", "Maximum", "Minimum", "Mul"),
        *("NotEqual", "SquaredDifference"),
    }
)
CHANGES_FRAME = frozenset({"Enter", "Exit", "NextIteration"})
_STATEFUL = frozenset({"_Arg", "_Retval"})


def is_stateful(type: str) -> bool:
    """Must it neither be dropped, nor run once for two? An op that is not known is taken for one
    that must not.
    """
    if type in _STATEFUL:
        return True
    try:
        return operations.lookup(type).stateful
    except NotInThisRuntime:
        return True


def has_outputs(type: str) -> bool:
    """Does the op give values at all?"""
    return type not in {"NoOp", "Assert", "_Retval", "PrintV2", "ControlTrigger"}
