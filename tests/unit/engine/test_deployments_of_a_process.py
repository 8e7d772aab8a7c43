"""Services that are described first and started late."""

from pathlib import Path
from typing import ClassVar

import pytest

from pytest_nel.config.schema import PluginSpec
from pytest_nel.core.errors import InfraError
from pytest_nel.core.types import Endpoint
from pytest_nel.engine.deployments import Deployments
from pytest_nel.http.secret import Secrets


class Served:
    """Serves a file that may change between being described and being started."""

    deploys: ClassVar[bool] = True
    answers_by: ClassVar[tuple[str, ...]] = ()

    def __init__(self, weights: Path) -> None:
        self._weights = weights
        self.ended = 0

    def described(self) -> Endpoint:
        """What the file holds now."""
        text = self._weights.read_text(encoding="utf-8")
        return Endpoint("s", "http://127.0.0.1:0", "completions", "m", weights=text)

    def start(self) -> Endpoint:
        """The same at another place."""
        return self.described()

    def stop(self) -> None:
        """Count."""
        self.ended += 1


def deployments(service: Served, folder: Path) -> Deployments:
    """The one service, started late."""
    made = Deployments(
        {"s": PluginSpec(type="command")},
        folder,
        make=lambda _name: service,
        completed=lambda _name, endpoint: endpoint,
        secrets=lambda: Secrets(()),
    )
    made.late = True
    return made


def test_weights_that_change_between_description_and_start_are_refused(tmp_path: Path) -> None:
    weights = tmp_path / "weights"
    weights.write_text("old", encoding="utf-8")
    service = Served(weights)
    made = deployments(service, tmp_path)
    known = made.described("s")

    weights.write_text("new", encoding="utf-8")

    with pytest.raises(InfraError, match="what it serves has changed since this run began"):
        made.endpoint("s")
    assert known.weights == "old"
    assert made.endpoints == {}
    made.stop()
    assert service.ended == 1
