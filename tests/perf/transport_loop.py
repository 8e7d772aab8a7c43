"""httpx over one transport, as many requests as fit into a few seconds.

``python tests/perf/transport_loop.py NAME URL SECONDS`` prints what that took, as JSON.
"""

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import httpx

if not __package__:  # run as a script: only this folder is on the path
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from pytest_nel.core.types import Endpoint
from pytest_nel.http.client import ModelClient
from pytest_nel.http.fast import FastTransport
from pytest_nel.http.slots import SlotTransport
from tests.perf.rows import row

CONCURRENCY = 64
POOL = httpx.Limits(max_connections=CONCURRENCY, max_keepalive_connections=CONCURRENCY)

#: httpx as it is usually tuned, and the two transports of ours under the same client
TRANSPORTS: dict[str, Callable[[], httpx.AsyncBaseTransport]] = {
    "httpx's own pool": lambda: httpx.AsyncHTTPTransport(limits=POOL, trust_env=False),
    "slots": lambda: SlotTransport(connections=CONCURRENCY),
    "fast": lambda: FastTransport(connections=CONCURRENCY),
}


async def post(name: str, url: str, seconds: float) -> int:
    """Use ``client.post`` from all coroutines; how many requests were answered."""
    body = {"model": "m", "messages": [{"role": "user", "content": row(0)["question"]}]}
    end = time.monotonic() + seconds

    async def worker(client: httpx.AsyncClient) -> int:
        done = 0
        while time.monotonic() < end:
            reply = await client.post(f"{url}/chat/completions", json=body)
            done += bool(reply.raise_for_status().json()["choices"])
        return done

    async with httpx.AsyncClient(
        transport=TRANSPORTS[name](), trust_env=False, timeout=60
    ) as client:
        return sum(await asyncio.gather(*(worker(client) for _ in range(CONCURRENCY))))


async def model(url: str, seconds: float) -> int:
    """The same through the product's client."""
    target = f"{url}/chat/completions"
    endpoint = Endpoint("model", target, "chat_completions", "m", max_concurrent=CONCURRENCY)
    client = ModelClient(endpoint)
    end = time.monotonic() + seconds

    async def worker() -> int:
        done = 0
        while time.monotonic() < end:
            reply = await client.chat([{"role": "user", "content": row(0)["question"]}])
            done += bool(reply.content)
        return done

    await client.open()
    try:
        return sum(await asyncio.gather(*(worker() for _ in range(CONCURRENCY))))
    finally:
        await client.close()


def main() -> None:
    """Print requests answered, CPU seconds and seconds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=[*TRANSPORTS, "model client"])
    parser.add_argument("url")
    parser.add_argument("seconds", type=float)
    arguments = parser.parse_args()
    wall, cpu = time.monotonic(), time.process_time()
    if arguments.name == "model client":
        work = model(arguments.url, arguments.seconds)
    else:
        work = post(arguments.name, arguments.url, arguments.seconds)
    requests = asyncio.run(work)
    print(
        json.dumps(
            {
                "requests": requests,
                "cpu": time.process_time() - cpu,
                "seconds": time.monotonic() - wall,
            }
        )
    )


if __name__ == "__main__":
    main()
