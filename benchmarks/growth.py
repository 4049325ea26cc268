"""How time and memory grow with each kind of input that could be slow: twice of it, how much more.

python benchmarks/growth.py [KIND ...]
python benchmarks/growth.py [KIND ...] --distinct 10000 100000

For each kind an input is made that takes half a second more than a small one, and one twice as
large. Both are read in a process of their own, which makes all tables, the screen, the timeline and
the report. Printed are the ratios of processor time and of peak memory, without what a small log
takes. Where one is above 2.4, it is the mean of two doublings, as memory is taken in steps. The
command fails (exit code 1) where that is above 2.4, too. Needs Linux.

With `--distinct` it prints what `analyze` and `report` take, each as a process, of a log that has
so many distinct things of a kind: seconds of processors and peak memory.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import multiprocessing
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tests.makelog import ADD, MATMUL, SOURCE, Log, Node, X, wrapped  # noqa: E402  see above

MOST = 2.4
DISTINCT = [
    "definitions", "dead nodes", "folded constants", "inputs of a node",
    "layout rewrites", "functions", "traces", "instantiations",
    "calls on threads", "threads", "distinct eager ops", "open eager ops",
    "failures", "texts", "ignored files", "suspects",
    "dumps", "problems", "cut verbose lines", "tensors",
]  # fmt: skip
ENOUGH_SECONDS = 0.5
LEAST_SECONDS = 0.1  # less than that is noise
LARGEST = 1 << 19
FIXED_BYTES = 40_000_000  # buffers that every log of more than a few MB needs
GEMM = (
    "onednn_verbose,exec,cpu,gemm_api,,undef,src_f32::blocked:ab:f0 dst_f32::blocked:ab:f0,,,{},0.1"
)
KINDS: dict[str, Callable[[int], bytes]] = {}
Make = Callable[[Log, int], object]


def kind(make: Make) -> Make:
    """A kind of input: `make` adds what is to be many, so many times, to a log."""

    def made(count: int) -> bytes:
        log = Log()
        log.executing("Mul")  # there is something in any log
        make(log, count)
        return log.text().encode()

    KINDS[make.__name__.replace("_", " ")] = made
    return make


def node(number: int, op: str = "Add") -> Node:
    """A node of its own."""
    return Node(number, f"layer_{number}/{op}", op, "x", "y")


# ---- graphs -------------------------------------------------------------------------------------


@kind
def definitions(log: Log, count: int) -> None:
    """Distinct nodes, each run once."""
    log.step(7, *(node(number) for number in range(count)))


@kind
def steps(log: Log, count: int) -> None:
    """Steps of two nodes."""
    for number in range(count):
        log.step(number + 5, MATMUL, ADD)


@kind
def iterations(log: Log, count: int) -> None:
    """A loop: the same nodes again and again in one step."""
    for _ in range(count):
        log.step(7, MATMUL, ADD)


@kind
def open_kernels(log: Log, count: int) -> None:
    """Nodes that begin, all of them before the first one ends."""
    for number in range(count):
        log.start(node(number), 7)
    for number in range(count):
        log.done(node(number), 7)


@kind
def open_runs_of_one_node(log: Log, count: int) -> None:
    """One node that begins many times before it ends once."""
    for _ in range(count):
        log.start(MATMUL, 7)
    for _ in range(count):
        log.done(MATMUL, 7)


@kind
def nodes_without_end(log: Log, count: int) -> None:
    """Nodes that begin, of steps that never end."""
    for number in range(count):
        log.start(MATMUL, number)


@kind
def dead_nodes(log: Log, count: int) -> None:
    """Branches that were not taken."""
    log.step(7, *(node(number).killed() for number in range(count)))


@kind
def folded_constants(log: Log, count: int) -> None:
    """Nodes that grappler worked out."""
    log.step(-1, *(node(number) for number in range(count)))


@kind
def kernels_at_once(log: Log, count: int) -> None:
    """Nodes that run at the same time on several threads: as many lanes."""
    for first in range(0, count, 64):
        for number in range(first, first + 64):
            log.start(node(number), 7)
        for number in range(first, first + 64):
            log.done(node(number), 7)


@kind
def attributes(log: Log, count: int) -> None:
    """One node with an attribute of many values."""
    values = ", ".join("1" for _ in range(4 * count))
    for number in range(40):
        log.run(Node(3, f"Reshape_{number}", "_MklConv2D", "x", attributes=f"shape=[{values}]"), 7)


@kind
def nesting_of_attributes(log: Log, count: int) -> None:
    """Attributes in attributes."""
    for number in range(count // 100 + 1):
        nested = "f=g[" * (number % 100) + "T=DT_FLOAT" + "]" * (number % 100)
        log.run(Node(3, f"Call_{number}", "MatMul", "x", attributes=nested), 7)


@kind
def inputs_of_a_node(log: Log, count: int) -> None:
    """Nodes with many inputs."""
    names = [f"layer_{number}/x" for number in range(100)]
    for number in range(count // 50 + 1):
        log.run(Node(3, f"Concat_{number}", "ConcatV2", *names), 7)


# ---- functions and eager ops --------------------------------------------------------------------


@kind
def functions(log: Log, count: int) -> None:
    """Functions, each made and called once."""
    for number in range(count):
        log.first_call(f"__inference_f{number}_{number}", 2 * number, number, X, MATMUL, ADD)


@kind
def traces(log: Log, count: int) -> None:
    """Traces of one function."""
    for number in range(count):
        log.first_call(f"__inference_f_{number}", 2 * number, number, X, MATMUL, ADD)


@kind
def calls(log: Log, count: int) -> None:
    """Calls of one function."""
    log.first_call("__inference_f_7", 6, 1, X, MATMUL, ADD)
    for number in range(count):
        log.call("__inference_f_7", 6, number + 2, X, MATMUL, ADD)


@kind
def nested_calls(log: Log, count: int) -> None:
    """Calls within calls, as Python in a graph makes them."""
    for first in range(0, count, 50):
        for number in range(first, first + 50):
            log.entering(f"__inference_f{number % 7}_{number % 7}")
            log.executing(f"__inference_f{number % 7}_{number % 7}")
        for number in reversed(range(first, first + 50)):
            log.exiting(f"__inference_f{number % 7}_{number % 7}")


@kind
def nesting_of_calls(log: Log, count: int) -> None:
    """Calls within calls, all of them within the first."""
    for _ in range(count):
        log.entering("__inference_f_1")
        log.executing("__inference_f_1")
    for _ in range(count):
        log.exiting("__inference_f_1")


@kind
def instantiations(log: Log, count: int) -> None:
    """Functions that are made and never called, with rewrites."""
    for number in range(count):
        log.instantiate(f"__inference_f{number}_{number}", 2 * number, (MATMUL, "_MklMatMul"))


@kind
def eager_ops(log: Log, count: int) -> None:
    """One op, dispatched again and again."""
    for _ in range(count):
        log.eager_op("Mul", 4)


@kind
def distinct_eager_ops(log: Log, count: int) -> None:
    """Ops of many names."""
    for number in range(count):
        log.eager_op(f"Op{number}", 4)


@kind
def open_eager_ops(log: Log, count: int) -> None:
    """Eager ops that begin to run and do not end."""
    for number in range(count):
        log.executing("Mul")
        log.running(wrapped("Mul"), 2 * number)


@kind
def failures(log: Log, count: int) -> None:
    """Nodes that fail."""
    for number in range(count):
        log.start(node(number), number)
        log.compute_status(f"layer_{number}/Add")
        log.done(node(number), number)


def threads(count: int) -> bytes:
    """Threads, each of which runs a few nodes."""
    log = Log("tid")
    for number in range(count):
        for each in (SOURCE, X, MATMUL):
            log.run(each, number, thread=100_000 + number)
    return log.text().encode()


def calls_on_threads(count: int) -> bytes:
    """Calls of one function on many threads at once."""
    log = Log("tid")
    for number in range(count):
        log.entering("__inference_f_1", thread=100 + number)
        log.executing("__inference_f_1", thread=100 + number)
    for number in range(count):
        log.run(MATMUL, number, thread=100 + number)
        log.exiting("__inference_f_1", thread=100 + number)
    return log.text().encode()


def requests(count: int) -> bytes:
    """Calls of one function on two threads, of which the second to begin is the first to end."""
    log, name, handle = Log("tid"), "__inference_f_1", 6
    log.first_call(name, handle, 1, X, MATMUL, ADD)
    for number in range(2, 2 * count + 2, 2):
        for thread in (101, 102):
            log.entering(name, thread=thread)
            log.executing(name, thread=thread)
            log.running(name, handle, thread=thread)
        for thread in (102, 101):
            for each in (X, MATMUL, ADD):
                log.run(each, number + thread - 101, thread=thread)
            log.ran(name, handle, thread=thread)
            log.exiting(name, thread=thread)
    return log.text().encode()


# ---- texts and lines ----------------------------------------------------------------------------


@kind
def texts(log: Log, count: int) -> None:
    """Messages of a file that the grammar covers, each another."""
    for number in range(count):
        log.record("tensorflow/core/common_runtime/eager/execute.cc", 9, f"Something else {number}")


@kind
def ignored_files(log: Log, count: int) -> None:
    """Records of many source files."""
    for number in range(count):
        log.record(f"tensorflow/core/file_{number}.cc", number, "text")


@kind
def suspects(log: Log, count: int) -> None:
    """Lines in which two writers' texts met."""
    for number in range(count):
        log.start(node(number), 7)
        log.lines[-1] = GEMM.format("4x8:8x6") + log.lines[-1]


