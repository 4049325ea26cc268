"""What is set in the environment of a recorded program, and what for.

Level 2 of every file makes a log of which nine tenths are never looked at. TF_CPP_VMODULE raises
the level file by file (tsl/platform/default/logging.cc, LogMessage::VmoduleActivated).
"""

from __future__ import annotations

import os
from collections.abc import Container, Mapping
from dataclasses import dataclass
from pathlib import Path

from tflogscope.grammar.rewriters import REWRITERS, Rewriter
from tflogscope.repository import repository

HOOK = Path(__file__).parent / "hook"
"""The folder that Python finds its `sitecustomize` in, in a recorded program."""


@dataclass(frozen=True, slots=True)
class Module:
    """A source file of TensorFlow (its name up to the first dot), its level, and what it shows."""

    name: str
    level: int
    shows: str


MODULES = (
    Module("execute", 1, "eager dispatches, and calls of functions with their ends"),
    Module("executor", 2, "each node that ran, when it began and when it was done"),
    Module(
        "process_function_library_runtime",
        2,
        "when a function is instantiated, and for how long; the ends of eager ops (from 2.10 on)",
    ),
    Module("op_kernel", 1, "which kernel runs an eager op"),
    Module("mkl_layout_pass", 1, "rewrites to oneDNN kernels, and refusals"),
    Module("remapper", 2, "fusions of several ops into one"),
    Module("tape", 1, "gradients computed eagerly"),
    Module("function", 2, "which function kernels are made for (to 2.19)"),
    Module("function_def_utils", 2, "which function kernels are made for (from 2.20 on)"),
    Module("device_compiler", 1, "how long XLA compiled (from 2.11 on)"),
    Module("xla_compilation_cache", 1, "how long XLA compiled (to 2.10)"),
)

# TensorFlow 2.14 came with oneDNN 3.2, the first whose timestamps are exact on all lines
# (src/common/verbose.cpp: before, those of gemm_api had six digits), and which writes each line
# at once. Both are false of older releases.
_EXACT_SINCE = (2, 14)


def exact_onednn(tensorflow: str | None) -> bool:
    """Whether this release of TensorFlow has a oneDNN that prints at once and with exact times."""
    try:
        release = tuple(int(part) for part in (tensorflow or "").split(".")[:2])
    except ValueError:
        return False
    return release >= _EXACT_SINCE


def settings(tensorflow: str | None, packages: Container[str] = ()) -> Mapping[str, str]:
    """The variables to set, given the version of TensorFlow (None: not known).

    `packages`: what is installed; of plug-ins among them also what makes these talk.
    """
    plugins = installed(packages)
    levels = {module.name: module.level for module in MODULES}
    for plugin in plugins:
        levels |= plugin.modules
    chosen = {
        "TF_CPP_MIN_LOG_LEVEL": "0",  # above 0, VLOG prints nothing
        "TF_CPP_MAX_VLOG_LEVEL": "0",
        "TF_CPP_VMODULE": ",".join(f"{name}={level}" for name, level in levels.items()),
        "TF_CPP_LOG_THREAD_ID": "1",
        "ONEDNN_VERBOSE": "1",
        "PYTHONFAULTHANDLER": "1",  # a crash in native code says which line of Python led there
    }
    if exact_onednn(tensorflow):
        chosen["ONEDNN_VERBOSE_TIMESTAMP"] = "1"
    for plugin in plugins:
        chosen |= plugin.record
    return chosen


def installed(packages: Container[str]) -> list[Rewriter]:
    """The plug-ins among packages."""
    return [rewriter for rewriter in REWRITERS if rewriter.package in packages]


def with_lines(environment: Mapping[str, str]) -> Mapping[str, str]:
    """What else to set so that the program says which of its lines asks for an op.

    Its files are named from the root of the repository, where there is one, as `check` needs it.
    """
    path = [str(HOOK), *filter(None, [environment.get("PYTHONPATH")])]
    folder = repository(Path.cwd()) or Path.cwd()
    return {"PYTHONPATH": os.pathsep.join(path), "TFLOGSCOPE_LINES": str(folder)}


def uncaptured(environment: Mapping[str, str]) -> Mapping[str, str]:
    """What else to set so that pytest lets through what tests that pass print, the log with it."""
    options = filter(None, [environment.get("PYTEST_ADDOPTS"), "--capture=no"])
    return {"PYTEST_ADDOPTS": " ".join(options)}


def least_severity(environment: Mapping[str, str]) -> int:
    """The least severity of records that the user wants to see: 0 all, 1 warnings, 2 errors."""
    try:
        return int(environment.get("TF_CPP_MIN_LOG_LEVEL", "0"))
    except ValueError:
        return 0
