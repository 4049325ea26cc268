"""What TensorFlow's names say: of functions, of wrapped ops, of rewritten kernels."""

from __future__ import annotations

import polars as pl

from tflogscope.grammar.onednn_ops import OPS
from tflogscope.grammar.op_kinds import ops_of
from tflogscope.grammar.rewriters import REWRITERS, Rewriter
from tflogscope.model.common.frames import first_case

# python/eager/polymorphic_function: `__inference_NAME_UID`; UID is ops.uid(), process-wide.
# A backward function that runs under the eager tape is `__inference___backward_NAME_UID1_UID2`.
_FUNCTION = r"^__(inference|forward|backward)_(.+)_(\d+)$"
_BACKWARD = r"^__backward_(.+)_\d+$"
# core/common_runtime/eager/execute.cc, WrapInCallOp: `__wrapped__OP_ATTRIBUTE_LENGTH_device_D`
# with the lengths of list attributes; an op name that begins with `_` gets one more before it.
WRAPPED = r"^__wrapped__.+_device_"
_WRAPPED_OP = r"^__wrapped__(?:_(_.+?)|([^_].*?))(?:_[A-Za-z_]+_\d+)*_device_"
# core/common_runtime/partitioning_utils.cc and process_function_library_runtime.cc: the part of a
# function for one device, with a number drawn at random. Another task runs it by this name.
_PART = r"_partitioned_\d+_\d+$"
# dtensor/cc/dtensor_device.cc: what DTensor makes of an op, or a graph function, for each device of
# a mesh. It runs them at once, on threads of its own.
MESH = r"__func_\d+_\d+_\d+$"
# data/captured_function.cc names its functions by the dataset op that calls them.
DATASET = "Dataset_"
# autograph/operators/control_flow.py, _general_purpose_scan: the body of a loop over a dataset
# inside a tf.function runs as Dataset.scan, and is no part of the pipeline.
LOOP_BODY = f"{DATASET}scan_scan_body"

# The layout pass merges two nodes into one of such a name, and rewrites that: MergeNode.
MERGED = "__MklDummy"
# core/graph/mkl_graph_util.h, GetMklOpName: the `_Mkl` names of fused and merged ops leave out how
# these names begin.
_FUSED_AND_MERGED = {
    name.removeprefix(MERGED).removeprefix("_"): name
    for name in OPS
    if name.startswith(("_Fused", MERGED))
}
REMAPPER_KERNELS = [op.name for op in OPS.values() if op.remapper]
_REWRITTEN = "|".join(["^_Mkl", *(rewriter.pattern for rewriter in REWRITERS)])
# There is no single op before these.
_KERNELS_ALONE = [name for name in OPS if name.startswith("_Mkl")]

ONEDNN_ON = ("onednn_on", "onednn_on_util")
"""Messages that say that oneDNN is on in TensorFlow."""

PRODUCTS, FUNCTION_CALLS, NEXT = ops_of("product"), ops_of("function"), ops_of("next")
UPDATES, CHECKPOINTS = ops_of("update"), ops_of("checkpoint")
SAVING = "<saving>"
"""A frame of TensorFlow or Keras that writes or reads a file of a model."""
IDLE_OPS, DATA_SERVICE = ops_of("idle"), ops_of("data-service")
PYTHON_OPS, PYTHON_OP = ops_of("python"), "EagerPyFunc"
"""`tf.py_function` alone runs eager ops; others get arrays of NumPy."""
MAKE_ITERATOR = "MakeIterator"
"""A loop over data begins (python/data/ops/iterator_ops.py, OwnedIterator)."""
# Ops that wait for other ops: they run a function or Python code, or take what a data set gives.
RUNNING_OPS = rf"{FUNCTION_CALLS}|^(?:{PYTHON_OP}|ReduceDataset)$"
CALLING_OPS = rf"{RUNNING_OPS}|^(?:\w*Dataset\w*|\w*Iterator\w*)$"

DTYPE = r"(?:^|, )T=(DT_\w+)"  # the attribute `T` as printed

# Op types that move values about; XProf and the graph viewers leave them out as well.
PLUMBING_OPS = (
    "_Arg",
    "_DeviceArg",
    "_Retval",
    "_DeviceRetval",
    "_Send",
    "_Recv",
    "_HostSend",
    "_HostRecv",
)
PLUMBING_NODES = ("_SOURCE", "_SINK")
# core/common_runtime/lower_while_op.cc makes NextIteration and those beside it of a loop; what is
# not lowered (functional_ops.cc) runs a function for each iteration.
LOOP_OPS = ("NextIteration", "While", "StatelessWhile")
CONTROL_OPS = (*LOOP_OPS, "Switch", "Merge", "Enter", "Exit", "LoopCond")


