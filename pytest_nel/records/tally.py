"""Sums over records: fed one record at a time, it never holds a response."""

from array import array
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_nel.core.types import JsonObject
from pytest_nel.records.record import total_tokens

_EXEMPLARS = 3


@dataclass(slots=True)
class Tally:
    """What a benchmark's bundle, statistics and checks are made of.

    Rewards of unscored attempts are nowhere in here: they are missing, not 0.
    """

    attempted: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    rewards: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))
    correct: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    categories: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    finish_reasons: Counter[str] = field(default_factory=Counter)
    latencies: list[float] = field(default_factory=list)
    prompt_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0
    tokens: int = 0
    tokens_unknown: int = 0
    truncated: int = 0
    empty: int = 0
    refusals: int = 0
    retries: int = 0
    model_errors: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    exemplars: dict[str, list[JsonObject]] = field(default_factory=lambda: defaultdict(list))
    sampling: list[JsonObject] = field(default_factory=list)
    models: Counter[str] = field(default_factory=Counter)
    cached: int = 0
    made_again: int = 0
    begins: "array[float]" = field(default_factory=lambda: array("d"))
    ends: "array[float]" = field(default_factory=lambda: array("d"))

    @property
    def scored(self) -> int:
        """Attempts that have a reward."""
        return self.attempted - self.outcomes["unscored"]

    @property
    def unscored(self) -> int:
        """Attempts whose reward is missing."""
        return self.outcomes["unscored"]

    @property
    def elapsed(self) -> float:
        """Seconds in which at least one attempt was under way; pauses of a run are none."""
        total, until = 0.0, float("-inf")
        for begin, end in sorted(zip(self.begins, self.ends, strict=True)):
            if end > until:
                total += end - max(begin, until)
                until = end
        return total

    def add(self, solved: Mapping[str, Any], scored: Mapping[str, Any]) -> None:
        """Count one record, given as its two journal objects."""
        self.attempted += 1
        self.outcomes[scored["outcome"]] += 1
        reward = scored.get("reward")
        if reward is not None:
            self._reward(solved, scored, float(reward))
        self._model(solved)
        self._flags(solved, scored)
        if failure := scored.get("failure"):
            self._failure(solved, scored, failure)
        self._span(solved, scored)
        self.cached += bool(solved.get("cached"))
        self.made_again += solved.get("because") in {"wrong", "unparsed"}

    def _reward(self, solved: Mapping[str, Any], scored: Mapping[str, Any], reward: float) -> None:
        problem = solved["problem_idx"]
        self.rewards[problem].append(reward)
        self.correct[problem] += scored["outcome"] == "correct"
        category = (solved.get("seed_metadata") or {}).get("category")
        category = (scored.get("metadata") or {}).get("category", category)
        if category not in (None, ""):
            self.categories[str(category)].append(reward)

    def _model(self, solved: Mapping[str, Any]) -> None:
        self.retries += max(0, int(solved.get("requests") or 1) - 1)
        if not solved.get("has_model"):
            answered = not solved.get("error_kind")  # by a solver that says nothing of its model
            self.tokens_unknown += answered
            return
        self.models[str(solved.get("model", ""))] += 1
        self.finish_reasons[str(solved.get("finish_reason") or "none")] += 1
        if (latency := solved.get("latency_ms")) is not None:
            self.latencies.append(float(latency))
        self.prompt_tokens += solved.get("prompt_tokens") or 0
        self.completion_tokens += solved.get("completion_tokens") or 0
        self.reasoning_tokens += solved.get("reasoning_tokens") or 0
        tokens = total_tokens(solved)
        if tokens is None:
            self.tokens_unknown += 1
        else:
            self.tokens += tokens
        sampling = solved.get("sampling") or {}
        if sampling not in self.sampling and len(self.sampling) < _EXEMPLARS:
            self.sampling.append(dict(sampling))

    def _flags(self, solved: Mapping[str, Any], scored: Mapping[str, Any]) -> None:
        self.model_errors += bool(solved.get("error_kind"))
        if scored["outcome"] == "unscored":  # the rates below are shares of what was scored
            return
        details = scored.get("details") or {}
        self.truncated += solved.get("finish_reason") == "length"
        self.refusals += bool(details.get("refusal"))
        blank = not str(solved.get("response", "")).strip()
        self.empty += bool(solved.get("has_model")) and blank

    def _failure(self, solved: Mapping[str, Any], scored: Mapping[str, Any], failure: str) -> None:
        self.failures[failure] += 1
        if len(self.exemplars[failure]) < _EXEMPLARS:
            self.exemplars[failure].append(
                {
                    "problem_idx": solved["problem_idx"],
                    "repeat": solved["repeat"],
                    "error": str(scored.get("error") or solved.get("error") or "")[:500],
                }
            )

    def _span(self, solved: Mapping[str, Any], scored: Mapping[str, Any]) -> None:
        begin = float(solved.get("started", 0.0))
        millis = float(solved.get("solve_ms", 0.0)) + float(scored.get("verify_ms", 0.0))
        self.begins.append(begin)
        self.ends.append(begin + (millis + float(solved.get("seed_ms", 0.0))) / 1000)
