"""`Layer`: weights and a computation. A call enters the layer's scope twice: to build it, if it
has not been built, and to compute.

A call on Keras tensors is remembered for a functional model; what comes out is learned from a
scratch graph. No part of it is converted by AutoGraph.

Told about: `keras/src/layers/layer.py`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

import tflogscope.runtime.api as tf
from tflogscope.runtime.keras import constraints
from tflogscope.runtime.keras.keras_tensor import Node
from tflogscope.runtime.keras.layers.checking import check_inputs
from tflogscope.runtime.keras3 import dtype_policies, dtypes, initializers, ops, regularizers
from tflogscope.runtime.keras3.layers.call_arguments import (
    CallArguments,
    is_tensor_or_symbolic,
    parameters_of,
)
from tflogscope.runtime.keras3.layers.described import Described
from tflogscope.runtime.keras3.layers.explaining import explaining
from tflogscope.runtime.keras3.operation import any_symbolic, known_spec, output_spec
from tflogscope.runtime.keras3.reduction import mask_of
from tflogscope.runtime.keras3.state import auto_name, autocast_scope, name_scope, path, state
from tflogscope.runtime.keras3.variables import Variable

__all__ = ["Layer"]


class _Call:
    """The outermost call that goes on: layers within it inherit its `training`."""

    def __init__(self, layer: Layer) -> None:
        self.layer = layer
        self.training: Any = None


class Layer(Described):
    """Subclasses have `call`, and `build` if their weights depend on the shape of the input."""

    def __init__(
        self,
        *,
        activity_regularizer: Any = None,
        trainable: bool = True,
        dtype: Any = None,
        autocast: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        """Raises ValueError for options that no layer has."""
        width = kwargs.pop("input_dim", None)
        self._input_shape_arg = kwargs.pop("input_shape", None if width is None else (width,))
        if kwargs:
            raise ValueError(
                f"Unrecognized keyword arguments passed to {type(self).__name__}: {kwargs}"
            )
        self.name = name or auto_name(type(self).__name__)
        self.dtype_policy = dtype_policies.get(dtype)
        self.dtype = self.dtype_policy.variable_dtype
        self.autocast = autocast
        self.activity_regularizer = regularizers.get(activity_regularizer)
        self.built = False
        self.input_spec: Any = None
        self._trainable = trainable
        self._parent_path: str | None = None
        self._convert_inputs = True
        self.supports_masking = type(self).compute_mask is not Layer.compute_mask
        # not to be tracked
        vars(self).update(inbound_nodes=[], _losses=[], _built_for={})

    inbound_nodes: list[Node]
    _losses: list[Any]
    _built_for: dict[str, Any]

    # What subclasses override

    def build(self, input_shape: Any) -> None:
        """Make the weights. Called once, with the shape (or structure of shapes) of the inputs."""

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """The computation. May take `training` and `mask`."""
        raise NotImplementedError(
            f"Layer {type(self).__name__} does not have a `call()` method implemented."
        )

    def compute_mask(self, inputs: Any, previous_mask: Any) -> Any:
        """The mask of the outputs."""
        del inputs
        return previous_mask

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """A `build` is done in the layer's scope, whoever calls it."""
        super().__init_subclass__(**kwargs)
        if "build" in cls.__dict__:
            cls.build = _in_own_scope(cls.__dict__["build"])  # type: ignore[method-assign]

    # Calling it

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        original = (args, kwargs)  # NB: unless converted, also with what is put into `kwargs` below
        if self._convert_inputs and not self._fits(args, kwargs):
            args, kwargs = tf.nest.map_structure(self._converted, (args, kwargs))
        arguments = CallArguments(type(self).call, args, kwargs)
        check_inputs(self.input_spec, arguments.first, self.name)
        with self._scope():
            self._maybe_build(arguments)
        outermost = state.call is None
        if outermost:
            state.call = _Call(self)
            self._forget_losses()
        self._give_training(arguments, kwargs)
        masks = self._give_mask(arguments, kwargs)
        try:
            with self._scope():
                with self._casting():
                    outputs = self._compute(args, kwargs)
                self.built = True
                self._count_activity(outputs)
            self._set_mask(arguments.first, outputs, masks)
        finally:
            if state.call.layer is self:
                state.call = None
        if any_symbolic(original):
            Node(self, *original, outputs)
        return outputs

    def _compute(self, args: Any, kwargs: Any) -> Any:
        call = explaining(self.call, self)
        if any_symbolic(args, kwargs):
            return self.compute_output_spec(*args, **kwargs)
        return call(*args, **kwargs)

    def compute_output_spec(self, *args: Any, **kwargs: Any) -> Any:
        """What a call on Keras tensors gives."""
        own = type(self).call.__module__.startswith("tflogscope.runtime.keras3")
        return (known_spec if own else output_spec)(self.call, *args, **kwargs)

    def _scope(self) -> AbstractContextManager[None]:
        if self._parent_path is None:
            self._parent_path = path()
        return name_scope(self.name, caller=self)

    def _casting(self) -> AbstractContextManager[None]:
        """Weights are read in the dtype of the computation, if theirs is another."""
        compute = self.compute_dtype
        if state.autocast is None:
            return autocast_scope(compute if compute != self.dtype else None)
        casts = self.autocast and dtypes.is_float(compute)
        return autocast_scope(compute if casts else None)

    def _fits(self, args: Any, kwargs: Any) -> bool:
        """One tensor that has the layer's dtype needs no conversion."""
        one = not kwargs and len(args) == 1 and is_tensor_or_symbolic(args[0])
        return one and dtypes.standardize(args[0].dtype) == self.input_dtype

    def _converted(self, value: Any) -> Any:
        """A float tensor in the layer's dtype, and an array as a tensor."""
        if isinstance(value, np.ndarray):
            value = ops.convert_to_tensor(value)
        if not is_tensor_or_symbolic(value) or not self.autocast:
            return value
        current = dtypes.standardize(value.dtype)
        if not dtypes.is_float(current) or current == self.input_dtype:
            return value
        mask = mask_of(value)
        value = ops.cast(value, self.input_dtype)
        value._keras_mask = mask
        return value

    def _maybe_build(self, arguments: CallArguments) -> None:
        if self.built:
            return
        self.__dict__["_built_for"] = arguments.shapes()
        if type(self).build is not Layer.build:
            self.build(**arguments.shapes_for(self.build))
            check_inputs(self.input_spec, arguments.first, self.name)
            return
        if any(not layer.built for layer in self._sublayers()):
            try:
                output_spec(self.call, **arguments.all)
            except Exception:
                if not arguments.eager:
                    raise
                return
        self.built = True

    # Arguments that come from outside: mask and training

    def takes(self, name: str) -> bool:
        """Has `call` a parameter of that name?"""
        return name in parameters_of(type(self).call).parameters

    def _give_training(self, arguments: CallArguments, kwargs: dict[str, Any]) -> None:
        """Whether this is training: as said in the call, else as for the layer around, else the
        default.
        """
        if "training" in arguments.given:
            training = arguments.given["training"]
        elif state.call.training is not None:
            training = state.call.training
        else:
            training = arguments.all.get("training")
        state.call.training = training
        if self.takes("training") and training is not None:
            kwargs["training"] = training

    def _give_mask(self, arguments: CallArguments, kwargs: dict[str, Any]) -> Any:
        """The masks of the inputs; passed to `call` if it takes them and none was given."""
        if len(arguments.tensors) == 1 and arguments.all.get("mask", ...) is None:
            (only,) = arguments.tensors.values()
            kwargs["mask"] = tf.nest.map_structure(mask_of, only)
        elif len(arguments.tensors) > 1:
            for name, value in arguments.tensors.items():
                if arguments.all.get(f"{name}_mask", ...) is None:
                    kwargs[f"{name}_mask"] = tf.nest.map_structure(mask_of, value)
        if kwargs.get("mask") is not None:
            return kwargs["mask"]
        return tf.nest.map_structure(mask_of, arguments.first)

    def _set_mask(self, inputs: Any, outputs: Any, masks: Any) -> None:
        flat = tf.nest.flatten(outputs)
        if not self.supports_masking or all(mask_of(each) is not None for each in flat):
            return
        computed = self.compute_mask(inputs, masks)
        if computed is None:
            return
        for tensor, mask in zip(flat, tf.nest.flatten(computed), strict=False):
            if mask is not None and mask_of(tensor) is None:
                tensor._keras_mask = mask

    # Weights

    def add_weight(
        self,
        shape: Any = None,
        initializer: Any = None,
        dtype: Any = None,
        trainable: bool = True,
        autocast: bool = True,
        regularizer: Any = None,
        constraint: Any = None,
        name: str | None = None,
        **_: Any,
    ) -> Any:
        """A variable of this layer. Raises ValueError for an unknown initializer, and for a name in
        the place of the shape, where Keras 2 had it.
        """
        if isinstance(shape, str):
            raise ValueError(
                "`name` must be passed as a keyword argument. Received: "
                f"add_weight('{shape}', ...). Use: add_weight(shape=..., name='{shape}')."
            )
        wanted = dtypes.standardize(dtype or self.dtype)
        default = "glorot_uniform" if dtypes.is_float(wanted) else "zeros"
        with name_scope(self.name, caller=self):
            variable = Variable(
                initializers.get(initializer or default),
                shape=() if shape is None else shape,
                dtype=wanted,
                trainable=trainable and self._trainable,
                autocast=autocast,
                name=name,
            )
        variable.regularizer = regularizers.get(regularizer)
        variable.constraint = constraints.get(constraint)
        owned = self.__dict__.setdefault("_owned", [])
        owned.append(variable)
        return variable

    # Losses of its own

    def _count_activity(self, outputs: Any) -> None:
        """What `activity_regularizer` says of the outputs, per example of the batch."""
        if self.activity_regularizer is None:
            return
        for output in tf.nest.flatten(outputs):
            if ops.is_tensor(output):
                loss = self.activity_regularizer(output)
                if len(output.shape):
                    size = ops.cast(ops.shape(output)[0], loss.dtype)
                    loss = ops.divide_no_nan(loss, size)
                self.add_loss(loss)

    def add_loss(self, loss: Any) -> None:
        """A tensor to be added to the loss of this call."""
        if not state.stateless:
            self._losses += tf.nest.flatten(loss)

    @property
    def losses(self) -> list[Any]:
        """What it and the layers in it add to the loss, and what regularizers say of weights."""
        added = [each for layer in self._flatten_layers() for each in layer._losses]
        of_weights = [each.regularizer(each) for each in self.trainable_weights if each.regularizer]
        return added + of_weights

    def _forget_losses(self) -> None:
        """A new call adds its losses anew."""
        for layer in self._flatten_layers():
            layer._losses.clear()


def _in_own_scope(build: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(build)
    def wrapped(self: Layer, *args: Any, **kwargs: Any) -> None:
        with self._scope():
            build(self, *args, **kwargs)
        self.built = True

    return wrapped
