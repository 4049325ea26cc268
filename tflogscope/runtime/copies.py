"""What is said of the copies of a variable on several devices: there is one copy here.

Told about: `python/ops/variables.py`.
"""

from __future__ import annotations

from enum import Enum

__all__ = ["VariableAggregation", "VariableSynchronization"]


class VariableSynchronization(Enum):
    """When the copies of a variable on several devices are brought together."""

    AUTO, NONE, ON_WRITE, ON_READ = range(4)


class VariableAggregation(Enum):
    """How the copies of a variable on several devices are brought together."""

    NONE, SUM, MEAN, ONLY_FIRST_REPLICA = range(4)
