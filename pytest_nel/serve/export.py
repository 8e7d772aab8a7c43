"""The problems of a benchmark as the rows of a file that trainers read."""

from collections.abc import Sequence
from pathlib import Path

from pytest_nel.core.keys import safe_name
from pytest_nel.core.types import JsonObject, Message
from pytest_nel.engine.loop import LoopThread
from pytest_nel.environments._gym_wire import encoded
from pytest_nel.http.pictures import with_images
from pytest_nel.http.responses import fields
from pytest_nel.serve.served import Served

_ASKING = ("user", "system", "developer")


def export(served: Served, directory: Path, loop: LoopThread) -> Path:
    """Write ``<name>.jsonl``, all rows or none (blocking); its path.

    Args:
        served: The benchmark.
        directory: Made where it is missing.
        loop: Where problems are made.

    Raises:
        InfraError: A problem could not be made.
        OSError: It cannot be written.
    """
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{safe_name(served.name)}.jsonl"
    half = path.with_suffix(".jsonl.part")
    with half.open("w", encoding="ascii", newline="\n") as file:
        for idx in range(served.size):
            row = loop.call(_row(served, idx))
            file.write(encoded(row).decode("ascii") + "\n")
    half.replace(path)
    return path


async def _row(served: Served, idx: int) -> JsonObject:
    seed = await served.seed(idx)
    asked: Sequence[Message] = seed.messages or [{"role": "user", "content": seed.prompt}]
    if seed.messages is None and seed.system:
        asked = [{"role": "system", "content": seed.system}, *asked]
    if seed.images:
        asked = await with_images(asked, seed.images, "auto")
    return {
        "responses_create_params": {"input": [_item(one) for one in asked]},
        "expected_answer": seed.expected_answer,
        "uuid": f"{served.name}-{idx}",
        "metadata": dict(seed.metadata),
    }


def _item(message: Message) -> JsonObject:
    """A message as that protocol has it; text alone is the same in both."""
    if message.get("role") not in _ASKING or not isinstance(message.get("content"), list):
        return dict(message)
    items: list[JsonObject] = fields([message])["input"]
    return items[0] if items else dict(message)
