"""``nel validate``: the scorer on gold, empty and wrong answers, then on live ones."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_nel.cli.main import main
from tests.plugin.running import Nel, rows
from tests.support.endpoint import RunningEndpoint, running_endpoint

ANSWERS = Path(__file__).parents[2] / "plugin" / "answers.py"


@pytest.fixture(scope="module")
def endpoint() -> Iterator[RunningEndpoint]:
    """Repeats what it is asked."""
    with running_endpoint(script=str(ANSWERS)) as made:
        yield made


@pytest.fixture
def nel(tmp_path: Path, endpoint: RunningEndpoint, monkeypatch: pytest.MonkeyPatch) -> Nel:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    made = Nel(tmp_path, endpoint.url)
    made.write("pytest.ini", "[pytest]\n")
    return made


def validate(*words: object) -> int:
    return main(["validate", *map(str, words)])


def test_gold_empty_and_wrong_answers_are_shown(
    nel: Nel, capsys: pytest.CaptureFixture[str]
) -> None:
    nel.bench([{"say": "x", "target": "7"}, {"say": "y", "target": "9"}])

    status = validate("bench_sums.py")

    said = capsys.readouterr().out
    assert status == 0
    assert said.splitlines()[:2] == ["bench_sums.py: 2 problems", "self-test  passed"]
    for line in ("'7' gets 1", "'' gets 0", "'9' gets 0", "2 of 2 get full marks"):
        assert line in said
    assert "no live samples: name a model" in said


def test_a_scorer_that_refuses_its_gold_answers_is_status_1(
    nel: Nel, capsys: pytest.CaptureFixture[str]
) -> None:
    nel.bench([{"say": "x", "target": "half"}])

    status = validate("bench_sums.py", "--model-url", nel.url, "--model-id", "m", "--json")

    facts = json.loads(capsys.readouterr().out)
    assert status == 1
    assert "must get 1" in facts["selftest"]
    assert {trial["kind"] for trial in facts["trials"]} == {"gold", "empty"}
    assert "live" not in facts


def test_live_samples_are_shown_with_what_they_cost(
    nel: Nel, capsys: pytest.CaptureFixture[str]
) -> None:
    nel.bench(rows("7", "8", "!400 no", "9"))

    status = validate("bench_sums.py", "-s", "4", "--model-url", nel.url, "--model-id", "m")

    said = capsys.readouterr().out
    assert status == 0
    assert "  correct   p0: expected='7' got='7'" in said
    assert "  wrong     p1: expected='7' got='8'" in said
    assert "  unscored  p2: expected='7' got=None" in said
    assert " tokens\n" in said
    assert said.endswith("1/4 correct\n")
    assert sorted(path.name for path in nel.folder.iterdir() if path.name[0] not in "._") == [
        *("bench_sums.py", "pytest.ini"),
    ]


def test_where_no_live_sample_could_be_scored_it_is_status_1(
    nel: Nel, capsys: pytest.CaptureFixture[str]
) -> None:
    nel.bench(rows("!400 no"))

    status = validate("bench_sums.py", "--model-url", nel.url, "--model-id", "m")

    assert status == 1
    assert "0/1 correct" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nothing",), "unknown benchmark 'nothing'"),
        (("nothing.py",), "no such benchmark file"),
        (("basics", "--model-url", "ftp://x"), "expected http(s)://"),
    ],
)
def test_a_mistake_is_status_4(
    words: tuple[str, ...], said: str, nel: Nel, capsys: pytest.CaptureFixture[str]
) -> None:
    del nel

    status = validate(*words)

    assert status == 4
    assert said in capsys.readouterr().err


LEAKY = '''"""Its scorer says the environment when it fails."""
import os
from pytest_nel import benchmark, scorer


@benchmark(name="leaky", dataset=[{"say": "x", "target": "7"}], prompt="{say}")
@scorer
def leaky(sample):
    """Fails."""
    raise RuntimeError("cannot log in with " + os.environ["PLANTED_API_KEY"])
'''


@pytest.mark.parametrize("words", [(), ("--json",)])
def test_a_key_that_a_scorer_says_when_it_fails_is_not_shown(
    words: tuple[str, ...],
    nel: Nel,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("PLANTED_API_KEY", "sk-planted-0123456789")
    nel.write("bench_leaky.py", LEAKY)

    status = validate("bench_leaky.py", *words)

    ended = capsys.readouterr()
    assert status == 1
    assert "sk-planted" not in ended.out + ended.err
    assert "cannot log in with [API key]" in ended.out


def test_a_key_in_a_file_that_cannot_be_imported_is_not_shown(
    nel: Nel, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MINE", "sk-planted-0123456789")
    nel.write("bench_leaky.py", "import os\nraise RuntimeError(os.environ['MINE'])\n")

    status = validate("bench_leaky.py", "--api-key-env", "MINE")

    said = capsys.readouterr().err
    assert status == 4
    assert "bench_leaky.py:2: RuntimeError: [API key]" in said
