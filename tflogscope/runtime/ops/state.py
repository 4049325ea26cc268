"""Variables as ops see them: VarHandleOp, ReadVariableOp, AssignVariableOp and others.

A variable's value lives in a `Resource`; its handle is a tensor that leads to it. NumPy arrays
given out by a read may be held by others, so a change never writes into the array: it puts a new
one in its place.

Told about: `core/kernels/resource_variable_ops.cc`, `python/ops/resource_variable_ops.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflogscope.runtime import dtypes
from tflogscope.runtime.conversion import constant
from tflogscope.runtime.dtypes import DType
from tflogscope.runtime.errors import FailedPreconditionError, InvalidArgumentError
from tflogscope.runtime.gradients import gradient, not_differentiable
from tflogscope.runtime.indexed_slices import IndexedSlices
from tflogscope.runtime.library import arrays
from tflogscope.runtime.library.joining import concat
from tflogscope.runtime.operations import Inference
from tflogscope.runtime.ops.call import call
from tflogscope.runtime.ops.declare import op, scalar, unknown_shape
from tflogscope.runtime.ops.gathering import check_coordinates, check_indices
from tflogscope.runtime.record import OpRecord
from tflogscope.runtime.resources import ANONYMOUS, Resource, named
from tflogscope.runtime.shapes import UNKNOWN, TensorShape
from tflogscope.runtime.tensors import HandleData

Array = NDArray[Any]


def value_of(resource: Resource) -> Array:
    """The value. Raises FailedPreconditionError if it has none yet."""
    if resource.value is None:
        raise FailedPreconditionError(
            None,
            None,
            f"Could not find variable {resource.name}. This could mean that the variable has been "
            "deleted. In TF1, it can also mean the variable is uninitialized. Debug info: "
            "container=localhost, status error message=Resource "
            f"localhost/{resource.name}/N10tensorflow3VarE does not exist.",
        )
    return resource.value  # type: ignore[no-any-return]


def _value_shape(i: Inference) -> TensorShape:
    data = i.inputs[0].handle_data
    return UNKNOWN if data is None else data.shape


def _handle_shape(i: Inference) -> list[tuple[TensorShape, HandleData]]:
    """Of the handle, and of what it leads to."""
    led_to = HandleData(TensorShape(i.attributes["shape"]), i.attributes["dtype"])
    return [(TensorShape([]), led_to)]


@op(
    "VarHandleOp(; container='', shared_name='', debug_name='', dtype, shape, allowed_devices=[]) "
    "-> resource: resource",
    shape=_handle_shape,
    stateful=True,
)
def _var_handle(shared_name: str, dtype: DType, shape: Any) -> Resource:
    if shared_name == ANONYMOUS:
        return Resource(shared_name, dtype, TensorShape(shape))
    return named(shared_name, dtype, TensorShape(shape))


@op("VarIsInitializedOp(resource: resource) -> is_initialized: bool", shape=scalar, stateful=True)
def _is_initialized(resource: Resource) -> Array:
    return np.array(resource.value is not None)


@op("ReadVariableOp(resource: resource; dtype) -> value: dtype", shape=_value_shape, stateful=True)
def _read(resource: Resource) -> Array:
    return value_of(resource)


@gradient("ReadVariableOp")
def _read_gradient(record: OpRecord, grad: Any) -> list[Any]:  # noqa: ARG001
    return [grad]


@op(
    "DestroyResourceOp(resource: resource; ignore_lookup_error=True)",
    shape=unknown_shape,
    stateful=True,
)
def _destroy(resource: Resource) -> None:
    resource.value = None


@op("VariableShape(input: resource; out_type=int32) -> output: out_type",
    shape=lambda i: TensorShape([_value_shape(i).rank]), stateful=True)  # fmt: skip
def _variable_shape(input: Resource, out_type: DType) -> Array:
    return np.array(value_of(input).shape, out_type.as_numpy_dtype)


# -- changing it


def _assigned_shape(i: Inference) -> TensorShape:
    _value_shape(i).merge_with(i.shape(1))
    return UNKNOWN


@op(
    "AssignVariableOp(resource: resource, value: dtype; validate_shape=False)",
    shape=_assigned_shape,
    stateful=True,
)
def _assign(resource: Resource, value: Array) -> None:
    with resource.lock:
        resource.value = value


def _changing(function: Callable[[Array, Array], Array]) -> Callable[..., None]:
    def kernel(resource: Resource, value: Array) -> None:
        with resource.lock:
            old = value_of(resource)
            if old.shape != value.shape:
                raise InvalidArgumentError(
                    None,
                    None,
                    f"Cannot update variable with shape {list(old.shape)} using a Tensor with "
                    f"shape {list(value.shape)}, shapes must be equal.",
                )
            resource.value = function(old, value)

    return kernel


for _type, _function in {"AssignAddVariableOp": np.add, "AssignSubVariableOp": np.subtract}.items():
    op(f"{_type}(resource: resource, value: dtype)", shape=_assigned_shape, stateful=True)(
        _changing(_function)
    )

# -- some rows of it


def _gathered_shape(i: Inference) -> TensorShape:
    shape, batch = _value_shape(i), i.attributes["batch_dims"]
    if shape.rank is None or i.shape(1).rank is None:
        return UNKNOWN
    return i.shape(1).concatenate(shape[1 + batch :])


@op(
    "ResourceGather(resource: resource, indices: Tindices; batch_dims=0, validate_indices=True, "
    "dtype, Tindices in index) -> output: dtype",
    shape=_gathered_shape,
    stateful=True,
)
def _resource_gather(resource: Resource, indices: Array) -> Array:
    value = value_of(resource)
    check_indices(indices, value.shape[0])
    return value[indices]


@gradient("ResourceGather")
def _resource_gather_gradient(record: OpRecord, grad: Any) -> list[Any]:
    handle, indices = record.inputs
    data = handle.handle_data
    if data is not None and data.shape.is_fully_defined():
        shape: Any = constant(data.shape.as_list(), dtypes.int32)
    else:
        shape = call("VariableShape", handle)
    size = arrays.expand_dims(arrays.size(indices), 0)
    values = arrays.reshape(grad, concat([size, shape[1:]], 0))
    return [IndexedSlices(values, arrays.reshape(indices, size), shape), None]


@op(
    "ResourceGatherNd(resource: resource, indices: Tindices; dtype, Tindices in index) -> "
    "output: dtype",
    shape=unknown_shape,
    stateful=True,
)
def _resource_gather_nd(resource: Resource, indices: Array) -> Array:
    return value_of(resource)[tuple(np.moveaxis(indices, -1, 0))]  # type: ignore[no-any-return]


@gradient("ResourceGatherNd")
def _resource_gather_nd_gradient(record: OpRecord, grad: Any) -> list[Any]:
    handle, indices = record.inputs
    shape = call("VariableShape", handle, out_type=indices.dtype)
    if indices.shape.rank == 2 and indices.shape[-1] == 1:
        return [IndexedSlices(grad, arrays.squeeze(indices, axis=-1), shape), None]
    return [call("ScatterNd", indices, grad, shape), None]


def _scattering(function: Any) -> Callable[..., None]:
    def kernel(resource: Resource, indices: Array, updates: Array) -> None:
        with resource.lock:
            value = value_of(resource).copy()
            check_indices(indices, value.shape[0])
            if function is None:
                value[indices] = updates
            else:
                function.at(value, indices, updates)
            resource.value = value

    return kernel


_scatters: dict[str, Callable[..., Any] | None] = {
    "ResourceScatterAdd": np.add,
    "ResourceScatterSub": np.subtract,
    "ResourceScatterMax": np.maximum,
    "ResourceScatterMin": np.minimum,
    "ResourceScatterMul": np.multiply,
    "ResourceScatterUpdate": None,
}
for _type, _update in _scatters.items():
    op(f"{_type}(resource: resource, indices: Tindices, updates: dtype; Tindices in index)",
       shape=unknown_shape, stateful=True)(_scattering(_update))  # fmt: skip


def _scattering_nd(function: Any) -> Callable[..., None]:
    def kernel(ref: Resource, indices: Array, updates: Array) -> None:
        with ref.lock:
            value = value_of(ref).copy()
            check_coordinates(indices, value.shape)
            places = tuple(np.moveaxis(indices, -1, 0))
            if function is None:
                value[places] = updates
            else:
                function.at(value, places, updates)
            ref.value = value

    return kernel


_scatters_nd: dict[str, Callable[..., Any] | None] = {
    "ResourceScatterNdUpdate": None,
    "ResourceScatterNdAdd": np.add,
    "ResourceScatterNdSub": np.subtract,
}
for _type, _update in _scatters_nd.items():
    op(
        f"{_type}(ref: resource, indices: Tindices, updates: T; Tindices in index, "
        "use_locking=True)",
        shape=unknown_shape,
        stateful=True,
    )(_scattering_nd(_update))

not_differentiable("VarHandleOp", "VarIsInitializedOp", "VariableShape")
