"""Code as text with holes: `statements("if flag: rest", like, flag="f", rest=[…])`."""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence
from textwrap import dedent
from typing import Any

Hole = str | ast.expr | Sequence[ast.stmt]


class Namer:
    """Names that the function does not use."""

    def __init__(self, tree: ast.AST) -> None:
        self._taken = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}

    def fresh(self, base: str) -> str:
        """Another one, beginning with `base`."""
        name, number = base, 0
        while name in self._taken:
            number += 1
            name = f"{base}_{number}"
        self._taken.add(name)
        return name


def statements(text: str, like: ast.AST, /, **holes: Hole) -> list[ast.stmt]:
    """The statements, on the line of `like`, with the holes filled."""
    module = ast.parse(dedent(text))
    for node in ast.walk(module):
        if hasattr(node, "lineno"):
            ast.copy_location(node, like)
    found: list[ast.stmt] = _Filler(holes).visit(module).body
    return found


def expression(text: str, like: ast.AST, /, **holes: Hole) -> Any:
    """The same for one expression."""
    found: Any = statements(text, like, **holes)[0]
    return found.value


class _Filler(ast.NodeTransformer):
    def __init__(self, holes: dict[str, Hole]) -> None:
        self.holes = holes

    def visit_Expr(self, node: ast.Expr) -> Any:
        if isinstance(node.value, ast.Name):
            hole = self.holes.get(node.value.id)
            if hole is not None and not isinstance(hole, (str, ast.expr)):
                return list(hole)
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        hole = self.holes.get(node.id, node.id)
        if isinstance(hole, str):
            node.id = hole
            return node
        assert isinstance(hole, ast.expr)
        filled = copy.deepcopy(hole)
        _set_context(filled, node.ctx)
        return filled

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.name = str(self.holes.get(node.name, node.name))
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.arg = str(self.holes.get(node.arg, node.arg))
        return node


def _set_context(node: Any, context: ast.expr_context) -> None:
    if hasattr(node, "ctx"):
        node.ctx = context
    for each in getattr(node, "elts", ()):
        _set_context(each, context)
