"""Record what the programs of `user_programs/` print with the real TensorFlow 2.13.

    python -m tests.runtime.record_user_programs [NAME]

writes `data/user_programs/NAME.txt`.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
PROGRAMS, DATA = HERE / "user_programs", HERE / "data" / "user_programs"


def main() -> None:
    """Each program in a process of its own."""
    DATA.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[1:] or sorted(path.stem for path in PROGRAMS.glob("*.py")):
        command = [sys.executable, str(PROGRAMS / f"{name}.py")]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        (DATA / f"{name}.txt").write_text(done.stdout, encoding="utf-8")


if __name__ == "__main__":
    main()
