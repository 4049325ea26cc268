"""In which dtype a layer computes, and in which its weights are.

Under a mixed policy weights are kept as `float32`; within the call of a layer they are cast each
time they are read (`autocast_scope` of `state.py`), and so are its inputs.

Told about: `keras/src/dtype_policies/`.
"""

from __future__ import annotations

from typing import Any

from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.keras3.dtypes import standardize
from tflogscope.runtime.keras3.state import state

__all__ = [
    "DTypePolicy", "Policy", "dtype_policy", "get", "global_policy", "set_dtype_policy",
    "set_global_policy",
]  # fmt: skip


class DTypePolicy:
    """A dtype, or `mixed_float16` and `mixed_bfloat16`."""

    def __init__(self, name: str | None = None) -> None:
        """Raises TypeError for what is no name."""
        name = dtype_policy().name if name is None else name
        if not isinstance(name, str):
            raise TypeError(
                "'name' must be a string, such as 'mixed_float16'. "
                f"Received: name={name} (of type {type(name)})"
            )
        self.name: str = name
        mixed = name.startswith("mixed_")
        self.compute_dtype = standardize(name.removeprefix("mixed_"))
        self.variable_dtype = "float32" if mixed else self.compute_dtype

    def __repr__(self) -> str:
        return f'<DTypePolicy "{self.name}">'

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DTypePolicy) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)


Policy = DTypePolicy


def dtype_policy() -> DTypePolicy:
    """That of layers which are not told theirs."""
    found: DTypePolicy = state.policy or DTypePolicy(standardize(None))
    return found


def set_dtype_policy(policy: Any) -> None:
    """Say so."""
    state.policy = get(policy)


def get(identifier: Any) -> DTypePolicy:
    """The policy of that name, or for that dtype."""
    if identifier is None:
        return dtype_policy()
    if isinstance(identifier, DTypePolicy):
        return identifier
    mixed = isinstance(identifier, str) and identifier.startswith("mixed_")
    return DTypePolicy(identifier if mixed else standardize(identifier))


global_policy, set_global_policy = dtype_policy, set_dtype_policy

__getattr__ = missing("tf.keras.mixed_precision")
