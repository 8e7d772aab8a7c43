"""Secrets in files of others."""

from pathlib import Path

from pytest_nel.http.secret import Secrets


def test_a_secret_in_a_log_is_overwritten_and_nothing_else_is(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(b"KEY=sk-12345678 \xff again sk-12345678\nsk-1")

    Secrets(["sk-12345678", "short"]).out_of_file(log)

    assert log.read_bytes() == b"KEY=*********** \xff again ***********\nsk-1"


def test_an_empty_log_stays_empty(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.touch()

    Secrets(["sk-12345678"]).out_of_file(log)

    assert log.read_bytes() == b""
