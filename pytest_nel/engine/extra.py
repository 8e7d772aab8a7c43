"""Further scorers at work: after the benchmark's own, on every attempt that has an answer."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pytest_nel.core.errors import ScorerError
from pytest_nel.core.sandbox import Sandbox
from pytest_nel.core.types import ScorerInput
from pytest_nel.engine.lazy_sandbox import LazySandbox
from pytest_nel.engine.plan import BenchmarkPlan
from pytest_nel.engine.user_code import of_user
from pytest_nel.environments.scorers import PREFIX, ExtraScorer, Judged
from pytest_nel.records.record import Scored, Solved


def judged_also(plan: BenchmarkPlan, solved: Solved, scored: Scored) -> Scored:
    """Add the rewards of plain scorers, in the calling thread.

    Only those that are missing: a stored judgement may have the others. An attempt without a
    score gets none: it is in no score at all.
    """
    asked = _missing(plan, scored)
    if not asked:
        return scored
    began = time.perf_counter()
    return _with(scored, {each.name: _now(each, solved) for each in asked}, began)


async def judged_also_here(
    plan: BenchmarkPlan, solved: Solved, scored: Scored, sandbox: Sandbox | None = None
) -> Scored:
    """The same on the loop; a plain scorer runs in a thread, where no sandbox can be awaited."""
    asked = _missing(plan, scored)
    if not asked:
        return scored
    began = time.perf_counter()
    found = {}
    for each in asked:
        if each.on_the_loop:
            found[each.name] = await _awaited(each, solved, sandbox, plan.config.timeout)
        else:
            async with each.turn:
                found[each.name] = await asyncio.to_thread(_now, each, solved)
    return _with(scored, found, began)


def says_more(old: Scored, new: Scored) -> bool:
    """Whether a judgement has a reward, or another reason for having none, that the old lacks."""
    return (old.scorer_rewards, old.details) != (new.scorer_rewards, new.details)


def _missing(plan: BenchmarkPlan, scored: Scored) -> Sequence[ExtraScorer]:
    if scored.reward is None:
        return ()
    return [each for each in plan.scorers if scored.scorer_rewards.get(each.name) is None]


def _with(scored: Scored, found: Mapping[str, Judged], began: float) -> Scored:
    details = {f"{PREFIX}{name}": judged.details for name, judged in found.items()}
    rewards = {name: judged.reward for name, judged in found.items()}
    return replace(
        scored,
        scorer_rewards={**scored.scorer_rewards, **rewards},
        details={**scored.details, **details},
        verify_ms=scored.verify_ms + (time.perf_counter() - began) * 1000,
    )


def _sample(scorer: ExtraScorer, solved: Solved, sandbox: Sandbox | None = None) -> ScorerInput:
    return scorer.sample(solved.response, solved.expected, solved.metadata, sandbox)


def _now(scorer: ExtraScorer, solved: Solved) -> Judged:
    if not solved.response.strip():
        return scorer.blank()
    try:
        return scorer.judged(scorer.function(_sample(scorer, solved)), solved.response)
    except (KeyboardInterrupt, GeneratorExit):
        raise  # Ctrl-C reaches whoever waits
    except BaseException as error:  # noqa: BLE001 - a user's scorer: pytest.skip(), sys.exit()
        return scorer.failed(error)


async def _awaited(
    scorer: ExtraScorer, solved: Solved, sandbox: Sandbox | None, limit: float
) -> Judged:
    """Await an async scorer, for ``limit`` seconds, or as long as its commands may take."""
    if not solved.response.strip():
        return scorer.blank()
    deadline = (
        sandbox.judging(limit) if isinstance(sandbox, LazySandbox) else asyncio.timeout(limit)
    )
    try:
        async with deadline:
            returned = await of_user(scorer.function, _sample(scorer, solved, sandbox))
        return scorer.judged(returned, solved.response)
    except Exception as error:  # noqa: BLE001 - a user's scorer may raise anything
        if deadline.expired():
            text = f"scorer {scorer.name!r}: no judgement within {limit:g} s (benchmark `timeout`)"
            return scorer.failed(ScorerError(text))
        return scorer.failed(error)
