"""The pytest plugin, and the examples of docs/pytest.md: run by pytest itself.

A module called tensorflow takes its place; it prints a log that real TensorFlow wrote.
With TFLOGSCOPE_TENSORFLOW_PYTHON=/path/to/python the example runs on the real one as well.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.samples import raw_log
from tests.waiting import PATIENCE_S, has_ended, wait_until

pytest_plugins = ["pytester"]

DOCUMENT = (Path(__file__).parent.parent / "docs" / "pytest.md").read_text()
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", DOCUMENT, re.MULTILINE | re.DOTALL)
REAL = os.environ.get("TFLOGSCOPE_TENSORFLOW_PYTHON")
# Loading it writes the log; whatever a program asks of it is there and does nothing.
STAND_IN = """
import sys
from pathlib import Path
from unittest.mock import MagicMock

sys.stderr.buffer.write(Path({log!r}).read_bytes())
sys.stderr.flush()
__getattr__ = MagicMock()
"""
CLEAN = "keras_fit_mlp__tf2.13.1__vlog2"
SMALL = "function_mlp__tf2.21.0__vlog2"
PYTHON = "run_eagerly__tf2.13.1__vlog2"


@pytest.fixture
def stand_in(pytester: pytest.Pytester) -> None:
    tensorflow(pytester, SMALL)


def tensorflow(pytester: pytest.Pytester, name: str) -> None:
    """Install a TensorFlow that writes this log."""
    log = pytester.path / "written.log"
    log.write_bytes(raw_log(name))
    pytester.makepyfile(tensorflow=STAND_IN.format(log=str(log)))


def run_pytest(pytester: pytest.Pytester, *options: str) -> pytest.RunResult:
    return pytester.runpytest_subprocess(
        "-p", "no:cacheprovider", "-rs", *options, timeout=PATIENCE_S
    )


def test_pytest_finds_the_plugin_by_itself() -> None:
    (found,) = importlib.metadata.entry_points(group="pytest11", name="tflogscope")
    assert found.value == "tflogscope.pytest_plugin"


def test_pytest_does_not_wait_for_polars() -> None:
    code = "import sys, tflogscope.pytest_plugin; sys.exit('polars' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.thorough
def test_the_examples_of_the_document_pass(pytester: pytest.Pytester) -> None:
    tensorflow(pytester, CLEAN)
    training, *tests = EXAMPLES
    pytester.makepyfile(training=training, test_training="\n\n".join(tests))
    pytester.makepyprojecttoml("[tool.tflogscope.check]\nmax_retraces = 0\n")
    run_pytest(pytester).assert_outcomes(passed=4)


@pytest.mark.thorough
def test_the_example_fails_with_ops_lines_and_advice(pytester: pytest.Pytester) -> None:
    tensorflow(pytester, PYTHON)
    pytester.makepyfile(training=EXAMPLES[0], test_training=EXAMPLES[1])
    result = run_pytest(pytester)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*run.assert_graph_mode()",
            "E *AssertionError: 326 unexpected eager executions; allowed: 0.*",
            "*- tflogscope check *train0*run.log.zst -*",
            "FAILED  unexpected_eager: 326 unexpected eager executions; allowed: 0.*",
            "    ReadVariableOp * run-eagerly *58  12,*",
            "    run-eagerly: *compile(run_eagerly=True)*",
        ]
    )


@pytest.mark.skipif(REAL is None, reason="TFLOGSCOPE_TENSORFLOW_PYTHON names no interpreter")
def test_the_example_passes_on_real_tensorflow_and_fails_where_it_runs_eagerly(
    pytester: pytest.Pytester,
) -> None:
    training, *tests = EXAMPLES
    eagerly = training.replace('"mse")', '"mse", run_eagerly=True)')
    assert eagerly != training
    pytester.makepyfile(
        training=training,
        eagerly=eagerly,
        test_training="\n\n".join(tests),
        test_eagerly=tests[0].replace("training import", "eagerly import"),
    )
    pytester.makepyprojecttoml("[tool.tflogscope.check]\nmax_retraces = 0\n")
    result = run_pytest(pytester, "-o", f"tflogscope_python={REAL}")
    result.assert_outcomes(passed=4, failed=1)
    result.stdout.fnmatch_lines(["test_eagerly.py F*", "FAILED  unexpected_eager: *"])


# ---- what may be passed --------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.usefixtures("stand_in")
def test_files_get_arguments_and_functions_may_stand_in_a_package(
    pytester: pytest.Pytester,
) -> None:
    package = pytester.mkpydir("package")
    (package / "models.py").write_text("def make():\n    import tensorflow\n    print('made')\n")
    (package / "test_function.py").write_text(
        "import sys\nfrom .models import make\n\n"
        "def train():\n    make()\n    print(__name__, len(sys.argv))\n\n"
        "def test(record_tensorflow, capsys):\n    record_tensorflow(train)\n"
        "    assert capsys.readouterr().out.endswith('made\\npackage.test_function 1\\n')\n"
    )
    pytester.makepyfile(
        train="import os, sys, tensorflow\nprint('got', sys.argv[1:], os.environ['SEED'])",
        test_file="""
            def test(record_tensorflow, capsys):
                run = record_tensorflow("train.py", "--epochs", "1", environment={"SEED": "7"})
                assert run.functions.height
                assert capsys.readouterr().out.endswith("got ['--epochs', '1'] 7\\n")
        """,
    )
    run_pytest(pytester).assert_outcomes(passed=2)


@pytest.mark.thorough
@pytest.mark.usefixtures("stand_in")
def test_what_can_not_be_run_elsewhere_is_refused(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest
        from tflogscope import TflogscopeError

        def train(): ...

        class Training:
            def run(self): ...

        @pytest.mark.parametrize(
            "program", [lambda: None, Training().run, Training, "no.py", print, train]
        )
        def test(program, record_tensorflow):
            arguments = ["one"] if program is train else []
            with pytest.raises(TflogscopeError) as error:
                record_tensorflow(program, *arguments)
            assert error.value.hint

        def test_inside(record_tensorflow):
            def inside(): ...
            with pytest.raises(TflogscopeError, match="another process can't import"):
                record_tensorflow(inside)
        """
    )
    run_pytest(pytester).assert_outcomes(passed=7)


