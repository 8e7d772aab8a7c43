"""The adapter proxy of a suite's service, before a real server."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_nel.config.schema import PluginSpec
from pytest_nel.engine.runtime import Parts
from pytest_nel.interceptors.proxy import AdapterProxy
from tests.unit.interceptors.upstream import Answer, ModelServer


@asynccontextmanager
async def proxy_before(
    said: Answer, folder: Path, *, replicas: int = 0, **options: Any
) -> AsyncIterator[tuple[AdapterProxy, ModelServer]]:
    """A server that answers so, and the started proxy of a service with these options."""
    async with ModelServer(said).running() as server:
        service = {"type": "api", "url": server.url, "protocol": "chat_completions", "model": "m"}
        raw = {**service, **options}
        parts = Parts({"s": PluginSpec.model_validate(raw)}, log_dir=folder / "logs")
        if replicas:
            found = parts.endpoint("s")
            parts.deployments.endpoints["s"] = replace(found, replicas=(found.url,) * replicas)
        proxy = parts.adapter("s")
        await proxy.start()
        try:
            yield proxy, server
        finally:
            await proxy.stop()
            await parts.close_async()
