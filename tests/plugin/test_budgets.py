"""Budgets: nothing more is begun, what is there counts, and a resumption goes on."""

import json
from pathlib import Path
from typing import Any

from tests.plugin.deadly import ended_of, kill_worker, lines, wait_until
from tests.plugin.running import Nel, sums
from tests.support.endpoint import RunningEndpoint, running_endpoint

RUN = ("my.nel.yaml", "--nel-output-dir", "run")
MOST = 240  # tokens; an answer has two or three
PRICES = "prices: {prompt: 1000000, completion: 1000000}"


def two(nel: Nel, *, first: str = "", service: str = "", tail: str = "") -> None:
    """A suite of two benchmarks of 40 problems, two requests in flight."""
    nel.bench(sums(40))
    nel.bench(sums(40), file="bench_more.py", name="more")
    path = nel.suite("bench_sums.py", "bench_more.py", more="max_concurrent: 2", tail=tail)
    text = path.read_text().replace("max_concurrent: 2", f"max_concurrent: 2{first}", 1)
    path.write_text(text.replace("model: m}", f"model: m{service}}}"))


def spent(nel: Nel, worker: str) -> int:
    """Tokens of the answers that a worker has written down."""
    found = [row for row in lines(nel, "solved") if row["file"].startswith(f"{worker}.")]
    return sum(row["prompt_tokens"] + row["completion_tokens"] for row in found)


def bundle(nel: Nel, benchmark: str) -> dict[str, Any]:
    (path,) = (nel.folder / "run" / benchmark).glob("eval-*.json")
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def test_a_spent_benchmark_is_incomplete_and_the_others_go_on(nel: Nel, how: list[str]) -> None:
    two(nel, first=", budget: {max_tokens: 60}")

    ended = nel.run(*RUN, *how, model=False)
    sums_, more = bundle(nel, "sums"), bundle(nel, "more")

    assert ended.code == 7, ended.text
    assert "the budget of sums is spent: max_tokens 60" in ended.out
    assert 0 < sums_["n_attempted"] < 40
    assert more["n_attempted"] == 40
    assert sums_["n_unscored"] == 0

    (nel.folder / "my.nel.yaml").write_text(
        (nel.folder / "my.nel.yaml").read_text().replace(", budget: {max_tokens: 60}", "")
    )
    resumed = nel.run(*RUN, "--nel-resume", *how, model=False)
    assert resumed.code == 0, resumed.text
    assert bundle(nel, "sums")["n_attempted"] == 40


def test_a_suite_that_may_cost_so_much_stops_and_says_it(
    nel: Nel, endpoint: RunningEndpoint
) -> None:
    two(nel, service=f", {PRICES}")

    ended = nel.run(*RUN, "--nel-max-cost", "40", model=False)

    assert ended.code == 7, ended.text
    assert "the budget of my.nel.yaml is spent: max_cost 40" in ended.out
    assert bundle(nel, "sums")["n_attempted"] == endpoint.stats()["requests"] < 40
    assert "selected attempts were recorded" in ended.out


def test_a_limit_of_cost_without_prices_is_refused_before_anything_is_asked(
    nel: Nel, endpoint: RunningEndpoint
) -> None:
    two(nel, tail="budget: {max_cost: 5}\n")

    ended = nel.run(*RUN, model=False)

    assert ended.code == 4, ended.text
    assert "limits the cost, but what sums, more costs is not known: give its service" in ended.text
    assert endpoint.stats()["requests"] == 0
    assert not (nel.folder / "run").exists()

    planned = nel.run(*RUN, "--nel-dry-run", model=False)
    assert planned.code == 4, planned.text
    assert "limits the cost, but what sums, more costs is not known" in planned.text


def test_what_is_in_flight_is_finished(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    with running_endpoint(latency=1.0) as slow:
        nel = Nel(tmp_path, slow.url)
        two(nel, tail="budget: {max_time: 0.4}\n")

        ended = nel.run(*RUN, "-k", "sums", model=False)

        assert ended.code == 7, ended.text
        stats = slow.stats()
        assert bundle(nel, "sums")["n_attempted"] == stats["ok"] == stats["requests"] <= 4


def test_a_worker_that_replaces_another_goes_on_with_what_that_had_left(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    with running_endpoint(mode="echo", latency=0.05) as slow:
        nel = Nel(tmp_path, slow.url)
        nel.bench(sums(300))
        nel.suite("bench_sums.py", more="max_concurrent: 2", tail=f"budget: {{max_tokens: {MOST}}}")
        process = nel.start("my.nel.yaml", "-p", "xdist", "-n2")
        wait_until(lambda: spent(nel, "gw0") > MOST / 4)
        before = spent(nel, "gw0")

        kill_worker(process)
        ended = ended_of(nel, process)

    assert ended.code == 7, ended.text
    assert "the budget of my.nel.yaml is spent: max_tokens" in ended.out
    assert spent(nel, "gw2") > 0
    assert before + spent(nel, "gw2") <= MOST / 2 + 12
    assert spent(nel, "gw1") <= MOST / 2 + 12
