"""Releases whose logs differ, and which line of TensorFlow's source says what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


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


# Which line of TensorFlow's source says what: the file, the VLOG level, the line number in 2.8, 2.13,
# 2.16, 2.20 and 2.21 (0: that release does not say it).


class Site(NamedTuple):
    """A place that logs."""

    path: str
    level: int
    lines: tuple[int, ...]
    severity: str = "I"


# fmt: off
_TABLE = {
    "tensorflow/core/util/port.cc": {"onednn on": (0, 0, 110, 113, 153, 153)},
    "tensorflow/core/platform/cpu_feature_guard.cc": {
        "cpu features": (0, 151, 182, 210, 210, 227)},
    "tensorflow/core/common_runtime/eager/execute.cc": {
        "entering": (1, 0, 2121, 2199, 2261, 2268),
        "exiting": (1, 0, 2125, 2203, 2265, 2272),
        "executing": (1, 1292, 1678, 1756, 1768, 1775),
        "input": (1, 910, 1198, 1265, 1194, 1199),
        "by function": (2, 1062, 1447, 1518, 1519, 1526)},
    "tensorflow/core/common_runtime/process_function_library_runtime.cc": {
        "instantiating": (1, 772, 521, 495, 514, 518),
        "component ready": (1, 1105, 727, 713, 744, 748),
        "instantiated": (1, 1141, 763, 762, 831, 835),
        "running here": (1, 1293, 917, 918, 988, 992),
        "running": (1, 1428, 1052, 1053, 1124, 1128),
        "ran here": (2, 1316, 940, 941, 1011, 1015),
        "failed here": (2, 1309, 933, 934, 1004, 1008),
        "ran": (2, 1408, 1032, 1033, 1104, 1108),
        "failed": (2, 1397, 1021, 1022, 1093, 1097)},
    "tensorflow/core/common_runtime/function.cc": {"pruning": (2, 896, 899, 913, 0, 0)},
    "tensorflow/core/common_runtime/function_def_utils.cc": {
        "pruning nodes": (2, 0, 0, 0, 143, 145)},
    "tensorflow/core/common_runtime/executor.cc": {
        "process": (1, 779, 841, 874, 879, 879),
        "done": (2, 832, 898, 931, 936, 936),
        "async done": (2, 623, 642, 679, 683, 683),
        "W node failed": (1, 992, 1059, 1093, 1098, 1098),
        "aborting": (1, 1141, 1207, 1241, 1246, 1245)},
    "tensorflow/core/framework/op_kernel.cc": {
        "kernel": (1, 1604, 1687, 1698, 1712, 1715),
        "W op failed": (0, 1738, 1821, 1832, 1848, 1851)},
    "tensorflow/core/framework/log_memory.cc": {"memory": (2, 34, 34, 34, 34, 34)},
    "tensorflow/core/kernels/mkl/mkl_matmul_op.cc": {"sgemm": (2, 157, 162, 163, 163, 163)},
    "tensorflow/core/common_runtime/mkl_layout_pass.cc": {
        "new": (1, 3627, 3761, 3786, 3735, 3735),
        "rewrote": (1, 4036, 4170, 4202, 4151, 4151)},
    "./tensorflow/c/eager/tape.h": {
        "tape": (1, 714, 723, 723, 724, 724),
        "gradient of": (1, 776, 785, 785, 786, 786),
        "gradients": (1, 887, 896, 896, 897, 897)},
}
# fmt: on
SITES = {
    name.removeprefix("W "): Site(path, level, tuple(lines), "W" if name.startswith("W ") else "I")
    for path, rows in _TABLE.items()
    for name, (level, *lines) in rows.items()
}
