"""Has the benchmark's own verifier judge an answer."""

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace

from pytest_nel.core.errors import GracefulError, InfraError, NotJudged, ScorerError
from pytest_nel.core.sandbox import Sandbox, SandboxError
from pytest_nel.core.types import VerifyResult
from pytest_nel.engine.artifacts import NotUnpacked
from pytest_nel.engine.lifecycle import Workplace
from pytest_nel.engine.plan import BenchmarkPlan
from pytest_nel.engine.scored import for_verifier, judgement, no_score, wrong
from pytest_nel.engine.trials import Found
from pytest_nel.engine.user_code import of_user, says
from pytest_nel.records.record import Scored, Solved
from pytest_nel.scoring.result import to_verify_result

_RETRY_BASE, _RETRY_CAP = 5.0, 30.0
_TWICE = 2
_PROOFS: Mapping[Found | None, str] = {
    Found.SOLVED: "the problem's own solution",
    Found.UNTOUCHED: "a sandbox in which nobody has worked (there is no solution)",
}
_NOBODY = (
    "tried twice, and what judges it was not shown to be sound: the problem's own solution is not "
    "judged as right, or there is none and a sandbox in which nobody has worked is not judged, or "
    "the time was up; so nobody is blamed"
)


@dataclass(slots=True)
class _Doubts:
    """How often the work of one attempt could not be judged, and what a trial has found then."""

    count: int = 0
    found: Found | None = None


def retry_after(tries: int) -> float:
    """Seconds before the next try, after so many."""
    return min(_RETRY_CAP, _RETRY_BASE * 2.0 ** (tries - 1))


def judge_now(plan: BenchmarkPlan, solved: Solved) -> Scored:
    """By a plain verifier, in the calling thread."""
    began = time.perf_counter()
    environment = plan.environment
    try:
        returned = environment.verify_now(solved.response, solved.expected, solved.metadata)
        judged = returned if environment.checks_results else _checked(plan, solved, returned)
    except InfraError as error:
        return no_score(error, began)
    except (KeyboardInterrupt, GeneratorExit):
        raise  # Ctrl-C reaches whoever waits
    except BaseException as error:  # noqa: BLE001 - a user's scorer: pytest.skip(), sys.exit()
        return no_score(_verify_failed(plan, solved, error), began)
    return judgement(solved, judged, environment.pass_at, began)


def judge_in_thread(plan: BenchmarkPlan, solved: Solved) -> Scored:
    """The same in a thread that no Ctrl-C reaches: one that comes there is the verifier's own."""
    began = time.perf_counter()
    try:
        return judge_now(plan, solved)
    except (KeyboardInterrupt, GeneratorExit) as error:
        return no_score(_verify_failed(plan, solved, error), began)


async def verified(
    plan: BenchmarkPlan,
    solved: Solved,
    place: Workplace,
    sleep: Callable[[float], Awaitable[None]],
) -> Scored:
    """By an async verifier; what a sandbox's machinery did wrong is tried again in a fresh one.

    So is what the work that is judged may have done; see :func:`_whose_fault`.
    """
    last, doubts, tries = plan.config.max_system_retries, _Doubts(), 0
    while True:
        tries += 1
        began = time.perf_counter()
        try:
            return await _in_sandbox(plan, solved, place)
        except NotJudged as error:
            scored = await _whose_fault(plan, solved, place, error, doubts)
        except SandboxError as error:
            scored = await _of_the_sandbox(solved, place, error, began, last=tries >= last)
        if scored is not None:
            return scored
        if place.renewable(solved):
            await place.close()
        await sleep(retry_after(tries))


async def _in_sandbox(plan: BenchmarkPlan, solved: Solved, place: Workplace) -> Scored:
    scored = await _verify(plan, solved, place, await place.verifying(solved))
    if place.trouble is None:
        return scored
    raise place.trouble  # whatever the verifier made of it


async def _of_the_sandbox(
    solved: Solved, place: Workplace, error: SandboxError, began: float, *, last: bool
) -> Scored | None:
    """What comes of work whose sandbox has failed; None: it is judged once more."""
    if isinstance(error, NotUnpacked):
        text = await place.spoiled(solved, error)
        if text is not None:
            return wrong(text, began)
    again = error.retryable and not last and place.renewable(solved)
    return None if again else no_score(error, began)


