"""Statements and expressions that a tensor may decide become calls of `ag__`, the operators. See
`tensorflow/python/autograph/converters/`, `pyct/static_analysis/liveness.py`.

    if x > 0:            def ag__get(): return (y,)
        y = 1      →     def ag__set(ag__values): nonlocal y; (y,) = ag__values
    else:                def ag__body(): nonlocal y; y = 1
        y = 2            def ag__orelse(): nonlocal y; y = 2
                         ag__.if_stmt(x > 0, ag__body, ag__orelse, ag__get, ag__set, ("y",), 1)

NB: variables are plain names here; TensorFlow also follows `self.x` and `a[0]`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from typing import Any

from tflogscope.runtime.function.autograph.jumps import (
    FUNCTIONS,
    expression,
    lower_jumps,
    statements,
)

Names = set[str]
_SCOPES = (
    ast.FunctionDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp,
)  # fmt: skip


def _names(nodes: Iterable[ast.AST | None], context: type[ast.expr_context]) -> Names:
    """The names that are read or assigned; of functions within, those that they read from outside."""
    found: Names = set()
    for node in nodes:
        inner = list(ast.iter_child_nodes(node)) if node else []
        if isinstance(node, ast.Name) and isinstance(node.ctx, context):
            found.add(node.id)
        elif isinstance(node, ast.arg) and context is ast.Store:
            found.add(node.arg)
        elif isinstance(node, _SCOPES):
            if context is ast.Load:
                found |= _names(inner, ast.Load) - _names(inner, ast.Store)
            elif isinstance(node, ast.FunctionDef):
                found.add(node.name)
        else:
            if isinstance(node, ast.AugAssign) and context is ast.Load:
                found |= bound([node.target])
            found |= _names(inner, context)
    return found


def bound(nodes: Iterable[ast.AST | None]) -> Names:
    """The names that these assign."""
    return _names(nodes, ast.Store)


def _read(*nodes: ast.AST | None) -> Names:
    return _names(nodes, ast.Load)


class Liveness:
    """For each `if`, `while` and `for` of a function its variables, and how many of them, from the
    first, are read after it.
    """

    def __init__(self, function: ast.FunctionDef) -> None:
        self.variables: dict[ast.stmt, tuple[list[str], int]] = {}
        self._always: Names = set()
        for node in ast.walk(function):
            if isinstance(node, ast.Nonlocal):
                self._always |= set(node.names)
            elif isinstance(node, FUNCTIONS) and node is not function:
                self._always |= _read(node)
        self._block(function.body, set())

    def _block(self, block: list[ast.stmt], live: Names) -> Names:
        """What is live before the block, given what is live after it."""
        for statement in reversed(block):
            live = self._statement(statement, live)
        return live

    def _statement(self, node: ast.stmt, after: Names) -> Names:
        if isinstance(node, (ast.If, ast.While, ast.For)):
            header: Any = node.iter if isinstance(node, ast.For) else node.test
            targets = [node.target] if isinstance(node, ast.For) else []
            live = after | _read(getattr(node, "extra_test", None))
            while True:  # what a loop's body reads is live after it
                inside = self._block(node.body, live) | self._block(node.orelse, live)
                before = _read(header) | (inside - bound(targets))
                if isinstance(node, ast.If) or before <= live:
                    break
                live = live | before
            names = bound([*node.body, *node.orelse, *targets]) & (before | after | self._always)
            only_inputs = names - after - self._always
            ordered = sorted(names, key=lambda name: (name in only_inputs, name))
            self.variables[node] = ordered, len(ordered) - len(only_inputs)
            return before
        if isinstance(node, ast.With):
            return _read(*node.items) | (self._block(node.body, after) - bound(node.items))
        if isinstance(node, ast.Try):
            whole = after | _read(node)  # any statement may go to any handler
            for block in (node.body, node.orelse, node.finalbody, *(h.body for h in node.handlers)):
                self._block(block, whole)
            return whole
        return _read(node) | (after - bound([node]))


_LEFT_ALONE = frozenset({"print", "locals", "vars", "dir", "breakpoint", "super"})


def rewritten(function: ast.FunctionDef) -> ast.FunctionDef:
    """The function as it runs."""
    lower_jumps(function)
    rewriter = _Rewriter(function)
    function.body = rewriter.block(function.body)
    for name in sorted(rewriter.undefined, reverse=True):
        function.body[:0] = statements(f"{name} = ag__.Undefined()", function)
    return ast.fix_missing_locations(function)


_STATE = """
def ag__get():
    return (state)
def ag__set(ag__values):
    declare
    (state) = ag__values
"""
_BODY = """
def ag__body(item):
    declare
    body
"""
_IF = """
def ag__orelse():
    declare
    orelse
