"""A worker that is not replaced: the others take its attempts over, and its share of the limit."""

import json
import time

import pytest

from tests.plugin.deadly import (
    XDIST,
    asked,
    deadly_solver,
    ended_of,
    kill_worker,
    lines,
    unscored,
    wait_until,
)
from tests.plugin.running import Nel, sums
from tests.support.endpoint import running_endpoint

GONE = (*XDIST, "--max-worker-restart", "0")


def test_the_remaining_worker_takes_over_and_uses_the_whole_limit(nel: Nel) -> None:
    nel.bench(sums(240))
    with running_endpoint(mode="echo", latency=0.1) as endpoint:
        nel.url = endpoint.url
        process = nel.start("bench_sums.py", *GONE, "-n2", "--nel-max-concurrent", "8")
        wait_until(lambda: len(lines(nel, "scored")) > 30)
        kill_worker(process)
        time.sleep(0.5)
        endpoint.reset()  # in flight now is what the one that is left sends
        later = endpoint.stats()["max_in_flight"]
        wait_until(lambda: endpoint.stats()["max_in_flight"] > 4)

        ended = ended_of(nel, process)
        most = endpoint.stats()["max_in_flight"]
    assert ended.code in {0, 1}, ended.text
    assert later <= 8
    assert 4 < most <= 8
    assert ended.bundle()["n_attempted"] == 240
    assert ended.bundle()["n_unscored"] == 0


def test_no_more_than_the_limit_is_in_flight_at_any_time(nel: Nel) -> None:
    nel.bench(sums(240))
    with running_endpoint(mode="echo", latency=0.1) as endpoint:
        nel.url = endpoint.url
        process = nel.start("bench_sums.py", *GONE, "-n3", "--nel-max-concurrent", "8")
        wait_until(lambda: len(lines(nel, "scored")) > 30)
        kill_worker(process, 1)

        ended = ended_of(nel, process)
        stats = endpoint.stats()
    assert ended.code in {0, 1}, ended.text
    assert stats["max_in_flight"] <= 8
    assert stats["distinct"] == 240
    assert stats["requests"] <= 240 + 8
    assert ended.bundle()["n_unscored"] == 0


def test_a_benchmark_with_a_lower_limit_keeps_it_afterwards(nel: Nel) -> None:
    nel.bench(sums(60))
    other = [{**row, "say": f"0{row['say']}"} for row in sums(90)]
    nel.bench(other, name="more", file="bench_more.py")
    with running_endpoint(mode="echo", latency=0.1) as endpoint:
        nel.url = endpoint.url
        text = nel.suite("bench_sums.py", "bench_more.py").read_text(encoding="utf-8")
        text = text.replace("name: bench_sums.py,", "name: bench_sums.py, max_concurrent: 3,")
        text = text.replace("name: bench_more.py,", "name: bench_more.py, max_concurrent: 8,")
        nel.write("my.nel.yaml", text)
        process = nel.start("my.nel.yaml", *GONE, "-n2")
        wait_until(lambda: len(lines(nel, "scored")) > 6)
        kill_worker(process)
        time.sleep(0.5)
        endpoint.reset()
        wait_until(lambda: len(lines(nel, "scored")) > 40)
        within = endpoint.stats()["max_in_flight"]

        ended = ended_of(nel, process)
        most = endpoint.stats()["max_in_flight"]
    assert ended.code in {0, 1}, ended.text
    assert within <= 8
    assert 4 < most <= 8
    assert ended.bundle("sums")["n_attempted"] == 60
    assert ended.bundle("more")["n_attempted"] == 90


def test_a_worker_that_has_only_its_last_item_left_takes_over(nel: Nel) -> None:
    deadly_solver(nel, 24, delay=0.8, of_odd=0.0)
    unshuffled = ("--nel-shuffle-seed", "none")  # the second worker has the odd ones
    process = nel.start("bench_sums.py", *GONE, "-n2", "--nel-max-concurrent", "4", *unshuffled)
    wait_until(lambda: sum(line["file"] == "gw1.jsonl" for line in lines(nel, "scored")) >= 11)
    time.sleep(0.5)

    kill_worker(process)

    ended = ended_of(nel, process)
    assert ended.code in {0, 1}, ended.text
    assert ended.bundle()["n_attempted"] == 24
    assert ended.bundle()["n_unscored"] == 0
    assert set(asked(nel)) == {(idx, 0) for idx in range(24)}
    assert max(asked(nel).values()) <= 2
    taken = [line for line in lines(nel, "scored") if line["file"] == "gw1.2.jsonl"]
    assert len(taken) > 6  # its own last one and those of the other


