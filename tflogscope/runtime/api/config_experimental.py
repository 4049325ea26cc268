"""`tf.config.experimental`."""

from __future__ import annotations

from typing import Any

from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.library import seeds


def enable_op_determinism() -> None:
    """Random ops without seeds are refused from now on; all others are deterministic already."""
    seeds.require_seeds()


def list_physical_devices(device_type: str | None = None) -> Any:
    """The same as `tf.config.list_physical_devices`."""
    from tflogscope.runtime.api import config

    return config.list_physical_devices(device_type)


def set_memory_growth(device: Any, enable: bool) -> None:
    """Nothing: that is for GPUs. Raises ValueError for what is no device."""
    from tflogscope.runtime.api import config

    del enable
    if device not in config.list_physical_devices():
        raise ValueError(f"Unrecognized device: {device!r}")


def get_device_details(device: Any) -> dict[str, Any]:
    """Nothing is known of a CPU."""
    del device
    return {}


def get_synchronous_execution() -> bool:
    """Eager ops are synchronous."""
    return True


def enable_tensor_float_32_execution(enabled: bool) -> None:
    """Nothing: that is for GPUs."""
    del enabled


def set_synchronous_execution(enable: bool) -> None:
    """Nothing: eager ops are synchronous."""
    del enable


__getattr__ = missing("tf.config.experimental")
