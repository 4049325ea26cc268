"""`tf.raw_ops`: every op by its name, with keyword arguments only.

NB: a few arguments have another name here than the op's input has in graphs.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from tflogscope.runtime.api.missing import MissingName
from tflogscope.runtime.ops.call import generated
from tflogscope.runtime.ops.declare import signature_of

_INPUTS = {"reduction_indices": "axis", "split_dim": "axis", "dim": "axis", "concat_dim": "axis"}
"""Inputs of which the Python argument is called otherwise."""
_ATTRIBUTES = {"squeeze_dims": "axis"}


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def __getattr__(name: str) -> Callable[..., Any]:
    signature = signature_of(name)
    if signature is None:
        if name.startswith("__"):
            raise AttributeError(f"module 'tf.raw_ops' has no attribute {name!r}")
        raise MissingName(f"tf.raw_ops.{name}")
    renamed = {_INPUTS[each.name]: each.name for each in signature.inputs if each.name in _INPUTS}
    renamed |= {_ATTRIBUTES[each]: each for each in signature.attributes if each in _ATTRIBUTES}
    if name in ("ArgMax", "ArgMin"):  # these two keep the op's name
        renamed = {}
    function = generated(name)

    def raw(*args: Any, name: str | None = None, **arguments: Any) -> Any:
        if args:
            shown = {signature_name: key for key, signature_name in renamed.items()}
            inferred = {each.type for each in signature.inputs}
            attributes = [key for key in signature.attributes if key not in inferred]
            keys = [*(each.name for each in signature.inputs), *attributes, "name"]
            raise TypeError(
                f"{_snake(signature.type)} only takes keyword args (possible keys: "
                f"{[shown.get(key, key) for key in keys]}). Please pass these args as kwargs "
                "instead."
            )
        return function(
            name=name, **{renamed.get(key, key): value for key, value in arguments.items()}
        )

    raw.__name__ = name
    return raw
