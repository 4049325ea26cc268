"""`tf.Variable`: a name for a value that can change.

The value lives in a resource; what ops pass around is the resource's *handle*, a tensor that
`VarHandleOp` makes. Reading is the op `ReadVariableOp`, changing `AssignVariableOp` and its kin, so
that functions can do both, in order.

Told about: `ops/resource_variable_ops.py`, `ops/variables.py`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, ClassVar

import numpy as np

from tflogscope.runtime import context, nest, tape, telling
from tflogscope.runtime.conversion import convert_to_tensor, register_conversion
from tflogscope.runtime.copies import VariableAggregation, VariableSynchronization
from tflogscope.runtime.dtypes import DType, as_dtype
from tflogscope.runtime.operators import OPERATORS, NotInPlace, Operators
from tflogscope.runtime.ops.call import call, call_node
from tflogscope.runtime.printing import named_value
from tflogscope.runtime.resources import ANONYMOUS, Resource
from tflogscope.runtime.scattering import Scattering
from tflogscope.runtime.shapes import TensorShape, as_shape
from tflogscope.runtime.tensors import HandleData, Reference, SymbolicTensor, Tensor, uid

__all__ = ["Resource", "Variable", "creator_scope"]


class _Creators(threading.local):
    def __init__(self) -> None:
        self.stack: list[Callable[..., Any]] = []


_creators = _Creators()


@contextmanager
def creator_scope(creator: Callable[..., Any]) -> Iterator[None]:
    """`tf.variable_creator_scope`: in it, `tf.Variable(…)` calls `creator(next_creator,
    **arguments)`.
    """
    _creators.stack.append(creator)
    try:
        yield
    finally:
        _creators.stack.pop()


def _create(depth: int, **arguments: Any) -> Any:
    if depth == 0:
        return type.__call__(Variable, **arguments)
    return _creators.stack[depth - 1](lambda **kwargs: _create(depth - 1, **kwargs), **arguments)


class _VariableType(type):
    """Lets creator scopes say what `tf.Variable(…)` makes: how a function learns that it creates
    variables.
    """

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if cls is not Variable or not _creators.stack:
            return super().__call__(*args, **kwargs)
        names = (
            "initial_value",
            "trainable",
            "validate_shape",
            "caching_device",
            "name",
            "variable_def",
            "dtype",
        )
        return _create(len(_creators.stack), **dict(zip(names, args, strict=False)), **kwargs)


class Variable(NotInPlace, Operators, Scattering, metaclass=_VariableType):
    """A variable. `initial_value` is a value or a function without arguments that gives one."""

    __array_priority__: ClassVar[int] = 100
    plain = True
    """Is it of TensorFlow's class `ResourceVariable`, which some functions look for?"""
    graph_element: Any
    """What a TF1 session gives for the variable."""

    def __init__(
        self,
        initial_value: Any = None,
        trainable: bool | None = None,
        validate_shape: bool = True,
        caching_device: Any = None,
        name: str | None = None,
        variable_def: Any = None,
        dtype: Any = None,
        import_scope: str | None = None,
        constraint: Callable[[Any], Any] | None = None,
        synchronization: Any = None,
        aggregation: Any = None,
        shape: Any = None,
        **_: Any,
    ) -> None:
        """Raises ValueError without an initial value, or if it does not fit the shape."""
        del caching_device, variable_def, import_scope
        self.constraint = constraint
        self.synchronization = synchronization or VariableSynchronization.AUTO
        self.aggregation = aggregation or VariableAggregation.NONE
        self._trainable = True if trainable is None else trainable
        if initial_value is None:
            raise ValueError(
                "The `initial_value` arg to `tf.Variable` must be specified except when you are "
                "not providing a `variable_def`. You provided neither."
            )
        if isinstance(initial_value, SymbolicTensor) and initial_value.graph.building_function:
            raise ValueError(
                f"Argument `initial_value` ({initial_value}) could not be lifted out of a "
                f"`tf.function`. (Tried to create variable with name='{name}'). To avoid this "
                "error, when constructing `tf.Variable`s inside of `tf.function` you can create "
                "the `initial_value` tensor in a `tf.init_scope` or pass a callable "
                "`initial_value` (e.g., `tf.Variable(lambda : tf.truncated_normal([10, 40]))`)."
            )
        context.ask_for_default_graph()
        with context.init_scope(), context.NameScope("Variable" if name is None else name) as scope:
            self._set_name(scope[:-1])
            value = initial_tensor(initial_value, dtype)
            self._set_handle(_checked_shape(value, shape), value.dtype, scope)
            self._initialize(value, validate_shape=validate_shape)

    def _set_name(self, name: str) -> None:
        self._name = name
        self._unique_id = f"{name}_{uid()}"

    def _set_handle(self, shape: TensorShape, dtype: DType, scope: str) -> None:
        """Make the resource. In a TF1 graph it has the variable's name, so that all sessions find
        it.
        """
        shared = ANONYMOUS if context.executing_eagerly() else self._name
        named = {"shared_name": shared, "debug_name": scope, "name": scope}
        handle = call("VarHandleOp", shape=shape, dtype=dtype, container="", **named)
        handle.handle_data = HandleData(shape, dtype)
        self._adopt(handle)
        if telling.listener is not None:
            telling.listener.variable_created(handle, self._name)

    def _adopt(self, handle: Tensor) -> None:
        assert handle.handle_data is not None
        self.handle = handle
        self._shape, self._dtype = handle.handle_data
        self._initializer: Any = None

    def _initialize(self, value: Tensor, *, validate_shape: bool) -> None:
        self._validate_shape = validate_shape
        if context.executing_eagerly():
            call_node("AssignVariableOp", self.handle, value, validate_shape=False)
            return
        with context.name_scope("IsInitialized"):
            call("VarIsInitializedOp", self.handle)
        with context.name_scope("Assign") as scope:
            self._initializer = call_node("AssignVariableOp", self.handle, value, name=scope)
        with context.name_scope("Read"):
            self.graph_element = call("ReadVariableOp", self.handle, dtype=self._dtype)
        self._collect()

    def _collect(self) -> None:
        """Enter it in the graph's lists of variables."""
        collections = context.current().collections  # type: ignore[attr-defined]
        for key in ("variables", "trainable_variables") if self._trainable else ("variables",):
            collections.setdefault(key, []).append(self)

    # -- what it is ------------------------------------------------------------

    @property
    def name(self) -> str:
        """Its name within its name scope, with `:0`."""
        return f"{self._name}:0"

    @property
    def dtype(self) -> DType:
        """The dtype of its value."""
        return self._dtype

    @property
    def shape(self) -> TensorShape:
        """The shape of its value."""
        return self._shape

    def get_shape(self) -> TensorShape:
        """The same as `shape`."""
        return self._shape

    @property
    def ndim(self) -> int | None:
        """How many dimensions its value has."""
        return self._shape.rank

    @property
    def trainable(self) -> bool:
        """Do tapes watch it by themselves?"""
        return self._trainable

    @property
    def device(self) -> str:
        """Where it lives."""
        return str(self.handle.device)

    @property
    def initializer(self) -> Any:
        """In a TF1 graph the node that gives it its first value; None otherwise."""
        return self._initializer

    @property
    def op(self) -> Any:
        """The node of its handle. AttributeError if it was made eagerly."""
        return self.handle.op

    def ref(self) -> Reference:
        """A hashable stand-in, to use variables as keys."""
        return Reference(self)

    # -- reading ---------------------------------------------------------------

    def value(self) -> Tensor:
        """The value now: a `ReadVariableOp`."""
        return self._read()

    @property
    def value_dtype(self) -> DType:
        """The dtype of that."""
        return self._dtype

    def read_value(self) -> Tensor:
        """The value now, as a tensor of its own: a `ReadVariableOp` and an `Identity`."""
        with context.op_scope("Read", "Read"):
            value = self._read()
        return call("Identity", value)

    def numpy(self) -> Any:
        """The value as a NumPy array. Raises NotImplementedError while a function is traced."""
        if not context.executing_eagerly():
            raise NotImplementedError("numpy() is only available when eager execution is enabled.")
        return self.read_value().numpy()  # type: ignore[attr-defined]

    def is_initialized(self, name: str | None = None) -> Tensor:
        """Does it have a value?"""
        return call("VarIsInitializedOp", self.handle, name=name)

    def initialized_value(self) -> Tensor:
        """The value; named so in TF1."""
        return self.read_value()

    def sparse_read(self, indices: Any, name: str | None = None) -> Tensor:
        """Some rows of the value: a `ResourceGather`."""
        with context.op_scope(name, "Gather") as scope:
            accessed(self)
            return call("ResourceGather", self.handle, indices, dtype=self._dtype, name=scope)

    def gather_nd(self, indices: Any, name: str | None = None) -> Tensor:
        """The elements at these coordinates: a `ResourceGatherNd`, and an `Identity`."""
        with context.op_scope(name, "GatherNd") as scope:
            accessed(self)
            found = call("ResourceGatherNd", self.handle, indices, dtype=self._dtype, name=scope)
        return call("Identity", found)

    def _read(self) -> Tensor:
        accessed(self)
        value = call("ReadVariableOp", self.handle, dtype=self._dtype)
        if not context.executing_eagerly():
            # Tapes see it read outside: gradients go to the handle itself, not to what stands for
            # it in the function.
            tape.record_operation("ReadVariableOp", [value], [self.handle], lambda grad: [grad])
        return value

    # -- changing --------------------------------------------------------------

    def assign(
        self, value: Any, use_locking: Any = None, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Give it this value. Raises ValueError if the shape differs. Gives the variable as it is
        afterwards.
        """
        del use_locking
        tensor = convert_to_tensor(value, self._dtype)
        if not self._shape.is_compatible_with(tensor.shape):
            raise ValueError(
                f"Cannot assign value to variable ' {self.name}': Shape mismatch.The variable "
                f"shape {self._shape}, and the assigned value shape {tensor.shape} are "
                "incompatible."
            )
        validate = getattr(self, "_validate_shape", False) and self._shape.is_fully_defined()
        return self._changed(
            "AssignVariableOp", tensor, name, read_value=read_value, validate_shape=validate
        )

    def assign_add(
        self, delta: Any, use_locking: Any = None, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Add this to its value."""
        del use_locking
        return self._changed(
            "AssignAddVariableOp",
            convert_to_tensor(delta, self._dtype),
            name,
            read_value=read_value,
        )

    def assign_sub(
        self, delta: Any, use_locking: Any = None, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Take this from its value."""
        del use_locking
        return self._changed(
            "AssignSubVariableOp",
            convert_to_tensor(delta, self._dtype),
            name,
            read_value=read_value,
        )

    def assign_slice(
        self, limits: Sequence[Tensor], value: Any, name: str | None, **masks: int
    ) -> Any:
        """What `variable[1:].assign(value)` does: see library/slicing.py."""
        tensor = convert_to_tensor(value, self._dtype)
        op = "ResourceStridedSliceAssign"
        return self._changed(op, tensor, name, *limits, read_value=True, **masks)

    def _changed(
        self,
        op: str,
        value: Tensor,
        name: str | None,
        *before: Tensor,
        read_value: bool,
        **attributes: Any,
    ) -> Any:
        with self._ordered():
            node = call_node(op, self.handle, *before, value, name=name, **attributes)
        return self._after(node) if read_value else node

    def _after(self, node: Any) -> Any:
        accessed(self)
        return UnreadVariable(self, node)

    def _ordered(self) -> Any:
        return nullcontext()

    # -- as a Python value -----------------------------------------------------

    def _operand(self) -> Tensor:
        return self.value()

    def __eq__(self, other: object) -> Any:
        return OPERATORS["__eq__"](self._operand(), other)

    def __ne__(self, other: object) -> Any:
        return OPERATORS["__ne__"](self._operand(), other)

    def __getitem__(self, key: Any) -> Any:
        return OPERATORS["__getitem__"](self._operand(), key, self)

    def __hash__(self) -> int:
        raise TypeError(
            f"Variable is unhashable. Instead, use variable.ref() as the key. (Variable: {self})"
        )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        del copy
        array = np.asarray(self.numpy())
        return array if dtype is None else array.astype(dtype)

    def __bool__(self) -> bool:
        return bool(self.read_value())

    def __int__(self) -> int:
        return int(self.value().numpy())  # type: ignore[attr-defined]

    def __float__(self) -> float:
        return float(self.value().numpy())  # type: ignore[attr-defined]

    def __iter__(self) -> Iterator[Tensor]:
        return iter(self.value())

    def __deepcopy__(self, memo: dict[int, Any]) -> Variable:
        copy = Variable(
            self.read_value(), trainable=self._trainable, name=self._name, dtype=self._dtype
        )
        memo[id(self)] = copy
        return copy

    def __repr__(self) -> str:
        shown = f"<tf.Variable '{self.name}' shape={self.shape} dtype={self.dtype.name}"
        if not context.executing_eagerly():
            return shown + ">"
        initialised = getattr(getattr(self.handle, "value", None), "value", None) is not None
        return (
            f"{shown}, {named_value(self.read_value()) if initialised else 'numpy=<unavailable>'}>"  # type: ignore[arg-type]
        )


class UnreadVariable(Variable):
    """What an assignment gives: the variable after it. It is read only if somebody asks for its
    value.
    """

    plain = False

    def __init__(self, variable: Variable, node: Any) -> None:
        self.constraint = self.synchronization = self.aggregation = None
        self._trainable = variable.trainable
        self._name = "UnreadVariable"
        self._unique_id = variable._unique_id  # noqa: SLF001
        self._validate_shape = getattr(variable, "_validate_shape", False)
        self._adopt(variable.handle)
        self._node = node
        if not (context.executing_eagerly() or context.current().building_function):
            self.graph_element = self._read()  # a session may ask for it

    @property
    def name(self) -> str:
        """It has no name of its own."""
        return self._name

    @property
    def op(self) -> Any:
        """The assignment."""
        return self._node

    def read_value(self) -> Tensor:
        """The value after the assignment."""
        return self._read()

    def _read(self) -> Tensor:
        with self._ordered():
            return call("ReadVariableOp", self.handle, dtype=self._dtype)

    def _ordered(self) -> Any:
        if self._node is None or context.executing_eagerly():
            return nullcontext()
        return context.current().control_dependencies([self._node])  # type: ignore[attr-defined]


def initial_tensor(initial_value: Any, dtype: Any) -> Tensor:
    """The first value as a tensor, made in the name scope `Initializer`."""
    with context.op_scope("Initializer", "Initializer"):
        value = initial_value() if callable(initial_value) else initial_value
        wanted = None if dtype is None else as_dtype(dtype)
        try:
            tensor: Tensor = convert_to_tensor(value, wanted, name="initial_value")
        except ValueError as error:
            if not isinstance(value, Tensor):
                raise
            raise ValueError(f"initial_value: {error}") from None
        return tensor


def _checked_shape(value: Tensor, shape: Any) -> TensorShape:
    if shape is None:
        return value.shape
    if not value.shape.is_compatible_with(shape):
        raise ValueError(
            f"In this `tf.Variable` creation, the initial value's shape ({value.shape}) is not "
            f"compatible with the explicitly supplied `shape` argument ({shape})."
        )
    return as_shape(shape)


def accessed(variable: Variable) -> None:
    """A variable is read: functions that are traced, and tapes, take note. Told about:
    `variable_accessed`.
    """
    watch = getattr(context.current(), "watch_variable", None)
    if watch is not None:
        watch(variable)
    if variable.trainable:
        tape.variable_accessed(variable)


def values_of(structure: Any) -> Any:
    """The same structure with each variable's value instead of it."""
    return nest.map_structure(
        lambda leaf: leaf.value() if isinstance(leaf, Variable) else leaf, structure
    )


def _to_tensor(variable: Any, dtype: DType | None, name: str | None) -> Any:
    del name
    if dtype is not None and variable.value_dtype is not dtype:
        raise ValueError(
            f"Incompatible type conversion requested to type {dtype.name!r} for `tf.Variable of "
            f"type {variable.dtype.name!r}`. (Variable: {variable})"
        )
    return variable.value()


register_conversion(Variable, _to_tensor)

# As TensorFlow names it where a type is printed.
Variable.__module__ = "tensorflow.python.ops.resource_variable_ops"
Variable.__name__ = Variable.__qualname__ = "ResourceVariable"
