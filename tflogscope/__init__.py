"""tflogscope: what TensorFlow's verbose log says about each op.

    import tflogscope
    run = tflogscope.open_log("run.log")
    run.ops

`run.timeline`, `run.ops`, `run.functions`, `run.nodes`, `run.rewrites`, `run.primitives` and
`run.coverage` are polars frames, made when first asked for. `run.check`, `run.query`, `run.diff`,
`run.report` and `run.trace` do what the commands of these names do.
`tflogscope.open_store("runs")` gives the same tables of many runs as lazy frames.

polars is imported when a log is opened or `Run` is first asked for, not before, so that
`tflogscope --help` does not wait for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tflogscope.errors import TflogscopeError
from tflogscope.version import __version__

if TYPE_CHECKING:
    from tflogscope.api import Run, Store, open_log, open_store

__all__ = ["Run", "Store", "TflogscopeError", "__version__", "open_log", "open_store"]


def __getattr__(name: str) -> Any:
    """Import what is first asked for.

    Raises:
        AttributeError: tflogscope has no such name.
    """
    if name in __all__:
        from tflogscope import api

        return getattr(api, name)
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
