"""The policy: its keys, their values, and where it is read from."""

from __future__ import annotations

import errno
import json
import os
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.made_run import in_memory
from tflogscope.checks import baseline, policy
from tflogscope.checks.baseline import read_baseline
from tflogscope.checks.policy import default_policy, find_policy, read_policy
from tflogscope.checks.values import DEFAULTS, KEYS
from tflogscope.errors import InputError, PolicyError, UsageError
from tflogscope.model.causes.rules import cause_grammar, causes_that_count

CAUSES = cause_grammar().causes
DOCS = Path(__file__).parent.parent / "docs"
SPEC_USUAL = (
    "constant",
    "variable-init",
    "optimizer-slots",
    "metrics",
    "read-variable",
    "lifted-initializer",
    "dataset",
)
SPEC_REST = (
    "py-function",
    "run-eagerly",
    "gradient-tape",
    "control-flow",
    "outside-function",
    "unknown",
)
# For each key: a value that is possible, and what is not.
GOOD: dict[str, Any] = {
    "unexpected_eager": 3,
    "allow_eager_causes": ["constant", "unknown"],
    "allow_eager_ops": ["Cast", "Random*"],
    "allow_eager_at": ["train.py:42", "callbacks/*"],
    "after": "start",
    "max_retraces": 2,
    "max_crashes": 1,
    "max_nonzero_exits": 1,
    "min_rewritten": 0.5,
    "forbid_implementations": ["ref*"],
    "require_kernels": ["_MklMatMul"],
    "max_unlinked": 0.01,
    "max_unknown": 10,
    "max_creation_share": 0.5,
    "max_reorder_share": 0.1,
    "max_reference_share": 0,
}
WRONG: dict[str, list[Any]] = {
    "unexpected_eager": [-1, 0.5, True, "3", [1]],
    "allow_eager_causes": ["constant", ["constants"], [1], [""]],
    "allow_eager_ops": ["Cast", [3], [""]],
    "allow_eager_at": ["train.py:42", [42], [""]],
    "after": ["end", 1, ["start"]],
    "max_retraces": [-1, 1.5, False],
    "max_crashes": [-1, 0.5, True],
    "max_nonzero_exits": [-1, 0.5, True],
    "min_rewritten": [1.01, -0.1, 90, True, "0.9"],
    "forbid_implementations": ["ref", [None]],
    "require_kernels": [{}, [["a"]]],
    "max_unlinked": [1.5, -1, -0.1, True, "1%"],
    "max_unknown": [2.0, -3, False],
    "max_creation_share": [1.01, -0.1, "half"],
    "max_reorder_share": [2, True],
    "max_reference_share": [-1, [0.1]],
}


def toml(value: Any) -> str:
    """TOML of the values used here: all but null are the same in JSON."""
    return "{}" if value == {} else json.dumps(value).replace("null", "[[]]")


def policy_file(directory: Path, text: str, name: str = "policy.toml") -> Path:
    path = directory / name
    path.write_text(text)
    return path


def test_the_default_is_the_one_of_the_contract() -> None:
    assert set(KEYS) == set(GOOD) == set(WRONG)
    assert {*SPEC_USUAL, *SPEC_REST} <= set(CAUSES)
    assert set(SPEC_USUAL) <= set(causes_that_count("never"))
    policy = default_policy()
    assert policy.value("unexpected_eager", "any") == 0
    assert policy.value("allow_eager_causes", None) == causes_that_count("never")
    assert policy.value("after", None) == "first-call"
    checked = [key for key in KEYS if policy.checked(key)]
    always = ["unexpected_eager", "allow_eager_causes", "after", "max_retraces", "max_crashes"]
    assert checked == always


def test_causes_are_those_of_their_page_and_each_has_advice() -> None:
    page = (DOCS / "causes.md").read_text()
    ids = re.findall(r"^## ([a-z-]+)$", page, re.MULTILINE)
    assert set(ids) == set(CAUSES)
    assert all(cause.advice.endswith(".") for cause in CAUSES.values())
    assert {cause.counts for cause in CAUSES.values()} == {
        "never",
        "always",
        "after the first call",
    }


@pytest.mark.parametrize("key", KEYS)
def test_a_key_has_its_value_where_it_is_named_and_its_default_elsewhere(
    key: str, tmp_path: Path
) -> None:
    policy = read_policy(policy_file(tmp_path, f"{key} = {toml(GOOD[key])}"))
    value = policy.value(key, "train_function")
    assert (list(value) if isinstance(value, tuple) else value) == GOOD[key]
    for other in set(KEYS) - {key}:
        assert policy.value(other, None) == DEFAULTS[other]


