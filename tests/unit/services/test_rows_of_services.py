"""Every kind of service says what the rest must know of it."""

import math
from typing import Any

import pytest
from pydantic import ValidationError

from pytest_nel.config.schema import Prices
from pytest_nel.core.errors import UnknownName
from pytest_nel.services import REGISTRY

NO_MODELS = {"gym", "nat"}
MODELS = sorted(set(REGISTRY.rows) - NO_MODELS)


@pytest.mark.parametrize("name", REGISTRY.rows)
def test_what_determines_answers_are_options(name: str) -> None:
    service: Any = REGISTRY.load(name)

    assert set(service.answers_by) <= set(service.Config.model_fields)
    assert name in NO_MODELS or {"protocol", "model", "generation"} <= set(service.answers_by)


def test_only_what_runs_elsewhere_is_not_deployed() -> None:
    deployed = {name for name in REGISTRY.rows if REGISTRY.load(name).deploys}

    assert set(REGISTRY.rows) - deployed == {"api"}


@pytest.mark.parametrize("name", MODELS)
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


@pytest.mark.parametrize(("kind", "way_out"), [("dynamo", "type api"), ("custom", "entry point")])
def test_types_of_other_tools_are_refused_with_a_way_out(kind: str, way_out: str) -> None:
    with pytest.raises(UnknownName, match=f"type '{kind}' .*{way_out}"):
        REGISTRY.load(kind)


def test_no_type_is_both_there_and_refused() -> None:
    assert not any(REGISTRY.refusal(name) for name in REGISTRY.rows)


CLUSTER: list[tuple[dict[str, Any], str]] = [
    ({"num_nodes": 2}, "num_nodes: a server over several machines needs a cluster"),
    ({"node_pool": "compute"}, "node_pool: needs a cluster"),
    ({"ray_binary": "/opt/ray"}, "ray_binary: Ray joins several machines"),
    ({"haproxy": True}, "haproxy: requests are spread"),
]


@pytest.mark.parametrize(("option", "reason"), CLUSTER, ids=[next(iter(o)) for o, _ in CLUSTER])
@pytest.mark.parametrize("name", sorted(set(REGISTRY.rows) - {"api"}))
def test_what_needs_a_cluster_is_refused_by_name(
    name: str, option: dict[str, Any], reason: str
) -> None:
    service: Any = REGISTRY.load(name)

    with pytest.raises(ValidationError, match=reason):
        service.Config(**option)


def test_one_node_is_what_there_is() -> None:
    service: Any = REGISTRY.load("vllm")

    config = service.Config(
        model="m", protocol="completions", num_nodes=1, node_pool=None, ray_binary="ray"
    )

    assert config.model == "m"
