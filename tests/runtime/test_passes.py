"""The passes: what they leave of functions is what TensorFlow runs, and computes the same."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.runtime.record_passes import without_numbers
from tflogscope.runtime import passes, simulate, telling

HERE = Path(__file__).parent
REAL = json.loads((HERE / "data" / "passes.json").read_text(encoding="utf-8"))


class Recorder(telling.Listener):
    """The nodes that ran, by function."""

    def __init__(self) -> None:
        self.functions: dict[int, str] = {}
        self.nodes: dict[str, set[str]] = {}
        self.constants: Counter[str] = Counter()
        self.launched: list[tuple[str, bool]] = []
        self.told: list[tuple[str, ...]] = []

    def function_called(self, name: str, step: int, function: Any) -> None:
        """A step begins."""
        del function
        self.functions[step] = without_numbers(name)

    def node_started(self, step: int, node: Any) -> None:
        """A node runs."""
        if step == -1:
            self.constants[f"{node.name} {node.type}"] += 1
            return
        self.nodes.setdefault(self.functions[step], set()).add(f"{node.name} {node.type}")

    node_dead = node_started

    def function_launched(self, name: str, function: Any, *, cached: bool) -> None:
        """A compiled function runs."""
        del function
        self.launched.append((re.sub(r"_\d+$", "", name), cached))

    def node_rewritten(self, name: str, op: str, new: str, attributes: Any) -> None:
        """The layout pass."""
        self.told.append(("rewritten", name, op, new, attributes["_kernel"]))

    def nodes_fused(self, name: str, op: str, fused: str, gone: Any) -> None:
        """The remapper."""
        self.told.append(("fused", name, op, fused, *gone))

    def op_rewritten(self, op: str, new: str, attributes: Any) -> None:
        """The eager registry."""
        del attributes
        self.told.append(("eager", op, new))


def run(settings: passes.Settings | None) -> tuple[dict[str, Any], Recorder]:
    """The program's results, and what was told."""
    program = HERE / "optimised_program.py"
    recorder = Recorder()
    scope: dict[str, Any] = {"__name__": "__main__"}
    simulate.bind()
    with passes.using(settings), telling.listen(recorder):
        exec(compile(program.read_bytes(), program, "exec"), scope)
    return scope["RESULTS"], recorder


@pytest.fixture(scope="module")
def runs() -> dict[str, tuple[dict[str, Any], Recorder]]:
    """The program as traced, and optimised with and without oneDNN."""
    settings = {
        "traced": None,
        "on": passes.Settings(onednn=True),
        "off": passes.Settings(onednn=False),
    }
    return {name: run(setting) for name, setting in settings.items()}


@pytest.mark.parametrize("onednn", ["on", "off"])
@pytest.mark.parametrize("function", sorted(filter(None, REAL["on"])))
def test_nodes_that_run_are_tensorflows(runs: Any, onednn: str, function: str) -> None:
    """Name and op of each."""
    assert sorted(runs[onednn][1].nodes[function]) == REAL[onednn][function]


@pytest.mark.parametrize("onednn", ["on", "off"])
def test_constants_that_are_computed_are_tensorflows(runs: Any, onednn: str) -> None:
    """At step -1, while functions are traced and when they are instantiated."""
    ours = sorted(f"{count} {node}" for node, count in runs[onednn][1].constants.items())
    assert ours == REAL[onednn][""]


def test_compiled_functions_show_no_nodes(runs: Any) -> None:
    """The call is a node, what is called is launched."""
    recorder = runs["on"][1]
    assert recorder.launched == [("__inference_product", False)]
    assert "product" not in recorder.nodes


@pytest.mark.parametrize("onednn", ["on", "off"])
def test_values_do_not_change(runs: Any, onednn: str) -> None:
    """Optimised functions give what they gave."""
    traced, optimised = runs["traced"][0], runs[onednn][0]
    assert traced.keys() == optimised.keys()
    for name, result in traced.items():
        for one, other in zip(_arrays(result), _arrays(optimised[name]), strict=True):
            np.testing.assert_allclose(other, one, rtol=2e-5, atol=2e-6, err_msg=name)


def _arrays(result: Any) -> list[Any]:
    return (
        [each.numpy() for each in result] if isinstance(result, (list, tuple)) else [result.numpy()]
    )


def test_passes_tell_what_they_do(runs: Any) -> None:
    """Fusing keeps the last name, the layout pass says which kernel it means."""
    told = runs["on"][1].told
    assert ("fused", "Relu", "Relu", "_FusedMatMul", "MatMul", "BiasAdd") in told
    rewritten = ("rewritten", "Relu", "_FusedMatMul", "_MklNativeFusedMatMul", "MklNameChangeOp")
    assert rewritten in told
    assert not [each for each in runs["off"][1].told if each[0] == "rewritten"]
