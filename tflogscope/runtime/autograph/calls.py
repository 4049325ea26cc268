"""Each call `f(a, *b, c=d)` becomes `ag__.converted_call(f, (a, *b), {'c': d})`, which converts `f`
too, if it is the user's.

Told about: autograph/converters/call_trees.py.
"""

from __future__ import annotations

import ast
from typing import cast

from tflogscope.runtime.autograph.templates import expression

_LEFT_ALONE = {"print", "locals", "vars", "dir", "breakpoint", "pdb.set_trace"}
"""They look at the frame that calls them, or are not for tensors: `print` prints while tracing,
once.
"""


class CallRewriter(ast.NodeTransformer):
    """Rewrites the calls of one function, and of the functions defined in it."""

    def __init__(self, first_parameter: str | None) -> None:
        self.first_parameter = first_parameter

    def visit_Call(self, node: ast.Call) -> ast.expr:
        called = ast.unparse(node.func) if isinstance(node.func, ast.Name | ast.Attribute) else ""
        self.generic_visit(node)
        if called in _LEFT_ALONE or called.startswith("ag__."):
            return node
        if called == "super" and not node.args and self.first_parameter:
            # Without arguments `super` looks at its frame, which may now be that of a loop's body.
            return expression("super(__class__, me)", node, me=self.first_parameter)
        arguments = ast.Tuple(node.args, ast.Load())
        named: ast.expr = ast.Constant(None)
        if node.keywords:
            named = ast.Dict(
                [ast.Constant(k.arg) if k.arg else None for k in node.keywords],
                [k.value for k in node.keywords],
            )
        return expression(
            "ag__.converted_call(function, arguments, named)",
            node,
            function=node.func,
            arguments=arguments,
            named=named,
        )

    def visit_With(self, node: ast.With) -> ast.With:
        # Context managers are called as they are.
        node.body = [cast(ast.stmt, self.visit(statement)) for statement in node.body]
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        node.body = [cast(ast.stmt, self.visit(statement)) for statement in node.body]
        return node
