"""What each kind of judge does with an answer: its questions, and the reward that comes of them."""

import asyncio
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, NamedTuple

from pytest_nel.config.metrics import (
    EnsembleMetric,
    JudgeMetric,
    JudgingMetric,
    PairwiseMetric,
    RewardModelMetric,
)
from pytest_nel.core.errors import NoVerdict, ScorerError
from pytest_nel.core.types import JsonObject, Message
from pytest_nel.engine.judge_call import Panelist, Said, Spent
from pytest_nel.engine.judge_plan import (
    HEALTHBENCH,
    RUBRIC,
    SIMPLEQA,
    JudgeSpec,
    against_reference,
    scale_of,
)
from pytest_nel.scoring.judging import prompts
from pytest_nel.scoring.judging.prompts import Case, Question, Words
from pytest_nel.scoring.judging.replies import Scale
from pytest_nel.scoring.judging.together import (
    SHARES,
    aggregated,
    agreement,
    compared,
    criteria_of,
    points_share,
)
from pytest_nel.scoring.reasoning import split_reasoning

_SHOWN = 1_000
BASELINE = ""
"""Key of a panel under which the baseline's model stands; no service is called so."""


class Matter(NamedTuple):
    """What is judged, and all that is known about it.

    Attributes:
        case: The task, the answer, the reference.
        conversation: What the benchmark asks, as messages.
        asked: What the solver makes of it; the baseline's model is asked the same.
        row: The problem's fields, the gold answer among them.
        criteria: What the benchmark's scorer says the criteria are; None: the row's ``rubrics``.
        baseline: An earlier answer of the baseline's model that still counts.
        pictures: How many belong to the problem and stand in no message.
        rubric: By what the benchmark's scorer says this problem is to be judged.
    """

    case: Case
    conversation: Sequence[Message]
    asked: Sequence[Message]
    row: Mapping[str, Any]
    criteria: object = None
    baseline: str | None = None
    pictures: int = 0
    rubric: str | None = None


class Came(NamedTuple):
    """A judgement: its reward and the facts about it."""

    reward: float
    facts: JsonObject


