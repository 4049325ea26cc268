"""The programs of the seed documents print what the documents show.

`programs/seeds_*.py` hold them. Here is what the documents themselves show.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.runtime.comparing import ENVIRONMENT

ROOT = Path(__file__).parent.parent.parent
PROGRAMS = Path(__file__).parent / "programs"

SHOWN = {
    # seeds/001_8168e4ae75ad00ec.txt, the guide
    "seeds_guide": """\
tf.Tensor(5.5, shape=(), dtype=float32)
tf.Tensor([1. 0.], shape=(2,), dtype=float32)
tf.Tensor([3. 0.], shape=(2,), dtype=float32)
tf.Tensor(0.0, shape=(), dtype=float32)
tf.Tensor([0. 1.], shape=(2,), dtype=float32)
tf.Tensor([0.], shape=(1,), dtype=float32)
Tracing!
tf.Tensor(6, shape=(), dtype=int32)
tf.Tensor(11, shape=(), dtype=int32)
Tracing!
tf.Tensor(6, shape=(), dtype=int32)
Tracing!
tf.Tensor(11, shape=(), dtype=int32)
""",
    # seeds/003_c423053a75983ad0.txt, the article on the paper
    "seeds_paper": "6.0 2.0\n",
}


@pytest.mark.parametrize("name", SHOWN)
def test_it_prints_what_the_document_shows(name: str) -> None:
    command = [sys.executable, "-m", "tflogscope", "simulate", f"{PROGRAMS}/{name}.py"]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=True)
    printed = iter(done.stdout.splitlines())
    for line in SHOWN[name].splitlines():
        assert any(line == other for other in printed), f"{line!r} is not printed, or not there"


def test_the_example_of_figure_5_prints_a_row_for_each_batch_size() -> None:
    command = [sys.executable, "-m", "tflogscope", "simulate", "examples/staging.py", "0", "1", "4"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    heading, *rows = done.stdout.splitlines()
    assert heading.split() == ["batch", "eager/s", "staged/s", "improvement"]
    assert [row.split()[0] for row in rows] == ["1", "4"]
    assert all(row.endswith(" %") for row in rows)
