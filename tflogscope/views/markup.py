"""HTML in which a text stays a text: the one door for what a log says."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from tflogscope.escapes import safe


class Markup(str):
    """HTML that was made by `element`, so that it is not escaped again."""

    __slots__ = ()


_VOID = frozenset({"meta", "input", "br", "rect", "line", "path", "polyline"})


def element(name: str, /, *children: str | None, **attributes: str | float | bool | None) -> Markup:
    """Make an element.

    Args:
        name: its tag.
        children: texts, which are escaped, and elements; None is left out.
        attributes: `_` stands for `-`, and at the end for nothing (`class_`); None and False are
            left out, True has no value.
    """
    tag = name + "".join(
        f" {key.rstrip('_').replace('_', '-')}"
        + ("" if value is True else f'="{escape(safe(str(value)))}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if name in _VOID and not children:
        return Markup(f"<{tag}>" if name in ("meta", "input", "br") else f"<{tag}/>")
    return Markup(f"<{tag}>{joined(*children)}</{name}>")


def joined(*children: str | None) -> Markup:
    """Texts and elements one after the other."""
    return Markup(
        "".join(
            child if isinstance(child, Markup) else escape(safe(child))
            for child in children
            if child is not None
        )
    )


def stretched_svg(parts: Iterable[Markup], width: int, height: int) -> Markup:
    """A picture as wide as the page: `width` and `height` are those in which parts are drawn."""
    return element(
        "svg",
        *parts,
        viewBox=f"0 0 {width} {height}",
        preserveAspectRatio="none",
        width="100%",
        height=height,
        aria_hidden="true",
    )
