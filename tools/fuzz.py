"""Run the targets of tests/fuzzing.py on made-up inputs, guided by what code they reach.

python tools/fuzz.py [TARGET ...] [--minutes 10] [--work .fuzz]

Needs atheris (`pip install atheris`). Each target runs in a process of its own for its share of the
time. Inputs that reach new code are kept in WORK/TARGET/corpus, from which the next run goes on;
what fails is kept in WORK/TARGET/findings, one input for each place in the code, and ends nothing.
At the end, and in WORK/runs.jsonl, are executions, seconds (of the clock and of the processor),
coverage and findings. The exit code is 1 if there are findings.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import resource
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

# Bytes of an input; of others 600.
LONGEST = {
    "torn": 6000,
    "envelopes": 6000,
    "log": 12_000,
    "redact": 3000,
    "stacks": 6000,
    "watched": 6000,
    "collected": 6000,
    "pass_on": 3000,
    "sql_words": 24,
}
WORDS = {
    "condition": "== != <= >= ~ contains in ( ) and or not is null true 1ms 2.5s op kind line",
    "policy": "[tool.tflogscope.check] functions unexpected_eager allow_eager_ops after "
    'max_retraces max_unknown min_rewritten = [ ] { } " """ # 0x 1e9 inf nan -',
    "baseline": 'tflogscope_baseline violations check amount { } [ ] " : , 1e999 -0 null',
    "sql": "SELECT FROM WITH AS UNION JOIN ON WHERE GROUP ORDER BY ops nodes read_csv( scan_ipc( "
    "FILE /* */ -- ' \" ` ; LATERAL TABLE( UNNEST( VALUES CREATE INTO ( ) * , $$",
    "moment": "+ - : . us µs ms s min h T Z 2026-11-21 03:56:54",
}


def literals() -> Iterator[str]:
    """The fixed texts of the messages that the grammar describes."""
    from tflogscope.grammar.load import load_grammar
    from tflogscope.grammar.template import Literal

    for file in load_grammar().files.values():
        yield f"{file.file}:"
        for message in file.messages:
            yield from (token.text for token in message.tokens if isinstance(token, Literal))


def dictionary(target: str) -> str:
    """What is worth putting into an input, in libFuzzer's form."""
    if target == "sql_words":
        return ""
    words = set(WORDS[target].split()) if target in WORDS else set(literals())
    words |= {"onednn_verbose,", "\n", "2026-11-21 04:09:48.123456: I ", "{{node ", "}} = "}
    made = []
    for word in sorted(words):
        escaped = "".join(
            chr(byte) if 32 <= byte < 127 and chr(byte) not in '"\\' else f"\\x{byte:02x}"
            for byte in word.encode()[:60]
        )
        made.append(f'"{escaped}"\n')
    return "".join(made)


def fuzz(target: str, seconds: int, work: Path) -> None:
    """Run one target in this process; libFuzzer ends it."""
    import atheris

    with atheris.instrument_imports(include=["tflogscope", "pyparsing", "tomllib"]):
        from tests import fuzzing

    here = work / target
    corpus, findings = here / "corpus", here / "findings"
    for folder in (corpus, findings):
        folder.mkdir(parents=True, exist_ok=True)
    for seed in fuzzing.seeds(target):
        (corpus / hashlib.sha256(seed).hexdigest()[:16]).write_bytes(seed)
    words = dictionary(target)
    (here / "words").write_text(words)
    known: set[str] = set()

    def one(data: bytes) -> None:
        try:
            fuzzing.TARGETS[target](data)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001  a panic inside polars is no Exception
            frames = (
                []
                if isinstance(error, RecursionError)
                else traceback.extract_tb(error.__traceback__)[-4:]
            )
            place = [f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames]
            name = hashlib.sha256(f"{type(error)}{place}".encode()).hexdigest()[:12]
            if name not in known:
                known.add(name)
                (findings / name).write_bytes(data)
                said = "".join(traceback.format_exception(error))
                (findings / f"{name}.txt").write_text(said)

    atheris.Setup(
        [
            sys.argv[0],
            f"-max_total_time={seconds}",
            *([f"-dict={here / 'words'}"] if words else []),  # libFuzzer takes no empty one
            f"-artifact_prefix={findings}/",
            f"-max_len={LONGEST.get(target, 600)}",
            "-timeout=180",
            "-rss_limit_mb=3000",
            "-print_final_stats=1",
            "-verbosity=1",
            str(corpus),
        ],
        one,
    )
    atheris.Fuzz()


def run(target: str, seconds: int, work: Path) -> dict[str, object]:
    """Run one target in a process of its own; return what it did."""
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, __file__, target, "--here", "--seconds", str(seconds)]
    done = subprocess.run(
        [*command, "--work", str(work)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    (work / f"{target}.txt").write_text(done.stdout + done.stderr)
    executions = re.findall(r"number_of_executed_units:\s*(\d+)", done.stderr)
    coverage = re.findall(r"cov: (\d+) ft: (\d+)", done.stderr)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    worked = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    found = [path for path in (work / target / "findings").glob("*") if path.suffix != ".txt"]
    return {
        "target": target,
        "executions": int(executions[-1]) if executions else 0,
        "seconds": round(time.monotonic() - began),
        "cpu_seconds": round(worked),
        "coverage": int(coverage[-1][0]) if coverage else None,
        "findings": len(found),
        "status": done.returncode,
    }


def main() -> None:
    """Run the targets in turn, and say what was done."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("targets", nargs="*", metavar="TARGET")
    parser.add_argument("--minutes", type=float, default=10, help="for all targets together")
    parser.add_argument("--work", type=Path, default=Path(".fuzz"))
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    work = options.work.absolute()
    if options.here:
        fuzz(options.targets[0], options.seconds, work)
        return
    work.mkdir(parents=True, exist_ok=True)
    from tests.fuzzing import TARGETS

    targets = options.targets or list(TARGETS)
    findings = 0
    for target in targets:
        done = run(target, round(options.minutes * 60 / len(targets)), work)
        with (work / "runs.jsonl").open("a") as file:
            file.write(json.dumps(done) + "\n")
        print(" ".join(f"{name}={value}" for name, value in done.items()), flush=True)
        findings += int(str(done["findings"])) + bool(done["status"])
    sys.exit(findings > 0)


if __name__ == "__main__":
    main()
