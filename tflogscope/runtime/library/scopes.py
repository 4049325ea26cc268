"""The name scope that a Python function of TensorFlow opens around the ops it is made of."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

from tflogscope.runtime.core.context import op_scope

Function = Callable[..., Any]


def scoped(label: str) -> Callable[[Function], Function]:
    """The function takes a `name`, or has this one. If it wants `scope`, that is the scope's full name,
    for the op that is the result.
    """

    def decorate(function: Function) -> Function:
        wants = "scope" in inspect.signature(function).parameters

        @wraps(function)
        def called(*args: Any, name: str | None = None, **keywords: Any) -> Any:
            with op_scope(name, label) as scope:
                own = {"scope": scope} if wants else {}
                return function(*args, **keywords, **own)

        return called

    return decorate
