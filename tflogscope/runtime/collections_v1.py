"""Collections of TensorFlow 1: lists of things that a graph keeps under names.

Told about: `GraphKeys` and `Graph.get_collection` of `python/framework/ops.py`.
"""

from __future__ import annotations

import re
from typing import Any

from tflogscope.runtime import context
from tflogscope.runtime.graph import Graph

__all__ = ["GraphKeys", "add_to_collection", "get_collection", "get_collection_ref"]


class GraphKeys:
    """The names that TensorFlow itself uses."""

    GLOBAL_VARIABLES = "variables"
    LOCAL_VARIABLES = "local_variables"
    TRAINABLE_VARIABLES = "trainable_variables"
    MOVING_AVERAGE_VARIABLES = "moving_average_variables"
    REGULARIZATION_LOSSES = "regularization_losses"
    LOSSES = "losses"
    SUMMARIES = "summaries"
    UPDATE_OPS = "update_ops"
    GLOBAL_STEP = "global_step"
    TRAIN_OP = "train_op"
    INIT_OP = "init_op"


def add_to_collection(name: str, value: Any) -> None:
    """Add it to that collection of the current graph. Eagerly nothing is kept."""
    get_collection_ref(name).append(value)


def get_collection_ref(key: str) -> list[Any]:
    """The collection itself: what is added to the list is added to it."""
    graph = context.current()
    return graph.collections.setdefault(key, []) if isinstance(graph, Graph) else []


def get_collection(key: str, scope: str | None = None) -> list[Any]:
    """What is in the collection; with `scope` only what has a name that begins with it."""
    return [
        each
        for each in get_collection_ref(key)
        if not scope or re.match(scope, getattr(each, "name", ""))
    ]
