"""The rules of causes: why an op ran eagerly, and why a graph row has no call.

A table to be read. The first rule that fits an eager op gives its cause: it fits where the op's
type matches `ops` (a regular expression) and each of `facts` holds. Facts are worked out in
`facts`, `metric_facts` and `variable_facts`; each is the line that proves it. What is surer
stands higher. `where` names the place in TensorFlow or Keras that makes a rule true; files of
Keras 2 are those of the package keras (2.8 to 2.15), of Keras 3 those under keras/src (2.16 on).
"""

from __future__ import annotations

from dataclasses import dataclass

CONSTANT = "_EagerConst"
# Kernels that run Python code as eager ops (python/lib/core/py_func.cc, EagerPyFuncOp).
PYTHON_OP = "EagerPyFunc"
# Ops of python/data/ops: datasets, iterators, optionals, seeds and caches of datasets.
DATASET_OP = (
    r"\w*Dataset\w*|\w*Iterator\w*|Optional\w+|\w*SeedGenerator|\w*MemoryCache"
    r"|MatchingFiles|GetOptions"
)
UNKNOWN = "unknown"


@dataclass(frozen=True)
class Rule:
    """One reason for an execution outside graph functions, or outside calls."""

    id: str
    cause: str
    why: str
    where: str
    change: str
    ops: str = r".+"
    facts: tuple[str, ...] = ()


_NOTHING = "Nothing: it is part of every program."
_WRAP = "Call it inside a tf.function."

