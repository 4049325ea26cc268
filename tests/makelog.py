"""Hand-made logs: a `Log` writes records as TensorFlow does, in one of its prefix dialects.

Every method that writes a record returns the number of its first line, from 1. Time advances by
`TICK` µs with each record. Source lines are those of TensorFlow 2.13.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Literal

Dialect = Literal["classic", "tid", "absl"]

TICK = 10
J = "/job:localhost/replica:0/task:0"
CPU = f"{J}/device:CPU:0"
START = datetime(2026, 11, 21, 3, 56, 34, tzinfo=UTC)

_COMMON = "tensorflow/core/common_runtime/"
_EXECUTOR = _COMMON + "executor.cc"
_EXECUTE = _COMMON + "eager/execute.cc"
_LIBRARY = _COMMON + "process_function_library_runtime.cc"
_LAYOUT = _COMMON + "mkl_layout_pass.cc"
_COMPONENT_SUFFIX = "_17540103243545338158_0"


class Log:
    """A log in the making. `text()` is the log as a string, `lines` its lines."""

    def __init__(self, dialect: Dialect = "classic", *, zone_hours: int = 0) -> None:
        """`zone_hours`: how far local time, which the classic dialects print, is ahead of UTC."""
        self.lines: list[str] = []
        self.dialect: Dialect = dialect
        self.thread = 9000
        self.zone = timedelta(hours=zone_hours)
        self.now = START  # UTC

    def text(self) -> str:
        return "".join(line + "\n" for line in self.lines)

    # ---- any record ----------------------------------------------------------------------------

    def raw(self, line: str) -> int:
        """A line of another writer."""
        self.lines.append(line)
        return len(self.lines)

    def prefix(self, path: str, line: int, severity: str = "I", thread: int | None = None) -> str:
        thread = self.thread if thread is None else thread
        if self.dialect == "absl":
            seconds = int((self.now - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds())
            name = path.rsplit("/", 1)[-1]
            clock = f"{seconds}.{self.now.microsecond:06}"
            return f"{severity}0000 00:00:{clock} {thread:7} {name}:{line}] "
        local = (self.now + self.zone).strftime("%Y-%m-%d %H:%M:%S.%f")
        tid = f" {thread:7}" if self.dialect == "tid" else ""
        return f"{local}: {severity}{tid} {path}:{line}] "

    def record(
        self, path: str, line: int, message: str, severity: str = "I", thread: int | None = None
    ) -> int:
        number = len(self.lines) + 1
        self.lines += (self.prefix(path, line, severity, thread) + message).split("\n")
        self.now += timedelta(microseconds=TICK)
        return number

    def wait(self, microseconds: int) -> None:
        """Advance the clock, or set it back."""
        self.now += timedelta(microseconds=microseconds)

    # ---- executor ------------------------------------------------------------------------------

    def start(self, node: Node, step: int, thread: int | None = None) -> int:
        message = f"Process node: {node.at(step)}{' is dead' if node.dead else ''}"
        return self.record(_EXECUTOR, 841, f"{message} device: {node.device}", thread=thread)

    def done(self, node: Node, step: int, thread: int | None = None, *, sync: bool = True) -> int:
        head = "Synchronous kernel done" if sync else "Async kernel done"
        message = f"{head}: {node.at(step)}{' is dead: ' if node.dead else ''}"
        return self.record(
            _EXECUTOR, 898 if sync else 642, f"{message} device: {node.device}", thread=thread
        )

    def run(self, node: Node, step: int, thread: int | None = None) -> int:
        """Start and end of a node, one after the other."""
        number = self.start(node, step, thread)
        self.done(node, step, thread)
        return number

    def step(self, step: int, *nodes: Node, thread: int | None = None) -> list[int]:
        """A whole step: `_SOURCE` first, then the nodes, one after the other."""
        return [self.run(node, step, thread) for node in (SOURCE, *nodes)]

    def compute_status(self, node: str, status: str = "INVALID_ARGUMENT: no") -> int:
        message = f"0x5623cd61c430 Compute status: {status}\n\t [[{{{{node {node}}}}}]]"
        return self.record(_EXECUTOR, 1059, message, "W")

    # ---- eager ---------------------------------------------------------------------------------

    def eager_input(self, op: str) -> int:
        return self.record(_EXECUTE, 1198, f"{op}:input:0 {CPU}")

    def executing(self, op: str, thread: int | None = None) -> int:
        return self.record(_EXECUTE, 1678, f"Executing op {op} in device {CPU}", thread=thread)

    def entering(self, function: str, thread: int | None = None) -> int:
        message = f"Entering eager executing local operation '{function}'"
        return self.record(_EXECUTE, 2121, message, thread=thread)

    def exiting(self, function: str, status: str = "OK", thread: int | None = None) -> int:
        message = f"Exiting eager executing local operation '{function}', status code is {status}"
        return self.record(_EXECUTE, 2125, message, thread=thread)

    # ---- functions -----------------------------------------------------------------------------

    def instantiating(self, function: str, thread: int | None = None) -> int:
        message = f'Instantiating MultiDevice function "{function}" on default device "{CPU}"'
        return self.record(_LIBRARY, 521, message, thread=thread)

    def instantiated(self, function: str, handle: int, thread: int | None = None) -> int:
        """End of an instantiation; its component has `handle`, the function the next one."""
        component = function + _COMPONENT_SUFFIX
        self.record(
            _LIBRARY,
            727,
            f"Finished instantiating component function {component} with handle {handle} "
            "status: OK",
            thread=thread,
        )
        message = f'Instantiated MultiDevice function "{function}" with handle {handle + 1}'
        return self.record(_LIBRARY, 763, message, thread=thread)

    def instantiate(self, function: str, handle: int, *rewrites: tuple[Node, str]) -> int:
        """A whole instantiation; `rewrites` are nodes as they become, and their ops before."""
        number = self.instantiating(function)
        for node, op in rewrites:
            self.rewrite(node, op)
        self.instantiated(function, handle)
        return number

    def rewrite(self, node: Node, op: str, thread: int | None = None) -> int:
        """The layout pass makes `node` out of one of type `op`; the line that says it is done."""
        device = f"device:{{requested: '{CPU}', assigned: '{CPU}'}}"
        old = f"{{name:'{node.name}' id:3 op {device} def:{{{node.definition(op)}}}}}"
        new = f"{{name:'{node.name}' id:5 op {device} def:{{{node.definition()}}}}}"
        head = "MklLayoutRewritePass:"
        which = f"node {node.name} with op {op} for"
        self.record(
            _LAYOUT,
            4165,
            f"{head} Scheduled {which} rewrite using layout optimization.",
            thread=thread,
        )
        self.record(_LAYOUT, 3740, f"{head} Original node:{old}", thread=thread)
        self.record(_LAYOUT, 3761, f"{head} New node:{new}", thread=thread)
        return self.record(
            _LAYOUT, 4170, f"{head} rewrote {which} Mkl layout optimization.", thread=thread
        )

    def make_executor(self, function: str, *nodes: Node, thread: int | None = None) -> int:
        """The executor of a function is made on its first run, a kernel for each node."""
        component = function + _COMPONENT_SUFFIX
        number = self.record(
            _COMMON + "function.cc",
            899,
            f"Pruning function body: function_name={component}",
            thread=thread,
        )
        for node in (SOURCE, *nodes):
            message = f"Instantiating kernel for node: {node.definition()}"
            self.record("tensorflow/core/framework/op_kernel.cc", 1687, message, thread=thread)
        return number

    def running(self, function: str, handle: int, thread: int | None = None) -> int:
        message = f"Running component function on device {CPU} from {function} with handle {handle}"
        return self.record(_LIBRARY, 1052, message, thread=thread)

    def ran(self, function: str, handle: int, status: str = "", thread: int | None = None) -> int:
        """End of a component that ran on an executor."""
        end = f"failed: {status}" if status else "succeeded."
        message = f"Component function execution on target {CPU} from {function} with handle"
        return self.record(_LIBRARY, 1032, f"{message} {handle} {end}", thread=thread)

    def ran_alone(self, status: str = "", thread: int | None = None) -> int:
        """End of a component that ran on the single-threaded executor: it names nobody."""
        end = f"failed: {status}" if status else "succeeded."
        return self.record(_LIBRARY, 940, f"Component function execution {end}", thread=thread)

    # ---- put together --------------------------------------------------------------------------

    def eager_op(self, op: str, handle: int, thread: int | None = None) -> int:
        """An op dispatched alone that has run before (2.10 and later)."""
        self.eager_input(op)
        number = self.executing(op, thread)
        self.running(wrapped(op), handle, thread)
        self.ran_alone(thread=thread)
        return number

    def call(self, function: str, handle: int, step: int, *nodes: Node) -> tuple[int, list[int]]:
        """A call of a function that is made already: its line, and those of its nodes."""
        self.entering(function)
        number = self.executing(function)
        self.running(function, handle)
        rows = self.step(step, *nodes)
        self.ran(function, handle)
        self.exiting(function)
        return number, rows

    def first_call(
        self, function: str, handle: int, step: int, *nodes: Node
    ) -> tuple[int, list[int]]:
        """The same, with the function made on the way."""
        self.entering(function)
        self.instantiate(function, handle)
        number = self.executing(function)
        self.running(function, handle)
        self.make_executor(function, *nodes)
        rows = self.step(step, *nodes)
        self.ran(function, handle)
        self.exiting(function)
        return number, rows


class Node:
    """A node of a graph as the executor prints it."""

    def __init__(
        self,
        id_: int,
        name: str,
        op: str,
        *inputs: str,
        device: str = CPU,
        attributes: str = "T=DT_FLOAT",
        dead: bool = False,
    ) -> None:
        self.id, self.name, self.op, self.inputs = id_, name, op, inputs
        self.device, self.attributes, self.dead = device, attributes, dead

    def definition(self, op: str | None = None) -> str:
        attributes = f"{self.attributes}, " if self.attributes else ""
        said = "" if self.op == "NoOp" else f'{attributes}_device="{self.device}"'
        return f"{{{{node {self.name}}}}} = {op or self.op}[{said}]({', '.join(self.inputs)})"

    def at(self, step: int) -> str:
        return f"{self.id} step {step} {self.definition()}"

    def on(self, device: str, id_: int | None = None) -> Node:
        """The same node on another device."""
        id_ = self.id if id_ is None else id_
        return Node(
            id_,
            self.name,
            self.op,
            *self.inputs,
            device=device,
            attributes=self.attributes,
            dead=self.dead,
        )

    def killed(self) -> Node:
        """The same node on a branch that is not taken."""
        return Node(
            self.id,
            self.name,
            self.op,
            *self.inputs,
            device=self.device,
            attributes=self.attributes,
            dead=True,
        )


SOURCE = Node(0, "_SOURCE", "NoOp")
X = Node(2, "x", "_Arg", attributes="T=DT_FLOAT, index=0")
MATMUL = Node(3, "MatMul", "_MklMatMul", "x", "y")
ADD = Node(4, "add", "AddV2", "MatMul", "b")
RETVAL = Node(5, "identity_RetVal", "_Retval", "add", attributes="T=DT_FLOAT, index=0")


def wrapped(op: str) -> str:
    """The name of the function that TensorFlow makes around an eager op."""
    return f"__wrapped__{'_' if op.startswith('_') else ''}{op}_device_{CPU}"
