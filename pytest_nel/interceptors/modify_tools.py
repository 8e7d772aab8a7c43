"""The parameters of the tools a model is offered."""

import copy
from typing import Any

from pydantic import Field

from pytest_nel.config.schema import Model
from pytest_nel.core.exchange import Exchange, Interceptor, Request
from pytest_nel.core.types import JsonObject
from pytest_nel.interceptors.place import Place


class ModifyTools(Interceptor):
    """Strips properties of every tool's parameters, and adds those that are missing."""

    on_request = True

    class Config(Model):
        """Options of ``modify_tools``.

        Attributes:
            strip_properties: Properties to remove, from ``required`` as well.
            add_properties: Name to JSON schema of properties to add where a tool lacks them.
        """

        strip_properties: list[str] = Field(default_factory=list)
        add_properties: dict[str, dict[str, Any]] = Field(default_factory=dict)

    def __init__(self, config: Config, place: Place) -> None:
        self._config = config
        self._place = place

    async def request(self, request: Request, exchange: Exchange) -> Request:  # noqa: ARG002 - the role's signature
        """Change each tool; a tool without a schema gets one only where something is added."""
        tools = request.body.get("tools")
        for tool in tools if isinstance(tools, list) else []:
            function = tool.get("function", tool) if isinstance(tool, dict) else None
            if isinstance(function, dict):
                self._change(function)
        return request

    def _change(self, function: JsonObject) -> None:
        config = self._config
        parameters = function.get("parameters")
        if parameters is None and config.add_properties:
            parameters = function["parameters"] = {"type": "object"}
        if not isinstance(parameters, dict):
            return
        properties = parameters.get("properties")
        if properties is None and config.add_properties:
            properties = parameters["properties"] = {}
        if not isinstance(properties, dict):
            return
        for name in config.strip_properties:
            properties.pop(name, None)
        required = parameters.get("required")
        if isinstance(required, list):
            parameters["required"] = [
                name for name in required if name not in config.strip_properties
            ]
        for name, schema in config.add_properties.items():
            properties.setdefault(name, copy.deepcopy(schema))
