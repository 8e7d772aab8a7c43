"""Sums over records: fed one record at a time, it never holds a response."""

from array import array
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_nel.core.types import JsonObject
from pytest_nel.records.columns import (
    CORRECT,
    EMPTY,
    REFUSED,
    TRUNCATED,
    UNPARSED,
    UNSCORED,
    Columns,
)
from pytest_nel.records.failing import failure_of, refused, truncated
from pytest_nel.records.judges import JudgeTally
from pytest_nel.records.record import retries, total_tokens
from pytest_nel.records.sandboxed import SandboxTally
from pytest_nel.records.tool_use import ToolTally

_EXEMPLARS = 3
_MOST_TOKENS = 2**53  # of one reply; beyond, what a solver says is no count


@dataclass(slots=True)
class Tally:
    """What a benchmark's bundle, statistics and checks are made of.

    Rewards of unscored attempts are nowhere in here: they are missing, not 0.

    Attributes:
        columns: What metrics are made of.
        attempted: Records.
        outcomes: How many of each.
        tokens_unknown: Answers whose server, or solver, says nothing of tokens.
        paid_prompt: Prompt tokens of answers that do not come from the cache.
        paid_completion: Their completion tokens.
        paid_unknown: Attempts that may have cost something and do not say how many tokens.
        completion_each: Completion tokens of each reply that says them.
        tokens_each: All its tokens.
        truncated: Of the scored attempts, as ``empty`` and ``refusals``.
        failures: Attempts by failure category.
        unscored_by: The unscored ones among those.
        scorer_failures: Answers on which a further scorer failed, by its name.
        scorer_errors: What it said first.
        judges: What judges said and took.
        sandboxes: What sandboxes took.
        tools: How often tools were called.
        begins: Unix time of each attempt, as ``ends``.
    """

    columns: Columns = field(default_factory=Columns)
    attempted: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    finish_reasons: Counter[str] = field(default_factory=Counter)
    latencies: "array[float]" = field(default_factory=lambda: array("d"))
    prompt_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0
    tokens: int = 0
    tokens_unknown: int = 0
    paid_prompt: int = 0
    paid_completion: int = 0
    paid_unknown: int = 0
    completion_each: "array[float]" = field(default_factory=lambda: array("d"))
    tokens_each: "array[float]" = field(default_factory=lambda: array("d"))
    truncated: int = 0
    empty: int = 0
    refusals: int = 0
    retries: int = 0
    model_errors: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    unscored_by: Counter[str] = field(default_factory=Counter)
    exemplars: dict[str, list[JsonObject]] = field(default_factory=lambda: defaultdict(list))
    sampling: list[JsonObject] = field(default_factory=list)
    models: Counter[str] = field(default_factory=Counter)
    cached: int = 0
    made_again: int = 0
    scorer_failures: Counter[str] = field(default_factory=Counter)
    scorer_errors: dict[str, str] = field(default_factory=dict)
    judges: JudgeTally = field(default_factory=JudgeTally)
    sandboxes: SandboxTally = field(default_factory=SandboxTally)
    tools: ToolTally = field(default_factory=ToolTally)
    begins: "array[float]" = field(default_factory=lambda: array("d"))
    ends: "array[float]" = field(default_factory=lambda: array("d"))

    @classmethod
    def of(cls, repeats: int) -> "Tally":
        """An empty one for a plan with that many repeats."""
        return cls(Columns(votes=repeats > 1))

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
        self.columns.add(solved, scored, self._flags(solved, scored))
        self._model(solved)
        self._paid(solved)
        if failure := failure_of(solved, scored):
            self._failure(solved, scored, failure)
        self._further(scored)
        self.judges.add(scored.get("details") or {})
        self.sandboxes.add(solved, scored)
        self.tools.add(solved)
        self._span(solved, scored)
        self.cached += bool(solved.get("cached"))
        self.made_again += solved.get("because") in {"wrong", "unparsed"}

    def _model(self, solved: Mapping[str, Any]) -> None:
        self.retries += retries(solved)
        if not solved.get("has_model"):
            answered = not solved.get("error_kind")  # by a solver that says nothing of its model
            self.tokens_unknown += answered and not solved.get("no_model")
            return
        self.models[str(solved.get("model", ""))] += 1
        self.finish_reasons[str(solved.get("finish_reason") or "none")] += 1
        if (latency := solved.get("latency_ms")) is not None:
            self.latencies.append(float(latency))
        self._tokens(solved)
        sampling = solved.get("sampling") or {}
        if sampling not in self.sampling and len(self.sampling) < _EXEMPLARS:
            self.sampling.append(dict(sampling))

    def _tokens(self, solved: Mapping[str, Any]) -> None:
        self.prompt_tokens += solved.get("prompt_tokens") or 0
        self.completion_tokens += solved.get("completion_tokens") or 0
        self.reasoning_tokens += solved.get("reasoning_tokens") or 0
        if (completion := solved.get("completion_tokens")) is not None:
            self.completion_each.append(min(completion, _MOST_TOKENS))
        tokens = total_tokens(solved)
        if tokens is None:
            self.tokens_unknown += 1
        else:
            self.tokens += tokens
            self.tokens_each.append(min(tokens, _MOST_TOKENS))

    def _paid(self, solved: Mapping[str, Any]) -> None:
        """What the cache answers was paid by the run that asked.

        Of an attempt that the machinery ended, what its last request took is not known.
        """
        for each in solved.get("lost") or ():
            self._paid_for(each)
        if solved.get("cached") or solved.get("no_model"):
            return
        broken = bool(solved.get("error_kind")) and not solved.get("graceful")
        if self._paid_for(solved) and broken:
            self.paid_unknown += 1

    def _paid_for(self, model: Mapping[str, Any]) -> bool:
        """Whether it says all; what says less is counted among the unknown."""
        prompt, completion = model.get("prompt_tokens"), model.get("completion_tokens")
        self.paid_prompt += prompt or 0
        self.paid_completion += completion or 0
        known = prompt is not None and completion is not None
        self.paid_unknown += not known
        return known

    def _flags(self, solved: Mapping[str, Any], scored: Mapping[str, Any]) -> int:
        outcome = str(scored["outcome"])
        self.model_errors += bool(solved.get("error_kind"))
        if outcome == "unscored":  # the rates below are shares of what was scored
            return UNSCORED
        cut = truncated(solved)
        replied = bool(solved.get("has_model")) and not solved.get("error_kind")
        empty = replied and not str(solved.get("response", "")).strip()
        refuses = refused(solved, scored)
        self.truncated += cut
        self.empty += empty
        self.refusals += refuses
        return (
            CORRECT * (outcome == "correct")
            | UNPARSED * (outcome == "unparsed")
            | TRUNCATED * cut
            | EMPTY * empty
            | REFUSED * refuses
        )

    def _failure(self, solved: Mapping[str, Any], scored: Mapping[str, Any], failure: str) -> None:
        self.failures[failure] += 1
        self.unscored_by[failure] += scored["outcome"] == "unscored"
        if len(self.exemplars[failure]) < _EXEMPLARS:
            said = scored.get("error") or solved.get("error") or solved.get("refusal")
            self.exemplars[failure].append(
                {
                    "problem_idx": solved["problem_idx"],
                    "repeat": solved["repeat"],
                    "error": str(said or solved.get("response", ""))[:500],
                }
            )

    def _further(self, scored: Mapping[str, Any]) -> None:
        for name, reward in (scored.get("scorer_rewards") or {}).items():
            if reward is None:
                self.scorer_failures[name] += 1
                said = (scored.get("details") or {}).get(f"scorer:{name}") or {}
                self.scorer_errors.setdefault(name, str(said.get("error", ""))[:500])

    def _span(self, solved: Mapping[str, Any], scored: Mapping[str, Any]) -> None:
        begin = float(solved.get("started", 0.0))
        millis = float(solved.get("solve_ms", 0.0)) + float(scored.get("verify_ms", 0.0))
        self.begins.append(begin)
        self.ends.append(begin + (millis + float(solved.get("seed_ms", 0.0))) / 1000)
