"""The log statements: in which file each stands, at which line in which release, at which level.

A release that does not have a statement has `None` for its line.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["RELEASES", "SITES", "Site"]

RELEASES = ("2.8", "2.13", "2.16", "2.20", "2.21")

_RUNTIME = "tensorflow/core/common_runtime/"
_EXECUTE = f"{_RUNTIME}eager/execute.cc"
_FUNCTIONS = f"{_RUNTIME}process_function_library_runtime.cc"
_EXECUTOR = f"{_RUNTIME}executor.cc"
_LAYOUT = f"{_RUNTIME}mkl_layout_pass.cc"
_FOLDING = f"{_RUNTIME}constant_folding.cc"
_UTILS = f"{_RUNTIME}function_utils.cc"
_GRAPPLER = "tensorflow/core/grappler/optimizers/"
_META = f"{_GRAPPLER}meta_optimizer.cc"
_TAPE = "./tensorflow/c/eager/tape.h"

Lines = tuple[int | None, int | None, int | None, int | None, int | None]


@dataclass(frozen=True, slots=True)
class Site:
    """One log statement. `lines`: of RELEASES; `level` 0 is `LOG`, others `VLOG`."""

    path: str
    level: int
    lines: Lines
    severity: str = "I"

    @property
    def module(self) -> str:
        """What `TF_CPP_VMODULE` calls the file: up to the first dot."""
        return self.path.rpartition("/")[2].partition(".")[0]

    @property
    def file(self) -> str:
        """The file's name alone."""
        return self.path.rpartition("/")[2]


