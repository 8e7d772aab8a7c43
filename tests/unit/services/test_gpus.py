"""GPUs are given to services by name, by number, or shared."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_nel.config.schema import PluginSpec
from pytest_nel.core.errors import ConfigError
from pytest_nel.services.gpus import assign, shared, visible


def spec(wanted: Any) -> PluginSpec:
    shares = isinstance(wanted, tuple)
    options = {"gpus": wanted[0] if shares else wanted, "share_gpus": shares}
    return PluginSpec.model_validate({"type": "vllm", **options})


def specs(**gpus: Any) -> dict[str, PluginSpec]:
    """Services with these; in a tuple, those that share."""
    return {name: spec(wanted) for name, wanted in gpus.items()}


def test_numbers_get_what_no_other_names() -> None:
    found = assign(specs(a=2, b=[0, 3], c=1), lambda: ["0", "1", "2", "3", "4"])

    assert found == {"a": [1, 2], "c": [4]}


def test_nobody_is_asked_where_nobody_wants_a_number() -> None:
    assert assign(specs(a=[0], b=None, c=0), lambda: pytest.fail("asked")) == {}


def test_where_it_is_not_known_they_are_counted_from_0() -> None:
    assert assign(specs(a=2, b=[1], c=1), lambda: None) == {"a": [0, 2], "c": [3]}


def test_names_of_devices_stay_names() -> None:
    assert assign(specs(a=1), lambda: ["MIG-8f/1", "GPU-2"]) == {"a": ["MIG-8f/1"]}


def test_too_few_is_said_with_what_there_is() -> None:
    with pytest.raises(ConfigError) as caught:
        assign(specs(a=2, b=2), lambda: ["4", "5", "6"])

    assert str(caught.value) == (
        "services.b.gpus: 2 are asked for, and of the 3 there are (4,5,6) the other services "
        "leave 1: ask for fewer, or say share_gpus: true"
    )


def test_one_that_shares_takes_nothing_from_others() -> None:
    found = assign(specs(a=2, b=(2,)), lambda: ["0", "1"])

    assert found == {"a": [0, 1], "b": [0, 1]}


def test_a_gpu_of_two_is_a_warning_unless_it_is_meant() -> None:
    lines = shared(specs(a=[0, 1], b=[1], c=[2], d=([2],)))

    assert len(lines) == 1
    assert lines[0].startswith("GPU 1 is named by services a, b:")


@given(st.lists(st.integers(min_value=1, max_value=4), min_size=1, max_size=5))
def test_no_two_services_get_one_gpu(counts: list[int]) -> None:
    services = specs(**{f"s{index}": count for index, count in enumerate(counts)})

    found = assign(services, lambda: [str(n) for n in range(20)])

    given_out = [gpu for gpus in found.values() for gpu in gpus]
    assert [len(gpus) for gpus in found.values()] == counts
    assert len(set(given_out)) == len(given_out)


def test_the_variable_says_what_is_visible(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3, 5")
    some = visible()
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    none = visible()

    assert some == ["3", "5"]
    assert none == []
