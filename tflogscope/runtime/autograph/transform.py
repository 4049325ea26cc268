"""From a function's syntax tree to the converted function: the passes in order.

TensorFlow: `PyToTF.transform_ast` of autograph/impl/api.py and pyct/transpiler.py.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Callable
from types import CellType, CodeType, FunctionType
from typing import Any

from tflogscope.runtime.autograph.calls import CallRewriter
from tflogscope.runtime.autograph.expressions import ExpressionRewriter
from tflogscope.runtime.autograph.flow import analyse
from tflogscope.runtime.autograph.jumps import lower_jumps
from tflogscope.runtime.autograph.naming import Namer
from tflogscope.runtime.autograph.source import function_tree, refuse_unsupported
from tflogscope.runtime.autograph.statements import ReadGuard, StatementRewriter
from tflogscope.runtime.autograph.symbols import Function, parameters
from tflogscope.runtime.autograph.templates import expression
from tflogscope.runtime.stacks import AROUND, LAMBDA, PREFIX

OPERATORS = "ag__"
"""The name by which converted code knows the operators."""

_converted: dict[CodeType, CodeType] = {}
_lambdas: dict[CodeType, ast.Lambda] = {}
"""Where the lambdas among the converted functions stand."""


def converted(function: FunctionType, operators: object) -> Callable[..., Any]:
    """The function with its control flow as calls of `operators`; it shares globals, closure and
    defaults with the original.

    Raises NoSource, Unsupported.
    """
    original = function.__code__
    if original not in _converted:
        source = function_tree(function)
        _converted[original] = _compiled(convert_tree(source), original)
        if isinstance(source, ast.Lambda):
            _lambdas[_converted[original]] = source
    code = _converted[original]
    cells: dict[str, CellType] = dict(
        zip(original.co_freevars, function.__closure__ or (), strict=True)
    )
    cells[OPERATORS] = CellType(operators)
    made = FunctionType(
        code,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        tuple(cells[name] for name in code.co_freevars),
    )
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def users_line(code: CodeType, path: str, line: int) -> str:
    """A line of the user's function that the converted code was made of; of a lambda only what is
    its own.
    """
    text = linecache.getline(path, line).rstrip().encode()
    if code in _lambdas:
        node = _lambdas[code]
        end = node.end_col_offset if line == node.end_lineno else None
        text = text[node.col_offset if line == node.lineno else 0 : end]
    return text.decode().strip()


def convert_tree(tree: Function) -> ast.FunctionDef:
    """The tree of the converted function. Raises Unsupported."""
    refuse_unsupported(tree)
    function = _plain(tree)
    _Marker().generic_visit(function)
    namer = Namer(function)
    names = parameters(function)
    lower_jumps(function, namer)
    CallRewriter(names[0] if names else None).visit(function)
    statements = StatementRewriter(analyse(function), namer)
    statements.visit(function)
    ExpressionRewriter().visit(function)
    ReadGuard(statements.undefined).visit(function)
    return ast.fix_missing_locations(function)


def _plain(tree: Function) -> ast.FunctionDef:
    """The function without decorators and annotations; its defaults are those of the original,
    evaluated long ago.
    """
    if isinstance(tree, ast.Lambda):
        body: list[ast.stmt] = [ast.copy_location(ast.Return(tree.body), tree.body)]
        function = ast.copy_location(ast.FunctionDef(LAMBDA, tree.args, body, []), tree)
    else:
        function = tree
        function.decorator_list, function.returns = [], None
    arguments = function.args
    every = (
        *arguments.posonlyargs,
        *arguments.args,
        *arguments.kwonlyargs,
        arguments.vararg,
        arguments.kwarg,
    )
    for argument in every:
        if argument is not None:
            argument.annotation = None
    arguments.defaults = [ast.Constant(None) for _ in arguments.defaults]
    arguments.kw_defaults = [default and ast.Constant(None) for default in arguments.kw_defaults]
    return function


class _Marker(ast.NodeTransformer):
    """Marks the functions that are defined inside: they are converted with it, and need not be
    again.
    """

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        self.generic_visit(node)
        return expression("ag__.artifact(function)", node, function=node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self.generic_visit(node)
        node.decorator_list.append(expression("ag__.artifact", node))
        return node


def _compiled(function: ast.FunctionDef, original: CodeType) -> CodeType:
    """The function's code, compiled where the free variables of the original are free too.

    It is given another name there, since what is defined in it may mean the global of its name.
    """
    function.name = PREFIX + function.name
    free = [ast.arg(name) for name in (*original.co_freevars, OPERATORS)]
    around = ast.FunctionDef(
        AROUND, ast.arguments([], free, None, [], [], None, []), [function], []
    )
    module = ast.fix_missing_locations(ast.Module([around], []))
    code = compile(module, original.co_filename, "exec", dont_inherit=True)
    return _inner(_inner(code, AROUND), function.name)


def _inner(code: CodeType, name: str) -> CodeType:
    return next(
        each for each in code.co_consts if isinstance(each, CodeType) and each.co_name == name
    )
