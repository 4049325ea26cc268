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
    """An eager op runs as a function of one node."""
    absl: bool = False
    """Lines begin as absl's logging writes them."""
    partitioned: str = ""
    """What the names of partitioned functions have after them."""
    redacted: bool = False
    """Messages begin with a note that they may be redacted."""
    gemm: bool = True
    """Plain matrix products are in oneDNN's verbose lines."""
    matmul_gradients: bool = False
    """MatMul has attributes that say whose gradient it is."""
    pace: float = 1.0
    """How long a line takes, compared with 2.13."""

    @property
    def index(self) -> int:
        """Its place in tables of releases."""
        return list(DIALECTS).index(self.release)

    @property
    def old_onednn(self) -> bool:
        """Is it oneDNN 2?"""
        return self.onednn.startswith("2.")


_LATEST = {"partitioned": "_partitioned", "matmul_gradients": True}
DIALECTS: dict[str, Dialect] = {
    each.release: each
    for each in (
        Dialect("2.8", "2.5.0", wraps_ops=False, gemm=False),
        Dialect("2.13", "2.7.3"),
        Dialect("2.16", "3.3.4", matmul_gradients=True),
        Dialect("2.20", "3.7.3", pace=0.55, **_LATEST),  # type: ignore[arg-type]
        Dialect("2.21", "3.7.3", absl=True, redacted=True, pace=0.42, **_LATEST),  # type: ignore[arg-type]
    )
}


def dialect(release: str) -> Dialect:
    """That of a release. Raises ValueError for one that is not known."""
    series = ".".join(release.split(".")[:2])
    if series not in DIALECTS:
        raise ValueError(f"no dialect {release}: there are {', '.join(DIALECTS)}")
    return DIALECTS[series]
