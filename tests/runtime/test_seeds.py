"""The programs of the seed documents print what the documents show.

`programs/seeds_*.py` hold them. Here is what the documents themselves show.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command import run_command

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
    done = run_command("simulate", PROGRAMS / f"{name}.py")
    assert done.returncode == 0
    printed = iter(done.stdout.decode().splitlines())
    for line in SHOWN[name].splitlines():
        assert any(line == other for other in printed), f"{line!r} is not printed, or not there"


@pytest.mark.thorough
def test_the_example_of_figure_5_prints_a_row_for_each_batch_size() -> None:
    done = run_command("simulate", ROOT / "examples" / "staging.py", "0", "1", "4")
    assert done.returncode == 0
    heading, *rows = done.stdout.decode().splitlines()
    assert heading.split() == ["batch", "eager/s", "staged/s", "improvement"]
    assert [row.split()[0] for row in rows] == ["1", "4"]
    assert all(row.endswith(" %") for row in rows)
