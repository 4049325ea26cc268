"""What goes wrong between a process and its log, on demand.

Each fault takes what is to be written and gives what is written instead; the truth is about the
file as it is in the end. They can be combined, in the order of this list:

    processes   a second process writes to the same file                  (processes.py)
    clock       the clock is set back, and later forward                  (clock.py)
    torn        records are torn and glued: classes A, B, C               (torn.py)
    late        oneDNN's lines come late, in blocks that cut them: D      (late.py)
    prints      other programs' lines, without ends, and like records: E, F   (prints.py)
    bytes       bytes that are no text                                    (prints.py)
    kill        the process is killed in the middle                       (kill.py)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import TYPE_CHECKING

from tflogscope.runtime.emitter.faults.clock import Clock
from tflogscope.runtime.emitter.faults.kill import Kill
from tflogscope.runtime.emitter.faults.late import Late
from tflogscope.runtime.emitter.faults.prints import Bytes, Prints
from tflogscope.runtime.emitter.faults.processes import Processes
from tflogscope.runtime.emitter.faults.torn import Torn

if TYPE_CHECKING:
    from tflogscope.runtime.emitter.output import Fault
    from tflogscope.runtime.emitter.prefixes import Prefixes

__all__ = ["FAULTS", "faults_named"]

FAULTS: dict[str, Callable[[Random, Prefixes], Fault]] = {
    "processes": Processes,
    "clock": Clock,
    "torn": Torn,
    "late": Late,
    "prints": Prints,
    "bytes": Bytes,
    "kill": Kill,
}


def faults_named(names: Sequence[str], seed: int, prefixes: Prefixes) -> list[Fault]:
    """The faults of these names, in their order. Raises ValueError for a name that is none."""
    unknown = [name for name in names if name not in FAULTS]
    if unknown:
        raise ValueError(f"no fault {unknown[0]}: there are {', '.join(FAULTS)}")
    return [
        make(Random(f"{seed} {name}"), prefixes)  # noqa: S311 - a model, no secret
        for name, make in FAULTS.items()
        if name in names
    ]
