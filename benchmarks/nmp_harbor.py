"""Agentic use of the NeMo Platform: Harbor tasks that lie in its repository.

The tasks are those of ``tests/agentic-use`` in a checkout that ``NMP_REPO`` or ``params:
{nmp_repo: FOLDER}`` names (``dataset_subdir`` names another folder in it); licence and size are
the checkout's. Their containers are made of the image ``nmp-harbor:latest``, which is not built
here: build it first, as the repository says, or name another tag in the tasks.

The platform's API must run in the container while the agent works and while its tests judge, so
containers are judged where the agent worked (``stateful``) and what runs goes on. Sandboxes do
not run an image's ENTRYPOINT: ``params: {start_cmd: …}`` says what starts the API. Before the
agent begins, ``wait_api_cmd`` waits for it: by default for three answers in a row with status 200
of port 8080, ``/health/ready``, for 180 s at most. Where it fails, the attempt is made again in a
fresh container, and is at last unscored. With the agent's processes running on, rewards are only
as honest as the agent.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_nel import ConfigError, HarborEnvironment, SandboxSpec, SeedResult

_WAIT = """
good=0; until=$(( $(date +%s) + 180 ))
while [ "$(date +%s)" -lt "$until" ]; do
  if curl -fsS -o /dev/null --max-time 5 http://127.0.0.1:8080/health/ready; then
    good=$((good + 1)); [ "$good" -ge 3 ] && exit 0
  else
    good=0
  fi
  sleep 1
done
echo "the API was not ready within 180 s" >&2; exit 1
"""


class NmpHarbor(HarborEnvironment):
    """The tasks of a checkout."""

    name = "nmp_harbor"

    def __init__(self, **params: Any) -> None:  # Any: a suite's values, checked below
        repository = params.pop("nmp_repo", None) or self.variable("NMP_REPO")
        folder = params.pop("dataset_subdir", "tests/agentic-use")
        self.start_cmd = params.pop("start_cmd", None)
        self.wait_api_cmd = params.pop("wait_api_cmd", _WAIT)
        if not repository:
            msg = (
                f"{self.name}: its tasks lie in a checkout of the platform: set NMP_REPO, or add "
                "params: {nmp_repo: FOLDER}"
            )
            raise ConfigError(msg)
        if not isinstance(self.start_cmd, str) or not isinstance(self.wait_api_cmd, str):
            msg = (
                f"{self.name}: the API has to be started in the container: add params: "
                "{start_cmd: COMMAND} (and wait_api_cmd, where it is not on port 8080)"
            )
            raise ConfigError(msg)
        forced = {"stateful": True, "keep_processes": True}
        for key in forced:
            if params.get(key, True) is not True:
                said = json.dumps(params[key])
                msg = (
                    f"{self.name}: params.{key}: {said}: the API runs only in the container where "
                    "the agent worked, and has to go on: leave it out"
                )
                raise ConfigError(msg)
        super().__init__(str(Path(repository).expanduser() / folder), {**params, **forced})

    async def seed(self, idx: int) -> SeedResult:
        """The task, in a container in which the API runs."""
        made = await super().seed(idx)
        box = replace(made.sandbox_spec or SandboxSpec(), entrypoint=self.start_cmd)
        return replace(
            made, sandbox_spec=box, pre_agent_cmd=self.wait_api_cmd, pre_agent_required=True
        )
