"""A function's source is parsed, rewritten and compiled; a call in its code goes to `converted_call`,
which converts what is called. Libraries are left alone. See
`tensorflow/python/autograph/impl/api.py`, `conversion.py`.
"""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from types import CellType, CodeType, FunctionType, SimpleNamespace
from typing import Any

from tflogscope.runtime.function.autograph import operators
from tflogscope.runtime.function.autograph.rewriting import rewritten

_LIBRARIES = frozenset(
    "collections copy functools inspect pathlib re threading numpy pandas keras tflogscope".split()
)
_codes: dict[CodeType, CodeType | None] = {}


_disabled: ContextVar[bool] = ContextVar("disabled", default=False)


def convert(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with its control flow converted, whoever wrote it."""
    if hasattr(function, "autograph_info__"):
        return function
    return _wrapped(function, functools.partial(converted_call, requested=True), disabled=False)


def do_not_convert(function: Any) -> Any:
    """`tf.autograph.experimental.do_not_convert`: the function as it is, and all that it calls."""
    return _wrapped(function, lambda _, args, kwargs: function(*args, **kwargs), disabled=True)


def _wrapped(function: Any, called: Callable[..., Any], *, disabled: bool) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        before = _disabled.set(disabled)
        try:
            return called(function, args, kwargs)
        finally:
            _disabled.reset(before)

    return artifact(wrapper)


def artifact(function: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a function as one that needs no conversion."""
    function.autograph_info__ = True  # type: ignore[attr-defined]
    return function


def converted_call(
    function: Any, args: Any, kwargs: Mapping[str, Any], *, requested: bool = False
) -> Any:
    """Call it, converted if it is the user's. NB: what can't be converted runs as it is, without a
    warning.
    """
    for python, overload in operators.OVERLOADS.items():
        if function is python:
            return overload(*args, **kwargs)
    target, given = function, args
    if inspect.ismethod(function):
        target, given = function.__func__, (function.__self__, *args)
    elif not isinstance(function, (FunctionType, type)):
        target, given = getattr(type(function), "__call__", None), (function, *args)  # noqa: B004
    left = _disabled.get() or hasattr(function, "autograph_info__")
    if left or not isinstance(target, FunctionType):
        return function(*args, **kwargs)
    if requested or (target.__module__ or "").split(".")[0] not in _LIBRARIES:
        target = _converted(target)
    return target(*given, **kwargs)


# -- source and code


_UNKNOWN = (ast.Yield, ast.YieldFrom, ast.Await, ast.Match, ast.NamedExpr)


def _converted(function: FunctionType) -> FunctionType:
    original = function.__code__
    if original not in _codes:
        tree = _tree(original)
        _codes[original] = _compiled(rewritten(tree), original) if tree else None
    code = _codes[original]
    if code is None:
        return function
    cells = dict(zip(original.co_freevars, function.__closure__ or (), strict=True))
    cells["ag__"] = CellType(_AG)
    closure = tuple(cells[name] for name in code.co_freevars)
    own = function.__globals__, function.__name__, function.__defaults__
    made = FunctionType(code, *own, closure)
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def _tree(code: CodeType) -> ast.FunctionDef | None:
    """What its source says; None if it is not there, or has what can't be converted. Decorators and
    defaults don't matter: only the code of the body is taken.
    """
    source = ast.parse("".join(linecache.getlines(code.co_filename)))
    node: Any = next((each for each in ast.walk(source) if _is(each, code)), None)
    for each in ast.walk(node) if node else ():
        if isinstance(each, _UNKNOWN) or (isinstance(each, (ast.For, ast.While)) and each.orelse):
            return None
    if isinstance(node, ast.Lambda):
        body = ast.copy_location(ast.Return(node.body), node.body)
        node = ast.copy_location(ast.FunctionDef("lambda_", node.args, [body], []), node)
    return node  # type: ignore[no-any-return]


def _is(node: ast.AST, code: CodeType) -> bool:
    if isinstance(node, ast.FunctionDef):
        first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
        return node.name == code.co_name and first == code.co_firstlineno
    if not isinstance(node, ast.Lambda) or code.co_name != "<lambda>":
        return False
    body = node.body
    place = (body.lineno, body.end_lineno, body.col_offset, body.end_col_offset)
    return node.lineno == code.co_firstlineno and place in set(code.co_positions())


def _compiled(function: ast.FunctionDef, original: CodeType) -> CodeType:
    """Its code, within a function that has the names it is closed over."""
    function.name = "ag__converted"  # its own name may be one that it uses
    free = [ast.arg(name) for name in (*original.co_freevars, "ag__")]
    arguments = ast.arguments([], free, None, [], [], None, [])
    around = ast.FunctionDef("around", arguments, [function], [])
    module = ast.fix_missing_locations(ast.Module([around], []))
    code = compile(module, original.co_filename, "exec", dont_inherit=True)
    for name in ("around", function.name):
        inner = (each for each in code.co_consts if isinstance(each, CodeType))
        code = next(each for each in inner if each.co_name == name)
    return code.replace(co_name=original.co_name)


_AG = SimpleNamespace(**vars(operators), converted_call=converted_call, artifact=artifact)
