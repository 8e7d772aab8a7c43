"""What a user's scorer returned, as a VerifyResult, or a ScorerError that says what is wrong."""

import inspect
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NoReturn

from pytest_nel.core.errors import ScorerError
from pytest_nel.core.types import VerifyResult
from pytest_nel.scoring.plain import plain

_RESERVED = frozenset({"reward", "extracted", "parsed", "unparsed"})


def to_verify_result(returned: object, *, method: str, where: str, response: str) -> VerifyResult:
    """Normalise a scorer's return value.

    * A ``VerifyResult`` is checked and made JSON-safe.
    * A dict: ``reward``, else ``correct`` (1.0 or 0.0); ``extracted``; ``parsed`` or
      ``unparsed``; everything else goes into ``scoring_details``. ``extracted: None`` with
      reward 0 means unparsed.
    * A bool or a number is the reward.
    * A blank response never earns a reward: it is unparsed, and the details say what was given.

    Args:
        returned: What the scorer returned.
        method: ``scoring_details["method"]`` where the scorer names none.
        where: Which scorer on which row, for messages.
        response: The response that was judged.

    Raises:
        ScorerError: No reward in [0, 1] can be read from it, or it contradicts itself.
    """
    if isinstance(returned, VerifyResult):
        result = _checked(returned, method, where)
    elif isinstance(returned, Mapping):
        result = _from_dict(returned, method, where)
    else:
        reward = _reward(returned, "the returned value", where)
        result = VerifyResult(reward=reward, scoring_details={"method": method})
    return _never_for_nothing(result, response)


def _checked(result: VerifyResult, method: str, where: str) -> VerifyResult:
    reward = _reward(result.reward, "reward", where)
    if reward > 0 and not result.parsed:
        _fail(where, f"parsed=False with reward {reward}", "an unparsed answer has reward 0")
    for name in ("scoring_details", "metadata"):
        if not isinstance(getattr(result, name), Mapping):
            _fail(where, f"{name}={getattr(result, name)!r}", "it must be a dict")
    details = {"method": method, **plain(result.scoring_details)}
    _check_correct(result.scoring_details.get("correct"), reward, where)
    return VerifyResult(
        reward=reward,
        extracted_answer=_extracted(result.extracted_answer),
        scoring_details=details,
        metadata=plain(result.metadata),
        parsed=bool(result.parsed),
    )


def _from_dict(returned: Mapping[Any, Any], method: str, where: str) -> VerifyResult:
    correct = returned.get("correct")
    if returned.get("reward") is not None or "correct" not in returned:
        if "reward" not in returned:
            _fail(
                where,
                f"a dict with the keys {sorted(map(str, returned))}",
                "it must hold 'reward' or 'correct'",
            )
        reward = _reward(returned["reward"], "'reward'", where)
        _check_correct(correct, reward, where)
    else:
        reward = 1.0 if _truth(correct, where) else 0.0
    parsed = _parsed(returned, reward, where)
    details = {str(key): value for key, value in returned.items() if key not in _RESERVED}
    return VerifyResult(
        reward=reward,
        extracted_answer=_extracted(returned.get("extracted")) if parsed else None,
        scoring_details={"method": method, **plain(details)},
        parsed=parsed,
    )


def _parsed(returned: Mapping[Any, Any], reward: float, where: str) -> bool:
    if "parsed" in returned:
        parsed = bool(returned["parsed"])
        if "unparsed" in returned and bool(returned["unparsed"]) == parsed:
            _fail(where, "parsed and unparsed alike", "return one of them")
    elif "unparsed" in returned:
        parsed = not returned["unparsed"]
    else:
        parsed = not ("extracted" in returned and returned["extracted"] is None and reward == 0)
    if not parsed and reward > 0:
        _fail(where, f"unparsed with reward {reward}", "an unparsed answer has reward 0")
    return parsed


def _reward(value: object, name: str, where: str) -> float:
    if inspect.iscoroutine(value):
        value.close()  # or Python warns that it was never awaited
        _fail(where, f"{name} is a coroutine", "the scorer is async: await what it calls")
    if value is None or isinstance(value, str | bytes) or not hasattr(value, "__float__"):
        _fail(where, f"{name} is {_short(value)}", "it must be a number from 0 to 1, or a bool")
    try:
        reward = float(value)
    except (TypeError, ValueError, OverflowError) as error:
        msg = f"{where}: {name} is {_short(value)}, which is no number from 0 to 1: {error}"
        raise ScorerError(msg) from error
    if not math.isfinite(reward) or not 0.0 <= reward <= 1.0:
        _fail(where, f"{name} is {_short(value)}", "it must be a number from 0 to 1")
    return reward


def _truth(value: object, where: str) -> bool:
    """``correct`` as a bool; numbers 0 and 1 (of numpy too) count, anything else is a mistake."""
    number = _reward(value, "'correct'", where)
    if number not in (0.0, 1.0):
        _fail(where, f"'correct' is {number}", "it must be true or false; return 'reward' instead")
    return number == 1.0


def _check_correct(correct: object, reward: float, where: str) -> None:
    if correct is None:
        return
    truth = _truth(correct, where)
    if truth != (reward > 0) and (truth or reward == 1.0):
        _fail(where, f"'correct' is {truth} and 'reward' is {reward}", "they contradict each other")


def _never_for_nothing(result: VerifyResult, response: str) -> VerifyResult:
    if response.strip():
        return result
    details = dict(result.scoring_details)
    if result.reward > 0:
        details["note"] = f"reward {result.reward} refused: the response is empty"
        details.pop("correct", None)
    return replace(result, reward=0.0, extracted_answer=None, parsed=False, scoring_details=details)


def _extracted(value: object) -> str | None:
    return None if value is None else value if type(value) is str else str(plain(value))


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _fail(where: str, what: str, wanted: str) -> NoReturn:
    msg = f"{where}: the scorer returned {what}; {wanted}"
    raise ScorerError(msg)
