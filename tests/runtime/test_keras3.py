"""`tf.keras` of releases with Keras 3: the ops, names and graphs are those of TensorFlow 2.20."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
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
    with pytest.raises(NotInThisRuntime, match="gradient_accumulation_steps"):
        keras3.optimizers.SGD(gradient_accumulation_steps=2)


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


POLICY = {
    "module": "keras",
    "class_name": "DTypePolicy",
    "config": {"name": "float32"},
    "registered_name": None,
}


class Silent(keras3.Layer):
    """A layer as users write it; it does not say what it was made with."""

    def __init__(self, units: int, rate: float = 0.5, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.inner = keras3.layers.Dense(units)
        self.rate = rate

    def call(self, inputs: Any) -> Any:
        return self.inner(inputs) * self.rate


def test_a_layer_says_what_it_was_made_with() -> None:
    keras3.backend.clear_session()
    told = {"name": "silent", "units": 2, "rate": 0.5, "trainable": True, "dtype": POLICY}
    layer = Silent(2)
    assert list(layer.get_config().items()) == list(told.items())
    assert Silent.from_config(told | {"rate": 0.25}).rate == 0.25
    with pytest.raises(NotImplementedError, match="non-serializable argument values"):
        Silent(2, rate=np.float32(1.0)).get_config()  # type: ignore[arg-type]


def test_a_model_is_cloned_with_new_layers() -> None:
    keras3.backend.clear_session()
    inputs = keras3.Input((4, 3))
    steps = keras3.layers.TimeDistributed(keras3.layers.Dense(2), name="steps")(inputs)
    inner = keras3.Sequential([keras3.Input((2,)), keras3.layers.Dense(3)])
    hidden = Silent(2)(keras3.ops.relu(keras3.layers.LSTM(2)(steps)) * 2)
    model = keras3.Model(inputs, {"a": inner(hidden), "b": hidden}, name="model")
    clone = keras3.models.clone_model(model)
    assert clone.name == "model"
    assert [each.name for each in clone.layers] == [each.name for each in model.layers]
    assert not {id(each) for each in clone.weights} & {id(each) for each in model.weights}
    clone.set_weights(model.get_weights())
    batch = np.random.default_rng(0).random((2, 4, 3), np.float32)
    for name, value in model(batch).items():
        assert np.allclose(value, clone(batch)[name])
    with pytest.raises(ValueError, match="only supported for Sequential models"):
        keras3.models.clone_model(type("Own", (keras3.Model,), {})(), lambda layer: layer)


def test_the_learning_rate_has_its_full_name_in_the_history() -> None:
    model = keras3.Sequential([keras3.Input((3,)), keras3.layers.Dense(1)])
    model.compile("sgd", "mse")
    halved = keras3.callbacks.LearningRateScheduler(lambda _, rate: rate / 2)
    history = model.fit(np.ones((4, 3)), np.ones(4), verbose=0, callbacks=[halved]).history
    assert sorted(history) == ["learning_rate", "loss"]


class Failing(keras3.Layer):
    """Fails when it is called."""

    def call(self, inputs: Any, extra: Any = None) -> Any:
        del inputs, extra
        raise ValueError("this")


def test_an_error_says_in_which_layer() -> None:
    with pytest.raises(ValueError, match="this") as failed:
        Failing()(np.ones((2, 3), "float32"), extra=[1])
    assert str(failed.value) == (
        "Exception encountered when calling Failing.call().\n\n\x1b[1mthis\x1b[0m\n\nArguments "
        "received by Failing.call():\n  • inputs=tf.Tensor(shape=(2, 3), dtype=float32)\n"
        "  • extra=['1']"
    )
