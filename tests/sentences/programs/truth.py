"""Facts that a program knows of itself, as JSON lines in the file that TRUTH_FILE names.

Times are epoch microseconds. Each line is written at once, so a killed program leaves what it knew.
No TensorFlow op runs here, and TensorFlow is not imported.

kind    start   the program began: name, pid, Python
        call    a call of a function or a step: name, index, start_us, end_us, wall_us, traces (bodies
                traced meanwhile, by name), asked (eager ops asked for meanwhile, by type), error
        phase   the same for a stretch of the program that is no call
        trace   Python ran the body of a function to trace it: name, number, and what it was traced for
        failed  something failed, and was caught: what, error class, message
        known   a fact in words, with figures
        end     sums: calls by name with first and later wall time, traces, asked
"""

import atexit
import collections
import contextlib
import json
import os
import sys
import threading
import time

_PATH = os.environ.get("TRUTH_FILE")
_file = os.open(_PATH, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644) if _PATH else None
_lock = threading.RLock()
_walls = collections.defaultdict(list)
_traces = collections.Counter()
_asked = collections.Counter()


def now():
    """Epoch microseconds."""
    return time.time_ns() // 1000


def _cut(error):
    text = str(error)
    return text if len(text) <= 800 else f"{text[:300]} ... {text[-500:]}"


def write(kind, **facts):
    """One fact, at once."""
    if _file is not None:
        line = json.dumps({"kind": kind, **facts}, separators=(",", ":")) + "\n"
        with _lock:
            os.write(_file, line.encode())


def known(text, **facts):
    """A fact that holds because of how the program is written."""
    write("known", text=text, t_us=now(), **facts)


def asked(op, count=1):
    """The program asks for eager ops of this type."""
    with _lock:
        _asked[op] += count


def traced(name, **facts):
    """Called in a body of a tf.function: Python runs it only to trace it (or op by op)."""
    with _lock:
        _traces[name] += 1
        write("trace", name=name, number=_traces[name], t_us=now(), **facts)


def failed(what, error, **facts):
    """Something failed and was caught."""
    write("failed", what=what, t_us=now(), error=type(error).__name__, message=_cut(error), **facts)


@contextlib.contextmanager
def _measured(kind, name, facts):
    index = len(_walls[kind, name])
    _walls[kind, name].append(None)
    traces, ops = _traces.copy(), _asked.copy()
    start = now()
    error = None
    try:
        yield
    except BaseException as raised:
        error = {"class": type(raised).__name__, "message": _cut(raised)}
        raise
    finally:
        end = now()
        _walls[kind, name][index] = end - start
        write(
            kind,
            name=name,
            index=index,
            start_us=start,
            end_us=end,
            wall_us=end - start,
            thread=threading.get_native_id(),
            traces=dict(_traces - traces),
            asked=dict(_asked - ops),
            error=error,
            **facts,
        )


def call(name, **facts):
    """`with truth.call("train_step"): train_step(x)`"""
    return _measured("call", name, facts)


def phase(name, **facts):
    """`with truth.phase("callbacks"): ...`"""
    return _measured("phase", name, facts)


def _end():
    calls = {}
    for (kind, name), walls in _walls.items():
        done = [wall for wall in walls if wall is not None]
        if kind == "call" and done:
            later = done[1:]
            calls[name] = {
                "count": len(walls),
                "first_us": done[0],
                "later_us": sum(later) // len(later) if later else None,
                "sum_us": sum(done),
            }
    module = sys.modules.get("tensorflow")
    write(
        "end",
        t_us=now(),
        tensorflow=getattr(module, "__version__", None),
        calls=calls,
        traces=dict(_traces),
        asked=dict(_asked),
    )


write("start", program=os.path.basename(sys.argv[0]), t_us=now(), pid=os.getpid(), python=sys.version.split()[0])
atexit.register(_end)
