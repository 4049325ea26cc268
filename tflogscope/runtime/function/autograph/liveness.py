"""Which variables a conditional or loop has to hand on: those that it assigns and that somebody reads
afterwards, or that it reads itself. See `tensorflow/python/autograph/pyct/static_analysis/liveness.py`.

NB: variables are plain names here; TensorFlow also follows `self.x` and `a[0]`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from tflogscope.runtime.function.autograph.jumps import FUNCTIONS, TestedFor

Names = set[str]


def parameters(function: ast.FunctionDef | ast.Lambda) -> list[str]:
    """Their names."""
    a = function.args
    every = [*a.posonlyargs, *a.args, a.vararg, *a.kwonlyargs, a.kwarg]
    return [each.arg for each in every if each is not None]


def _names(nodes: Iterable[ast.AST | None], context: type[ast.expr_context]) -> Names:
    """The names in that role, functions within left out but for what they need from outside."""
    found: Names = set()
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, context):
            found.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.Lambda)):
            body = node.body if isinstance(node.body, list) else [node.body]
            if context is ast.Load:
                own = _names(body, ast.Store) | set(parameters(node))
                outside = [*node.args.defaults, *getattr(node, "decorator_list", [])]
                found |= (_names(body, ast.Load) - own) | _names(outside, ast.Load)
            elif context is ast.Store and isinstance(node, ast.FunctionDef):
                found.add(node.name)
        elif isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)):
            if context is ast.Load:
                targets = [each.target for each in node.generators]
                found |= _names(ast.iter_child_nodes(node), ast.Load) - _names(targets, ast.Store)
        elif isinstance(node, ast.AST):
            if isinstance(node, ast.AugAssign) and context is ast.Load:
                found |= _names([node.target], ast.Store)
            found |= _names(ast.iter_child_nodes(node), context)
    return found


def bound(nodes: Iterable[ast.AST | None]) -> Names:
    """The names that these assign."""
    return _names(nodes, ast.Store)


def _read(nodes: Iterable[ast.AST | None]) -> Names:
    return _names(nodes, ast.Load)


class Liveness:
    """For each `if`, `while` and `for` of a function its variables, and how many of them, from the
    first, are read after it.
    """

    def __init__(self, function: ast.FunctionDef) -> None:
        self.variables: dict[ast.stmt, tuple[list[str], int]] = {}
        inner = [node for node in ast.walk(function) if isinstance(node, FUNCTIONS)]
        self._always = _read([node for node in inner if node is not function])
        for node in ast.walk(function):
            if isinstance(node, ast.Nonlocal):
                self._always |= set(node.names)
        self._block(function.body, set())

    def _block(self, block: list[ast.stmt], live: Names) -> Names:
        """What is live before the block, given what is live after it."""
        for statement in reversed(block):
            live = self._statement(statement, live)
        return live

    def _statement(self, node: ast.stmt, live: Names) -> Names:
        if isinstance(node, ast.If):
            before = _read([node.test]) | self._block(node.body, live)
            before |= self._block(node.orelse, live)
            self._note(node, bound([*node.body, *node.orelse]), before, live)
            return before
        if isinstance(node, (ast.While, ast.For)):
            before = self._loop(node, live)
            targets = [node.target] if isinstance(node, ast.For) else []
            self._note(node, bound([*node.body, *targets]), before, live)
            return before
        if isinstance(node, ast.With):
            inside = self._block(node.body, live)
            return _read(node.items) | (inside - bound(node.items))
        if isinstance(node, ast.Try):
            # any statement may go to any handler: all that is read in it may be read
            whole = live | _read([node])
            for block in (node.body, node.orelse, node.finalbody, *(h.body for h in node.handlers)):
                self._block(block, whole)
            return whole
        return _read([node]) | (live - bound([node]))

    def _loop(self, node: ast.While | ast.For, after: Names) -> Names:
        targets: Names = set()
        header = _read([node.test] if isinstance(node, ast.While) else [node.iter])
        if isinstance(node, ast.For):
            targets = bound([node.target])
        if isinstance(node, TestedFor):
            after = after | _read([node.extra_test])
        live: Names = set()
        while True:
            before = header | ((after | live | self._block(node.body, after | live)) - targets)
            before |= header
            if before <= live:
                return before
            live = before

    def _note(self, node: ast.stmt, names: Names, before: Names, after: Names) -> None:
        names = {name for name in names if name in before | after | self._always}
        only_inputs = (names & before) - after - self._always
        ordered = sorted(names, key=lambda name: (name in only_inputs, name))
        self.variables[node] = ordered, len(ordered) - len(only_inputs)
