"""A pass that makes a graph that can't be run.

NB: TensorFlow has such faults, too; grappler then gives up on the function, which runs as it was.
"""

from __future__ import annotations

__all__ = ["PassFailed"]


class PassFailed(Exception):
    """What is said of the fault."""
