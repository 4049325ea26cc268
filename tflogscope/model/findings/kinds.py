"""The kinds of findings: what each means, what to do about it, and how bad it is.

A table to be read; `docs/findings.md` has a section for each. A finding is an `error` where
something went wrong or was lost; else it is a `warning` where the time at stake is a share of the
run that pays for a look (`table.WORTH_A_LOOK`), and a `note` where it is less, or not known.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """What findings of one id have in common. `where`: the place in TensorFlow or oneDNN."""

    id: str
    title: str
    advice: str
    where: str
    is_error: bool = False


KINDS = (
    Kind(
        "failed-ops",
        "Ops failed",
        "Read the status on the line named. The op that failed first is the cause; what ended "
        "because of it needs no change.",
        "core/common_runtime/executor.cc, ExecutorState::ProcessOutputs; "
        "process_function_library_runtime.cc, RunMultiDevice",
        is_error=True,
    ),
    Kind(
        "lines-lost",
        "Lines are lost or cut",
        "",
        "oneDNN src/common/verbose.cpp writes to standard output, TensorFlow to standard error",
        is_error=True,
    ),
    Kind(
        "run-eagerly",
        "Keras' training step runs op by op",
        "Take run_eagerly=True out of model.compile and tf.config.run_functions_eagerly(True) out "
        "of the program.",
        "Keras: Model.make_train_function",
    ),
    Kind(
        "eager-training-step",
        "A training step runs op by op",
        "Put forward pass, tape and update into one tf.function, and call that for each batch.",
        "c/eager/tape.h, GradientTape::ComputeGradient",
    ),
    Kind(
        "eager-steady-state",
        "Ops run eagerly beside functions",
        "",
        "python/eager/context.py, executing_eagerly",
    ),
    Kind(
        "no-function",
        "No graph function was called",
        "Put the work into a tf.function: its ops are then optimised together.",
        "python/eager/context.py, executing_eagerly",
    ),
    Kind(
        "py-function",
        "Python code inside a graph",
        "",
        "python/lib/core/py_func.cc, DoCallPyFunc",
    ),
    Kind(
        "retraced",
        "A function was traced again",
        "Pass tensors in place of changing Python values; fix the shapes with input_signature or "
        "reduce_retracing=True; make the tf.function once, outside of the loop.",
        "python/eager/polymorphic_function, maybe_define_function",
    ),
    Kind(
        "first-call",
        "First calls are slow",
        "Nothing, if the program runs long; for a server, call each function once before it "
        "serves.",
        "core/common_runtime/process_function_library_runtime.cc, InstantiateMultiDevice",
    ),
    Kind(
        "between-steps",
        "Time passes between the calls of a function",
        "",
        "Python and the input pipeline, which no record covers",
    ),
    Kind(
        "onednn-off",
        "oneDNN is off",
        "Set TF_ENABLE_ONEDNN_OPTS=1. From 2.9 on it is the default on Linux on x86 CPUs that "
        "have AVX512_VNNI, AVX512_BF16, AVX_VNNI, AMX_TILE or AMX_INT8.",
        "core/util/util.cc (port.cc from 2.13 on), IsMKLEnabled",
    ),
    Kind(
        "not-rewritten",
        "Ops that could be rewritten stayed as they were",
        "",
        "core/common_runtime/mkl_layout_pass.cc, MklLayoutRewritePass::CheckForNodeRewrite; "
        "a plug-in's own pass",
    ),
    Kind(
        "reorders",
        "Reorders cost more than what they are for",
        "For inference, keep the weights constant (freeze the model); in training, larger shapes "
        "make a blocked layout pay.",
        "core/util/mkl_util.h, CheckReorderToOpMem; oneDNN's choice of a blocked layout",
    ),
    Kind(
        "reference-implementation",
        "oneDNN ran code that is not optimised",
        "oneDNN has nothing better for these shapes, types and attributes; record with "
        "ONEDNN_VERBOSE=all to see which implementations it passed over, and why.",
        "oneDNN src/cpu/ref_*, src/cpu/simple_*",
    ),
    Kind(
        "bfloat16",
        "float32, while the CPU has bfloat16",
        "Try mixed precision: with Keras layers "
        "tf.keras.mixed_precision.set_global_policy('mixed_bfloat16'); without them, from "
        "TensorFlow 2.10 on, the graph rewrite auto_mixed_precision_onednn_bfloat16 "
        "(tf.config.optimizer.set_experimental_options).",
        "core/grappler/optimizers/auto_mixed_precision.cc",
    ),
    Kind(
        "no-durations",
        "The log does not say how long ops took",
        "Record with TF_CPP_MAX_VLOG_LEVEL=2, or with tflogscope record.",
        "core/common_runtime/executor.cc prints the end of a node at level 2",
    ),
    Kind(
        "unfinished",
        "Ops never ended",
        "The program was killed, or hangs: the last ops of each thread show where.",
        "core/common_runtime/executor.cc",
    ),
)

ADVICE = {kind.id: kind.advice for kind in KINDS}
"""What to do, by id."""
