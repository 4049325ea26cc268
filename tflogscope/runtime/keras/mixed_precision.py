"""In which dtype a layer computes, and in which its weights are.

Told about: `keras/src/mixed_precision/policy.py`. NB: there is no `LossScaleOptimizer`, with which
Keras trains under `mixed_float16`: losses are not scaled here.
"""

from __future__ import annotations

from typing import Any

import tflogscope.runtime.api as tf
from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.keras import backend
from tflogscope.runtime.logs import log

__all__ = ["Policy", "global_policy", "policy_of", "set_global_policy"]

_chosen: list[Policy] = []
_warned: list[str] = []
_SLOW = (
    "Mixed precision compatibility check (mixed_float16): WARNING\n"
    "The dtype policy mixed_float16 may run slowly because this machine does not have a GPU. Only "
    "Nvidia GPUs with compute capability of at least 7.0 run quickly with mixed_float16.\n"
    "If you will use compatible GPU(s) not attached to this host, e.g. by running a multi-worker "
    "model, you can ignore this warning. This message will only be logged once"
)


class Policy:
    """A dtype, or `mixed_float16` and `mixed_bfloat16`: that one to compute, `float32` to keep."""

    def __init__(self, name: str) -> None:
        """Raises TypeError for what is no name, ValueError for what is no policy's."""
        if not isinstance(name, str):
            raise TypeError(f"'name' must be a string, but got: {name}")
        self.name = name
        mixed = name in {"mixed_float16", "mixed_bfloat16"}
        try:
            self.compute_dtype = tf.as_dtype(name.removeprefix("mixed_") if mixed else name).name
        except TypeError:
            raise ValueError(
                f"Cannot convert value {name} to a mixed precision Policy. Valid policies include "
                "'mixed_float16', 'mixed_bfloat16', and the name of any dtype such as 'float32'."
            ) from None
        self.variable_dtype = "float32" if mixed else self.compute_dtype
        if name == "mixed_float16" and not _warned:
            _warned.append(name)
            log.warning(_SLOW)

    @property
    def is_mixed(self) -> bool:
        """Does it compute in another dtype than that of its weights?"""
        return self.compute_dtype != self.variable_dtype

    def serialized(self) -> Any:
        """How the configuration of a layer tells it."""
        if not self.is_mixed:
            return self.name
        return {
            "module": "keras.mixed_precision",
            "class_name": "Policy",
            "config": self.get_config(),
            "registered_name": None,
        }

    def get_config(self) -> dict[str, str]:
        """Its name."""
        return {"name": self.name}

    @classmethod
    def from_config(cls, config: dict[str, str]) -> Policy:
        """One with that name."""
        return cls(**config)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Policy) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f'<Policy "{self.name}">'


def global_policy() -> Policy:
    """That of layers which are not told theirs."""
    return _chosen[-1] if _chosen else Policy(backend.floatx())


def set_global_policy(policy: Any) -> None:
    """Say so. Raises ValueError for one that does not compute with floats."""
    found = None if policy is None else policy_of(policy)
    if found is not None and not tf.as_dtype(found.compute_dtype).is_floating:
        raise ValueError(
            "set_global_policy can only be used to set the global policy to floating-point "
            'policies, such as "float32" and "mixed_float16", but got policy: '
            f"{found.name}"
        )
    _chosen[:] = [] if found is None else [found]


def policy_of(identifier: Any) -> Policy:
    """The policy of that name, for that dtype, of that configuration; None: the global one."""
    if identifier is None:
        return global_policy()
    if isinstance(identifier, Policy):
        return identifier
    if isinstance(identifier, dict):
        return Policy.from_config(identifier["config"])
    if isinstance(identifier, str) and identifier.startswith("mixed_"):
        return Policy(identifier)
    return Policy(tf.as_dtype(identifier).name)


__getattr__ = missing("tf.keras.mixed_precision")