SITES: dict[str, Site] = {
    "onednn on": Site("tensorflow/core/util/port.cc", 0, (None, 110, 113, 153, 153)),
    "cpu features": Site(
        "tensorflow/core/platform/cpu_feature_guard.cc", 0, (151, 182, 210, 210, 227)
    ),
    # -- eager dispatch
    "entering": Site(_EXECUTE, 1, (None, 2121, 2199, 2261, 2268)),
    "exiting": Site(_EXECUTE, 1, (None, 2125, 2203, 2265, 2272)),
    "executing": Site(_EXECUTE, 1, (1292, 1678, 1756, 1768, 1775)),
    "input": Site(_EXECUTE, 1, (910, 1198, 1265, 1194, 1199)),
    "preferred device": Site(_EXECUTE, 1, (994, 1247, 1314, 1244, 1249)),
    "placed op": Site(_EXECUTE, 1, (995, 1248, 1315, 1245, 1250)),
    "new kernel": Site(_EXECUTE, 2, (951, 1341, 1412, 1370, 1376)),
    "device set": Site(_EXECUTE, 1, (1001, 1347, 1418, 1376, 1382)),
    "outputs on device": Site(_EXECUTE, 2, (970, 1382, 1453, 1413, 1419)),
    "wrapper": Site(_EXECUTE, 1, (None, 1007, 1019, 982, 986)),
    "compilation device": Site(_EXECUTE, 1, (None, 593, 605, 580, 581)),
    "by function": Site(_EXECUTE, 2, (1062, 1447, 1518, 1519, 1526)),
    "by kernel": Site(_EXECUTE, 2, (1085, 1470, 1541, 1539, 1546)),
    "caching": Site(_EXECUTE, 2, (None, None, 1568, 1580, 1587)),
    # -- functions
    "instantiating": Site(_FUNCTIONS, 1, (772, 521, 495, 514, 518)),
    "optimized": Site(_FUNCTIONS, 1, (None, 591, 571, 599, 603)),
    "component start": Site(_FUNCTIONS, 1, (1096, 718, 704, 738, 742)),
    "component ready": Site(_FUNCTIONS, 1, (1105, 727, 713, 744, 748)),
    "instantiated": Site(_FUNCTIONS, 1, (1141, 763, 762, 831, 835)),
    "running here": Site(_FUNCTIONS, 1, (1293, 917, 918, 988, 992)),
    "running": Site(_FUNCTIONS, 1, (1428, 1052, 1053, 1124, 1128)),
    "ran here": Site(_FUNCTIONS, 2, (1316, 940, 941, 1011, 1015)),
    "failed here": Site(_FUNCTIONS, 2, (1309, 933, 934, 1004, 1008)),
    "ran": Site(_FUNCTIONS, 2, (1408, 1032, 1033, 1104, 1108)),
    "failed": Site(_FUNCTIONS, 2, (1397, 1021, 1022, 1093, 1097)),
    "pruning": Site(f"{_RUNTIME}function.cc", 2, (896, 899, 913, None, None)),
    "pruning nodes": Site(f"{_RUNTIME}function_def_utils.cc", 2, (None, None, None, 143, 145)),
    "graph": Site(_UTILS, 2, (78, 78, 78, 78, 78)),
    "no list converter": Site(_UTILS, 2, (164, 164, 164, 164, 164)),
    # -- the executor
    "process": Site(_EXECUTOR, 1, (779, 841, 874, 879, 879)),
    "done": Site(_EXECUTOR, 2, (832, 898, 931, 936, 936)),
    "async done": Site(_EXECUTOR, 2, (623, 642, 679, 683, 683)),
    "node failed": Site(_EXECUTOR, 1, (992, 1059, 1093, 1098, 1098), "W"),
    "aborting": Site(_EXECUTOR, 1, (1141, 1207, 1241, 1246, 1245)),
    "kernel": Site("tensorflow/core/framework/op_kernel.cc", 1, (1604, 1687, 1698, 1712, 1715)),
    "op failed": Site(
        "tensorflow/core/framework/op_kernel.cc", 0, (1738, 1821, 1832, 1848, 1851), "W"
    ),
    "memory": Site("tensorflow/core/framework/log_memory.cc", 2, (34, 34, 34, 34, 34)),
    "sgemm": Site("tensorflow/core/kernels/mkl/mkl_matmul_op.cc", 2, (157, 162, 163, 163, 163)),
    # -- grappler: 2.20 has none of these lines
    "grappler start": Site(_META, 1, (914, 1045, 1052, None, 1059)),
    "grappler item": Site(_META, 2, (669, 779, 785, None, 791)),
    "grappler result": Site(_META, 1, (834, 960, 967, None, 973)),
    "grappler done": Site(_META, 1, (946, 1078, 1085, None, 1092)),
    "fused": Site(f"{_GRAPPLER}remapper.cc", 2, (1911, 2570, 3242, None, 3377)),
    "fused with activation": Site(f"{_GRAPPLER}remapper.cc", 2, (1958, 2617, 3344, None, 3479)),
    "folded": Site(f"{_GRAPPLER}constant_folding.cc", 2, (1516, 1526, 1528, None, 1536)),
    # -- oneDNN's layout pass
    "merge scheduled": Site(_LAYOUT, 1, (3982, 4116, 4148, 4097, 4097)),
    "merged": Site(_LAYOUT, 1, (3986, 4120, 4152, 4101, 4101)),
    "rewriting matmul": Site(_LAYOUT, 2, (1459, 1492, 1535, 1480, 1480)),
    "scheduled": Site(_LAYOUT, 1, (4031, 4165, 4197, 4146, 4146)),
    "original": Site(_LAYOUT, 1, (3606, 3740, 3765, 3714, 3714)),
    "new": Site(_LAYOUT, 1, (3627, 3761, 3786, 3735, 3735)),
    "rewrote": Site(_LAYOUT, 1, (4036, 4170, 4202, 4151, 4151)),
    "skipped": Site(_LAYOUT, 1, (3716, 3850, 3880, 3830, 3830)),
    "onednn off": Site(_LAYOUT, 2, (4078, 4212, 4244, 4193, 4193)),
    # -- constants folded by the function runtime
    "nothing to fold": Site(_FOLDING, 1, (616, 625, 644, 644, 644)),
    "foldable": Site(_FOLDING, 1, (634, 643, 662, 662, 662)),
    "replacing": Site(_FOLDING, 1, (567, 574, 593, 593, 593)),
    # -- Python's gradient tape
    "tape": Site(_TAPE, 1, (714, 723, 723, 724, 724)),
    "gradient of": Site(_TAPE, 1, (776, 785, 785, 786, 786)),
    "gradients": Site(_TAPE, 1, (887, 896, 896, 897, 897)),
}
