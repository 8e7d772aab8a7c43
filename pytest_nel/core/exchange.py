"""One exchange with a model endpoint, as interceptors see it, and which attempt it belongs to."""

import asyncio
import itertools
import secrets
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, TypeAlias

from pytest_nel.core.errors import FailureKind, InfraError
from pytest_nel.core.types import AttemptKey, JsonObject, SolveResult

_NUMBERS = itertools.count(1)


@dataclass(slots=True)
class Request:
    """What goes to an endpoint; an interceptor may change it in place.

    Attributes:
        path: Below the service's base, such as ``/chat/completions``.
        body: The JSON object.
        headers: Beyond those that the client sets itself; names in lower case.
    """

    path: str
    body: JsonObject
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Reply:
    """What comes back; an interceptor may change it in place.

    Attributes:
        status: The HTTP status.
        headers: Names in lower case.
        body: The JSON object, or the bytes of what is none.
    """

    status: int
    headers: dict[str, str]
    body: JsonObject | bytes

    @property
    def ok(self) -> bool:
        """Whether the status says success."""
        return 200 <= self.status < 300


class Lost(NamedTuple):
    """How a service, or our proxy, failed a request that was none the worse for it.

    Attributes:
        kind: The failure category.
        what: What happened, in a few words.
        timed_out: Whether it was only slow, which a request may bring about that asks for much.
    """

    kind: FailureKind
    what: str
    timed_out: bool = False


@dataclass(slots=True)
class Usage:
    """What became of the requests of a session, and the tokens of those that were answered.

    Attributes:
        requests: How many were answered.
        unknown: Of how many of these the server did not say what they took.
        prompt: Tokens of the others' prompts.
        completion: Tokens of their answers.
        asked: How many came, whatever became of them.
        refused: How many were themselves at fault, more than the session may ask, or left by the
            client and twice too long for a service that answers others.
        left: How many the client left while their answers came.
        lost: How the service failed the last request that had an outcome; None: it did not.
    """

    requests: int = 0
    unknown: int = 0
    prompt: int = 0
    completion: int = 0
    asked: int = 0
    refused: int = 0
    left: int = 0
    lost: Lost | None = None

    def refuse(self) -> None:
        """Count a request that was itself at fault."""
        self.refused += 1
        self.lost = None

    def add(self, body: object) -> None:
        """Count the body of a reply."""
        self.requests += 1
        self.lost = None
        usage = body.get("usage") if isinstance(body, dict) else None
        said = usage if isinstance(usage, dict) else {}
        prompt = said.get("prompt_tokens", said.get("input_tokens"))
        completion = said.get("completion_tokens", said.get("output_tokens"))
        if type(prompt) is not int or type(completion) is not int:
            self.unknown += 1
            return
        self.prompt += prompt
        self.completion += completion


class Session:
    """The requests of one try of an attempt, or of whatever else belongs together.

    Attributes:
        name: The same in every run and every try: ``gsm8k/17-r0``.
        id: Unlike that of any other session of this process.
        attempt: The attempt, where it is one.
        again: Whether that has been answered before and is to be answered anew.
        usage: What its requests through a proxy took.
        so_far: Tells what the attempt's solver has done, should it be ended before it returns.
        unserved: Tells why what it has left is not to be judged then; None: it is.
        limit: The time of the attempt, where that is known.
    """

    __slots__ = ("_name", "again", "attempt", "id", "limit", "so_far", "unserved", "usage")

    def __init__(
        self, name: str = "", attempt: AttemptKey | None = None, *, again: bool = False
    ) -> None:
        self._name = name
        self.attempt = attempt
        self.again = again
        self.id = next(_NUMBERS)
        self.usage = Usage()
        self.limit: asyncio.Timeout | None = None
        self.forget_progress()

    def forget_progress(self) -> None:
        """What there was of an answer is lost."""
        self.so_far: Callable[[], SolveResult] | None = None
        self.unserved: Callable[[], InfraError | None] = _nothing

    @property
    def name(self) -> str:
        """See the class."""
        key = self.attempt
        if self._name or key is None:
            return self._name
        return f"{key.benchmark}/{key.problem_idx}-r{key.repeat}"

    @property
    def folder(self) -> str:
        """The benchmark's folder in the run directory; ``logs`` where there is none."""
        return "logs" if self.attempt is None else self.attempt.benchmark


def _nothing() -> None:
    """Nothing speaks against judging it."""


_SESSION: ContextVar[Session | None] = ContextVar("nel_session", default=None)


def begin_session(
    key: AttemptKey, *, again: bool = False, limit: asyncio.Timeout | None = None
) -> None:
    """Say that what this task asks from now on belongs to one try of that attempt.

    Args:
        key: The attempt.
        again: See :class:`Session`.
        limit: See :class:`Session`.
    """
    session = Session(attempt=key, again=again)
    session.limit = limit
    _SESSION.set(session)


