"""Pieces of Python written as text, with holes that syntax trees are put into.

A hole is a name of the text. A string put into it renames it, an expression replaces it, a list of
statements replaces the line that consists of it alone. Whatever the text adds gets the position of
the code that it stands for, so that tracebacks through converted code show the user's own file and
line. Told about: autograph/pyct/templates.py.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence
from typing import cast

Hole = str | ast.expr | Sequence[ast.stmt]


def statements(text: str, like: ast.AST, /, **holes: Hole) -> list[ast.stmt]:
    """The statements of `text`, at the position of `like`.

    That is where it begins: for a call of an attribute, Python tells the line where this ends.
    """
    module = ast.parse(text)
    for node in ast.walk(module):
        if isinstance(node, ast.stmt | ast.expr | ast.arg | ast.excepthandler | ast.keyword):
            ast.copy_location(node, like)
            node.end_lineno = node.lineno
            node.col_offset = node.end_col_offset = -1  # no columns: nothing of the line is marked
    return cast(ast.Module, _Filler(holes).visit(module)).body


def expression(text: str, like: ast.AST, /, **holes: Hole) -> ast.expr:
    """The expression that `text` is, at the position of `like`."""
    return cast(ast.Expr, statements(text, like, **holes)[0]).value


class _Filler(ast.NodeTransformer):
    def __init__(self, holes: dict[str, Hole]) -> None:
        self.holes = holes

    def visit_Expr(self, node: ast.Expr) -> ast.stmt | list[ast.stmt]:
        if isinstance(node.value, ast.Name):
            hole = self.holes.get(node.value.id)
            if hole is not None and not isinstance(hole, str | ast.expr):
                return list(hole)
        return cast(ast.stmt, self.generic_visit(node))

    def visit_Name(self, node: ast.Name) -> ast.expr:
        hole = self.holes.get(node.id, node.id)
        if isinstance(hole, str):
            node.id = hole
            return node
        assert isinstance(hole, ast.expr)
        return with_context(hole, node.ctx)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        node.name = self._renamed(node.name)
        return cast(ast.FunctionDef, self.generic_visit(node))

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.arg = self._renamed(node.arg)
        return node

    def visit_Nonlocal(self, node: ast.Nonlocal) -> ast.Nonlocal:
        node.names = [self._renamed(name) for name in node.names]
        return node

    def _renamed(self, name: str) -> str:
        hole = self.holes.get(name, name)
        assert isinstance(hole, str)
        return hole


def with_context(node: ast.expr, context: ast.expr_context) -> ast.expr:
    """A copy of `node` that is read, assigned or deleted as `context` says."""
    node = copy.deepcopy(node)
    _set_context(node, context)
    return node


def _set_context(node: ast.expr, context: ast.expr_context) -> None:
    if hasattr(node, "ctx"):
        node.ctx = context
    if isinstance(node, ast.Tuple | ast.List):
        for element in node.elts:
            _set_context(element, context)
    elif isinstance(node, ast.Starred):
        _set_context(node.value, context)
