"""What a piece of code reads and assigns: the symbols, simple (`x`) and composite (`self.x`,
`state[0]`).

Told about: autograph/pyct/qual_names.py and static_analysis/activity.py.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeGuard

Function = ast.FunctionDef | ast.Lambda
Loop = ast.For | ast.While


@dataclass(frozen=True, slots=True, order=True)
class Symbol:
    """`text` as it stands in the code; `roots` are the simple names that it needs to be there."""

    text: str
    roots: frozenset[str] = field(compare=False)

    @property
    def composite(self) -> bool:
        return not self.text.isidentifier()


def simple(name: str) -> Symbol:
    """The symbol of a name."""
    return Symbol(name, frozenset([name]))


def symbol(node: ast.expr) -> Symbol | None:
    """The symbol that an expression is, if it is one: a name, an attribute of a symbol, or an
    element at a name or literal.
    """
    match node:
        case ast.Name(id=name):
            return simple(name)
        case ast.Attribute(value=owner, attr=attribute):
            of = symbol(owner)
            return of and Symbol(f"{of.text}.{attribute}", of.roots)
        case ast.Subscript(value=owner, slice=ast.Constant(value=literal)) if (
            literal is not Ellipsis
        ):
            of = symbol(owner)
            return of and Symbol(f"{of.text}[{literal!r}]", of.roots)
        case ast.Subscript(value=owner, slice=index):
            of, at = symbol(owner), symbol(index)
            return of and at and Symbol(f"{of.text}[{at.text}]", of.roots | at.roots)
    return None


@dataclass(slots=True)
class Activity:
    """The symbols that some code reads, assigns (or deletes), and declares global or nonlocal."""

    read: set[Symbol] = field(default_factory=set)
    assigned: set[Symbol] = field(default_factory=set)
    deleted: set[Symbol] = field(default_factory=set)
    globals: set[Symbol] = field(default_factory=set)
    nonlocals: set[Symbol] = field(default_factory=set)

    @property
    def bound(self) -> set[Symbol]:
        return self.assigned | self.deleted | self.nonlocals


def activity(nodes: Iterable[ast.AST | None]) -> Activity:
    """The activity of code in its own scope: what a function defined in it reads counts, what that
    assigns does not.
    """
    reader = _Reader()
    for node in nodes:
        if node is not None:
            reader.visit(node)
    return reader.activity


def parameters(function: Function) -> list[str]:
    """The names of all parameters."""
    args = function.args
    every = [
        *args.posonlyargs,
        *args.args,
        *([args.vararg] if args.vararg else []),
        *args.kwonlyargs,
    ]
    return [arg.arg for arg in every] + ([args.kwarg.arg] if args.kwarg else [])


def body_of(function: Function) -> Sequence[ast.AST]:
    """What the function does: statements, or a lambda's expression."""
    return function.body if isinstance(function, ast.FunctionDef) else [function.body]


def closure(function: Function) -> set[Symbol]:
    """What calling a local function reads of the function around it."""
    reader = _Reader()
    for node in body_of(function):
        reader.visit(node)
    inside = reader.activity
    own = {*parameters(function), *(each.text for each in inside.bound - inside.nonlocals)}
    read = inside.read.union(*map(closure, reader.functions))
    return {each for each in read if not each.roots & own}


def is_function(node: ast.AST) -> TypeGuard[Function]:
    """Whether it defines a function."""
    return isinstance(node, ast.FunctionDef | ast.Lambda)


class _Reader(ast.NodeVisitor):
    def __init__(self) -> None:
        self.activity = Activity()
        self.functions: list[ast.FunctionDef] = []
        self.hidden: list[set[str]] = []  # targets of the comprehensions around

    def _note(self, node: ast.expr, context: ast.expr_context) -> None:
        found = symbol(node)
        if found is None or any(found.roots & targets for targets in self.hidden):
            return
        if isinstance(context, ast.Load):
            self.activity.read.add(found)
        elif isinstance(context, ast.Store):
            self.activity.assigned.add(found)
        else:
            self.activity.read.add(found)
            self.activity.deleted.add(found)

    def visit_Name(self, node: ast.Name) -> None:
        self._note(node, node.ctx)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self.generic_visit(node)
        self._note(node, node.ctx)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        self.generic_visit(node)
        self._note(node, node.ctx)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.generic_visit(node)
        self._note(node.target, ast.Load())

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:  # else it only declares
            self.visit(node.target)
            self.visit(node.value)

    def visit_Global(self, node: ast.Global) -> None:
        self.activity.globals.update(map(simple, node.names))

    def visit_Nonlocal(self, node: ast.Nonlocal) -> None:
        self.activity.nonlocals.update(map(simple, node.names))

    def visit_alias(self, node: ast.alias) -> None:
        self.activity.assigned.add(simple(node.asname or node.name.split(".")[0]))

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        # The name is deleted at the handler's end.
        self.hidden.append({node.name} if node.name else set())
        self.generic_visit(node)
        self.hidden.pop()

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        for outside in [*node.decorator_list, *node.args.defaults, *node.args.kw_defaults]:
            if outside is not None:
                self.visit(outside)
        self.activity.assigned.add(simple(node.name))
        self.functions.append(node)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        # A lambda is taken to be used where it stands, so what it reads is read there.
        for default in [*node.args.defaults, *node.args.kw_defaults]:
            if default is not None:
                self.visit(default)
        self.activity.read |= {
            each for each in closure(node) if not any(each.roots & names for names in self.hidden)
        }

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        inside = activity(node.body)
        for outside in [*node.decorator_list, *node.bases]:
            self.visit(outside)
        self.activity.read |= inside.read - inside.assigned
        self.activity.assigned.add(simple(node.name))

    def _comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp
    ) -> None:
        targets: set[str] = set()
        for generator in node.generators:
            targets |= {
                name.id for name in ast.walk(generator.target) if isinstance(name, ast.Name)
            }
        self.visit(node.generators[0].iter)
        self.hidden.append(targets)
        self.generic_visit(node)
        self.hidden.pop()

    visit_ListComp = visit_SetComp = visit_GeneratorExp = visit_DictComp = _comprehension