def keep_progress(
    so_far: Callable[[], SolveResult],
    unserved: Callable[[], InfraError | None] = _nothing,
) -> None:
    """Say how the engine learns what a solver has done when this try is ended before it returns.

    Args:
        so_far: Makes a result of what there is; its response is one that may be judged.
        unserved: Why what it has left is not to be judged, as where no model has had a say.
    """
    session = _SESSION.get()
    if session is not None:
        session.so_far, session.unserved = so_far, unserved


def seconds_left() -> float | None:
    """Seconds that the running attempt has left; None: it has no limit that is known."""
    session = _SESSION.get()
    when = None if session is None or session.limit is None else session.limit.when()
    return None if when is None else when - asyncio.get_running_loop().time()


@contextmanager
def put_off(limit: asyncio.Timeout | None) -> Iterator[None]:
    """Put a limit off by the time that the block takes; one that is over stays so."""
    when = None if limit is None or limit.expired() else limit.when()
    if limit is None or when is None:
        yield
        return
    loop = asyncio.get_running_loop()
    began = loop.time()
    limit.reschedule(None)
    try:
        yield
    finally:
        limit.reschedule(when + loop.time() - began)


def current_session() -> Session | None:
    """The session that the running task belongs to."""
    return _SESSION.get()


@dataclass(slots=True)
class Exchange:
    """What the interceptors of one request tell each other and whoever sent it.

    Attributes:
        session: Whom the request belongs to.
        id: Of this request; 12 hex digits.
        sent: The request as it reached the endpoint, or would have.
        stored: The reply was not asked for but found.
        latency_ms: Milliseconds of the successful request; 0 where nothing was asked.
        lost: How the service failed the request, where it did.
        notes: What an interceptor keeps from the request for the reply, by its own name.
    """

    session: Session | None = None
    id: str = field(default_factory=lambda: secrets.token_hex(6))
    sent: Request | None = None
    stored: bool = False
    latency_ms: float = 0.0
    lost: Lost | None = None
    notes: dict[str, Any] = field(default_factory=dict)  # Any: each interceptor's own


Ask: TypeAlias = Callable[[Request], Awaitable[Reply]]


class Interceptor:
    """Base of all interceptors: a nested ``Config`` and what it does to requests and replies.

    Where one stands follows from its :attr:`stage`, not from where the user wrote it; among those
    of one stage the user's order holds.

    Attributes:
        stage: ``account``: counts what the solver asks and gets. ``shape``: changes requests.
            ``repair``: mends replies. ``store``: may answer in the endpoint's place.
            ``wire``: sees what is really sent and really comes. ``stream``: next to the endpoint.
        on_request: Whether :meth:`request` is to be called.
        on_reply: Whether :meth:`reply` is to be called.
        observes: It changes nothing; a failure of it is logged and does no harm.
        answers: Whether its configuration can change answers.
        streams: What its :meth:`reply` needs of a streamed reply: ``pass``: it may come after
            the client has it; ``tail``: it changes finish reasons only; ``whole``: all of it
            before the client has any.
    """

    stage: ClassVar[Literal["account", "shape", "repair", "store", "wire", "stream"]] = "shape"
    on_request: ClassVar[bool] = False
    on_reply: ClassVar[bool] = False
    observes: ClassVar[bool] = False
    answers: ClassVar[bool] = True
    streams: ClassVar[Literal["pass", "tail", "whole"]] = "whole"

    async def open(self) -> None:
        """Acquire what it needs; called once, before the first request."""

    async def close(self) -> None:
        """Release it; called once, also when :meth:`open` was not."""

    async def request(self, request: Request, exchange: Exchange) -> Request:  # noqa: ARG002 - the role's signature
        """Change a request on its way, or raise GracefulError to refuse it."""
        return request

    async def around(self, request: Request, exchange: Exchange, ask: Ask) -> Reply:  # noqa: ARG002 - the role's signature
        """Answer, or let the endpoint; of stage ``store`` only."""
        return await ask(request)

    async def reply(self, reply: Reply, exchange: Exchange) -> Reply:  # noqa: ARG002 - the role's signature
        """Change a reply on its way back; called for every status."""
        return reply


class Pipeline(Protocol):
    """All interceptors of a service, as the client sees them."""

    fixes_finish_reason: bool

    async def open(self) -> None:
        """Open each of them."""
        ...

    async def close(self) -> None:
        """Close each of them; safe to call twice."""
        ...

    async def run(self, request: Request, exchange: Exchange, ask: Ask) -> Reply:
        """Let a request pass all of them to ``ask``, and its reply all of them back."""
        ...
