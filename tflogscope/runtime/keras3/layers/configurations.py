"""What `get_config` says of layers that users write.

Told about: `Operation.__new__` and `get_config` of `keras/src/ops/operation.py`, `Layer.get_config`
of `keras/src/layers/layer.py`.
"""

from __future__ import annotations

import inspect
from typing import Any

from tflogscope.runtime import nest

__all__ = ["configuration", "made_of"]

_NOT_SERIALIZABLE = """
Object {} was created by passing
non-serializable argument values in `__init__()`,
and therefore the object must override `get_config()` in
order to be serializable. Please implement `get_config()`.
"""


def configuration(layer: Any, *, by_itself: bool) -> dict[str, Any]:
    """Name, whether it is trained and in which dtype; `by_itself`: also what it was made with.

    Raises NotImplementedError for arguments other than numbers and texts.
    """
    config = {"name": layer.name}
    if by_itself:
        arguments, keywords = layer._made_with
        specification = inspect.getfullargspec(type(layer).__init__)
        bound = inspect.signature(type(layer).__init__).bind(layer, *arguments, **keywords)
        bound.apply_defaults()
        given = dict(bound.arguments)
        given |= given.pop(specification.varkw or "", {})
        for unsaid in (specification.args[0], "name"):
            given.pop(unsaid, None)
        unnamed = given.pop(specification.varargs or "", ())
        simple = (str, int, float, bool, type(None))
        if unnamed or not all(isinstance(each, simple) for each in nest.flatten(given)):
            raise NotImplementedError(_NOT_SERIALIZABLE.format(type(layer).__name__))
        config |= given
        if "name" not in specification.args and specification.varkw != "kwargs":
            del config["name"]
    policy = {
        "module": "keras",
        "class_name": "DTypePolicy",
        "config": {"name": layer.dtype_policy.name},
        "registered_name": None,
    }
    return {**config, "trainable": layer.trainable, "dtype": policy}


def made_of(config: dict[str, Any]) -> dict[str, Any]:
    """The arguments that a configuration means."""
    policy = config.get("dtype")
    return config if not isinstance(policy, dict) else {**config, "dtype": policy["config"]["name"]}