RULES = (
    Rule(
        id="constant",
        cause="constant",
        ops=CONSTANT,
        why="A Python or NumPy value becomes a tensor on the device where an op wants it.",
        where="python/framework/constant_op.py, _eager_const (2.8 to 2.12); "
        "python/eager/pywrap_tensor.cc, ConvertToEagerTensor (2.13 on)",
        change="Make the tensor once and keep it, or make it in the function that uses it.",
    ),
    Rule(
        id="python-code",
        cause="py-function",
        facts=("python",),
        why="It ran between the start and the end of an EagerPyFunc, on its thread: the Python "
        "code of a tf.py_function asked for it.",
        where="python/lib/core/py_func.cc, DoCallPyFunc; python/ops/script_ops.py, EagerFunc",
        change="Write the body with TensorFlow ops and without tf.py_function.",
    ),
    Rule(
        id="python-function",
        cause="py-function",
        ops=PYTHON_OP,
        why="tf.py_function itself, called outside a graph.",
        where="python/ops/script_ops.py, eager_py_func",
        change="Call the Python code directly.",
    ),
    Rule(
        id="asked-whether-initialized",
        cause="lifted-initializer",
        facts=("initialized",),
        why="A function made variables when it was traced. Their initial values were lifted out "
        "of it, and it is asked which variables still need theirs.",
        where="python/eager/def_function.py (2.8 to 2.10), "
        "python/eager/polymorphic_function/polymorphic_function.py (2.11 on): "
        "_evaluate_var_is_initialized",
        change="Nothing: once for each function. To avoid it, make the variables before the call.",
    ),
    Rule(
        id="dataset-op",
        cause="dataset",
        ops=DATASET_OP,
        why="tf.data builds a dataset, makes an iterator or takes an element of it.",
        where="python/data/ops",
        change="Loop over the dataset inside a tf.function; build it once.",
    ),
    Rule(
        id="dataset-helper",
        cause="dataset",
        facts=("dataset",),
        why="Part of a row of ops that building a dataset asks for.",
        where="python/data/util/random_seed.py, get_seed; python/data/ops/dataset_ops.py, "
        "list_files; Keras 2 engine/data_adapter.py, DataHandler._infer_steps; "
        "python/distribute/input_lib.py, _calculate_replicas_with_values",
        change="Build the dataset once.",
    ),
    Rule(
        id="metric-variable",
        cause="metrics",
        facts=("variable", "metric"),
        why="A metric makes a variable for what it adds up: told by its name (releases after "
        "2.13 print it), or as one of two scalar zeros in a row.",
        where="Keras 2 metrics/base_metric.py, Keras 3 metrics/reduction_metrics.py: __init__",
        change=_NOTHING,
    ),
    Rule(
        id="optimizer-variable",
        cause="optimizer-slots",
        facts=("variable", "optimizer"),
        why="An optimizer makes its variables: in the name scope of its iteration (Keras 3), or "
        "when gradients had just been worked out (Keras 2, the first apply_gradients).",
        where="Keras 2 optimizers/optimizer_v2 (2.8 to 2.10) and optimizers/optimizer.py (2.11 "
        "on), build; Keras 3 optimizers/base_optimizer.py, build",
        change="Nothing: once. optimizer.build(model.trainable_variables) does it ahead.",
    ),
    Rule(
        id="variable",
        cause="variable-init",
        facts=("variable",),
        why="A variable is made: its initial value, where an initializer makes it, its handle "
        "and the assignment.",
        where="python/ops/resource_variable_ops.py, ResourceVariable._init_from_args",
        change=_NOTHING,
    ),
    Rule(
        id="checkpoint",
        cause="checkpoint",
        facts=("checkpoint",),
        why="A checkpoint or a SavedModel is written or read.",
        where="python/checkpoint/functional_saver.py (2.8, 2.9: python/training/saving)",
        change="Nothing: it is what saving and loading do.",
    ),
    Rule(
        id="count",
        cause="variable-init",
        ops="AssignAddVariableOp",
        why="A number is added to a variable: batches, steps and sums are counted so.",
        where="python/ops/resource_variable_ops.py, assign_add",
        change=_WRAP,
    ),
    Rule(
        id="keras-batch",
        cause="run-eagerly",
        facts=("batch",),
        why="Keras' trainer took a batch eagerly, and its step ran op by op: the model has "
        "run_eagerly, or tf.config.run_functions_eagerly(True) holds.",
        where="Keras 2 engine/training.py, make_train_function; Keras 3 "
        "backend/tensorflow/trainer.py, make_train_function",
        change="model.compile(run_eagerly=False), tf.config.run_functions_eagerly(False).",
    ),
    Rule(
        id="metric-result",
        cause="metrics",
        facts=("result",),
        why="A metric reads its sums and divides them.",
        where="Keras 2 metrics/base_metric.py, Keras 3 metrics/reduction_metrics.py: result",
        change="Ask for the result once an epoch, not once a batch.",
    ),
    Rule(
        id="metric-reset",
        cause="metrics",
        facts=("reset",),
        why="Variables are set one after the other where an epoch or an evaluation begins.",
        where="Keras 2 metrics/base_metric.py, Keras 3 metrics/metric.py: reset_state",
        change=_NOTHING,
    ),
    Rule(
        id="metric-update",
        cause="metrics",
        facts=("update",),
        why="A metric adds a sum to one variable and a number to the next, outside a function; "
        "with what it compares before.",
        where="Keras 2 metrics/base_metric.py, Keras 3 metrics/reduction_metrics.py: update_state",
        change="Call update_state in the tf.function of the step.",
    ),
    Rule(
        id="gradient",
        cause="gradient-tape",
        facts=("tape",),
        why="A GradientTape played back the ops that it had recorded outside a function.",
        where="c/eager/tape.h, GradientTape::ComputeGradient; python/eager/backprop.py, gradient",
        change="Put forward pass, tape and update into one tf.function.",
    ),
    Rule(
        id="jacobian",
        cause="gradient-tape",
        facts=("jacobian",),
        why="GradientTape.jacobian puts its target and its result in shape.",
        where="python/eager/backprop.py, GradientTape.jacobian",
        change="Put the tape into a tf.function.",
    ),
    Rule(
        id="new-value",
        cause="variable-init",
        ops="Assign(?:Sub)?VariableOp|DestroyResourceOp",
        why="A variable gets a new value, or goes.",
        where="python/ops/resource_variable_ops.py, assign, assign_sub, EagerResourceDeleter",
        change=_WRAP,
    ),
    Rule(
        id="read",
        cause="read-variable",
        ops="ReadVariableOp",
        why="Python reads a variable, or gives it to an op that wants a tensor.",
        where="python/ops/resource_variable_ops.py, _read_variable_op; "
        "python/eager/pywrap_tfe_src.cc, ReadVariableOp",
        change="Read it once and keep the value, or inside the function that uses it.",
    ),
    Rule(
        id="read-copy",
        cause="read-variable",
        facts=("read",),
        why="The value that was read is handed on: variable.numpy(), read_value().",
        where="python/ops/resource_variable_ops.py, BaseResourceVariable.read_value",
        change="Read it once and keep the value.",
    ),
    Rule(
        id="loop",
        cause="control-flow",
        facts=("loop",),
        why="tf.map_fn, tf.scan, tf.foldl or a tf.while_loop with maximum_iterations, called "
        "outside a function: Python turns the loop.",
        where="python/ops/control_flow_ops.py (2.8 to 2.12), python/ops/while_loop.py (2.13 on): "
        "while_loop",
        change="Call it inside a tf.function; or tf.vectorized_map.",
    ),
    Rule(
        id="no-function",
        cause="outside-function",
        why="Python asked for it where no function was being traced: in the program itself, or "
        "in a tf.function while tf.config.run_functions_eagerly(True) held, which no record tells.",
        where="python/eager/context.py, executing_eagerly; the op's generated wrapper in "
        "python/ops/gen_*_ops.py",
        change="Put the code that asks for it into a tf.function.",
    ),
)

# Graph rows that no call covers; told by `steps.read_steps`.
GRAPH_RULES = (
    Rule(
        id="dataset-function",
        cause="dataset-function",
        why="tf.data runs its functions on threads of its own, and no record calls them.",
        where="core/data/captured_function.cc, InstantiatedCapturedFunction::Run",
        change="Nothing: that is how map, filter and the like run.",
    ),
    Rule(
        id="constant-folding",
        cause="constant-folding",
        why="TensorFlow works out a constant ahead of a run, in step -1.",
        where="core/common_runtime/graph_runner.cc; core/framework/log_memory.h",
        change="Nothing: once for each function.",
    ),
    Rule(
        id="session",
        cause="session",
        why="A tf.compat.v1.Session ran it; its steps count up from 1.",
        where="core/common_runtime/direct_session.cc, DirectSession::RunInternal",
        change="Move to tf.function.",
    ),
)
