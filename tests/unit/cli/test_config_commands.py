"""``nel config``: check, show and schema."""

import json
import re
from pathlib import Path

import pytest

from pytest_nel.cli.main import main

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"
SUITE = """\
services:
  model:
    type: api
    url: http://localhost:8000/v1/chat/completions
    protocol: chat_completions
    api_key: ${NEL_TEST_UNSET_KEY}
benchmarks:
  - name: basics
    solver: {type: simple, service: model}
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    path = tmp_path / "s.nel.yaml"
    path.write_text(SUITE, encoding="utf-8")
    return path


def test_a_suite_that_is_right_is_ok_without_its_key(
    suite: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = main(["config", "check", str(suite), "-O", "benchmarks[0].repeats=3"])

    assert status == 0
    assert capsys.readouterr().out == f"{suite}: ok\n"


def test_every_mistake_of_every_file_is_named(
    suite: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = tmp_path / "wrong.nel.yaml"
    wrong.write_text(
        SUITE.replace("api\n", "api\n    max_retry: 3\n    timeout: soon\n", 1)
        .replace("name: basics", "name: basic")
        .replace("service: model", "service: model, system_promt: x"),
        encoding="utf-8",
    )
    typed = tmp_path / "typed.nel.yaml"
    typed.write_text(
        SUITE.replace("type: api", "type: apy").replace("name: basics", "name: gone.py:x"),
        encoding="utf-8",
    )

    status = main(["config", "check", str(wrong), str(suite), str(typed)])

    captured = capsys.readouterr()
    err = captured.err.replace(f"{tmp_path}/", "").replace("nel config check: ", "")
    lines = err.splitlines()
    assert status == 4
    assert captured.out == f"{suite}: ok\n"
    assert [line.partition(" Known: ")[0].split(": ", 2)[1:] for line in lines] == [
        ["services.model.max_retry", "unknown option. Did you mean 'max_retries'?"],
        ["services.model.timeout", "expected a number, got 'soon'"],
        ["benchmarks[0].name", "no benchmark is called 'basic'. Did you mean 'basics'?"],
        [
            "benchmarks[0].solver.system_promt",
            "unknown option. Did you mean 'system_prompt'?",
        ],
        ["services.model.type", "there is no service of type 'apy'. Did you mean 'api'?"],
        ["benchmarks[0].name", f"there is no file gone.py in {tmp_path}"],
    ]
    places = [line.partition(": ")[0] for line in lines]
    assert places == [
        *(f"wrong.nel.yaml:{line}" for line in (4, 5, 10, 11)),
        *("typed.nel.yaml:3", "typed.nel.yaml:8"),
    ]


@pytest.mark.parametrize("words", [["check"], ["show"]])
@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["-O", "benchmarks[5].repeats=1"], "benchmarks has no entry 5, the indices are 0 to 0"),
        (["-O", "repeats"], "override 'repeats': expected PATH=VALUE"),
    ],
)
def test_an_override_that_leads_nowhere_is_status_4(
    suite: Path, words: list[str], more: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status = main(["config", *words, str(suite), *more])

    assert status == 4
    assert said in capsys.readouterr().err


def test_what_is_shown_has_places_overrides_and_no_secret(
    suite: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NEL_TEST_UNSET_KEY", "s3cret")
    monkeypatch.chdir(suite.parent)

    status = main(["config", "show", "s.nel.yaml", "-O", "services.model.env.TOKEN=s3cret"])

    shown = capsys.readouterr().out
    assert status == 0
    assert "    api_key: ${NEL_TEST_UNSET_KEY}  # s.nel.yaml:6\n" in shown
    assert "      TOKEN: '***'  # override services.model.env.TOKEN\n" in shown
    assert "s3cret" not in shown


def test_placeholders_are_shown_and_json_is_one_object(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "s.nel.yaml"
    path.write_text("services: {m: {model: '???'}}\n", encoding="utf-8")

    status = main(["config", "show", str(path), "--json"])

    shown = json.loads(capsys.readouterr().out)
    assert status == 0
    assert shown["suite"] == {"services": {"m": {"model": "???"}}}
    assert shown["places"]["services.m.model"] == f"{path}:1"


def test_a_file_that_is_not_there_is_status_4(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    statuses = [main(["config", word, str(tmp_path / "gone")]) for word in ("check", "show")]

    assert statuses == [4, 4]
    assert "cannot read this suite" in capsys.readouterr().err


def test_there_is_no_file_of_settings_to_get_from_or_set_in() -> None:
    with pytest.raises(SystemExit) as ended:
        main(["config", "get", "x"])

    assert ended.value.code == 4


def test_our_examples_of_composition_are_right(capsys: pytest.CaptureFixture[str]) -> None:
    folder = EXAMPLES / "compose"

    status = main(["config", "check", *map(str, sorted(folder.glob("*.nel.yaml")))])

    assert (status, capsys.readouterr().err) == (0, "")


def test_the_how_to_shows_the_files_as_they_are() -> None:
    page = (EXAMPLES.parent / "how-to/compose-a-suite.md").read_text(encoding="utf-8")

    shown = re.findall(r"^```yaml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)

    names = ("base.yaml", "release.nel.yaml", "conf/services/patient.yaml", "smoke.nel.yaml")
    files = [(EXAMPLES / "compose" / name).read_text(encoding="utf-8") for name in names]
    assert shown == [text.partition("\n")[2] for text in files]


def test_the_base_of_our_examples_says_what_it_needs(capsys: pytest.CaptureFixture[str]) -> None:
    base = EXAMPLES / "compose" / "base.yaml"

    statuses = [
        main(["config", "check", str(base)]),
        main(["config", "check", str(base), "-O", "_model=ours"]),
    ]

    assert statuses == [4, 0]
    assert f"{base}:2: _model: a value is needed here" in capsys.readouterr().err


WRONG = """services:
  m:
    type: api
    url: http://h.test/v1/responses
    protocol: responses
    proxy: {interceptors: [{name: cachin}, {name: turn_counter, config: {max_turns: 0}},
      {name: caching}, {name: response_stats, config: {every: often}}]}
  j: {type: api, url: "http://h.test/v1/chat/completions", protocol: chat_completions}
