"""What went wrong with one request, and whether asking again may help."""

import ssl

import httpx

from pytest_nel.core.errors import FailureKind
from pytest_nel.core.types import Endpoint
from pytest_nel.http._h1 import ReplyTooLarge
from pytest_nel.http.failures import classify
from pytest_nel.http.openai import BadReply, error_message, one_line
from pytest_nel.http.retry import FINAL, Fault, parse_retry_after
from pytest_nel.http.whole import Whole

REFUSED = frozenset({401, 403, 404})
DEADLINE = "time-out"
_TOO_LONG = frozenset({DEADLINE, "ReadTimeout"})
"""The reason of a fault that took all of the service's time."""
_SLOW = frozenset({408, 504, 524})
_NO_ENTRY = frozenset({401, 403})
THROTTLED = frozenset({429, 503})
_RETRYABLE = frozenset({408, 409, 429, *range(500, 600)})


def of_response(response: Whole, now: float) -> Fault:
    """The fault behind a response outside 2xx; ``now`` is Unix time, for Retry-After dates."""
    status = response.status
    detail = error_message(response.content)
    if 300 <= status < 400:
        place = one_line(response.headers.get("location", "nowhere").split("?")[0])
        detail = f"redirect to {place}: put the final URL into the configuration"
    told = parse_retry_after(response.headers.get("retry-after"), now)
    return _of_status(status, f"HTTP {status}", detail, told)


def of_bad_reply(error: BadReply, response: Whole, now: float) -> Fault:
    """The fault behind a 2xx response that holds no answer; ``now`` as for :func:`of_response`."""
    detail = str(error)
    told = parse_retry_after(response.headers.get("retry-after"), now)
    if error.status is not None:
        return _of_status(error.status, f"error {error.status} in a 200 reply", detail, told)
    if not error.stated:
        return Fault(FailureKind.PROTOCOL, "protocol error", detail)
    kind = classify(detail)
    if kind is FailureKind.RATE_LIMIT:
        return _of_status(429, "error in a 200 reply", detail, told)
    final = kind in FINAL or kind is FailureKind.MODEL_ERROR
    return Fault(kind or FailureKind.PROTOCOL, "error in a 200 reply", detail, retryable=not final)


def of_exception(error: Exception) -> Fault:
    """The fault behind a request that got no response."""
    name = type(error).__name__
    detail = one_line(str(error))
    if isinstance(error, ReplyTooLarge):
        return Fault(FailureKind.PROTOCOL, "reply too large", detail, retryable=False)
    if isinstance(error, (httpx.UnsupportedProtocol, httpx.LocalProtocolError)):
        return Fault(FailureKind.PROTOCOL, name, detail, retryable=False)
    kind = classify(f"{name}: {detail}") or FailureKind.SERVER_ERROR
    if isinstance(error, (httpx.TimeoutException, TimeoutError)):
        kind = FailureKind.MODEL_TIMEOUT
    elif isinstance(error, httpx.DecodingError):  # announced as compressed, but is not
        kind = FailureKind.PROTOCOL
    return Fault(kind, name, detail, retryable=not _bad_certificate(error))


def of_deadline(seconds: float) -> Fault:
    """The fault of a request that took longer than its total time-out."""
    return Fault(FailureKind.MODEL_TIMEOUT, DEADLINE, f"no whole reply within {seconds:g} s")


def of_the_service(fault: Fault) -> bool:
    """Whether the service failed: a request that is itself at fault does not count.

    So none that is too long, whatever status the server chose for it, and none that the client
    of ours could not even send.
    """
    if fault.status is None:
        return fault.retryable or fault.kind is not FailureKind.PROTOCOL
    if fault.status in _NO_ENTRY:
        return True
    return (fault.status == 429 or fault.status >= 500) and fault.kind not in FINAL


def timed_out(fault: Fault) -> bool:
    """Whether what was asked took too long: our limit was over, or a gateway would not wait.

    That no connection was made in time is nobody's doing who asked.
    """
    return fault.reason in _TOO_LONG or fault.status in _SLOW


def advice(fault: Fault, endpoint: Endpoint) -> str:
    """What to look at where an endpoint refuses."""
    if fault.status == 404:
        return f"the path of the URL and the model name {endpoint.model!r}"
    if endpoint.api_key is None:
        return "whether the endpoint wants an API key: none is configured"
    return "the API key and what it may use"


def _of_status(status: int, reason: str, detail: str, told: float | None) -> Fault:
    if status in REFUSED:
        return Fault(FailureKind.AUTH, reason, detail, status=status, retryable=False)
    kind = classify(detail, status) or FailureKind.PROTOCOL
    retryable = status in _RETRYABLE and kind not in FINAL
    return Fault(kind, reason, detail, status, told, retryable)


def _bad_certificate(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return True
        if "CERTIFICATE_VERIFY_FAILED" in str(error):
            return True
        error = error.__cause__
    return False
