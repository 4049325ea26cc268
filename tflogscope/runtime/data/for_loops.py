"""`for x in dataset` in a function: AutoGraph makes a pipeline of it that runs inside one op.

The body becomes the function of a `scan`, whose state is the loop's variables; a `reduce` takes the
last state. (Over an iterator it becomes a while loop, since an iterator goes on where it was:
autograph/operators/loops.py.)

Told about: `tensorflow/python/data/ops/dataset_autograph.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tflogscope.runtime.autograph.operators.checks import check_loop_variables
from tflogscope.runtime.control_flow.cond import cond
from tflogscope.runtime.conversion import constant

__all__ = ["for_dataset"]

Getter = Callable[[], tuple[Any, ...]]
Setter = Callable[[tuple[Any, ...]], None]


def for_dataset(
    dataset: Any,
    extra_test: Callable[[], Any] | None,
    body: Callable[[Any], None],
    get_state: Getter,
    set_state: Setter,
    names: Sequence[str],
    options: Mapping[str, Any],
) -> None:
    """The loop as scan (, take_while if it has a `break`) and reduce."""
    initial = get_state()
    if not initial:  # reduce does not take an empty state
        initial, get_state, set_state = _dummy_state()
        names = ("<dummy>",)

    def scan_body(scan_state: Any, scan_inputs: Any) -> Any:
        set_state(scan_state)

        def main_path() -> tuple[Any, ...]:
            body(scan_inputs)
            new_state = get_state()
            check_loop_variables(initial, scan_state, new_state, names, options, check_shapes=False)
            return new_state

        if extra_test is None:
            goes_on: Any = (constant(True),)
            state = main_path()
        else:
            goes_on = extra_test()
            state = cond(goes_on, main_path, lambda: scan_state)
        return state, (state, goes_on)

    def take_while_predicate(_: Any, extra_cond: Any) -> Any:
        return extra_cond

    def reduce_body(_: Any, scan_outputs: Any) -> Any:
        state, _ = scan_outputs
        return state

    scanned = dataset._scanned(initial, scan_body, None, use_default_device=False)
    if extra_test is not None:
        scanned = scanned.take_while(take_while_predicate)
    set_state(scanned.reduce(initial, reduce_body))


def _dummy_state() -> tuple[tuple[Any, ...], Getter, Setter]:
    def get_state() -> tuple[Any, ...]:
        return (constant(0),)

    def set_state(_: tuple[Any, ...]) -> None:
        pass

    return get_state(), get_state, set_state
