"""What grammar files say of oneDNN's verbose lines: eras, and the layouts of their lines.

A line is `marker[,version][,timestamp][,component],event[,body]`. A layout says for one kind of
event which fields the body has, in which order; it is tried on the lines of its era's heads.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from tflogscope.errors import GrammarError
from tflogscope.grammar.template import require_known

_PIECE = re.compile(r"\{([a-z_]+)(\*?)\}")
VERBOSE_KEYS = {
    "era", "meaning", "markers", "versions", "components", "layout", "field", "sample",
    "mkl_call", "mkl_banner",
}  # fmt: skip
_LAYOUT_OPTIONS = {"event", "where", "other_than", "whole"}
_LAYOUT_KEYS = {"name", "events", "text", "lie"} | _LAYOUT_OPTIONS


class VerboseLayout(NamedTuple):
    """Which fields a kind of line has. Patterns are RE2, anchored at the beginning only.

    `events` is the pattern of the events it is for, `event` the name these get instead (null:
    as printed), `free` the index of the field that may hold commas. `whole`: the event is the
    first field.
    """

    era: str
    name: str
    markers: tuple[str, ...]
    versions: tuple[str, ...]
    components: tuple[str, ...]
    events: str
    fields: tuple[str, ...]
    where: Mapping[str, str] = {}
    free: int | None = None
    event: str | None = None
    other_than: str | None = None
    whole: bool = False


class VerboseGrammar(NamedTuple):
    """Everything that is known about verbose lines. `patterns` are those of fields, by name."""

    layouts: tuple[VerboseLayout, ...] = ()
    patterns: Mapping[str, str] = {}
    mkl_call: str = ""
    mkl_banner: str = ""

    @property
    def heads(self) -> tuple[tuple[str, str], ...]:
        """Optional pieces between marker and event, in order: name, and RE2 pattern."""
        components = "|".join(
            sorted({component for one in self.layouts for component in one.components if component})
        )
        return (
            ("version_tag", "v[0-9]+"),
            ("timestamp", r"[0-9]+(?:\.[0-9]+)?(?:e\+[0-9]+)?"),
            ("component", f"(?:{components})"),
        )

    @property
    def markers(self) -> tuple[str, ...]:
        """The first words of lines, without the comma."""
        return tuple(sorted({marker for one in self.layouts for marker in one.markers}))

    def joined(self, other: VerboseGrammar) -> VerboseGrammar:
        """This and what another file adds."""
        return VerboseGrammar(
            self.layouts + other.layouts,
            {**self.patterns, **other.patterns},
            other.mkl_call or self.mkl_call,
            other.mkl_banner or self.mkl_banner,
        )


def verbose_grammar(content: Mapping[str, Any], name: str) -> VerboseGrammar:
    """What one grammar file says of verbose lines. Raises GrammarError, which names the file."""
    layouts = []
    for entry in content.get("layout", ()):
        place = f"{name}, layout {entry.get('name', '?')!r}"
        require_known(entry, _LAYOUT_KEYS, place)
        try:
            layouts.append(_layout(content, entry))
        except KeyError as error:
            raise GrammarError(f"`{error.args[0]}` is missing", place) from error
        except ValueError as error:
            raise GrammarError(str(error), place) from error
    patterns = {entry["name"]: entry["pattern"] for entry in content.get("field", ())}
    return VerboseGrammar(
        tuple(layouts), patterns, content.get("mkl_call", ""), content.get("mkl_banner", "")
    )


def _layout(content: Mapping[str, Any], entry: Mapping[str, Any]) -> VerboseLayout:
    fields, free = fields_of_text(entry["text"])
    return VerboseLayout(
        era=content["era"],
        name=entry["name"],
        markers=tuple(content["markers"]),
        versions=tuple(content.get("versions", ("",))),
        components=tuple(content.get("components", ("",))),
        events=entry["events"],
        fields=fields,
        free=free,
        **{key: entry[key] for key in _LAYOUT_OPTIONS & entry.keys()},
    )


def fields_of_text(text: str) -> tuple[tuple[str, ...], int | None]:
    """The fields of `{a},{b*},{c}`, and the index of the one that may hold commas.

    Raises ValueError if the text is not of this form.
    """
    pieces = [_PIECE.fullmatch(piece) for piece in text.split(",")]
    fields = tuple(piece[1] for piece in pieces if piece)
    starred = [at for at, piece in enumerate(pieces) if piece and piece[2]]
    if len(fields) < len(pieces) or len(set(fields)) < len(fields) or len(starred) > 1:
        raise ValueError(
            f"`{text}` is not a list of fields such as {{engine}},{{primitive}},{{message*}}"
        )
    return fields, starred[0] if starred else None
