"""What Keras itself runs eagerly between calls of its functions: no program can move that.

`Model.predict` puts together what its batches gave, and callbacks of Keras 3 compare what they
watch with ops. Known by the function that was called last before, which has a name of Keras's
own, and by the ops that follow, in the order of Keras's code.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

KERAS_STEPS = (
    "train_function",
    "test_function",
    "predict_function",
    "one_step_on_iterator",
    "multi_step_on_iterator",
    "one_step_on_data",
    "one_step_on_data_distributed",
    "multi_step_on_data",
)
"""Functions that Keras's loops call. Between two calls only callbacks run code of the program.

Keras 2 engine/training.py, make_train_function and its like; Keras 3 backend/tensorflow/trainer.py.
"""


@dataclass(frozen=True)
class _Habit:
    """What follows a call of one of these functions, as a pattern of ops with a blank behind each.

    Ops that every program has (constants, data sets, reads of variables) may stand between.
    """

    functions: tuple[str, ...]
    ops: str
    where: str  # in Keras, for people


_HABITS = (
    _Habit(
        ("predict_function",),
        r"(?:ConcatV2 |Identity )+",
        "Keras 2.8, engine/training.py, concat",
    ),
    _Habit(
        ("predict_function", "one_step_on_data_distributed", "multi_step_on_data"),
        r"(?:(?:Shape StridedSlice )+Pack StridedSlice Equal All All (?:ConcatV2|Pack) )+",
        "Keras 2.9 on, engine/training.py, and Keras 3, backend/tensorflow/trainer.py, "
        "potentially_ragged_concat",
    ),
    _Habit(
        ("one_step_on_iterator", "multi_step_on_iterator"),
        r"(?:Less |Greater )+$",
        "Keras 3, callbacks/monitor_callback.py, _is_improvement",
    ),
)


def rows_of_keras(eager: pl.DataFrame) -> pl.Series:
    """Which of these ops are Keras's own: their `row`.

    Args:
        eager: ops in order that the causes do not excuse: row, op, and of the call last before
            them `last_row` and `last`, the function's name.
    """
    habits = [_followed(eager, habit) for habit in _HABITS]
    return pl.concat(habits).unique()


def _followed(eager: pl.DataFrame, habit: _Habit) -> pl.Series:
    after = eager.filter(pl.col("last").is_in(habit.functions)).select(
        "row", "op", "last_row", place=pl.int_range(pl.len()).over("last_row")
    )
    sequences = after.group_by("last_row").agg(
        said=pl.col("op").fill_null("?").str.join(" ") + pl.lit(" ")
    )
    length = pl.col("said").str.extract(f"^({habit.ops})").str.count_matches(" ")
    lengths = sequences.select("last_row", length=length.fill_null(0))
    placed = after.join(lengths, on="last_row", how="left", maintain_order="left")
    return placed.filter(pl.col("place") < pl.col("length"))["row"]
