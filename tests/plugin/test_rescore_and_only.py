"""``--nel-rescore`` judges what is stored; ``--nel-only`` makes some attempts again."""

import pytest

from tests.plugin.running import Ended, Nel, rows, sums
from tests.plugin.test_resume import RUN, bundle, first, outcomes
from tests.support.endpoint import RunningEndpoint


def rescored(nel: Nel, *args: str, code: int = 0) -> Ended:
    ended = nel.run(*RUN, "--nel-rescore", *args, model=False)
    assert ended.code == code, ended.text
    return ended


def test_rescoring_needs_no_model(nel: Nel, endpoint: RunningEndpoint, how: list[str]) -> None:
    nel.untested()
    file = nel.bench(sums(12))
    first(nel, *how)
    before = bundle(nel)["fingerprint"]
    endpoint.reset()
    file.write_text(file.read_text().replace("return numeric_match(sample)", "return 1"))

    ended = rescored(nel, *how)

    assert endpoint.stats()["requests"] == 0
    assert set(outcomes(nel).values()) == {"correct"}
    assert "12 judged from stored answers" in ended.out
    after = bundle(nel)["fingerprint"]
    assert {name for name in before if before[name] != after[name]} == {"scorer", "judging"}


def test_a_run_that_was_rescored_goes_on_for_nothing(nel: Nel, endpoint: RunningEndpoint) -> None:
    nel.untested()
    file = nel.bench(sums(6))
    first(nel)
    file.write_text(file.read_text().replace("return numeric_match(sample)", "return 1"))
    rescored(nel)
    endpoint.reset()

    ended = nel.run(*RUN, "--nel-resume")

    assert ended.code == 0, ended.text
    assert endpoint.stats()["requests"] == 0
    assert "6 taken as recorded" in ended.out


def test_rescoring_a_suite_needs_no_key(nel: Nel) -> None:
    nel.bench(sums(4))
    path = nel.suite("bench_sums.py:sums")
    path.write_text(path.read_text().replace("model: m}", "model: m, api_key: '${KEY}'}"))
    args = ["my.nel.yaml", "--nel-output-dir", "run"]
    assert nel.run(*args, model=False, env={"KEY": "k"}).code == 0

    ended = nel.run(*args, "--nel-rescore", model=False, env={"KEY": "unused"})

    assert ended.code == 0, ended.text
    assert "4 judged" in ended.out


def test_what_has_no_stored_answer_is_not_made_up(nel: Nel, endpoint: RunningEndpoint) -> None:
    nel.bench(sums(6))
    first(nel, "--nel-max-problems", "4")
    endpoint.reset()

    ended = rescored(nel, "-rs", code=7)

    assert endpoint.stats()["requests"] == 0
    assert "not run: no answer is stored" in ended.out
    assert len(outcomes(nel)) == 4


def test_rescoring_answers_to_another_prompt_is_refused(nel: Nel) -> None:
    file = nel.bench(sums(4))
    first(nel)
    before = outcomes(nel)
    file.write_text(file.read_text().replace('prompt="{say}"', 'prompt="{say}!"'))

    ended = rescored(nel, code=4)

    assert "sums: not what its answers were given to (prompt)" in ended.out
    assert outcomes(nel) == before


