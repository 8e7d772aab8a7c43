"""The same questions through deepeval: own generation, then evaluate()."""

import asyncio
import json
import os
from pathlib import Path

from deepeval import evaluate  # type: ignore[import-not-found]
from deepeval.evaluate import CacheConfig  # type: ignore[import-not-found]
from deepeval.metrics import ExactMatchMetric  # type: ignore[import-not-found]
from deepeval.test_case import LLMTestCase  # type: ignore[import-not-found]
from openai import AsyncOpenAI


async def answers(rows: list[dict[str, str]]) -> list[str]:
    """Ask all questions, a fixed number at a time."""
    client = AsyncOpenAI(base_url=os.environ["PERF_URL"], api_key="unused", max_retries=3)
    slots = asyncio.Semaphore(int(os.environ["PERF_CONCURRENCY"]))

    async def ask(row: dict[str, str]) -> str:
        async with slots:
            reply = await client.chat.completions.create(
                model="m", messages=[{"role": "user", "content": row["question"]}]
            )
        return reply.choices[0].message.content or ""

    async with client:
        return await asyncio.gather(*(ask(row) for row in rows))


def main() -> None:
    """Generate, judge, and write what was found."""
    lines = Path(os.environ["PERF_ROWS"]).read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    texts = asyncio.run(answers(rows))
    cases = [
        LLMTestCase(input=row["question"], actual_output=text, expected_output=row["target"])
        for row, text in zip(rows, texts, strict=True)
    ]
    # as it comes, it keeps what it found by rewriting the whole run's file after each case
    kept = CacheConfig(write_cache="PERF_KEEPS_NOTHING" not in os.environ)
    result = evaluate(cases, [ExactMatchMetric()], cache_config=kept)
    passed = sum(bool(found.success) for found in result.test_results)
    report = Path(os.environ["PERF_OUT"]) / "deepeval.json"
    report.write_text(json.dumps({"passed": passed, "of": len(rows)}), encoding="utf-8")


main()
