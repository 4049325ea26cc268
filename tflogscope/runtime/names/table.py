"""The names of `tf.`: one table. Each row is a module of the namespace; `names` lists functions of the
runtime's own modules, `ops` the ops whose generated function is the name in small letters.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from tflogscope.runtime import session
from tflogscope.runtime.core import dtypes, errors, nest
from tflogscope.runtime.core.calls import generated, snake_case
from tflogscope.runtime.core.context import (
    device,
    executing_eagerly,
    init_scope,
    inside_function,
    name_scope,
)
from tflogscope.runtime.core.conversion import constant, convert_to_tensor
from tflogscope.runtime.core.graph import Graph, Node, control_dependencies
from tflogscope.runtime.core.known import known_value
from tflogscope.runtime.core.registry import registered
from tflogscope.runtime.core.shapes import TensorShape
from tflogscope.runtime.core.tensors import Tensor, TensorSpec
from tflogscope.runtime.data import dataset
from tflogscope.runtime.function import checks, polymorphic, variables
from tflogscope.runtime.function.autograph.conversion import convert, do_not_convert
from tflogscope.runtime.function.branches import cond, switch_case
from tflogscope.runtime.function.gradient_tape import GradientTape, custom_gradient
from tflogscope.runtime.function.loops import while_loop
from tflogscope.runtime.function.py_function import numpy_function, py_function
from tflogscope.runtime.function.tensor_array import TensorArray, map_fn
from tflogscope.runtime.library import arrays, matrices, nn, numbers, random, slices
from tflogscope.runtime.library.slopes import IndexedSlices

Names = dict[str, Any]


def _of(modul: Any, names: str) -> Names:
    """These functions of a module; one that would hide a function of Python's has `_` after it."""
    return {
        name: getattr(modul, f"{name}_", None) or getattr(modul, name) for name in names.split()
    }


def _ops(types: str) -> Names:
    return {snake_case(type): generated(type) for type in types.split()}


_MATH_OPS = (
    "Cos DivNoNan Equal Erf Exp Floor FloorMod Greater GreaterEqual "
    "Less LessEqual Log Log1p LogicalAnd LogicalNot LogicalOr Maximum Minimum NotEqual "
    "Reciprocal Round Rsqrt Sign Sin Softplus Sqrt Square SquaredDifference Tanh UnsortedSegmentSum"
)
_MATH = _ops(_MATH_OPS) | _of(
    numbers,
    "abs sigmoid add truediv floordiv pow add_n reduce_sum "
    "reduce_mean reduce_prod reduce_max reduce_min reduce_all reduce_any reduce_variance argmax",
) | {
    "divide": numbers.truediv,
    "mod": generated("FloorMod"),
    "subtract": generated("Sub"),
    "multiply": generated("Mul"),
    "negative": generated("Neg"),
    "divide_no_nan": numbers.div_no_nan,
}  # fmt: skip
_BOTH = set(
    "abs add add_n argmax cos divide equal exp floor greater greater_equal less "
    "less_equal log logical_and logical_not logical_or maximum minimum multiply negative not_equal pow "
    "reduce_all reduce_any reduce_max reduce_mean reduce_min reduce_prod reduce_sum "
    "round sigmoid sign sin sqrt square subtract tanh truediv".split()
)
"""Names of `tf.math` that are in `tf`, too."""

