"""`tf.cond`: an If node with a function for each branch. Eagerly it is Python's `if`.

Told about: `python/ops/cond.py` and `cond_v2.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tflogscope.runtime import context, nest
from tflogscope.runtime.control_flow.branches import (
    BranchGraph,
    as_function,
    captured_inputs,
    function_name,
    has_stateful,
    read_only,
    scalar,
    through_function,
    trace_branch,
)
from tflogscope.runtime.control_flow.structures import merged_handle_data, packed
from tflogscope.runtime.conversion import convert_to_tensor
from tflogscope.runtime.dtypes import int32, int64
from tflogscope.runtime.function.func_graph import FuncGraph, placeholder
from tflogscope.runtime.indexed_slices import IndexedSlices
from tflogscope.runtime.library import arrays
from tflogscope.runtime.library.elementary import cast
from tflogscope.runtime.shapes import TensorShape
from tflogscope.runtime.tensors import SymbolicTensor, Tensor

__all__ = ["build_cond", "check_captures", "cond", "match_inputs", "output_shapes"]


def cond(
    pred: Any,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    name: str | None = None,
    *,
    strict: bool = True,
) -> Any:
    """What `true_fn()` gives if `pred` holds, else what `false_fn()` gives.

    Both must give the same structure of tensors of the same dtypes, else TypeError. Raises
    TypeError for a `pred` that is a Python bool, in graphs. `strict` is always the case here.
    """
    del strict
    if true_fn is None or false_fn is None:
        raise TypeError("cond(): 'true_fn' and 'false_fn' arguments required")
    for what, function in (("true_fn", true_fn), ("false_fn", false_fn)):
        if not callable(function):
            raise TypeError(f"'{what}' must be callable.")
    if context.executing_eagerly():
        with context.name_scope(name or "cond"):
            return true_fn() if convert_to_tensor(pred) else false_fn()
    if isinstance(pred, bool):
        raise TypeError("pred must not be a Python bool", pred)
    with context.name_scope(name or "cond") as scope:
        names = [function_name(scope, part) for part in ("true", "false")]
        condition = scalar(convert_to_tensor(pred))
        branches = [
            trace_branch(BranchGraph(branch_name), function, op_return_value=condition)
            for branch_name, function in zip(names, (true_fn, false_fn), strict=True)
        ]
        check_captures(branches, ["true_fn", "false_fn"])
        return build_cond(
            condition, branches, [branch.external_captures for branch in branches], scope
        )


def build_cond(
    condition: Tensor,
    branches: Sequence[FuncGraph],
    inputs: Sequence[Sequence[Tensor]],
    name: str | None = None,
) -> Any:
    """An If node with these graphs as branches; `inputs` are what each takes. The results, in the
    structure of the branches'.
    """
    _match_indices(branches)
    check_same_outputs(branches, ["true_fn", "false_fn"], "tf.cond")
    common = match_inputs(branches, inputs)
    type_ = "If" if has_stateful(*branches) else "StatelessIf"

    def make(tensors: Sequence[Tensor]) -> list[Tensor]:
        attributes = {
            "Tcond": condition.dtype,
            "Tin": tuple(tensor.dtype for tensor in tensors),
            "Tout": tuple(tensor.dtype for tensor in branches[0].outputs),
            "then_branch": as_function(branches[0]),
            "else_branch": as_function(branches[1]),
            "output_shapes": output_shapes(branches),
            "_lower_using_switch_merge": True,
            **read_only(branches, 1),
        }
        with context.name_scope(name or type_) as scope:
            outputs = context.execute(
                type_, [condition, *captured_inputs(tensors)], attributes, scope
            )
        adopt(branches, outputs)
        return outputs

    outputs = [arrays.identity(output) for output in through_function(make, common)]
    return packed(branches[0].structured_outputs, outputs)


def _match_indices(branches: Sequence[FuncGraph]) -> None:
    """Indices of slices that are `int32` in one branch and `int64` in another become `int64`."""
    leaves = [nest.flatten(branch.structured_outputs) for branch in branches]
    for index, found in enumerate(zip(*leaves, strict=False)):
        slices = all(isinstance(leaf, IndexedSlices) for leaf in found)
        if not slices or len({leaf.indices.dtype for leaf in found}) == 1:
            continue
        for branch, of_branch in zip(branches, leaves, strict=True):
            leaf = of_branch[index]
            if leaf.indices.dtype is int32:
                at = next(i for i, out in enumerate(branch.outputs) if out is leaf.indices)
                with branch.as_default():
                    indices: Any = cast(leaf.indices, int64)
                branch.outputs[at] = indices
                of_branch[index] = IndexedSlices(leaf.values, indices, leaf.dense_shape)
                branch.structured_outputs = nest.pack_sequence_as(
                    branch.structured_outputs, of_branch
                )


def adopt(branches: Sequence[FuncGraph], outputs: Sequence[Tensor]) -> None:
    """The branches belong to the graph where the node now is; the outputs lead where those of the
    branches lead.
    """
    for branch in branches:
        branch.outer = context.current()
    for output, inner in zip(
        outputs, zip(*(branch.outputs for branch in branches), strict=True), strict=False
    ):
        output.handle_data = merged_handle_data(inner)


def match_inputs(branches: Sequence[FuncGraph], inputs: Sequence[Sequence[Tensor]]) -> list[Tensor]:
    """Lets all branches take the same inputs, each tensor once; what one does not use is a
    placeholder in it.
    """
    common: dict[int, Tensor] = {}
    for tensors in inputs:
        for tensor in tensors:
            common.setdefault(tensor.uid, tensor)
    for branch, tensors in zip(branches, inputs, strict=True):
        known = {tensor.uid: inner for tensor, inner in zip(tensors, branch.inputs, strict=True)}
        branch.reset_captures(
            [
                (tensor, known[key] if key in known else _unused(branch, tensor))
                for key, tensor in common.items()
            ]
        )
    return list(common.values())


def _unused(branch: FuncGraph, tensor: Tensor) -> SymbolicTensor:
    return placeholder(branch, tensor.dtype, tensor.shape)


def output_shapes(branches: Sequence[FuncGraph]) -> tuple[TensorShape, ...]:
    """For each output what is known of its shape whichever branch makes it."""
    shapes = []
    for outputs in zip(*(branch.outputs for branch in branches), strict=True):
        shape = outputs[0].shape
        for other in outputs[1:]:
            shape = shape.most_specific_compatible_shape(other.shape)
        shapes.append(shape)
    return tuple(shapes)


def check_captures(branches: Sequence[FuncGraph], names: Sequence[str]) -> None:
    """Raises ValueError if one branch uses a tensor of another."""
    for branch, name in zip(branches, names, strict=True):
        for tensor in branch.external_captures:
            for other, other_name in zip(branches, names, strict=True):
                if isinstance(tensor, SymbolicTensor) and tensor.graph is other:
                    raise ValueError(
                        f"Tensor {tensor.name} in {other_name} is accessed from {name}."
                    )


def check_same_outputs(branches: Sequence[FuncGraph], names: Sequence[str], function: str) -> None:
    """Raises TypeError if the branches give different structures or dtypes; AssertionError and
    ValueError, as TensorFlow, if these are of different numbers of tensors.
    """
    counts = [len(nest.flatten(branch.structured_outputs)) for branch in branches]
    if len(set(counts)) > 1:
        raise AssertionError(counts)
    first = branches[0]
    for at, (branch, name) in enumerate(zip(branches[1:], names[1:], strict=True), 1):
        problem = None
        try:
            nest.assert_same_structure(first.structured_outputs, branch.structured_outputs)
        except (ValueError, TypeError) as error:
            problem = str(error)
        if problem is None and len(first.outputs) != len(branch.outputs):
            raise ValueError(
                f"Lengths of branch outputs of {function[3:].removeprefix('switch_')} must match.\n"
                f"len(graphs[0].outputs): {len(first.outputs)}\n"
                f"len(graphs[{at}].outputs): {len(branch.outputs)}\n"
            )
        if problem is None:
            for one, other in zip(first.outputs, branch.outputs, strict=True):
                if one.dtype is not other.dtype:
                    problem = f"{one} and {other} have different types"
        if problem is not None:
            raise TypeError(
                f"{names[0]} and {name} arguments to {function} must have the same number, type, "
                f"and overall structure of return values.\n\n{names[0]} output: "
                f"{first.structured_outputs}\n{name} output: {branch.structured_outputs}\n\nError "
                f"details:\n{problem}"
            )
