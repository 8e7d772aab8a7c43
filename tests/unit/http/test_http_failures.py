"""What a failure's text and status mean."""

import uuid

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_nel.core.errors import FailureKind as K
from pytest_nel.http import faults
from pytest_nel.http.failures import classify, status_in
from pytest_nel.http.retry import Fault


@pytest.mark.parametrize(
    ("text", "status", "kind"),
    [
        ("maximum context length", 504, K.SERVER_ERROR),
        ("Turn budget exhausted after 30 turns", None, K.TURN_BUDGET),
        ("This model's maximum context length is 4096 tokens", 400, K.CONTEXT_WINDOW),
        ("litellm.ContextWindowExceededError: x", None, K.CONTEXT_WINDOW),
        ("Budget has been exceeded! Current cost: 429", None, K.BUDGET),
        ("token budget gone", 429, K.BUDGET),
        ("slow down", 429, K.RATE_LIMIT),
        ("RateLimitError: no", None, K.RATE_LIMIT),
        ("Too Many Requests", None, K.RATE_LIMIT),
        ("upstream timed out", None, K.SERVER_ERROR),
        ("", 408, K.MODEL_TIMEOUT),
        ("httpx.ReadTimeout", None, K.MODEL_TIMEOUT),
        ("Request timed out.", None, K.MODEL_TIMEOUT),
        ("oops", 500, K.SERVER_ERROR),
        ("oops", 529, K.SERVER_ERROR),
        ("ConnectError: refused", None, K.SERVER_ERROR),
        ("[Errno 104] Connection reset by peer", None, K.SERVER_ERROR),
        ("bad", 400, K.MODEL_ERROR),
        ("malformed tool call", None, K.MODEL_ERROR),
        ("who are you", 401, K.MODEL_ERROR),
        ("moved", 302, None),
        ("all is well", 200, None),
        ("nothing known", None, None),
        ("request 50422-504a-4f1e failed", None, None),
        ("HTTP 504 Gateway Timeout", None, K.SERVER_ERROR),
    ],
)
def test_the_first_rule_that_fits_decides(text: str, status: int | None, kind: K | None) -> None:
    assert classify(text, status) == kind


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("Error code: 429 - {'error': 1}", 429),
        ("status_code=503, model", 503),
        ("failed with status code 500", 500),
        ("HTTP/1.1 502 Bad Gateway", 502),
        ("HTTP 404", 404),
        ("502 Bad Gateway", 502),
        ("429 too-many requests: wait", 429),
        ("500 apples", None),
        ("5000 Internal Server Error", None),
        ("took 429 seconds", None),
        ("status 4290", None),
        ("commit 429ab503", None),
        ("xhttp 500", None),
        ("request 3f2a-429-503 failed", None),
        ("request 50422-504a-4f1e failed", None),
    ],
)
def test_a_status_counts_only_where_the_text_says_so(text: str, status: int | None) -> None:
    assert status_in(text) == status


@settings(deadline=None)
@given(st.uuids(), st.sampled_from(["request {} failed", "{}", "status {}", "http {} x"]))
def test_digits_in_ids_are_no_status(identity: uuid.UUID, sentence: str) -> None:
    assert status_in(sentence.format(identity)) is None
    assert classify(sentence.format(identity.hex)) is None


@settings(deadline=None)
@given(st.text(), st.none() | st.integers(0, 999))
def test_any_text_can_be_classified(text: str, status: int | None) -> None:
    kind = classify(text, status)

    assert kind is None or isinstance(kind, K)


@pytest.mark.parametrize(
    ("fault", "slow"),
    [
        (faults.of_deadline(3.0), True),
        (faults.of_exception(httpx.ReadTimeout("nothing came")), True),
        (Fault(K.SERVER_ERROR, "HTTP 504", "gateway time-out", status=504), True),
        (faults.of_exception(httpx.ConnectTimeout("no way in")), False),
        (faults.of_exception(httpx.PoolTimeout("no slot")), False),
        (faults.of_exception(httpx.ConnectError("[Errno 110] Connection timed out")), False),
        (Fault(K.MODEL_TIMEOUT, "HTTP 503", "upstream connection timed out", status=503), False),
    ],
)
def test_only_what_may_be_a_requests_own_doing_took_too_long(fault: Fault, *, slow: bool) -> None:
    assert faults.timed_out(fault) is slow
