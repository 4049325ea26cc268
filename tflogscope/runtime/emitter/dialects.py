"""Releases whose logs differ."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Dialect:
    """How the logs of a release look."""

    release: str
    onednn: str
    """The version of oneDNN in it."""
    wraps_ops: bool = True
    """An eager op runs as a function of one node, and plain matrix products are in oneDNN's lines."""
    absl: bool = False
    """Lines begin as absl's logging writes them, and messages say that they may be redacted."""
    partitioned: str = ""
    """What the names of partitioned functions have after them."""
    matmul_gradients: bool = True
    """MatMul has attributes that say whose gradient it is."""
    pace: float = 1.0
    """How long a line takes, compared with 2.13."""

    @property
    def old_onednn(self) -> bool:
        """Is it oneDNN 2?"""
        return self.onednn < "3"

    @property
    def mark(self) -> str:
        """What oneDNN's lines begin with."""
        return "onednn_verbose,v1" if self.onednn >= "3.6" else "onednn_verbose"


DIALECTS = {
    each.release: each
    for each in (
        Dialect("2.8", "2.5.0", wraps_ops=False, matmul_gradients=False),
        Dialect("2.13", "2.7.3", matmul_gradients=False),
        Dialect("2.16", "3.3.4"),
        Dialect("2.20", "3.7.3", partitioned="_partitioned", pace=0.55),
        Dialect("2.21", "3.7.3", partitioned="_partitioned", absl=True, pace=0.42),
    )
}


def dialect(release: str) -> Dialect:
    """That of a release. Raises ValueError for one that is not known."""
    series = ".".join(release.split(".")[:2])
    if series not in DIALECTS:
        raise ValueError(f"no dialect {release}: there are {', '.join(DIALECTS)}")
    return DIALECTS[series]
