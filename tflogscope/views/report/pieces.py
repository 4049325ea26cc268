"""Files of a page: style, scripts, and pieces of HTML with places for what Python makes."""

from __future__ import annotations

import re
from importlib.resources import files
from string import Template

from tflogscope.views.markup import Markup

_ASSETS = files("tflogscope.views.report") / "assets"


def asset(name: str) -> Markup:
    """A file of the package. It must not end the element that it is written into."""
    text = _ASSETS.joinpath(name).read_text(encoding="utf-8")
    if "</script" in text.lower() or "</style" in text.lower() or "<!--" in text:
        raise AssertionError(name)
    return Markup(text)


def filled(name: str, **places: Markup) -> Markup:
    """A piece of HTML without its line ends and indents, with elements in its places (`$still`)."""
    text = re.sub(r"\n *", "", asset(f"{name}.html"))
    return Markup(Template(text).substitute(places))
