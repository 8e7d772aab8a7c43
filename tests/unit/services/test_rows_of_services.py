"""Every kind of service says what the rest must know of it."""

from typing import Any

import pytest

from pytest_nel.services import REGISTRY


@pytest.mark.parametrize("name", REGISTRY.rows)
def test_what_determines_answers_are_options(name: str) -> None:
    service: Any = REGISTRY.load(name)

    assert set(service.answers_by) <= set(service.Config.model_fields)
    assert {"protocol", "model", "generation"} <= set(service.answers_by)


def test_only_what_runs_elsewhere_is_not_deployed() -> None:
    deployed = {name for name in REGISTRY.rows if REGISTRY.load(name).deploys}

    assert set(REGISTRY.rows) - deployed == {"api"}