benchmarks:
  - name: basics
    generation: {seed: 1}
    solver: {type: simple, service: m}
    scoring: {metrics: [{name: q, type: judge, service: j, rubric_file: nope.md}]}
"""


def test_check_says_all_that_a_run_would_be_refused_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "s.nel.yaml"
    file.write_text(WRONG, encoding="utf-8")

    status = main(["config", "check", str(file)])

    captured = capsys.readouterr()
    said = captured.out + captured.err
    assert status == 4
    assert f"{file}:6: services.m.proxy.interceptors[0].name: " in said
    assert "Did you mean 'caching'?" in said
    assert f"{file}:6: services.m.proxy.interceptors[1].config.max_turns: " in said
    assert "config.max_turns: expected at least 1, got 0" in said
    assert (
        f"{file}:7: services.m.proxy.interceptors[2].config.cache_dir: required, but missing"
        in said
    )
    assert f"{file}:7: services.m.proxy.interceptors[3].config.every: " in said
    assert "expected a whole number, got 'often'" in said
    assert f"{file}:11: benchmarks[0].generation: seed: the protocol responses has no such" in said
    assert "rubric_file: there is no file nope.md in" in said


def test_a_limit_of_costs_needs_prices_of_all_that_is_asked(
    suite: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    free = main(["config", "check", str(suite), "-O", "budget.max_cost=5"])
    err = capsys.readouterr().err
    prices = "services.model.prices={prompt: 1, completion: 1}"
    priced = main(["config", "check", str(suite), "-O", "budget.max_cost=5", "-O", prices])

    assert (free, priced) == (4, 0)
    assert "budget.max_cost: what model costs is not known: give the service `prices`" in err


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("b.py:nope", "unknown benchmark of b.py 'nope'"),
        ("b.py:", "no name stands behind the colon"),
    ],
)
def test_a_benchmark_that_its_file_does_not_have_is_found(
    suite: Path, capsys: pytest.CaptureFixture[str], name: str, said: str
) -> None:
    text = "from x import benchmark\n\n@benchmark(name='caps')\ndef f(): ...\n"
    suite.with_name("b.py").write_text(text, encoding="utf-8")

    status = main(["config", "check", str(suite), "-O", f'benchmarks[0].name="{name}"'])

    assert status == 4
    assert said in capsys.readouterr().err
