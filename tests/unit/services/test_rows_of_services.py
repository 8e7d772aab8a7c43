"""Every kind of service says what the rest must know of it."""

import math
from typing import Any

import pytest
from pydantic import ValidationError

from pytest_nel.config.schema import Prices
from pytest_nel.services import REGISTRY


@pytest.mark.parametrize("name", REGISTRY.rows)
def test_what_determines_answers_are_options(name: str) -> None:
    service: Any = REGISTRY.load(name)

    assert set(service.answers_by) <= set(service.Config.model_fields)
    assert {"protocol", "model", "generation"} <= set(service.answers_by)


def test_only_what_runs_elsewhere_is_not_deployed() -> None:
    deployed = {name for name in REGISTRY.rows if REGISTRY.load(name).deploys}

    assert set(REGISTRY.rows) - deployed == {"api"}


@pytest.mark.parametrize("name", REGISTRY.rows)
def test_every_service_may_have_prices_and_answers_alike_with_others(name: str) -> None:
    service: Any = REGISTRY.load(name)

    assert service.Config.model_fields["prices"].default is None
    assert "prices" not in service.answers_by


@pytest.mark.parametrize(
    ("prices", "place"),
    [
        ({"prompt": -1, "completion": 1}, ("prompt",)),
        ({"prompt": 1}, ("completion",)),
        ({"prompt": 1, "completion": math.inf}, ("completion",)),
        ({"prompt": 1, "completion": 1, "currency": "dollars"}, ("currency",)),
        ({"prompt": 1, "completion": 1, "cached": 1}, ("cached",)),
    ],
)
def test_prices_that_mean_nothing_are_refused(prices: dict[str, Any], place: tuple[str]) -> None:
    with pytest.raises(ValidationError) as caught:
        Prices(**prices)

    assert [error["loc"] for error in caught.value.errors()] == [place]
