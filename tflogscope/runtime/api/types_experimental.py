"""`tf.types.experimental`: names for annotations."""

from __future__ import annotations

from typing import Any

from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.function import concrete, polymorphic

Callable = ConcreteFunction = concrete.ConcreteFunction
GenericFunction = PolymorphicFunction = polymorphic.PolymorphicFunction
TensorLike = Any

__getattr__ = missing("tf.types.experimental")
