"""Rows for trainers hold all that is asked."""

import asyncio
import base64
import json
from pathlib import Path

from pytest_nel import ScorerInput, benchmark, exact_match, scorer
from pytest_nel.core.types import Message, SeedResult
from pytest_nel.environments.builtin import BenchmarkEnvironment
from pytest_nel.environments.gym import GymEnvironment
from pytest_nel.http.pictures import with_images
from tests.support.gym import exported, served


@scorer
def judge(sample: ScorerInput) -> object:
    return exact_match(sample)


def test_pictures_are_in_the_rows_and_are_asked_with_them(tmp_path: Path) -> None:
    picture = tmp_path / "cat.png"
    picture.write_bytes(b"no real one")
    made = benchmark(
        name="seen",
        dataset=[{"target": "cat"}],
        prompt="",
        seed_fn=lambda row, idx: SeedResult(
            "What is it?", row["target"], {"odd": float("nan"), "idx": idx}, images=[str(picture)]
        ),
    )(judge)

    file = exported(served(BenchmarkEnvironment(made)), tmp_path)

    (row,) = (json.loads(line) for line in file.read_text("utf-8").splitlines())
    url = f"data:image/png;base64,{base64.b64encode(b'no real one').decode()}"
    assert row["metadata"]["odd"] is None
    assert row["responses_create_params"]["input"] == [
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "What is it?"},
                {"type": "input_image", "image_url": url, "detail": "auto"},
            ],
        }
    ]
    name = f"gym://h:1?protocol=native&data={file}"
    client = GymEnvironment.from_name(name, base=Path("/"), limit=None, params={})
    asked = asyncio.run(client.seed(0)).messages
    direct: list[Message] = [{"role": "user", "content": "What is it?"}]
    (wanted,) = asyncio.run(with_images(direct, [str(picture)], "auto"))
    assert asked is not None
    assert asked[0]["content"][0] == wanted["content"][0]
    assert asked[0]["content"][1]["image_url"]["url"] == url
