"""Which nodes of a loop's body are made again: those that depend on the number of the iteration.

Told about: `pfor`, `_pfor_impl` of `python/ops/parallel_for/control_flow_ops.py`, the class `PFor`
of `pfor.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tflogscope.runtime import context, nest
from tflogscope.runtime.conversion import convert_to_tensor
from tflogscope.runtime.function.polymorphic import PolymorphicFunction
from tflogscope.runtime.graph import Graph, Node
from tflogscope.runtime.library import arrays, joining
from tflogscope.runtime.ops.call import call
from tflogscope.runtime.release import since
from tflogscope.runtime.shapes import TensorShape
from tflogscope.runtime.tensors import SymbolicTensor, Tensor

__all__ = ["Conversion", "NotVectorized", "Stacked", "Task", "pfor"]


class NotVectorized(Exception):
    """An op of the body for which there is no rule."""


class Stacked(NamedTuple):
    """What stands for a tensor of the body: one for all iterations, or their values in a row."""

    tensor: Tensor
    stacked: bool


def pfor(body: Callable[[Tensor], Any], iterations: int) -> Any:
    """The results of `body(0)`, `body(1)`, … stacked. Eagerly it is a function that is traced for
    this one call.

    Raises NotVectorized if the body has an op without a rule.
    """

    def f() -> Any:
        return _all_at_once(body, iterations)

    return PolymorphicFunction(f, "f", autograph=False)() if context.executing_eagerly() else f()


def _all_at_once(body: Callable[[Tensor], Any], iterations: int) -> Any:
    graph: Any = context.current()
    count_before = len(graph.nodes)
    with context.name_scope("loop_body"):
        number: Any = call("PlaceholderWithDefault", 0, shape=TensorShape([]))
        results = body(number)
    results = nest.map_structure(
        lambda each: each if each is None else convert_to_tensor(each), results
    )
    inside = graph.nodes[count_before:]
    convert_to_tensor(iterations)  # as TensorFlow does, which then finds that it is constant
    with context.name_scope("pfor"):
        conversion = Conversion(number, iterations, inside)
        return nest.map_structure(
            lambda each: each if each is None else conversion.result(each), results
        )


class Conversion:
    """The nodes of a body, made again for all iterations."""

    def __init__(self, number: SymbolicTensor, iterations: int, inside: Sequence[Node]) -> None:
        self.iterations = iterations
        self.length = convert_to_tensor([iterations])
        """A vector of one element."""
        self.numbers = arrays.range(iterations)
        self._inside = set(inside)
        self._known: dict[int, Stacked] = {number.uid: Stacked(self.numbers, True)}

    def result(self, tensor: Any) -> Tensor:
        """The values of all iterations, the same ones repeated if need be."""
        found = self._converted(tensor)
        return found.tensor if found.stacked else self.repeated(found.tensor)

    def repeated(self, tensor: Tensor) -> Tensor:
        """The same value for each iteration."""
        ones = arrays.reshape(arrays.ones_like(arrays.shape(tensor)), [-1])
        multiples = joining.concat([arrays.reshape(self.length, [-1]), ones], 0)
        return joining.tile(arrays.expand_dims(tensor, 0), multiples)  # type: ignore[no-any-return]

    def _converted(self, tensor: SymbolicTensor) -> Stacked:
        """Inputs before what reads them. NB: of several inputs the last one is done first."""
        waiting = [tensor]
        while waiting:
            current = waiting[-1]
            if current.uid in self._known:
                waiting.pop()
                continue
            node = current.op
            if node in self._inside:
                needed = [*node.inputs, *_awaited(node)]
                missing = [each for each in needed if each.uid not in self._known]
                if missing:
                    waiting += missing
                    continue
            for old, new in zip(node.outputs, self._made_again(node), strict=True):
                self._known[old.uid] = new
                if new.stacked:
                    new.tensor.set_shape(TensorShape([self.iterations]).concatenate(old.shape))
            waiting.pop()
        return self._known[tensor.uid]

    def _made_again(self, node: Node) -> Sequence[Stacked]:
        from tflogscope.runtime.vectorizing.rules import RULES

        if node not in self._inside:
            return [Stacked(output, False) for output in node.outputs]
        if node.definition.stateful or any(not each.outputs for each in node.control_inputs):
            raise NotVectorized(f"{node} has an effect, or waits for one")
        awaited = [self._known[each.uid].tensor for each in _awaited(node)]
        inputs = [self._known[each.uid] for each in node.inputs]
        after = [*(each.tensor for each in inputs), *awaited]
        if all(a is b for a, b in zip(after, [*node.inputs, *_awaited(node)], strict=True)):
            return [Stacked(output, False) for output in node.outputs]
        graph: Graph = context.current()  # type: ignore[assignment]
        with graph.control_dependencies(awaited), graph.name_scope(f"{node.name}/pfor/"):
            if not any(each.stacked for each in inputs):
                made = again(node, [each.tensor for each in inputs])
                return [Stacked(output, False) for output in made]
            rule = RULES.get(node.type)
            if rule is None:
                raise NotVectorized(f"There is no rule for {node.type}")
            given = rule(Task(self, node, inputs))
            return [given] if isinstance(given, Stacked) else given


def _awaited(node: Node) -> list[SymbolicTensor]:
    """The outputs of the nodes that must run before."""
    return [output for each in node.control_inputs for output in each.outputs]


def again(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    """The outputs of the same op with other inputs."""
    attributes = {key: each for key, each in node.attributes.items() if not key.startswith("_")}
    return context.execute(node.type, inputs, attributes)


@dataclass(slots=True)
class Task:
    """A node to make again, with what its inputs have become."""

    conversion: Conversion
    node: Node
    inputs: list[Stacked]

    def stacked(self, index: int) -> Any:
        """An input that must differ between iterations. Raises NotVectorized if it doesn't."""
        if not self.inputs[index].stacked:
            raise NotVectorized(f"Input {index} of {self.node.type} is the same in all iterations")
        return self.inputs[index].tensor

    def same(self, index: int) -> Any:
        """An input that must be the same in all iterations. Raises NotVectorized if it isn't."""
        if self.inputs[index].stacked:
            raise NotVectorized(f"Input {index} of {self.node.type} differs between iterations")
        return self.inputs[index].tensor

    def stack(self, *indices: int) -> None:
        """Repeat those inputs (all if none is named) that are the same in all iterations."""
        for index in indices or range(len(self.inputs)):
            tensor, stacked = self.inputs[index]
            if not stacked:
                self.inputs[index] = Stacked(self.conversion.repeated(tensor), True)

    def align(self) -> None:
        """Give stacked inputs dimensions of 1 behind the first, so that the others broadcast."""
        if since(2, 15) and all(tensor.shape.rank is not None for tensor, _ in self.inputs):
            self._align_known()
            return
        ranks = [
            arrays.rank(tensor) if stacked else arrays.rank(tensor) + 1
            for tensor, stacked in self.inputs
        ]
        highest: Any = ranks[0]
        for rank in ranks[1:]:
            highest = call("Maximum", rank, highest)
        for index, (tensor, stacked) in enumerate(self.inputs):
            if stacked:
                shape: Any = arrays.shape(tensor)
                ones = joining.tile([1], arrays.reshape(highest - ranks[index], [1]))
                new = joining.concat([shape[:1], ones, shape[1:]], 0)
                self.inputs[index] = Stacked(arrays.reshape(tensor, new), True)

    def _align_known(self) -> None:
        """The same where all ranks are known: only what is missing is added."""
        ranks = [(tensor.shape.rank or 0) + (not stacked) for tensor, stacked in self.inputs]
        for index, (tensor, stacked) in enumerate(self.inputs):
            if stacked:
                wider = tensor
                for _ in range(max(ranks) - ranks[index]):
                    wider = arrays.expand_dims(wider, 1)
                self.inputs[index] = Stacked(wider, True)
