"""`tf.train.ExponentialMovingAverage`: for each variable another one that follows it slowly.

Told about: `python/training/moving_averages.py`, `python/training/slot_creator.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tflogscope.runtime import context
from tflogscope.runtime.collections_v1 import GraphKeys, add_to_collection
from tflogscope.runtime.conversion import convert_to_tensor
from tflogscope.runtime.dtypes import float32
from tflogscope.runtime.errors import NotInThisRuntime
from tflogscope.runtime.library import arrays
from tflogscope.runtime.library.elementary import cast
from tflogscope.runtime.library.grouping import group
from tflogscope.runtime.ops.call import call
from tflogscope.runtime.reference_variables import RefVariable
from tflogscope.runtime.sessions import trainable_variables
from tflogscope.runtime.variable_scopes import get_variable, variable_scope
from tflogscope.runtime.variables import Variable
from tflogscope.runtime.variables_v1 import initial_value

__all__ = ["ExponentialMovingAverage"]


class ExponentialMovingAverage:
    """`average = decay * average + (1 - decay) * value`, each time that it is applied."""

    def __init__(
        self,
        decay: Any,
        num_updates: Any = None,
        zero_debias: bool = False,
        name: str = "ExponentialMovingAverage",
    ) -> None:
        if zero_debias:
            raise NotInThisRuntime("ExponentialMovingAverage(zero_debias=True)")
        self.name = name
        self._decay, self._num_updates = decay, num_updates
        self._averages: dict[Any, Variable] = {}

    def apply(self, var_list: Sequence[Any] | None = None) -> Any:
        """Make the averages if they are not there, and update them: eagerly now, in a graph by the
        node that it gives. Raises TypeError for what is not of floats.
        """
        followed = trainable_variables() if var_list is None else list(var_list)
        for each in followed:
            if not each.dtype.is_floating:
                raise TypeError(f"The variables must be half, float, or double: {each.name}")
            if each.ref() not in self._averages:
                self._averages[each.ref()] = self._made(each)
        with context.name_scope(self.name) as scope:
            decay: Any = convert_to_tensor(self._decay, dtype=float32, name="decay")
            if self._num_updates is not None:
                updates: Any = cast(self._num_updates, float32, name="num_updates")
                decay = call("Minimum", decay, (1.0 + updates) / (10.0 + updates))
            done = [_moved(self._averages[each.ref()], each, decay) for each in followed]
            return group(*done, name=scope)

    def average(self, var: Any) -> Variable | None:
        """The variable that follows this one, None if none does."""
        return self._averages.get(var.ref())

    def average_name(self, var: Any) -> str:
        """The name that it has, or would have."""
        found = self.average(var)
        if found is not None:
            return str(found.name.partition(":")[0])
        return f"{var.name.partition(':')[0]}/{self.name}"

    def _made(self, followed: Any) -> Variable:
        """A slot: of a variable it begins with its value, of a tensor with zeros."""
        with context.init_scope():
            variable = isinstance(followed, Variable)
            first: Any = _value(followed) if variable else arrays.zeros
            shape = None if variable else followed.shape
            with variable_scope(None, f"{followed.name.partition(':')[0]}/{self.name}"):
                made = get_variable(
                    "", shape, followed.dtype, first, trainable=False,
                    use_resource=not isinstance(followed, RefVariable),
                )  # fmt: skip
            if variable:
                add_to_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, followed)
            return made


def _value(variable: Variable) -> Any:
    """The variable's value. NB: in a graph its first one, where TensorFlow asks by a conditional
    whether it has another yet.
    """
    if context.executing_eagerly():
        return variable.read_value()
    return initial_value(variable)


def _moved(average: Variable, value: Any, decay: Any) -> Any:
    with context.name_scope("AssignMovingAvg") as scope:
        step = cast(convert_to_tensor(1.0 - decay, name="decay"), average.dtype)
        return average.assign_sub((average - value) * step, name=scope)
