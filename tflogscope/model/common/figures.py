"""How figures are rounded, and said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tflogscope.grammar.thresholds import threshold

if TYPE_CHECKING:
    import polars as pl

_LEAST_LOOPS = threshold("loop.least_share")
_LONG_START_UP = threshold("verdict.long_start_up")
_DECIMALS = 3  # of µs


def rounded(microseconds: pl.Expr) -> pl.Expr:
    """A sum or mean of durations in µs, rounded to ns: finer digits are noise of the addition.

    TensorFlow prints times in µs (tsl/platform/default/logging.cc). oneDNN's clock counts ns or
    less finely (src/common/utils.hpp, get_msec), and its lines have six or seven digits.
    """
    return microseconds.round(_DECIMALS)


def round_time(microseconds: float) -> float:
    """A duration as `rounded` would have it."""
    return round(microseconds, _DECIMALS)


def known_sum(durations: pl.Expr) -> pl.Expr:
    """The sum of durations, null where none is known."""
    import polars as pl

    return pl.when(durations.count() > 0).then(durations.sum())


def sum_known(durations: pl.Series) -> Any:
    """The same of a series, rounded."""
    total: Any = durations.sum()
    return round_time(total) if durations.count() else None


def summed(column: str) -> pl.Expr:
    """The sum of a column of durations, rounded, null where none is known."""
    import polars as pl

    return rounded(known_sum(pl.col(column)))


def counted() -> dict[str, pl.Expr]:
    """What rows of executions add up to; those on a branch not taken are dead, and in no sum."""
    import polars as pl

    alive = pl.col("status") != "dead"
    times = {"steady_us": "steady_us", "work_us": "work_us", "total_us": "duration_us"}
    return {
        "executions": alive.sum().cast(pl.UInt32),
        "dead": (~alive).sum().cast(pl.UInt32),
        **{name: known_sum(pl.col(of).filter(alive)) for name, of in times.items()},
        "at": pl.col("at").min(),
    }


def ranked_by(table: pl.DataFrame) -> str:
    """The times that a table ranks by: without the log, or if none is known, as printed."""
    printed = "total_us" if "total_us" in table.columns else "duration_us"
    return "steady_us" if table["steady_us"].count() else printed


def count_of(count: int, thing: str, ending: str = "s") -> str:
    """`1 line`, `2 lines`, but `once`; with the ending `es`: `2 dispatches`."""
    return "once" if count == 1 and thing == "time" else f"{count:,} {thing}{ending * (count != 1)}"


def spoken(microseconds: float | None) -> str:
    """A duration in a sentence; nothing where it is not known."""
    if microseconds is None:
        return ""
    for unit, size in (("s", 1e6), ("ms", 1e3)):
        if microseconds >= size * 0.9995:  # in three digits a whole one
            return f"{float(f'{microseconds / size:.3g}'):g} {unit}"
    return f"{microseconds:.0f} µs"


def size_of(count: int) -> str:
    """Bytes in the unit that fits: `412 B`, `8.2 kB`, `1.8 MB`."""
    value = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000 or unit == "GB":
            break
        value /= 1000
    return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"


def duration(microseconds: float) -> str:
    """µs for people, three digits: `12.5 µs`, `3.20 ms`, `1.75 s`, `2 min 05 s`."""
    if microseconds < 0:
        return f"-{duration(-microseconds)}"
    for unit, size in (("µs", 1.0), ("ms", 1e3), ("s", 1e6)):
        value = microseconds / size
        if value < (59.95 if unit == "s" else 999.5):
            if unit == "µs" and value == int(value):
                return f"{int(value)} µs"
            decimals = 2 if value < 9.995 else 1 if value < 99.95 else 0
            return f"{value:.{decimals}f} {unit}"
    seconds = round(microseconds / 1e6)
    if seconds < 3600:
        return f"{seconds // 60} min {seconds % 60:02} s"
    minutes = round(seconds / 60)
    return f"{minutes // 60:,} h {minutes % 60:02} min"


def span_of_run(time: pl.DataFrame) -> float:
    """The wall time of the run, which the table `time` has shares of; 0 if it is not known."""
    return float((time["wall_us"] / time["share"]).fill_nan(None).max() or 0)  # type: ignore[arg-type]


def start_up_of(time: pl.DataFrame) -> float:
    """The wall time before the program's first op, in the table `time`, in µs."""
    return float(time.filter(phase="start-up")["wall_us"].sum())


def share_after_start_up(us: float, time: pl.DataFrame) -> float | None:
    """Which share of the run without its start-up, in the table `time`; None: it starts quickly.

    Imports take as long in a short recording as in a long one.
    """
    span, start_up = span_of_run(time), start_up_of(time)
    if start_up < _LONG_START_UP * span:
        return None
    return min(us / (span - start_up), 1.0) if span > start_up else None


class Whole(NamedTuple):
    """What a time is a part of: `part` of `us`."""

    part: float
    us: float
    in_loops: bool


def whole_of(
    us: float | None, repeats_us: float | None, repeated: pl.DataFrame, span: float
) -> Whole | None:
    """What avoidable time is a part of: the time in loops (table `repeated`), else the run.

    A short recording is mostly start-up, and a longer one has more of its loops; so what is mostly
    in loops (`repeats_us` of it; None: not known) is a part of these, without the rest of it.
    Where next to nothing of the run is in loops, it is a part of the run.
    None: it is no part of the run, such as time of several threads added up.
    """
    if us is None or not span:
        return None
    loops = float(repeated["repeats_us"].sum())
    part = us if repeats_us is None else repeats_us
    if us / 2 <= part <= loops and loops >= _LEAST_LOOPS * span:
        return Whole(part, loops, True)
    return Whole(us, span, False) if us <= span else None


def percent(part: float, whole: float) -> str:
    """A share for people: what is there is never `0%`, and what is not all never `100%`."""
    share = part / whole if whole else 0.0
    if 0 < share <= 0.005:
        return "<1%"
    return ">99%" if 0.995 <= share < 1 else f"{share:.0%}"
