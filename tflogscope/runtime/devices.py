"""Devices: there is one, the CPU; its names.

Told about: `tensorflow/python/framework/device_spec.py`. NB: with soft placement (TensorFlow's
default) an op asked onto a missing GPU runs on the CPU; so here.
"""

from __future__ import annotations

import re

__all__ = ["CPU", "canonical"]

CPU = "/job:localhost/replica:0/task:0/device:CPU:0"

_PART = re.compile(
    r"(?i)/(?:(job):(\w+)|(replica):(\d+)|(task):(\d+)|(?:device:)?(CPU|GPU|TPU)(?::(\d+|\*))?)"
)


def canonical(name: str) -> str:
    """A device name in the form in which nodes have it: `cpu:0` is `/device:CPU:0`. Raises
    ValueError if it is none.
    """
    rest = name if name.startswith("/") else "/" + name
    parts = []
    while rest:
        match = _PART.match(rest)
        if not match:
            raise ValueError(
                f"Unknown attribute '{rest.strip('/')}' is encountered while parsing the device "
                f"spec: '{name}'."
            )
        groups = [group for group in match.groups() if group is not None]
        if match.group(7):
            parts.append(f"/device:{match.group(7).upper()}:{match.group(8) or 0}")
        else:
            parts.append(f"/{groups[0].lower()}:{groups[1]}")
        rest = rest[match.end() :]
    return "".join(parts)
