"""Folders that dead runs have left, and who removes them."""

import tempfile
from pathlib import Path

import pytest

from pytest_nel.http.secret import Secrets
from pytest_nel.sandboxes._owner import owner
from pytest_nel.sandboxes.local import LocalBackend


@pytest.mark.asyncio
@pytest.mark.parametrize("sweeps", [True, False])
async def test_a_folder_of_a_dead_run_is_removed_by_who_is_to_sweep(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, sweeps: bool
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    here = "".join(letter for letter in str(owner().get("pids", "")) if letter.isdigit())
    left = tmp_path / f"nel-local-0.1.0.{here}"  # process 1, but one that began at another time
    left.mkdir()
    config = LocalBackend.Config()
    backend = LocalBackend(config, run_id="r", secrets=Secrets(()), sweeps=sweeps)

    await backend.open()
    await backend.close()

    assert left.exists() is not sweeps
