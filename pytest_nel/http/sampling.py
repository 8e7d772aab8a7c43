"""Sampling parameters under the names that each protocol gives them."""

from collections.abc import Mapping
from typing import Any

from pytest_nel.core.types import Protocol
from pytest_nel.http import responses


def as_sent(sampling: Mapping[str, Any], protocol: Protocol) -> Mapping[str, Any]:
    """Sampling parameters as a request says them.

    Raises:
        ConfigError: The protocol has no such parameter.
    """
    if protocol == "responses":
        return responses.sampling_as_sent(sampling)
    if protocol == "completions" and sampling.get("logprobs") is False:
        return {name: v for name, v in sampling.items() if name not in ("logprobs", "top_logprobs")}
    if protocol == "completions" and "top_logprobs" in sampling:
        most = {"logprobs": sampling["top_logprobs"]}  # here it is a number, not a switch
        return {name: v for name, v in sampling.items() if name != "top_logprobs"} | most
    if protocol == "completions" and sampling.get("logprobs") is True:
        return {**sampling, "logprobs": 1}
    return sampling
