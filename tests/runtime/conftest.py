"""`tf`: the runtime's own, as it is in release 2.13."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tflogscope.runtime.names import bind


@pytest.fixture
def tf() -> Iterator[Any]:
    yield bind()
    bind()
