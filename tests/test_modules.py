"""Each module is used: a module that only tests import is dead."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tflogscope.exports.formats import FORMATS

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "tflogscope"
# The runtime is separate, the hook runs in other programs; this one starts in `__main__`.
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts): path
    for path in sorted(PACKAGE.rglob("*.py"))
    if not {"runtime", "hook"} & {*path.parts} and path.name not in ("__init__.py", "__main__.py")
}

EXEMPT = {"tflogscope.pytest_plugin"}  # pytest loads it by its entry point


def imported(path: Path) -> Iterator[str]:
    """Names of what a file imports, also inside functions; `from a import b` may mean a.b."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_no_module_is_there_for_tests_alone() -> None:
    assert len(MODULES) > 40
    used = {name for path in PACKAGE.rglob("*.py") for name in imported(path)}
    by_name = {each.module for each in FORMATS.values()}
    used |= {f"tflogscope.exports.{module}" for module in by_name}
    assert set(MODULES) - used == EXEMPT
