"""The syntax tree of a function, found in the source file that its code was compiled from.

NB: TensorFlow cuts the function's lines out of the file and parses those; here the file is parsed
as a whole (once), and a code object knows its place in it. Lambdas of the same arguments on one
line it can't tell apart, and refuses. Told about: `autograph/pyct/parser.py`.
"""

from __future__ import annotations

import ast
import linecache
from functools import lru_cache
from types import CodeType, FunctionType

from tflogscope.runtime.autograph.symbols import Function, is_function


class NoSource(Exception):
    """The source of a function can't be had: it was typed at a prompt, or made by `exec`."""


class Unsupported(Exception):
    """The function uses a feature of Python that AutoGraph does not convert."""


def function_tree(function: FunctionType) -> Function:
    """A fresh syntax tree of the function, with the positions of its file. Raises NoSource; for one
    of several lambdas that could be meant too.
    """
    code = function.__code__
    source = "".join(linecache.getlines(code.co_filename))
    if not source:
        raise NoSource(f"no source file {code.co_filename}")
    try:
        found = [node for node in _functions(source) if _is(node, code)]
    except SyntaxError as error:
        raise NoSource(f"{code.co_filename} has changed: {error}") from None
    if not found:
        raise NoSource(f"{code.co_name} is not in {code.co_filename} (any more)")
    if isinstance(found[0], ast.Lambda):
        _check_only(function, found[0], _functions(source))
    # NB: a deep copy of a tree is slower than to parse its lines, but keeps the positions.
    return _copy(found[0])


@lru_cache(maxsize=32)
def _functions(source: str) -> list[Function]:
    return [node for node in ast.walk(ast.parse(source)) if is_function(node)]


def _is(node: Function, code: CodeType) -> bool:
    if isinstance(node, ast.FunctionDef):
        first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
        return node.name == code.co_name and first == code.co_firstlineno
    if code.co_name != "<lambda>" or node.lineno != code.co_firstlineno:
        return False
    body = node.body
    place = (body.lineno, body.end_lineno, body.col_offset, body.end_col_offset)
    return place in set(code.co_positions())


def _check_only(function: FunctionType, node: ast.Lambda, functions: list[Function]) -> None:
    line = function.__code__.co_firstlineno
    alike = [
        ast.unparse(other)
        for other in functions
        if isinstance(other, ast.Lambda)
        and other.lineno <= line <= (other.end_lineno or line)
        and _argument_names(other) == _argument_names(node)
    ]
    if len(alike) > 1:
        matches = "\n".join(f"Match {at}:\n{text}\n" for at, text in enumerate(alike))
        raise NoSource(
            f"could not parse the source code of {function}: found multiple definitions with "
            "identical signatures at the location. This error may be avoided by defining each "
            "lambda on a single line and with unique argument names. The matching definitions "
            f"were:\n{matches}"
        )


def _argument_names(node: ast.Lambda) -> tuple[object, ...]:
    every = node.args
    return (
        [each.arg for each in (*every.posonlyargs, *every.args)],
        [each.arg for each in every.kwonlyargs],
        every.vararg and every.vararg.arg,
        every.kwarg and every.kwarg.arg,
    )


def _copy(node: Function) -> Function:
    import copy

    return copy.deepcopy(node)


def refuse_unsupported(tree: ast.AST) -> None:
    """Raises Unsupported for what TensorFlow's AutoGraph refuses too. TensorFlow:
    core/unsupported_features_checker.py.
    """
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr=name) if name.startswith("__") and not name.endswith("__"):
                raise Unsupported("mangled names are not yet supported")
            case ast.For(orelse=[_, *_]) | ast.While(orelse=[_, *_]):
                raise Unsupported("for/else and while/else statements are not yet supported")
            case ast.Yield() | ast.YieldFrom():
                raise Unsupported("generators are not supported")
            case ast.AsyncFunctionDef() | ast.Await() | ast.AsyncFor() | ast.AsyncWith():
                raise Unsupported("async functions are not supported")
            case ast.NamedExpr() | ast.Match() | ast.TryStar():
                raise Unsupported(f"{type(node).__name__} is not supported")