def is_function(name: pl.Expr) -> pl.Expr:
    """Whether an op's name is that of a graph function, or of the part of it that a task runs."""
    name = on_mesh(name)
    return name.str.contains(_FUNCTION) | is_part(name)


def of_part(name: pl.Expr) -> pl.Expr:
    """The function of which a name may be a part, for one device of several."""
    return on_mesh(name.str.replace(_PART, ""))


def is_part(name: pl.Expr) -> pl.Expr:
    """Whether a name is that of the part of a function for one device."""
    return name.str.contains(_PART)


def on_mesh(name: pl.Expr) -> pl.Expr:
    """The op, or the function, that a name of DTensor was made for; other names are as they are."""
    return name.str.replace(MESH, "")


def function_columns(full: pl.Expr) -> dict[str, pl.Expr]:
    """Return `function`, `function_uid` and `flavour` of full function names.

    `__inference_train_function_8586` is train_function, 8586, inference;
    `__inference___backward_loss_73_114` is loss, 114, backward. A name of another form is a
    function without uid, flavour `other`.
    """
    full = of_part(full)
    kind = full.str.extract(_FUNCTION, 1)
    name = full.str.extract(_FUNCTION, 2)
    backward = name.str.extract(_BACKWARD, 1)
    flavour = first_case(
        {
            "backward": backward.is_not_null() | (kind == "backward"),
            "dataset": name.str.starts_with(DATASET),
        }
    )
    other = pl.when(full.is_not_null()).then(pl.lit("other"))
    return {
        "function": pl.coalesce(backward, name, full),
        "function_uid": full.str.extract(_FUNCTION, 3).cast(pl.Int64, strict=False).cast(pl.UInt64),
        "flavour": pl.coalesce(flavour, kind, other),
    }


def runs_for_data() -> pl.Expr:
    """Whether tf.data runs a function to make elements, by function and flavour."""
    is_body = pl.col("function") == LOOP_BODY
    return (pl.col("flavour") == "dataset") & ~is_body.fill_null(value=False)


def wrapped_op(function: pl.Expr) -> pl.Expr:
    """Return the op that a `__wrapped__…` function was made around; null for other functions."""
    return pl.coalesce(function.str.extract(_WRAPPED_OP, 1), function.str.extract(_WRAPPED_OP, 2))


def function_of_component(component: pl.Expr) -> pl.Expr:
    """Return the function that a partition's function (`…_partitioned_RANDOM_K`) was made of."""
    return component.str.replace(r"(?:_partitioned)?_\d+_\d+$", "")


def is_rewritten(kernel: pl.Expr) -> pl.Expr:
    """Whether a kernel's name is one that a rewrite gives: oneDNN's, or a plug-in's."""
    return kernel.str.contains(_REWRITTEN)


def rewrite_of_kernel(kernel: pl.Expr) -> pl.Expr:
    """Return what made a kernel, from its name: `none`, `layout`, `remapper` or a plug-in's id."""
    by_onednn = {
        "remapper": kernel.is_in(REMAPPER_KERNELS),
        "layout": kernel.str.starts_with("_Mkl"),
    }
    by_plugin = {plugin.id: kernel.str.contains(plugin.pattern) for plugin in REWRITERS}
    return first_case(by_onednn | by_plugin, "none")


def op_of_kernel(kernel: pl.Expr) -> pl.Expr:
    """Return the op type before the rewrite (for `_Mkl…` the inverse of GetMklOpName)."""
    rewritten = kernel.str.starts_with("_Mkl") & ~kernel.is_in(_KERNELS_ALONE)
    native = kernel.str.replace(r"^_Mkl(?:Native|Eager)?", "")
    onednn = pl.when(rewritten).then(native.replace(_FUSED_AND_MERGED))
    by_plugin = [
        pl.when(kernel.str.contains(plugin.pattern) & ~kernel.is_in(plugin.alone)).then(
            _op_of_plugin(kernel, plugin)
        )
        for plugin in REWRITERS
    ]
    return pl.coalesce(onednn, *by_plugin, kernel)


def _op_of_plugin(kernel: pl.Expr, rewriter: Rewriter) -> pl.Expr:
    """The name behind the plug-in's own; ops of a remapper (`_FusedMatMul`) lose their `_`."""
    native = kernel.str.replace(rewriter.pattern, "")
    fused = native.str.starts_with("Fused") & ~native.is_in(list(rewriter.ops))
    named = pl.when(fused).then("_" + native).otherwise(native)
    kernels = list(rewriter.kernel_ops)
    return pl.when(kernel.is_in(kernels)).then(kernel.replace(rewriter.kernel_ops)).otherwise(named)
