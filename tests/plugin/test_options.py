"""Every option does what it says, from the command line, the environment, the ini and a suite."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.plugin.running import Nel, rows, sums
from tests.support.endpoint import RunningEndpoint, running_endpoint


class Keys:
    """An endpoint that remembers the Authorization header of each request."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.seen: list[str | None] = []


@pytest.fixture
def keys() -> Iterator[Keys]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            found.seen.append(self.headers.get("Authorization"))
            self.rfile.read(int(self.headers["Content-Length"]))
            message = {"role": "assistant", "content": "7"}
            reply = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
            body = json.dumps(reply).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # its own name
            del format, args

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        found = Keys(f"http://127.0.0.1:{server.server_port}/v1")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield found
        server.shutdown()
        thread.join()


def requests(endpoint: RunningEndpoint) -> list[dict[str, Any]]:
    return [json.loads(body) for body in endpoint.bodies()]


SENT = {
    "temperature": ("0.7", "temperature", 0.7),
    "max-tokens": ("99", "max_tokens", 99),
}


@pytest.mark.parametrize("source", ["option", "ini"])
def test_sampling_options_are_sent(nel: Nel, endpoint: RunningEndpoint, source: str) -> None:
    nel.bench(sums(2))
    args = [part for name, (text, *_) in SENT.items() for part in (f"--nel-{name}", text)]
    if source == "ini":
        lines = [f"nel_{name.replace('-', '_')} = {text}" for name, (text, *_) in SENT.items()]
        nel.write("pytest.ini", "\n".join(["[pytest]", *lines]))
        args = []

    ended = nel.run("bench_sums.py", *args)

    assert ended.code == 0, ended.text
    for request in requests(endpoint):
        assert request["model"] == "m"
        assert {key: request[key] for _, key, _ in SENT.values()} == {
            key: value for _, key, value in SENT.values()
        }


def test_without_a_suite_the_temperature_is_0_and_the_rest_is_left_to_the_server(
    nel: Nel, endpoint: RunningEndpoint
) -> None:
    nel.bench(sums(1))

    ended = nel.run("bench_sums.py")

    assert ended.code == 0
    (request,) = requests(endpoint)
    assert set(request) == {"model", "messages", "temperature"}
    assert request["temperature"] == 0


def test_what_a_suite_does_not_set_is_left_to_the_server(
    nel: Nel, endpoint: RunningEndpoint
) -> None:
    nel.bench(sums(1))
    nel.suite("bench_sums.py")

    ended = nel.run("my.nel.yaml", model=False)

    assert ended.code == 0
    assert set(requests(endpoint)[0]) == {"model", "messages"}


@pytest.mark.parametrize("source", ["option", "ini", "suite"])
def test_the_system_prompt_comes_first(nel: Nel, endpoint: RunningEndpoint, source: str) -> None:
    nel.bench(sums(1), more='system_prompt="the benchmark\'s"')
    file, args = "bench_sums.py", []
    if source == "option":
        args = ["--nel-system-prompt", "Be brief: ${HOME}"]
    elif source == "ini":
        nel.write("pytest.ini", "[pytest]\nnel_system_prompt = Be brief: ${HOME}\n")
    else:
        suite = nel.suite("bench_sums.py")
        text = suite.read_text().replace(
            "service: model}", 'service: model, system_prompt: "Be brief: $${HOME}"}'
        )
        suite.write_text(text)
        file = "my.nel.yaml"

    ended = nel.run(file, *args, model=source != "suite")

    assert ended.code == 0, ended.text
    (request,) = requests(endpoint)
    assert request["messages"][0] == {"role": "system", "content": "Be brief: ${HOME}"}


@pytest.mark.parametrize(
    ("name", "value", "suite"),
    [
        ("repeats", "3", "repeats: 3"),
        ("max-problems", "2", "max_problems: 2"),
        ("shuffle-seed", "none", "shuffle_seed: null"),
        ("max-unscored", "2", "max_unscored: 2"),
        ("strict", "true", "strict: true"),
        ("max-concurrent", "3", "max_concurrent: 3"),
        ("window", "5", "window: 5"),
    ],
)
@pytest.mark.parametrize("source", ["option", "ini", "suite"])
def test_an_option_has_its_twins(nel: Nel, name: str, value: str, suite: str, source: str) -> None:
    nel.bench(rows("7", "7", "7", "7"))
    file, args = "bench_sums.py", []
    if source == "option":
        args = [f"--nel-{name}"] if name == "strict" else [f"--nel-{name}", value]
    elif source == "ini":
        nel.write("pytest.ini", f"[pytest]\nnel_{name.replace('-', '_')} = {value}\n")
    else:
        nel.suite("bench_sums.py", more=suite)
        file = "my.nel.yaml"

    ended = nel.run(file, *args, model=source != "suite")

    assert ended.code == 0, ended.text
    key = name.replace("-", "_")
    wanted = {"none": None, "true": True}.get(value, int(value) if value.isdigit() else None)
    assert ended.bundle()["config"][key] == wanted


