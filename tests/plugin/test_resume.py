"""``--nel-resume``: what is answered is not asked again, and what has changed is said."""

import json
from typing import Any

import pytest

from tests.plugin.running import Ended, Nel, sums
from tests.support.endpoint import RunningEndpoint, running_endpoint

pytestmark = pytest.mark.everywhere

RUN = ["bench_sums.py", "--nel-output-dir", "run"]


def results(nel: Nel, run: str = "run") -> bytes:
    return (nel.folder / run / "sums" / "results.jsonl").read_bytes()


def outcomes(nel: Nel, run: str = "run") -> dict[tuple[int, int], str]:
    found = [json.loads(line) for line in results(nel, run).splitlines()]
    assert len({(row["problem_idx"], row["repeat"]) for row in found}) == len(found)
    return {(row["problem_idx"], row["repeat"]): row["outcome"] for row in found}


def bundle(nel: Nel, run: str = "run") -> dict[str, Any]:
    (path,) = (nel.folder / run / "sums").glob("eval-*.json")
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def again(nel: Nel, *args: str, code: int = 0, **more: Any) -> Ended:
    ended = nel.run(*RUN, "--nel-resume", *args, **more)
    assert ended.code == code, ended.text
    return ended


def first(nel: Nel, *args: str, code: int = 0) -> Ended:
    ended = nel.run(*RUN, *args)
    assert ended.code == code, ended.text
    return ended


def test_a_finished_run_goes_on_for_nothing(
    nel: Nel, endpoint: RunningEndpoint, how: list[str]
) -> None:
    nel.bench(sums(30))
    first(nel, *how)
    before, scores = results(nel), bundle(nel)["benchmark"]["scores"]
    endpoint.reset()

    ended = again(nel, *how)

    assert endpoint.stats()["requests"] == 0
    assert results(nel) == before
    assert bundle(nel)["benchmark"]["scores"] == scores
    assert bundle(nel)["turns"] == 2
    assert "of the earlier records: 30 taken as recorded" in ended.out
    assert ended.out.count("nel: going on in run\n") == 1


def test_one_process_goes_on_where_two_workers_ended_and_back(
    nel: Nel, endpoint: RunningEndpoint
) -> None:
    nel.bench(sums(20))
    first(nel, "-p", "xdist", "-n2", "-k", "sums[1 or sums[2", code=0)
    done = len(outcomes(nel))

    again(nel)
    again(nel, "-p", "xdist", "-n2")

    assert 0 < done < 20
    assert len(outcomes(nel)) == 20
    assert endpoint.stats()["requests"] == 20


def test_without_a_directory_the_youngest_run_of_the_same_file_goes_on(
    nel: Nel, endpoint: RunningEndpoint
) -> None:
    nel.bench(sums(5))
    nel.bench(sums(5), file="bench_other.py", name="other")
    nel.run("bench_sums.py")
    nel.run("bench_other.py")
    endpoint.reset()

    ended = nel.run("bench_sums.py", "--nel-resume")

    assert ended.code == 0, ended.text
    assert endpoint.stats()["requests"] == 0
    assert len(nel.runs()) == 2


def test_with_nothing_to_go_on_with_a_run_begins(nel: Nel, endpoint: RunningEndpoint) -> None:
    nel.bench(sums(5))

    named = again(nel)
    unnamed = nel.run("bench_sums.py", "--nel-resume")

    assert (named.code, unnamed.code) == (0, 0), unnamed.text
    assert endpoint.stats()["requests"] == 10
    assert len(nel.runs()) == 1


def test_quick_mode_goes_on(nel: Nel, endpoint: RunningEndpoint) -> None:
    nel.bench(sums(5))
    quick = ["--nel-bench", "bench_sums.py", "--nel-output-dir", "run"]
    nel.run(*quick)
    endpoint.reset()

    ended = nel.run(*quick, "--nel-resume", "--nel-repeats", "2")

    assert ended.code == 0, ended.text
    assert endpoint.stats()["requests"] == 5
    assert "repeats: 2" in (nel.folder / "run/suite.nel.yaml").read_text()


def test_a_suite_with_a_directory_of_its_own_goes_on(nel: Nel, endpoint: RunningEndpoint) -> None:
    nel.bench(sums(5))
    tail = "output: {dir: run, timestamped: false}\n"
    nel.suite("bench_sums.py:sums", tail=tail)
    nel.run("my.nel.yaml", model=False)
    nel.suite("bench_sums.py:sums", more="repeats: 3", tail=tail)

    refused = nel.run("my.nel.yaml", model=False)
    ended = nel.run("my.nel.yaml", "--nel-resume", model=False)

    assert refused.code == 4, refused.text
    assert "or go on in it with --nel-resume" in refused.err
    assert ended.code == 0, ended.text
    assert endpoint.stats()["requests"] == 15
    assert "repeats: 3" in (nel.folder / "run/suite.nel.yaml").read_text()


def test_more_problems_and_more_repeats_are_only_added(nel: Nel, endpoint: RunningEndpoint) -> None:
    nel.bench(sums(20))
    first(nel, "--nel-max-problems", "5")
    before = outcomes(nel)

    again(nel, "--nel-max-problems", "8")
    again(nel, "--nel-repeats", "2")

    assert endpoint.stats()["requests"] == 40
    assert before.items() <= outcomes(nel).items()
    assert len(outcomes(nel)) == 40


