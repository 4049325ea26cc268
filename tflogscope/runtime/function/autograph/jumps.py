"""`break`, `continue` and `return` become flags: what follows is done only if the flag is not set, and
a loop goes on only while it isn't. See `tensorflow/python/autograph/converters/break_statements.py`,
`continue_statements.py`, `return_statements.py`; `pyct/templates.py`.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterable, Sequence
from functools import partial
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


Block = list[ast.stmt]
FUNCTIONS = (ast.FunctionDef, ast.Lambda, ast.ClassDef)
_LOOPS = (ast.For, ast.While)
_OTHERS = (*_LOOPS, *FUNCTIONS)


class TestedFor(ast.For):
    """A `for` that goes on only while a test holds."""

    _fields = (*ast.For._fields, "extra_test")
    extra_test: ast.expr


def lower_jumps(function: ast.FunctionDef, namer: Namer) -> None:
    """Rewrite the body of the function, and of those in it."""
    function.body, _ = _joined(_loops(function.body, namer))
    if _may(function.body, ast.Return, FUNCTIONS):
        flag, value = namer.fresh("do_return"), namer.fresh("retval_")

        def made(node: Any) -> Block:
            holes = {"value": value, "flag": flag, "result": node.value or ast.Constant(None)}
            return statements("value = result\nflag = True", node, **holes)

        text = (
            "flag = False\nvalue = ag__.UndefinedReturnValue()\nbody\nreturn ag__.returned(value)"
        )
        body = _guarding(function.body, ast.Return, made, flag, FUNCTIONS)
        function.body = statements(text, function, flag=flag, value=value, body=body)
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


def _only_while(loop: Any, flag: str) -> ast.stmt:
    if isinstance(loop, (ast.While, TestedFor)):
        name = "test" if isinstance(loop, ast.While) else "extra_test"
        test = expression("not flag and more", loop, flag=flag, more=getattr(loop, name))
        setattr(loop, name, test)
        return loop
    tested = TestedFor(target=loop.target, iter=loop.iter, body=loop.body, orelse=loop.orelse)
    tested.extra_test = expression("not flag", loop, flag=flag)
    return ast.copy_location(tested, loop)


def _loops(block: Block, namer: Namer) -> Block:
    """What follows a `continue` is guarded; a `break` is one that ends the loop."""
    result: Block = []
    for statement in block:
        _inside(statement, lambda inner: _loops(inner, namer))
        made: Any = statement
        if isinstance(made, _LOOPS) and _may(made.body, ast.Break, _OTHERS):
            flag = namer.fresh("break_")
            made.body = [s for each in made.body for s in _Breaks(flag).listed(each)]
            made = _only_while(made, flag)
            result += statements("flag = False", made, flag=flag)
        if isinstance(made, _LOOPS) and _may(made.body, ast.Continue, _OTHERS):
            flag = namer.fresh("continue_")
            made.body = _guarding(made.body, ast.Continue, partial(_raised, flag), flag, _OTHERS)
            made.body[:0] = statements("flag = False", made, flag=flag)
        result.append(made)
    return result


class _Breaks(ast.NodeTransformer):
    def __init__(self, flag: str) -> None:
        self._flag = flag

    def listed(self, node: ast.stmt) -> Block:
        found: Any = self.visit(node)
        return found if isinstance(found, list) else [found]

    def visit_Break(self, node: ast.Break) -> Block:
        return statements("flag = True\ncontinue", node, flag=self._flag)

    def visit_For(self, node: Any) -> Any:
        return node

    visit_While = visit_FunctionDef = visit_TestedFor = visit_For


def _raised(flag: str, node: ast.stmt) -> Block:
    return statements("flag = True", node, flag=flag)


def _guarding(
    block: Block, kind: type[ast.stmt], made: Callable[[Any], Block], flag: str, but_in: Any
) -> Block:
    """Jumps of that kind become what is made of them; what follows a statement that may jump is
    done only if the flag is not set.
    """
    for at, statement in enumerate(block):
        if not _may([statement], kind, but_in):
            continue
        found = made(statement) if isinstance(statement, kind) else [statement]
        _inside(statement, lambda inner: _guarding(inner, kind, made, flag, but_in))
        if isinstance(statement, _LOOPS):
            found = [_only_while(statement, flag)]
        rest = _guarding(block[at + 1 :], kind, made, flag, but_in)
        if rest:
            found += statements("if not flag:\n    rest", rest[0], flag=flag, rest=rest)
        return block[:at] + found
    return block


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
