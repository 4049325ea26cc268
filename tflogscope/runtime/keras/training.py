"""How a model is trained: what `compile` keeps, one step, the function of a step, and the loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tflogscope.runtime.core import context, nest
from tflogscope.runtime.core.calls import O
from tflogscope.runtime.core.errors import OutOfRangeError
from tflogscope.runtime.core.graph import control_dependencies
from tflogscope.runtime.core.tensors import Tensor
from tflogscope.runtime.data.dataset import Optional, OwnedIterator
from tflogscope.runtime.function.autograph.conversion import do_not_convert
from tflogscope.runtime.function.gradient_tape import GradientTape
from tflogscope.runtime.function.polymorphic import function as tf_function
from tflogscope.runtime.function.polymorphic import functions_run_eagerly
from tflogscope.runtime.function.variables import Variable
from tflogscope.runtime.keras import optimizers
from tflogscope.runtime.keras.batches import Batches, train_validation_split, unpack
from tflogscope.runtime.keras.callbacks import CallbackList
from tflogscope.runtime.keras.compiled import Compiled, batch_of, matched
from tflogscope.runtime.keras.layers.base import Layer
from tflogscope.runtime.keras.metrics import Mean, Metric, number_of
from tflogscope.runtime.keras.state import keras3, scope_of_keras3
from tflogscope.runtime.library import arrays, numbers


class Trainer(Layer):
    """What models add to layers."""

    own_first = property(lambda self: keras3())
    compiled: Any = None
    optimizer: Any = None
    history: Any = None
    run_eagerly = False
    stop_training = False
    _execution: Any = None

    def make_counters(self) -> None:
        """NB: Keras 2 counts the steps of each kind by a variable."""
        self.__dict__["_counters"] = {}
        self.__dict__["_functions"] = {}
        if not keras3() and not context.inside_function():
            kinds = ("train", "test", "predict")
            self.__dict__["_counters"] = {k: Variable(0, dtype="int64") for k in kinds}

    # -- compiling

    def compile(
        self,
        optimizer: Any = "rmsprop",
        loss: Any = None,
        metrics: Any = None,
        run_eagerly: bool | None = None,
        **_: Any,
    ) -> None:
        self.__dict__["optimizer"] = optimizers.get(optimizer)
        if not keras3():
            self.__dict__["_execution"] = Variable(1, dtype="int64")
        self.__dict__["loss"] = loss
        self.__dict__["compiled"] = Compiled(loss, metrics, Mean(name="loss"))
        self.__dict__["_functions"] = {}
        self.run_eagerly = functions_run_eagerly() if run_eagerly is None else run_eagerly

    @property
    def metrics(self) -> list[Any]:
        """The metrics of `compile`, and those that are its own."""
        found = self.compiled.metrics() if self.compiled else []
        return [*found, *(each for each in vars(self).values() if isinstance(each, Metric))]

    metrics_names = property(lambda self: [each.name for each in self.metrics])

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
        self.optimizer.minimize(loss, variables, tape=tape)
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
            self.compiled.total.update_state(loss, sample_weight=batch_of(nest.flatten(x)[0]))
        return loss

    def compute_loss(self, x: Any = None, y: Any = None, y_pred: Any = None, *_: Any) -> Any:
        if keras3():
            with scope_of_keras3("compile_loss", self.compiled):
                found = self.compiled.loss(y, y_pred)
            found += [numbers.reduce_sum(each) for each in self.losses]
            return (
                found[0] if len(found) == 1 else numbers.reduce_sum(arrays.stack(found), axis=None)
            )
        values = self.compiled.loss(y, y_pred)
        batch = batch_of(matched(y, y_pred)[0])
        if self.losses:
            values.append(numbers.add_n(self.losses))
        self.compiled.total.update_state(numbers.add_n(values), sample_weight=batch)
        return numbers.add_n(values)

    def compute_metrics(self, x: Any, y: Any, y_pred: Any, *_: Any) -> dict[str, Any]:
        del x
        self.compiled.update(y, y_pred)
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

    def _made(self, kind: str, step: Callable[[Any], Any]) -> Callable[..., Any]:
        counter = self._counters[kind]
        if self._execution is not None:
            self._execution.numpy()

        def run_step(data: Any) -> Any:
            outputs = step(data)
            after = [] if context.executing_eagerly() else _tensors(outputs)[:1]
            with control_dependencies(after):
                counter.assign_add(1)
            return outputs

        def one(iterator: Any) -> Any:
            return run_step(next(iterator))

        one.__name__ = one.__qualname__ = f"{kind}_function"
        return one if self.run_eagerly else tf_function(one, reduce_retracing=True)

    def _made3(self, kind: str, step: Callable[[Any], Any]) -> Callable[..., Any]:
        staged = (lambda each: each) if self.run_eagerly else _staged

        @do_not_convert
        def one_step_on_data(data: Any) -> Any:
            return step(data)

        if kind == "predict":

            @do_not_convert
            def one_step_on_data_distributed(data: Any) -> Any:
                return one_step_on_data(data[0])

            run = staged(one_step_on_data_distributed)
            return lambda iterator: run([iterator.get_next()])
        inner = staged(one_step_on_data)

        @do_not_convert
        def multi_step_on_iterator(iterator: Any) -> Any:
            return Optional.from_value(inner(iterator.get_next()))

        outer = staged(multi_step_on_iterator)

        def run_once(iterator: OwnedIterator) -> Any:
            outputs = outer(iterator)
            if not outputs.has_value():
                raise StopIteration
            return outputs.get_value()

        return run_once

    # -- the loops

    def fit(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        epochs: int = 1,
        verbose: Any = "auto",
        callbacks: Any = None,
        validation_split: float = 0.0,
        validation_data: Any = None,
        shuffle: bool = True,
        steps_per_epoch: int | None = None,
    ) -> Any:
        if validation_split and validation_data is None:
            (x, y), validation_data = train_validation_split((x, y), validation_split)
        once = self._execution
        batches = Batches((x, y), batch_size, steps_per_epoch, epochs, shuffle, once)
        told = self._callbacks(callbacks, verbose, epochs, batches, history=True)
        self.__dict__["stop_training"] = False
        function = self._begin_loop("train")
        told.tell("train_begin")
        batches.begin()
        held: Batches | None = None
        logs: dict[str, Any] = {}
        for epoch in range(epochs):
            self.reset_metrics()
            told.tell("epoch_begin", epoch)
            logs = self._epoch("train", batches, function, told)
            if validation_data is not None:
                if held is None:
                    held = Batches(unpack(validation_data), batch_size, execution=once)
                found = self._evaluate(held, told)
                logs = logs | {f"val_{name}": value for name, value in found.items()}
            told.tell("epoch_end", epoch, logs)
            if self.stop_training:
                break
        told.tell("train_end", logs)
        return self.history

    def _begin_loop(self, kind: str) -> Callable[..., Any]:
        function = self._step_function(kind)
        if not keras3():
            self._counters[kind].assign(0)
        return function

    def _callbacks(
        self, callbacks: Any, verbose: Any, epochs: int, batches: Batches, *, history: bool = False
    ) -> CallbackList:
        if isinstance(callbacks, CallbackList):
            return callbacks
        level = 1 if verbose == "auto" else int(verbose)
        params = {"verbose": level, "epochs": epochs, "steps": batches.count}
        return CallbackList(callbacks, self, params, history=history)

    def _epoch(
        self, kind: str, batches: Batches, function: Callable[..., Any], told: CallbackList
    ) -> dict[str, Any]:
        outputs: Any = None
        for step, iterator in batches.steps():
            told.tell(f"{kind}_batch_begin", step)
            try:
                outputs = function(iterator)
            except (StopIteration, OutOfRangeError):
                batches.ran_out(step)
                break
            told.tell(f"{kind}_batch_end", step, outputs)
            if kind == "train" and self.stop_training:
                break
        results = self.get_metrics_result()
        if isinstance(outputs, dict) and set(outputs) != set(results):
            results = outputs
        numbers_of: dict[str, Any] = nest.map_structure(number_of, results)
        return dict(sorted(numbers_of.items())) if keras3() else numbers_of

    def evaluate(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        verbose: Any = "auto",
        steps: int | None = None,
        callbacks: Any = None,
        return_dict: bool = False,
    ) -> Any:
        batches = Batches((x, y), batch_size, steps, execution=self._execution)
        logs = self._evaluate(batches, self._callbacks(callbacks, verbose, 1, batches))
        if return_dict:
            return logs
        results = [logs[name] for name in self.metrics_names if name in logs]
        return results[0] if len(results) == 1 else results

    def _evaluate(self, batches: Batches, told: CallbackList) -> dict[str, Any]:
        function = self._begin_loop("test")
        batches.begin()
        told.tell("test_begin")
        self.reset_metrics()
        logs = self._epoch("test", batches, function, told)
        told.tell("test_end", logs)
        return logs

    def predict(
        self,
        x: Any,
        batch_size: int | None = None,
        verbose: Any = "auto",
        steps: int | None = None,
        callbacks: Any = None,
    ) -> Any:
        batches = Batches((x, None), batch_size, steps, execution=self._execution)
        told = self._callbacks(callbacks, verbose, 1, batches)
        function = self._begin_loop("predict")
        batches.begin()
        told.tell("predict_begin")
        found = []
        for step, iterator in batches.steps():
            told.tell("predict_batch_begin", step)
            try:
                found.append(function(iterator))
            except (StopIteration, OutOfRangeError):
                batches.ran_out(step)
                break
            told.tell("predict_batch_end", step)
        told.tell("predict_end")
        return nest.map_structure(_concatenated, *found)


def _staged(function: Callable[..., Any]) -> Any:
    return tf_function(function, reduce_retracing=True)


def _tensors(structure: Any) -> list[Any]:
    return [each for each in nest.flatten(structure) if isinstance(each, Tensor)]


def _concatenated(*batches: Any) -> Any:
    if len(batches) == 1:
        return batches[0].numpy()
    shapes = arrays.stack([arrays.shape_v2(batch)[1:] for batch in batches])
    same = numbers.reduce_all(numbers.reduce_all(O.Equal(shapes, shapes[:1]), axis=0))
    assert same.numpy()
    return arrays.concat(list(batches), axis=0).numpy()
