"""`break`, `continue` and `return` become flags: what follows is done only if the flag is not set, and
a loop goes on only while it isn't. See `tensorflow/python/autograph/converters/break_statements.py`,
`continue_statements.py`, `return_statements.py`; `pyct/templates.py`.

    while a:                 stop = False
        if b:                while not stop and a:
            break      →         if b:
        c()                          stop = True
                                 if not stop:
                                     c()
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from textwrap import dedent
from typing import Any

Hole = str | ast.expr | Sequence[ast.stmt]


def statements(text: str, like: ast.AST, /, **holes: Hole) -> list[ast.stmt]:
    """The statements, on the line of `like`, with the names that are holes filled."""
    module = ast.parse(dedent(text))
    for node in ast.walk(module):
        if hasattr(node, "lineno"):
            ast.copy_location(node, like)
    found: list[ast.stmt] = _Filler(holes).visit(module).body
    return found


def expression(text: str, like: ast.AST, /, **holes: Hole) -> Any:
    found: Any = statements(text, like, **holes)[0]
    return found.value


class _Filler(ast.NodeTransformer):
    def __init__(self, holes: dict[str, Hole]) -> None:
        self.holes = holes

    def visit_Expr(self, node: ast.Expr) -> Any:
        hole = self.holes.get(node.value.id) if isinstance(node.value, ast.Name) else None
        return list(hole) if isinstance(hole, list) else self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> Any:
        hole = self.holes.get(node.id, node.id)
        return ast.copy_location(ast.Name(hole, node.ctx), node) if isinstance(hole, str) else hole


Block = list[ast.stmt]
FUNCTIONS = (ast.FunctionDef, ast.Lambda, ast.ClassDef)
_LOOPS = (ast.For, ast.While)
_numbers = itertools.count()


def lower_jumps(function: ast.FunctionDef) -> None:
    """Rewrite the body of the function."""
    function.body = _joined(_loops(function.body))
    if _may(function.body, ast.Return, FUNCTIONS):
        number = next(_numbers)
        flag, value = f"do_return_{number}", f"retval_{number}"

        def returned(node: Any) -> Block:
            given = node.value or ast.Constant(None)
            return statements(f"{value} = result\n{flag} = True", node, result=given)

        body = _guarded(function.body, ast.Return, returned, flag, FUNCTIONS)
        text = f"""
            {flag}, {value} = False, ag__.Undefined()
            body
            return None if isinstance({value}, ag__.Undefined) else {value}
        """
        function.body = statements(text, function, body=body)


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


def _loops(block: Block) -> Block:
    """The block without `break` and `continue`."""
    result: Block = []
    for statement in block:
        _inside(statement, _loops)
        loop: Any = statement
        for jump in (ast.Break, ast.Continue) if isinstance(loop, _LOOPS) else ():
            inner = (*_LOOPS, *FUNCTIONS)
            if _may(loop.body, jump, inner):
                flag = f"{jump.__name__.lower()}_{next(_numbers)}"
                cleared = statements(f"{flag} = False", loop)
                raised = partial(statements, f"{flag} = True")
                loop.body = _guarded(loop.body, jump, raised, flag, inner)
                if jump is ast.Break:
                    _only_while_not(flag, loop)
                    result += cleared
                else:
                    loop.body[:0] = cleared
        result.append(loop)
    return result


def _only_while_not(flag: str, loop: Any) -> None:
    """A `for` gets a test for it, too."""
    name = "test" if isinstance(loop, ast.While) else "extra_test"
    more = getattr(loop, name, ast.Constant(True))
    setattr(loop, name, expression(f"not {flag} and more", loop, more=more))


def _guarded(
    block: Block, jump: type[ast.stmt], raised: Callable[[Any], Block], flag: str, but_in: Any
) -> Block:
    """Jumps of that kind raise the flag; what follows a statement that may jump is done only if the
    flag is not set.
    """
    for at, statement in enumerate(block):
        if isinstance(statement, jump):
            return block[:at] + raised(statement)
        if _may([statement], jump, but_in):
            _inside(statement, lambda inner: _guarded(inner, jump, raised, flag, but_in))
            if isinstance(statement, _LOOPS):
                _only_while_not(flag, statement)
            rest = _guarded(block[at + 1 :], jump, raised, flag, but_in)
            guard = f"if not {flag}:\n    rest"
            return block[: at + 1] + (statements(guard, rest[0], rest=rest) if rest else [])
    return block


def _joined(block: Block) -> Block:
    """What follows an `if` of which one side returns goes into the other side: so both give a value."""
    for at, statement in enumerate(block):
        _inside(statement, _joined)
        if isinstance(statement, ast.If):
            body, orelse = statement.body, statement.orelse
            if _returns(body) or _returns(orelse):
                (orelse if _returns(body) else body).extend(_joined(block[at + 1 :]))
                return block[: at + 1]
    return block


def _returns(block: Block) -> bool:
    """Does it return, whatever happens?"""
    return any(
        isinstance(each, ast.Return)
        or (isinstance(each, ast.If) and _returns(each.body) and _returns(each.orelse))
        for each in block
    )
