"""The order in which the nodes of a graph can be looked at: each after those that it reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

__all__ = ["inputs_first"]


def inputs_first(
    nodes: Iterable[Any], follow: Callable[[Any], bool] = lambda _: True
) -> Iterator[Any]:
    """These nodes and what they read, and what that reads, each once and after its inputs; only
    nodes that are to be followed. Not by recursion: graphs are deep.
    """
    seen: set[int] = set()
    for node in nodes:
        waiting = [(node, iter(node.inputs))]
        while waiting:
            current, sources = waiting[-1]
            if id(current) in seen:
                waiting.pop()
                continue
            source = next(
                (each.op for each in sources if id(each.op) not in seen and follow(each.op)), None
            )
            if source is not None:
                waiting.append((source, iter(source.inputs)))
                continue
            waiting.pop()
            seen.add(id(current))
            yield current
