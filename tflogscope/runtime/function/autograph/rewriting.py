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
from collections.abc import Iterable
from functools import reduce
from typing import Any

from tflogscope.runtime.function.autograph.jumps import (
    FUNCTIONS,
    expression,
    lower_jumps,
    statements,
)

Names = set[str]


def parameters(function: ast.FunctionDef | ast.Lambda) -> list[str]:
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
            after = after | _read([getattr(node, "extra_test", None)])
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


_LEFT_ALONE = frozenset({"print", "locals", "vars", "dir", "breakpoint"})
_CONTROL = (ast.If, ast.While, ast.For)


def rewritten(function: ast.FunctionDef) -> ast.FunctionDef:
    """The function as it runs."""
    lower_jumps(function)
    return _function(function)


def _function(function: ast.FunctionDef) -> ast.FunctionDef:
    rewriter = _Rewriter(function)
    function.body = rewriter.block(function.body)
    for name in sorted(rewriter.undefined, reverse=True):
        function.body[:0] = statements(f"{name} = ag__.Undefined()", function)
    return ast.fix_missing_locations(function)


class _Rewriter(ast.NodeTransformer):
    def __init__(self, function: ast.FunctionDef) -> None:
        self.variables = Liveness(function).variables
        self.parameters = parameters(function)
        every = list(ast.walk(function))
        self.globals = {n for each in every if isinstance(each, ast.Global) for n in each.names}
        outside = {n for each in every if isinstance(each, ast.Nonlocal) for n in each.names}
        control = [node for node in self.variables if isinstance(node, _CONTROL)]
        self.undefined = bound(control) - outside - self.globals - set(self.parameters)
        """Names that may have no value where a conditional or a loop asks for it."""

    def block(self, block: list[ast.stmt]) -> list[ast.stmt]:
        found = [self.visit(statement) for statement in block]
        return [s for each in found for s in (each if isinstance(each, list) else [each])]

    # -- statements

    def visit_If(self, node: ast.If) -> Any:
        _, outputs = self.variables[node]
        return self._statement(
            node,
            f"""
            def ag__body():
                declare
                body
            def ag__orelse():
                declare
                orelse
            ag__.if_stmt(test, ag__body, ag__orelse, ag__get, ag__set, names, {outputs})
            """,
            test=node.test,
            orelse=node.orelse or [ast.Pass()],
        )

    def visit_While(self, node: ast.While) -> Any:
        return self._statement(
            node,
            """
            def ag__body():
                declare
                body
            ag__.while_stmt(lambda: test, ag__body, ag__get, ag__set, names)
            """,
            test=node.test,
        )

    def visit_For(self, node: ast.For) -> Any:
        test = getattr(node, "extra_test", None)
        return self._statement(
            node,
            f"""
            def ag__body(ag__item):
                declare
                body
            ag__.for_stmt(
                iterated, {"lambda: test" if test else None}, ag__body, ag__get, ag__set, names
            )
            """,
            test=test or ast.Constant(True),
            iterated=node.iter,
            target=node.target,
        )

    def _statement(self, node: Any, text: str, **parts: Any) -> Any:
        """The functions of a statement, then the call that gets them."""
        names, _ = self.variables[node]
        holes = {key: self._visited(part) for key, part in parts.items()}
        body = self.block(node.body)
        if "target" in holes:
            item = ast.Name("ag__item", ast.Load())
            body[:0] = [ast.copy_location(ast.Assign([holes.pop("target")], item), node)]
        kinds = {
            "global": [name for name in names if name in self.globals],
            "nonlocal": [name for name in names if name not in self.globals],
        }
        lines = [f"{kind} {', '.join(chosen)}" for kind, chosen in kinds.items() if chosen]
        declare = "; ".join(lines) or "pass"
        state = "".join(f"{name}, " for name in names)
        accessors = f"""
            def ag__get():
                return ({state})
            def ag__set(ag__values):
                {declare}
                ({state}) = ag__values
            """
        text = text.replace("declare", declare).replace("names", str(tuple(names)))
        return statements(accessors, node) + statements(text, node, body=body, **holes)

    def _visited(self, part: Any) -> Any:
        return self.block(part) if isinstance(part, list) else self.visit(part)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        inner = _function(node)
        inner.decorator_list.append(expression("ag__.artifact", node))
        return inner

    def visit_With(self, node: ast.With) -> Any:
        node.body = self.block(node.body)  # its managers stay as they are
        return node

    # -- expressions

    def visit_Call(self, node: ast.Call) -> Any:
        called = ast.unparse(node.func) if isinstance(node.func, (ast.Name, ast.Attribute)) else ""
        self.generic_visit(node)
        if called in _LEFT_ALONE or called.startswith("ag__."):
            return node
        if called == "super" and not node.args:
            # without arguments `super` looks at its frame, which may now be that of a loop's body
            return expression(f"super(__class__, {self.parameters[0]})", node)
        named: ast.expr = ast.Constant(None)
        if node.keywords:
            keys = [ast.Constant(each.arg) if each.arg else None for each in node.keywords]
            named = ast.Dict(keys, [each.value for each in node.keywords])  # type: ignore[arg-type]
        return expression(
            "ag__.converted_call(function, arguments, named)",
            node,
            function=node.func,
            arguments=ast.Tuple(node.args, ast.Load()),
            named=named,
        )

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
        operator = "and_" if isinstance(node.op, ast.And) else "or_"
        return reduce(lambda right, left: _lazy(operator, left, right), reversed(node.values))

    def visit_Compare(self, node: ast.Compare) -> Any:
        self.generic_visit(node)
        lefts = [node.left, *node.comparators]
        pairs: list[Any] = [
            ast.copy_location(ast.Compare(left, [operator], [right]), node)
            for left, operator, right in zip(lefts, node.ops, node.comparators, strict=False)
        ]
        return reduce(lambda left, right: _lazy("and_", left, right), pairs[1:], pairs[0])


def _lazy(operator: str, left: ast.expr, right: ast.expr) -> Any:
    text = f"ag__.{operator}(lambda: left, lambda: right)"
    return expression(text, left, left=left, right=right)
