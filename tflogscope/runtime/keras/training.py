"""How a model is trained: what `compile` keeps, one step, the function of a step, and the loop. See
`keras/engine/training.py` of Keras 2, `keras/src/backend/tensorflow/trainer.py` of Keras 3.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from tflogscope.runtime.core import context, nest
from tflogscope.runtime.core.calls import O
from tflogscope.runtime.core.errors import OutOfRangeError
from tflogscope.runtime.core.graph import control_dependencies
from tflogscope.runtime.core.tensors import Tensor
from tflogscope.runtime.data.dataset import Optional, OwnedIterator
from tflogscope.runtime.function.autograph.conversion import do_not_convert
from tflogscope.runtime.function.backprop import GradientTape
from tflogscope.runtime.function.polymorphic import function as tf_function
from tflogscope.runtime.function.polymorphic import functions_run_eagerly
from tflogscope.runtime.function.variables import Variable
from tflogscope.runtime.keras import losses, metrics, optimizers
from tflogscope.runtime.keras.batches import Batches, unpack
from tflogscope.runtime.keras.layers.base import Layer
from tflogscope.runtime.keras.metrics import Mean, Metric, number_of
from tflogscope.runtime.keras.state import keras3, refuse, scope_of_keras3
from tflogscope.runtime.library import arrays, numbers

_EVENTS = [
    f"{kind}_{edge}"
    for kind in "train test predict train_batch test_batch predict_batch epoch".split()
    for edge in ("begin", "end")
]


class Callback:
    """Its methods are called: `on_epoch_end(epoch, logs)` and the like."""

    model: Any = None

    def set_model(self, model: Any) -> None:
        self.model = model


for _event in _EVENTS:
    setattr(Callback, f"on_{_event}", lambda self, *_, **__: None)


class History(Callback):
    """The numbers of each epoch. NB: a line of them is printed for every `verbose`, not a bar."""

    def __init__(self, verbose: Any = 0) -> None:
        self.history: dict[str, list[Any]] = {}
        self.epoch: list[int] = []
        self._verbose = verbose

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.epoch.append(epoch)
        for name, value in (logs or {}).items():
            self.history.setdefault(name, []).append(value)
        if self._verbose:
            numbers = " - ".join(f"{name}: {value:.4f}" for name, value in (logs or {}).items())
            sys.stdout.write(f"Epoch {epoch + 1} - {numbers}\n")


class CallbackList:
    """All callbacks of a call."""

    def __init__(self, given: Any, model: Any, *own: Callback) -> None:
        self._callbacks: list[Any] = [*nest.flatten(given or []), *own]
        for each in self._callbacks:
            each.set_model(model)

    def tell(self, event: str, *arguments: Any) -> None:
        """Call `on_…` of each: with a number, if the event has one, and with logs."""
        numbered = "batch" in event or "epoch" in event
        number, logs = arguments[:numbered], (*arguments[numbered:], None)[0]
        numbers = nest.map_structure(number_of, logs) if logs else {}
        for callback in self._callbacks:
            getattr(callback, f"on_{event}")(*number, numbers)


def _matched(label: Any, output: Any) -> Any:
    """NB: Keras 2 makes a column of labels, and casts them."""
    if keras3():
        return label
    if label.shape.rank == 1 and output.shape.rank == 2:
        label = O.ExpandDims(label, -1)
    alike = label.dtype.is_floating == output.dtype.is_floating
    return arrays.cast(label, output.dtype) if alike else label


class Trainer(Layer):
    """What models add to layers. NB: models of one output are trained."""

    own_first = property(lambda self: keras3())
    optimizer: Any = None
    history: Any = None
    run_eagerly = False
    stop_training = False
    _total: Any = None
    _compiled: list[Any] | None = None
    _execution: Any = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """NB: Keras 2 counts the steps of each kind by a variable."""
        super().__init__(*args, **kwargs)
        counts = not keras3() and not context.inside_function()
        kinds = ("train", "test", "predict") if counts else ()
        counters = {kind: Variable(0, dtype="int64") for kind in kinds}
        vars(self).update({"_counters": counters, "_functions": {}})

    def compile(
        self,
        optimizer: Any = "rmsprop",
        loss: Any = None,
        metrics: Any = None,
        run_eagerly: bool | None = None,
        **others: Any,
    ) -> None:
        """NB: the metrics are made when the first output is there."""
        refuse("Model.compile", others)
        vars(self)["optimizer"] = optimizers.get(optimizer)
        if not keras3():
            vars(self)["_execution"] = Variable(1, dtype="int64")
        made = {"loss": loss, "_loss": losses.get(loss), "_total": Mean("loss")}
        vars(self).update(made, _wanted=nest.flatten(metrics or []), _functions={}, _compiled=None)
        self.run_eagerly = functions_run_eagerly() if run_eagerly is None else run_eagerly

    def _ask(self, times: int) -> None:
        """NB: Keras 2 reads how many steps to execute at once again and again."""
        for _ in range(times if self._execution is not None else 0):
            self._execution.numpy()

    @property
    def metrics(self) -> list[Any]:
        """That which gathers the loss, those of `compile`, and those that are the model's own."""
        own = [each for each in vars(self).values() if isinstance(each, Metric)]
        own = [each for each in own if each is not self._total]
        there = self._total is not None and (keras3() or self._compiled is not None)
        return [self._total, *(self._compiled or []), *own] if there else own

    def reset_metrics(self) -> None:
        for metric in self.metrics:
            metric.reset_state()

    # -- one step: what users redefine

    def train_step(self, data: Any) -> dict[str, Any]:
        x, y = unpack(data)
        with GradientTape() as tape:
            y_pred = self._forward(x, training=True)
            loss = self._tracked(x, y, y_pred)
        variables = self.trainable_variables
        gradients = tape.gradient(loss, variables)
        self.optimizer.apply_gradients(zip(gradients, variables, strict=True))
        return self.compute_metrics(x, y, y_pred)

    def test_step(self, data: Any) -> dict[str, Any]:
        x, y = unpack(data)
        y_pred = self._forward(x, training=False)
        self._tracked(x, y, y_pred)
        return self.compute_metrics(x, y, y_pred)

    def predict_step(self, data: Any) -> Any:
        return self._forward(unpack(data)[0], training=False)

    def _forward(self, x: Any, *, training: bool) -> Any:
        return self(x, training=training) if self.takes("training") else self(x)

    def _tracked(self, x: Any, y: Any, y_pred: Any) -> Any:
        loss = self.compute_loss(x, y, y_pred)
        if keras3():
            self._total.update_state(loss, arrays.shape(nest.flatten(x)[0])[0])
        return loss

    def compute_loss(self, x: Any = None, y: Any = None, y_pred: Any = None) -> Any:
        if keras3():
            with scope_of_keras3("compile_loss", self._total):
                return self._loss(y, y_pred)
        label = _matched(y, y_pred)
        found = self._loss(label, y_pred)
        self._total.update_state(numbers.add_n([found]), arrays.shape(_matched(y, y_pred))[0])
        return numbers.add_n([found])

    def compute_metrics(self, x: Any, y: Any, y_pred: Any) -> dict[str, Any]:
        if self._compiled is None:
            vars(self)["_compiled"] = [metrics.get(each, y, y_pred) for each in self._wanted]
        label = _matched(y, y_pred)
        for metric in self._compiled or ():
            metric.update_state(label, y_pred)
        return self.get_metrics_result()

    def get_metrics_result(self) -> dict[str, Any]:
        return {metric.name: metric.result() for metric in self.metrics}

    # -- the function of a step

    def _step_function(self, kind: str) -> Callable[..., Any]:
        if kind not in self._functions:
            make = self._made3 if keras3() else self._made
            self._functions[kind] = make(kind, getattr(self, f"{kind}_step"))
        found: Callable[..., Any] = self._functions[kind]
        return found

    def _staged(self, function: Callable[..., Any]) -> Any:
        return function if self.run_eagerly else tf_function(function, reduce_retracing=True)

    def _made(self, kind: str, step: Callable[[Any], Any]) -> Any:
        self._ask(1)

        def one(iterator: Any) -> Any:
            outputs = step(next(iterator))
            found = [each for each in nest.flatten(outputs) if isinstance(each, Tensor)]
            with control_dependencies([] if context.executing_eagerly() else found[:1]):
                self._counters[kind].assign_add(1)
            return outputs

        one.__name__ = one.__qualname__ = f"{kind}_function"
        return self._staged(one)

    def _made3(self, kind: str, step: Callable[[Any], Any]) -> Callable[..., Any]:
        @do_not_convert
        def one_step_on_data(data: Any) -> Any:
            return step(data)

        inner = self._staged(one_step_on_data)
        if kind == "predict":
            return lambda iterator: inner(iterator.get_next())

        @do_not_convert
        def multi_step_on_iterator(iterator: Any) -> Any:
            return Optional.from_value(inner(iterator.get_next()))

        outer = self._staged(multi_step_on_iterator)

        def run_once(iterator: OwnedIterator) -> Any:
            outputs = outer(iterator)
            if not outputs.has_value():
                raise StopIteration
            return outputs.get_value()

        return run_once

    # -- the loop

    def fit(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        epochs: int = 1,
        verbose: Any = "auto",
        callbacks: Any = None,
        validation_data: Any = None,
        shuffle: bool = True,
        **others: Any,
    ) -> Any:
        refuse("Model.fit", others)
        batches = self._batches(x, y, batch_size, epochs, shuffle)
        vars(self).update({"history": History(verbose), "stop_training": False})
        told = CallbackList(callbacks, self, self.history)
        function = self._begin_loop("train")
        told.tell("train_begin")
        self._start(batches)
        held: Batches | None = None
        logs: dict[str, Any] = {}
        for epoch in range(epochs):
            self.reset_metrics()
            told.tell("epoch_begin", epoch)
            logs = self._logs(self._epoch("train", batches, function, told))
            if validation_data is not None:
                if held is None:
                    held = self._batches(*unpack(validation_data), batch_size)
                found = self._evaluate(held, told)
                logs = logs | {f"val_{name}": value for name, value in found.items()}
            told.tell("epoch_end", epoch, logs)
            if self.stop_training:
                break
        told.tell("train_end", logs)
        return self.history

    def evaluate(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        callbacks: Any = None,
        verbose: Any = None,
        return_dict: bool = False,
    ) -> Any:
        batches = self._batches(x, y, batch_size)
        logs = self._evaluate(batches, CallbackList(callbacks, self))
        results = [logs[metric.name] for metric in self.metrics if metric.name in logs]
        return logs if return_dict else results[0] if len(results) == 1 else results

    def predict(
        self, x: Any, batch_size: int | None = None, callbacks: Any = None, verbose: Any = None
    ) -> Any:
        batches = self._batches(x, None, batch_size)
        told = CallbackList(callbacks, self)
        function = self._begin_loop("predict")
        self._start(batches)
        told.tell("predict_begin")
        found = self._epoch("predict", batches, function, told)
        told.tell("predict_end")
        return nest.map_structure(_concatenated, *found)

    def _evaluate(self, batches: Batches, told: CallbackList) -> dict[str, Any]:
        function = self._begin_loop("test")
        self._start(batches)
        told.tell("test_begin")
        self.reset_metrics()
        logs = self._logs(self._epoch("test", batches, function, told))
        told.tell("test_end", logs)
        return logs

    def _batches(self, *given: Any) -> Batches:
        self._ask(2)
        return Batches(*given)

    def _start(self, batches: Batches) -> None:
        self._ask(2)
        batches.begin()

    def _begin_loop(self, kind: str) -> Callable[..., Any]:
        function = self._step_function(kind)
        if not keras3():
            self._counters[kind].assign(0)
        return function

    def _epoch(
        self, kind: str, batches: Batches, function: Callable[..., Any], told: CallbackList
    ) -> list[Any]:
        """What the steps give."""
        found = []
        for step, iterator in batches.steps():
            self._ask(1)
            told.tell(f"{kind}_batch_begin", step)
            try:
                found.append(function(iterator))
            except (StopIteration, OutOfRangeError):
                batches.ran_out(step)
                break
            told.tell(f"{kind}_batch_end", step, None if kind == "predict" else found[-1])
            if kind == "train" and self.stop_training:
                break
        return found

    def _logs(self, outputs: list[Any]) -> dict[str, Any]:
        results = self.get_metrics_result()
        last = outputs[-1] if outputs else None
        if isinstance(last, dict) and set(last) != set(results):
            results = last  # of a step that the user has defined
        logs: dict[str, Any] = nest.map_structure(number_of, results)
        return dict(sorted(logs.items())) if keras3() else logs


def _concatenated(*batches: Any) -> Any:
    if len(batches) == 1:
        return batches[0].numpy()
    return arrays.concat(list(batches), axis=0).numpy()
