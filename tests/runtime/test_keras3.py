"""`tf.keras` of releases with Keras 3: the ops, names and graphs are those of TensorFlow 2.20."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.comparing import ENVIRONMENT
from tests.runtime.record_programs import normal
from tests.runtime.test_simulate_programs import first_difference, traced
from tflogscope.runtime import keras, keras3, release, simulate
from tflogscope.runtime.errors import NotInThisRuntime

HERE = Path(__file__).parent
DATA = HERE / "data" / "keras3"
RECORDED = sorted(path.stem for path in DATA.glob("*.json"))


@functools.cache
def watched(name: str) -> Any:
    """What the program does on the runtime, as 2.20."""
    program = HERE / "programs" / f"{name}.py"
    command = [sys.executable, "-m", "tests.runtime.run_watched", str(program), "2.20"]
    done = subprocess.run(
        command,
        cwd=HERE.parent.parent,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout.splitlines()[-1])
    assert seen["status"] == 0, done.stderr
    return seen


def recorded(name: str) -> Any:
    """What it did on TensorFlow 2.20."""
    return json.loads((DATA / f"{name}.json").read_text())


@pytest.mark.parametrize("name", RECORDED)
def test_the_eager_ops_are_those_of_tensorflow_in_order(name: str) -> None:
    theirs = [normal(op) for op in recorded(name)["eager"]]
    assert first_difference(watched(name)["eager"], theirs) is None


@pytest.mark.parametrize("name", RECORDED)
def test_the_functions_have_the_nodes_of_tensorflow(name: str) -> None:
    ours, theirs = watched(name)["graphs"], traced(recorded(name)["graphs"])
    for (our_name, our_nodes), (their_name, their_nodes) in zip(ours, theirs, strict=False):
        assert our_name == their_name
        assert first_difference(our_nodes, their_nodes) is None, our_name
    assert len(ours) == len(theirs)


@pytest.mark.parametrize(
    ("series", "expected"), [("2.8", keras), ("2.13", keras), ("2.16", keras3), ("2.21.0", keras3)]
)
def test_one_place_says_which_keras_a_release_has(series: str, expected: Any) -> None:
    try:
        assert simulate.bind(series).keras is expected
    finally:
        simulate.bind()
    assert not release.since(2, 16)


def test_what_is_missing_is_named() -> None:
    with pytest.raises(NotInThisRuntime, match=r"tf\.keras\.layers\.TextVectorization"):
        _ = keras3.layers.TextVectorization
    with pytest.raises(NotInThisRuntime, match="steps_per_execution"):
        keras3.Sequential([keras3.layers.Dense(1)]).compile(steps_per_execution=4)


def test_names_count_by_class() -> None:
    keras3.backend.clear_session()
    names = [keras3.layers.Conv2D(1, 1).name, keras3.layers.LSTM(1).name, keras3.layers.GRU(1).name]
    names += [keras3.layers.Dense(1).name, keras3.layers.Dense(1).name]
    assert names == ["conv2d", "lstm", "gru", "dense", "dense_1"]


def test_variables_know_where_they_are() -> None:
    keras3.backend.clear_session()
    model = keras3.Sequential([keras3.layers.Input((4,)), keras3.layers.Dense(2)])
    assert [each.path for each in model.weights] == [
        "sequential/dense/kernel",
        "sequential/dense/bias",
    ]
    inputs = keras3.Input((4,))
    functional = keras3.Model(inputs, keras3.layers.Dense(2)(inputs))
    assert [each.path for each in functional.weights] == ["dense_1/kernel", "dense_1/bias"]
    assert functional.name == "functional_1"


def test_operations_on_keras_tensors_become_part_of_the_model() -> None:
    inputs = keras3.Input((3,))
    outputs = keras3.ops.square(inputs) + 1.0
    model = keras3.Model(inputs, outputs)
    assert model(simulate.bind().constant([[1.0, 2.0, 3.0]])).numpy().tolist() == [[2.0, 5.0, 10.0]]


SUMMARY = """\
Model: "sequential"
┏━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━┓
┃ Layer (type)           ┃ Output Shape    ┃   Param # ┃
┡━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━┩
│ the_first_of_them      │ (None, 2)       │        10 │
│ (Dense)                │                 │           │
├────────────────────────┼─────────────────┼───────────┤
│ dropout (Dropout)      │ (None, 2)       │         0 │
└────────────────────────┴─────────────────┴───────────┘
 Total params: 10 (40.00 B)
 Trainable params: 10 (40.00 B)
 Non-trainable params: 0 (0.00 B)
"""


def test_a_summary_is_a_table_in_boxes() -> None:
    keras3.backend.clear_session()
    first, second = keras3.layers.Dense(2, name="the_first_of_them"), keras3.layers.Dropout(0.5)
    model = keras3.Sequential([keras3.layers.Input((4,)), first, second])
    shown: list[str] = []
    model.summary(line_length=56, print_fn=shown.append)
    assert "".join(shown) == SUMMARY
