"""How many examples property tests try: few, or many with TFLOGSCOPE_DEEP=1, as each night."""

from __future__ import annotations

import os

from hypothesis import settings

DEEP = bool(os.environ.get("TFLOGSCOPE_DEEP"))
_TIMES = 50


def examples(quick: int) -> int:
    """The number of examples, of which a quick run tries `quick`."""
    return quick * _TIMES if DEEP else quick


# How long an example takes depends more on the machine than on the code.
settings.register_profile("ours", deadline=None, max_examples=examples(30))