@pytest.mark.parametrize("key", ["min_rewritten", "max_unlinked"])
@pytest.mark.parametrize("share", [0.0, 1.0])
def test_none_and_all_are_shares(key: str, share: float, tmp_path: Path) -> None:
    value = read_policy(policy_file(tmp_path, f"{key} = {share}")).value(key, None)
    assert isinstance(value, float)
    assert value == share


@pytest.mark.parametrize(("key", "value"), [(key, each) for key in WRONG for each in WRONG[key]])
def test_an_impossible_value_is_named_with_its_place(key: str, value: Any, tmp_path: Path) -> None:
    path = policy_file(tmp_path, f"{key} = {toml(value)}")
    with pytest.raises(UsageError) as error:
        read_policy(path)
    assert error.value.where == f"{path}, {key}"
    assert error.value.hint
    assert error.value.exit_code == 2


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("unexpected_eagre = 0", "Did you mean unexpected_eager?"),
        ("max-retraces = 0", "Did you mean max_retraces?"),
        ("require_kernel = []", "Did you mean require_kernels?"),
        ("function = {}", "Did you mean functions?"),
        ('after = "frist-call"', "Did you mean first-call?"),
        ('allow_eager_causes = ["metric"]', "Did you mean metrics?"),
        ("zzz = 1", "Available: unexpected_eager, "),
        ('[functions."train*"]\nmax_retrace = 1', "Did you mean max_retraces?"),
        ('[functions."train*"]\nmax_unknown = 1', "outside the tables for functions"),
        ("functions = 3", 'Write [tool.tflogscope.check.functions."train_*"]'),
        ("functions = { train = 3 }", 'Write [tool.tflogscope.check.functions."train_*"]'),
        ("[tool.tflogscope]\nchekc = {}", "Did you mean check?"),
        ("[tool]\ntflogscope = 3", "Write [tool.tflogscope.check]."),
        ("[tool.tflogscope]\ncheck = 3", "Write [tool.tflogscope.check]."),
        ("unexpected_eager = ", "Fix the file."),
    ],
)
def test_what_is_wrong_is_answered_with_what_would_be_right(
    text: str, near: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError) as error:
        read_policy(policy_file(tmp_path, text))
    assert near in str(error.value.hint)


def test_a_wrong_policy_is_answered_with_one_that_works(tmp_path: Path) -> None:
    with pytest.raises(PolicyError) as error:
        read_policy(policy_file(tmp_path, "max_retrace = 1"))
    works = read_policy(policy_file(tmp_path, error.value.example))
    assert works.value("max_retraces", "train_step") == 0
    assert works.value("allow_eager_at", None) == ("train.py:42",)


def test_files_that_are_no_text_or_not_there(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    with pytest.raises(InputError):
        read_policy(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="not TOML"):
        read_policy(path)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pipes in folders")
@pytest.mark.parametrize("read", [read_policy, read_baseline])
def test_what_never_ends_is_not_waited_for(
    tmp_path: Path, read: Callable[[Path], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(InputError, match="not a file"):
            read(name)
    reader, writer = os.pipe()  # as the shell's <(command)
    os.write(writer, b"{}")
    os.close(writer)
    with suppress(UsageError):
        read(Path(f"/dev/fd/{reader}"))
    os.close(reader)
    for module in (policy, baseline):
        monkeypatch.setattr(module, "_LARGEST", 3)
    (tmp_path / "large").write_bytes(b"{  }")
    with pytest.raises(UsageError, match="too large"):
        read(tmp_path / "large")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            f"max_retraces = 0x{'f' * 9999}",
            "a number with thousands of digits is not a valid value",
        ),
        (f"after = [0x{'f' * 9999}]", "no place to count from a number with thousands of digits"),
        (f"{'.'.join('a' * 9999)} = 1", "nested too deeply"),
        (" . ".join(['"a.b"'] * 9999) + " = 1", "nested too deeply"),
        (".".join(['"a \\" b"', "'a b'", '""'] * 999) + " = 1", "nested too deeply"),
        (f"[{'.'.join('a' * 9999)}]", "nested too deeply"),
    ],
    ids=["number", "number in a list", "key", "quoted key", "other keys", "table"],
)
def test_a_policy_out_of_all_bounds_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        read_policy(policy_file(tmp_path, text))


def test_a_list_of_many_names_with_dots_is_not_deep(tmp_path: Path) -> None:
    names = ", ".join(f'"pack.age{each}.py:1"' for each in range(500))
    policy = read_policy(policy_file(tmp_path, f"allow_eager_at = [{names}]"))
    assert len(policy.value("allow_eager_at", None)) == 500


def test_a_folder_that_may_not_be_searched_is_no_default_policy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Path) -> os.stat_result:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(self))

    monkeypatch.setattr(Path, "stat", refuse)
    with pytest.raises(InputError, match="Permission denied") as error:
        find_policy(tmp_path)
    assert error.value.hint == "Pass a policy with --policy."