def test_attempts_without_a_score_are_tried_again_and_no_others(nel: Nel) -> None:
    nel.bench(sums(20))
    script = nel.write(
        "model.py",
        "from pathlib import Path\n\n"
        "def answer(request, nth):\n"
        '    asked = request["messages"][-1]["content"]\n'
        f"    broken = Path({str(nel.folder / 'broken')!r}).exists()\n"
        '    return (400, "no") if broken and asked.endswith("3") else asked\n',
    )
    (nel.folder / "broken").touch()
    with running_endpoint(script=str(script)) as mine:
        nel.url = mine.url
        ended = first(nel, code=7)
        (nel.folder / "broken").unlink()
        mine.reset()
        again(nel)
        asked = mine.stats()["requests"]

    assert "unscored" in ended.out
    assert asked == 2
    assert set(outcomes(nel).values()) == {"correct", "wrong"}


def test_the_directory_of_another_suite_is_refused(nel: Nel) -> None:
    nel.bench(sums(3))
    nel.bench(sums(3), file="bench_other.py", name="other")
    first(nel)
    before = {path: path.read_bytes() for path in nel.folder.glob("run/**/*") if path.is_file()}

    ended = nel.run("bench_other.py", "--nel-output-dir", "run", "--nel-resume")

    assert ended.code == 4, ended.text
    assert "holds a run of bench_sums.py, not of bench_other.py" in ended.err
    assert "Traceback" not in ended.text
    assert before == {
        path: path.read_bytes() for path in nel.folder.glob("run/**/*") if path.is_file()
    }


def test_a_directory_that_is_no_run_is_refused(nel: Nel) -> None:
    nel.bench(sums(3))
    nel.write("run/thesis.tex", "years of work")

    ended = again(nel, code=4)

    assert "is not empty" in ended.err
    assert [path.name for path in (nel.folder / "run").iterdir()] == ["thesis.tex"]


def test_two_runs_do_not_write_into_one_directory(nel: Nel) -> None:
    nel.bench(sums(40))
    with running_endpoint(mode="echo", latency=1.0) as slow:
        nel.url = slow.url
        one = nel.start(*RUN, "--nel-max-concurrent", "1")
        slow.wait_in_flight(1)
        other = again(nel, "--nel-max-concurrent", "1", code=4)
        one.terminate()
        one.communicate()

    assert "another run is writing there" in other.err


def test_looking_at_the_items_of_a_run_touches_nothing(nel: Nel) -> None:
    nel.bench(sums(3))
    first(nel)
    before = {path: path.stat().st_mtime_ns for path in nel.folder.glob("run/**/*")}

    ended = again(nel, "--collect-only", "-q")

    assert "sums[0-r0]" in ended.out
    assert before == {path: path.stat().st_mtime_ns for path in nel.folder.glob("run/**/*")}


def test_the_command_goes_on_as_well(nel: Nel, endpoint: RunningEndpoint) -> None:
    nel.bench(sums(4))
    nel.suite("bench_sums.py:sums")

    said = ""
    for more in ([], ["--resume"]):
        done = nel.nel("eval", "run", "my.nel.yaml", "-o", "run", *more)
        assert done.returncode == 0, done.stdout + done.stderr
        said = done.stdout

    assert endpoint.stats()["requests"] == 4
    assert "4 taken as recorded" in said


def test_records_of_each_kind_have_the_keys_that_the_page_names(nel: Nel) -> None:
    nel.bench(sums(3))
    cache = ["--nel-cache", "cache"]
    first(nel, *cache)
    nel.run("bench_sums.py", "--nel-output-dir", "other", *cache)
    again(nel, "--nel-only", "wrong", code=6)

    written = {
        key
        for path in nel.folder.glob("*/sums/journal/*.jsonl")
        for line in path.read_text().splitlines()
        for key in json.loads(line)
    }

    assert {"turns", "turn", "cached", "because", "crc", "solve_key", "score_key"} <= written


def test_an_endpoint_that_is_not_there_leaves_an_earlier_session_as_it_was(
    nel: Nel, endpoint: RunningEndpoint
) -> None:
    nel.bench(sums(6))
    suite = nel.suite("bench_sums.py")
    line = ("my.nel.yaml", "--nel-output-dir", "run")
    assert nel.run(*line, model=False).code == 0
    kept = {path: path.read_bytes() for path in (nel.folder / "run").rglob("*.json*")}
    suite.write_text(suite.read_text().replace("model: m}", "model: m, health_path: /nope}"))

    ended = nel.run(*line, "--nel-resume", model=False)

    assert ended.code == 7, ended.text
    assert "so nothing is measured" in ended.out
    bundles = [path for path in kept if path.name.startswith(("eval-", "checks", "results"))]
    assert bundles
    assert [path for path in bundles if path.read_bytes() != kept[path]] == []
    assert endpoint.stats()["requests"] == 6


def test_only_what_was_done_with_earlier_records_is_counted(nel: Nel) -> None:
    nel.bench(sums(8))
    line = ("bench_sums.py", "--nel-strict", "-x", "--nel-shuffle-seed", "none")

    nel.run(*line)
    stopped = nel.run(*line, "--nel-resume")
    whole = nel.run("bench_sums.py", "--nel-shuffle-seed", "none", "--nel-resume")

    assert "of the earlier records: 3 taken as recorded\n" in stopped.out, stopped.text
    assert "3 taken as recorded, 5 judged from stored answers" in whole.out, whole.text


def test_a_suite_that_became_wrong_shows_no_earlier_results_as_its_own(nel: Nel) -> None:
    nel.bench(sums(2))
    suite = nel.suite("bench_sums.py")
    nel.run("my.nel.yaml", model=False)
    suite.write_text(suite.read_text().replace("type: simple", "type: simpel"))

    ended = nel.run("my.nel.yaml", "--nel-resume", model=False)

    assert ended.code == 4, ended.text
    assert "Did you mean 'simple'?" in ended.out
    assert "= benchmarks =" not in ended.out
    assert "goes on" not in ended.out
