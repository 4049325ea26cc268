"""Numbers that are written in a log, a setting or a name."""

from __future__ import annotations

_MOST = 2**63 - 1


def whole(text: str | bytes) -> int | None:
    """The number that ASCII digits are; None: other text, or more than 63 bits.

    `int` takes digits of all scripts, and raises for more than 4,300 of them.
    """
    if not (text.isascii() and text.isdigit()):
        return None
    zero = b"0" if isinstance(text, bytes) else "0"
    number = int(text) if len(text) < 20 else int(text.lstrip(zero)[:20] or "0")  # type: ignore[arg-type]
    return number if number <= _MOST else None