def test_the_command_line_wins_over_the_suite_and_the_suite_over_the_ini(nel: Nel) -> None:
    nel.bench(sums(5))
    nel.write("pytest.ini", "[pytest]\nnel_repeats = 4\nnel_max_problems = 4\nnel_window = 9\n")
    nel.suite("bench_sums.py", more="repeats: 2, max_problems: 3")

    ended = nel.run("my.nel.yaml", "--nel-max-problems", "2", model=False)

    assert ended.code == 0, ended.text
    config = ended.bundle()["config"]
    assert (config["max_problems"], config["repeats"], config["window"]) == (2, 2, 9)


def test_max_problems_takes_a_beginning_of_the_same_order(nel: Nel) -> None:
    nel.bench(sums(30))

    few = nel.run("bench_sums.py", "--nel-max-problems", "5", "--nel-output-dir", "few")
    more = nel.run("bench_sums.py", "--nel-max-problems", "9")

    assert (few.code, more.code) == (0, 0)
    text = (nel.folder / "few/sums/plan.json").read_text()
    first = json.loads(text)["problems"]
    second = json.loads((more.run_dir / "sums/plan.json").read_text())["problems"]
    assert second[:5] == first
    assert len(second) == 9


def test_max_concurrent_bounds_the_requests_in_flight(nel: Nel) -> None:
    nel.bench(sums(40))
    with running_endpoint(mode="echo", latency=0.03) as endpoint:
        nel.url = endpoint.url

        ended = nel.run("bench_sums.py", "--nel-max-concurrent", "5")

        assert ended.code == 0, ended.text
        assert endpoint.stats()["max_in_flight"] == 5


def test_the_window_bounds_what_is_ahead(nel: Nel) -> None:
    nel.bench(sums(40))
    with running_endpoint(mode="echo", latency=0.03) as endpoint:
        nel.url = endpoint.url

        ended = nel.run("bench_sums.py", "--nel-max-concurrent", "20", "--nel-window", "2")

        assert ended.code == 0, ended.text
        assert endpoint.stats()["max_in_flight"] <= 3


def test_the_timeout_is_for_one_request(nel: Nel) -> None:
    nel.bench(sums(2))
    with running_endpoint(latency=30.0) as endpoint:
        nel.url = endpoint.url
        nel.suite("bench_sums.py", more="max_system_retries: 1")
        suite = nel.folder / "my.nel.yaml"
        suite.write_text(suite.read_text().replace("model: m}", "model: m, max_retries: 0}"))

        ended = nel.run("my.nel.yaml", "--nel-timeout", "0.4", model=False)

    assert ended.code == 7, ended.text
    assert {row["failure_category"] for row in ended.results()} == {"model_timeout"}


@pytest.mark.parametrize("source", ["option", "ini", "suite", "suite, timestamped"])
def test_results_go_where_they_are_wanted(nel: Nel, source: str) -> None:
    nel.bench(sums(2))
    file, args = "bench_sums.py", []
    if source == "option":
        args = ["--nel-output-dir", "my results/run 1"]
    elif source == "ini":
        nel.write("pytest.ini", "[pytest]\nnel_output_dir = my results/run 1\n")
    else:
        stamped = str("timestamped" in source).lower()
        tail = f"output: {{dir: my results/run 1, timestamped: {stamped}}}\n"
        nel.suite("bench_sums.py", tail=tail)
        file = "my.nel.yaml"

    ended = nel.run(file, *args, model=not source.startswith("suite"))

    assert ended.code == 0, ended.text
    where = nel.folder / "my results/run 1"
    if "timestamped" in source:
        (where,) = where.iterdir()
    assert (where / "sums/results.jsonl").is_file()
    assert (where / "checks.json").is_file()
    assert nel.runs() == []


def test_a_suite_s_own_directory_wins_over_the_ini(nel: Nel) -> None:
    nel.bench(sums(2))
    nel.write("pytest.ini", "[pytest]\nnel_output_dir = from-ini\n")
    nel.suite("bench_sums.py", tail="output: {dir: from-suite, timestamped: false}\n")

    ended = nel.run("my.nel.yaml", model=False)

    assert ended.code == 0, ended.text
    assert (nel.folder / "from-suite/checks.json").is_file()
    assert not (nel.folder / "from-ini").exists()


