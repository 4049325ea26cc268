"""What is set in the environment of a recorded program, and what for.

Level 2 of every file makes a log of which nine tenths are never looked at. TF_CPP_VMODULE raises
the level file by file (tsl/platform/default/logging.cc, LogMessage::VmoduleActivated).
"""

from __future__ import annotations

import os
from collections.abc import Container, Mapping
from pathlib import Path
from typing import Any

from tflogscope.grammar.load import packaged_toml
from tflogscope.grammar.rewriters import REWRITERS, Rewriter
from tflogscope.repository import repository

HOOK = Path(__file__).parent / "hook"
"""The folder that Python finds its `sitecustomize` in, in a recorded program."""


_FACTS = packaged_toml("record.toml")
MODULES: Mapping[str, Any] = _FACTS["modules"]
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
    levels = {name: module["level"] for name, module in MODULES.items()}
    for plugin in plugins:
        levels |= plugin.modules
    chosen = {
        **_FACTS["environment"],
        "TF_CPP_VMODULE": ",".join(f"{name}={level}" for name, level in levels.items()),
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
