"""native/library.py says in ctypes what native/scanner.c says in C: here the two are compared."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tflogscope.errors import TflogscopeError
from tflogscope.native import library

TEXT = (Path(library.__file__).parent / library.SOURCE).read_text()
CODE = re.sub(r"/\*.*?\*/", "", TEXT, flags=re.DOTALL)
STRUCTURES = {
    name: body for body, name in re.findall(r"typedef struct \{(.*?)\} (\w+);", CODE, re.DOTALL)
}
# Structures that only C uses.
OWN = {"span", "scan", "found", "record"}
TYPES = {
    "u8": ctypes.c_uint8,
    "uint16_t": ctypes.c_uint16,
    "u32": ctypes.c_uint32,
    "u64": ctypes.c_uint64,
    "i64": ctypes.c_int64,
}


def type_of(name: str) -> Any:
    return TYPES.get(name) or getattr(library, name.capitalize())


def fields_of(body: str) -> list[tuple[str, Any]]:
    """The fields of a structure in C, as ctypes has them."""
    found = []
    for declaration in filter(None, map(str.strip, body.split(";"))):
        kind, names = declaration.removeprefix("const ").split(" ", 1)
        for each in map(str.strip, names.split(",")):
            name, _, count = each.lstrip("*").rstrip("]").partition("[")
            field = ctypes.POINTER(type_of(kind)) if each.startswith("*") else type_of(kind)
            if count:
                size = int(count) if count.isdigit() else getattr(library, count)
                field *= size if isinstance(size, int) else len(size)
            found.append((name, field))
    return found


@pytest.mark.parametrize("name", sorted(STRUCTURES.keys() - OWN))
def test_structures_are_the_same(name: str) -> None:
    assert list(type_of(name)._fields_) == fields_of(STRUCTURES[name])


def test_numbers_are_the_same() -> None:
    values: dict[str, int] = {}
    for body in re.findall(r"enum \{(.*?)\};", CODE, re.DOTALL):
        number = 0
        for entry in map(str.strip, body.split(",")):
            name, _, value = entry.partition(" = ")
            number = eval(value) if value else number  # of this repository's own text
            values[name] = number
            number += 1
    shown = "PLACES FIELDS DIALECTS SHAPE DIGIT SEVERITY IS_NUMBER IS_KEY IS_PATH IS_START IS_END"
    same = f"{shown} TO_END BLANK CONTINUATION IGNORED COLD HOT".split()
    assert {name: values[name] for name in same} == {name: getattr(library, name) for name in same}
    for names in (library.STEPS, library.TABLES):
        assert [values[name.upper()] for name in names] == list(range(len(names)))


@pytest.fixture
def _anew() -> Iterator[None]:
    library.library.cache_clear()
    yield
    library.library.cache_clear()


@pytest.mark.usefixtures("_anew")
def test_a_library_that_is_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "NAME", "_no_scanner.so")
    with pytest.raises(TflogscopeError, match="missing") as caught:
        library.library()
    assert "pip install" in str(caught.value.hint)


@pytest.mark.usefixtures("_anew")
def test_a_library_of_another_source_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "SOURCE", "library.py")
    with pytest.raises(TflogscopeError, match="another"):
        library.library()
