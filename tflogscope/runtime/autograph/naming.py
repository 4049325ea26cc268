"""Fresh names for what a conversion adds to a function. Told about: autograph/pyct/naming.py."""

from __future__ import annotations

import ast


class Namer:
    """Gives `base`, else `base_1`, `base_2`, …: the first that names nothing in the function."""

    def __init__(self, tree: ast.AST) -> None:
        self.taken: set[str] = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Name):
                self.taken.add(node.id)
            elif isinstance(node, ast.arg):
                self.taken.add(node.arg)
            elif isinstance(node, ast.FunctionDef | ast.ClassDef):
                self.taken.add(node.name)

    def fresh(self, base: str) -> str:
        name, number = base, 0
        while name in self.taken:
            number += 1
            name = f"{base}_{number}"
        self.taken.add(name)
        return name
