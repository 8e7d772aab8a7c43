"""The mock endpoint: what it answers and counts, over real sockets."""

import hashlib
import http.client
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.behaviour import UNPARSED, Behaviour, draws
from tests.support.endpoint import RunningEndpoint, running_endpoint
from tests.support.tally import Tally, possible_span


def ask(
    endpoint: RunningEndpoint, prompt: str, path: str = "/v1/chat/completions"
) -> tuple[int, Any]:
    """Send one request on a connection of its own; status and decoded body."""
    connection = http.client.HTTPConnection("127.0.0.1", endpoint.port, timeout=10)
    body: dict[str, Any] = {"model": "m"}
    if path.endswith("/chat/completions"):
        body["messages"] = [{"role": "user", "content": prompt}]
    else:
        body["prompt"] = prompt
    try:
        connection.request("POST", path, json.dumps(body))
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def said(reply: tuple[int, Any]) -> str:
    """The text of a chat reply."""
    text: str = reply[1]["choices"][0]["message"]["content"]
    return text


def test_a_chat_request_gets_the_fixed_answer_with_usage() -> None:
    with running_endpoint(answer="Paris") as endpoint:
        status, body = ask(endpoint, "Capital of France?")

    assert status == 200
    assert body["choices"][0]["message"]["content"] == "Paris"
    assert body["usage"]["total_tokens"] > 0


def test_a_completions_request_gets_text_instead_of_a_message() -> None:
    with running_endpoint(mode="echo", usage=False) as endpoint:
        _, body = ask(endpoint, "one two", "/v1/completions")

    assert body["choices"][0]["text"] == "one two"
    assert "usage" not in body


def test_the_last_gold_tag_of_the_prompt_is_answered() -> None:
    with running_endpoint(mode="gold", template="Answer: {gold}") as endpoint:
        reply = ask(endpoint, "[gold=1] example [gold=7] question")

    assert said(reply) == "Answer: 7"


def test_gold_answers_are_wrong_unparsed_and_empty_in_the_shares_asked_for() -> None:
    with running_endpoint(mode="gold", right=0.4, unparsed=0.2, empty=0.1) as endpoint:
        texts = [said(ask(endpoint, f"{i} [gold=5]")) for i in range(400)]

    shares = [texts.count(text) / 400 for text in ("5", UNPARSED, "", "6")]
    assert shares == pytest.approx([0.4, 0.2, 0.1, 0.3], abs=0.08)


def test_the_same_questions_meet_the_same_answers_in_another_process() -> None:
    runs = []
    for _ in range(2):
        with running_endpoint(mode="gold", right=0.5, seed=3, rate_500=0.2) as endpoint:
            runs.append([ask(endpoint, f"{i % 20} [gold=5]") for i in range(60)])

    assert runs[0] == runs[1]


def test_a_script_answers_by_how_often_it_was_asked(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("def answer(request, nth):\n    return (418, 'tea') if nth else 'coffee'\n")

    with running_endpoint(script=str(script)) as endpoint:
        first, second = ask(endpoint, "drink?"), ask(endpoint, "drink?")

    assert said(first) == "coffee"
    assert second[0] == 418


def test_a_429_carries_retry_after_and_the_next_try_may_pass() -> None:
    with running_endpoint(rate_429=0.5, retry_after="3") as endpoint:
        connection = http.client.HTTPConnection("127.0.0.1", endpoint.port, timeout=10)
        headers = []
        for _ in range(40):
            connection.request("POST", "/v1/chat/completions", json.dumps({"messages": []}))
            response = connection.getresponse()
            response.read()
            headers.append((response.status, response.getheader("Retry-After")))
        connection.close()

    assert set(headers) == {(429, "3"), (200, None)}


def test_a_status_override_refuses_every_request() -> None:
    with running_endpoint(status=401, message="no key") as endpoint:
        status, body = ask(endpoint, "hello")

    assert status == 401
    assert body["error"]["message"] == "no key"


def test_a_reset_connection_is_an_error_for_the_client_and_counted() -> None:
    with running_endpoint(rate_reset=1.0) as endpoint:
        with pytest.raises(ConnectionResetError):
            ask(endpoint, "hello")
        statuses = endpoint.stats()["statuses"]

    assert statuses == {"reset": 1}


def test_a_client_that_leaves_a_hanging_request_is_counted_as_abandoned() -> None:
    with running_endpoint(rate_hang=1.0) as endpoint:
        connection = http.client.HTTPConnection("127.0.0.1", endpoint.port, timeout=10)
        connection.request("POST", "/v1/chat/completions", json.dumps({"messages": []}))
        endpoint.wait_in_flight(1)
        connection.close()
        end = time.monotonic() + 5
        while endpoint.stats()["in_flight"] and time.monotonic() < end:
            time.sleep(0.01)
        statuses = endpoint.stats()["statuses"]

    assert statuses == {"abandoned": 1}


def test_parallel_requests_are_counted_in_flight_and_overlap() -> None:
    with running_endpoint(latency=0.2) as endpoint, ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: ask(endpoint, str(i)), range(16)))
        stats = endpoint.stats(slots=8)

    assert stats["max_in_flight"] == 8
    assert 5 < stats["mean_in_flight"] <= 8
    assert stats["possible_span"] == pytest.approx(0.4)
    assert 0.4 <= stats["span"] < 1.0