def test_show_can_be_an_ini(nel: Nel) -> None:
    nel.bench(rows("8"))
    nel.write("pytest.ini", "[pytest]\nnel_show = wrong\n")

    ended = nel.run("bench_sums.py")

    assert "sums[0-r0]: wrong" in ended.out


@pytest.mark.parametrize("source", ["option", "ini"])
def test_the_number_of_unscored_in_a_row_is_an_option(nel: Nel, source: str) -> None:
    nel.bench(rows(*[f"!400 no {i}" for i in range(50)]))
    args = ["--nel-max-consecutive-unscored", "3"]
    if source == "ini":
        nel.write("pytest.ini", "[pytest]\nnel_max_consecutive_unscored = 3\n")
        args = []

    ended = nel.run("bench_sums.py", *args, "--nel-max-concurrent", "1")

    assert ended.code == 7, ended.text
    assert "3 attempts in a row have no score" in ended.out


def test_the_model_may_stand_in_the_environment(nel: Nel, endpoint: RunningEndpoint) -> None:
    nel.bench(sums(1))

    ended = nel.run(
        "bench_sums.py", model=False, env={"NEMO_MODEL_URL": endpoint.url, "NEMO_MODEL_ID": "other"}
    )

    assert ended.code == 0, ended.text
    assert requests(endpoint)[0]["model"] == "other"


def test_the_model_may_stand_in_the_ini(nel: Nel, keys: Keys) -> None:
    nel.bench(rows("7"))
    lines = (f"nel_model_url = {keys.url}", "nel_model_id = other", "nel_api_key_env = MINE")
    nel.write("pytest.ini", "\n".join(["[pytest]", *lines, "nel_timeout = 77"]))

    ended = nel.run("bench_sums.py", model=False, env={"MINE": "sk-c"})

    assert ended.code == 0, ended.text
    assert keys.seen == ["Bearer sk-c"]
    suite = (ended.run_dir / "suite.nel.yaml").read_text(encoding="utf-8")
    assert "model: other" in suite
    assert "timeout: 77" in suite


@pytest.mark.parametrize("how", [[], ["-p", "xdist", "-n1"]], ids=["plain", "n1"])
@pytest.mark.parametrize(
    ("args", "env", "sent"),
    [
        ([], {"NEMO_API_KEY": "sk-a", "NVIDIA_API_KEY": "sk-b"}, "Bearer sk-a"),
        ([], {"NVIDIA_API_KEY": "sk-b"}, "Bearer sk-b"),
        (["--nel-api-key-env", "MINE"], {"MINE": "sk-c", "NEMO_API_KEY": "sk-a"}, "Bearer sk-c"),
        ([], {}, None),
    ],
    ids=["nemo", "nvidia", "named", "none"],
)
def test_the_key_is_read_from_the_environment_and_kept_out_of_the_run_directory(
    nel: Nel, keys: Keys, how: list[str], args: list[str], env: dict[str, str], sent: str | None
) -> None:
    nel.bench(rows("7"))
    nel.url = keys.url

    ended = nel.run("bench_sums.py", *args, *how, env=env)

    assert ended.code == 0, ended.text
    assert keys.seen == [sent]
    assert "sk-" not in ended.text
    kept = [path for path in ended.run_dir.rglob("*") if path.is_file()]
    assert len(kept) > 5
    assert not any(b"sk-" in path.read_bytes() for path in kept)


def test_model_options_replace_the_only_service_of_a_suite(
    nel: Nel, endpoint: RunningEndpoint
) -> None:
    nel.bench(sums(1))
    suite = nel.suite("bench_sums.py")
    suite.write_text(suite.read_text().replace(endpoint.url, "http://127.0.0.1:9/v1"))

    ended = nel.run("my.nel.yaml", "--nel-model-url", endpoint.url, "--nel-model-id", "new",
                    model=False)  # fmt: skip

    assert ended.code == 0, ended.text
    assert requests(endpoint)[0]["model"] == "new"


def test_the_environment_does_not_change_a_suite(nel: Nel, endpoint: RunningEndpoint) -> None:
    nel.bench(sums(1))
    nel.suite("bench_sums.py")

    ended = nel.run(
        "my.nel.yaml", model=False,
        env={"NEMO_MODEL_URL": "http://127.0.0.1:9/v1", "NEMO_MODEL_ID": "other"},
    )  # fmt: skip

    assert ended.code == 0, ended.text
    assert requests(endpoint)[0]["model"] == "m"