@kind
def prefixes_in_a_line(log: Log, count: int) -> None:
    """A line of nothing but prefixes, and a long one behind it."""
    log.raw(log.prefix("tensorflow/core/common_runtime/executor.cc", 841) * (count // 10))
    log.raw("x" * count)


@kind
def glued_records(log: Log, count: int) -> None:
    """Records without line ends between them, twenty to a line."""
    log.step(7, *(node(number) for number in range(count)))
    log.lines = ["".join(log.lines[at : at + 20]) for at in range(0, len(log.lines), 20)]


@kind
def dumps(log: Log, count: int) -> None:
    """Protobuf text: lines without a prefix."""
    for number in range(count):
        log.raw(f'  attr {{ key: "{number}" }}')


@kind
def blank_lines(log: Log, count: int) -> None:
    """Lines with nothing in them."""
    log.lines += [""] * (20 * count)


@kind
def one_line(log: Log, count: int) -> None:
    """One line that goes on and on."""
    log.raw("x" * (200 * count))


@kind
def bad_bytes(log: Log, count: int) -> None:
    """Characters that are shown by their codes."""
    log.lines += ["\x00\x1b\udc80".encode("utf-8", "surrogatepass").decode("latin-1") * 50] * count


@kind
def clock_steps(log: Log, count: int) -> None:
    """A clock that is set back again and again."""
    for number in range(count):
        log.step(number + 5, MATMUL)
        log.wait(-30 if number % 2 else 40)


def dialects(count: int) -> bytes:
    """Records of both prefixes in turn."""
    classic, absl = Log(), Log("absl")
    for number in range(count):
        classic.step(number + 5, MATMUL)
        absl.step(number + 5, ADD)
    pairs = zip(classic.lines, absl.lines, strict=True)
    return "".join(f"{one}\n{two}\n" for one, two in pairs).encode()


def archive_members(count: int) -> bytes:
    """A gzip file of many members."""
    log = Log()
    log.step(7, MATMUL, ADD)
    return gzip.compress(log.text().encode(), 1) * count


# ---- oneDNN and memory --------------------------------------------------------------------------


@kind
def problems(log: Log, count: int) -> None:
    """Primitives of distinct problems, one in each node."""
    for number in range(count):
        log.start(MATMUL, number)
        log.raw(GEMM.format(f"{number}x8:8x6"))
        log.done(MATMUL, number)


@kind
def primitives_of_one_op(log: Log, count: int) -> None:
    """Primitives in one node."""
    log.start(MATMUL, 7)
    for _ in range(count):
        log.raw(GEMM.format("4x8:8x6"))
    log.done(MATMUL, 7)


@kind
def primitives_of_no_op(log: Log, count: int) -> None:
    """Primitives while nothing runs."""
    log.run(MATMUL, 7)
    for _ in range(count):
        log.raw(GEMM.format("4x8:8x6"))


@kind
def late_primitives(log: Log, count: int) -> None:
    """Primitives in blocks, after the nodes that ran them."""
    for first in range(0, count, 30):
        for number in range(first, first + 30):
            log.run(MATMUL, number)
        for _ in range(30):
            log.raw(GEMM.format("4x8:8x6"))


@kind
def primitives_of_open_kernels(log: Log, count: int) -> None:
    """Primitives while many nodes run at once: many candidates for each."""
    for first in range(0, count, 100):
        for number in range(first, first + 100):
            log.start(Node(number, f"layer_{number}/MatMul", "_MklMatMul", "x", "y"), 7)
        for _ in range(100):
            log.raw(GEMM.format("4x8:8x6"))
        for number in range(first, first + 100):
            log.done(Node(number, f"layer_{number}/MatMul", "_MklMatMul", "x", "y"), 7)


@kind
def cut_verbose_lines(log: Log, count: int) -> None:
    """Verbose lines that another record cuts in two."""
    for number in range(count):
        log.start(MATMUL, number)
        log.lines[-1] = GEMM[:40] + log.lines[-1]
        log.raw(GEMM[40:].format("4x8:8x6"))


@kind
def tensors(log: Log, count: int) -> None:
    """What tensors held: records of memory."""
    log.step(7, MATMUL)
    for number in range(count):
        about = f'allocated_bytes: 64 allocator_name: "cpu" allocation_id: {number} '
        log.record(
            "tensorflow/core/framework/log_memory.cc",
            34,
            f'__LOG_MEMORY__ MemoryLogTensorOutput {{ step_id: 7 kernel_name: "MatMul" tensor {{ '
            f"dtype: DT_FLOAT shape {{ dim {{ size: {number} }} }} allocation_description {{ "
            f"requested_bytes: 64 {about}has_single_reference: true ptr: 1 }} }} }}",
        )


@kind
def layout_rewrites(log: Log, count: int) -> None:
    """Nodes that the layout pass rewrote, in one function."""
    log.instantiating("__inference_f_1")
    for number in range(count):
        log.rewrite(node(number, "MatMul"), "_MklMatMul")
    log.instantiated("__inference_f_1", 2)


for _make in (threads, calls_on_threads, requests, dialects, archive_members):
    KINDS[_make.__name__.replace("_", " ")] = _make


# ---- measuring ----------------------------------------------------------------------------------


def read(log: Path) -> None:
    """All that can be asked of a log."""
    from rich.console import Console

    import tflogscope
    from tflogscope.model.pictures.activity import read_activity
    from tflogscope.views.analyze import analyze_document
    from tflogscope.views.report.page import report_page
    from tflogscope.views.terminal import draw

    run = tflogscope.open_log(log)
    for name in ("timeline", "ops", "functions", "nodes", "rewrites", "primitives", "findings"):
        getattr(run, name)
    draw(analyze_document(run), Console(file=io.StringIO(), width=100))
    if run.slices.frame.height:
        read_activity(run, None, lambda _names: 100)
    report_page(run, "tflogscope")


def measure(name: str, count: int) -> dict[str, float]:
    """In this process: seconds of processors and peak bytes, both above those of a small log."""
    with tempfile.TemporaryDirectory() as folder:
        small, log = Path(folder) / "small.log", Path(folder) / "run.log"
        small.write_bytes(KINDS["calls"](20))
        read(small)  # what is made once for all logs
        began = time.process_time()
        read(small)
        fixed = time.process_time() - began
        log.write_bytes(KINDS[name](count))
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak begins anew
        before, began = memory("VmRSS"), time.process_time()
        read(log)
        seconds = time.process_time() - began - fixed
        return {
            "seconds": max(seconds, LEAST_SECONDS),
            "peak": max(memory("VmHWM") - before, FIXED_BYTES),
            "bytes": log.stat().st_size,
        }


def memory(field: str) -> int:
    """A field of this process' status, in bytes."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    found = re.search(rf"{field}:\s+(\d+) kB", status)
    return 1024 * int(found[1]) if found else 0


def measured(name: str, count: int) -> dict[str, float]:
    """The same in a process of its own."""
    command = [sys.executable, __file__, name, "--count", str(count)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def rows(names: list[str]) -> Iterator[tuple[str, float, float]]:
    """Measure and print, kind by kind; yield the ratios."""
    print("| kind | records | MB | s | time | memory |\n|---|---|---|---|---|---|")
    for name in names:
        count = 1 << 10
        once = measured(name, count)
        while once["seconds"] < ENOUGH_SECONDS and count < LARGEST:
            count *= 2 if once["seconds"] > ENOUGH_SECONDS / 4 else 4
            once = measured(name, count)
        twice = measured(name, 2 * count)
        ratios = {key: twice[key] / once[key] for key in ("seconds", "peak")}
        if max(ratios.values()) > MOST:  # a step, where memory is taken in large pieces? Or busy?
            again = measured(name, 4 * count)
            ratios = {key: (again[key] / once[key]) ** 0.5 for key in ratios}
        time_, memory_ = ratios["seconds"], ratios["peak"]
        print(
            f"| {name} | {2 * count:,} | {twice['bytes'] / 1e6:.1f} | {twice['seconds']:.1f} | "
            f"{time_:.2f} | {memory_:.2f} |",
            flush=True,
        )
        yield name, time_, memory_


def taken(command: str, log: Path) -> str:
    """Seconds of processors and peak memory of a command; its exit code where it failed."""
    output = ["-o", str(log.with_suffix(".html")), "--force"] if command == "report" else []
    arguments = [sys.executable, "-m", "tflogscope", command, str(log), *output]
    with subprocess.Popen(arguments, cwd=ROOT, stdout=subprocess.DEVNULL) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    failed = f" (exit code {process.returncode})" if process.returncode else ""
    seconds, megabytes = used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e6
    return f"{seconds:.1f} s, {megabytes:,.0f} MB{failed}"


def write(log: Path, name: str, count: int) -> None:
    """Write a log of a kind."""
    log.write_bytes(KINDS[name](count))


def distinct_rows(names: list[str], counts: list[int]) -> None:
    """Print what logs of many distinct things take."""
    print("| kind | distinct | MB | analyze | report |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "run.log"
        for name in names:
            for count in counts:
                # In another process: a child's peak begins with that of this one.
                making = multiprocessing.Process(target=write, args=(log, name, count))
                making.start()
                making.join()
                both = " | ".join(taken(command, log) for command in ("analyze", "report"))
                size = log.stat().st_size / 1e6
                print(f"| {name} | {count:,} | {size:.1f} | {both} |", flush=True)


def main() -> int:
    """Print the table; 1 if something grows faster than it may."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--distinct", type=int, nargs="+", metavar="N", help="how many things")
    parser.add_argument("--count", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.count is not None:
        print(json.dumps(measure(options.kinds[0], options.count)))
        return 0
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if options.distinct:
        distinct_rows(options.kinds or DISTINCT, options.distinct)
        return 0
    names = options.kinds or list(KINDS)
    return int(any(max(time_, memory_) > MOST for _, time_, memory_ in list(rows(names))))


if __name__ == "__main__":
    sys.exit(main())
