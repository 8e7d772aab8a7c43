"""What tests of judges share: the benchmark, its metrics, an attempt that they judge."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pytest_nel.authoring.benchmark import Benchmark
from pytest_nel.config.schema import PluginSpec
from pytest_nel.core.types import AttemptKey
from pytest_nel.engine.budget import Budget, Purse
from pytest_nel.engine.judge_panel import judges_with
from pytest_nel.engine.lifecycle import Workplace
from pytest_nel.engine.runtime import Parts
from pytest_nel.records.record import Scored, StepRecord
from tests.unit.engine.parts import Says, Sums, runner

Judge = Callable[..., Awaitable[StepRecord]]


def facts(**changes: Any) -> Benchmark:
    """One problem; the judge, when there is one, is asked for every answer."""
    row = {"id": "q", "question": "Capital of France?", "target": "Paris", "old": "grade?"}
    given: dict[str, Any] = {"name": "facts", "dataset": [row], "prompt": "{question}"}
    return Benchmark(**given | changes)


@dataclass
class Bench:
    """Makes attempts whose answer is given, and has metrics judge them.

    Attributes:
        folder: Of the run.
        url: Of the judges' endpoint.
        route: A ``proxy`` of their services, where they have one.
    """

    folder: Path
    url: str
    route: Mapping[str, Any]
    opened: list[Parts] = field(default_factory=list)

    async def judge(
        self,
        says: object,
        *metrics: dict[str, Any],
        benchmark: Benchmark | Sums | None = None,
        earlier: Scored | None = None,
        primary: str | None = None,
        **more: Any,
    ) -> StepRecord:
        spec: dict[str, Any] = {"type": "api", "url": f"{self.url}/chat/completions"}
        spec |= {"protocol": "chat_completions", "max_retries": 0, **self.route}
        spec |= {"proxy": more["proxy"]} if "proxy" in more else {}
        services = {name: PluginSpec(**spec | {"model": name}) for name in ("one", "two", "three")}
        parts = Parts(services, log_dir=self.folder)
        self.opened.append(parts)
        scoring = {"metrics": list(metrics), "primary": primary}
        made = runner(self.folder, Says(says), benchmark or facts(), scoring=scoring)
        budget: Budget | None = more.get("budget")
        made.purse = Purse([] if budget is None else [budget])
        solver: dict[str, Any] = {"type": "simple", "service": "m"}
        solver["system_prompt"] = more.get("system")
        config = made.plan.config.model_copy(update={"solver": PluginSpec(**solver)})
        made.plan = replace(made.plan, config=config)
        made.judges = await asyncio.to_thread(judges_with, made.plan, parts, services)
        attempted = await made.attempt(key(made))
        if earlier is not None:
            place = Workplace(made.cycle, None, key(made))
            solved = attempted.solved  # type: ignore[union-attr]
            attempted = await made._judge_here(solved, place, earlier)
        record = made.finish(attempted)
        made.journal.close()
        return record


def key(made: Any) -> Any:
    return AttemptKey(made.plan.id, 0, 0)


def metric(kind: str = "judge", **settings: Any) -> dict[str, Any]:
    given: dict[str, Any] = {"name": "j", "type": kind}
    if kind in {"judge", "reward_model"}:
        given["service"] = "one"
    return given | settings


def said(record: StepRecord, name: str = "j") -> dict[str, Any]:
    found: dict[str, Any] = record.scored.details[f"scorer:{name}"]
    return found
