"""Model options beside a suite replace what they name and leave the rest as written."""

import json
from typing import Any

import pytest

from tests.plugin.running import Nel, rows
from tests.support.endpoint import RunningEndpoint


def sent(endpoint: RunningEndpoint) -> list[dict[str, Any]]:
    return [json.loads(body) for body in endpoint.bodies()]


def service(nel: Nel, text: str) -> None:
    """A suite whose only service is as given."""
    nel.write(
        "my.nel.yaml",
        f"services:\n  m: {{{text}}}\nbenchmarks:\n"
        "  - {name: bench_sums.py, solver: {type: simple, service: m}}\n",
    )


def test_a_model_from_the_environment_survives_another_url(
    nel: Nel, endpoint: RunningEndpoint, how: list[str]
) -> None:
    nel.bench(rows("7"))
    service(nel, 'type: api, url: "http://127.0.0.1:9/v1/chat/completions", '
            'protocol: chat_completions, model: "${MODEL}"')  # fmt: skip

    ended = nel.run("my.nel.yaml", "--nel-model-url", endpoint.url, *how, model=False,
                    env={"MODEL": "mine"})  # fmt: skip

    assert ended.code == 0, ended.text
    assert [body["model"] for body in sent(endpoint)] == ["mine"]
    assert "model: ${MODEL}" in (ended.run_dir / "suite.nel.yaml").read_text()


def test_a_url_from_the_environment_survives_another_model(
    nel: Nel, endpoint: RunningEndpoint
) -> None:
    nel.bench(rows("7"))
    service(nel, 'type: api, url: "${URL}/chat/completions", protocol: chat_completions')

    ended = nel.run("my.nel.yaml", "--nel-model-id", "${HOME}", model=False,
                    env={"URL": endpoint.url})  # fmt: skip

    assert ended.code == 0, ended.text
    assert [body["model"] for body in sent(endpoint)] == ["${HOME}"]


@pytest.mark.parametrize("option", [["--nel-model-id", "new"], ["--nel-api-key-env", "MINE"]])
def test_an_unusual_url_and_its_protocol_stay_as_written(
    nel: Nel, endpoint: RunningEndpoint, option: list[str]
) -> None:
    nel.bench(rows("7"))
    service(nel, f'type: api, url: "{endpoint.url}/completions?x=/gen", protocol: completions')

    ended = nel.run("my.nel.yaml", *option, model=False, env={"MINE": "sk-1"})

    assert ended.code == 0, ended.text
    assert all("prompt" in body for body in sent(endpoint))
    assert f"url: {endpoint.url}/completions?x=/gen" in (
        ended.run_dir / "suite.nel.yaml"
    ).read_text(encoding="utf-8")


def test_a_base_url_keeps_the_suite_s_protocol(nel: Nel, endpoint: RunningEndpoint) -> None:
    nel.bench(rows("7"))
    service(nel, 'type: api, url: "http://127.0.0.1:9/v1/completions", protocol: completions')

    ended = nel.run("my.nel.yaml", "--nel-model-url", endpoint.url, model=False)

    assert ended.code == 0, ended.text
    assert all("prompt" in body for body in sent(endpoint))


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--nel-model", "demo", "--nel-model-id", "x"], "--nel-model-id is about one elsewhere"),
        (["--nel-model", "demo", "--nel-api-key-env", "K"], "--nel-api-key-env is about one else"),
        (["--nel-model", "demo", "--nel-model-url", "http://h/v1"], "choose one"),
    ],
)
@pytest.mark.parametrize("file", ["bench_sums.py", "my.nel.yaml"])
def test_model_options_that_contradict_each_other_are_refused(
    nel: Nel, endpoint: RunningEndpoint, args: list[str], says: str, file: str
) -> None:
    nel.bench(rows("7"))
    nel.suite("bench_sums.py")

    ended = nel.run(file, *args, model=False, env={"K": "k"})

    assert ended.code == 4, ended.text
    assert says in ended.text
    assert "Traceback" not in ended.text
    assert endpoint.stats()["requests"] == 0


@pytest.mark.parametrize("option", [["--nel-model-id", "x"], ["--nel-api-key-env", "K"]])
def test_what_describes_a_model_elsewhere_needs_a_url(nel: Nel, option: list[str]) -> None:
    nel.bench(rows("7"))

    ended = nel.run("bench_sums.py", *option, model=False, env={"K": "k"})

    assert ended.code == 4, ended.text
    assert f"{option[0]}: about a model elsewhere, so add --nel-model-url URL" in ended.text


def test_a_model_served_here_has_no_other_name(nel: Nel) -> None:
    nel.bench(rows("7"))
    service(nel, "type: llama_cpp, model: demo")

    ended = nel.run("my.nel.yaml", "--nel-model-id", "x", model=False)

    assert ended.code == 4, ended.text
    assert "--nel-model-id: the suite serves its model here" in ended.text


SERVED = 'type: api, url: "{url}/chat/completions", protocol: chat_completions, model: m'


def test_an_ini_value_gives_way_to_the_service_s_own(nel: Nel, endpoint: RunningEndpoint) -> None:
    nel.bench(rows("7"))
    nel.write("pytest.ini", "[pytest]\nnel_temperature = 0\nnel_max_tokens = 55\n")
    service(nel, SERVED.format(url=endpoint.url) + ", generation: {temperature: 0.7}")

    ended = nel.run("my.nel.yaml", model=False)

    assert ended.code == 0, ended.text
    (body,) = sent(endpoint)
    assert (body["temperature"], body["max_tokens"]) == (0.7, 55)


def test_an_ini_value_gives_way_to_the_solver_s_own(nel: Nel, endpoint: RunningEndpoint) -> None:
    nel.bench(rows("7"))
    nel.write("pytest.ini", "[pytest]\nnel_temperature = 0\n")
    suite = nel.suite("bench_sums.py")
    text = suite.read_text().replace(
        "service: model", "service: model, generation: {temperature: 0.3}"
    )
    suite.write_text(text)

    ended = nel.run("my.nel.yaml", model=False)

    assert ended.code == 0, ended.text
    assert sent(endpoint)[0]["temperature"] == 0.3


@pytest.mark.parametrize("at", ["service", "solver", "nowhere"])
def test_the_command_line_stands_before_both(nel: Nel, endpoint: RunningEndpoint, at: str) -> None:
    nel.bench(rows("7"))
    suite = nel.suite("bench_sums.py")
    text, said = suite.read_text(), "generation: {temperature: 0.3}"
    if at == "service":
        text = text.replace("model: m}", f"model: m, {said}}}")
    if at == "solver":
        text = text.replace("service: model", f"service: model, {said}")
    suite.write_text(text)

    ended = nel.run("my.nel.yaml", "--nel-temperature", "0.9", model=False)

    assert ended.code == 0, ended.text
    assert sent(endpoint)[0]["temperature"] == 0.9


def test_a_service_nobody_measures_keeps_its_values(nel: Nel, endpoint: RunningEndpoint) -> None:
    nel.bench(rows("7"))
    suite = nel.suite("bench_sums.py")
    judge = f"  judge: {{{SERVED.format(url=endpoint.url)}, generation: {{temperature: 0.1}}}}\n"
    suite.write_text(suite.read_text().replace("benchmarks:", f"{judge}benchmarks:"))

    ended = nel.run("my.nel.yaml", "--nel-temperature", "0.9", model=False)

    assert ended.code == 0, ended.text
    snapshot = (ended.run_dir / "suite.nel.yaml").read_text(encoding="utf-8")
    assert snapshot.count("temperature: 0.9") == 1
    assert "temperature: 0.1" in snapshot
