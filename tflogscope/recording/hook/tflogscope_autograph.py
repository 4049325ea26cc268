"""Where code comes from that AutoGraph generated: file, line and function of the program's own.

It runs inside the recorded program; see `tflogscope_lines.py`.
"""

from __future__ import annotations

import ast
import dis
import functools
import inspect
from types import CodeType, FrameType
from typing import Any, Tuple  # noqa: UP035  Python 3.8 has no other

Origin = Tuple[str, int, str]  # noqa: UP006


def moved(module: Any, node: Any, entity: Any) -> dict[int, tuple[Any, Origin]]:
    """Origins of a function with `functools.wraps`: AutoGraph gives it lines of what it wraps."""
    code = getattr(entity, "__code__", None)
    if code is None or inspect.unwrap(entity) is entity:
        return {}
    marks = (module.anno.getanno(part, module.anno.Basic.ORIGIN, None) for part in ast.walk(node))
    origins = [origin for origin in marks if origin is not None]
    shift = code.co_firstlineno - min((origin.loc.lineno for origin in origins), default=0)
    return {
        id(origin): (origin, (code.co_filename, origin.loc.lineno + shift, code.co_name))
        for origin in origins
    }


class Origins:
    """Where code that AutoGraph generated comes from.

    Its own map has one origin for a line, any of those of the statement. So the code is compiled
    once more, with lines that are those of the origins, and has the same instructions.
    """

    def __init__(
        self, module: Any, nodes: Any, code: str, moved: dict[int, tuple[Any, Origin]]
    ) -> None:
        self.moved = moved
        self.of_node = functools.partial(
            module.anno.getanno, key=module.anno.Basic.ORIGIN, default=None
        )
        self.file = ""
        self.lines: dict[int, Origin] = {}  # of the generated code
        self.origins: dict[int, Origin] = {}  # by their own lines
        self.twins: dict[CodeType, CodeType] = {}
        generated = module.parser.parse(code, preamble_len=0, single_node=False)
        for before, after in zip(nodes, generated):  # noqa: B905  of Python 3.10
            self._read(before, after)
        tree = module.gast.gast_to_ast(module.gast.Module(body=list(generated), type_ignores=[]))
        twin = compile(ast.fix_missing_locations(tree), "", "exec", dont_inherit=True)
        self._pair(compile(code, "", "exec", dont_inherit=True), twin)

    def _read(self, node: ast.AST, generated: Any) -> Origin | None:
        """Give a node, and what is in it, the line of its origin; the first origin in it."""
        origin = self.of_node(node)
        first: Origin | None = None
        if id(origin) in self.moved:
            first = self.moved[id(origin)][1]
        elif origin is not None and origin.loc.filename:
            first = (origin.loc.filename, origin.loc.lineno, origin.function_name or "<lambda>")
        children = ast.iter_child_nodes(node), ast.iter_child_nodes(generated)
        for pair in zip(*children):  # noqa: B905
            inner = self._read(*pair)
            first = first or inner
        line = getattr(generated, "lineno", None)
        if line is None:
            return first
        if first is not None:
            self.file = self.file or first[0]
            self.lines[line] = min(first, self.lines.get(line, first), key=_line_of)
            self.origins.setdefault(first[1], first)
            generated.lineno = generated.end_lineno = first[1]
            generated.col_offset = generated.end_col_offset = 0
        else:  # it has the line of what it is in
            del generated.lineno, generated.end_lineno
        return first

    def _pair(self, code: CodeType, twin: CodeType) -> None:
        self.twins[code] = twin
        for pair in zip(code.co_consts, twin.co_consts):  # noqa: B905
            if isinstance(pair[0], CodeType) and isinstance(pair[1], CodeType):
                self._pair(*pair)

    def of(self, frame: FrameType) -> Origin:
        """File, line and function; of the statement where there is no such twin."""
        twin = self.twins.get(frame.f_code)
        if twin is not None:
            ours, theirs = _instructions(frame.f_code), _instructions(twin)
            if [step[0] for step in ours] == [step[0] for step in theirs]:
                at = sum(step[1] <= frame.f_lasti for step in ours) - 1  # or in a cache behind it
                origin = self.origins.get(theirs[at][2])
                if origin is not None:
                    return origin
        # Lines that AutoGraph adds have no origin: they belong to what is above them.
        before = [line for line in self.lines if line <= frame.f_lineno]
        return self.lines[max(before) if before else min(self.lines)]


def _instructions(code: CodeType) -> list[tuple[str, int, int]]:
    """What a code does: name, place and line of its instructions; NOPs are for lines alone."""
    starts, line = dict(dis.findlinestarts(code)), 0
    instructions = []
    for step in dis.get_instructions(code):
        line = starts.get(step.offset) or line
        if step.opname not in {"NOP", "EXTENDED_ARG"}:
            instructions.append((step.opname, step.offset, line))
    return instructions


def _line_of(origin: Origin) -> int:
    return origin[1]
