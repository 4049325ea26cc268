"""What TensorFlow's Python side says by itself: `WARNING:tensorflow:…` on the error stream.

Told about: `python/platform/tf_logging.py`. NB: what its C++ side says comes another way.
"""

from __future__ import annotations

import logging
import sys

__all__ = ["log"]

log = logging.getLogger("tensorflow")
"""The logger. A program that sets up logging of its own gets the messages as it wants them."""


class _ToErrorStream(logging.Handler):
    """Writes to what is the error stream at that moment, unless the program logs by itself."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line."""
        if not logging.getLogger().handlers:
            sys.stderr.write(self.format(record) + "\n")


if not log.handlers:
    _handler = _ToErrorStream()
    _handler.setFormatter(logging.Formatter(logging.BASIC_FORMAT))
    log.addHandler(_handler)