def test_rescoring_a_row_that_changed_leaves_it_out(nel: Nel) -> None:
    nel.bench(rows("7", "8"))
    first(nel)
    nel.bench(rows("7", "9"))

    ended = rescored(nel, "-rs", code=7)

    assert "the stored answer was given to another prompt" in ended.out
    assert outcomes(nel) == {(0, 0): "correct"}


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--nel-rescore"], "no run of bench_sums.py in"),
        (["--nel-only", "wrong"], "add --nel-resume"),
        (["--nel-only", "wrong", "--nel-rescore"], "choose one"),
        (["--nel-only", "right", "--nel-resume"], "expected one of wrong, unparsed, unscored"),
        (["--nel-cache-share-repeats"], "add --nel-cache DIR"),
        (["--nel-cache-size", "2GB"], "add --nel-cache DIR"),
        (["--nel-rescore", "--nel-temperature", "1"], "--nel-temperature: --nel-rescore asks no"),
        (["--nel-rescore", "--nel-cache", "c"], "--nel-cache: --nel-rescore asks no"),
        (["--nel-shard", "4/4"], "I from 0 to 3"),
        (["--nel-shard", "1"], "such as 0/8"),
        (["--nel-cache-size", "2G", "--nel-cache", "c"], "expected a size"),
        (["--nel-journal-sync", "never"], "expected one of second, record"),
    ],
)
def test_what_cannot_be_meant_is_one_line(nel: Nel, args: list[str], says: str) -> None:
    nel.bench(sums(3))

    ended = nel.run("bench_sums.py", *args, model="--nel-rescore" not in args)

    assert ended.code == 4, ended.text
    assert says in ended.err
    assert "Traceback" not in ended.text
    assert nel.runs() == []


def test_only_the_wrong_ones_are_made_again_and_the_score_is_no_fair_sample(
    nel: Nel, endpoint: RunningEndpoint, how: list[str]
) -> None:
    nel.bench(sums(12))
    first(nel, *how)
    wrong = [key for key, outcome in outcomes(nel).items() if outcome == "wrong"]
    endpoint.reset()

    ended = nel.run(*RUN, "--nel-resume", "--nel-only", "wrong", *how)

    assert ended.code == 6, ended.text
    assert endpoint.stats()["requests"] == len(wrong) == 4
    assert len(outcomes(nel)) == 12
    assert bundle(nel)["n_made_again"] == 4
    assert "4 were made again because of their outcome: no fair sample" in ended.out


def test_the_mark_stays_when_the_run_goes_on(nel: Nel) -> None:
    nel.bench(sums(6))
    first(nel)
    nel.run(*RUN, "--nel-resume", "--nel-only", "wrong")

    ended = nel.run(*RUN, "--nel-resume")

    assert ended.code == 6, ended.text


def test_only_what_has_no_score_is_a_plain_second_try(nel: Nel, endpoint: RunningEndpoint) -> None:
    nel.bench(rows("7", "crash", "8"))
    first(nel, code=7)
    endpoint.reset()

    ended = nel.run(*RUN, "--nel-resume", "--nel-only", "unscored")

    assert ended.code == 7, ended.text
    assert endpoint.stats()["requests"] == 0  # the answer is there: only its scorer broke
    assert bundle(nel)["n_made_again"] == 0
    assert "2 deselected" in ended.out


def test_with_nothing_to_make_again_the_run_is_what_it_was(nel: Nel) -> None:
    nel.bench(rows("7"))
    first(nel)

    ended = nel.run(*RUN, "--nel-resume", "--nel-only", "unparsed")

    assert ended.code == 0, ended.text
    assert "1 deselected" in ended.out


def test_only_with_another_model_is_refused(nel: Nel) -> None:
    nel.bench(sums(6))
    first(nel)
    before = outcomes(nel)

    ended = nel.run(*RUN, "--nel-resume", "--nel-only", "wrong", "--nel-model-id", "n")

    assert ended.code == 4, ended.text
    assert "model: 'm' → 'n'" in ended.out
    assert outcomes(nel) == before


SYNC = """
import os

real, count = os.fsync, [0]


def fsync(file):
    count[0] += 1
    return real(file)


os.fsync = fsync


def pytest_unconfigure():
    print(f"FSYNC {count[0]}")
"""


def test_each_record_is_put_on_the_disk_where_that_is_asked_for(nel: Nel) -> None:
    nel.bench(sums(30))
    nel.write("conftest.py", SYNC)

    counts = {}
    for when in ("second", "record"):
        ended = nel.run("bench_sums.py", "-s", "--nel-journal-sync", when)
        assert ended.code == 0, ended.text
        counts[when] = int(ended.out.rpartition("FSYNC ")[2].split()[0])

    assert counts["second"] < 10
    assert counts["record"] >= 60
