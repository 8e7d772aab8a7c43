"""A scorer is tried on its own benchmark before a token is spent."""

import json
from typing import Any

import pytest

from tests.plugin.running import Nel, rows, sums
from tests.support.endpoint import RunningEndpoint

RUN = ("bench_sums.py", "--nel-output-dir", "run")
RIGHT = "return numeric_match(sample)"
STRIPS = (
    "number = sample.response.rstrip('0')\n"
    "    return {'correct': number == sample.target, 'extracted': number}"
)


def scorer(nel: Nel, body: str, *, target: str = "60") -> None:
    """A benchmark whose scorer ends otherwise."""
    file = nel.bench(rows("60", "7", target=target))
    file.write_text(file.read_text().replace(RIGHT, body))


def plan(nel: Nel) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((nel.folder / "run/sums/plan.json").read_text())
    return found


def test_a_scorer_that_refuses_its_gold_answer_is_refused(
    nel: Nel, endpoint: RunningEndpoint, how: list[str]
) -> None:
    scorer(nel, STRIPS)

    ended = nel.run(*RUN, *how)

    assert ended.code == 4, ended.text
    said = " ".join(ended.text.split())
    assert "bench_sums.py:8: benchmark 'sums': self-test of the scorer" in said
    assert "the gold answer '60' gets 0 and must get 1; the scorer read '6' out of it" in said
    assert "--nel-no-selftest" in said
    assert endpoint.stats()["requests"] == 0
    assert not (nel.folder / "run/sums").exists()


def test_a_scorer_that_rewards_an_empty_answer_is_refused(
    nel: Nel, endpoint: RunningEndpoint
) -> None:
    scorer(nel, "return sample.response in sample.target")

    ended = nel.run(*RUN)

    assert ended.code == 4, ended.text
    assert "an empty answer gets 1 and must get 0" in ended.text
    assert endpoint.stats()["requests"] == 0


COUNTS = """with open("calls", "a") as file:
        file.write("x")
    return sample.response == sample.target"""


@pytest.mark.parametrize(
    ("args", "calls"), [([], 5), (["-n2"], 5), (["-n2", "--continue-on-collection-errors"], 10)]
)
def test_one_worker_tries_it_for_all(nel: Nel, args: list[str], calls: int) -> None:
    """Two rows: the empty answer and the right one to each, and one to the other."""
    file = nel.bench([{"say": "1", "target": "1"}, {"say": "2", "target": "2"}])
    file.write_text(file.read_text().replace(RIGHT, COUNTS))

    ended = nel.run(*RUN, *(["-p", "xdist", *args] if args else []))

    assert ended.code == 0, ended.text
    assert len((nel.folder / "calls").read_text()) == calls + 2  # and each answer
    assert plan(nel)["selftest"] == "passed"


@pytest.mark.parametrize("more", [[], ["--continue-on-collection-errors"]])
def test_what_one_worker_refuses_ends_the_run_with_one_message(
    nel: Nel, endpoint: RunningEndpoint, how: list[str], more: list[str]
) -> None:
    nel.bench(sums(3), file="bench_good.py", name="good")
    scorer(nel, STRIPS)

    ended = nel.run("bench_good.py", *RUN, *how, *more)

    assert ended.code == 4, ended.text
    assert ended.text.count("the gold answer '60' gets 0") == 1
    assert "different items" not in ended.text
    assert endpoint.stats()["requests"] == (3 if more else 0)


def test_a_scorer_that_takes_long_is_said_to_be_tried(nel: Nel, how: list[str]) -> None:
    scorer(nel, "import time\n    time.sleep(2.2)\n    return sample.response == sample.target")

    ended = nel.run(*RUN, "-k", "no attempt", *how)

    said = "nel: trying the scorer of sums on its own gold answers …"
    assert ended.err.count(said) == 1, ended.text
    assert said not in ended.out


def test_it_is_tried_where_items_are_only_listed_too(nel: Nel) -> None:
    scorer(nel, STRIPS)

    ended = nel.run(*RUN, "--collect-only")

    assert "the gold answer '60' gets 0" in ended.text
    assert ended.code == 4


def test_it_is_tried_before_stored_answers_are_judged_again(nel: Nel) -> None:
    scorer(nel, RIGHT)
    assert nel.run(*RUN).code == 0
    before = (nel.folder / "run/sums/results.jsonl").read_bytes()
    scorer(nel, STRIPS)

    ended = nel.run(*RUN, "--nel-rescore", model=False)

    assert ended.code == 4, ended.text
    assert (nel.folder / "run/sums/results.jsonl").read_bytes() == before


@pytest.mark.parametrize("by_ini", [False, True])
def test_who_says_so_measures_all_the_same_and_that_is_recorded(nel: Nel, *, by_ini: bool) -> None:
    scorer(nel, STRIPS)
    if by_ini:
        nel.write("pytest.ini", "[pytest]\nnel_no_selftest = true\n")

    ended = nel.run(*RUN, *([] if by_ini else ["--nel-no-selftest"]))

    assert ended.code == 0, ended.text
    assert plan(nel)["selftest"] == "skipped"


def test_what_was_found_is_recorded_outside_the_fingerprint(nel: Nel, how: list[str]) -> None:
    scorer(nel, RIGHT)

    ended = nel.run(*RUN, *how)

    assert ended.code == 0, ended.text
    assert plan(nel)["selftest"] == "passed"
    assert "selftest" not in plan(nel)["fingerprint"]


def test_a_run_that_skipped_it_goes_on_with_it_and_nothing_is_judged_again(nel: Nel) -> None:
    nel.bench(sums(4))
    assert nel.run(*RUN, "--nel-no-selftest").code == 0

    ended = nel.run(*RUN, "--nel-resume")

    assert ended.code == 0, ended.text
    assert "4 taken as recorded" in ended.out
    assert plan(nel)["selftest"] == "passed"


def test_the_form_that_the_author_gives_is_tried(nel: Nel) -> None:
    file = nel.bench(rows("result=60", "7", target="60"), more="gold='result={target}'")
    body = "return sample.response == f'result={sample.target}'"
    file.write_text(file.read_text().replace(RIGHT, body))

    ended = nel.run(*RUN)

    assert ended.code == 0, ended.text
    assert plan(nel)["selftest"] == "passed"


def test_a_scorer_that_is_always_right_is_named_in_a_note(nel: Nel, how: list[str]) -> None:
    file = nel.bench(sums(4))
    file.write_text(file.read_text().replace(RIGHT, "return bool(sample.response)"))

    ended = nel.run(*RUN, *how)

    assert ended.code == 0, ended.text
    assert "sums: its scorer gave full marks to each of" in ended.out


def test_a_part_of_a_set_is_named_in_a_note(nel: Nel, how: list[str]) -> None:
    nel.bench(sums(4), more="size=1319")

    ended = nel.run(*RUN, *how)

    assert ended.code == 0, ended.text
    assert "sums: 4 problems were loaded, and the whole set has 1,319" in ended.out


def test_suites_are_tried_as_files_are(nel: Nel) -> None:
    scorer(nel, STRIPS)
    nel.suite("bench_sums.py")

    ended = nel.run("my.nel.yaml", model=False)

    assert ended.code == 4, ended.text
    assert "the gold answer '60' gets 0" in ended.text
