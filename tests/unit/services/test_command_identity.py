"""What a command serves: the same server is known again, another is not taken for it."""

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_nel.config.schema import PluginSpec
from pytest_nel.engine.fingerprint import answering, fingerprint_of
from pytest_nel.services.command import CommandService

SOLVER = {"type": "simple", "service": "mine"}
PLANTED = "planted-70c1e9a4b2"  # nobody's


def facts(**options: Any) -> dict[str, Any]:
    given = {"command": "serve --port {port}", "protocol": "chat_completions", **options}
    CommandService.Config.model_validate(given)
    return answering(None, SOLVER, PluginSpec(type="command", **given))


@pytest.mark.parametrize(
    "options",
    [
        {"env": {"WEIGHTS": "${CKPT}"}},
        {"env": {"WEIGHTS": "/models/${CKPT:-none}"}},
        {"command": "serve $CKPT {port}"},
        {"command": "serve $${CKPT} {port}".replace("$$", "$")},
        {"command": "serve ${CKPT:-none} {port}"},
        {"command": ["sh", "-c", "exec serve $CKPT {port}"]},
    ],
)
def test_the_value_of_a_variable_counts(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    seen = []
    for value in ("one", "two", "one"):
        monkeypatch.setenv("CKPT", value)
        seen.append(facts(**options))

    assert seen[0] == seen[2] != seen[1]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"command": "serve a {port}"}, {"command": "serve b {port}"}),
        ({"env": {"A": "1"}}, {"env": {"A": "2"}}),
        ({"path": "/a"}, {"path": "/b"}),
        ({"cwd": "/a"}, {"cwd": "/b"}),
        (
            {"command": "serve --port 8000", "port": 8000},
            {"command": "serve --port 8001", "port": 8001},
        ),
    ],
    ids=["command", "env", "path", "cwd", "a port that the command says"],
)
def test_another_server_is_another(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert facts(**one) == facts(**one) != facts(**other)


def test_the_folder_that_pytest_is_started_in_counts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = facts()
    there = facts(cwd=str(tmp_path))
    monkeypatch.chdir(tmp_path)

    assert before != facts() == there == facts(cwd=".")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"port": 8000}, {"port": 8001}),
        ({"timeout": 1, "max_retries": 1}, {"timeout": 2, "max_retries": 2}),
        ({"api_key": "${ONE}"}, {"api_key": "${TWO}"}),
        ({"env": {"API_KEY": "${ONE}"}}, {"env": {"API_KEY": "${TWO}"}}),
    ],
    ids=["a port behind its placeholder", "limits", "key", "key in a variable"],
)
def test_the_same_server_elsewhere_is_the_same(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert facts(**one) == facts(**other)


@pytest.mark.parametrize(
    "options",
    [
        {"env": {"HF_TOKEN": "${HF_TOKEN}"}},
        {"env": {"LOGIN": "Bearer ${HF_TOKEN}"}},
        {"env": {"LOGIN": "${MY_KEY}"}, "api_key": "${MY_KEY}"},
        {"env": {"CUDA_VISIBLE_DEVICES": "${CUDA_VISIBLE_DEVICES}"}},
        {"command": "serve --token $HF_TOKEN {port}"},
        {"command": "serve --key $MY_KEY {port}", "api_key": "${MY_KEY}"},
        {"command": "serve >$TMPDIR/log {port}"},
    ],
)
def test_secrets_and_places_may_change(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    seen = []
    for value in ("one", "two"):
        for name in ("HF_TOKEN", "MY_KEY", "CUDA_VISIBLE_DEVICES", "TMPDIR"):
            monkeypatch.setenv(name, value)
        seen.append(facts(**options))

    assert seen[0] == seen[1]


def test_values_of_variables_reach_the_disk_as_digests_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CKPT", PLANTED)

    found = facts(env={"WEIGHTS": "${CKPT}"}, command="serve $CKPT {port}")

    written = fingerprint_of(found)
    assert PLANTED in json.dumps(found)
    assert PLANTED not in json.dumps(written)
    assert written["answering"]["service.env"].startswith("sha256:")


def test_a_variable_that_is_not_set_is_no_error_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CKPT", raising=False)

    assert facts(env={"WEIGHTS": "${CKPT}"})["service.env"] == {"WEIGHTS": "${CKPT}"}