@pytest.mark.thorough
@given(st.text())
def test_any_text_is_a_policy_or_a_usage_error(text: str) -> None:
    try:
        read_policy(in_memory(text.encode("utf-8", "surrogatepass")))
    except UsageError as error:
        assert error.hint  # noqa: PT017  no error is right, too


def test_the_first_section_that_matches_and_names_a_key_says_it(tmp_path: Path) -> None:
    text = """
        unexpected_eager = 1
        max_retraces = 9
        [functions."train_*"]
        max_retraces = 0
        [functions."*_function"]
        max_retraces = 5
        unexpected_eager = 2
    """
    policy = read_policy(policy_file(tmp_path, text))
    assert policy.value("max_retraces", "train_function") == 0
    assert policy.value("unexpected_eager", "train_function") == 2
    assert policy.value("max_retraces", "test_function") == 5
    assert policy.value("max_retraces", "step") == 9
    assert policy.value("max_retraces", None) == 9
    assert policy.value("max_retraces", "Train_function") == 5, "upper and lower case differ"


def test_a_file_of_its_own_may_hold_the_table_or_just_its_keys(tmp_path: Path) -> None:
    bare = read_policy(policy_file(tmp_path, "max_retraces = 4"))
    table = read_policy(policy_file(tmp_path, "[tool.tflogscope.check]\nmax_retraces = 4"))
    assert bare.sections == table.sections


def test_the_nearest_pyproject_with_the_table_is_taken(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    assert find_policy(inner).name == "default policy"
    policy_file(tmp_path, "[tool.tflogscope.check]\nmax_retraces = 4", "pyproject.toml")
    policy_file(tmp_path / "a", "[tool.other]\nname = 'tflogscope'", "pyproject.toml")
    policy_file(inner, "[project]\nname = 'x'", "pyproject.toml")
    found = find_policy(inner)
    assert found.value("max_retraces", None) == 4
    assert found.name == str(Path("..", "..", "pyproject.toml"))
    policy_file(inner, "[tool.tflogscope.check]\nmax_retraces = 5", "pyproject.toml")
    assert find_policy(inner).value("max_retraces", None) == 5


def test_a_tflogscope_toml_needs_no_table(tmp_path: Path) -> None:
    inner = tmp_path / "a"
    inner.mkdir()
    policy_file(tmp_path, "max_retraces = 4", "tflogscope.toml")
    found = find_policy(inner)
    assert (found.name, found.value("max_retraces", None)) == (
        str(Path("..", "tflogscope.toml")),
        4,
    )
    policy_file(inner, "[tool.tflogscope.check]\nmax_retraces = 5", "pyproject.toml")
    assert find_policy(inner).value("max_retraces", None) == 5
    policy_file(inner, "max_retraces = 6", "tflogscope.toml")
    assert find_policy(inner).value("max_retraces", None) == 6


def test_a_pyproject_of_others_is_none_of_our_business(tmp_path: Path) -> None:
    policy_file(tmp_path, "this is = no [TOML", "pyproject.toml")
    assert find_policy(tmp_path).name == "default policy"
    policy_file(tmp_path, "[tool.tflogscope.check]\nmax_retrace = 4", "pyproject.toml")
    with pytest.raises(UsageError, match="max_retrace"):
        find_policy(tmp_path)


# ---- what the docs say of it ---------------------------------------------------------------------

COMMANDS = (DOCS / "commands.md").read_text()


@pytest.mark.parametrize("key", KEYS)
def test_each_key_is_described_with_its_default(key: str) -> None:
    row = re.search(rf"^\| `{key}` \| (.*) \| (.*) \|$", COMMANDS, re.MULTILINE)
    assert row, key
    default = DEFAULTS[key]
    if default in (None, ()):
        assert row[1] == "not checked" if default is None else row[1] == "none"
    else:
        for each in default if isinstance(default, tuple) else [default]:
            assert f"`{each}`" in row[1]


def test_no_other_key_is_described() -> None:
    section = COMMANDS.split("\n## check\n")[1].split("\n## ")[0]
    table = re.search(r"^\| key \|.*?\n\n", section, re.MULTILINE | re.DOTALL)
    assert table
    assert re.findall(r"^\| `(\w+)` \|", table[0], re.MULTILINE) == list(KEYS)


@pytest.mark.parametrize(("left", "right"), [("[", "]"), ("{a=", "}")])
def test_a_policy_that_is_nested_too_deeply_is_refused(left: str, right: str) -> None:
    text = f"after = {left * 3000}1{right * 3000}"
    with pytest.raises(UsageError, match="nested too deeply"):
        read_policy(in_memory(text.encode()))
