"""Whether an agent had its model: what one without it leaves says nothing about the model."""

from pytest_nel.core.errors import FailureKind, InfraError
from pytest_nel.core.exchange import Usage
from pytest_nel.core.sandbox import ExecResult
from pytest_nel.solvers._agent_folder import AgentFolder

_SHOWN = 500  # characters of what it said


def unanswered(agent: AgentFolder, ran: ExecResult, usage: Usage) -> InfraError | None:
    """Why an agent is not to be judged that failed for want of its model's answers; None: it is.

    Only a failure of the service counts, and only of the last request: a model that has been
    asked before could otherwise bring about one that spares it a bad score. (That a request which
    it left took too long counts only where the service answers nothing else either: the proxy
    sees to that.) One that ended well
    after answers is judged by its work. Of an agent that was not answered once the model had no
    say at all: that is judged only where it wanted nothing of a model, or where its requests were
    themselves at fault.
    """
    if usage.lost is not None and undecided(ran, usage):
        return _unserved(agent, ran, usage)
    if usage.requests or usage.refused or usage.left or agent.asks_model is False:
        return None
    if _well(ran) and not usage.asked and agent.asks_model is None:
        return None
    waited = f"none of its {usage.asked} requests had an answer" if usage.asked else "it never did"
    msg = (
        f"agent {agent.name} is to ask its model, and {waited} ({_ended(ran)}): {_said(ran)}; one "
        "that asks none by design says asks_model = false in its agent.toml"
    )
    return InfraError(msg)


def undecided(ran: ExecResult, usage: Usage) -> bool:
    """Whether what becomes of an agent's last requests says if it is judged."""
    return not (_well(ran) and usage.requests)


def _unserved(agent: AgentFolder, ran: ExecResult, usage: Usage) -> InfraError:
    assert usage.lost is not None
    kind, what, _ = usage.lost
    refused = kind is FailureKind.AUTH
    if refused and usage.requests:  # a key that has just been good is no reason to end the run
        kind = FailureKind.INFRA
    which = "the last request" if usage.requests else "each request that had an outcome"
    msg = f"agent {agent.name} ({_ended(ran)}): the model's service failed {which}: {what}"
    return InfraError(msg, kind=kind, retryable=not refused)


def _well(ran: ExecResult) -> bool:
    return ran.return_code == 0 and not ran.timed_out


def _ended(ran: ExecResult) -> str:
    return "its time was up" if ran.timed_out else f"exit {ran.return_code}"


def _said(ran: ExecResult) -> str:
    return (ran.stderr or ran.stdout).strip()[-_SHOWN:] or "it said nothing"