async def _whose_fault(
    plan: BenchmarkPlan, solved: Solved, place: Workplace, error: NotJudged, doubts: _Doubts
) -> Scored | None:
    """What comes of work that could not be judged; None: it is judged once more.

    When it has failed twice, what judges it is tried: unscored where that is not sound. Where it
    is, and there may be another sandbox, the work is judged a third time, as what was at fault
    may just have passed; who fails then, too, is wrong. The sandbox is given back before, so that
    one that waits for another's trial keeps nobody from a slot.
    """
    began, failed = time.perf_counter(), place.trials.now()
    doubts.count += 1
    if doubts.count == 1:
        return None
    if doubts.found is None:
        await place.close()
        doubts.found = await place.trials.found(
            solved.key.problem_idx, lambda: _sound(plan, solved, place), since=failed
        )
    proof = _PROOFS.get(doubts.found)
    if proof is None or (doubts.found is Found.UNTOUCHED and error.timed_out):
        return no_score(NotJudged(f"{error} [{_NOBODY}]"), began)
    if doubts.count == _TWICE and place.renewable(solved):
        return None
    tries = "two" if doubts.count == _TWICE else "three"
    text = f"what was left could not be judged, in {tries} tries, and {proof} can: {error}"
    return wrong(text, began)


async def _sound(plan: BenchmarkPlan, solved: Solved, place: Workplace) -> Found | None:
    """Whether a problem's own solution is judged as right; None: that could not be tried.

    Where it has none, it counts whether there is a judgement of what nobody has changed.
    """
    environment, solves = plan.environment, False

    async def work(box: Sandbox) -> None:
        nonlocal solves
        limit = plan.config.timeout
        solves = await of_user(environment.leave_solution, box, solved.metadata, limit)

    try:
        box = await place.tried(solved, work)
        if box is None:
            return None
        scored = await _verify(plan, replace(solved, trajectory=()), place, box)
        return _finding(scored, solves=solves) if place.trouble is None else None
    except (SandboxError, OSError):
        return None
    except Exception:  # noqa: BLE001 - NotJudged; a user's environment may raise anything
        return Found.UNSOUND
    finally:
        await place.close()


def _finding(scored: Scored, *, solves: bool) -> Found:
    if solves:
        return Found.SOLVED if scored.outcome == "correct" else Found.UNSOUND
    return Found.UNSOUND if scored.reward is None else Found.UNTOUCHED


async def _verify(
    plan: BenchmarkPlan, solved: Solved, place: Workplace, box: Sandbox | None
) -> Scored:
    began = time.perf_counter()
    environment = plan.environment
    facts = for_verifier(solved)
    limit = plan.config.timeout  # of its own: a slow answer takes no time from its judge
    deadline = place.deadline.judging(limit)
    try:
        async with deadline:
            returned = await of_user(
                environment.verify, solved.response, solved.expected, box, **facts
            )
        judged = _checked(plan, solved, returned)
    except SandboxError:
        raise
    except (GracefulError, NotJudged) as error:
        if place.trouble is not None:
            raise place.trouble from error
        if isinstance(error, NotJudged):
            raise
        raise NotJudged(says(error)) from error  # what was left there is said to be at fault
    except InfraError as error:
        return no_score(error, began)
    except Exception as error:  # noqa: BLE001 - a user's verifier may raise anything
        if deadline.expired():
            text = f"no judgement within {limit:g} s (benchmark `timeout`)"
            return no_score(ScorerError(text), began)
        return no_score(_verify_failed(plan, solved, error), began)
    return judgement(solved, judged, environment.pass_at, began)


def _checked(plan: BenchmarkPlan, solved: Solved, returned: object) -> VerifyResult:
    name = plan.environment.name
    where = f"{name} problem {solved.key.problem_idx}"
    worked = plan.environment.judges_workspace  # what was said is then not what is judged
    said = "(nothing)" if worked and not solved.response.strip() else solved.response
    return to_verify_result(returned, method=name, where=where, response=said)


def _verify_failed(plan: BenchmarkPlan, solved: Solved, error: BaseException) -> ScorerError:
    name = plan.environment.name
    return ScorerError(f"{name} problem {solved.key.problem_idx}: verify failed: {says(error)}")
