"""Work done on a thread of polars, as the command line does all of its own.

polars hands what has several expressions to a thread of its pool and waits for it: some 90 µs for
a call that takes 20 there, and the model of a log makes a thousand calls. On a thread of the pool
itself polars goes on where it is.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, overload

if TYPE_CHECKING:
    import polars as pl

Found = TypeVar("Found")


class Make(Protocol):
    """Calls what it is given on some thread, and returns or raises what that does."""

    def __call__(self, work: Callable[[], Found], /) -> Found:
        """Call it."""


_this = threading.local()


def here(work: Callable[[], Found]) -> Found:
    """Call it on this thread."""
    return work()


def on_worker(work: Callable[[], Found]) -> Found:
    """Call it on a thread of polars.

    No other thread may wait for polars and be waited for by this work: there may be one thread in
    the pool only. Ctrl-C ends the work at its next call of polars.
    """
    if getattr(_this, "is_worker", False):
        return work()
    import polars as pl  # not before the scan of a log has begun

    done: list[Callable[[], Found]] = []

    def call(column: pl.Series) -> pl.Series:
        _this.is_worker = True
        try:
            found = work()
            done.append(lambda: found)
        except BaseException as error:  # noqa: BLE001  (raised again below)
            done.append(_raises(error))
        finally:
            _this.is_worker = False
        return column

    # It takes two expressions to be handed to the pool; with one, `work` is called right here.
    column = pl.col("column")
    pl.DataFrame({"column": [0]}).select(
        column.map_batches(call, return_dtype=pl.Int64), other=column
    )
    return done[0]()


def _raises(error: BaseException) -> Callable[[], Any]:
    def again() -> Any:
        raise error

    return again


class made(cached_property[Found]):  # noqa: N801  (it is used as `cached_property` is)
    """A `cached_property` of a run, made by the run's `make`."""

    @overload
    def __get__(self, run: None, owner: Any = None) -> made[Found]: ...
    @overload
    def __get__(self, run: object, owner: Any = None) -> Found: ...
    def __get__(self, run: Any, owner: Any = None) -> Any:
        """See `cached_property`."""
        return self if run is None else run.make(lambda: super(made, self).__get__(run, owner))
