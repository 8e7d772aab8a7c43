"""The judges of a benchmark at work: after the answer is in the journal, on the engine's loop."""

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any, NamedTuple

from pytest_nel.config.metrics import JudgeMetric, PairwiseMetric
from pytest_nel.core.conversation import conversation
from pytest_nel.core.errors import FailureKind, InfraError, NoVerdict
from pytest_nel.core.types import JsonObject, Message, Outcome, SeedResult
from pytest_nel.engine.judge_call import Panelist, together
from pytest_nel.engine.judge_kinds import Hearing, Matter
from pytest_nel.engine.judge_plan import SIMPLEQA, JudgeSpec, system_of
from pytest_nel.engine.plan import BenchmarkPlan
from pytest_nel.environments.builtin import BenchmarkEnvironment
from pytest_nel.environments.scorers import PREFIX
from pytest_nel.records.record import RESPONSE_LIMIT, Scored, Solved, dumps
from pytest_nel.scoring.judging.prompts import Case, conversation_text
from pytest_nel.scoring.judging.request import NEEDS_JUDGE, request_of, wants_judge
from pytest_nel.scoring.judging.together import LOSS

OWN = "own_scorer"
"""Key of the details under which the benchmark's own scorer stands where a metric is primary."""

_NOBODY = (
    "the scorer asks for a judge, and none was asked: write judge='generic' into the @benchmark, "
    "and name a judge in the suite"
)


class Verdicts(NamedTuple):
    """A judgement with what judges say.

    Attributes:
        scored: It; the details hold what each verdict has cost over all sessions.
        spent: What each judge was asked for just now has cost, by service.
    """

    scored: Scored
    spent: Sequence[Mapping[str, JsonObject]] = ()


@dataclass(frozen=True, slots=True)
class Judges:
    """Asks the judges of one benchmark.

    Attributes:
        specs: The judges.
        panels: The models that each asks, by its name, then by service.
        facts: What determines the verdicts of each, by name.
    """

    specs: Sequence[JudgeSpec] = ()
    panels: Mapping[str, Mapping[str, Panelist]] = field(default_factory=dict)
    facts: Mapping[str, JsonObject] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.specs)

    def asks(self, plan: BenchmarkPlan, solved: Solved, scored: Scored) -> bool:
        """Whether a model would be asked about a judgement that is otherwise complete."""
        wanted = any(_is_asked(plan, spec, solved, scored) for spec in self.specs)
        return wanted and bool(_shown(solved, scored).strip())

    async def judged(
        self, plan: BenchmarkPlan, solved: Solved, scored: Scored, earlier: Scored | None = None
    ) -> Verdicts:
        """Add the rewards of those judges that have given none yet.

        Args:
            plan: The benchmark.
            solved: The answer.
            scored: Its judgement so far.
            earlier: A judgement that counts no more as a whole: what of it was made by the same
                judge of the same answer is taken from it.
        """
        asked = [spec for spec in self.specs if _is_asked(plan, spec, solved, scored)]
        if not asked:
            return Verdicts(scored)
        began = time.perf_counter()
        before = earlier or scored
        found = await asyncio.gather(
            *(self._one(plan, spec, solved, (scored, before)) for spec in asked)
        )
        both = [(spec, said) for spec, (said, _) in zip(asked, found, strict=True)]
        details = {f"{PREFIX}{spec.name}": said for spec, said in both}
        rewards = {spec.name: said["reward"] for spec, said in both}
        judged = replace(
            scored,
            scorer_rewards={**scored.scorer_rewards, **rewards},
            details={**scored.details, **details},
            verify_ms=scored.verify_ms + (time.perf_counter() - began) * 1000,
        )
        return Verdicts(judged, [spent for _, spent in found])

    async def _one(
        self, plan: BenchmarkPlan, spec: JudgeSpec, solved: Solved, known: tuple[Scored, Scored]
    ) -> tuple[JsonObject, JsonObject]:
        """What a judge says, or why it says nothing; and what that has cost now, by service."""
        scored, before = known
        said: Mapping[str, Any] = before.details.get(f"{PREFIX}{spec.name}") or {}
        facts = self.facts.get(spec.name, {})
        key = _key(facts, solved, scored)
        if said.get("key") == key and said.get("reward") is not None:
            return dict(said), {}
        base: JsonObject = {"method": spec.metric.type, "preset": spec.preset, "key": key}
        if not _shown(solved, scored).strip():
            blank: JsonObject = {"reward": 0.0, "parsed": False, "empty": True, "spent": {}}
            return {**base, **blank, **_of_nothing(spec)}, {}
        hearing = Hearing(spec, self.panels[spec.name])
        try:
            matter = _matter(plan, solved, scored)
            matter = matter._replace(baseline=_baseline(spec, said, facts, matter))
            came = await hearing.judge(matter)
            result = {**base, "reward": came.reward, **came.facts}
        except InfraError as error:
            result = {**base, "reward": None, **_why(error)}
        if spec.baseline is not None and hearing.baseline is not None:
            asked = _baseline_key(facts, _asked(plan, solved))
            result |= {"baseline": hearing.baseline, "baseline_key": asked}
        spent = {service: each.as_json() for service, each in hearing.spent.items()}
        lost = said.get("spent") if said.get("reward") is None else None
        return {**result, "spent": together(lost or {}, spent)}, spent


def unread(scored: Scored | None) -> bool:
    """Whether a judge has replied to this and said nothing usable: no cache is to say it again."""
    details = {} if scored is None else scored.details
    said = [each for each in details.values() if isinstance(each, Mapping)]
    return any(each.get("unreadable") and each.get("reward") is None for each in said)


