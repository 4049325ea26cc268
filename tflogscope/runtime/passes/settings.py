"""Whether functions are optimised before they run, and for which TensorFlow."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

__all__ = ["Settings", "current", "using"]


@dataclass(frozen=True)
class Settings:
    """What a run of TensorFlow is like, as far as the passes care.

    `onednn`: `TF_ENABLE_ONEDNN_OPTS`. `grappler`: not switched off with
    `tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})`.
    """

    onednn: bool = True
    grappler: bool = True


_settings: Settings | None = None


def current() -> Settings | None:
    """The settings in force; None: functions run as they were traced."""
    return _settings


@contextmanager
def using(settings: Settings | None) -> Iterator[None]:
    """Optimise functions that are instantiated meanwhile."""
    global _settings  # noqa: PLW0603 - one setting for the process
    previous, _settings = _settings, settings
    try:
        yield
    finally:
        _settings = previous
