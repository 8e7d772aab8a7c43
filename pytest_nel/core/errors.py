"""Our exceptions.

* NelError
  - ConfigError          the run is described wrongly: say where, stop before any call
    + UnknownName        no plugin of that name
    + DataError          a dataset, a row or a prompt template is unusable
  - InfraError           the machinery failed: the attempt is unscored, never wrong
    + EndpointRefused    401, 403, 404: asking again cannot help, the run stops
    + ScorerError        the scorer or verifier failed, the answer was not judged
      . NotJudged        the same, and what is judged may be the reason: that is tried
    + NoVerdict          a judge that is a model was not reached, or said nothing usable
  - GracefulError        the model itself failed (a solver says so): reward 0, no retry
  - NoAnswer             re-scoring, and there is no stored answer to this question
  - RunStopped           asked for an attempt after the engine stopped
    + JournalError       nothing more can be written down, so nothing more is asked
"""

from enum import StrEnum


class FailureKind(StrEnum):
    """Why an attempt has no clean result; the values are those of the reference system."""

    TURN_BUDGET = "turn_budget_exhausted"
    CONTEXT_WINDOW = "context_window_exceeded"
    BUDGET = "budget_exceeded"
    RATE_LIMIT = "rate_limit"
    MODEL_TIMEOUT = "model_timeout"
    SERVER_ERROR = "server_error"
    MODEL_ERROR = "model_error"
    AUTH = "auth_error"
    PROTOCOL = "protocol_error"
    INFRA = "infra_error"
    SOLVE_TIMEOUT = "solve_timeout"
    SCORER = "scorer_error"
    JUDGE = "judge_error"
    SYSTEM = "system"


class NelError(Exception):
    """Anything pytest-nel raises on purpose."""


class ConfigError(NelError):
    """The run is described wrongly; the message says what, where and what to do."""


class UnknownName(ConfigError):
    """No plugin, benchmark or service has that name."""


class DataError(ConfigError):
    """A dataset, a row of it or a prompt template is unusable; the message names file and row."""


class InfraError(NelError):
    """The machinery failed; whoever catches it records the attempt as unscored.

    Attributes:
        kind: The failure category written into the record.
        retryable: Whether asking again within this run may help. Our own HTTP client has
            already retried what it could, so it raises with ``retryable=False``.
        requests: How many HTTP requests were made in vain, where that is known.
        status: The HTTP status of the last of them, where there was one.
    """

    requests: int = 0
    status: int | None = None

    def __init__(
        self, message: str, *, kind: FailureKind = FailureKind.INFRA, retryable: bool = True
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.retryable = retryable


class EndpointRefused(InfraError):
    """The endpoint answered 401, 403 or 404: no other attempt will fare better."""

    def __init__(self, message: str) -> None:
        super().__init__(message, kind=FailureKind.AUTH, retryable=False)


class ScorerError(InfraError):
    """The scorer raised or returned something that is no reward."""

    def __init__(self, message: str) -> None:
        super().__init__(message, kind=FailureKind.SCORER, retryable=False)


class NotJudged(ScorerError):
    """Judging came to no result, and the work that is judged may be the reason.

    An environment raises it where that can stop its tests: the attempt is wrong where it happens
    again and again, and not with the problem's own solution (``leave_solution``); else it is
    unscored.

    Attributes:
        timed_out: Whether its time was up, which this machine's load may have brought about.
    """

    def __init__(self, message: str, *, timed_out: bool = False) -> None:
        super().__init__(message)
        self.timed_out = timed_out


class NoVerdict(InfraError):
    """A judge that is a model gave no verdict: the answer is not judged, and may be later.

    Attributes:
        unreadable: It replied, and no reply held a verdict.
    """

    def __init__(self, message: str, *, unreadable: bool = False) -> None:
        super().__init__(message, kind=FailureKind.JUDGE, retryable=False)
        self.unreadable = unreadable


class GracefulError(NelError):
    """A solver says that the model failed the problem: reward 0, no retry, no scoring."""


class NoAnswer(NelError):
    """Re-scoring asks no model, and the journal has no answer to this question."""


class RunStopped(NelError):
    """The engine no longer takes work; the message is the reason."""


class JournalError(RunStopped):
    """The journal cannot be written (disk full, disk gone): the run ends, what is in it counts."""
