"""The dataflow executor: a node runs when its inputs are there; a queue of ready nodes, and threads
that take from it.

A dead value (of the branch not taken) makes what needs it dead: such a node does not run its
kernel, and passes deadness on, until a `Merge` takes the live one of its inputs. Told about:
`core/common_runtime/executor.cc` (`ExecutorState::Process`) and `propagator_state.cc`
(`PropagateOutputs`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

from tflogscope.runtime import telling
from tflogscope.runtime.errors import KERNEL_ERRORS, InvalidArgumentError, as_op_error
from tflogscope.runtime.executor.failing import located
from tflogscope.runtime.executor.frames import (
    DEAD,
    Flow,
    Frame,
    Item,
    Iteration,
    Kind,
    Scope,
    build_flow,
)
from tflogscope.runtime.executor.plan import Plan, kernel_values
from tflogscope.runtime.executor.threads import work_together

__all__ = ["run_dataflow"]


def run_dataflow(plan: Plan, values: Sequence[Any], step_id: int, threads: int = 1) -> list[Any]:
    """The results for these arguments. Raises the error of the first kernel that failed."""
    if plan.flow is None:
        plan.flow = build_flow(plan)
    return Run(plan, plan.flow, values, step_id).run(threads)


class Run:
    """One step: what has arrived where."""

    def __init__(self, plan: Plan, flow: Flow, values: Sequence[Any], step_id: int) -> None:
        self.flow = flow
        self.step_id = step_id
        self.results = [values[slot] if slot < len(values) else DEAD for slot in plan.results]
        self.ready: deque[tuple[Item, Iteration]] = deque()
        self.running = 0
        self.error: BaseException | None = None
        self.listener = None if plan.launches is not None else telling.listener
        self.root = Frame(flow.root, None)
        iteration = self.root.iterations[0]
        for item in flow.sources:
            self._make_ready(item, iteration)
        for value, targets in zip(values, flow.arguments, strict=True):
            for item, position in targets:
                self._deliver(item, position, value, iteration)

    def run(self, threads: int) -> list[Any]:
        """Run all nodes, with so many threads (this one among them)."""
        if threads > 1:
            work_together(self, threads)
        else:
            while self.ready:
                item, iteration = self.ready.popleft()
                outputs, dead = self.process(item, iteration)
                if outputs is not None:
                    self.propagate(item, iteration, outputs, dead)
        if self.error is not None:
            raise self.error
        for which, value in enumerate(self.results):
            if value is DEAD:
                raise InvalidArgumentError(None, None, f"Retval[{which}] does not have value")
        return self.results

    def process(self, item: Item, iteration: Iteration) -> tuple[list[Any] | None, bool]:
        """Run a node's kernel, or let it be dead; its outputs, and whether it is. The first failure
        is kept in `error`; a node that failed has no outputs, and what needs none of them runs all
        the same (`ExecutorState::NodeDone`).
        """
        node, listener = item.step.node, self.listener
        inputs = iteration.inputs[item.first : item.first + item.count]
        if iteration.dead[item.index] and (
            item.kind is not Kind.MERGE or all(value is DEAD for value in inputs)
        ):
            if listener is not None:
                listener.node_dead(self.step_id, node)
            return [DEAD] * len(item.step.dtypes), True
        if listener is not None:
            listener.node_started(self.step_id, node)
        try:
            outputs = kernel_values(item.step, inputs)
        except Exception as raised:  # noqa: BLE001 - whatever it is ends the step and is raised to the caller
            failed = isinstance(raised, KERNEL_ERRORS)
            error = located(as_op_error(raised), node) if failed else raised
            if listener is not None:
                listener.node_failed(self.step_id, node, error)
            if self.error is None:
                self.error = error
            return None, False
        if listener is not None:
            listener.node_done(self.step_id, node, outputs)
        return outputs, False

    # -- where the outputs go: always on one thread at a time ------------------

    def propagate(self, item: Item, iteration: Iteration, outputs: list[Any], dead: bool) -> None:
        """Hand the outputs on; what has all its inputs then is ready."""
        for output, which in self.flow.results.get(item, ()):
            if outputs[output] is not DEAD:
                self.results[which] = outputs[output]
        if item.kind is Kind.ENTER:
            self._enter(item, iteration, outputs, dead)
        elif item.kind is Kind.EXIT:
            if not dead:
                assert iteration.frame.parent is not None
                self._activate(item, iteration.frame.parent, outputs, dead)
            elif iteration.number == iteration.frame.newest:
                iteration.frame.dead_exits.append(item)
        elif item.kind is Kind.NEXT_ITERATION:
            if not dead:
                self._carry_on(item, iteration, outputs)
        else:
            self._activate(item, iteration, outputs, dead)
        iteration.outstanding -= 1
        self._maybe_done(iteration)

    def _activate(
        self, item: Item, iteration: Iteration, outputs: Sequence[Any], dead: bool
    ) -> None:
        for value, targets in zip(outputs, item.targets, strict=True):
            for target, position in targets:
                self._deliver(
                    target, position, value, iteration, from_enter=item.kind is Kind.ENTER
                )
        for target in item.controls:
            self._release(target, iteration, dead)

    def _deliver(
        self,
        target: Item,
        position: int,
        value: Any,
        iteration: Iteration,
        *,
        from_enter: bool = False,
    ) -> None:
        """One input of `target` has arrived."""
        index, pending, dead = target.index, iteration.pending, iteration.dead
        if target.kind is not Kind.MERGE:
            if value is DEAD:
                dead[index] += 1
            else:
                iteration.inputs[position] = value
            pending[index] -= 1
            if not pending[index]:
                self._make_ready(target, iteration)
        elif value is not DEAD:
            iteration.inputs[position] = value
            if pending[index] & 1:  # the first live value; control inputs may be missing
                pending[index] -= 1
                if not pending[index]:
                    self._make_ready(target, iteration)
        else:
            dead[index] += 1
            # A loop in a branch not taken gets no second value: its dead Enter is enough.
            if pending[index] == 1 and (dead[index] == target.count or from_enter):
                self._make_ready(target, iteration)

    def _release(self, target: Item, iteration: Iteration, dead: bool) -> None:
        """A node that `target` waits for has run (or is dead, which makes `target` dead unless it
        is a Merge).
        """
        index = target.index
        if target.kind is Kind.MERGE:
            iteration.pending[index] -= 2
            left = iteration.pending[index]
            if left == 0 or (left == 1 and iteration.dead[index] == target.count):
                self._make_ready(target, iteration)
            return
        iteration.dead[index] += dead
        iteration.pending[index] -= 1
        if not iteration.pending[index]:
            self._make_ready(target, iteration)

    def _make_ready(self, item: Item, iteration: Iteration) -> None:
        iteration.outstanding += 1
        self.ready.append((item, iteration))

    # -- frames ----------------------------------------------------------------

    def _enter(self, item: Item, iteration: Iteration, outputs: list[Any], dead: bool) -> None:
        attributes = item.step.node.attributes
        name = attributes["frame_name"]
        frame = iteration.frames.get(name)
        if frame is None:
            frame = iteration.frames[name] = Frame(self._scope_below(item), iteration)
            iteration.children += 1
        frame.waiting -= 1
        if attributes.get("is_constant"):
            frame.constants.append((item, outputs))
            for each in list(frame.iterations.values()):
                self._activate(item, each, outputs, dead)
        else:
            self._activate(item, frame.iterations[0], outputs, dead)
        self._maybe_done(next(iter(frame.iterations.values())))

    @staticmethod
    def _scope_below(item: Item) -> Scope:
        consumers = [*(target for targets in item.targets for target, _ in targets), *item.controls]
        scope = consumers[0].scope
        assert scope is not None
        return scope

    def _carry_on(self, item: Item, iteration: Iteration, outputs: list[Any]) -> None:
        frame = iteration.frame
        if iteration.number == frame.newest:
            if len(frame.iterations) >= frame.scope.parallel_iterations:
                frame.deferred.append((item, outputs))
                return
            self._next_iteration(frame)
        self._activate(item, frame.iterations[iteration.number + 1], outputs, dead=False)

    def _next_iteration(self, frame: Frame) -> None:
        frame.newest += 1
        frame.dead_exits.clear()
        iteration = frame.iterations[frame.newest] = Iteration(frame, frame.newest)
        deferred, frame.deferred = frame.deferred, []
        for item, outputs in deferred:
            self._activate(item, iteration, outputs, dead=False)
        for item, outputs in frame.constants:
            self._activate(item, iteration, outputs, dead=outputs[0] is DEAD)

    def _maybe_done(self, iteration: Iteration) -> None:
        """Forget an iteration in which nothing is left to run; and a frame, when its last iteration
        ended.
        """
        frame = iteration.frame
        while frame.parent is not None and self._is_done(iteration):
            del frame.iterations[iteration.number]
            if frame.deferred:
                self._next_iteration(frame)
            following = frame.iterations.get(iteration.number + 1)
            if following is not None:
                iteration = following
                continue
            self._end(frame)
            return

    @staticmethod
    def _is_done(iteration: Iteration) -> bool:
        if (
            iteration.outstanding
            or iteration.children
            or iteration.frame.iterations.get(iteration.number) is not iteration
        ):
            return False
        frame = iteration.frame
        return (
            not frame.waiting
            if iteration.number == 0
            else iteration.number - 1 not in frame.iterations
        )

    def _end(self, frame: Frame) -> None:
        """A loop has ended: exits that were dead in its last iteration are dead outside too."""
        parent = frame.parent
        assert parent is not None
        del parent.frames[frame.scope.name]
        for item in frame.dead_exits:
            self._activate(item, parent, [DEAD], dead=True)
        parent.children -= 1
        self._maybe_done(parent)
