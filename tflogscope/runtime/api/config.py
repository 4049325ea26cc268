"""`tf.config`: there is one CPU; what concerns other devices is accepted and has no effect."""

from __future__ import annotations

from typing import Any, NamedTuple

from tflogscope.runtime.api import config_experimental as experimental
from tflogscope.runtime.api import config_optimizer as optimizer
from tflogscope.runtime.api import config_threading as threading
from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.function import polymorphic


class PhysicalDevice(NamedTuple):
    """A device of the machine."""

    name: str
    device_type: str


class LogicalDevice(NamedTuple):
    """A device of the runtime."""

    name: str
    device_type: str


functions_run_eagerly = polymorphic.functions_run_eagerly
run_functions_eagerly = polymorphic.run_functions_eagerly
experimental_functions_run_eagerly = functions_run_eagerly
experimental_run_functions_eagerly = run_functions_eagerly


def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """The devices of this machine: one CPU."""
    return [PhysicalDevice("/physical_device:CPU:0", "CPU")] if device_type in (None, "CPU") else []


def list_logical_devices(device_type: str | None = None) -> list[LogicalDevice]:
    """The devices of the runtime: one CPU."""
    return [LogicalDevice("/device:CPU:0", "CPU")] if device_type in (None, "CPU") else []


def get_visible_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """The devices that may be used."""
    return list_physical_devices(device_type)


def set_visible_devices(devices: Any, device_type: str | None = None) -> None:
    """Nothing: the CPU is always visible."""
    del devices, device_type


def set_soft_device_placement(enabled: bool) -> None:
    """Nothing: every op runs on the CPU."""
    del enabled


def get_soft_device_placement() -> bool:
    """Always."""
    return True


__all__ = ["experimental", "optimizer", "threading"]
__getattr__ = missing("tf.config")
