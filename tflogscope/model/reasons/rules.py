"""The rules of reasons: why a node that oneDNN could have run stayed as it was.

A table to be read. The first rule that fits a node gives its reason: it fits where the node's op is
one of `ops` (none named: any), each of `facts` holds (they are worked out in `reasons`, each with
the line that proves it), and `attributes` says yes to the node's attributes. What nothing in a
program changes comes first, then the rules are in the order in which TensorFlow asks. That oneDNN
is off comes after all that would keep a node as it is with oneDNN on as well: no advice names a
switch that would change nothing for the node.

`where` is the place in TensorFlow, below tensorflow/. The pass is in
core/common_runtime/mkl_layout_pass.cc; names of kernels, which types they take, and what the CPU
allows in core/graph/mkl_graph_util.h (GetMklOpName, IsMklOp). What a rule says of single ops is in
grammars/onednn/ops.toml: which it may keep as they are, and the function that does. The rules of
plug-ins are in grammars/plugins/.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tflogscope.grammar.onednn_ops import OPS, refused_by
from tflogscope.grammar.rewriters import REWRITERS, Rewriter

Attributes = dict[str, str]
UNKNOWN = "unknown"
NO_KERNEL = "no-kernel"

# Kernels that run what XLA compiled, the one that compiles for `_XlaRun`, and ops that call.
XLA_OPS = ("XlaLaunch", "XlaLaunchV2", "_XlaRun")
XLA_COMPILERS = ("_XlaCompile",)
CALLS = ("PartitionedCall", "StatefulPartitionedCall")


# ---- attributes ----------------------------------------------------------------------------------


def pads_explicitly(attributes: Attributes) -> bool:
    """The padding is given in numbers, not as SAME or VALID."""
    return attributes.get("padding") == '"EXPLICIT"'


def turns_first_input(attributes: Attributes) -> bool:
    """The first matrix is to be transposed, or conjugated as well."""
    return "true" in (attributes.get("transpose_a"), attributes.get("adjoint_a"))


def pools_over_batch_or_channels(attributes: Attributes) -> bool:
    """The window or the step is larger than 1 in the first dimension or in that of the channels."""
    layout = attributes.get("data_format", "").strip('"')
    places = {"NHWC": (0, 3), "NCHW": (0, 1), "NDHWC": (0, 4), "NCDHW": (0, 1)}.get(layout, ())
    for name in ("ksize", "strides"):
        sizes = attributes.get(name, "").strip("[]").split(", ")
        if any(place < len(sizes) and sizes[place] != "1" for place in places):
            return True
    return False


def is_5d(attributes: Attributes) -> bool:
    """The tensor has three dimensions of space."""
    return attributes.get("data_format") in ('"NDHWC"', '"NCDHW"')


def must_compile(attributes: Attributes) -> bool:
    """The function called has jit_compile=True."""
    return attributes.get("_XlaMustCompile") == "true"


def counts(attributes: Attributes) -> bool:
    """The numbers are integers, or of another type that no kernel of oneDNN takes."""
    return attributes.get("T") not in (None, "DT_DOUBLE", "DT_HALF", "DT_FLOAT", "DT_BFLOAT16")


def has_other_filter(attributes: Attributes) -> bool:
    """The weights of a quantized op are not of type qint8."""
    return attributes.get("Tfilter", attributes.get("T2", "DT_QINT8")) != "DT_QINT8"


def aligns_corners(attributes: Attributes) -> bool:
    """Pixels are not compared by their middles."""
    return (attributes.get("align_corners"), attributes.get("half_pixel_centers")) != (
        "false",
        "true",
    )


# ---- the table -----------------------------------------------------------------------------------

ANYBODY = ""


@dataclass(frozen=True)
class Rule:
    """One reason for a node to stay as it was.

    `eligible`: whether oneDNN, or the plug-in, could have run it; None: the log does not say what
    it does. `by`: whose rule it is, BY_ONEDNN or a plug-in's id; ANYBODY's hold for every node.
    """

    id: str
    reason: str
    why: str
    change: str
    where: str = ""
    ops: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    attributes: Callable[[Attributes], bool] | None = None
    eligible: bool | None = True
    by: str = "onednn"

    @cached_property
    def places(self) -> dict[str, str]:
        """For some ops one more place in TensorFlow, beside `where`."""
        return {
            op: place if ".cc" in place else f"{_LAYOUT}, {place}"
            for op, place in refused_by(self.id).items()
        }

    def where_of(self, op: str | None) -> str:
        """The place in TensorFlow that decides for this op."""
        return "; ".join(filter(None, [self.where, self.places.get(op or "")]))


def _refused(id_: str) -> tuple[str, ...]:
    return tuple(refused_by(id_))


def _first_releases(id_: str, kernel: str) -> str:
    """`Einsum has a oneDNN kernel from 2.11 on, Softmax from 2.12 on`."""
    since = ", ".join(f"{op} from {OPS[op].layout} on" for op in _refused(id_))
    return since.replace(" from", f" has {kernel} from", 1)


_LAYOUT = "core/common_runtime/mkl_layout_pass.cc"
NOTHING = "Nothing in the program."
_TYPE = (
    "core/graph/mkl_graph_util.h, IsMklOp; "
    f"{_LAYOUT}, CheckForNodeRewrite (half: CanOpRunOnCPUDevice, from 2.16 on)"
)

_OF_TENSORFLOW = (
    Rule(
        id="compiled-cluster",
        by=ANYBODY,
        reason="xla",
        ops=XLA_OPS,
        eligible=None,
        why="XLA compiled a group of ops into one; which ones are in it does not show.",
        where="compiler/jit/build_xla_ops_pass.cc, ReplaceFunctionCallWithXlaCompileAndXlaRun; "
        "compiler/jit/kernels/xla_ops.cc",
        change="Leave TF_XLA_FLAGS=--tf_xla_auto_jit=2 and tf.config.optimizer.set_jit out.",
    ),
    Rule(
        id="compiled-function",
        by=ANYBODY,
        reason="xla",
        ops=CALLS,
        attributes=must_compile,
        eligible=None,
        why="It calls a function with jit_compile=True: XLA compiles the whole of it.",
        where="core/common_runtime/eager/execute.cc, MustCompileWithXLA; "
        "compiler/jit/xla_kernel_creator.cc",
        change="Measure it with jit_compile=False, too: oneDNN may be faster, or slower.",
    ),
    Rule(
        id="no-native-kernel",
        reason=NO_KERNEL,
        ops=_refused("no-native-kernel"),
        why="TensorFlow's layout pass knows the op, but no release from 2.8 on has a kernel for it "
        "without the blocked layout that was given up then.",
        where="core/graph/mkl_graph_util.h, GetMklOpName and IsMklOp (builds with oneDNN 3 compile "
        "the pass's entry out)",
        change=f"{NOTHING} Next to a matrix product or a convolution grappler's remapper may fuse "
        "it into that.",
    ),
    Rule(
        id="passed-on",
        reason=NO_KERNEL,
        ops=_refused("passed-on"),
        eligible=False,
        why="It computes nothing: the pass knows it for the blocked layout's sake alone.",
        where="core/graph/mkl_graph_util.h, GetMklOpName and IsMklOp",
        change=NOTHING,
    ),
    Rule(
        id="not-in-table",
        reason="not-supported-op",
        facts=("not_in_table",),
        eligible=False,
        why="The layout pass has no entry for the op.",
        where=f"{_LAYOUT}, MklLayoutRewritePass::MklLayoutRewritePass (rinfo_)",
        change=NOTHING,
    ),
    Rule(
        id="before-its-kernel",
        reason=NO_KERNEL,
        ops=_refused("before-its-kernel"),
        facts=("old_release",),
        why="This release has no oneDNN kernel for the op: "
        f"{_first_releases('before-its-kernel', 'one')}.",
        where="core/graph/mkl_graph_util.h, IsMklOp",
        change="A later release.",
    ),
    Rule(
        id="no-sparse",
        reason=NO_KERNEL,
        ops=_refused("no-sparse"),
        facts=("old_release",),
        why="This release has no oneDNN kernel for sparse products.",
        change="A later release, with TF_ENABLE_ONEDNN_SPMM=1.",
    ),
    Rule(
        id="compiled",
        by=ANYBODY,
        reason="xla",
        facts=("compiled",),
        why="The kernel was made only for XLA to compile the op, and never ran.",
        where="core/common_runtime/eager/execute.cc, MustCompileWithXLA; "
        "compiler/jit/kernels/xla_ops.cc; compiler/tf2xla/xla_compiler.cc",
        change="Measure it without jit_compile=True and automatic clustering, too.",
    ),
    Rule(
        id="not-placed",
        by=ANYBODY,
        reason="no-pass",
        facts=("not_placed",),
        why="The function was made ready without placement, and so without the passes that follow "
        "it: the body of a loop or branch that was not inlined, a function that an op calls by "
        "itself.",
        where="core/common_runtime/function.cc, FunctionLibraryRuntimeImpl::Instantiate; the "
        "passes run in process_function_library_runtime.cc, InstantiateMultiDevice (from 2.13 on "
        "optimize_function_graph_utils.cc, OptimizeFunctionGraph)",
        change="Leave the executor at its default: SINGLE_THREADED_EXECUTOR keeps loops whole.",
    ),
    Rule(
        id="other-device",
        reason="device",
        facts=("other_device",),
        why="It was placed on another device than a CPU.",
        where=f"{_LAYOUT}, CanOpRunOnCPUDevice",
        change="tf.device('/CPU:0').",
    ),
    Rule(
        id="type-without-kernels",
        reason="dtype",
        facts=("other_type",),
        attributes=counts,
        why="There is no oneDNN kernel for this op with integers, complex numbers and the like.",
        where=_TYPE,
        change=NOTHING,
    ),
    Rule(
        id="type",
        reason="dtype",
        facts=("other_type",),
        why="There is no oneDNN kernel for this op with this type, or the CPU can't run it.",
        where=_TYPE,
        change="float32 or bfloat16, where their precision will do.",
    ),
    Rule(
        id="filter-type",
        reason="dtype",
        ops=_refused("filter-type"),
        attributes=has_other_filter,
        why="oneDNN's quantized kernels take weights of type qint8 only.",
        where="core/graph/mkl_graph_util.h, IsMklQuantizedOp",
        change="Weights as qint8.",
    ),
    Rule(
        id="explicit-padding",
        reason="explicit-padding",
        ops=_refused("explicit-padding"),
        attributes=pads_explicitly,
        why="oneDNN's kernels for gradients of convolutions and for max pooling take SAME and "
        "VALID, not padding in numbers.",
        change="padding='SAME' or 'VALID', or tf.pad before the op.",
    ),
    Rule(
        id="transposed-sparse",
        reason="transpose-a",
        ops=_refused("transposed-sparse"),
        attributes=turns_first_input,
        why="oneDNN's sparse product does not transpose.",
        change="Transpose before the product.",
    ),
    Rule(
        id="sparse-off",
        reason="spmm-off",
        ops=_refused("sparse-off"),
        facts=("new_release",),
        why="oneDNN's sparse product has a switch of its own, which is off by default.",
        where="core/util/port.cc or mkl_graph_util.h: TF_ENABLE_ONEDNN_SPMM",
        change="TF_ENABLE_ONEDNN_SPMM=1.",
    ),
    Rule(
        id="transposed",
        reason="transpose-a",
        ops=_refused("transposed"),
        attributes=turns_first_input,
        why="A product that was fused with what follows, and that transposes its first matrix: "
        "changing the layout would cost more than oneDNN gains.",
        change="Keep the matrix transposed, or hinder the fusion; MatMul alone may transpose.",
    ),
    Rule(
        id="window",
        reason="pool-window",
        ops=_refused("window"),
        attributes=pools_over_batch_or_channels,
        why="The pool reaches over the batch or over channels.",
        change="A window and strides of 1 there; tf.reduce_max over channels.",
    ),
    Rule(
        id="five-dimensions",
        reason="5d",
        ops=_refused("five-dimensions"),
        attributes=is_5d,
        why="oneDNN's batch normalisation takes tensors of four dimensions.",
        change="Fold two dimensions of space into one before it: its result is the same.",
    ),
    Rule(
        id="switched-off",
        reason="onednn-off",
        facts=("off",),
        why="oneDNN is off: TF_ENABLE_ONEDNN_OPTS=0, a CPU without the features that switch it on "
        "by itself, or a release before 2.9, in which it is off until asked for.",
        where="core/util/port.cc, IsMKLEnabled (2.8 to 2.10: core/util/util.cc); "
        f"{_LAYOUT}, MklLayoutRewritePass::Run",
        change="TF_ENABLE_ONEDNN_OPTS=1, set before TensorFlow is imported.",
    ),
    Rule(
        id="no-workspace",
        reason="no-workspace",
        ops=_refused("no-workspace"),
        facts=("pool_not_rewritten",),
        why="The gradient of max pooling needs what the rewritten pool kept for it, and its pool "
        "was not rewritten, or ran in another function.",
        change="Let a tape make the gradient in the tf.function that runs the pool; where the pool "
        "stayed as it was, what its own reason says.",
    ),
    Rule(
        id="fusion",
        reason="fused-ops",
        ops=_refused("fusion"),
        facts=("on", "plain_type"),
        why="Grappler's remapper fused the op with others that oneDNN's kernel can't take with it.",
        where="core/grappler/optimizers/remapper.cc",
        change="Another activation (BiasAdd with Relu, Relu6 or Elu suits every convolution), or "
        "tf.config.optimizer.set_experimental_options({'remapping': False}).",
    ),
    Rule(
        id="quantization",
        reason="quantization",
        ops=_refused("quantization"),
        facts=("on",),
        why="oneDNN quantizes in the modes SCALED (rounding half to even) and MIN_FIRST (quint8) "
        "only, dequantizes in SCALED, and neither constants, slices nor a narrow range.",
        change="mode='SCALED', round_mode='HALF_TO_EVEN', axis=None, narrow_range=False.",
    ),
    Rule(
        id="cpu-without-bfloat16",
        reason="dtype",
        facts=("on", "ran", "bfloat16_never_rewritten"),
        why="By elimination: no other rule fits, and no op of this type was rewritten in the log. "
        "oneDNN runs bfloat16 on CPUs with AVX512 only (later releases: or AVX NE CONVERT).",
        where="core/graph/mkl_graph_util.h, IsMklOp (IsBF16SupportedByOneDNNOnThisCPU)",
        change="float32, or another CPU.",
    ),
    Rule(
        id="kernel-never-seen",
        reason=NO_KERNEL,
        ops=_refused("kernel-never-seen"),
        facts=("on", "ran", "plain_type", "op_never_rewritten"),
        why="By elimination: no other rule fits, and the op was rewritten nowhere in the log. "
        f"{_first_releases('kernel-never-seen', 'a oneDNN kernel')}.",
        where="core/graph/mkl_graph_util.h, IsMklOp",
        change="A later release.",
    ),
)


# ---- plug-ins ------------------------------------------------------------------------------------

_CONDITIONS = {
    each.__name__: each
    for each in (aligns_corners, counts, pads_explicitly, pools_over_batch_or_channels)
}


def _rule_of(rewriter: Rewriter, *, attributes: str | None = None, **entry: Any) -> Rule:
    """A [[rewriter.rule]]; `attributes` is the name of a condition above."""
    ops = tuple(op.name for op in rewriter.ops.values() if entry["id"] in op.refusals)
    condition = None if attributes is None else _CONDITIONS[attributes]
    return Rule(by=rewriter.id, ops=ops, attributes=condition, **entry)


_OF_PLUGINS = tuple(_rule_of(each, **entry) for each in REWRITERS for entry in each.rules)
RULES = (*_OF_TENSORFLOW, *_OF_PLUGINS)
