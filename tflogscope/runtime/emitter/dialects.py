"""How the log of a release differs from another's."""

from __future__ import annotations

from dataclasses import dataclass

from tflogscope.runtime.emitter.sites import RELEASES

__all__ = ["DIALECTS", "Dialect", "dialect"]


@dataclass(frozen=True, slots=True)
class Dialect:
    """What the emitter asks about a release."""

    release: str
    onednn: str
    """The release of oneDNN."""
    wraps_ops: bool = True
    """Eager ops run as functions of one node; before 2.10 their kernels run directly."""
    absl: bool = False
    """All records have absl's prefix: seconds since 1970, a thread, the file's name alone."""
    partitioned: str = ""
    """What stands in the names of component functions."""
    redacted: bool = False
    """Definitions begin with a word that says that their text is for reading only."""
    gemm: bool = True
    """oneDNN says something about `gemm_api`."""
    false: str = "0"
    """How a bool is printed where nothing says otherwise."""
    matmul_gradients: bool = False
    """`MatMul` has the attributes `grad_a` and `grad_b`."""
    pace: float = 1.0
    """How long a record takes, compared with 2.13: later releases write faster."""

    @property
    def index(self) -> int:
        """The place of the release in the tables of `sites.py`."""
        return RELEASES.index(self.release)

    @property
    def onednn_series(self) -> str:
        """`2.7` of `2.7.3`."""
        return self.onednn.rpartition(".")[0]


DIALECTS: dict[str, Dialect] = {
    each.release: each
    for each in (
        Dialect("2.8", "2.5.0", wraps_ops=False, gemm=False),
        Dialect("2.13", "2.7.3"),
        Dialect("2.16", "3.3.4", matmul_gradients=True),
        Dialect("2.20", "3.7.3", partitioned="_partitioned", matmul_gradients=True, pace=0.55),
        Dialect(
            "2.21",
            "3.7.3",
            absl=True,
            partitioned="_partitioned",
            redacted=True,
            false="false",
            matmul_gradients=True,
            pace=0.42,
        ),
    )
}


def dialect(release: str) -> Dialect:
    """The dialect of a release, `2.13` or `2.13.1`. Raises ValueError for one that is not there."""
    series = ".".join(release.split(".")[:2])
    try:
        return DIALECTS[series]
    except KeyError:
        known = ", ".join(DIALECTS)
        raise ValueError(f"no dialect {release}: there are {known}") from None
