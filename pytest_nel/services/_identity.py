"""Which environment variables tell one server from another."""

from collections.abc import Mapping
from typing import Any

from pytest_nel.config.env_map import EnvValue, parse
from pytest_nel.config.interpolate import getenv, names_secret

#: Where a run is, not what it asks.
OF_A_PLACE = frozenset({"CUDA_VISIBLE_DEVICES", "HOSTNAME", "TMPDIR"})
#: Where an engine keeps its files and how its processes meet.
_OF_AN_ENGINE = OF_A_PLACE | {
    *("HF_HOME", "HF_HUB_CACHE", "TRANSFORMERS_CACHE", "XDG_CACHE_HOME", "VLLM_CACHE_ROOT"),
    *("VLLM_HOST_IP", "VLLM_PORT", "MASTER_ADDR", "MASTER_PORT"),
}
_NETWORKING = ("NCCL_", "GLOO_", "UCX_")


def hides(variable: str, hidden: set[str]) -> bool:
    """Whether an environment variable does not count; there, any token is a secret."""
    return variable in hidden or names_secret(variable)


def environment(written: object) -> Mapping[str, object]:
    """What of ``extra_env`` determines answers: no places, no secrets."""
    if not isinstance(written, Mapping):
        return {}
    try:
        values = parse({str(name): str(value) for name, value in written.items()})
    except ValueError:  # it is refused where the service is made
        return {}
    return {name: _value(value) for name, value in values.items() if _counts(name, value)}


def _counts(name: str, value: EnvValue) -> bool:
    names = [name] if value.origin == "lit" else [name, value.text]
    hidden = set(_OF_AN_ENGINE)
    return not any(hides(each, hidden) or each.startswith(_NETWORKING) for each in names)


def _value(value: EnvValue) -> str | None:
    return value.text if value.origin == "lit" else getenv(value.text)


def given(options: Mapping[str, Any]) -> Mapping[str, object]:
    """Options of all services that determine answers where they are given."""
    names = ("reasoning_pattern", "setup_commands")
    return {name: options[name] for name in names if options.get(name)}


def engine(options: Mapping[str, Any]) -> Mapping[str, object]:
    """What determines the answers of an engine and stands in no option as it is.

    The model's name in a request may be any, so that the weights count apart from it.
    """
    return {
        "weights_of": options.get("model"),
        "extra_env": environment(options.get("extra_env")),
        **given(options),
    }
