"""tflogscope: what TensorFlow's verbose log says about each op.

    import tflogscope
    run = tflogscope.open_log("run.log")
    run.ops

`run.timeline`, `run.ops`, `run.functions`, `run.nodes`, `run.rewrites`, `run.primitives` and
`run.coverage` are polars frames, made when first asked for.

polars is imported when `open_log` or `Run` is first asked for, not before, so that
`tflogscope --help` does not wait for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tflogscope.errors import TflogscopeError

if TYPE_CHECKING:
    from tflogscope.model.run import Run, open_log

__version__ = "0.1.0"
__all__ = ["Run", "TflogscopeError", "__version__", "open_log"]

_LAZY = frozenset({"Run", "open_log"})


def __getattr__(name: str) -> Any:
    """Import what needs polars when it is first asked for.

    Raises:
        AttributeError: tflogscope has no such name.
    """
    if name not in _LAZY:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    from tflogscope.model import run
    from tflogscope.views.chart import timeline_chart
    from tflogscope.views.notebook import notebook_html

    # The model does not look up to the views.
    run.Run.to_html, run.Run.to_chart = notebook_html, timeline_chart
    return getattr(run, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
