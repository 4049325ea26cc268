"""Programs as users write them print on the small TensorFlow what they print on the real one."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import tflogscope.runtime.api as tf
from tests.runtime.comparing import difference
from tflogscope.runtime import context, reference_variables
from tflogscope.runtime.eager import EAGER
from tflogscope.runtime.simulate import run_program

HERE = Path(__file__).parent
PROGRAMS = sorted((HERE / "user_programs").glob("*.py"))


@pytest.fixture
def python_as_it_was() -> Iterator[None]:
    """A program run in this process binds `import tensorflow`, and more: undone afterwards."""
    modules, finders = dict(sys.modules), list(sys.meta_path)
    arguments, path, options = list(sys.argv), list(sys.path), np.get_printoptions()
    tf.random.set_seed(None)
    tf.keras.backend.clear_session()
    yield
    context.make_default(EAGER)
    reference_variables.enable_resource_variables()
    np.set_printoptions(**options)
    sys.argv[:], sys.path[:], sys.meta_path[:] = arguments, path, finders
    for name in set(sys.modules) - set(modules):
        if name.partition(".")[0] in {"tensorflow", "keras"}:
            del sys.modules[name]
    sys.modules["__main__"] = modules["__main__"]


@pytest.mark.usefixtures("python_as_it_was")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_it_prints_what_tensorflow_prints(
    program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = run_program(str(program), program.read_bytes(), [])
    printed = capsys.readouterr()
    assert status == 0, printed.err
    recorded = HERE / "data" / "user_programs" / f"{program.stem}.txt"
    assert difference(printed.out, recorded.read_text(encoding="utf-8")) is None
