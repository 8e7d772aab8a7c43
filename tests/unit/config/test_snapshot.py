"""The suite as written into the run directory."""

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_nel.config.load import parse_suite
from pytest_nel.config.snapshot import header_lines, masked_command, write_suite
from pytest_nel.core.errors import ConfigError

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text().map(lambda text: text.replace("${", "{"))
    | st.sampled_from(
        ["no", "on", "1e3", "010", "1:30", "0x1f", "2024-01-01", "~", "=", "<<", ".5"]
    )
)
KEYS = st.text(max_size=8).filter(lambda key: key not in {"api_key", "service", "protocol"})
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


def suite(params: Any) -> dict[str, Any]:
    return {
        "services": {"model": {"type": "api", "api_key": "${KEY}"}},
        "benchmarks": [{"name": "b", "solver": {"type": "simple"}, "params": params}],
    }


@given(params=st.dictionaries(KEYS, VALUES, max_size=4))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_what_is_written_reads_back_the_same(params: dict[str, Any], tmp_path: Path) -> None:
    raw = suite(params)
    path = tmp_path / "suite.nel.yaml"

    write_suite(raw, path, header=["a header"])

    assert parse_suite(path.read_text(encoding="utf-8"), "s", {}).raw == raw


def test_the_header_is_comments_whatever_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "suite.nel.yaml"

    write_suite(suite({}), path, header=["one", "two\nservices: {}", ""])

    text = path.read_text(encoding="utf-8")
    assert text.startswith("# one\n# two\n# services: {}\n#\nservices:\n")
    assert parse_suite(text, "s", {}).raw == suite({})


def test_the_key_itself_never_reaches_the_disk(tmp_path: Path) -> None:
    raw = suite({})
    raw["services"]["model"]["api_key"] = "sk-s3cret"

    with pytest.raises(ConfigError) as caught:
        write_suite(raw, tmp_path / "suite.nel.yaml")

    assert "s3cret" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_the_header_names_version_time_and_command() -> None:
    created = datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone(timedelta(hours=2)))

    lines = header_lines("0.1.0", created, ["pytest", "-p", "nel", "a b.yaml"])

    assert lines == [
        "pytest-nel 0.1.0",
        "created: 2026-01-02T01:04:05+00:00",
        "command: pytest -p nel 'a b.yaml'",
    ]
    assert created.astimezone(UTC).hour == 1


@pytest.mark.parametrize(
    "command",
    [
        ["--api-key=s3cret"],
        ["--api-key", "s3cret"],
        ["--nel-model-url", "http://u:s3cret@h/v1"],
        ["--nel-model-url=http://u:s3cret@h/v1"],
        ["--token=s3cret"],
    ],
)
def test_secrets_in_the_command_are_masked(command: list[str]) -> None:
    masked = masked_command(command)

    assert "s3cret" not in masked
    assert "***" in masked


def test_the_name_of_a_key_variable_is_no_secret() -> None:
    command = ["--nel-api-key-env", "MY_KEY", "--nel-max-tokens", "64"]

    assert masked_command(command) == "--nel-api-key-env MY_KEY --nel-max-tokens 64"


@pytest.mark.parametrize(
    "command",
    [
        ["--nel-override=services.m.env.HF_TOKEN=s3cret"],
        ["-O", "services.m.env.HF_TOKEN=s3cret"],
        ["--override", "services.m.api_key=[s3cret"],
        ["--nel-override=services.m.url=http://me:s3cret@h/v1"],
    ],
)
def test_a_secret_in_an_override_is_masked(command: list[str]) -> None:
    assert "s3cret" not in masked_command(command)


def test_any_other_override_is_shown_as_it_was() -> None:
    assert masked_command(["-O", "a.b=1e3"]) == "-O a.b=1e3"
