"""`tf.compat.v1.logging`."""

from __future__ import annotations

import logging

from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.logs import log

DEBUG = logging.DEBUG
ERROR = logging.ERROR
FATAL = logging.FATAL
INFO = logging.INFO
WARN = logging.WARNING

debug = log.debug
error = log.error
fatal = log.critical
info = log.info
set_verbosity = log.setLevel
warn = warning = log.warning


def get_verbosity() -> int:
    """The level from which messages are shown."""
    return log.getEffectiveLevel()


__getattr__ = missing("tf.compat.v1.logging")
