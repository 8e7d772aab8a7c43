"""The shapes of a finished attempt: what the model did, how it was judged, both together.

They are written one way: as the JSON objects of the journal and of results.jsonl, with the
key names of the reference system.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_nel.core.text import storable
from pytest_nel.core.types import AttemptKey, JsonObject, ModelResponse, Outcome

RESPONSE_LIMIT = 1_000_000
"""Characters of a response that are stored; the scorer sees all of them."""

_MODEL_FIELDS = (
    "model",
    "finish_reason",
    "prompt_tokens",
    "completion_tokens",
    "total_tokens",
    "reasoning_tokens",
    "latency_ms",
    "refusal",
    "requests",
)
_WHERE_THERE = ("tool_calls", "logprobs", "calls")
_TOKEN_FIELDS = ("prompt_tokens", "completion_tokens", "total_tokens", "reasoning_tokens")
_EMPTY: Sequence[Any] = (None, (), {}, [], "")
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_LONGEST_INT = 13_000
"""Bits; Python refuses to write longer integers in decimal (4,300 digits)."""


@dataclass(slots=True)
class Solved:
    """What the model did in one attempt; what the journal holds before it is judged.

    The engine fills it in as the attempt goes on; when it is in the journal, nobody changes it.

    Attributes:
        key: Which attempt.
        problem_id: The problem's name that survives reordering.
        solve_key: Digest of all that determines the answer; empty where that is not known.
        prompt: The rendered user prompt.
        messages: Chat messages where the benchmark gave them itself, else None.
        system: The system prompt the benchmark asked for.
        images: Digests of the pictures that belong to the prompt.
        expected: The gold answer.
        metadata: The seed's metadata.
        response: The answer text, reasoning stripped.
        reasoning: The stripped reasoning or None.
        model: The model call without its text, or None when there was none.
        sampling: Generation parameters as sent.
        trajectory: Steps of an agent.
        details: What the solver wants in scoring_details.
        reward: A reward the solver gave itself; verification is then skipped.
        failure: The failure category when the attempt has no answer.
        error: The failure in words.
        graceful: The model failed, not the machinery: reward 0 instead of unscored.
        started: Unix time when the attempt began.
        seed_ms: Milliseconds to make the prompt.
        solve_ms: Milliseconds from the solver's start to its end, waits included.
        tries: How often the attempt was made in this run because the machinery failed.
        requests: HTTP requests that brought no answer; those of an answer are in ``model``.
        lost: Prompt and completion tokens of each earlier try, where any request was answered.
        cached: The answer comes from the response cache: nobody was asked.
        because: The earlier outcome for whose sake the attempt was made again.
        sandbox: What the solver's sandboxes took, in milliseconds, and what happened in them.
        workspace: What the solver left in its sandbox, where the verifier needs that: a kept
            file with its digest, or ``live``, which no later process can judge.
        judged_in: Digest of what the verifier's sandbox is made of; not written.
        no_model: No model was asked: no tokens were used, which is not that they are unknown.
        limit: Seconds that it was allowed in all, where the solver works in a sandbox.
        altered: What is written lacks secrets that what is judged has: judged again it could be
            judged otherwise.
    """

    key: AttemptKey
    problem_id: str
    solve_key: str = ""
    prompt: str = ""
    messages: Sequence[JsonObject] | None = None
    system: str | None = None
    images: Sequence[str] = ()
    expected: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    response: str = ""
    reasoning: str | None = None
    model: Mapping[str, Any] | None = None
    sampling: Mapping[str, Any] = field(default_factory=dict)
    trajectory: Sequence[JsonObject] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    reward: float | None = None
    failure: str | None = None
    error: str | None = None
    graceful: bool = False
    started: float = 0.0
    seed_ms: float = 0.0
    solve_ms: float = 0.0
    tries: int = 1
    requests: int = 0
    lost: Sequence[Mapping[str, Any]] = ()
    cached: bool = False
    because: str | None = None
    sandbox: Mapping[str, Any] = field(default_factory=dict)
    workspace: Mapping[str, Any] | None = None
    judged_in: str = ""
    no_model: bool = False
    limit: float | None = None
    altered: bool = False

    @property
    def whole(self) -> bool:
        """Whether there is an answer, and the journal holds all of it."""
        there = not (self.workspace or {}).get("live")
        answered = self.failure is None or self.graceful
        as_it_was = not self.altered and len(self.response) <= RESPONSE_LIMIT
        return answered and there and as_it_was

    @property
    def all_requests(self) -> int:
        """HTTP requests made, in vain or not, as far as they are known."""
        return self.requests + (_count((self.model or {}).get("requests")) or 0)

    def as_json(self) -> JsonObject:
        """The journal's ``solved`` object; empty fields are left out."""
        model = self.model or {}
        row: JsonObject = {
            "_type": "solved",
            "problem_idx": self.key.problem_idx,
            "repeat": self.key.repeat,
            "solve_key": self.solve_key,
            "answered": self.whole,
            "because": self.because,
            "problem_id": self.problem_id,
            "prompt": self.prompt,
            "messages": self.messages,
            "system": self.system,
            "images": self.images,
            "expected_answer": self.expected,
            "seed_metadata": self.metadata,
            "response": self.response[:RESPONSE_LIMIT],
            "response_chars": len(self.response) if len(self.response) > RESPONSE_LIMIT else None,
            "reasoning": self.reasoning[:RESPONSE_LIMIT] if self.reasoning else None,
            "sampling": self.sampling,
            "trajectory": self.trajectory,
            "details": self.details,
            "reward": self.reward,
            "error": self.error,
            "error_kind": self.failure,
            "graceful": self.graceful or None,
            "started": round(self.started, 3),
            "seed_ms": round(self.seed_ms, 2),
            "solve_ms": round(self.solve_ms, 2),
            "tries": self.tries,
            "lost": self.lost,
            "cached": self.cached or None,
            "no_model": self.no_model or None,
            "sandbox": self.sandbox,
            "workspace": self.workspace,
            "limit": self.limit,
            "altered": self.altered or None,
        }
        row.update(model)
        row["requests"] = self.all_requests or None
        row["has_model"] = self.model is not None
        return {key: value for key, value in row.items() if value or value not in _EMPTY}

    @classmethod
    def from_json(cls, row: Mapping[str, Any], benchmark: str) -> "Solved":
        """What :meth:`as_json` has written."""
        model = {name: row[name] for name in (*_MODEL_FIELDS, *_WHERE_THERE) if name in row}
        has_model = bool(row.get("has_model"))
        return cls(
            key=AttemptKey(benchmark, int(row["problem_idx"]), int(row["repeat"])),
            problem_id=row.get("problem_id", ""),
            solve_key=row.get("solve_key", ""),
            prompt=row.get("prompt", ""),
            messages=row.get("messages"),
            system=row.get("system"),
            images=row.get("images", ()),
            expected=row.get("expected_answer", ""),
            metadata=row.get("seed_metadata", {}),
            response=row.get("response", ""),
            reasoning=row.get("reasoning"),
            model=model if has_model else None,
            sampling=row.get("sampling", {}),
            trajectory=row.get("trajectory", ()),
            details=row.get("details", {}),
            reward=row.get("reward"),
            failure=row.get("error_kind"),
            error=row.get("error"),
            graceful=bool(row.get("graceful")),
            started=row.get("started", 0.0),
            seed_ms=row.get("seed_ms", 0.0),
            solve_ms=row.get("solve_ms", 0.0),
            tries=row.get("tries", 1),
            requests=0 if has_model else row.get("requests", 0),
            lost=row.get("lost", ()),
            cached=bool(row.get("cached")),
            because=row.get("because"),
            sandbox=row.get("sandbox", {}),
            workspace=row.get("workspace"),
            no_model=bool(row.get("no_model")),
            limit=row.get("limit"),
            altered=bool(row.get("altered")),
        )


