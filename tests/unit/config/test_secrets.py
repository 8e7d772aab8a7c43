"""Where a suite may refer to a secret, and what of its services nobody may see."""

import pytest

from pytest_nel.config.overrides import masked_override, read_override
from pytest_nel.config.secrets import (
    not_places,
    passed_values,
    secret_values,
    shown_secrets,
    without_known,
)

MODEL = {"type": "api", "api_key": "${MINE}"}


@pytest.mark.parametrize(
    ("more", "place"),
    [
        ({"generation": {"extra_body": {"user": "${MINE}"}}}, "extra_body"),
        ({"url": "http://h/${A_API_KEY}/v1/chat/completions"}, "url"),
        ({"setup_commands": ["login ${HF_TOKEN}"]}, 0),
        ({"model": "${HF_TOKEN:-m}"}, "model"),
    ],
)
def test_a_secret_is_refused_where_its_value_would_be_written(
    more: dict[str, object], place: str | int
) -> None:
    raw = {"services": {"m": {**MODEL, **more}}}

    (problem,) = shown_secrets(raw)

    assert place in problem.path
    assert "is a secret" in problem.message


def test_a_secret_may_stand_where_it_is_read_at_the_start_or_never() -> None:
    headers = {"extra_headers": {"X-A": "${HF_TOKEN}"}}
    service = {**MODEL, "env": {"T": "${HF_TOKEN}"}, "proxy": headers, "pre_cmd": "a $${HF_TOKEN}"}
    raw = {"services": {"m": service}, "benchmarks": [{"params": {"t": "${HF_TOKEN}"}}]}

    assert list(shown_secrets(raw)) == []


def test_values_of_keys_headers_and_variables_are_secret_but_folders_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("MINE", "IN_HEADER", "IN_ENV", "OF_HOST", "HF_TOKEN"):
        monkeypatch.setenv(name, f"value-of-{name}")
    monkeypatch.setenv("FOLDER", "/data/weights")
    options = {
        "api_key": "${MINE}",
        "env": {"A": "x ${IN_ENV}"},
        "extra_env": {"B": "host:OF_HOST", "C": "host:FOLDER", "D": "lit:plain text"},
        "proxy": {"interceptors": [{"config": {"headers_to_add": {"X": "${IN_HEADER}"}}}]},
    }

    found = secret_values([options])

    assert {f"value-of-{each}" for each in ("MINE", "IN_HEADER", "IN_ENV", "OF_HOST")} <= found
    assert "value-of-HF_TOKEN" in found
    assert not {"/data/weights", "plain text"} & found


def test_what_an_option_refers_to_that_is_named_as_a_secret_is_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("MINE", "OTHER", "PLAIN"):
        monkeypatch.setenv(name, f"value-of-{name}")
    params = {"api_key": "${MINE}", "auth": {"token": "x ${OTHER}"}, "level": "${PLAIN}"}

    found = secret_values([{"secret": "literal", "token": None}, params])

    assert {"value-of-MINE", "value-of-OTHER"} <= found
    assert not {"value-of-PLAIN", "literal"} & found


def test_of_what_is_passed_on_only_what_says_so_may_not_be_judged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("ZONE", "PLAIN", "MINE", "A_TOKEN", "IN_HEADER", "WORD"):
        monkeypatch.setenv(name, f"value-of-{name}")
    monkeypatch.setenv("DSN", "postgres://me:pw@db/x")
    monkeypatch.setenv("MAIL", "me@host")
    given = {"TZ": "host:ZONE", "DB_PASSWORD": "host:PLAIN", "T": "runtime:A_TOKEN"}
    more = {"DB": "host:DSN", "M": "host:MAIL", "N": "lit:text"}
    headers = {"Authorization": "Bearer ${IN_HEADER}", "X-Word": "${WORD}"}
    options = {"container_env": given | more, "api_key": "${MINE}", "extra_headers": headers}

    found = passed_values([options])

    said = ("PLAIN", "A_TOKEN", "MINE", "IN_HEADER")
    assert found == {*(f"value-of-{name}" for name in said), "postgres://me:pw@db/x"}
    assert {"value-of-ZONE", "value-of-WORD", "me@host"} <= secret_values([options])


def test_an_address_with_a_password_is_a_secret_and_one_without_is_none() -> None:
    plain, told = "https://host/v1", "https://me:pw@host/v1"

    assert not_places(["", plain, told, "/srv/x"]) == {told}


def test_a_secret_inside_the_value_of_an_override_is_masked() -> None:
    text = "services={m: {api_key: sk-1, model: a}, n: {api_key: '${KEY}'}}"

    shown = masked_override(read_override(text))

    assert "sk-1" not in shown
    assert '"***"' in shown
    assert "${KEY}" in shown
    assert '"a"' in shown


def test_the_value_of_a_variable_that_is_named_as_a_secret_is_in_no_stored_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in {
        "A_TOKEN": "t0p-s3cret-9",
        "B_TOKEN": "short",
        "DIR": "/a-long-folder",
    }.items():
        monkeypatch.setenv(name, value)

    words = ["--override=_x=t0p-s3cret-9", "--system-prompt=be short", "/a-long-folder"]

    assert [without_known(word, "***") for word in words] == ["--override=_x=***", *words[1:]]
