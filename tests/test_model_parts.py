"""Which files are parts of one run: what threads, times and the first records say."""

from __future__ import annotations

import pytest

from tests.conftest import Open
from tests.makelog import Dialect, Log
from tests.samples import raw_log

pytestmark = pytest.mark.filterwarnings("ignore:these are 2 runs")
CUT = "function_mlp__tf2.13.1__vlog2"


def busy(dialect: Dialect, thread: int, since_us: int) -> Log:
    """Eager ops on one thread for half a second."""
    log = Log(dialect)
    log.thread = thread
    log.wait(since_us)
    for _ in range(25):
        log.eager_op("Mul", 5)
        log.wait(20_000)
    return log


def whys(opened: Open, *logs: Log | bytes) -> list[str]:
    return [part.why for part in opened(*logs).parts]


def test_two_threads_at_one_time_are_two_processes(opened: Open) -> None:
    overlap = "their times overlap"
    assert whys(opened, busy("tid", 1, 0), busy("tid", 2, 0)) == [overlap, overlap]


def test_files_with_a_thread_in_common_are_of_one_process(opened: Open) -> None:
    found = whys(opened, busy("tid", 1, 0), busy("tid", 1, 100_000))
    assert found == ["they share thread ids"]


def test_files_whose_times_follow_each_other_are_of_one_process(opened: Open) -> None:
    found = whys(opened, busy("classic", 1, 0), busy("classic", 2, 600_000))
    assert found == ["the times of one follow the other's"]


def test_a_file_in_which_nothing_starts_and_nothing_runs_is_no_run_of_its_own(
    opened: Open,
) -> None:
    text = raw_log(CUT)
    middle = text.index(b"\n", len(text) // 2) + 1
    warning = Log()
    warning.wait(3_600_000_000)
    warning.record("tensorflow/core/framework/op_kernel.cc", 1780, "OP_REQUIRES failed", "W")
    assert len(whys(opened, text[:middle], text[middle:], warning.text().encode())) == 1
