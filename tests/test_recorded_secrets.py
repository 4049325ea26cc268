"""The first line of a recorded log has no secrets in it."""

from __future__ import annotations

import json

import pytest

from tflogscope.recording.header import MARK, header_line

SECRET = "zqsecret"


@pytest.mark.parametrize(
    "name",
    [
        *("TF_PRIVATE_KEY", "TF_SIGNING_KEY", "TF_PASSPHRASE", "TF_DB_PWD", "TF_AUTH", "TF_CREDS"),
        *("TF_BEARER", "TF_SESSION_COOKIE", "TF_db_password", "TF_API_TOKEN", "TF_VAR_x", "TF_X"),
        *("ONEDNN_TOKEN", "OMP_api_key", "KERAS_API_KEY", "XLA_SECRET", "HOME", "ITEX_PASSWD"),
    ],
)
def test_only_variables_that_are_known_are_written(name: str) -> None:
    assert SECRET.encode() not in header_line([], {}, {name: SECRET})


@pytest.mark.parametrize(
    "command",
    [
        ["train", "--password", SECRET],
        ["train", "--token=zqsecret"],
        ["train", "--API-KEY", SECRET, "x"],
        ["train", "-password", SECRET],
        ["train", "db.password=zqsecret"],
        ["env", "AWS_SECRET_ACCESS_KEY=zqsecret", "python"],
        ["train", f"postgres://u:{SECRET}@h/d"],
        ["train", f"--url=https://{SECRET}@h/d"],
        ["train", "--auth", f"Bearer {SECRET}"],
    ],
)
def test_a_command_has_marks_for_secrets(command: list[str]) -> None:
    line = header_line(command, {}, {})
    assert SECRET.encode() not in line
    assert b"***" in line


def test_what_is_no_secret_is_written() -> None:
    command = ["python", "-c", "x = 'monkey=1'", "--passes", "3", "--key_dim=64", "--keys", "a"]
    settings = {
        "TF_ENABLE_ONEDNN_OPTS": "0",
        "TF_XLA_FLAGS": "--tf_xla_auto_jit=2",
        "OMP_NUM_THREADS": "2",
        "RANK": "3",
        "TF_CONFIG": '{"cluster": {}}',
    }
    facts = json.loads(header_line(command, {}, settings).removeprefix(MARK.encode()))
    assert facts["environment"] == settings
    assert facts["command"] == command
