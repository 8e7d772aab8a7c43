"""Attempts that end before their solver returns: what it had done by then is kept, and paid."""

from dataclasses import replace

from pytest_nel.core.errors import FailureKind, GracefulError, InfraError
from pytest_nel.core.exchange import current_session
from pytest_nel.core.types import CUT, WORKED
from pytest_nel.engine.answered import answered, failed
from pytest_nel.engine.lazy_sandbox import Ledger
from pytest_nel.engine.lifecycle import Workplace
from pytest_nel.engine.user_code import says
from pytest_nel.records.record import Solved


def ended(solved: Solved, kind: FailureKind, text: str) -> None:
    """Note why there is no answer, and what of one there was."""
    _take(solved, with_text=False)
    failed(solved, kind, text)


def lost(solved: Solved, ledger: Ledger) -> None:
    """Begin again: nothing of this try counts but what it has cost."""
    ledger.begin_again()
    _take(solved, with_text=False)
    if solved.model is not None and not solved.cached:
        solved.requests += int(solved.model.get("requests") or 0)
        solved.lost = [*solved.lost, {name: solved.model.get(name) for name in _TOKENS}]
    solved.response, solved.reasoning, solved.model, solved.reward = "", None, None, None
    solved.trajectory, solved.details, solved.cached = (), {}, False
    if (session := current_session()) is not None:
        session.forget_progress()  # should the time be up before the next try begins


async def out_of_time(solved: Solved, place: Workplace, text: str) -> None:
    """The agent's own commands took the time: what it has left is judged, or it is wrong.

    Where its solver knows why that is not to be judged, it is unscored for that reason.
    """
    session = current_session()
    why = None if session is None or _returned(solved) else session.unserved()
    if why is not None:
        ended(solved, why.kind, str(why))
        return
    kind, text = FailureKind.SOLVE_TIMEOUT, f"{text}: commands in the sandbox took most of it"
    _take(solved, with_text=place.judges)
    solved.details = {**solved.details, CUT: True}
    if not place.judges:
        solved.graceful = True
        failed(solved, kind, text)
        return
    solved.response = solved.response or WORKED
    solved.details = {**solved.details, "error_category": str(kind), "error": text}
    try:
        await place.leave(solved)
    except GracefulError as error:
        solved.graceful = True
        failed(solved, FailureKind.MODEL_ERROR, says(error))
    except InfraError as error:
        failed(solved, error.kind, str(error))


_TOKENS = ("prompt_tokens", "completion_tokens")


def _take(solved: Solved, *, with_text: bool) -> None:
    """What the solver of this try says it has so far, unless it has returned."""
    session = current_session()
    if _returned(solved) or session is None or session.so_far is None:
        return
    made = session.so_far()
    answered(solved, made if with_text else replace(made, response=""))
    if made.model_response is not None:
        solved.model = {**(solved.model or {}), "latency_ms": None}  # there is none of an answer


def _returned(solved: Solved) -> bool:
    return bool(solved.model is not None or solved.trajectory or solved.details)