def test_a_body_answered_twice_counts_as_paid_twice_but_a_retry_does_not() -> None:
    with running_endpoint(fail_first=1) as endpoint:
        for prompt in ("a", "a", "b", "b", "b"):
            ask(endpoint, prompt)
        stats = endpoint.stats()

    assert (stats["requests"], stats["ok"], stats["distinct"]) == (5, 3, 2)
    assert stats["paid_twice"] == 1


def test_reset_forgets_what_was_seen() -> None:
    with running_endpoint(fail_first=1) as endpoint:
        ask(endpoint, "a")
        endpoint.reset()
        status, _ = ask(endpoint, "a")
        stats = endpoint.stats()

    assert (status, stats["requests"]) == (500, 1)


def test_the_last_bodies_are_there_to_look_at() -> None:
    with running_endpoint() as endpoint:
        for i in range(60):
            ask(endpoint, f"prompt {i}")
        bodies = endpoint.bodies()

    assert len(bodies) == 50
    assert "prompt 59" in bodies[-1]


def test_digests_come_in_the_order_of_first_arrival() -> None:
    with running_endpoint() as endpoint:
        for prompt in ("a", "b", "a"):
            ask(endpoint, prompt)
        digests = endpoint.digests()
        bodies = endpoint.bodies()

    expected = [hashlib.blake2b(body.encode(), digest_size=16).digest() for body in bodies[:2]]
    assert digests == expected


def test_models_are_listed_and_unknown_paths_refused() -> None:
    with running_endpoint() as endpoint:
        connection = http.client.HTTPConnection("127.0.0.1", endpoint.port, timeout=10)
        connection.request("GET", "/v1/models")
        models = json.loads(connection.getresponse().read())
        connection.close()
        status, _ = ask(endpoint, "x", "/v1/embeddings")

    assert models["data"][0]["id"] == "m"
    assert status == 404


def test_requests_sent_in_one_packet_are_answered_in_order() -> None:
    body = json.dumps({"messages": [{"content": "x"}]})
    request = f"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    with running_endpoint(latency=0.01) as endpoint:
        connection = http.client.HTTPConnection("127.0.0.1", endpoint.port, timeout=10)
        connection.connect()
        connection.sock.sendall(request.encode() * 3)
        received = b""
        while received.count(b'"finish_reason": "stop"') < 3:
            received += connection.sock.recv(65536)
        connection.close()
        stats = endpoint.stats()

    assert (stats["ok"], stats["max_in_flight"]) == (3, 1)


def test_the_endpoint_is_gone_after_the_block() -> None:
    with running_endpoint() as endpoint:
        pid = endpoint.pid

    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.skipif(sys.platform != "linux", reason="PR_SET_PDEATHSIG is Linux's")
def test_the_endpoint_dies_with_a_parent_that_is_killed() -> None:
    code = (
        "import time\n"
        "from tests.support.endpoint import running_endpoint\n"
        "with running_endpoint() as endpoint:\n"
        "    print(endpoint.pid, flush=True)\n"
        "    time.sleep(60)\n"
    )
    root = Path(__file__).resolve().parents[2]
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        parent.kill()

    end = time.monotonic() + 5
    while time.monotonic() < end and _alive(pid):
        time.sleep(0.02)

    assert not _alive(pid)


def _alive(pid: int) -> bool:
    try:  # a zombie that nobody has reaped yet is dead too
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_shares_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValueError, match="right"):
        Behaviour(mode="gold", unparsed=0.5)


@given(st.integers(0, 2**31), st.binary(max_size=16), st.integers(0, 1000))
def test_draws_lie_inside_the_unit_interval(seed: int, digest: bytes, nth: int) -> None:
    drawn = draws(seed, digest, nth)

    assert all(0 < number < 1 for number in drawn)


@given(st.lists(st.floats(0, 10), max_size=50), st.integers(1, 8))
def test_no_schedule_beats_the_bounds(latencies: list[float], slots: int) -> None:
    span = possible_span(latencies, slots)

    assert span >= sum(latencies) / slots - 1e-6
    assert span >= max(latencies, default=0.0) - 1e-6
    assert span <= sum(latencies) + 1e-6


def test_time_in_flight_is_weighted_by_its_length() -> None:
    tally = Tally()
    for now in (0.0, 1.0):
        tally.sighting(b"x")
        tally.enter(now, b"x", 0.0)
    tally.leave(3.0, "200", b"x", None)
    tally.leave(4.0, "200", b"x", 3.5)

    figures = tally.figures()

    assert figures["mean_in_flight"] == pytest.approx((1 + 2 * 2 + 1) / 4)
    assert figures["mean_lateness"] == pytest.approx(0.5)


def test_the_log_tells_answered_requests_from_abandoned_ones(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with running_endpoint(mode="echo", latency=0.1, log=str(log)) as endpoint:
        ask(endpoint, "stays")
        leaving = http.client.HTTPConnection("127.0.0.1", endpoint.port)
        leaving.request("POST", "/v1/completions", json.dumps({"prompt": "leaves"}))
        endpoint.wait_in_flight(1)
        leaving.close()
        time.sleep(0.2)

    ended = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(line["prompt"], line["how"]) for line in ended] == [
        ("stays", "200"),
        ("leaves", "abandoned"),
    ]
    assert all(line["began"] < line["ended"] for line in ended)
