"""What may happen to a request between a solver and its endpoint, one file each."""

from pytest_nel.core.exchange import Interceptor
from pytest_nel.core.registry import Registry

_ROWS = {
    "caching": "Caching",
    "consolidate_system": "ConsolidateSystem",
    "drop_params": "DropParams",
    "finish_reason": "FinishReason",
    "http_pairs_dump": "HttpPairsDump",
    "log_tokens": "LogTokens",
    "model_traffic": "ModelTraffic",
    "modify_tools": "ModifyTools",
    "payload_modifier": "PayloadModifier",
    "progress_tracking": "ProgressTracking",
    "raise_client_errors": "RaiseClientErrors",
    "reasoning": "Reasoning",
    "reasoning_replay": "ReasoningReplay",
    "request_logging": "RequestLogging",
    "response_stats": "ResponseStats",
    "streaming": "Streaming",
    "system_message": "SystemMessage",
    "turn_counter": "TurnCounter",
}

REGISTRY: Registry[Interceptor] = Registry(
    "interceptors",
    {name: f"pytest_nel.interceptors.{name}:{attribute}" for name, attribute in _ROWS.items()},
)

ALIASES = {"logging": "request_logging"}
"""What the reference system calls one whose name a standard module has."""
