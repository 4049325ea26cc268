"""TensorFlow 1's optimizers: one step is a node, which runs one op per variable.

What an optimizer remembers of a variable is a *slot*, a variable named after it and the optimizer.

Told about: `python/training/optimizer.py` and its neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tflogscope.runtime import context
from tflogscope.runtime.conversion import convert_to_tensor
from tflogscope.runtime.graph import Node
from tflogscope.runtime.library import arrays, graphs, grouping
from tflogscope.runtime.ops.call import call_node, control_dependencies
from tflogscope.runtime.reference_variables import RefVariable
from tflogscope.runtime.sessions import trainable_variables
from tflogscope.runtime.tensors import Tensor
from tflogscope.runtime.variable_scopes import get_variable, variable_scope
from tflogscope.runtime.variables import Variable

__all__ = ["AdamOptimizer", "GradientDescentOptimizer", "MomentumOptimizer", "Optimizer"]


class Optimizer:
    """`tf.compat.v1.train.Optimizer`: a subclass says which numbers and slots its op takes."""

    slots: tuple[str, ...] = ()

    def __init__(self, name: str, **numbers: Any) -> None:
        self._name = name
        self._numbers = numbers
        """The learning rate and others, by the names that their constants get."""
        self._slots: dict[str, dict[int, Variable]] = {}

    def minimize(
        self,
        loss: Tensor,
        global_step: Variable | None = None,
        var_list: Sequence[Variable] | None = None,
        name: str | None = None,
    ) -> Node:
        """A node that takes one step. Raises ValueError if no variable has a gradient."""
        return self.apply_gradients(self.compute_gradients(loss, var_list), global_step, name)

    def compute_gradients(
        self, loss: Tensor, var_list: Sequence[Variable] | None = None
    ) -> list[tuple[Any, Variable]]:
        """Each variable with its gradient before it."""
        variables = trainable_variables() if var_list is None else list(var_list)
        if not variables:
            raise ValueError("No variables to optimize.")
        gradients = graphs.gradients(loss, variables, gate_gradients=True)
        return list(zip(gradients, variables, strict=True))

    def apply_gradients(
        self,
        grads_and_vars: Sequence[tuple[Any, Variable]],
        global_step: Variable | None = None,
        name: str | None = None,
    ) -> Node:
        """A node that changes the variables, and then counts the step."""
        pairs = [(gradient, each) for gradient, each in grads_and_vars if gradient is not None]
        if not pairs:
            raise ValueError("No gradients provided for any variable.")
        with context.name_scope(None):
            self._create_slots([variable for _, variable in pairs])
        with context.name_scope(name or self._name) as scope:
            numbers = {
                key: convert_to_tensor(value, name=key) for key, value in self._numbers.items()
            }
            updates = []
            for gradient, variable in pairs:
                with context.name_scope(f"update_{variable.name.partition(':')[0]}"):
                    updates.append(self._apply(variable, convert_to_tensor(gradient), numbers))
            if global_step is None:
                return self._finish(updates, numbers, scope)
            with control_dependencies([self._finish(updates, numbers, "update")]):
                node: Node = global_step.assign_add(1, name=scope, read_value=False)
                return node

    def get_slot(self, var: Variable, name: str) -> Variable | None:
        """What is remembered of the variable under this name, None if nothing is."""
        return self._slots.get(name, {}).get(id(var))

    def get_slot_names(self) -> list[str]:
        """The names of what is remembered."""
        return sorted(self._slots)

    def _create_slots(self, variables: list[Variable]) -> None:
        for variable in variables:
            for slot in self.slots:
                made = self._slots.setdefault(slot, {})
                if id(variable) not in made:
                    made[id(variable)] = self._zeros_like(variable)

    def _zeros_like(self, variable: Variable) -> Variable:
        scope = f"{variable.name.partition(':')[0]}/{self._name}"
        with variable_scope(None, scope):
            return get_variable(
                "", variable.shape, variable.dtype, arrays.zeros, trainable=False,
                use_resource=not isinstance(variable, RefVariable),
            )  # fmt: skip

    def _apply(self, variable: Variable, gradient: Tensor, numbers: dict[str, Tensor]) -> Any:
        raise NotImplementedError

    def _finish(self, updates: list[Node], numbers: dict[str, Tensor], name: str) -> Node:
        del numbers
        node: Node = grouping.group(*updates, name=name)
        return node

    def _of(self, variable: Variable) -> list[Tensor]:
        """The handles of the variable and of its slots."""
        return [variable.handle, *(self._slots[slot][id(variable)].handle for slot in self.slots)]


def _kind(variable: Variable, op: str) -> str:
    return op if isinstance(variable, RefVariable) else f"Resource{op}"


class GradientDescentOptimizer(Optimizer):
    """Goes against the gradient."""

    def __init__(
        self, learning_rate: Any, use_locking: bool = False, name: str = "GradientDescent"
    ) -> None:
        del use_locking
        super().__init__(name, learning_rate=learning_rate)

    def _apply(self, variable: Variable, gradient: Tensor, numbers: dict[str, Tensor]) -> Any:
        op = _kind(variable, "ApplyGradientDescent")
        return call_node(op, *self._of(variable), numbers["learning_rate"], gradient)


class MomentumOptimizer(Optimizer):
    """Goes on as before, and a little against the gradient."""

    slots = ("momentum",)

    def __init__(
        self,
        learning_rate: Any,
        momentum: Any,
        use_locking: bool = False,
        name: str = "Momentum",
        use_nesterov: bool = False,
    ) -> None:
        del use_locking
        super().__init__(name, learning_rate=learning_rate, momentum=momentum)
        self._use_nesterov = use_nesterov

    def _apply(self, variable: Variable, gradient: Tensor, numbers: dict[str, Tensor]) -> Any:
        return call_node(
            _kind(variable, "ApplyMomentum"),
            *self._of(variable),
            numbers["learning_rate"],
            gradient,
            numbers["momentum"],
            use_nesterov=self._use_nesterov,
        )


class AdamOptimizer(Optimizer):
    """Steps measured by means of the gradient and its square.

    The powers of both betas are variables, multiplied once per step.
    """

    slots = ("m", "v")

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "Adam",
    ) -> None:
        del use_locking
        super().__init__(
            name, learning_rate=learning_rate, beta1=beta1, beta2=beta2, epsilon=epsilon
        )
        self._powers: list[Variable] = []

    def _create_slots(self, variables: list[Variable]) -> None:
        if not self._powers:
            first = min(variables, key=lambda each: each.name)
            kind = RefVariable if isinstance(first, RefVariable) else Variable
            self._powers = [
                kind(
                    self._numbers[beta],
                    trainable=False,
                    name=f"{beta}_power",
                    use_resource=kind is Variable,
                )
                for beta in ("beta1", "beta2")
            ]
        super()._create_slots(variables)

    def _apply(self, variable: Variable, gradient: Tensor, numbers: dict[str, Tensor]) -> Any:
        powers = [
            each.handle if isinstance(variable, RefVariable) else each.value()
            for each in self._powers
        ]
        op = _kind(variable, "ApplyAdam")
        return call_node(op, *self._of(variable), *powers, *numbers.values(), gradient)

    def _finish(self, updates: list[Node], numbers: dict[str, Tensor], name: str) -> Node:
        betas = numbers["beta1"], numbers["beta2"]
        with control_dependencies(updates):
            multiplied = [
                power.assign(power * beta, read_value=False)
                for power, beta in zip(self._powers, betas, strict=True)
            ]
        return super()._finish([*updates, *multiplied], numbers, name)
