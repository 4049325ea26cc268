"""`Layer`: weights and a computation. Calling one builds it first, if it has not been called
before.

A call means one of three things, by what it is called on: eager tensors (it runs), tensors of a
function that is being traced (it adds nodes), or Keras tensors (it is remembered for a functional
model, see keras_tensor.py).

Told about: `keras/src/engine/base_layer.py`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

import tflogscope.runtime.api as tf
from tflogscope.runtime.autograph.conversion import control_status, tf_convert
from tflogscope.runtime.context import current_scope
from tflogscope.runtime.function.func_graph import FuncGraph
from tflogscope.runtime.keras import (
    backend,
    constraints,
    initializers,
    keras_tensor,
    regularizers,
)
from tflogscope.runtime.keras.autocast import casting_to, create_autocast_variable
from tflogscope.runtime.keras.backend import call_context
from tflogscope.runtime.keras.layers.additions import Adding
from tflogscope.runtime.keras.layers.checking import check_inputs, explaining
from tflogscope.runtime.keras.layers.tracking import unique, variables_in

__all__ = ["Layer"]

_KNOWN_OPTIONS = {
    "autocast",
    "batch_input_shape",
    "batch_size",
    "dynamic",
    "implementation",
    "input_dim",
    "input_shape",
    "weights",
}


class Layer(Adding):
    """Subclasses have `call`, and `build` if their weights depend on the shape of the input.

    `supports_masking` says that the mask of the input is passed on; `compute_mask` says how.
    """

    dynamic = stateful = False
    _own_first = True
    """Whether its own weights come before those of the layers in it: not in a model."""

    def __init__(
        self, trainable: bool = True, name: str | None = None, dtype: Any = None, **kwargs: Any
    ) -> None:
        """Raises TypeError for options that no layer has."""
        of_weights = {
            option for option in kwargs if option.endswith(("_regularizer", "_constraint"))
        }
        for option in kwargs:
            if option not in _KNOWN_OPTIONS and option not in of_weights:
                raise TypeError(f"('Keyword argument not understood:', '{option}')")
        self._lists()
        self._trainable = trainable
        self._name = name or self._default_name()
        self._set_policy(dtype)
        self._autocast = kwargs.get("autocast", True)
        self.built = False
        self.inbound_nodes: list[keras_tensor.Node]
        self._added_losses: list[Any]
        self._inferred_losses: list[Any]
        self._loss_functions: list[Any]
        self._added_metrics: list[Any]
        self._of_weights: dict[str, Any]
        self.input_spec: Any = None
        vars(self).update(  # not to be tracked
            inbound_nodes=[],
            _added_losses=[],
            _inferred_losses=[],
            _loss_functions=[],
            _added_metrics=[],
            _of_weights={option: kwargs[option] for option in of_weights},
        )
        self.supports_masking = type(self).compute_mask is not Layer.compute_mask
        if "input_dim" in kwargs and "input_shape" not in kwargs:
            kwargs["input_shape"] = (kwargs["input_dim"],)
        if "batch_input_shape" in kwargs:
            self._batch_input_shape: Any = tuple(kwargs["batch_input_shape"])
        elif "input_shape" in kwargs:
            self._batch_input_shape = (kwargs.get("batch_size"), *kwargs["input_shape"])
        self._initial_weights = kwargs.get("weights")

    def _default_name(self) -> str:
        return backend.unique_name(backend.to_snake_case(type(self).__name__))

    # What subclasses override

    def build(self, input_shape: Any) -> None:
        """Make the weights. Called once, with the shape (or structure of shapes) of the first
        input.
        """
        del input_shape
        self.built = True

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """The computation. May take `training` and `mask`."""
        del args, kwargs
        return inputs

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """The mask of the outputs. Raises TypeError if there is one and this layer can't do
        anything with it.
        """
        del inputs
        if not self.supports_masking:
            if any(each is not None for each in tf.nest.flatten(mask)):
                raise TypeError(
                    f"Layer {self.name} does not support masking, but was passed an input_mask: "
                    f"{mask}"
                )
            return None
        return mask

    # Calling it

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the layer; see the top of this file for the three meanings."""
        if "_own_variables" not in self.__dict__ or "_name" not in self.__dict__:
            raise RuntimeError("You must call `super().__init__()` in the layer constructor.")
        inputs, args = self._first_argument(args, kwargs)
        if any(
            keras_tensor.is_keras_tensor(each) for each in tf.nest.flatten((inputs, args, kwargs))
        ):
            return self._call_symbolically(inputs, args, kwargs)
        inputs = tf.nest.map_structure(_to_tensor, inputs)
        if not call_context.depth:
            self._forget_losses()
        masks = self._give_mask(inputs, kwargs)
        training = self._give_training(args, kwargs)
        with call_context.enter(self, training):
            eager = tf.executing_eagerly()
            function = self.call if eager else self._converted_call()
            with tf.name_scope(self._name if eager else self._full_scope()):
                check_inputs(self.input_spec, inputs, self.name)
                self._maybe_build(inputs)
                inputs = self._cast_inputs(inputs)
                with self._reading():
                    outputs = explaining(function, self)(inputs, *args, **kwargs)
                self._count_activity(inputs, outputs)
                self._set_mask(inputs, outputs, masks)
                return outputs

    def _call_symbolically(self, inputs: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Remember the call, and run it once in a scratch graph to learn what it gives."""
        inputs = tf.nest.map_structure(_to_tensor, inputs)
        explicit = dict(kwargs)
        masks = self._give_mask(inputs, kwargs)
        training = self._give_training(args, kwargs)
        with call_context.enter(self, training, inferring=True):
            outputs = self._infer_outputs(inputs, args, kwargs, masks)
        if outputs is None:
            raise ValueError(
                "A layer's `call` method should return a Tensor or a list of Tensors, not None "
                f"(layer: {self.name})."
            )
        keras_tensor.Node(self, (inputs, *args), explicit, outputs)
        return outputs

    def _infer_outputs(self, inputs: Any, args: Any, kwargs: Any, masks: Any) -> Any:
        function = self._converted_call() if _is_users(type(self)) else self.call
        with FuncGraph(f"{self.name}_scratch_graph").as_default():
            inputs, args, kwargs, masks = (
                tf.nest.map_structure(keras_tensor.to_placeholder, each)
                for each in (inputs, args, kwargs, masks)
            )
            with tf.name_scope(self._full_scope()):
                check_inputs(self.input_spec, inputs, self.name)
                self._maybe_build(inputs)
                inputs = self._cast_inputs(inputs)
                with self._reading():
                    outputs = explaining(function, self, inferring=True)(inputs, *args, **kwargs)
                self._count_activity(inputs, outputs)
            self._set_mask(inputs, outputs, masks)
            return tf.nest.map_structure(keras_tensor.from_tensor, outputs)

    def _converted_call(self) -> Callable[..., Any]:
        """`call`, converted by AutoGraph where the caller is."""
        return tf_convert(self.call, control_status()) if _is_users(type(self)) else self.call

    def _full_scope(self) -> str:
        """The layer's scope below the current one; entered again, not made unique."""
        outer = current_scope()
        return f"{outer}/{self._name}/" if outer else f"{self._name}/"

    def _maybe_build(self, inputs: Any) -> None:
        if self.built:
            return
        shapes = tf.nest.map_structure(lambda each: getattr(each, "shape", None), inputs)
        if type(self).build is not Layer.build:
            with self._build_scope():
                self.build(shapes)
        self.__dict__["_built_for"] = tf.nest.map_structure(
            lambda shape: None if shape is None or shape.rank is None else tuple(shape), shapes
        )
        self.built = True
        if self._initial_weights is not None:
            with tf.init_scope():
                self.set_weights(self._initial_weights)
            self._initial_weights = None

    def build_from_config(self, config: dict[str, Any]) -> None:
        """Make the weights for the shape of a configuration.

        NB: a layer of the user's is built again when it is called, unless its `build` says that it
        is built.
        """
        shape = config.get("input_shape")
        if shape is None or self.built:
            return
        several = isinstance(shape[0], (list, tuple))
        shapes: Any = [tf.TensorShape(each) for each in shape] if several else tf.TensorShape(shape)
        with self._build_scope(), tf.name_scope(self.name):
            self.build(shapes)
        self.__dict__["_built_for"] = shape
        if not _is_users(type(self)):
            self.built = True

    def _build_scope(self) -> AbstractContextManager[Any]:
        """Weights are made outside of functions and scratch graphs; eagerly there is nothing to
        step out of.
        """
        return nullcontext() if tf.executing_eagerly() else tf.init_scope()

    def _reading(self) -> AbstractContextManager[None]:
        """While it computes, its variables are read in the dtype that it computes in."""
        return casting_to(tf.as_dtype(self.compute_dtype))

    def _cast_inputs(self, inputs: Any) -> Any:
        """Float inputs in the dtype that the layer computes in."""
        dtype = tf.as_dtype(self.compute_dtype)

        def cast(each: Any) -> Any:
            different = (
                isinstance(each, tf.Tensor) and each.dtype.is_floating and each.dtype != dtype
            )
            return tf.cast(each, dtype) if different else each

        return (
            tf.nest.map_structure(cast, inputs) if self._autocast and dtype.is_floating else inputs
        )

    # Arguments that come from outside: mask and training

    def _first_argument(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Any, tuple[Any, ...]]:
        if args:
            return args[0], args[1:]
        name = next(iter(self._call_parameters()), None)
        if name in kwargs:
            return kwargs.pop(name), ()
        raise ValueError("The first argument to `Layer.call` must always be passed.")

    @classmethod
    def _call_parameters(cls) -> dict[str, inspect.Parameter]:
        found = cls.__dict__.get("_parameters_of_call")
        if found is None:
            found = dict(list(inspect.signature(cls.call).parameters.items())[1:])
            cls._parameters_of_call = found  # type: ignore[attr-defined]
        return found

    def _expects(self, name: str) -> bool:
        parameters = self._call_parameters()
        return name in parameters or any(
            each.kind is each.VAR_KEYWORD for each in parameters.values()
        )

    def _passed(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        return name in kwargs or name in list(self._call_parameters())[1 : 1 + len(args)]

    def _give_mask(self, inputs: Any, kwargs: dict[str, Any]) -> Any:
        """The masks of the inputs; passed to `call` if it takes `mask` and none was given."""
        takes = "mask" in self._call_parameters()
        if not self.supports_masking and not takes:
            return None
        if kwargs.get("mask") is not None:
            return kwargs["mask"]
        flat = [getattr(each, "_keras_mask", None) for each in tf.nest.flatten(inputs)]
        if all(mask is None for mask in flat):
            return None
        masks = tf.nest.pack_sequence_as(inputs, flat)
        if takes:
            kwargs["mask"] = masks
        return masks

    def _give_training(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Whether this is training: as said in the call, else as for the layer around, else the
        default.
        """
        if not self._expects("training"):
            return kwargs.pop("training") if "training" in kwargs else call_context.training
        if self._passed("training", args, kwargs):
            training = kwargs.get("training")
            if training is None and args and "training" not in kwargs:
                return args[list(self._call_parameters()).index("training") - 1]
            if training is not None:
                return training
        training = call_context.training
        if training is None:
            parameter = self._call_parameters().get("training")
            training = (
                None
                if parameter is None or parameter.default is inspect.Parameter.empty
                else parameter.default
            )
            if "learning_phase" in backend._settings and training is None:
                training = bool(backend.learning_phase())
        if "training" in self._call_parameters():
            kwargs["training"] = training
        return training

    def _set_mask(self, inputs: Any, outputs: Any, masks: Any) -> None:
        flat = tf.nest.flatten(outputs)
        if not self.supports_masking or all(
            getattr(each, "_keras_mask", None) is not None for each in flat
        ):
            return
        computed = self.compute_mask(inputs, masks)
        if computed is None:
            return
        for tensor, mask in zip(flat, tf.nest.flatten(computed), strict=False):
            if isinstance(tensor, (tf.Tensor, keras_tensor.KerasTensor)):
                tensor._keras_mask = mask

    # Weights

    def add_weight(
        self,
        name: str | None = None,
        shape: Any = None,
        dtype: Any = None,
        initializer: Any = None,
        regularizer: Any = None,
        trainable: bool | None = None,
        constraint: Any = None,
        experimental_autocast: bool = True,
        **_: Any,
    ) -> Any:
        """A variable of this layer. Raises ValueError for an unknown initializer."""
        wanted = tf.as_dtype(dtype or self._dtype)
        initialize = initializers.get(
            initializer or ("glorot_uniform" if wanted.is_floating else "zeros")
        )
        assert initialize is not None
        dims = tuple(() if shape is None else shape)
        variable = tf.Variable(
            lambda: initialize(dims, dtype=wanted),
            trainable=True if trainable is None else trainable,
            name=name,
            dtype=wanted,
            shape=dims,
            constraint=constraints.get(constraint or self._of_weights.get(f"{name}_constraint")),
        )
        if experimental_autocast and self.dtype_policy.is_mixed and wanted.is_floating:
            variable = create_autocast_variable(variable)
        self._own_variables.append(variable)
        regularize = regularizers.get(regularizer or self._of_weights.get(f"{name}_regularizer"))
        if regularize is not None:
            scope = f"{variable.name.partition(':')[0]}/Regularizer"
            self.add_loss(functools.partial(_in_scope, scope, regularize, variable))
        return variable

    @property
    def trainable_weights(self) -> list[Any]:
        """The variables that training changes: its own, then those of the layers in it."""
        if not self.trainable:
            return []
        own = [each for each in self._all_own_variables() if each.trainable]
        below = self._weights_below(trainable=True)
        return unique(own + below if self._own_first else below + own)

    @property
    def non_trainable_weights(self) -> list[Any]:
        """The other variables; all of them if the layer is not trainable."""
        if self.trainable:
            own = [each for each in self._all_own_variables() if not each.trainable]
            below = self._weights_below(trainable=False)
        else:
            own = sorted(self._all_own_variables(), key=lambda each: not each.trainable)
            below = [each for layer in self._sublayers() for each in layer.weights]
        return unique(own + below if self._own_first else below + own)

    def _weights_below(self, *, trainable: bool) -> list[Any]:
        """Those of the layers in it."""
        kind = "trainable_weights" if trainable else "non_trainable_weights"
        return [each for layer in self._sublayers() for each in getattr(layer, kind)]

    def _all_own_variables(self) -> Iterator[Any]:
        yield from self._own_variables
        for child in self._children:
            yield from variables_in(child)

    @property
    def weights(self) -> list[Any]:
        """All variables, those to be trained first."""
        return unique(self.trainable_weights + self.non_trainable_weights)

    @property
    def variables(self) -> list[Any]:
        """The same."""
        return self.weights

    trainable_variables = trainable_weights
    non_trainable_variables = non_trainable_weights

    def get_weights(self) -> list[Any]:
        """The values of the variables, as arrays."""
        return [variable.numpy() for variable in self.weights]

    def set_weights(self, weights: list[Any]) -> None:
        """Assign each variable its value. Raises ValueError if number or shapes differ."""
        variables = self.weights
        if len(weights) != len(variables):
            raise ValueError(
                f'You called `set_weights(weights)` on layer "{self.name}" with a weight list '
                f"of length {len(weights)}, but the layer was expecting {len(variables)} weights. "
                f"Provided weights: {str(weights)[:50]}..."
            )
        for variable, value in zip(variables, weights, strict=True):
            if tuple(variable.shape) != np.shape(value):
                raise ValueError(
                    f"Layer {self.name} weight shape {variable.shape} is not compatible with "
                    f"provided weight shape {np.shape(value)}."
                )
        backend.batch_set_value(list(zip(variables, weights, strict=True)))

    def compute_output_shape(self, input_shape: Any) -> Any:
        """The shape of what it gives for inputs of that shape; it is built, if it wasn't."""
        shapes = input_shape if isinstance(input_shape, list) else tf.TensorShape(input_shape)
        inputs = tf.nest.map_structure(
            lambda shape: keras_tensor.KerasTensor(shape, tf.as_dtype(self._dtype)), shapes
        )
        outputs = self._infer_outputs(inputs, (), {}, None)
        return tf.nest.map_structure(lambda each: each.shape, outputs)


def _to_tensor(value: Any) -> Any:
    if isinstance(value, (tf.Tensor, np.ndarray, float, int)) and not isinstance(value, bool):
        return tf.convert_to_tensor(value)
    return value


def _in_scope(scope: str, function: Callable[..., Any], *arguments: Any) -> Any:
    with tf.name_scope(scope):
        return function(*arguments)


def _is_users(kind: type) -> bool:
    """Was the class written by the user? Keras' own layers need no AutoGraph."""
    return not kind.__module__.startswith("tflogscope.runtime.keras")
