"""Everything is used: modules and functions by more than tests, dependencies by some import."""

from __future__ import annotations

import ast
import re
import string
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from tflogscope.cli.app import COMMANDS
from tflogscope.exports.formats import FORMATS
from tflogscope.model.reasons.rules import RULES

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "tflogscope"
# The runtime is separate, the hook runs in other programs; this one starts in `__main__`.
FILES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts): path
    for path in sorted(PACKAGE.rglob("*.py"))
    if not {"runtime", "hook"} & {*path.parts} and path.name not in ("__init__.py", "__main__.py")
}
DOCS = "".join(path.read_text("utf-8") for path in [ROOT / "README.md", *ROOT.glob("docs/*.md")])
WRITERS = {f"tflogscope.exports.{each.module}.{each.function}" for each in FORMATS.values()}
# The table of commands names modules: each has a function of its name, or an `app`, and may have a
# class of commands.
OF_COMMANDS = {
    f"tflogscope.cli.{each}.{name}" for each in COMMANDS for name in (each, "Command", "app")
}

EXEMPT = {"tflogscope.pytest_plugin"}  # pytest loads it by its entry point
TOOLS = {"coverage", "import-linter", "mypy", "ruff"}  # programs; `types-…` are stubs for mypy


@cache
def trees() -> dict[str, ast.Module]:
    """What each module is, as Python reads it."""
    return {module: ast.parse(path.read_text("utf-8")) for module, path in FILES.items()}


@cache
def starts() -> list[ast.Module]:
    """The files that start the others."""
    return [ast.parse(path.read_text("utf-8")) for path in PACKAGE.rglob("__*__.py")]


def imported(tree: ast.Module) -> Iterator[str]:
    """Names of what a file imports, also inside functions; `from a import b` may mean a.b."""
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                yield from (alias.name for alias in node.names)
            case ast.ImportFrom(module=str(module)):
                yield module
                yield from (f"{module}.{alias.name}" for alias in node.names)
            case ast.Call(func=ast.Name("import_module"), args=[ast.Constant(str(module))]):
                yield module


def named(module: str, tree: ast.Module) -> Iterator[str]:
    """Functions and classes that a file names, by module; not what each names of itself."""
    yield from imported(tree)
    modules = {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    for statement in tree.body:
        for node in ast.walk(statement):
            match node:
                case ast.Attribute(value=ast.Name(name), attr=attribute):
                    yield f"{modules.get(name)}.{attribute}"
                case ast.Name(name) if name != getattr(statement, "name", None):
                    yield f"{module}.{name}"


def defined(place: str, body: Iterable[ast.stmt]) -> Iterator[str]:
    """Functions and classes of a file or class, but for what a decorator with arguments takes."""
    for node in body:
        taken = any(isinstance(each, ast.Call) for each in getattr(node, "decorator_list", ()))
        if isinstance(node, ast.ClassDef) or (isinstance(node, ast.FunctionDef) and not taken):
            yield f"{place}.{node.name}"


@pytest.mark.thorough
def test_no_module_is_there_for_tests_alone() -> None:
    assert len(FILES) > 40
    used = {name for tree in [*trees().values(), *starts()] for name in imported(tree)}
    used |= {named.rpartition(".")[0] for named in WRITERS | OF_COMMANDS}
    assert set(FILES) - used == EXEMPT


@pytest.mark.thorough
def test_no_function_is_there_for_tests_alone() -> None:
    functions = {name for module, tree in trees().items() for name in defined(module, tree.body)}
    functions = {name for name in functions if name.rpartition(".")[0] not in EXEMPT}
    assert len(functions) > 1000
    files = [*trees().items(), *(("", tree) for tree in starts())]
    used = {name for module, tree in files for name in named(module, tree)}
    assert functions - used - WRITERS - OF_COMMANDS == set()


@pytest.mark.thorough
def test_no_method_is_there_for_tests_alone() -> None:
    """A method is used if code of the package, or the docs, have an attribute of its name."""
    nodes = [node for tree in trees().values() for node in ast.walk(tree)]
    used = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    used |= {str(node.value) for node in nodes if isinstance(node, ast.Constant)}
    used |= {fact for rule in RULES for fact in rule.facts}
    used |= set(re.findall(r"\.([a-z]\w+)", DOCS))
    used |= {*dir(string.Formatter)}  # which calls what Words overrides
    methods = {
        name
        for module, tree in trees().items()
        for each in tree.body
        if isinstance(each, ast.ClassDef)
        for name in defined(f"{module}.{each.name}", each.body)
    }
    unused = {name for name in methods if name.rpartition(".")[2] not in used}
    unused = {name for name in unused if not re.search(r"\._\w+_$", name)}  # Python's, IPython's
    assert unused == set()


@pytest.mark.thorough
def test_each_dependency_is_imported() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    needed = [*project["dependencies"], *extras["remote"], *extras["dask"]]
    used = distributions(PACKAGE)
    assert declared(needed) - used == set()
    used |= distributions(ROOT / "tests", ROOT / "tools")
    assert declared(extras["test"]) - used == TOOLS


def declared(requirements: Iterable[str]) -> set[str]:
    names = {re.split(r"[^\w.-]", each)[0] for each in requirements}
    return {name for name in names if not name.startswith("types-")}


def distributions(*folders: Path) -> set[str]:
    """Distributions of which Python files import a module."""
    known = packages_distributions()
    files = (path for folder in folders for path in folder.rglob("*.py"))
    trees = (ast.parse(path.read_text("utf-8")) for path in files)
    modules = {name.partition(".")[0] for tree in trees for name in imported(tree)}
    return {name.lower() for module in modules for name in known.get(module, [module])}


@pytest.mark.parametrize(
    "package",
    sorted(path.parent for path in PACKAGE.rglob("__init__.py") if "runtime" not in path.parts),
    ids=lambda path: path.name,
)
def test_a_package_names_parts_that_are_there(package: Path) -> None:
    """What its docstring has in back-ticks is one of its modules or functions, or a command."""
    about = ast.get_docstring(ast.parse((package / "__init__.py").read_text())) or ""
    there = {path.stem for path in package.glob("*.py")} | {path.name for path in package.iterdir()}
    text = "".join(path.read_text() for path in package.rglob("*.py") if path.name != "__init__.py")
    for name in re.findall(r"`(\w+)`", about):
        assert name in there or re.search(rf"\b{name}\b", text), name
