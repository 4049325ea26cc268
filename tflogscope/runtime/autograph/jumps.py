"""`break`, `continue` and early `return` become flags and conditionals: what a dataflow graph can
say.

In this order, as in TensorFlow, each pass leaving less of Python's jumps:

    while test:            break_ = False
        if found:          while not break_ and test:
            break    →         continue_ = False
        step()                 if found:
                                   break_ = True
                                   continue_ = True
                               if not continue_:
                                   step()

The flags become loop variables and outputs of conditionals like any other variable, so their names
(and with them the order of the inputs of a While op) are TensorFlow's. TensorFlow:
autograph/converters/{break_statements,continue_statements,return_statements}.py.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from functools import partial

from tflogscope.runtime.autograph.naming import Namer
from tflogscope.runtime.autograph.symbols import Loop
from tflogscope.runtime.autograph.templates import expression, statements

Block = list[ast.stmt]


class TestedFor(ast.For):
    """A `for` that goes on only while `extra_test` holds."""

    _fields = (*ast.For._fields, "extra_test")
    extra_test: ast.expr


def lower_jumps(function: ast.FunctionDef, namer: Namer) -> None:
    """Rewrites `function` in place: control leaves each block at its end only, and the function at
    its last line.
    """
    function.body = _lower_breaks(function.body, None, namer)
    function.body = _lower_continues(function.body, None, namer)
    function.body, _ = _join_returns(function.body)
    _lower_returns(function, namer)


def _inner_blocks(statement: ast.stmt, rewrite: Callable[[Block], Block]) -> None:
    """Rewrites the blocks that a compound statement holds."""
    for owner in (statement, *getattr(statement, "handlers", ())):
        for name in ("body", "orelse", "finalbody"):
            if block := getattr(owner, name, None):
                setattr(owner, name, rewrite(block))


def _may(nodes: Iterable[ast.AST], jump: type[ast.stmt], within: tuple[type[ast.AST], ...]) -> bool:
    """Whether one of `nodes` holds a `jump`, not looking into what is of the types `within`."""
    return any(
        isinstance(node, jump)
        or (not isinstance(node, within) and _may(ast.iter_child_nodes(node), jump, within))
        for node in nodes
    )


FUNCTIONS = (ast.FunctionDef, ast.Lambda, ast.ClassDef)
LOOPS_AND_FUNCTIONS = (ast.For, ast.While, *FUNCTIONS)


def _only_while(test: str, loop: Loop, flag: str) -> Loop:
    """`loop`, which also stops when `test` of `flag` does not hold any more."""
    if isinstance(loop, ast.While):
        loop.test = expression(f"{test} and more", loop, flag=flag, more=loop.test)
        return loop
    if isinstance(loop, TestedFor):
        loop.extra_test = expression(f"{test} and more", loop, flag=flag, more=loop.extra_test)
        return loop
    tested = TestedFor(target=loop.target, iter=loop.iter, body=loop.body, orelse=loop.orelse)
    tested.extra_test = expression(test, loop, flag=flag)
    return ast.copy_location(tested, loop)


def _guard(rest: Block, flag: str) -> Block:
    return statements("if not flag:\n    rest", rest[0], flag=flag, rest=rest)


def _lower_breaks(block: Block, flag: str | None, namer: Namer) -> Block:
    result: Block = []
    for statement in block:
        if isinstance(statement, ast.Break) and flag:
            result += statements("flag = True\ncontinue", statement, flag=flag)
            continue
        if isinstance(statement, ast.For | ast.While):
            own = namer.fresh("break_")
            used = _may(statement.body, ast.Break, LOOPS_AND_FUNCTIONS)
            statement.body = _lower_breaks(statement.body, own, namer)
            if used:
                result += statements("flag = False", statement, flag=own)
                result.append(_only_while("not flag", statement, own))
                continue
        else:
            inside = None if isinstance(statement, FUNCTIONS) else flag
            _inner_blocks(statement, partial(_lower_breaks, flag=inside, namer=namer))
        result.append(statement)
    return result


def _lower_continues(block: Block, flag: str | None, namer: Namer) -> Block:
    result: Block = []
    for at, statement in enumerate(block):
        if isinstance(statement, ast.Continue) and flag:
            result += statements("flag = True", statement, flag=flag)
        else:
            jumps = flag and _may([statement], ast.Continue, LOOPS_AND_FUNCTIONS)
            if isinstance(statement, ast.For | ast.While):
                own = namer.fresh("continue_")
                used = _may(statement.body, ast.Continue, LOOPS_AND_FUNCTIONS)
                statement.body = _lower_continues(statement.body, own, namer)
                if used:
                    statement.body[:0] = statements("flag = False", statement, flag=own)
            else:
                inside = None if isinstance(statement, FUNCTIONS) else flag
                _inner_blocks(statement, partial(_lower_continues, flag=inside, namer=namer))
            result.append(statement)
            if not jumps:
                continue
        if flag and (rest := block[at + 1 :]):
            return result + _guard(_lower_continues(rest, flag, namer), flag)
    return result


def _join_returns(block: Block) -> tuple[Block, bool]:
    """Moves what follows `if …: return` into its else (or the other way round), so that both sides
    of a conditional have a value to return: there is no tensor for "nothing yet". Also says whether
    the block returns for certain.
    """
    result: Block = []
    returns = False
    for at, statement in enumerate(block):
        result.append(statement)
        if isinstance(statement, ast.Return):
            returns = True
        elif isinstance(statement, ast.If):
            statement.body, body_returns = _join_returns(statement.body)
            statement.orelse, orelse_returns = _join_returns(statement.orelse)
            returns |= body_returns and orelse_returns
            if body_returns or orelse_returns:
                rest, rest_returns = _join_returns(block[at + 1 :])
                (statement.orelse if body_returns else statement.body).extend(rest)
                return result, returns or rest_returns
        elif isinstance(statement, ast.With):
            statement.body, inner_returns = _join_returns(statement.body)
            returns |= inner_returns
        else:
            _inner_blocks(statement, lambda inner: _join_returns(inner)[0])
    return result, returns


def _lower_returns(function: ast.FunctionDef, namer: Namer) -> None:
    flag, value = namer.fresh("do_return"), namer.fresh("retval_")
    used = _may(function.body, ast.Return, FUNCTIONS)
    function.body = _Returns(flag, value, namer).block(function.body)
    if used:
        function.body = statements(
            "flag = False\nvalue = ag__.UndefinedReturnValue()\nbody\nreturn "
            "ag__.returned(value, flag)",
            function,
            flag=flag,
            value=value,
            body=function.body,
        )


class _Returns:
    """Replaces the returns of one function."""

    def __init__(self, flag: str, value: str, namer: Namer) -> None:
        self.flag, self.value, self.namer = flag, value, namer

    def block(self, block: Block, used: bool = False) -> Block:
        """`used`: whether a statement before in the block may have returned."""
        result: Block = []
        for at, statement in enumerate(block):
            returns = _may([statement], ast.Return, FUNCTIONS)
            used |= returns
            result += self.statement(statement, used)
            if returns and (rest := block[at + 1 :]):
                return result + _guard(self.block(rest, used), self.flag)
        return result

    def statement(self, statement: ast.stmt, used: bool) -> Block:
        if isinstance(statement, ast.Return):
            # NB: TensorFlow sets the flag first and resets it in an `except`: the same, said the
            # other way round.
            value = statement.value or ast.Constant(None)
            return statements(
                "value = result\nflag = True",
                statement,
                value=self.value,
                flag=self.flag,
                result=value,
            )
        if isinstance(statement, ast.FunctionDef):
            _lower_returns(statement, self.namer)
        elif not isinstance(statement, ast.ClassDef):
            _inner_blocks(statement, self.block)
            if isinstance(statement, ast.For | ast.While) and used:
                return [_only_while("not flag", statement, self.flag)]
        return [statement]
