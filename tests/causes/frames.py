"""Notes the Python stack of each op that the main thread of a program runs eagerly.

python frames.py TRUTH.jsonl PROGRAM.py, with the release of the log. `truth/` has what it writes: a
line for each op, its type and the frames from the inside out, `file:function`.
"""

from __future__ import annotations

import json
import re
import runpy
import sys
import threading
from pathlib import Path

INSTALLED = re.compile(r"^.*/site-packages/")
GENERATED = re.compile(r"^__autograph_generated_file.*")
OWN = {"op_callbacks.py", "execute.py", Path(__file__).name}


def frames():
    frame, found = sys._getframe(2), []
    while frame is not None:
        path = frame.f_code.co_filename
        file = path.rpartition("/")[2]
        if file not in OWN and not path.startswith("<frozen"):
            named = INSTALLED.sub("", path) if INSTALLED.match(path) else file
            named = GENERATED.sub("__autograph_generated_file.py", named)
            found.append(f"{named}:{frame.f_code.co_name}")
        frame = frame.f_back
    return found


def main(truth, program):
    from tensorflow.python.framework import op_callbacks

    ops = []

    def note(op_type, *_said, graph=None, **_more):
        if graph is None and threading.current_thread() is threading.main_thread():
            name = op_type.decode() if isinstance(op_type, bytes) else op_type
            ops.append({"op": name, "frames": frames()})

    op_callbacks.add_op_callback(note)
    sys.argv = [program]
    sys.path.insert(0, str(Path(program).parent))
    try:
        runpy.run_path(program, run_name="__main__")
    finally:  # loops_eager ends by an error
        Path(truth).write_text("".join(f"{json.dumps(op)}\n" for op in ops), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