def test_a_worker_that_has_begun_nothing_takes_over(nel: Nel) -> None:
    deadly_solver(nel, 3, delay=2.0)  # one item for the second, which waits until it is its last
    process = nel.start("bench_sums.py", *GONE, "-n2")
    wait_until(lambda: bool(lines(nel, "started")))

    kill_worker(process)

    ended = ended_of(nel, process)
    assert ended.code == 0, ended.text
    assert ended.bundle()["n_attempted"] == 3
    assert max(asked(nel).values()) <= 2


def test_a_killer_that_was_taken_over_is_found_and_blamed(nel: Nel) -> None:
    deadly_solver(nel, 60, {(20, 0): "kill"})

    ended = nel.run("bench_sums.py", *XDIST, "-n2", "--max-worker-restart", "1", model=False)

    assert ended.code == 7, ended.text
    assert set(unscored(ended)) == {(20, 0)}
    assert ended.bundle()["n_scored"] == 59


def test_a_run_without_workers_is_incomplete_and_resume_finishes_it(nel: Nel) -> None:
    deadly_solver(nel, 60, {(21, 0): "kill", (40, 0): "kill"})
    first = nel.run("bench_sums.py", *GONE, "-n2", model=False)
    before = asked(nel)
    finished = {(row["problem_idx"], 0) for row in first.results() if row["reward"] is not None}
    (nel.folder / "asked.txt").unlink()
    nel.write("poison.json", "{}")

    again = nel.run("bench_sums.py", *XDIST, "-n2", "--nel-resume", model=False)

    assert first.code == 7, first.text
    assert "had no successor (--max-worker-restart)" in first.text
    assert "INTERNALERROR" not in first.text
    assert again.code in {0, 1}, again.text
    assert again.bundle()["n_scored"] == 60
    assert finished
    assert not finished & set(asked(nel))
    assert set(before) | set(asked(nel)) == {(idx, 0) for idx in range(60)}


def test_a_worker_that_cannot_even_collect_ends_the_run(nel: Nel) -> None:
    deadly_solver(nel, 4)
    conftest = nel.folder / "conftest.py"
    text = conftest.read_text(encoding="utf-8")
    conftest.write_text(
        text + "\nif os.environ.get('PYTEST_XDIST_WORKER') == 'gw0':\n    os._exit(9)\n",
        encoding="utf-8",
    )

    ended = nel.run("bench_sums.py", *GONE, "-n2", model=False)

    assert ended.code not in {0, 1}, ended.text
    assert "INTERNALERROR" not in ended.text


def test_nothing_is_left_behind_of_what_was_said_to_workers(nel: Nel) -> None:
    deadly_solver(nel, 60, {(20, 0): "kill"})

    ended = nel.run("bench_sums.py", *GONE, "-n3", model=False)

    assert [path.name for path in ended.run_dir.iterdir() if path.name.startswith(".")] == []


def test_a_word_of_a_session_that_was_killed_does_not_reach_the_next(nel: Nel) -> None:
    deadly_solver(nel, 20)
    first = nel.run("bench_sums.py", *XDIST, "-n2", "--nel-max-problems", "10", model=False)
    said = {"stop": True, "live": ["gw1"], "adopt": {}}
    (first.run_dir / ".control.json").write_text(json.dumps(said), encoding="utf-8")

    again = nel.run("bench_sums.py", *XDIST, "-n2", "--nel-resume", model=False)

    assert again.code == 0, again.text
    assert again.bundle()["n_scored"] == 20


@pytest.mark.parametrize("restarts", ["0", "4"])
def test_an_interrupted_run_blames_nobody(nel: Nel, restarts: str) -> None:
    deadly_solver(nel, 400, delay=0.2)
    args = (*XDIST, "-n2", "--max-worker-restart", restarts, "--nel-max-concurrent", "8")
    process = nel.start("bench_sums.py", *args)
    wait_until(lambda: len(lines(nel, "scored")) > 8)

    process.send_signal(2)

    ended = ended_of(nel, process)
    assert ended.code == 2, ended.text
    assert ended.bundle()["n_unscored"] == 0
