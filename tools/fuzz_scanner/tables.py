"""The scanner's tables as C, for programs without Python."""

from __future__ import annotations

import ctypes

from tflogscope.grammar.compiled import compile_grammar
from tflogscope.grammar.load import load_grammar

ARRAYS = ("literals", "dialects", "files", "messages", "steps", "needles", "anchors")


def tables_as_c() -> str:
    """Arrays of words, and `grammar`, which gives them their types."""
    grammar = compile_grammar(load_grammar())
    lines = []
    for name, array in zip(ARRAYS, grammar.arrays, strict=True):
        raw = ctypes.string_at(array, ctypes.sizeof(array))
        raw += bytes(-len(raw) % 4)
        words = ctypes.cast(raw, ctypes.POINTER(ctypes.c_uint32))[: len(raw) // 4]
        lines.append(f"static const u32 {name}_[] = {{{', '.join(f'{word}u' for word in words)}}};")
    counts = [name for name, _ in grammar.tables._fields_[len(ARRAYS) :]]
    lines.append("static const tables grammar = {")
    lines += [f"    .{name} = (const void *){name}_," for name in ARRAYS]
    lines += [f"    .{name} = {getattr(grammar.tables, name)}," for name in counts]
    return "\n".join([*lines, "};\n"])
