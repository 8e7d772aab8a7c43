"""What a failure text or status means: ordered rules, the first that fits decides."""

import re
from http import HTTPStatus

from pytest_nel.core.errors import FailureKind

# A status counts only behind such a word: digits inside ids and hashes are no status.
_MARKED = re.compile(
    r"(?<![\w-])(?:status_code=|status code:? |status: |status |error code: |http/[0-9.]+ |http )"
    r"([1-5][0-9]{2})(?![\w-])"
)
_LEADING = re.compile(r"([1-5][0-9]{2})(?![0-9])(.*)", re.DOTALL)
_NO_ALNUM = re.compile(r"[^a-z0-9]+")

_TURNS = ("turn budget exhausted", "turn budget exceeded", "turn_budget_exhausted")
_CONTEXT = (
    "contextwindowexceedederror",
    "context_length_exceeded",
    "context window exceeded",
    "context length exceeded",
    "context length is exceeded",
    "model's context length",
    "maximum context length",
    "maximum context",
    "too many tokens",
)
_BUDGET = (
    "budgetexceedederror",
    "session_budget_exhausted",
    "token budget",
    "budget exceeded",
    "budget exhausted",
    "budget has been exceeded",
)
_RATE = ("ratelimiterror", "rate_limit", "rate limit", "too many requests", "toomanyrequests")
_GATEWAY = ("gateway timeout", "upstream timeout", "upstream timed out")
_TIMEOUT = (
    "timeouterror",
    "timeoutexception",
    "readtimeout",
    "writetimeout",
    "connecttimeout",
    "pooltimeout",
    "timeout:",
    "timeout error",
    "request timed out",
    "request timeout",
    "read timeout",
    "read timed out",
    "connect timeout",
    "connection timed out",
    "deadline exceeded",
)
_SERVER = (
    "connectionerror",
    "connecterror",
    "connectionreset",
    "readerror",
    "writeerror",
    "remoteprotocolerror",
    "serverdisconnected",
    "serviceunavailableerror",
    "internalservererror",
    "badgatewayerror",
    "apierror",
    "bad gateway",
    "connection reset",
    "connection refused",
    "connection error",
    "connection aborted",
    "server disconnected",
    "internal server error",
    "service unavailable",
    "overloaded",
)
_MODEL = (
    "badrequesterror",
    "authenticationerror",
    "permissiondeniederror",
    "notfounderror",
    "unprocessableentityerror",
    "contentpolicyviolationerror",
    "invalidrequesterror",
    "invalid_request_error",
    "bad request",
    "invalid request",
    "malformed",
    "tool call",
)


def status_in(text: str) -> int | None:
    """The HTTP status that a message states, or None.

    It counts behind a word such as ``status code`` or ``HTTP``, or at the start of the text when
    its standard phrase follows (``502 Bad Gateway``).
    """
    low = text.lower()
    if marked := _MARKED.search(low):
        return int(marked[1])
    if (leading := _LEADING.match(low.lstrip())) and leading[1] in _PHRASES:
        rest = _NO_ALNUM.sub("", leading[2])
        return int(leading[1]) if rest.startswith(_PHRASES[leading[1]]) else None
    return None


_PHRASES = {str(s.value): _NO_ALNUM.sub("", s.phrase.lower()) for s in HTTPStatus}


def classify(text: str, status: int | None = None) -> FailureKind | None:
    """The failure category of an error text and its HTTP status.

    Args:
        text: The server's message or an exception's name and text.
        status: The HTTP status; None means: the one the text states, if any.

    Returns:
        None when nothing fits.
    """
    low = text.lower()
    code = status if status is not None else status_in(text)
    if code == 504:
        return FailureKind.SERVER_ERROR
    for kind, codes, phrases in _RULES:
        if code in codes or any(phrase in low for phrase in phrases):
            return kind
    if code is not None and not 200 <= code <= 399:
        return FailureKind.MODEL_ERROR
    return None


_NONE: frozenset[int] = frozenset()
_RULES = (
    (FailureKind.TURN_BUDGET, _NONE, _TURNS),
    (FailureKind.CONTEXT_WINDOW, _NONE, _CONTEXT),
    (FailureKind.BUDGET, _NONE, _BUDGET),
    (FailureKind.RATE_LIMIT, frozenset({429}), _RATE),
    (FailureKind.SERVER_ERROR, _NONE, _GATEWAY),
    (FailureKind.MODEL_TIMEOUT, frozenset({408}), _TIMEOUT),
    (FailureKind.SERVER_ERROR, frozenset(range(500, 600)), _SERVER),
    (FailureKind.MODEL_ERROR, frozenset({400}), _MODEL),
)