_TF: Names = {
    **{name: _MATH[name] for name in _BOTH},
    **{name: each for name, each in dtypes.ALL.items() if name not in {"bool", "string"}},
    **_of(dtypes, "bool string as_dtype"),
    **_of(
        arrays,
        "rank reshape squeeze identity stop_gradient ensure_shape cast fill zeros ones zeros_like "
        "ones_like range one_hot concat stack unstack split size",
    ),
    **_of(matrices, "matmul transpose tensordot einsum eye"),
    **_of(numbers, "clip_by_value"),
    **_of(slices, "gather where"),
    **_ops("BroadcastTo ExpandDims IdentityN Slice Tile Unique"),
    "shape": arrays.shape,
    "bool": dtypes.bool_,
    "newaxis": None,
    "constant": constant,
    "convert_to_tensor": convert_to_tensor,
    "get_static_value": known_value,
    "is_tensor": lambda value: isinstance(value, (Tensor, variables.Variable)),
    "executing_eagerly": executing_eagerly,
    "inside_function": inside_function,
    "init_scope": init_scope,
    "name_scope": name_scope,
    "device": device,
    "control_dependencies": control_dependencies,
    "Tensor": Tensor,
    "TensorSpec": TensorSpec,
    "TensorShape": TensorShape,
    "TensorArray": TensorArray,
    "IndexedSlices": IndexedSlices,
    "Graph": Graph,
    "Operation": Node,
    "DType": dtypes.DType,
    "Variable": variables.Variable,
    "variable_creator_scope": variables.creator_scope,
    "Module": variables.Module,
    "GradientTape": GradientTape,
    "custom_gradient": custom_gradient,
    "function": polymorphic.function,
    "cond": cond,
    "switch_case": switch_case,
    "while_loop": while_loop,
    "map_fn": map_fn,
    "py_function": py_function,
    "numpy_function": numpy_function,
    "print": checks.print_v2,
    "Assert": checks.Assert,
    "no_op": generated("NoOp"),
}
_NN = _of(
    nn,
    "gelu bias_add softmax log_softmax conv1d conv2d convolution depthwise_conv2d max_pool "
    "avg_pool avg_pool2d moments batch_normalization dropout embedding_lookup "
    "softmax_cross_entropy_with_logits sparse_softmax_cross_entropy_with_logits "
    "sigmoid_cross_entropy_with_logits",
) | {
    **_ops("Elu Relu Softplus"),
    **{name: _MATH[name] for name in ("sigmoid", "tanh")},
    "l2_loss": generated("L2Loss"),
    "max_pool2d": nn.max_pool,
}
_CHECKS = {
    f"assert_{scope}": checks.comparison(symbol, f"assert_{scope}", op)
    for scope, symbol, op in (
        ("equal", "==", "Equal"),
        ("none_equal", "!=", "NotEqual"),
        ("less", "<", "Less"),
        ("less_equal", "<=", "LessEqual"),
        ("greater", ">", "Greater"),
        ("greater_equal", ">=", "GreaterEqual"),
    )
}
_SESSION = _of(
    session,
    "disable_eager_execution get_default_graph set_random_seed placeholder Session "
    "get_variable global_variables global_variables_initializer wrap_function",
)


def _join(inputs: Any, separator: str = "") -> Any:
    return generated("StringJoin")(inputs, separator=separator)


class _RawOps(SimpleNamespace):
    """`tf.raw_ops`: any op by its name, with keywords."""

    def __getattr__(self, name: str) -> Any:
        if not registered(name):
            return errors.missing("tf.raw_ops", name)
        return generated(name)


def namespace(keras: Any, version: str) -> dict[str, Names]:
    """The modules of `tf.`, by their dotted names; "" is `tf` itself."""
    tf = {**_TF, "__version__": version, "keras": keras, "raw_ops": _RawOps()}
    tf |= {"losses": keras.losses, "metrics": keras.metrics, "optimizers": keras.optimizers}
    tf |= {"initializers": keras.initializers}
    return {
        "": tf,
        "autograph": {"to_graph": convert},
        "autograph.experimental": {"do_not_convert": do_not_convert},
        "compat": {},
        "compat.v1": {**tf, **_SESSION, "disable_control_flow_v2": lambda: None},
        "compat.v1.nn": {**_NN, "fused_batch_norm": nn.fused_batch_norm},
        "compat.v1.train": {"GradientDescentOptimizer": session.GradientDescentOptimizer},
        "config": {
            **_of(polymorphic, "run_functions_eagerly functions_run_eagerly"),
            "list_physical_devices": lambda kind=None: [] if kind == "GPU" else ["CPU:0"],
        },
        "config.optimizer": {"set_experimental_options": lambda options: None},
        "config.threading": {
            "set_inter_op_parallelism_threads": lambda count: None,
            "set_intra_op_parallelism_threads": lambda count: None,
        },
        "data": {"Dataset": dataset.Dataset, "AUTOTUNE": -1},
        "debugging": {
            **_CHECKS,
            "check_numerics": generated("CheckNumerics"),
            "Assert": checks.Assert,
        },
        "dtypes": {
            **{k: v for k, v in tf.items() if isinstance(v, dtypes.DType)},
            "cast": arrays.cast,
        },
        "errors": {**errors.KINDS, "OpError": errors.OpError},
        "linalg": {
            **_of(matrices, "matmul einsum eye tensordot matrix_transpose"),
        },
        "math": _MATH,
        "nest": _of(nest, "flatten map_structure pack_sequence_as assert_same_structure is_nested"),
        "nn": _NN,
        "random": _of(
            random,
            "set_seed normal truncated_normal uniform shuffle stateless_normal "
            "stateless_uniform stateless_truncated_normal",
        ),
        "strings": {"join": _join},
    }
