"""The names of `tf.` and `keras.`: one table, of which modules are made. In a row, `_of` lists functions
of the runtime's own modules, `_ops` the ops whose generated function is the name in small letters.
A name that is not there raises MissingName, which points to `tflogscope record`.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import ModuleType, SimpleNamespace
from typing import Any

from tflogscope.runtime import session
from tflogscope.runtime.core import (
    context,
    conversion,
    dtypes,
    errors,
    graph,
    known,
    nest,
    shapes,
    tensors,
)
from tflogscope.runtime.core.calls import generated, snake_case
from tflogscope.runtime.core.errors import MissingName
from tflogscope.runtime.core.registry import registered
from tflogscope.runtime.data import dataset
from tflogscope.runtime.function import (
    backprop,
    branches,
    loops,
    polymorphic,
    py_function,
    tensor_array,
    variables,
)
from tflogscope.runtime.function.autograph.conversion import convert, do_not_convert
from tflogscope.runtime.keras import namespace as keras_namespace
from tflogscope.runtime.library import arrays, matrices, nn, numbers, random, slices

Names = dict[str, Any]


def _of(modul: Any, names: str) -> Names:
    """These functions of a module; one that would hide a function of Python's has `_` after it."""
    return {
        name: getattr(modul, f"{name}_", None) or getattr(modul, name) for name in names.split()
    }


def _ops(types: str) -> Names:
    return {snake_case(type): generated(type) for type in types.split()}


_MATH = {
    **_ops(
        "Cos Equal Erf Exp Floor Greater GreaterEqual Less LessEqual Log Log1p LogicalAnd LogicalNot "
        "LogicalOr Maximum Minimum NotEqual Reciprocal Round Rsqrt Sign Sin Softplus Sqrt Square "
        "SquaredDifference Tanh UnsortedSegmentSum"
    ),
    **_of(
        numbers,
        "abs sigmoid add truediv floordiv pow add_n reduce_sum reduce_mean reduce_prod reduce_max "
        "reduce_min reduce_all reduce_any reduce_variance argmax",
    ),
    "divide": numbers.truediv,
    "divide_no_nan": numbers.div_no_nan,
    "mod": generated("FloorMod"),
    "subtract": generated("Sub"),
    "multiply": generated("Mul"),
    "negative": generated("Neg"),
}
_TF: Names = {
    **_MATH,  # NB: a few of them are in `tf.math` alone
    **_of(
        arrays,
        "rank reshape squeeze identity stop_gradient ensure_shape cast fill zeros ones zeros_like "
        "ones_like range one_hot concat stack unstack split size shape",
    ),
    **_of(matrices, "matmul transpose tensordot einsum eye"),
    **_of(slices, "gather where"),
    **_ops("BroadcastTo ExpandDims IdentityN NoOp Slice Tile Unique"),
    **dtypes.ALL,
    **_of(dtypes, "DType as_dtype"),
    **_of(context, "executing_eagerly inside_function init_scope name_scope device"),
    **_of(conversion, "constant convert_to_tensor"),
    **_of(tensors, "Tensor TensorSpec"),
    **_of(graph, "Graph control_dependencies"),
    **_of(variables, "Variable Module"),
    **_of(backprop, "GradientTape custom_gradient"),
    **_of(branches, "cond switch_case"),
    **_of(tensor_array, "TensorArray map_fn"),
    **_of(py_function, "py_function numpy_function"),
    "function": polymorphic.function,
    "while_loop": loops.while_loop,
    "clip_by_value": numbers.clip_by_value,
    "IndexedSlices": slices.IndexedSlices,
    "TensorShape": shapes.TensorShape,
    "Operation": graph.Node,
    "print": branches.print_v2,
    "Assert": branches.Assert,
    "get_static_value": known.known_value,
    "is_tensor": lambda value: isinstance(value, (tensors.Tensor, variables.Variable)),
    "newaxis": None,
}
_NN = {
    **_of(
        nn,
        "gelu bias_add softmax log_softmax conv2d depthwise_conv2d max_pool "
        "avg_pool avg_pool2d moments batch_normalization dropout embedding_lookup "
        "softmax_cross_entropy_with_logits sparse_softmax_cross_entropy_with_logits "
        "sigmoid_cross_entropy_with_logits",
    ),
    **_of(numbers, "sigmoid"),
    **_ops("Elu Relu Softplus Tanh"),
    "l2_loss": generated("L2Loss"),
    "max_pool2d": nn.max_pool,
}
_CHECKS = {
    f"assert_{snake_case(op)}": branches.comparison(symbol, f"assert_{snake_case(op)}", op)
    for op, symbol in {
        "Equal": "==", "Less": "<", "LessEqual": "<=", "Greater": ">", "GreaterEqual": ">="
    }.items()
}  # fmt: skip
_SESSION = _of(
    session,
    "disable_eager_execution get_default_graph set_random_seed placeholder Session "
    "get_variable global_variables global_variables_initializer wrap_function",
)


_KERAS = "losses metrics optimizers initializers"
"""Modules of Keras that are in `tf`, too."""


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
    tf |= {each: getattr(keras, each) for each in _KERAS.split()}
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
        "debugging": {**_CHECKS, **_of(branches, "Assert"), **_ops("CheckNumerics")},
        "dtypes": {**dtypes.ALL, "cast": arrays.cast},
        "errors": {**errors.KINDS, "OpError": errors.OpError},
        "linalg": _of(matrices, "matmul einsum eye tensordot"),
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


__all__ = ["VERSIONS", "bind"]

VERSIONS = {
    "2.8": ("2.8.4", "2.8.0"),
    "2.13": ("2.13.1", "2.13.1"),
    "2.16": ("2.16.2", "3.3.3"),
    "2.20": ("2.20.0", "3.11.3"),
    "2.21": ("2.21.0", "3.12.0"),
}
"""Of each release that is followed the versions of TensorFlow and Keras that programs see."""


class _Namespace(ModuleType):
    """A module of the public API."""

    def __init__(self, name: str, names: Mapping[str, Any]) -> None:
        super().__init__(name)
        self.__path__: list[str] = []  # to Python a package: what it lacks is looked for
        vars(self).update(names)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        raise MissingName(f"{self.__name__.replace('tensorflow', 'tf', 1)}.{name}")


def _modules(root: str, names: Mapping[str, Mapping[str, Any]]) -> dict[str, ModuleType]:
    made: dict[str, ModuleType] = {}
    for dotted in sorted(names):
        full = f"{root}.{dotted}".rstrip(".")
        made[full] = _Namespace(full, names[dotted])
        parent, _, own = full.rpartition(".")
        if parent:
            setattr(made[parent], own, made[full])
    return made


def bind(followed: str = context.BASE) -> Any:
    """Make `import tensorflow` and `import keras` mean the runtime in this process, like that release
    of TensorFlow. Gives `tf`.
    """
    series = ".".join(followed.split(".")[:2])
    version, keras_version = VERSIONS[series]
    context.follow(series)
    for name in [each for each in sys.modules if each.partition(".")[0] in {"tensorflow", "keras"}]:
        del sys.modules[name]
    modules = _modules("keras", keras_namespace(keras_version))
    modules |= _modules("tensorflow", namespace(modules["keras"], version))
    for name, each in list(modules.items()):
        if name.startswith("keras"):
            modules[f"tensorflow.{name}"] = each
    sys.modules.update(modules)
    return modules["tensorflow"]
