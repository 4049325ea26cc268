"""`if`, `while` and `for` become calls of operators, with their blocks as functions of the
variables around them.

    if x > 0:        def get_state():  return (x,)
        x = -x       def set_state(values):  nonlocal x; (x,) = values
            →        def if_body():  nonlocal x; x = -x
                     def else_body():  pass
                     ag__.if_stmt(x > 0, if_body, else_body, get_state, set_state, ('x',), 1)

The operator calls one block if the condition is a Python value, and both (to build a graph of each)
if it is a tensor. Told about: autograph/converters/control_flow.py and variables.py.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from textwrap import dedent

from tflogscope.runtime.autograph.flow import Branching, Flow
from tflogscope.runtime.autograph.jumps import Block, TestedFor
from tflogscope.runtime.autograph.naming import Namer
from tflogscope.runtime.autograph.symbols import Symbol
from tflogscope.runtime.autograph.templates import Hole, expression, statements


class StatementRewriter(ast.NodeTransformer):
    """Rewrites the conditionals and loops of a function, given what flows through each."""

    def __init__(self, flows: Mapping[Branching, Flow], namer: Namer) -> None:
        self.flows = flows
        self.namer = namer
        self.undefined: set[str] = set()
        """The variables that may be without a value where they are read."""

    def visit_If(self, node: ast.If) -> Block:
        flow = self.flows[node]
        _, outputs = flow.variables()
        self.generic_visit(node)
        return self._rewritten(
            node,
            flow,
            """
            def if_body():
                declare
                body
            def else_body():
                declare
                orelse
            undefine
            ag__.if_stmt(test, if_body, else_body, get_state, set_state, names, outputs)
            """,
            if_body=self.namer.fresh("if_body"),
            else_body=self.namer.fresh("else_body"),
            body=node.body,
            orelse=node.orelse or [ast.Pass()],
            test=node.test,
            outputs=ast.Constant(outputs),
        )

    def visit_While(self, node: ast.While) -> Block:
        self.generic_visit(node)
        options = _taken_options(node.body)
        return self._rewritten(
            node,
            self.flows[node],
            """
            def loop_body():
                declare
                body
            def loop_test():
                return test
            undefine
            ag__.while_stmt(loop_test, loop_body, get_state, set_state, names, options)
            """,
            loop_body=self.namer.fresh("loop_body"),
            loop_test=self.namer.fresh("loop_test"),
            body=node.body or [ast.Pass()],
            test=node.test,
            options=options,
        )

    def visit_For(self, node: ast.For) -> Block:
        self.generic_visit(node)
        options = _taken_options(node.body)
        options.keys.append(ast.Constant("iterate_names"))
        options.values.append(ast.Constant(ast.unparse(node.target)))
        tested = isinstance(node, TestedFor)
        return self._rewritten(
            node,
            self.flows[node],
            """
            def loop_body(item):
                declare
                target = item
                body
            define_test
            undefine
            ag__.for_stmt(iterated, extra_test, loop_body, get_state, set_state, names, options)
            """,
            loop_body=self.namer.fresh("loop_body"),
            item=self.namer.fresh("itr"),
            target=node.target,
            body=node.body or [ast.Pass()],
            iterated=node.iter,
            define_test=_extra_test(node) if isinstance(node, TestedFor) else [],
            extra_test="extra_test" if tested else ast.Constant(None),
            options=options,
        )

    visit_TestedFor = visit_For

    def visit_Delete(self, node: ast.Delete) -> Block:
        """What is deleted is undefined from then on: a nested function can't unbind it."""
        result: Block = []
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.undefined.add(target.id)
                result += _undefine([target.id], node)
            else:
                result.append(ast.copy_location(ast.Delete([target]), node))
        return result

    def _rewritten(self, node: Branching, flow: Flow, text: str, **holes: Hole) -> Block:
        variables, _ = flow.variables()
        # Also what is no variable of the state: an inner conditional may declare it nonlocal.
        missing = sorted(each.text for each in flow.undefined())
        self.undefined.update(missing)
        getter, setter = self.namer.fresh("get_state"), self.namer.fresh("set_state")
        declare = _declarations(variables, flow, node)
        return [
            *_state_functions(variables, declare, getter, setter, node),
            *statements(
                dedent(text),
                node,
                declare=declare,
                undefine=_undefine(missing, node),
                names=ast.Tuple([ast.Constant(each.text) for each in variables], ast.Load()),
                get_state=getter,
                set_state=setter,
                **holes,
            ),
        ]


def _state_functions(
    variables: Sequence[Symbol], declare: Block, getter: str, setter: str, node: ast.AST
) -> Block:
    reads: list[ast.expr] = []
    writes: list[ast.expr] = []
    for each in variables:
        place = expression(each.text, node)
        writes.append(place)
        if each.composite:  # whether it has a value can't be told from the text
            place = expression(
                "ag__.load_or_undefined(lambda: place, text)",
                node,
                place=place,
                text=ast.Constant(each.text),
            )
        reads.append(_raw(place))
    return statements(
        """
def get_state():
    return reads
def set_state(values):
    declare
    writes = values
""",
        node,
        get_state=getter,
        set_state=setter,
        reads=ast.Tuple(reads, ast.Load()),
        writes=ast.Tuple(writes, ast.Store()) if writes else "_",
        declare=declare,
    )


def _declarations(variables: Sequence[Symbol], flow: Flow, node: ast.AST) -> Block:
    names = [each.text for each in variables if not each.composite]
    global_ones = [name for name in names if name in {each.text for each in flow.function.globals}]
    nonlocal_ones = [name for name in names if name not in global_ones]
    result: Block = []
    if global_ones:
        result.append(ast.copy_location(ast.Global(global_ones), node))
    if nonlocal_ones:
        result.append(ast.copy_location(ast.Nonlocal(nonlocal_ones), node))
    return result


def _undefine(names: Sequence[str], node: ast.AST) -> Block:
    return [
        line
        for name in names
        for line in statements(
            "name = ag__.Undefined(text)", node, name=name, text=ast.Constant(name)
        )
    ]


def _extra_test(node: TestedFor) -> Block:
    return statements("def extra_test():\n    return test", node, test=node.extra_test)


def _taken_options(body: Block) -> ast.Dict:
    """Takes `tf.autograph.experimental.set_loop_options(…)` out of a loop's body and gives its
    arguments as a dict.
    """
    for at, statement in enumerate(body):
        match statement:
            case ast.Expr(
                ast.Call(args=[ast.Attribute(attr="set_loop_options"), _, ast.Dict() as options])
            ):
                del body[at]
                return options
    return ast.Dict([], [])


def _raw(place: ast.expr) -> ast.expr:
    """Marks reads that may find a variable undefined."""
    for node in ast.walk(place):
        if isinstance(node, ast.Name):
            node.may_be_undefined = True  # type: ignore[attr-defined]
    return place


class ReadGuard(ast.NodeTransformer):
    """Lets the user's reads of variables that may be undefined fail as Python's do: with
    UnboundLocalError.
    """

    def __init__(self, undefined: set[str]) -> None:
        self.undefined = undefined

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if (
            not isinstance(node.ctx, ast.Load)
            or node.id not in self.undefined
            or hasattr(node, "may_be_undefined")
        ):
            return node
        return expression("ag__.load(name)", node, name=node.id)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt | Block:
        self.generic_visit(node)
        if isinstance(node.target, ast.Name) and node.target.id in self.undefined:
            return [*statements("name = ag__.load(name)", node, name=node.target.id), node]
        return node
