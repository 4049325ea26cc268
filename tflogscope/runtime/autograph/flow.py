"""Which variables flow into, through and out of a conditional or loop: what it has to take in and
give back.

When the jumps are gone, control flow is as nested as the text, so no graph of basic blocks is
needed: "defined" is carried forward and "live" backward through the blocks, around a loop until
nothing changes. Told about: autograph/pyct/static_analysis/{liveness,reaching_definitions}.py over
pyct/cfg.py, which keep the jumps.
"""

from __future__ import annotations

import ast
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from tflogscope.runtime.autograph.jumps import TestedFor
from tflogscope.runtime.autograph.symbols import (
    Activity,
    Symbol,
    activity,
    closure,
    parameters,
    simple,
)

Symbols = AbstractSet[Symbol]
Branching = ast.If | ast.While | ast.For


@dataclass(slots=True)
class Flow:
    """What is known of one conditional or loop of a function."""

    bound: Symbols = frozenset()  # what its blocks assign
    defined_in: Symbols = frozenset()  # what may have a value before it
    live_in: Symbols = frozenset()  # what it, or what comes after it, reads of the values before it
    live_out: Symbols = frozenset()  # what is read after it
    function: Activity = field(default_factory=Activity)  # of the function around it

    def variables(self) -> tuple[list[Symbol], int]:
        """The variables of its state in TensorFlow's order, outputs first; and how many of them are
        outputs.
        """
        simple_ones = {
            each
            for each in self.bound
            if not each.composite
            and (each in self.live_in or each in self.live_out or each in self.function.nonlocals)
        }
        # A composite is part of the state if the object that it belongs to was there before.
        there = {each.text for each in self.live_in}
        composite_ones = {each for each in self.bound if each.composite and each.roots <= there}
        inputs_only = (simple_ones & self.live_in) - self.live_out
        ordered = sorted(
            simple_ones | composite_ones, key=lambda each: (each in inputs_only, each.text)
        )
        return ordered, len(ordered) - len(inputs_only)

    def undefined(self) -> set[Symbol]:
        """The simple symbols that it assigns and nothing before it did."""
        declared = self.function.globals | self.function.nonlocals
        return {each for each in self.bound - self.defined_in - declared if not each.composite}


def analyse(function: ast.FunctionDef) -> dict[Branching, Flow]:
    """The flow of each conditional and loop of `function`, and of the functions defined in it."""
    found: dict[Branching, Flow] = {}
    _FunctionFlow(function, found)
    return found


class _FunctionFlow:
    def __init__(self, function: ast.FunctionDef, found: dict[Branching, Flow]) -> None:
        self.found = found
        self.activity = activity(function.body)
        self.handlers: list[Symbols] = [frozenset()]  # what is live where an exception goes to
        self.closures: Symbols = frozenset()  # what the local functions defined so far read
        self.forward(function.body, {simple(name) for name in parameters(function)})
        self.backward(function.body, frozenset())

    def flow(self, node: Branching) -> Flow:
        return self.found.setdefault(node, Flow(function=self.activity))

    # Forward: what may be defined. Returns what may be defined after the block.

    def forward(self, block: list[ast.stmt], defined: Symbols) -> Symbols:
        for statement in block:
            defined = self.forward_statement(statement, defined)
        return defined

    def forward_statement(self, node: ast.stmt, defined: Symbols) -> Symbols:
        match node:
            case ast.If():
                self.flow(node).defined_in = defined
                self.flow(node).bound = activity([*node.body, *node.orelse]).bound
                return self.forward(node.body, defined) | self.forward(node.orelse, defined)
            case ast.While() | ast.For():
                target = activity([node.target] if isinstance(node, ast.For) else []).assigned
                self.flow(node).bound = activity(node.body).bound | target
                self.flow(node).defined_in = defined
                around = self.forward(node.body, defined | target)
                if not around <= defined:  # once around the loop
                    defined = defined | around
                    self.forward(node.body, defined | target)
                return defined
            case ast.With():
                return self.forward(node.body, defined | activity(node.items).assigned)
            case ast.Try():
                after = self.forward(node.body, defined)
                tried = defined | after
                after = self.forward(node.orelse, after)
                for handler in node.handlers:
                    after = after | self.forward(handler.body, tried)
                return self.forward(node.finalbody, tried | after)
            case ast.FunctionDef():
                _FunctionFlow(node, self.found)
        own = activity([node])
        return (defined - own.deleted) | own.assigned

    # Backward: what is live. Returns what is live before the block.

    def backward(self, block: list[ast.stmt], live: Symbols) -> Symbols:
        before = self.closures
        known = [before]
        for statement in block:
            known.append(
                known[-1] | closure(statement)
                if isinstance(statement, ast.FunctionDef)
                else known[-1]
            )
        for statement, closures in zip(reversed(block), reversed(known[1:]), strict=True):
            self.closures = closures
            live = self.backward_statement(statement, live) | closures
        self.closures = before
        return live

    def backward_statement(self, node: ast.stmt, live: Symbols) -> Symbols:
        match node:
            case ast.If():
                before: Symbols = (
                    activity([node.test]).read
                    | self.backward(node.body, live)
                    | self.backward(node.orelse, live)
                )
                self.flow(node).live_in, self.flow(node).live_out = before, live
                return before
            case ast.While() | ast.For():
                before = self.loop(node, live)
                self.flow(node).live_in, self.flow(node).live_out = before, live
                return before
            case ast.With():
                items = activity(node.items)
                return items.read | (self.backward(node.body, live) - items.assigned)
            case ast.Try():
                return self.attempt(node, live)
            case ast.Raise():
                return activity([node]).read | self.handlers[-1]
        own = activity([node])
        return own.read | (live - own.assigned - own.deleted) | self.handlers[-1]

    def loop(self, node: ast.While | ast.For, after: Symbols) -> Symbols:
        if isinstance(node, ast.While):
            header, targets = activity([node.test]).read, set[Symbol]()
        else:
            # NB: as in TensorFlow, what is iterated over counts as read again in every iteration.
            header, targets = activity([node.iter]).read, activity([node.target]).assigned
        tested = activity([node.extra_test]).read if isinstance(node, TestedFor) else set[Symbol]()
        live: Symbols = frozenset()
        while True:
            before = header | ((tested | after | self.backward(node.body, live)) - targets)
            if before <= live:
                return before
            live = live | before

    def attempt(self, node: ast.Try, after: Symbols) -> Symbols:
        after = self.backward(node.finalbody, after)
        caught = frozenset[Symbol]().union(
            *(self.backward(handler.body, after) for handler in node.handlers)
        )
        for handler in node.handlers:
            caught |= activity([handler.type]).read
        self.handlers.append(caught)
        live = self.backward(node.body, self.backward(node.orelse, after)) | caught
        self.handlers.pop()
        return live
