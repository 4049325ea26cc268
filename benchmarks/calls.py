"""How many plans `analyze` has polars run on a log: their fixed cost is most of a small log's time.

usage: python calls.py LOG [--by function]

A plan is a DataFrame's operation (`select`, `join`, …), or a Series' one that polars turns into
one; each costs 20 to 300 µs, whatever the size of the log.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
from collections import Counter
from typing import Any

from polars.lazyframe.frame import LazyFrame

import tflogscope
from tflogscope.views.analyze import analyze_document
from tflogscope.views.terminal import drawn


def main() -> None:
    """Count, and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("log")
    parser.add_argument("--by", choices=("module", "function"), default="module")
    options = parser.parse_args()
    kinds, places = Counter[str](), Counter[str]()
    run_plan = LazyFrame._collect_eager  # noqa: SLF001  every operation comes by here

    def counted(self: LazyFrame, *args: Any, **options_: Any) -> Any:
        frame, of_series = sys._getframe(1), False  # noqa: SLF001  who asked
        while frame.f_back is not None and frame.f_globals["__name__"].startswith("polars"):
            of_series |= ".series." in frame.f_globals["__name__"]
            frame = frame.f_back
        place = frame.f_globals["__name__"]
        kinds["Series" if of_series else "DataFrame"] += 1
        places[place if options.by == "module" else f"{place} {frame.f_code.co_name}"] += 1
        return run_plan(self, *args, **options_)

    LazyFrame._collect_eager = counted  # type: ignore[method-assign]  # noqa: SLF001
    with contextlib.redirect_stdout(io.StringIO()):
        drawn(analyze_document(tflogscope.open_log(options.log)))
    for kind, count in kinds.most_common():
        print(f"{count:6,} of a {kind}")
    for place, count in places.most_common():
        print(f"{count:6,} {place}")


if __name__ == "__main__":
    main()