def with_primary(plan: BenchmarkPlan, scored: Scored) -> Scored:
    """The judgement by the metric whose reward is the attempt's.

    A scorer that has decided without its judge has decided; one that asks for a judge where none
    grades leaves the attempt unscored. Where the model itself has failed there is nothing to grade.
    """
    if scored.reward is not None and scored.failure is not None:
        return scored
    name = plan.primary
    if name is None or name not in scored.scorer_rewards:
        if scored.reward is not None and wants_judge(scored.details):
            return _unscored(scored, FailureKind.JUDGE, _NOBODY)
        return scored
    said: Mapping[str, Any] = scored.details.get(f"{PREFIX}{name}") or {}
    share = scored.scorer_rewards[name]
    if share is None:
        kind = str(said.get("kind") or FailureKind.SCORER)
        return _unscored(scored, kind, str(said.get("error") or f"metric {name!r} failed"))
    reward = request_of(scored.details).joined(share)
    missed: Outcome = "wrong" if said.get("parsed", True) else "unparsed"
    own = {} if wants_judge(scored.details) else {OWN: _own(scored)}
    return replace(
        scored,
        outcome="correct" if reward >= plan.environment.pass_at else missed,
        reward=reward,
        details={**scored.details, **own},
        failure=None,
        error=None,
    )


def _unscored(scored: Scored, kind: str, text: str) -> Scored:
    return replace(scored, outcome="unscored", reward=None, failure=str(kind), error=text)


def _own(scored: Scored) -> JsonObject:
    """What the benchmark's own scorer has said."""
    facts: JsonObject = {"outcome": scored.outcome, "reward": scored.reward}
    return facts | ({"error": scored.error} if scored.error else {})


def _is_asked(plan: BenchmarkPlan, spec: JudgeSpec, solved: Solved, scored: Scored) -> bool:
    if scored.scorer_rewards.get(spec.name) is not None:
        return False
    if solved.failure is not None and not solved.graceful:  # there is no answer
        return False
    # a scorer that looks at a workspace may decide about an answer without words, too
    looked = scored.failure is None and scored.outcome != "unparsed"
    decided = bool(solved.response.strip()) or looked
    if spec.on_request and decided and not wants_judge(scored.details):
        return False
    return scored.reward is not None or spec.name == plan.primary


def _shown(solved: Solved, scored: Scored) -> str:
    """What a judge is shown as the answer."""
    named = request_of(scored.details).response
    return solved.response if named is None else named


def _of_nothing(spec: JudgeSpec) -> JsonObject:
    """The verdict on an empty answer, in the words of those that have a word for it."""
    if isinstance(spec.metric, PairwiseMetric):
        return {"verdict": LOSS}
    graded = isinstance(spec.metric, JudgeMetric) and spec.preset == SIMPLEQA
    return {"verdict": "NOT_ATTEMPTED"} if graded else {}


def _why(error: InfraError) -> JsonObject:
    facts: JsonObject = {"error": str(error)[:1_000], "kind": str(error.kind)}
    if isinstance(error, NoVerdict):
        facts["unreadable"] = error.unreadable
    return facts


def _key(facts: Mapping[str, Any], solved: Solved, scored: Scored) -> str:
    """What determines a judge's verdict on an answer; 32 hex digits."""
    asks = scored.details.get(NEEDS_JUDGE)
    answer = [solved.prompt, solved.messages, solved.expected, solved.metadata, solved.response]
    return _digest([facts, *answer, solved.system, solved.images, asks])


def _baseline_key(facts: Mapping[str, Any], asked: Sequence[Message]) -> str:
    return _digest([facts.get("baseline"), asked])


def _digest(parts: Sequence[object]) -> str:
    """The same before and after the parts were written to the journal."""
    text = json.dumps(json.loads(dumps(parts)), sort_keys=True)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _baseline(
    spec: JudgeSpec, said: Mapping[str, Any], facts: Mapping[str, Any], matter: Matter
) -> str | None:
    """The other model's answer of an earlier judgement, while it was asked the same."""
    if not isinstance(spec.metric, PairwiseMetric) or spec.baseline is None:
        return None
    same = said.get("baseline_key") == _baseline_key(facts, matter.asked)
    found = said.get("baseline")
    whole = isinstance(found, str) and len(found) <= RESPONSE_LIMIT
    return found if same and whole else None


def _matter(plan: BenchmarkPlan, solved: Solved, scored: Scored) -> Matter:
    """What is to be judged; the benchmark's scorer may have named parts of it."""
    asks, environment = request_of(scored.details), plan.environment
    row: Mapping[str, Any] = solved.metadata
    if isinstance(environment, BenchmarkEnvironment):
        row = environment.sample(solved.response, solved.expected, solved.metadata).metadata
    own = conversation(_seed(solved), None)
    task = solved.prompt if solved.messages is None else conversation_text(own)
    reference = solved.expected if asks.reference is None else asks.reference
    case, asked = Case(task, _shown(solved, scored), reference), _asked(plan, solved)
    pictures = len(solved.images)
    return Matter(case, own, asked, row, asks.criteria, pictures=pictures, rubric=asks.rubric)


def _asked(plan: BenchmarkPlan, solved: Solved) -> Sequence[Message]:
    """What the solver sends, its own system prompt included."""
    return conversation(_seed(solved), system_of(plan.config.solver))


def _seed(solved: Solved) -> SeedResult:
    return SeedResult(solved.prompt, messages=solved.messages, system=solved.system)