def _count(value: object) -> int | None:
    """A number of tokens; what a solver of somebody's own says otherwise is unknown."""
    fits = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return int(value) if fits else None  # type: ignore[call-overload]  # it is an int here


def _millis(value: object) -> float | None:
    fits = isinstance(value, int | float) and math.isfinite(value) and value >= 0
    return round(float(value), 2) if fits else None  # type: ignore[arg-type]  # as above


def model_facts(response: ModelResponse) -> JsonObject:
    """What is kept of a reply beside its text."""
    facts = {name: getattr(response, name) for name in _MODEL_FIELDS}
    facts |= {name: _count(facts[name]) for name in _TOKEN_FIELDS}
    facts["latency_ms"] = _millis(response.latency_ms)
    if response.tool_calls:
        facts["tool_calls"] = list(response.tool_calls)
    if response.logprobs:
        facts["logprobs"] = response.logprobs
    if (calls := _count(response.calls) or 1) > 1:
        facts["calls"] = calls
    return facts


@dataclass(frozen=True, slots=True)
class Scored:
    """The judgement of one attempt.

    Attributes:
        outcome: correct, wrong, unparsed or unscored.
        reward: In [0, 1]; None exactly when the attempt is unscored.
        scorer_rewards: Of further scorers by name; None where one failed: missing, not 0.
        extracted: What the scorer took as the answer.
        details: scoring_details of the record.
        metadata: What the verifier adds to the record's metadata.
        failure: Failure category or None.
        error: The failure in words.
        verify_ms: Milliseconds the judgement took.
        score_key: Digest of the answer's key and of all that determines its judgement.
        sandbox: What the verifier's sandboxes took, in milliseconds.
    """

    outcome: Outcome
    reward: float | None
    extracted: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    failure: str | None = None
    error: str | None = None
    verify_ms: float = 0.0
    score_key: str = ""
    scorer_rewards: Mapping[str, float | None] = field(default_factory=dict)
    sandbox: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self, key: AttemptKey) -> JsonObject:
        """The journal's ``scored`` object."""
        row: JsonObject = {
            "_type": "scored",
            "problem_idx": key.problem_idx,
            "repeat": key.repeat,
            "score_key": self.score_key or None,
            "outcome": self.outcome,
            "reward": self.reward,
            "scorer_rewards": self.scorer_rewards,
            "extracted": self.extracted,
            "details": self.details,
            "metadata": self.metadata,
            "failure": self.failure,
            "error": self.error,
            "verify_ms": round(self.verify_ms, 2),
            "sandbox": self.sandbox,
        }
        return {name: value for name, value in row.items() if value not in (None, {})}

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> "Scored":
        """What :meth:`as_json` has written."""
        return cls(
            outcome=row["outcome"],
            reward=row.get("reward"),
            extracted=row.get("extracted"),
            details=row.get("details", {}),
            metadata=row.get("metadata", {}),
            failure=row.get("failure"),
            error=row.get("error"),
            verify_ms=row.get("verify_ms", 0.0),
            score_key=row.get("score_key", ""),
            scorer_rewards=row.get("scorer_rewards", {}),
            sandbox=row.get("sandbox", {}),
        )


