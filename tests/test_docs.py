from __future__ import annotations

import contextlib
import gzip
import io
import linecache
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import polars as pl
import pytest
import typer

from tests.command import run_command
from tests.deep import first_quick
from tests.samples import MANIFEST, path_of, raw_log, run_of
from tests.test_collect import Here
from tflogscope import Run
from tflogscope.cli.app import app
from tflogscope.cli.main import main
from tflogscope.exports.formats import FORMATS
from tflogscope.exports.schema import TABLES
from tflogscope.runtime.core.eager import EAGER
from tflogscope.stores.pools import Processes

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
COMMANDS = (ROOT / "docs" / "commands.md").read_text()


SHARED = "What all commands share"
OF_ALL = {"--grammar"}  # options that the section on all commands describes


@cache
def program() -> typer.core.TyperGroup:
    group = typer.main.get_command(app)
    assert isinstance(group, typer.core.TyperGroup)
    return group


def section(name: str) -> str:
    """The text of one section of docs/commands.md."""
    found = re.search(
        rf"^## {re.escape(name)}\n(.*?)(?=^## |\Z)", COMMANDS, re.MULTILINE | re.DOTALL
    )
    assert found, f"docs/commands.md has no section {name!r}"
    return found[1]


def sh_blocks() -> list[str]:
    return re.findall(r"^```sh\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("name", sorted(program().commands))
def test_each_command_and_option_is_described(name: str) -> None:
    described = section(name)
    command = program().commands[name]
    for parameter in command.params:
        if isinstance(parameter, typer.core.TyperOption):
            for spelling in parameter.opts:
                if spelling not in {"-h", "--help"}:
                    place = section(SHARED) if spelling in OF_ALL else described
                    assert f"`{spelling}" in place, f"{name} {spelling}"
            assert parameter.help, f"{name} {parameter.name} has no help"


def test_options_of_the_program_itself_are_described() -> None:
    shared = section(SHARED)
    for parameter in program().params:
        for spelling in parameter.opts:
            assert f"`{spelling}`" in shared, spelling


def test_no_section_describes_a_command_that_is_not_there() -> None:
    usages = re.findall(r"^`tflogscope (\w+) ", COMMANDS, re.MULTILINE)
    assert sorted(usages) == sorted(program().commands)


def test_the_readme_names_each_command() -> None:
    for name in program().commands:
        assert f"`tflogscope {name} " in README


def promises() -> dict[str, str]:
    """What a reader learns of the program first."""
    helps = {name: command.help or "" for name, command in program().commands.items()}
    return {"README": README.split("\n## ")[0], "tflogscope": program().help or "", **helps}


@pytest.mark.parametrize("place", sorted(promises()))
def test_no_reason_is_promised_that_no_column_gives(place: str) -> None:
    (cause,) = (row for row in documented("timeline") if row["column"] == "cause")
    (reason,) = (row for row in documented("nodes") if row["column"] == "reason")
    if "not filled yet" in cause["meaning"]:
        assert not re.search(r"\bwhy\b(?! not)", promises()[place])
    if "not filled yet" in reason["null"]:
        assert "why not" not in promises()[place]


def test_tables_formats_and_suffixes_are_described() -> None:
    for table in TABLES:
        assert f"`{table}`" in section("export")
    for each in FORMATS.values():
        for word in (each.name, *each.suffixes):
            assert f"`{word}`" in section("Formats")


@pytest.mark.parametrize("document", [README, COMMANDS], ids=["README", "commands"])
def test_examples_name_commands_and_options_that_exist(document: str) -> None:
    lines = re.findall(r"^\$ (.*)$|^\| `(tflogscope .*?)` \|", document, re.MULTILINE)
    assert lines
    for line in (one or other for one, other in lines):
        for part in line.split(" | "):
            words = shlex.split(part)
            if words[0] != "tflogscope":
                continue
            command = program().commands[words[1]]
            known = {spelling for parameter in command.params for spelling in parameter.opts}
            assert {word for word in words[2:] if re.match(r"--?\w", word)} <= known, line


def test_links_in_the_documents_lead_somewhere() -> None:
    for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", path.read_text()):
            assert (path.parent / target).exists(), f"{path.name}: {target}"


def test_the_readme_starts_with_an_install_line_and_a_test_line() -> None:
    install, tests = sh_blocks()[:2]
    for line in (install, tests):
        assert line.count("\n") == 1
        assert line.startswith("python3 -m venv .venv && .venv/bin/pip install -q ")
    assert " && .venv/bin/tflogscope analyze sample_logs/" in install
    assert " && .venv/bin/pytest " in tests


def test_the_log_of_the_readme_is_there() -> None:
    log = re.search(r"analyze (sample_logs/\S+)", sh_blocks()[0])
    assert log
    assert (ROOT / log[1]).is_file()


def test_ci_runs_the_test_line_of_the_readme() -> None:
    script = (ROOT / ".ci" / "run").read_text()
    function = re.search(r"^readme_block\(\) \{\n.*?^\}\n", script, re.MULTILINE | re.DOTALL)
    assert function
    for number in (1, 2):
        done = subprocess.run(
            ["bash", "-c", f"{function[0]}\nreadme_block {number}"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout == sh_blocks()[number - 1]


def test_the_version_has_one_source() -> None:
    version = run_command("--version").stdout.decode().split()[1]
    assert f"## [{version}] - " in (ROOT / "CHANGELOG.md").read_text()


# ---- examples are run ----------------------------------------------------------------------------

DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
DOCUMENTS += [ROOT / "sample_logs" / "README.md"]
SAMPLE = ROOT / "sample_logs" / "keras_fit_mlp__tf2.13.1__vlog2.log.zst"
LEFT_OUT = "…"


def blocks(document: Path) -> list[tuple[str, str]]:
    """Language and text of each fenced block."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", document.read_text(), re.MULTILINE | re.DOTALL)


def shell_examples() -> list[tuple[str, str, str]]:
    """Document, command and the output shown below it, each once; not the README's set-up lines."""
    found = []
    for document in DOCUMENTS:
        text, name = document.read_text(), document.relative_to(ROOT).as_posix()
        rows = re.findall(r"^\| `(tflogscope [a-z]+ .*?)` \|", text, re.MULTILINE)
        found += [(name, command, "") for command in rows]
        for language, block in blocks(document):
            if language == "console":
                parts = re.split(r"^\$ (.*)\n", block, flags=re.MULTILINE)[1:]
                pairs = zip(parts[::2], parts[1::2], strict=True)
                found += [(name, command, output) for command, output in pairs]
            elif language == "sh":
                found += [(name, command, "") for command in block.splitlines()]
    first = {(command, output): name for name, command, output in reversed(found)}
    # Of a terminal there is a test of its own: tests/test_watch.py.
    return [
        (name, command, output)
        for (command, output), name in first.items()
        if "tflogscope " in command
        and "tflogscope watch" not in command
        and not command.startswith("python3 -m venv .venv")
    ]


# Of TensorFlow, for `record -- python train.py`: it writes one record.
STAND_IN = r"""
import sys
constant = int
said = "I tensorflow/core/util/port.cc:110] oneDNN custom operations are on."
sys.stderr.write(f"2026-11-21 03:58:33.233658: {said}\n")
"""


def own_grammar() -> str:
    """The grammar file of docs/commands.md."""
    (example,) = re.findall(r"^```toml\n(.*?)^```$", section("grammar"), re.MULTILINE | re.DOTALL)
    return str(example)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory that looks like the repository root to a reader with logs of their own.

    What an example writes is kept here.
    """
    for name in ("sample_logs", "docs", "grammars", "benchmarks", "tests"):
        (tmp_path / name).symlink_to(ROOT / name)
    for name in ("run.log", "before.log", "after.log"):
        shutil.copy(SAMPLE, tmp_path / name)  # an example may write to it
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "resample.toml").write_text(own_grammar())
    (tmp_path / "train.py").write_text("import tensorflow as tf\nprint(tf.constant(1) + 2)\n")
    (tmp_path / "tensorflow.py").write_text(STAND_IN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    for name in ("FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    # `simulate` puts its program there.
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    monkeypatch.setattr(Processes, "run", Here.run)
    return tmp_path


def test_there_are_shell_examples_in_each_document_that_has_commands() -> None:
    assert {"README.md", "docs/commands.md"} <= {name for name, _, _ in shell_examples()}


def in_shell(command: str) -> bool:
    unquoted = re.sub(r"'[^']*'|\"[^\"]*\"", "", command)
    return not command.startswith("tflogscope ") or bool(re.search(r"[|<>*;]", unquoted))


def takes_long(command: str) -> bool:
    """Whether it starts processes, or reads a log several times; other tests are quick."""
    return in_shell(command) or command.split()[1] in {"collect", "ranks", "redact"}


def lay_out(desk: Path, command: str, shown: str) -> None:
    """Put smaller logs there if any will do."""
    if not shown and not re.search(r"[\d:]{3}|--call|--at", command):
        for log in ("run.log", "before.log", "after.log"):
            shutil.copy(path_of("function_mlp__tf2.13.1__vlog2"), desk / log)
    if "collect sample_logs" in command:
        (desk / "sample_logs").unlink()
        (desk / "sample_logs").mkdir()
        for name in ("error__tf2.13.1__vlog2", "function_mlp__tf2.8.4__vlog2"):
            shutil.copy(path_of(name), desk / "sample_logs")
    if "zcat" in command:
        text = raw_log("function_mlp__tf2.13.1__vlog2")
        (desk / "run.log.gz").write_bytes(gzip.compress(text, 1))


LONG = [example for example in shell_examples() if takes_long(example[1])]
SHORT = [example for example in shell_examples() if not takes_long(example[1])]


@pytest.mark.parametrize(
    ("document", "command", "shown"),
    [
        # What a document shows is held to each change; of the others one of each command is.
        *first_quick(SHORT, lambda example: example if example[2] else example[1].split()[1]),
        *(pytest.param(*example, marks=pytest.mark.thorough) for example in LONG),
    ],
)
def test_shell_examples_run_and_print_what_is_shown(
    document: str, command: str, shown: str, desk: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    tools = [shlex.split(stage)[0] for stage in command.split(" | ")]
    if missing := [tool for tool in tools if not shutil.which(tool)]:
        pytest.skip(f"{missing[0]} is not installed")
    lay_out(desk, command, shown)
    if in_shell(command):
        done = subprocess.run(
            ["bash", "-c", command],
            capture_output=True,
            text=True,
            check=False,
            env=os.environ.copy(),  # without the COLUMNS that readline sets behind Python's back
        )
        code, stdout, stderr = done.returncode, done.stdout, done.stderr
    else:  # without a shell, no other process is needed
        code = max(main(shlex.split(each)[1:]) for each in command.split(" && "))
        stdout, stderr = capfd.readouterr()
    assert code == 0, stderr
    if " record " not in command:  # which says how much it recorded
        assert "tflogscope: " not in stderr, document
    printed = iter([line.rstrip() for line in stdout.splitlines()])
    for line in shown.splitlines():
        if line != LEFT_OUT:
            assert line in printed, f"{document} shows a line that is not printed there: {line}"


@pytest.mark.parametrize(
    "document", first_quick((path,) for path in DOCUMENTS), ids=lambda path: path.stem
)
@pytest.mark.usefixtures("desk")
def test_python_examples_print_what_is_shown(
    document: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(Path.cwd())  # for an example that is a module of its own
    EAGER.clear_kernels()  # as in a process of its own
    names: dict[str, object] = {}
    printed: str | None = None
    for language, text in blocks(document):
        if language == "python":
            output, name = io.StringIO(), f"<{document.name}, {len(names)}>"
            linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
            if module := re.match(r"# (\w+\.py)\n", text):
                Path(module[1]).write_text(text)
            with contextlib.redirect_stdout(output):
                exec(compile(text, name, "exec"), names)  # the repository's own text
            printed = output.getvalue()
        elif language == "text" and printed is not None:
            assert printed == text, document.name
            printed = None


# ---- tables --------------------------------------------------------------------------------------

TYPES = {
    pl.String(): "str",
    pl.Boolean(): "bool",
    pl.UInt8(): "u8",
    pl.UInt32(): "u32",
    pl.UInt64(): "u64",
    pl.Int64(): "i64",
    pl.Float64(): "f64",
    pl.Datetime("us"): "datetime[us]",
}
# Small logs that between them have everything: releases, dialects, threads, sessions, failures.
TABLE_LOGS = (
    "attention__tf2.16.2__vlog2",
    "cnn_fit__tf2.13.1__vlog0__vmodule",
    "control_flow__tf2.20.0__vlog2",
    "eager_basics__tf2.8.4__vlog2",
    "error__tf2.13.1__vlog2",
    "function_mlp__tf2.13.1__vlog2__buffered",
    "python_threads__tf2.21.0__vlog2",
    "tf1_session__tf2.13.1__vlog2",
    "tf_data__tf2.13.1__vlog2",
    "torch_mlp__torch2.13.0__vlog2",
)
VALUES = {
    "timeline": ("mode", "kind", "rewrite", "flavour", "status", "cause"),
    "nodes": ("rewrite", "reason"),
    "rewrites": ("by",),
}


def documented(table: str) -> list[dict[str, str]]:
    """The rows of a table's section in docs/tables.md: column, type, meaning, null."""
    text = (ROOT / "docs" / "tables.md").read_text()
    found = re.search(rf"^## {table}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found, f"docs/tables.md has no section {table!r}"
    rows = [line.strip("|").split("|") for line in found[1].splitlines() if line.startswith("| ")]
    names = [cell.strip() for cell in rows[0]]
    return [dict(zip(names, [cell.strip() for cell in row], strict=True)) for row in rows[1:]]


def tables_of_a_run() -> list[str]:
    return [name for name in TABLES if hasattr(Run, name)]


@cache
def tables_of(log: str) -> dict[str, pl.DataFrame]:
    return {table: getattr(run_of(log), table) for table in tables_of_a_run()}


def frames(table: str) -> Iterator[tuple[str, pl.DataFrame]]:
    for name in TABLE_LOGS:
        yield name, tables_of(name)[table]


def test_each_table_has_a_section() -> None:
    text = (ROOT / "docs" / "tables.md").read_text()
    assert re.findall(r"^## (\w+)$", text, re.MULTILINE) == [*tables_of_a_run(), "runs"]


@pytest.mark.thorough
@pytest.mark.parametrize("table", tables_of_a_run())
def test_columns_and_types_are_those_of_the_frame(table: str) -> None:
    frame = tables_of(TABLE_LOGS[0])[table]
    real = [(name, TYPES[type_]) for name, type_ in frame.schema.items()]
    assert [(row["column"], row["type"]) for row in documented(table)] == real


@pytest.mark.thorough
@pytest.mark.parametrize("table", tables_of_a_run())
def test_columns_that_are_never_null_are_not(table: str) -> None:
    never = [row["column"] for row in documented(table) if row["null"] == "never"]
    assert never
    for name, frame in frames(table):
        nulls = {column: frame[column].null_count() for column in never}
        assert not any(nulls.values()), f"{name}: {nulls}"


@pytest.mark.thorough
@pytest.mark.parametrize("table", tables_of_a_run())
def test_what_is_said_to_be_unfilled_is(table: str) -> None:
    for name, frame in frames(table):
        for row in documented(table):
            column = frame[row["column"]]
            if row["null"] == "not filled yet":
                assert column.null_count() == len(column), f"{name}: {column.name} is filled now"
            if "not filled yet: 0" in row["meaning"]:
                assert not column.sum(), f"{name}: {column.name} is filled now"


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("table", "column"), [(table, column) for table in VALUES for column in VALUES[table]]
)
def test_values_that_occur_are_described(table: str, column: str) -> None:
    (row,) = (row for row in documented(table) if row["column"] == column)
    for name, frame in frames(table):
        for value in frame[column].drop_nulls().unique():
            assert f"`{value}`" in row["meaning"], f"{name}: {table}.{column} {value!r}"


# ---- sample logs ---------------------------------------------------------------------------------


def test_sample_logs_are_described() -> None:
    text = (ROOT / "sample_logs" / "README.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| .* \| (.*) \|$", text, re.MULTILINE)
    described = {(program, release) for program, cell in rows for release in versions(cell)}
    there = {(each["program"], each["release"].split()[1]) for each in MANIFEST.values()}
    assert described == there


def versions(text: str) -> list[str]:
    return re.findall(r"\d+\.\d+\.\d+", text)
