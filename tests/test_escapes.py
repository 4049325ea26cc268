from __future__ import annotations

import re
import sys
import unicodedata

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.stub import HOSTILE
from tflogscope.escapes import UNSAFE_RANGES, safe, unsafe_class

EFFECT = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def test_the_list_holds_all_that_unicode_calls_control_format_or_separator() -> None:
    listed = {code for first, last in UNSAFE_RANGES for code in range(first, last + 1)}
    known = {
        code for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) in EFFECT
    }
    assert known - listed == set()
    # Further characters on the list are not assigned yet in this Python's Unicode.
    assert {unicodedata.category(chr(code)) for code in listed - known} <= {"Cn", "Mn"}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain [/bold] µs", "plain [/bold] µs"),
        ("\x1b[2J\n\r\t\x7f", r"\x1b[2J\x0a\x0d\x09\x7f"),
        ("\x9b", r"\x9b"),
        ("\u202e\u2028\u200b\ufeff", r"\u202e\u2028\u200b\ufeff"),
        ("\udcff", r"\udcff"),
        ("\U000e0041", r"\U000e0041"),
        ("::error::x", r"\x3a:error::x"),
        ("  ::error::x", r"  \x3a:error::x"),
        ("a ::stop-commands::t", r"a \x3a:stop-commands::t"),
        ("tensorflow::Status ok", "tensorflow::Status ok"),
        ("x ##[error]y ##vso[a] # [b]", r"x \x23#[error]y \x23#vso[a] # [b]"),
    ],
)
def test_safe(text: str, shown: str) -> None:
    assert safe(text) == shown


@given(st.text(st.characters()) | st.sampled_from(HOSTILE))
def test_safe_text_has_no_effect_and_stays_as_it_is(text: str) -> None:
    shown = safe(text)
    assert not {unicodedata.category(character) for character in shown} & EFFECT
    assert not re.search(r"(^|\s)::", shown)
    assert not re.search(r"##\w*\[", shown)
    assert safe(shown) == shown


@pytest.mark.thorough
def test_polars_and_python_read_the_class_alike() -> None:
    pattern = f"^{unsafe_class(last=0xD7FF)}$"
    characters = [chr(code) for code in range(0xD800)]
    found = pl.Series(characters).str.contains(pattern)
    # `$` matches before a last line end in Python, so ask for the whole.
    expected = [bool(re.fullmatch(unsafe_class(), character)) for character in characters]
    assert found.to_list() == expected
