"""Workspaces of real containers: honest ones arrive, however odd; spoiled ones are wrong."""

from pathlib import Path
from typing import Any

import pytest

from pytest_nel.config.schema import PluginSpec
from pytest_nel.engine.honest_work import HONEST_WORK
from pytest_nel.engine.sandboxes import Room
from pytest_nel.environments._harbor_commands import Capture, apply_command
from pytest_nel.http.secret import Secrets
from pytest_nel.records.record import StepRecord
from pytest_nel.sandboxes import REGISTRY as SANDBOXES
from tests.contract.boxes import IMAGE, RUN, no_image
from tests.contract.left_behind import NO_TAR, ODD, WORKDIR, Looks, Works
from tests.unit.engine.sandboxed import attempted, prepared

pytestmark = [
    pytest.mark.skipif(no_image() is not None, reason=str(no_image())),
    pytest.mark.asyncio,
]


async def made(folder: Path, script: str, environment: Looks) -> StepRecord:
    kind: Any = SANDBOXES.load("docker")
    config = kind.Config(image=IMAGE)
    backend = kind(config, run_id=RUN, secrets=Secrets([]))
    await backend.open()
    await backend.prepare(await environment.sandbox_specs())
    try:
        room = Room(PluginSpec(type="docker"), backend, config, 1)
        return await attempted(prepared(folder, Works(script), environment, room))
    finally:
        await backend.close()


@pytest.mark.parametrize("how", ["tree", "patch"])
async def test_an_honest_workspace_arrives_however_odd_its_files_are(
    tmp_path: Path, how: Capture
) -> None:
    record = await made(tmp_path, ODD, Looks(tmp_path / "image", how))

    assert (record.scored.error, record.scored.outcome) == (None, "correct")


@pytest.mark.parametrize("how", ["tree", "patch"])
async def test_what_honest_work_may_leave_is_packed_and_unpacked(
    tmp_path: Path, how: Capture
) -> None:
    record = await made(tmp_path, HONEST_WORK, Looks(tmp_path / "image", how))

    assert (record.scored.error, record.scored.extracted) == (None, "")


async def test_an_agent_that_spoils_what_packs_its_workspace_is_wrong(tmp_path: Path) -> None:
    record = await made(tmp_path, NO_TAR, Looks(tmp_path / "image", "tree"))

    assert (record.scored.outcome, record.scored.failure) == ("wrong", "model_error")
    assert "cannot be unpacked, and another one can: apply_cmd" in str(record.scored.error)


async def test_a_broken_apply_cmd_is_no_agents_fault_in_containers_either(tmp_path: Path) -> None:
    broken = f"{apply_command(WORKDIR)}\ncat /no/such/file"

    record = await made(tmp_path, ODD, Looks(tmp_path / "image", "tree", apply_cmd=broken))

    assert (record.scored.outcome, record.scored.failure) == ("unscored", "infra_error")
