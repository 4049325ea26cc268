"""`break`, `continue` and `return` become flags: what follows is done only if the flag is not set, and
a loop goes on only while it isn't. See `tensorflow/python/autograph/converters/break_statements.py`,
`continue_statements.py`, `return_statements.py`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable

from tflogscope.runtime.function.autograph.templates import Namer, expression, statements

Block = list[ast.stmt]
FUNCTIONS = (ast.FunctionDef, ast.Lambda, ast.ClassDef)
_LOOPS = (ast.For, ast.While)


class TestedFor(ast.For):
    """A `for` that goes on only while a test holds."""

    _fields = (*ast.For._fields, "extra_test")
    extra_test: ast.expr


def lower_jumps(function: ast.FunctionDef, namer: Namer) -> None:
    """Rewrite the body of the function, and of those in it."""
    function.body = _breaks(function.body, "", namer)
    function.body = _continues(function.body, "", namer)
    function.body, _ = _joined(function.body)
    if _may(function.body, ast.Return, FUNCTIONS):
        flag, value = namer.fresh("do_return"), namer.fresh("retval_")
        body = _returns(function.body, flag, value)
        function.body = statements(
            "flag = False\nvalue = ag__.UndefinedReturnValue()\nbody\nreturn ag__.returned(value)",
            function,
            flag=flag,
            value=value,
            body=body,
        )
    for node in ast.walk(ast.Module(function.body, [])):
        if isinstance(node, ast.FunctionDef):
            lower_jumps(node, namer)


def _inside(statement: ast.stmt, rewrite: Callable[[Block], Block]) -> None:
    """Rewrite the blocks that a statement has."""
    if not isinstance(statement, FUNCTIONS):
        for owner in (statement, *getattr(statement, "handlers", ())):
            for name in ("body", "orelse", "finalbody"):
                if getattr(owner, name, None):
                    setattr(owner, name, rewrite(getattr(owner, name)))


def _may(nodes: Iterable[ast.AST], jump: type[ast.stmt], but_in: tuple[type[ast.AST], ...]) -> bool:
    return any(
        isinstance(node, jump)
        or (not isinstance(node, but_in) and _may(ast.iter_child_nodes(node), jump, but_in))
        for node in nodes
    )


def _only_while(loop: ast.For | ast.While, flag: str) -> ast.stmt:
    if isinstance(loop, ast.While):
        loop.test = expression("not flag and more", loop, flag=flag, more=loop.test)
        return loop
    if isinstance(loop, TestedFor):
        loop.extra_test = expression("not flag and more", loop, flag=flag, more=loop.extra_test)
        return loop
    tested = TestedFor(target=loop.target, iter=loop.iter, body=loop.body, orelse=loop.orelse)
    tested.extra_test = expression("not flag", loop, flag=flag)
    return ast.copy_location(tested, loop)


def _guarded(rest: Block, flag: str) -> Block:
    return statements("if not flag:\n    rest", rest[0], flag=flag, rest=rest) if rest else []


def _breaks(block: Block, flag: str, namer: Namer) -> Block:
    result: Block = []
    for statement in block:
        if isinstance(statement, ast.Break) and flag:
            result += statements("flag = True\ncontinue", statement, flag=flag)
        elif isinstance(statement, _LOOPS):
            own = namer.fresh("break_")
            used = _may(statement.body, ast.Break, (*_LOOPS, *FUNCTIONS))
            statement.body = _breaks(statement.body, own, namer)
            if used:
                result += statements("flag = False", statement, flag=own)
            result.append(_only_while(statement, own) if used else statement)
        else:
            _inside(statement, lambda inner: _breaks(inner, flag, namer))
            result.append(statement)
    return result


def _continues(block: Block, flag: str, namer: Namer) -> Block:
    result: Block = []
    for at, statement in enumerate(block):
        jumps = flag and _may([statement], ast.Continue, (*_LOOPS, *FUNCTIONS))
        if isinstance(statement, ast.Continue) and flag:
            result += statements("flag = True", statement, flag=flag)
        elif isinstance(statement, _LOOPS):
            jumps = False
            own = namer.fresh("continue_")
            used = _may(statement.body, ast.Continue, (*_LOOPS, *FUNCTIONS))
            statement.body = _continues(statement.body, own, namer)
            if used:
                statement.body[:0] = statements("flag = False", statement, flag=own)
            result.append(statement)
        else:
            _inside(statement, lambda inner: _continues(inner, flag, namer))
            result.append(statement)
        if jumps:
            return result + _guarded(_continues(block[at + 1 :], flag, namer), flag)
    return result


def _joined(block: Block) -> tuple[Block, bool]:
    """What follows an `if` of which one side returns goes into the other side: so both give a value.
    Does the block return, whatever happens?
    """
    result: Block = []
    returns = False
    for at, statement in enumerate(block):
        result.append(statement)
        if isinstance(statement, ast.Return):
            returns = True
        elif isinstance(statement, ast.If):
            statement.body, one = _joined(statement.body)
            statement.orelse, other = _joined(statement.orelse)
            returns |= one and other
            if one or other:
                rest, last = _joined(block[at + 1 :])
                (statement.orelse if one else statement.body).extend(rest)
                return result, returns or last
        else:
            _inside(statement, lambda inner: _joined(inner)[0])
    return result, returns


def _returns(block: Block, flag: str, value: str, used: bool = False) -> Block:
    result: Block = []
    for at, statement in enumerate(block):
        returns = _may([statement], ast.Return, FUNCTIONS)
        used |= returns
        if isinstance(statement, ast.Return):
            given = statement.value or ast.Constant(None)
            holes: dict[str, ast.expr | str] = {"value": value, "flag": flag, "result": given}
            result += statements("value = result\nflag = True", statement, **holes)
        else:
            _inside(statement, lambda inner, used=used: _returns(inner, flag, value, used))  # type: ignore[misc]
            loops = isinstance(statement, _LOOPS) and used
            result.append(_only_while(statement, flag) if loops else statement)  # type: ignore[arg-type]
        if returns:
            return result + _guarded(_returns(block[at + 1 :], flag, value, used), flag)
    return result
