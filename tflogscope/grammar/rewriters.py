"""Plug-ins that rewrite graphs, as TensorFlow's layout pass does: grammars/plugins/, a file each.

The table [rewriter] of a file has the fields of `Rewriter`; a [[rewriter.op]] is a row about ops
that become kernels of the plug-in, and a [[rewriter.rule]] a reason for one to stay as it was, with
the fields of `model.reasons.rules.Rule`. Behind these come lines of the log, as in
grammars/tensorflow/.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from tflogscope.errors import GrammarError
from tflogscope.grammar.load import frozen, packaged_file, packaged_toml

_FOLDER = "plugins"
#: The values of `rewrite` that are TensorFlow's own, and whose kernels they are.
ONEDNN_REWRITES = ("layout", "eager", "wrapped", "remapper")
ONEDNN = "oneDNN"


class RewrittenOp(NamedTuple):
    """One op of a [[rewriter.op]], by its name before the rewrite.

    `types`: what the plug-in's pass lets through; empty: not known. `eager`: the types for which an
    eager op is dispatched as the plug-in's kernel; empty: it never is. `fused`: what may be fused
    into it; empty: anything. `made`: the plug-in makes it of several nodes, so no node has it
    before. `family`: the family of grammars/onednn/ops.toml whose primitives its kernel runs, where
    that file does not have the op. `refusals`: rules that may keep the op as it is, and not others.
    """

    name: str
    types: tuple[str, ...] = ()
    eager: tuple[str, ...] = ()
    fused: tuple[str, ...] = ()
    family: str = ""
    made: bool = False
    refusals: tuple[str, ...] = ()

    @property
    def is_known_to_pass(self) -> bool:
        """Whether the plug-in's layout pass has an entry for it."""
        return not self.made and (bool(self.types) or not self.eager)


class PrimitiveLines(NamedTuple):
    """How lines of the plug-in's own library become primitives. All but two are RE2 patterns.

    `runs`: the message that says that a primitive ran, with the fields `primitive` and `said`;
    `timed`: the message that repeats it with `took` and `unit`. The patterns are for `said`:
    `problem` finds the sizes of the operands. `clock`: the field of `runs` that counts seconds from
    the start of the process; empty: there is none.
    """

    runs: str
    timed: str
    implementation: str
    tensors: str
    problem: tuple[str, ...]
    attributes: str
    clock: str = ""


class Rewriter(NamedTuple):
    """One plug-in. `id` is its value of `rewrite`, `name` what people call its kernels.

    `kernels`: how the names of its kernels begin (RE2); behind that is the op's name, unless
    `kernel_ops` has it, or it is `alone` (there is no op before it). `where`: its layout pass. Ids
    of messages: `loaded` and `works` show that it is there, and that it rewrites (but for
    `switch`, which TensorFlow prints where it is only switched on); `rewritten`
    (fields `node`, `kernel`) are its decisions, and `fused` (with the field that names the node)
    what it made of several nodes. `eager`: where TensorFlow dispatches eager ops as its kernels.
    `record` and `modules`: variables, and levels of source files, that make it talk; `lines`: how
    to record what it runs; `begins`: how its lines begin that have no prefix of TensorFlow's.
    """

    id: str
    name: str
    package: str
    kernels: str
    where: str
    lines: str
    loaded: tuple[str, ...] = ()
    works: tuple[str, ...] = ()
    switch: tuple[str, ...] = ()
    rewritten: tuple[str, ...] = ()
    fused: Mapping[str, str] = {}
    alone: tuple[str, ...] = ()
    begins: tuple[str, ...] = ()
    eager: str = ""
    record: Mapping[str, str] = {}
    modules: Mapping[str, int] = {}
    primitives: PrimitiveLines | None = None
    ops: Mapping[str, RewrittenOp] = {}
    kernel_ops: Mapping[str, str] = {}
    rules: tuple[Mapping[str, Any], ...] = ()

    @property
    def pattern(self) -> str:
        """A pattern for the names of its kernels."""
        return f"^(?:{self.kernels})"


def _read() -> tuple[Rewriter, ...]:
    names = (f"{_FOLDER}/{file.name}" for file in sorted(packaged_file(_FOLDER).glob("*.toml")))
    return tuple(rewriter for name in names if (rewriter := _read_one(name)))


def _read_one(name: str) -> Rewriter | None:
    entry = packaged_toml(name).get("rewriter")
    try:
        return None if entry is None else _rewriter(**frozen(entry))
    except (ValueError, KeyError, TypeError) as error:
        raise GrammarError(f"can't be read: {error}", name) from error


def _rewriter(
    *,
    op: Iterable[Mapping[str, Any]] = (),
    rule: tuple[Mapping[str, Any], ...] = (),
    primitives: Mapping[str, Any] | None = None,
    **entry: Any,
) -> Rewriter:
    return Rewriter(
        **entry,
        primitives=PrimitiveLines(**primitives) if primitives else None,
        ops={op_.name: op_ for row in op for op_ in _ops(**row)},
        kernel_ops={kernel: name for row in op for kernel, name in row.get("kernels", {}).items()},
        rules=rule,
    )


def _ops(*, names: Iterable[str], kernels: object = None, **row: Any) -> list[RewrittenOp]:
    del kernels  # they are in `kernel_ops`
    return [RewrittenOp(name, **row) for name in names]


REWRITERS = _read()
BY_ID = {rewriter.id: rewriter for rewriter in REWRITERS}


def names_of(rewrites: Iterable[str]) -> list[str]:
    """Whose kernels values of `rewrite` stand for, oneDNN first; `none` for nobody's."""
    ids = set(rewrites)
    names = [ONEDNN] if ids & set(ONEDNN_REWRITES) else []
    return names + [rewriter.name for rewriter in REWRITERS if rewriter.id in ids]


def libraries_of(names: Iterable[str]) -> list[str]:
    """Names of libraries without repetition, oneDNN first."""
    wanted = set(names)
    return [name for name in (ONEDNN, *(rewriter.name for rewriter in REWRITERS)) if name in wanted]
