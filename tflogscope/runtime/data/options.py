"""Options of a dataset: what the runtime may change about how its elements are made.

Told about: `tensorflow/python/data/ops/options.py` and `core/framework/dataset_options.proto`.
NB: this runtime never reorders or rewrites a pipeline, so options change no element; they are kept
because programs set them and because an `OptionsDataset` op carries them, serialized.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import Any, ClassVar

__all__ = ["AutoShardPolicy", "ExternalStatePolicy", "Options"]


class AutoShardPolicy(IntEnum):
    """How a distributed job divides the elements."""

    OFF = -1
    AUTO = 0
    FILE = 1
    DATA = 2
    HINT = 3


class ExternalStatePolicy(IntEnum):
    """What to do about functions with state when a dataset is serialized."""

    WARN = 0
    IGNORE = 1
    FAIL = 2


class OptionGroup:
    """Named options, None until set. The class lists their names with their field numbers in the
    proto.
    """

    fields: ClassVar[Mapping[str, int]] = {}

    def __init__(self) -> None:
        for name in self.fields:
            object.__setattr__(self, name, None)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.fields:
            raise AttributeError(f"Cannot set the property {name} on {type(self).__name__}.")
        object.__setattr__(self, name, value)

    def serialized(self) -> bytes:
        """As the bytes of the proto message: fields in the order of their numbers."""
        return b"".join(_field(number, value) for number, value in sorted(self._set()))

    def merge(self, other: OptionGroup) -> None:
        """Take over what the other has set."""
        for name in self.fields:
            value = getattr(other, name)
            if isinstance(value, OptionGroup):
                getattr(self, name).merge(value)
            elif value is not None:
                setattr(self, name, value)

    def _set(self) -> Iterator[tuple[int, Any]]:
        for name, number in self.fields.items():
            if (value := getattr(self, name)) is not None:
                yield number, value

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and list(self._set()) == list(other._set())

    __hash__ = None  # type: ignore[assignment]


class DistributeOptions(OptionGroup):
    """`options.experimental_distribute`."""

    fields: ClassVar = {"auto_shard_policy": 1, "num_devices": 2}


class OptimizationOptions(OptionGroup):
    """`options.experimental_optimization`."""

    fields: ClassVar = {
        "apply_default_optimizations": 1,
        "filter_fusion": 6,
        "map_and_batch_fusion": 9,
        "map_and_filter_fusion": 10,
        "map_fusion": 11,
        "map_parallelization": 12,
        "noop_elimination": 14,
        "parallel_batch": 15,
        "shuffle_and_repeat_fusion": 17,
        "filter_parallelization": 18,
        "inject_prefetch": 19,
        "warm_start": 20,
    }

    def __init__(self) -> None:
        super().__init__()
        self.warm_start = False


class ThreadingOptions(OptionGroup):
    """`options.threading`."""

    fields: ClassVar = {"max_intra_op_parallelism": 1, "private_threadpool_size": 2}


class AutotuneOptions(OptionGroup):
    """`options.autotune`."""

    fields: ClassVar = {"enabled": 1, "cpu_budget": 2, "ram_budget": 3, "autotune_algorithm": 4}


class Options(OptionGroup):
    """`tf.data.Options`."""

    fields: ClassVar = {
        "deterministic": 1,
        "experimental_distribute": 2,
        "experimental_optimization": 3,
        "experimental_slack": 4,
        "threading": 5,
        "experimental_external_state_policy": 6,
        "autotune": 7,
    }

    def __init__(self) -> None:
        super().__init__()
        self.experimental_distribute = DistributeOptions()
        self.experimental_optimization = OptimizationOptions()
        self.threading = ThreadingOptions()
        self.autotune = AutotuneOptions()

    def __setattr__(self, name: str, value: Any) -> None:
        old_names = {"experimental_deterministic": "deterministic"}
        super().__setattr__(old_names.get(name, name), value)


def _field(number: int, value: Any) -> bytes:
    """One field in protocol buffers' wire format."""
    if isinstance(value, OptionGroup):
        message = value.serialized()
        return _varint(number << 3 | 2) + _varint(len(message)) + message
    return _varint(number << 3) + _varint(int(value) & (1 << 64) - 1)


def _varint(number: int) -> bytes:
    """Seven bits to a byte, the lowest first."""
    if number < 128:
        return bytes([number])
    return bytes([number & 127 | 128]) + _varint(number >> 7)
