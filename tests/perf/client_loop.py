"""The model client alone: what an attempt costs before any of the plugin's own work.

``python tests/perf/client_loop.py URL COUNT CONCURRENCY`` asks the same questions as the benchmark
from so many coroutines and does nothing with the answers.
"""

import argparse
import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path

if not __package__:  # run as a script: only this folder is on the path
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from pytest_nel.core.types import Endpoint
from pytest_nel.http.client import ModelClient
from tests.perf.rows import row


async def ask_all(client: ModelClient, questions: Iterator[str]) -> int:
    """Take questions until there are none; how many were answered."""
    answered = 0
    for question in questions:
        reply = await client.chat([{"role": "user", "content": question}])
        answered += bool(reply.content)
    return answered


async def run(url: str, count: int, concurrency: int) -> int:
    """Ask ``count`` questions; how many were answered."""
    endpoint = Endpoint(
        name="model",
        url=f"{url}/chat/completions",
        protocol="chat_completions",
        model="m",
        max_concurrent=concurrency,
    )
    client = ModelClient(endpoint)
    questions = (row(index)["question"] for index in range(count))
    await client.open()
    try:
        done = await asyncio.gather(*(ask_all(client, questions) for _ in range(concurrency)))
    finally:
        await client.close()
    return sum(done)


def main() -> int:
    """0 when every question was answered."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("count", type=int)
    parser.add_argument("concurrency", type=int)
    arguments = parser.parse_args()
    answered = asyncio.run(run(arguments.url, arguments.count, arguments.concurrency))
    print(answered)
    return 0 if answered == arguments.count else 1


if __name__ == "__main__":
    sys.exit(main())