# ---- what may go wrong ---------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.usefixtures("stand_in")
def test_programs_that_fail_hang_or_write_no_log(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import os, time
        from pathlib import Path

        def fails():
            import tensorflow
            raise ValueError("out of cheese")

        def hangs():
            Path("pid").write_text(str(os.getpid()))
            time.sleep(600)

        def silent():
            print("hello")

        def test_fails(record_tensorflow):
            record_tensorflow(fails)

        def test_hangs(record_tensorflow):
            record_tensorflow(hangs, timeout=3)

        def test_silent(record_tensorflow):
            record_tensorflow(silent)

        def test_of_something_else():
            assert "tflogscope" == 1
        """
    )
    result = run_pytest(pytester)
    result.assert_outcomes(failed=4)
    result.stdout.fnmatch_lines(["fails ended with status 1", "ValueError: out of cheese"])
    result.stdout.fnmatch_lines(["hangs timed out after 3 s"])
    result.stdout.fnmatch_lines(["*NothingRecognised*"])
    result.stdout.no_fnmatch_line("*tflogscope check*")
    process = pytester.path / "pid"
    if process.exists():  # on a slow machine it had no time to begin
        wait_until(lambda: has_ended(int(process.read_text())))


@pytest.mark.thorough
@pytest.mark.skipif(
    importlib.util.find_spec("tensorflow") is not None, reason="TensorFlow is installed"
)
def test_without_tensorflow_the_test_is_skipped_and_says_what_to_do(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(training=EXAMPLES[0], test_training=EXAMPLES[1])
    result = run_pytest(pytester)
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED*has no TensorFlow*tflogscope_python*"])


@pytest.mark.thorough
def test_an_interpreter_that_is_not_there_is_an_error(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(training=EXAMPLES[0], test_training=EXAMPLES[1])
    result = run_pytest(pytester, "-o", "tflogscope_python=/no/python")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*UsageError: /no/python: can't be started: *"])
