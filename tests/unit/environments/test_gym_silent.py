"""What verdicts of Gym servers are pinned by."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.gym_pages import at_address, pages

SEED = {"prompt": "2+2?", "expected_answer": "4", "metadata": {"level": 1}, "messages": None}


@pytest.mark.parametrize("health", [404, httpx.Response(200, text="up"), {"status": "ok"}, [[]]])
@pytest.mark.asyncio
async def test_verdicts_of_a_server_that_says_nothing_of_itself_are_those_of_its_address(
    tmp_path: Path, health: Any
) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"responses_create_params": {"input": "?"}}\n', encoding="utf-8")
    names = ["gym://a:80/x", "gym://a:80/x/", "gym://b:80/x", "gym://a:80/x?tls=1"]
    made = [at_address(name, pages({"/health": health}), data=str(rows)) for name in names]

    for each in made:
        await each.dataset_size()

    servers = [each.judging()["server"] for each in made]
    assert servers == ["http://a:80/x", "http://a:80/x", "http://b:80/x", "https://a:80/x"]
    assert [each.fingerprint()["server"] for each in made] == servers
    assert len({each.name for each in made}) == 1


@pytest.mark.asyncio
async def test_problems_of_a_silent_server_may_be_the_same_and_its_verdicts_another_s() -> None:
    found = {"/dataset_size": {"size": 1}, "/seed_session": SEED, "/health": {"status": "ok"}}
    one, other = (at_address(f"gym://{at}:1", pages(found), name="n") for at in "ab")

    await one.dataset_size()
    await other.dataset_size()

    assert one.fingerprint()["content_hash"] == other.fingerprint()["content_hash"]
    assert one.judging() != other.judging()


@pytest.mark.asyncio
async def test_a_server_that_names_its_scorer_or_is_started_by_the_run_needs_no_address(
    tmp_path: Path,
) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"responses_create_params": {"input": "?"}}\n', encoding="utf-8")
    known = pages({"/health": {"judging": "sha256:1"}, "/dataset_size": {"size": 0}})
    silent = pages({"/dataset_size": {"size": 0}})
    made = [
        at_address("gym://a:1", known),
        at_address("gym://a:1", known, data=str(rows)),
        at_address("gym://gsm8k", silent),
        at_address("gym://cmd:./serve", silent, data=str(rows)),
        at_address("gym://gsm8k", known, data=str(rows)),
    ]

    for each in made:
        await each.dataset_size()

    servers = [each.judging()["server"] for each in made]
    assert servers == ["sha256:1", "sha256:1", "gsm8k", "./serve", "gsm8k"]
    assert not any("server" in each.fingerprint() for each in made)
