"""What a solver that works in sandboxes is told of its benchmark."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pytest_nel.config.schema import PluginSpec


@dataclass(frozen=True, slots=True)
class Around:
    """The surroundings of a solver.

    Attributes:
        timeout: Seconds for an attempt in all.
        sandbox: The benchmark's sandbox entry.
        adapter: Makes an adapter proxy before the model, which listens at ``host``; None: there
            is no model.
        model: The model's name.
    """

    timeout: float
    sandbox: PluginSpec = field(default_factory=lambda: PluginSpec(type="none"))
    adapter: Callable[..., Any] | None = None  # Any: proxies are a neighbour of solvers
    model: str | None = None
