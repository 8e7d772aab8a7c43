"""``nel doctor``: what is absent is no fault, what was asked for must work, no key is shown."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_nel.cli.main import main
from tests.support.endpoint import RunningEndpoint, running_endpoint

SECRET = "sk-do-not-print-me"  # noqa: S105  looked for in what is printed


@pytest.fixture(scope="module")
def endpoint() -> Iterator[RunningEndpoint]:
    with running_endpoint() as made:
        yield made


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    for name in ("NEMO_MODEL_URL", "NEMO_API_KEY", "NVIDIA_API_KEY", "DOCKER_HOST"):
        monkeypatch.delenv(name, raising=False)


def doctor(*words: object) -> int:
    return main(["doctor", *map(str, words)])


def test_what_is_absent_is_no_fault(capsys: pytest.CaptureFixture[str]) -> None:
    status = doctor()

    said = capsys.readouterr().out
    assert status == 0
    for name in ("python", "pytest-nel", "pydantic", "docker", "sbatch", "ssh", "results"):
        assert f"  {name} " in said
    assert "not asked: name one by --model-url" in said


def test_a_model_that_answers_is_ok_and_its_key_is_not_shown(
    endpoint: RunningEndpoint, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", SECRET)

    status = doctor("--model-url", endpoint.url, "--api-key-env", "MY_KEY", "--json")

    said = capsys.readouterr().out
    found = {one["name"]: one for one in json.loads(said) if one["section"] == "model"}
    assert status == 0
    assert SECRET not in said
    assert (found["key"]["detail"], found["list"]["detail"]) == ("MY_KEY", "1: m")
    assert found["completion"]["detail"].startswith("m: one token in ")


@pytest.mark.parametrize("echo", [True, False])
def test_a_model_that_does_not_answer_is_status_1(
    echo: bool,  # noqa: FBT001 - a parameter of the test
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NEMO_API_KEY", SECRET)
    with running_endpoint(status=401, message=f"bad key {SECRET}") as refusing:
        url = refusing.url if echo else "http://127.0.0.1:9/v1"

        status = doctor("--model-url", url, "--model-id", "m")

    said = capsys.readouterr().out
    assert status == 1
    assert SECRET not in said
    assert ("refused with 401: " if echo else "no answer (ConnectError") in said


@pytest.mark.skipif(os.geteuid() != 0, reason="a file in the way works for everybody")
def test_a_folder_that_was_asked_for_must_be_writable(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")

    codes = [doctor("-o", tmp_path / "file" / "x"), doctor("-o", tmp_path / "new", "--cache", ".")]

    assert codes == [1, 0]
    assert "is no folder" in capsys.readouterr().out


def test_a_proxy_is_shown_without_its_password(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", f"http://me:{SECRET}@proxy:3128")

    doctor()

    said = capsys.readouterr().out
    assert "proxy:3128" in said
    assert SECRET not in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--model-id", "m"), "add --model-url"),
        (("--model-url", "localhost:8000"), "expected http(s)://"),
        (("--model-url", "http://h/v1", "--api-key-env", "NO_KEY"), "NO_KEY is not set"),
        (("--model-url", "http://h/v1", "--api-key-env", SECRET), "wants the name of"),
    ],
)
def test_a_mistake_is_status_4(
    words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status = doctor(*words)

    out, err = capsys.readouterr()
    assert (status, out) == (4, "")
    assert said in err
    assert SECRET not in err
