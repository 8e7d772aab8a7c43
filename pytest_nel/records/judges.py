"""What the judges of a benchmark said and took, summed up: verdicts, bias, tokens, money."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_nel.core.money import costs
from pytest_nel.core.types import JsonObject

_CORRECT, _INCORRECT = "CORRECT", "INCORRECT"
_SUMMED = (
    *("calls", "cached", "requests", "prompt_tokens", "completion_tokens", "without_usage"),
    *("unreadable", "latency_ms"),
)
_MEANS = ("position_bias", "agreement")


@dataclass(slots=True)
class OneJudge:
    """Sums over the judgements of one metric.

    Attributes:
        verdicts: How often each grade was given.
        means: Count and sum of what is averaged, by name.
        inconsistent: Comparisons whose two orders contradict each other.
        lost: Answers without a verdict.
        unreadable: Those of them whose judge replied, but never with a verdict.
        preset: Which grader it is.
    """

    verdicts: Counter[str] = field(default_factory=Counter)
    means: dict[str, tuple[int, float]] = field(default_factory=dict)
    inconsistent: int = 0
    lost: int = 0
    unreadable: int = 0
    preset: str = ""

    def add(self, said: Mapping[str, Any]) -> None:
        """Count a judgement, given as its details."""
        self.preset = str(said.get("preset") or self.preset)
        if said.get("reward") is None:
            self.lost += 1
            self.unreadable += bool(said.get("unreadable"))
            return
        if isinstance(verdict := said.get("verdict"), str):
            self.verdicts[verdict] += 1
        self.inconsistent += said.get("consistent") is False
        for name in _MEANS:
            if isinstance(value := said.get(name), int | float):
                count, total = self.means.get(name, (0, 0.0))
                self.means[name] = (count + 1, total + float(value))

    def as_json(self) -> JsonObject:
        """What joins the metric in the bundle."""
        facts: JsonObject = {}
        if self.verdicts:
            facts["verdicts"] = dict(sorted(self.verdicts.items()))
        if self.preset == "simpleqa" and self.verdicts:
            facts |= simpleqa(self.verdicts)
        for name, (count, total) in sorted(self.means.items()):
            facts[name] = round(total / count, 6)
        if self.inconsistent:
            facts["n_inconsistent"] = self.inconsistent
        if self.unreadable:
            facts["n_unreadable"] = self.unreadable
        return facts


def simpleqa(verdicts: Mapping[str, int]) -> JsonObject:
    """The field's own measures for SimpleQA (Wei et al. 2024).

    ``accuracy_given_attempted`` is the share of correct answers among those attempted;
    ``f_score`` its harmonic mean with the share of correct answers among all.
    """
    correct, total = verdicts.get(_CORRECT, 0), sum(verdicts.values())
    attempted = correct + verdicts.get(_INCORRECT, 0)
    given = correct / attempted if attempted else None
    overall = correct / total
    f_score = 0.0 if not given else 2 * given * overall / (given + overall)
    return {
        "accuracy_given_attempted": None if given is None else round(given, 6),
        "f_score": round(f_score, 6),
    }


@dataclass(slots=True)
class JudgeTally:
    """Sums over all judges of a benchmark.

    Attributes:
        metrics: By metric.
        spent: By service: what its replies have cost.
        models: By service: the name that its model reports.
    """

    metrics: dict[str, OneJudge] = field(default_factory=dict)
    spent: dict[str, dict[str, float]] = field(default_factory=dict)
    models: dict[str, str] = field(default_factory=dict)

    def add(self, details: Mapping[str, Any]) -> None:
        """Count what judges say in the details of a record."""
        for key, said in details.items():
            if not key.startswith("scorer:") or not isinstance(said, Mapping):
                continue
            if isinstance(spent := said.get("spent"), Mapping):
                self.metrics.setdefault(key, OneJudge()).add(said)
                for service, took in spent.items():
                    self._spend(service, took)

    def _spend(self, service: str, took: Mapping[str, Any]) -> None:
        sums = self.spent.setdefault(service, dict.fromkeys(_SUMMED, 0))
        for name in _SUMMED:
            sums[name] += took.get(name) or 0
        self.models[service] = str(took.get("model") or self.models.get(service, ""))

    @property
    def lost(self) -> int:
        """Judgements without a verdict."""
        return sum(one.lost for one in self.metrics.values())

    @property
    def unreadable(self) -> int:
        """Those of them whose judge replied, but never with a verdict."""
        return sum(one.unreadable for one in self.metrics.values())

    def runtime(self, prices: Mapping[str, Any]) -> JsonObject:
        """What each service took; ``prices`` by service."""
        return {
            service: _took(sums, self.models[service], prices.get(service))
            for service, sums in sorted(self.spent.items())
        }

    def counts(self) -> JsonObject:
        """What joins the counts of a bundle; nothing where no model judged."""
        if not self.metrics:
            return {}
        return {"n_judge_failures": self.lost, "n_judge_unreadable": self.unreadable}


def _took(sums: Mapping[str, float], model: str, prices: Mapping[str, Any] | None) -> JsonObject:
    calls, cached = int(sums["calls"]), int(sums["cached"])
    prompt, completion = int(sums["prompt_tokens"]), int(sums["completion_tokens"])
    facts: JsonObject = {
        "model": model,
        "calls": calls,
        "cached_replies": cached,
        "requests": int(sums["requests"]),
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "replies_without_usage": int(sums["without_usage"]),
        "unreadable_replies": int(sums["unreadable"]),
        "mean_latency_ms": _mean(sums["latency_ms"], calls - cached),
    }
    if prices is not None:
        of_prompt, of_completion = costs(prompt, completion, prices)
        facts["cost"] = {
            "total": round(of_prompt + of_completion, 6),
            "prompt": round(of_prompt, 6),
            "completion": round(of_completion, 6),
            "currency": str(prices["currency"]),
        }
    return facts


def _mean(total: float, count: int) -> float | None:
    return round(total / count, 2) if count else None
