"""`tf.config.optimizer`: options are kept, and none changes what is computed."""

from __future__ import annotations

from typing import Any

from tflogscope.runtime.api.missing import missing

_options: dict[str, Any] = {}
_jit: list[bool] = [False]


def get_experimental_options() -> dict[str, Any]:
    """The options that were set."""
    return {**_options, "disable_model_pruning": False, "disable_meta_optimizer": False} | _options


def set_experimental_options(options: dict[str, Any]) -> None:
    """Keep these options."""
    _options.update(options)


def get_jit() -> str:
    """Was compilation asked for?"""
    return "autoclustering" if _jit[0] else ""


def set_jit(enabled: bool | str) -> None:
    """Ask for compilation: the values stay the same."""
    _jit[0] = bool(enabled)


__getattr__ = missing("tf.config.optimizer")
