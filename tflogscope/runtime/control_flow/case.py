"""`tf.switch_case`: a Case node with a function for each branch. `tf.case`: conditions one after
the other.

Told about: `python/ops/control_flow_switch_case.py`, `control_flow_case.py`, `indexed_case` of
`cond_v2.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tflogscope.runtime import context
from tflogscope.runtime.control_flow.branches import (
    BranchGraph,
    as_function,
    captured_inputs,
    function_name,
    must_run,
    read_only,
    through_function,
    trace_branch,
)
from tflogscope.runtime.control_flow.cond import (
    adopt,
    check_captures,
    check_same_outputs,
    cond,
    match_inputs,
    output_shapes,
)
from tflogscope.runtime.control_flow.structures import packed
from tflogscope.runtime.conversion import constant, convert_to_tensor
from tflogscope.runtime.dtypes import bool_, int32
from tflogscope.runtime.function.func_graph import FuncGraph
from tflogscope.runtime.library import arrays, comparison, elementary, joining, reductions
from tflogscope.runtime.library.debugging import Assert
from tflogscope.runtime.ops.call import call, control_dependencies
from tflogscope.runtime.tensors import Tensor

__all__ = ["build_case", "case", "switch_case"]

Function = Callable[[], Any]


def switch_case(
    branch_index: Any,
    branch_fns: Mapping[int, Function] | Sequence[Any],
    default: Function | None = None,
    name: str = "switch_case",
) -> Any:
    """What the function of that index gives; for any other index `default`, or else the last
    function.

    Raises TypeError for what are no functions, ValueError for keys that are not 0, 1, 2, ….
    """
    functions = _functions(branch_fns, default)
    with context.name_scope(name):
        if context.executing_eagerly():
            index = convert_to_tensor(branch_index)
            outside = comparison.logical_or(index < 0, index >= len(functions))
            index = call("Select", outside, len(functions) - 1, index)
            return functions[int(index)]()  # type: ignore[call-overload]
        return _indexed_case(branch_index, functions)


def _functions(
    branch_fns: Mapping[int, Function] | Sequence[Any], default: Function | None
) -> list[Function]:
    if not isinstance(branch_fns, Mapping | list | tuple):
        raise TypeError(
            f"'branch_fns' must be a list, tuple, or dict. Received: {type(branch_fns)}"
        )
    if isinstance(branch_fns, Mapping):
        pairs = list(branch_fns.items())
    elif all(callable(each) for each in branch_fns):
        pairs = list(enumerate(branch_fns))
    else:
        pairs = list(branch_fns)
    for key, function in pairs:
        if not isinstance(key, int):
            raise TypeError(f"key must be a Python `int`, got {key}")
        if not callable(function):
            raise TypeError(f"fn for key {key} must be callable.")
    pairs.sort(key=lambda pair: pair[0])
    if [key for key, _ in pairs] != list(range(len(pairs))):
        raise ValueError(
            f"branch indices (keys) must form contiguous range of [0 to {len(pairs)}) but found "
            f"{{{','.join(str(key) for key, _ in pairs)}}}"
        )
    return [function for _, function in pairs] + ([default] if default is not None else [])


def _indexed_case(branch_index: Any, functions: Sequence[Function]) -> Any:
    if isinstance(branch_index, int):
        raise TypeError("branch_index must not be a Python int", branch_index)
    with context.name_scope("indexed_case") as scope:
        parts = [f"branch{number}" for number in range(len(functions))]
        names = [function_name(scope, part) for part in parts]
        index = convert_to_tensor(branch_index, name="branch_index")
        branches = [
            trace_branch(BranchGraph(branch_name), function, op_return_value=index)
            for branch_name, function in zip(names, functions, strict=True)
        ]
        check_captures(branches, [f"branch {number}" for number in range(len(branches))])
        return build_case(index, branches, [branch.external_captures for branch in branches], scope)


def build_case(
    index: Tensor, branches: Sequence[FuncGraph], inputs: Sequence[Sequence[Tensor]], name: str
) -> Any:
    """A Case node with these graphs as branches; `inputs` are what each takes."""
    check_same_outputs(
        branches, [f"branches[{number}]" for number in range(len(branches))], "tf.switch_case"
    )
    common = match_inputs(branches, inputs)
    type_ = "Case" if must_run(*branches) else "StatelessCase"

    def make(tensors: Sequence[Tensor]) -> list[Tensor]:
        attributes = {
            "Tin": tuple(tensor.dtype for tensor in tensors),
            "Tout": tuple(tensor.dtype for tensor in branches[0].outputs),
            "branches": tuple(as_function(branch) for branch in branches),
            "output_shapes": output_shapes(branches),
            "_lower_using_switch_merge": True,
            **read_only(branches, 1),
        }
        with context.name_scope(name) as scope:
            outputs = context.execute(type_, [index, *captured_inputs(tensors)], attributes, scope)
        adopt(branches, outputs)
        return outputs

    outputs = [arrays.identity(output) for output in through_function(make, common)]
    return packed(branches[0].structured_outputs, outputs)


def case(
    pred_fn_pairs: Any,
    default: Function | None = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str = "case",
) -> Any:
    """What the function of the first condition gives that holds, else `default()`. Without it one
    of them must hold.

    Raises TypeError for pairs that are not of a tensor and a function; InvalidArgumentError if two
    conditions hold and `exclusive`, or none and there is no default.
    """
    pairs = (
        list(pred_fn_pairs.items()) if isinstance(pred_fn_pairs, Mapping) else list(pred_fn_pairs)
    )
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError(f"Each entry in 'pred_fn_pairs' must be a 2-tuple. Received {pair}.")
        condition, function = pair
        if not isinstance(condition, Tensor):
            raise TypeError(f"pred must be a Tensor, got: {condition}")
        if condition.dtype is not bool_:
            raise TypeError(f"pred must be Tensor of type bool: {condition}")
        if not callable(function):
            raise TypeError(f"fn for pred {condition} must be callable.")
    conditions = [condition for condition, _ in pairs]
    functions = [function for _, function in pairs]
    with context.name_scope(name):
        if default is None:
            default, conditions, functions = _last_as_default(conditions, functions)
        chosen: Function = default
        for condition, function in reversed(list(zip(conditions, functions, strict=True))):
            chosen = _either(condition, function, chosen, strict)
        if not exclusive:
            return chosen()
        with control_dependencies([_at_most(conditions, 1, "Input error: exclusive=True")]):
            return chosen()


def _either(condition: Any, function: Function, otherwise: Function, strict: bool) -> Function:
    return lambda: cond(condition, function, otherwise, strict=strict)


def _last_as_default(
    conditions: list[Any], functions: list[Function]
) -> tuple[Function, list[Any], list[Function]]:
    """The last function as what is done if no other condition holds: after a check that its own
    does.
    """
    last, action, others = conditions[-1], functions[-1], conditions[:-1]
    number = len(others)

    def default() -> Any:
        message = (
            f"Implementation error: selected default action #{number} was called, "
            "but some of other predicates are True: "
        )
        stacked = joining.stack(conditions, name="preds_c")
        checked = [
            _at_most(others, 0, message),
            _assert(last, ["Input error: None of conditions evaluated as True:", stacked]),
        ]
        with control_dependencies(checked):
            return action()

    return default, others, functions[:-1]


def _at_most(conditions: Sequence[Any], count: int, message: str) -> Any:
    stacked = joining.stack(conditions, name="preds_c")
    held = reductions.reduce_sum(elementary.cast(stacked, int32), name="num_true_conds")
    few = call("LessEqual", held, constant(count, name="n_true_conds"))
    names = ", ".join(getattr(condition, "name", "?") for condition in conditions)
    return _assert(
        few,
        [f"{message}: more than {count} conditions ({names}) evaluated as True:", stacked],
        len(conditions),
    )


def _assert(condition: Any, data: Sequence[Any], summarize: int = 3) -> Any:
    return Assert(condition, list(data), summarize=summarize)