ag__.if_stmt(test, ag__body, ag__orelse, ag__get, ag__set, names, outputs)
"""
_WHILE = "ag__.while_stmt(lambda: test, ag__body, ag__get, ag__set, names)"
_FOR = "ag__.for_stmt(iterated, extra, ag__body, ag__get, ag__set, names)"


class _Rewriter(ast.NodeTransformer):
    def __init__(self, function: ast.FunctionDef) -> None:
        self.variables = Liveness(function).variables
        every = list(ast.walk(function))
        self.globals = {n for each in every if isinstance(each, ast.Global) for n in each.names}
        outside = {n for each in every if isinstance(each, ast.Nonlocal) for n in each.names}
        self.undefined = bound(self.variables) - outside - self.globals - bound([function.args])
        """Names that may have no value where a conditional or a loop asks for it."""

    def block(self, block: list[ast.stmt]) -> list[ast.stmt]:
        found = [self.visit(statement) for statement in block]
        return [s for each in found for s in (each if isinstance(each, list) else [each])]

    # -- statements

    def visit_If(self, node: ast.If) -> Any:
        orelse = self.block(node.orelse) or [ast.Pass()]
        return self._statement(node, _IF, test=node.test, orelse=orelse)

    def visit_While(self, node: ast.While) -> Any:
        return self._statement(node, _WHILE, test=node.test)

    def visit_For(self, node: ast.For) -> Any:
        test = getattr(node, "extra_test", None)
        extra = expression("lambda: test", node, test=test) if test else ast.Constant(None)
        item = ast.copy_location(ast.Name("ag__item", ast.Load()), node)
        node.body.insert(0, ast.copy_location(ast.Assign([node.target], item), node))
        return self._statement(node, _FOR, item="ag__item", extra=extra, iterated=node.iter)

    def _statement(self, node: Any, text: str, item: str = "", **parts: Any) -> Any:
        """The functions of a statement, then the call that gets them."""
        names, outputs = self.variables[node]
        kinds = {
            "global": [name for name in names if name in self.globals],
            "nonlocal": [name for name in names if name not in self.globals],
        }
        declare = "; ".join(f"{kind} {', '.join(given)}" for kind, given in kinds.items() if given)
        filled = {
            "declare": declare or "pass",
            "state": "".join(f"{name}, " for name in names),
            "names": str(tuple(names)),
            "outputs": str(outputs),
            "item": item,
        }
        pattern = re.compile("|".join(filled))
        state, text = (pattern.sub(lambda m: filled[m[0]], each) for each in (_STATE, _BODY + text))
        holes = {
            k: part if isinstance(part, list) else self.visit(part) for k, part in parts.items()
        }
        holes["body"] = self.block(node.body)
        return statements(state, node) + statements(text, node, **holes)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        inner = rewritten(node)
        inner.decorator_list.append(expression("ag__.artifact", node))
        return inner

    # -- expressions

    def visit_Call(self, node: ast.Call) -> Any:
        called = ast.unparse(node.func) if isinstance(node.func, (ast.Name, ast.Attribute)) else ""
        self.generic_visit(node)
        if called in _LEFT_ALONE or called.startswith("ag__."):
            return node
        keys: Any = [ast.Constant(each.arg) if each.arg else None for each in node.keywords]
        holes = {
            "function": node.func,
            "arguments": ast.Tuple(node.args, ast.Load()),
            "named": ast.Dict(keys, [each.value for each in node.keywords]),
        }
        return expression("ag__.converted_call(function, arguments, named)", node, **holes)

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        self.generic_visit(node)
        return expression("ag__.artifact(function)", node, function=node)

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        self.generic_visit(node)
        text = "ag__.if_exp(test, lambda: body, lambda: orelse)"
        return expression(text, node, test=node.test, body=node.body, orelse=node.orelse)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        self.generic_visit(node)
        inverts = isinstance(node.op, ast.Not)
        return expression("ag__.not_(x)", node, x=node.operand) if inverts else node

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        self.generic_visit(node)
        return _lazy("and_" if isinstance(node.op, ast.And) else "or_", node.values)

    def visit_Compare(self, node: ast.Compare) -> Any:
        self.generic_visit(node)
        pairs: list[ast.expr] = []
        for operator, right in zip(node.ops, node.comparators, strict=True):
            left = pairs[-1].comparators[0] if pairs else node.left  # type: ignore[attr-defined]
            pairs.append(ast.copy_location(ast.Compare(left, [operator], [right]), node))
        return _lazy("and_", pairs)


def _lazy(operator: str, values: list[ast.expr]) -> Any:
    """`a and b and c` as calls of an operator of two."""
    found, *rest = reversed(values)
    for left in rest:
        text = f"ag__.{operator}(lambda: left, lambda: right)"
        found = expression(text, left, left=left, right=found)
    return found