@dataclass(slots=True)
class Hearing:
    """One judgement under way.

    Attributes:
        spec: The judge.
        panel: The models it asks, by service.
        spent: What they have cost, by service.
        baseline: The answer to compare with, where it was asked for.
    """

    spec: JudgeSpec
    panel: Mapping[str, Panelist]
    spent: dict[str, Spent] = field(default_factory=dict)
    baseline: str | None = None

    async def judge(self, matter: Matter) -> Came:
        """Come to a judgement.

        Raises:
            NoVerdict: A model that is needed was not reached or said nothing usable.
            ScorerError: The problem lacks what the judge needs, or has what it cannot be shown.
        """
        metric = self.spec.metric
        unseen = self._unseen(matter)
        came = await self._judged(metric, matter)
        return came._replace(facts={**came.facts, "unseen_pictures": unseen}) if unseen else came

    def _unseen(self, matter: Matter) -> int:
        """How many pictures the judge does without: it grades by the gold answer.

        Raises:
            ScorerError: It has nothing else to go by, or another model would have to see them.
        """
        metric = self.spec.metric
        unseen = matter.pictures
        if not isinstance(metric, RewardModelMetric):  # which has the messages as they are
            unseen += _shown(matter.conversation)
        graded = against_reference(metric, self.spec.preset) and matter.case.reference
        if unseen and not graded:
            msg = (
                f"judge {self.spec.name!r}: the problem has pictures, which no judge and no "
                "baseline is shown, so it would judge blindly: grade by a gold answer (type judge "
                "with preset simpleqa or generic), or by a scorer in Python"
            )
            raise ScorerError(msg)
        return unseen

    async def _judged(self, metric: JudgingMetric, matter: Matter) -> Came:
        if isinstance(metric, PairwiseMetric):
            return await self._pairwise(metric, matter)
        if isinstance(metric, RewardModelMetric):
            return await self._rewarded(metric, matter)
        if isinstance(metric, EnsembleMetric):
            return await self._ensemble(metric, matter)
        return await self._graded(metric, metric.service, matter)

    async def _ask(self, service: str, question: Question) -> Said:
        return await self.panel[service].ask(question, self._account(service))

    def _account(self, service: str) -> Spent:
        return self.spent.setdefault(service, Spent())

    async def _graded(
        self, metric: JudgeMetric | EnsembleMetric, service: str, matter: Matter
    ) -> Came:
        """One model's grade, by the preset."""
        words = Words(metric.rubric, metric.system_prompt)
        if self.spec.preset == HEALTHBENCH:
            return await self._points(service, matter, words)
        if self.spec.preset == RUBRIC:
            return await self._by_rubric(service, matter, words)
        if self.spec.preset == SIMPLEQA:
            if not matter.case.reference:
                msg = f"judge {self.spec.name!r}: the preset simpleqa needs a gold answer"
                raise ScorerError(msg)
            said = await self._ask(service, prompts.simpleqa(matter.case, words))
            return Came(said.verdict.share, said.as_json())
        case = matter.case._replace(reference="") if metric.reference_free else matter.case
        scale = Scale(*scale_of(metric))
        swaps = isinstance(metric, JudgeMetric) and metric.swap_check and bool(case.reference)
        if not swaps:
            said = await self._ask(service, prompts.scored(case, scale, words))
            return Came(said.verdict.share, said.as_json())
        first, second = await _all(
            self._ask(service, prompts.scored(case, scale, words, swapped=swapped))
            for swapped in (False, True)
        )
        return _both_orders(first, second)

    async def _by_rubric(self, service: str, matter: Matter, words: Words) -> Came:
        """The problem's own rubric, whose criteria the judge goes through in one reply."""
        if not (matter.rubric or "").strip():
            msg = (
                f"judge {self.spec.name!r}: the preset rubric needs the rubric of the problem: the "
                "benchmark's scorer gives it, as needs_judge(rubric=…)"
            )
            raise ScorerError(msg)
        said = await self._ask(service, prompts.by_rubric(matter.case, str(matter.rubric), words))
        return Came(said.verdict.share, said.as_json())

    async def _points(self, service: str, matter: Matter, words: Words) -> Came:
        """HealthBench: each criterion is a question of its own."""
        given = matter.row.get("rubrics") if matter.criteria is None else matter.criteria
        criteria = criteria_of(given, f"judge {self.spec.name!r}: rubrics")
        case = matter.case._replace(task=prompts.conversation_text(matter.conversation))
        said = await _all(
            self._ask(service, prompts.criterion(case, each.text, words)) for each in criteria
        )
        met = [one.verdict.label == "true" for one in said]
        points = points_share(criteria, met)
        listed = [
            {
                "criterion": each.text[:_SHOWN],
                "points": each.points,
                "met": is_met,
                "reasoning": one.verdict.reasoning[:_SHOWN],
            }
            for each, is_met, one in zip(criteria, met, said, strict=True)
        ]
        facts: JsonObject = {"points_share": points, "criteria": listed, "model": said[0].model}
        return Came(min(1.0, max(0.0, points)), facts)

    async def _ensemble(self, metric: EnsembleMetric, matter: Matter) -> Came:
        heard: list[Came | NoVerdict] = await asyncio.gather(
            *(self._heard(metric, service, matter) for service in metric.services)
        )
        members: JsonObject = {}
        shares = []
        for service, one in zip(metric.services, heard, strict=True):
            if isinstance(one, NoVerdict):
                members[service] = {"reward": None, "error": str(one)[:_SHOWN]}
            else:
                members[service] = {"reward": one.reward, **one.facts}
                shares.append(one.reward)
        needed = metric.min_judges or len(metric.services)
        failed = [one for one in heard if isinstance(one, NoVerdict)]
        if len(shares) < needed:
            msg = f"{len(shares)} of {len(heard)} judges have a verdict ({needed} needed): "
            raise NoVerdict(
                msg + "; ".join(str(one) for one in failed),
                unreadable=all(one.unreadable for one in failed),
            )
        facts: JsonObject = {"members": members, "agreement": agreement(shares)}
        return Came(aggregated(shares, metric.aggregation), facts)

    async def _heard(
        self, metric: EnsembleMetric, service: str, matter: Matter
    ) -> Came | NoVerdict:
        try:
            return await self._graded(metric, service, matter)
        except NoVerdict as error:
            return error

    async def _pairwise(self, metric: PairwiseMetric, matter: Matter) -> Came:
        baseline = await self._baseline(metric, matter)
        words = Words(metric.rubric, metric.system_prompt)
        orders = (False, True) if metric.swap_check else (False,)
        said = await _all(
            self._ask(
                metric.judge_service, prompts.pair(matter.case, baseline, words, swapped=swapped)
            )
            for swapped in orders
        )
        labels = [str(one.verdict.label) for one in said]
        result = compared(labels[0], labels[1] if len(labels) > 1 else None)
        facts: JsonObject = {
            "verdict": result.result,
            "model": said[0].model,
            "orders": [one.as_json() for one in said],
        }
        if metric.swap_check:
            facts |= {
                "consistent": result.consistent,
                "position_bias": float(result.biased is not None),
                "favours": result.biased,
            }
        return Came(SHARES[result.result], facts)

    async def _baseline(self, metric: PairwiseMetric, matter: Matter) -> str:
        """The answer to compare with."""
        if metric.baseline_field is not None:
            value = matter.row.get(metric.baseline_field)
            if not isinstance(value, str) or not value.strip():
                fields = ", ".join(sorted(matter.row))
                msg = (
                    f"judge {self.spec.name!r}: baseline_field {metric.baseline_field!r} holds no "
                    f"text in this row. Fields: {fields}"
                )
                raise ScorerError(msg)
            return value
        if matter.baseline is not None:
            self.baseline = matter.baseline
            return matter.baseline
        service = str(metric.baseline_service)
        asked = Question("", "", None, lambda _: None, matter.asked)
        reply = await self.panel[BASELINE].reply(asked, self._account(service))
        self.baseline, _ = split_reasoning(reply.content, reply.reasoning_content)
        return self.baseline

    async def _rewarded(self, metric: RewardModelMetric, matter: Matter) -> Came:
        question = prompts.rewarded(
            matter.conversation, matter.case.response, Scale(*metric.score_range)
        )
        said = await self._ask(metric.service, question)
        share = said.verdict.share
        if metric.threshold is None:
            return Came(share, said.as_json())
        passed = share >= metric.threshold
        return Came(float(passed), {**said.as_json(), "share": share, "passed": passed})


def _shown(conversation: Sequence[Message]) -> int:
    """How many parts of its messages are no text, which a judge reads."""
    contents = (message.get("content") for message in conversation)
    parts = [part for content in contents if isinstance(content, list) for part in content]
    texts = [part.get("text") if isinstance(part, Mapping) else None for part in parts]
    return sum(not isinstance(text, str) for text in texts)


def _both_orders(first: Said, second: Said) -> Came:
    shares = [one.verdict.share for one in (first, second)]
    scores = [one.verdict.score for one in (first, second) if one.verdict.score is not None]
    facts: JsonObject = {
        "score": fmean(scores),
        "model": first.model,
        "orders": [first.as_json(), second.as_json()],
        "position_bias": abs(shares[0] - shares[1]),
    }
    return Came(fmean(shares), facts)


async def _all(asked: Iterable[Awaitable[Said]]) -> list[Said]:
    """All of them at once; when one fails the others are still waited for, and counted."""
    found = await asyncio.gather(*asked, return_exceptions=True)
    said = []
    for one in found:
        if isinstance(one, BaseException):
            raise one
        said.append(one)
    return said