@dataclass(frozen=True, slots=True)
class StepRecord:
    """A finished attempt."""

    solved: Solved
    scored: Scored

    @property
    def tokens(self) -> int | None:
        """Total tokens, None where the server reported none."""
        return 0 if self.solved.no_model else total_tokens(self.solved.model or {})

    @property
    def latency_ms(self) -> float | None:
        """Of the successful request, None when there was none."""
        return (self.solved.model or {}).get("latency_ms")

    @property
    def retries(self) -> int:
        """HTTP requests that repeated another."""
        return retries({**(self.solved.model or {}), "requests": self.solved.all_requests})


def retries(solved: Mapping[str, Any]) -> int:
    """HTTP requests that repeated another: further turns of an agent are none.

    Args:
        solved: As the journal has it.
    """
    return max(0, int(solved.get("requests") or 1) - int(solved.get("calls") or 1))


def total_tokens(model: Mapping[str, Any]) -> int | None:
    """Total tokens of a reply; the sum of its parts where the server gave only those.

    Unknown is not 0: with one part unknown so is the sum. It is 0 where no model was asked.
    """
    if model.get("no_model"):
        return 0
    total = model.get("total_tokens")
    if total is not None:
        return int(total)
    prompt, completion = model.get("prompt_tokens"), model.get("completion_tokens")
    return None if prompt is None or completion is None else int(prompt) + int(completion)


def dumps(value: Any) -> str:  # Any: a JSON-like value
    """Strict JSON on one line; what JSON cannot say (NaN, sets, …) becomes null or text."""
    try:
        return _ENCODER.encode(value)
    except (TypeError, ValueError, RecursionError):
        return json.dumps(strict(value), ensure_ascii=False, separators=(",", ":"))


def indented(value: Any) -> str:  # Any: a JSON-like value
    """As :func:`dumps`, on many lines with a line end, and without lone surrogates."""
    return storable(json.dumps(strict(value), indent=2, ensure_ascii=False)) + "\n"


def strict(value: Any, depth: int = 0) -> Any:  # Any: walks JSON-like values
    """What strict JSON can say of a value: no NaN, nothing very large, and nothing very deep.

    Args:
        value: A JSON-like one.
        depth: How deep it lies in another.
    """
    if isinstance(value, int) and value.bit_length() > _LONGEST_INT:
        return hex(value)
    if value is None or isinstance(value, str | bool | int):
        return value
    plain: Any
    if isinstance(value, float):
        plain = value if math.isfinite(value) else None
    elif depth > 50:
        plain = "…"
    elif isinstance(value, Mapping):
        plain = {str(key): strict(item, depth + 1) for key, item in value.items()}
    elif isinstance(value, set | frozenset):
        plain = [strict(item, depth + 1) for item in sorted(value, key=repr)]
    elif isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        plain = [strict(item, depth + 1) for item in value]
    else:
        plain = str(value)
    return plain
