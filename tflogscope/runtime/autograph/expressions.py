"""`a if c else b`, `and`, `or`, `not` and `a < b < c` become calls that choose, when they run,
between Python and a graph.

What Python evaluates only if need be is handed over as a lambda. `==` is left alone, tensors
overload it. Told about: autograph/converters/{conditional_expressions,logical_expressions}.py.
"""

from __future__ import annotations

import ast
from functools import reduce

from tflogscope.runtime.autograph.templates import expression


class ExpressionRewriter(ast.NodeTransformer):
    """Rewrites the logical expressions of a function."""

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        text = ast.unparse(node.test)
        self.generic_visit(node)
        return expression(
            "ag__.if_exp(test, lambda: body, lambda: orelse, text)",
            node,
            test=node.test,
            body=node.body,
            orelse=node.orelse,
            text=ast.Constant(text),
        )

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        return (
            expression("ag__.not_(operand)", node, operand=node.operand)
            if isinstance(node.op, ast.Not)
            else node
        )

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        self.generic_visit(node)
        operator = "ag__.and_" if isinstance(node.op, ast.And) else "ag__.or_"
        return reduce(lambda right, left: _lazy(operator, left, right), reversed(node.values))

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        if len(node.ops) == 1:
            return node
        # NB: as in TensorFlow the operand in the middle is evaluated twice.
        lefts = [node.left, *node.comparators]
        pairs: list[ast.expr] = [
            ast.copy_location(ast.Compare(left, [operator], [right]), node)
            for left, operator, right in zip(lefts, node.ops, node.comparators, strict=False)
        ]
        return reduce(lambda left, right: _lazy("ag__.and_", left, right), pairs[1:], pairs[0])


def _lazy(operator: str, left: ast.expr, right: ast.expr) -> ast.expr:
    return expression(f"{operator}(lambda: left, lambda: right)", left, left=left, right=right)
