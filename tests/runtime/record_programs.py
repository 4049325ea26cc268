"""Record what the real TensorFlow does in each program of `programs/`: run them with TensorFlow
2.13.

    python -m tests.runtime.record_programs [NAME]

writes `data/programs/NAME.json`: what the program prints, the eager ops in order (as the log of
TensorFlow shows them, with `_EagerConst` for a value that became a tensor), and the nodes of each
traced function. Run with TensorFlow 2.20, it writes those of `KERAS_3` into `data/keras3`.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PROGRAMS, DATA = HERE / "programs", HERE / "data" / "programs"
LATER = {  # for Keras 3 only
    "features_later", "flips_later", "functions_later", "layers_later", "mixed_precision",
    "optimizers_later", "sequences", "steps_at_once",
}  # fmt: skip
KERAS_3 = (
    "cnn_fit", "data_fit", "functional", "lstm_fit", "mlp_fit", "run_eagerly", *sorted(LATER),
)  # fmt: skip
NOT_RECORDED = {"arguments", "beside", "failing"}
EXECUTED = re.compile(r"execute\.cc:\d+\] Executing op (\S+) in device")
# The log at its first level, of that file only; ops keep their names without oneDNN.
LOGGING = {"TF_CPP_VMODULE": "execute=1", "TF_ENABLE_ONEDNN_OPTS": "0", "TF_CPP_MIN_LOG_LEVEL": "0"}


def normal(name: str) -> str:
    """The name of a function without the numbers that only count what happened before."""
    return re.sub(r"_\d+(?=_|$)", "_N", name) if name.startswith("__") else name


def node_text(name: str, type: str, inputs: list[str]) -> str:
    """A node as text; control inputs, which have no order, behind the others and sorted."""
    data = [each for each in inputs if not each.startswith("^")]
    text = f"{name} = {type}({', '.join(data + sorted(set(inputs) - set(data)))})"
    return re.sub(r"/\d+\b", "/N", text)  # some names hold the number of a tensor


def record(program: Path) -> dict[str, Any]:
    """Run the program in this process; its log goes to standard error."""
    concrete_function = _concrete_function()
    graphs: list[tuple[str, list[str]]] = []
    made = concrete_function.__init__

    def noting(self: Any, *args: Any, **kwargs: Any) -> None:
        made(self, *args, **kwargs)
        name = self.name.decode() if isinstance(self.name, bytes) else self.name
        nodes = self.graph.as_graph_def().node
        graphs.append((normal(name), [node_text(n.name, n.op, list(n.input)) for n in nodes]))

    concrete_function.__init__ = noting
    printed = io.StringIO()
    sys.argv = [str(program)]
    sys.path.insert(0, str(program.parent))
    with contextlib.redirect_stdout(printed):
        runpy.run_path(str(program), run_name="__main__")
    return {"stdout": printed.getvalue(), "graphs": graphs}


def _concrete_function() -> Any:
    from tensorflow.python.eager import (  # type: ignore[import-untyped,import-not-found,unused-ignore]
        polymorphic_function,
    )

    later = _is_later()
    module = f"{polymorphic_function.__name__}.{'concrete' if later else 'monomorphic'}_function"
    return importlib.import_module(module).ConcreteFunction


def _is_later() -> bool:
    """Is it a release with Keras 3?"""
    import tensorflow as tf  # type: ignore[import-untyped,import-not-found,unused-ignore]

    return int(tf.__version__.split(".")[1]) >= 16


def main() -> None:
    """Each program in a process of its own, since names and seeds count what came before."""
    if len(sys.argv) > 2:
        sys.stdout.write(json.dumps(record(PROGRAMS / f"{sys.argv[1]}.py")))
        return
    later = _is_later()
    folder = HERE / "data" / "keras3" if later else DATA
    folder.mkdir(parents=True, exist_ok=True)
    every = KERAS_3 if later else sorted({path.stem for path in PROGRAMS.glob("*.py")} - LATER)
    wanted = sys.argv[1:] or every
    for name in wanted:
        if name not in NOT_RECORDED:
            done = subprocess.run(
                [sys.executable, "-m", "tests.runtime.record_programs", name, "here"],
                cwd=HERE.parent.parent,
                env={**os.environ, **LOGGING},
                capture_output=True,
                text=True,
                check=True,
            )
            recorded = json.loads(done.stdout)
            recorded["eager"] = [normal(op) for op in EXECUTED.findall(done.stderr)]
            (folder / f"{name}.json").write_text(json.dumps(recorded, indent=0) + "\n")


if __name__ == "__main__":
    main()
