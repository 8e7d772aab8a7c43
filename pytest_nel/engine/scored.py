"""What a verifier said, or why it said nothing, as a judgement."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from pytest_nel.core.errors import FailureKind, InfraError, ScorerError
from pytest_nel.core.types import JsonObject, Outcome, VerifyResult
from pytest_nel.records.record import Scored, Solved
from pytest_nel.scoring.result import to_verify_result


def without_scorer(solved: Solved, pass_at: float) -> Scored | None:
    """The judgement of an attempt that needs no scorer, or None."""
    if solved.failure is not None and solved.graceful:
        details = {"method": "solver", "error": solved.error}
        return Scored("wrong", 0.0, None, details, failure=solved.failure, error=solved.error)
    if solved.failure is not None:
        return Scored("unscored", None, failure=solved.failure, error=solved.error)
    if solved.reward is not None:
        try:
            judged = to_verify_result(
                solved.reward, method="solver", where="the solver", response=solved.response
            )
        except ScorerError as error:
            return no_score(error, time.perf_counter())
        return _as_given_up(solved, judgement(solved, judged, pass_at, time.perf_counter()))
    return None


def _as_given_up(solved: Solved, scored: Scored) -> Scored:
    """Wrong, and why, where a solver says for what reason it has gone no further."""
    kind, why = solved.details.get("error_category"), solved.details.get("error")
    if not kind or scored.reward:
        return scored
    return replace(scored, outcome="wrong", failure=str(kind), error=str(why or kind))


def for_verifier(solved: Solved) -> Mapping[str, Any]:
    """The seed's metadata as keyword arguments; reserved names never shadow the arguments.

    A seed that has ``trajectory`` in it asks for the solver's, which stands in its place.
    """
    reserved = {"self", "response", "expected", "sandbox"}
    facts = {name: value for name, value in solved.metadata.items() if name not in reserved}
    return facts | {"trajectory": solved.trajectory} if "trajectory" in facts else facts


def judgement(solved: Solved, judged: VerifyResult, pass_at: float, began: float) -> Scored:
    """By what a verifier returned; ``began`` is when it was asked (perf_counter)."""
    missed: Outcome = "wrong" if judged.parsed else "unparsed"
    return Scored(
        "correct" if judged.reward >= pass_at else missed,
        judged.reward,
        judged.extracted_answer,
        {**solved.details, **judged.scoring_details},
        judged.metadata,
        verify_ms=(time.perf_counter() - began) * 1000,
    )


def wrong(text: str, began: float) -> Scored:
    """Reward 0 for what the solver has done to its workspace; ``began`` as above."""
    millis = (time.perf_counter() - began) * 1000
    kind = str(FailureKind.MODEL_ERROR)
    details = {"method": "solver", "error": text}
    return Scored("wrong", 0.0, None, details, failure=kind, error=text, verify_ms=millis)


def no_score(error: InfraError, began: float) -> Scored:
    """Missing, since the verifier failed."""
    millis = (time.perf_counter() - began) * 1000
    return Scored("unscored", None, failure=str(error.kind), error=str(error), verify_ms=millis)


def without_secrets(
    scored: Scored, redact: Callable[[str], str], hide: Callable[[str], str] | None = None
) -> Scored:
    """The same with every error masked: that of the verifier and those of further scorers.

    Args:
        scored: What they said.
        redact: Masks an error.
        hide: Masks all else, for a verifier that may have read secrets in a sandbox.
    """
    if hide is not None:
        scored = replace(scored, **{name: _hidden(getattr(scored, name), hide) for name in _SAID})
    said = {name: _masked(name, value, redact) for name, value in scored.details.items()}
    changes: dict[str, Any] = {"details": said} if said != scored.details else {}
    if scored.error is not None:
        changes["error"] = redact(scored.error)
    return replace(scored, **changes) if changes else scored


def hide_in_answer(
    solved: Solved, hide: Callable[[str], str], passed: Callable[[str], str]
) -> None:
    """Take secrets out of what a solver has brought: its sandbox may have been told some.

    What is judged loses only those that it was told: a value of this machine's environment, such
    as ``password``, may be a word of a right answer. Where more of it must not be written,
    ``altered`` says so.

    Args:
        solved: The answer, before anything of it is kept or judged.
        hide: Masks what nobody may see.
        passed: Masks what was handed on into the sandbox and can be no word.
    """
    for name in _BESIDE:
        setattr(solved, name, _hidden(getattr(solved, name), hide))
    for name in _JUDGED:
        value = _hidden(getattr(solved, name), passed)
        setattr(solved, name, value)
        solved.altered = solved.altered or _hidden(value, hide) is not value


def as_written(solved: Solved, hide: Callable[[str], str] | None) -> Solved:
    """An answer for files and people: that which is judged, without any secret."""
    if hide is None or not solved.altered:
        return solved
    return replace(solved, **{name: _hidden(getattr(solved, name), hide) for name in _JUDGED})


_JUDGED = ("response", "reasoning", "trajectory")
_BESIDE = ("model", "details", "error")
_SAID = ("extracted", "details", "metadata", "error")
_DEEPEST = 200


def _hidden(value: Any, hide: Callable[[str], str]) -> Any:  # Any: JSON
    """The very same where there is nothing to hide, which one look at all texts tells."""
    everything = "\n".join(_texts(value))
    return value if hide(everything) == everything else _rewritten(value, hide, 0)


def _texts(value: Any) -> Iterator[str]:  # Any: JSON
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, Mapping):
            left += [*one.keys(), *one.values()]
        elif isinstance(one, list | tuple):
            left += one


def _rewritten(value: Any, hide: Callable[[str], str], depth: int) -> Any:  # Any: JSON
    if isinstance(value, str):
        return hide(value)
    if depth > _DEEPEST:
        return None
    if isinstance(value, Mapping):
        return {
            _rewritten(name, hide, depth): _rewritten(inner, hide, depth + 1)
            for name, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [_rewritten(inner, hide, depth + 1) for inner in value]
    return value


def masked(facts: Mapping[str, Any], redact: Callable[[str], str]) -> JsonObject:
    """What a sandbox's record keeps, its texts without secrets: commands may have printed some."""
    return {name: _text_masked(value, redact) for name, value in facts.items()}


def _text_masked(value: Any, redact: Callable[[str], str]) -> Any:  # Any: JSON
    if isinstance(value, str):
        return redact(value)
    return masked(value, redact) if isinstance(value, Mapping) else value


def _masked(name: str, value: Any, redact: Callable[[str], str]) -> Any:  # Any: JSON
    if name == "error" and isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {key: _masked(str(key), inner, redact) for key, inner in value.items()}
    return value
