"""A function's source is parsed, rewritten and compiled; a call in its code goes to `converted_call`,
which converts what is called. Libraries are left alone. See
`tensorflow/python/autograph/impl/api.py`, `conversion.py`.
"""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
import sys
import threading
from collections.abc import Callable, Mapping
from types import CellType, CodeType, FunctionType, SimpleNamespace
from typing import Any

from tflogscope.runtime.function.autograph import operators
from tflogscope.runtime.function.autograph.rewriting import rewritten

_LIBRARIES = frozenset(
    (
        "collections copy functools inspect linecache pathlib re threading urllib matplotlib numpy "
        "pandas tensorflow PIL keras tflogscope"
    ).split()
)
_codes: dict[CodeType, CodeType] = {}


class _State(threading.local):
    disabled = False


_state = _State()


def convert(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with its control flow converted, whoever wrote it."""
    if hasattr(function, "autograph_info__"):
        return function
    wanted = functools.partial(converted_call, requested=True)
    return _wrapped(function, lambda args, kwargs: wanted(function, args, kwargs), disabled=False)


def do_not_convert(function: Any = None) -> Any:
    """`tf.autograph.experimental.do_not_convert`: the function as it is, and all that it calls."""
    if function is None:
        return do_not_convert
    return _wrapped(function, lambda args, kwargs: function(*args, **kwargs), disabled=True)


def _wrapped(function: Any, made: Callable[..., Any], *, disabled: bool) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        before, _state.disabled = _state.disabled, disabled
        try:
            return made(args, kwargs)
        finally:
            _state.disabled = before

    return artifact(wrapper)


def artifact(function: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a function as one that needs no conversion."""
    function.autograph_info__ = True  # type: ignore[attr-defined]
    return function


def converted_call(
    function: Any,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None = None,
    *,
    requested: bool = False,
) -> Any:
    """Call it, converted if it is the user's."""
    kwargs = kwargs or {}
    if isinstance(function, functools.partial):
        kwargs = {**function.keywords, **kwargs}
        return converted_call(function.func, (*function.args, *args), kwargs, requested=requested)
    for python, overload in operators.OVERLOADS.items():
        if function is python:
            return overload(*args, **kwargs)
    left = _state.disabled or hasattr(function, "autograph_info__")
    if left or not (requested or _is_users(function)):
        return function(*args, **kwargs)
    target: Any = function
    if inspect.ismethod(target):
        target, args = target.__func__, (target.__self__, *args)
    elif not isinstance(target, FunctionType):
        target, args = getattr(type(target), "__call__", None), (target, *args)  # noqa: B004
    if not isinstance(target, FunctionType):
        return function(*args[1:] if target is not function else args, **kwargs)
    try:
        made = _converted(target)
    except _Refused as error:
        sys.stderr.write(
            f"WARNING:tensorflow:AutoGraph could not transform {function} and will run it as-is."
            f"\nCause: {error}\n"
        )
        return target(*args, **kwargs)
    return made(*args, **kwargs)


def _is_users(function: Any) -> bool:
    left = inspect.isclass, inspect.isbuiltin, inspect.isgeneratorfunction
    if any(is_it(function) for is_it in left) or hasattr(function, "cache_info"):
        return False
    owner = function
    if inspect.ismethod(function):  # one that a class of the user inherits is the library's
        classes = type(function.__self__).__mro__
        owner = next((each for each in classes if function.__name__ in vars(each)), function)
    elif not isinstance(function, FunctionType):
        owner = getattr(type(function), "__call__", None)  # noqa: B004
    return (getattr(owner, "__module__", None) or "").split(".")[0] not in _LIBRARIES


# -- source and code


class _Refused(Exception):
    """The function has no source, or its source can't be converted."""


def _converted(function: FunctionType) -> Callable[..., Any]:
    original = function.__code__
    if original not in _codes:
        _codes[original] = _compiled(rewritten(_tree(function)), original)
    code = _codes[original]
    cells = dict(zip(original.co_freevars, function.__closure__ or (), strict=True))
    cells["ag__"] = CellType(_AG)
    closure = tuple(cells[name] for name in code.co_freevars)
    made = FunctionType(
        code, function.__globals__, function.__name__, function.__defaults__, closure
    )
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def _tree(function: FunctionType) -> ast.FunctionDef:
    code = function.__code__
    source = "".join(linecache.getlines(code.co_filename))
    try:
        found = [node for node in ast.walk(ast.parse(source)) if _is(node, code)]
    except SyntaxError as error:
        raise _Refused(str(error)) from None
    if not found:
        raise _Refused(f"the source of {code.co_name} is not in {code.co_filename}")
    node: Any = found[0]
    for each in ast.walk(node):
        if isinstance(each, (ast.Yield, ast.YieldFrom, ast.Await, ast.Match, ast.NamedExpr)):
            raise _Refused(f"{type(each).__name__} is not supported")
        if isinstance(each, (ast.For, ast.While)) and each.orelse:
            raise _Refused("for/else and while/else statements are not supported")
    if isinstance(node, ast.Lambda):
        body = ast.copy_location(ast.Return(node.body), node.body)
        node = ast.copy_location(ast.FunctionDef("lambda_", node.args, [body], []), node)
    node.decorator_list, node.returns = [], None
    for each in ast.walk(node.args):
        if isinstance(each, ast.arg):
            each.annotation = None
    none = ast.Constant(None)  # the defaults are those of the function itself
    node.args.defaults = [none for _ in node.args.defaults]
    node.args.kw_defaults = [each and none for each in node.args.kw_defaults]
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
    free = [ast.arg(name) for name in (*original.co_freevars, "ag__")]
    arguments = ast.arguments([], free, None, [], [], None, [])
    around = ast.FunctionDef("around", arguments, [function], [])
    module = ast.fix_missing_locations(ast.Module([around], []))
    code = compile(module, original.co_filename, "exec", dont_inherit=True)
    for name in ("around", function.name):
        inner = (each for each in code.co_consts if isinstance(each, CodeType))
        code = next(each for each in inner if each.co_name == name)
    return code


_AG = SimpleNamespace(**vars(operators), converted_call=converted_call, artifact=artifact)
