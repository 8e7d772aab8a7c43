"""Policies, baselines and thresholds in the run itself."""

import shutil
from pathlib import Path

import pytest

from pytest_nel.cli.main import main
from tests.plugin.gating import POLICY, asked_nothing, checks, gated, measured, measured_once, run
from tests.plugin.running import Nel

__all__ = ["measured", "measured_once"]

REBUILT: list[list[str]] = [["--rebuild"], []]


def test_an_equal_candidate_is_go(measured: Nel, how: list[str]) -> None:
    ended = gated(measured, *how)

    assert ended.code == 0, ended.text
    assert "GO  gate.yaml" in ended.out
    assert "+0.00 [-3.70, +3.70]" in ended.out
    assert checks(measured)["exit_code"] == 0


@pytest.mark.parametrize("named", ["mine", "latest", "mine/echo"])
def test_a_run_is_not_gated_against_itself(measured: Nel, how: list[str], named: str) -> None:
    assert run(measured, "mine", env={"BAD": "50"}).code == 0
    (measured.folder / "latest").symlink_to("mine")
    before = checks(measured)
    args = ["--nel-resume", "--nel-policy", "gate.yaml", "--nel-baseline", named]

    ended = run(measured, "mine", *how, *args, env={"BAD": "50"})

    assert ended.code == 4, ended.text
    assert "is this run's own directory" in ended.text
    assert checks(measured) == before


def test_a_run_is_not_gated_against_a_copy_of_itself(measured: Nel) -> None:
    shutil.copytree(measured.folder / "base", measured.folder / "mine")

    ended = gated(measured, "--nel-resume")

    assert ended.code == 4, ended.text
    assert "so one is a copy of the other" in ended.out
    assert "GO  gate.yaml" not in ended.out


def test_a_worse_candidate_is_no_go(measured: Nel, how: list[str]) -> None:
    ended = gated(measured, *how, "--junitxml=nel.xml", env={"BAD": "20"})

    assert ended.code == 1, ended.text
    assert "NO-GO  gate.yaml" in ended.out
    (case,) = ended.junit().iterfind("testcase[@classname='gate.yaml']")
    assert case.attrib["name"] == "echo"
    failure = case.find("failure")
    assert failure is not None
    assert failure.attrib["message"].startswith("BREACH: 95% CI on damage [0.1")
    (gate,) = [one for one in checks(measured)["checks"] if one["id"] == "gate.yaml::echo"]  # type: ignore[attr-defined]
    assert (gate["status"], gate["exit_code"], gate["gate"]) == ("failed", 1, "BREACH")
    assert gate["delta"] == -0.2
    assert checks(measured)["gate"]["verdict"] == "NO-GO"  # type: ignore[index]


def test_the_verdict_of_a_run_is_still_there_after_a_rebuild(measured: Nel) -> None:
    assert gated(measured, env={"BAD": "20"}).code == 1
    before = checks(measured)

    codes = [main(["eval", "report", str(measured.folder / "mine"), *more]) for more in REBUILT]

    assert codes == [1, 1]
    assert checks(measured) == before


def test_too_little_evidence_is_inconclusive(measured: Nel, how: list[str]) -> None:
    ended = gated(measured, *how, env={"BAD": "4"})

    assert ended.code == 6, ended.text
    assert "INCONCLUSIVE  gate.yaml" in ended.out
    assert "straddles threshold 0.05" in ended.out


def test_inconclusive_may_be_ok_and_is_still_said(measured: Nel) -> None:
    ended = gated(measured, "--nel-inconclusive=ok", env={"BAD": "4"})

    assert ended.code == 0, ended.text
    assert "INCONCLUSIVE  gate.yaml" in ended.out


def test_a_breach_is_never_ok(measured: Nel) -> None:
    assert gated(measured, "--nel-inconclusive=ok", env={"BAD": "20"}).code == 1


def test_a_selection_is_never_go(measured: Nel, how: list[str]) -> None:
    ended = gated(measured, *how, "-k", "echo[1 or echo[2")

    assert ended.code == 6, ended.text
    assert "INCONCLUSIVE  gate.yaml" in ended.out
    assert "in the worst case" in ended.out


def test_a_drop_that_no_lost_attempt_could_hide_is_go(measured: Nel) -> None:
    measured.write("gate.yaml", POLICY.replace("0.05", "0.10"))

    ended = gated(measured, "--nel-max-unscored=1", env={"LOST": "1"})

    assert ended.code == 0, ended.text
    (gate,) = checks(measured)["gate"]["benchmarks"]  # type: ignore[index]
    assert (gate["n_missing"], gate["n_paired"]) == (1, 99)
    assert len(gate["findings"][0]["damage_ci_best_case"]) == 2


def test_lost_attempts_that_could_hide_a_breach_are_inconclusive(measured: Nel) -> None:
    ended = gated(measured, "--nel-max-unscored=20", env={"LOST": "15"})

    assert ended.code == 6, ended.text
    assert "15 attempts have no score" in ended.out


def test_a_difference_that_is_allowed_is_recorded(measured: Nel) -> None:
    text = (measured.folder / "conftest.py").read_text()
    measured.write("conftest.py", text.replace('"version": 1', '"version": 2'))
    assert asked_nothing(measured, gated(measured))

    ended = gated(measured, "--nel-allow-different", "solver")

    assert ended.code == 0, ended.text
    assert "allowed to differ: solver" in ended.out
    assert checks(measured)["gate"]["allowed_differences"] == ["solver"]  # type: ignore[index]


def test_absolute_limits_need_no_baseline(measured: Nel, how: list[str]) -> None:
    limits = "version: 1\nbenchmarks:\n  echo: {metric: mean_reward, min_score: 0.9}\n"
    measured.write("gate.yaml", limits)

    good = run(measured, "mine", "--nel-policy", "gate.yaml", *how)
    bad = run(measured, "worse", "--nel-policy", "gate.yaml", *how, env={"BAD": "30"})

    assert (good.code, bad.code) == (0, 1), good.text + bad.text
    assert "is below min_score 0.9" in bad.out


def test_a_threshold_of_the_command_line(measured: Nel, how: list[str]) -> None:
    good = run(measured, "mine", "--nel-min", "echo=0.9", *how, "--junitxml=nel.xml")
    bad = run(measured, "worse", "--nel-min", "echo=0.9", *how, env={"BAD": "30"})
    open_ = run(measured, "open", "--nel-min", "echo=0.9", *how, env={"BAD": "5"})

    assert (good.code, bad.code, open_.code) == (0, 1, 6), good.text + bad.text + open_.text
    assert "FAILED bench_echo.py::echo::threshold: score 0.7000" in bad.out
    assert good.junit().find("testcase[@name='threshold']") is not None


def test_a_threshold_of_a_suite_on_the_score_alone(measured: Nel) -> None:
    measured.write(
        "my.nel.yaml",
        "services: {}\nbenchmarks:\n"
        "  - {name: 'bench_echo.py:echo', solver: {type: fixture}, min_score: 0.95, "
        "evidence: point}\n",
    )

    good = measured.run("my.nel.yaml", model=False, env={"BAD": "5"})
    bad = measured.run("my.nel.yaml", model=False, env={"BAD": "6"})

    assert (good.code, bad.code) == (0, 1), good.text + bad.text


def test_checks_are_listed_with_the_items(measured: Nel) -> None:
    ended = gated(measured, "--collect-only", "-q", "--nel-min", "echo=0.5")

    assert ended.code == 0, ended.text
    listed = ended.out.splitlines()
    for name in (
        "bench_echo.py::echo::health",
        "bench_echo.py::echo::threshold",
        "gate.yaml::echo",
    ):
        assert name in listed


def test_markdown_for_a_pull_request(measured: Nel) -> None:
    summary = measured.folder / "summary.md"
    summary.write_text("before\n")

    ended = gated(
        measured,
        "--nel-markdown",
        "out/pr.md",
        env={"BAD": "20", "GITHUB_STEP_SUMMARY": str(summary), "GITHUB_ACTIONS": "true"},
    )

    text = (measured.folder / "out" / "pr.md").read_text()
    assert text.startswith("# Quality Gate Report: NO-GO")
    assert "| echo | 100 of 100 | 0.8000 |" in text
    assert summary.read_text() == f"before\n{text}\n"
    assert "::error title=gate.yaml%3A%3Aecho::BREACH: 95%25 CI on damage" in ended.out


def test_a_rerun_of_the_gate_alone_says_the_same(measured: Nel, nel: Nel) -> None:
    gated(measured, env={"BAD": "20"})

    done = nel.nel("gate", "base", "mine", "-p", "gate.yaml")

    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stdout.startswith("NO-GO  gate.yaml\n  BREACH: echo [critical]")


def test_a_benchmark_that_the_policy_wants_and_the_run_has_not_is_said_at_once(
    measured: Nel,
) -> None:
    measured.write("gate.yaml", f"{POLICY}  other: {{}}\n  echos: {{}}\n")

    ended = gated(measured)

    assert ended.code == 1, ended.text
    assert (
        "gate.yaml requires what is not measured here: other, echos (did you mean echo?)"
        in ended.out
    )
    assert "MISSING: other [critical], echos [critical]" in ended.out


def test_an_interrupted_run_is_not_go(measured: Nel, tmp_path: Path) -> None:
    ended = gated(measured, "-x", "--nel-strict", env={"BAD": "1"})

    del tmp_path
    assert ended.code == 1, ended.text
    assert "GO  gate.yaml" not in ended.out.replace("NO-GO", "")


PLAIN = "def test_plain():\n    pass\n"


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (["--nel-policy", "gate.yaml", "--nel-baseline", "base"], 1),
        (["--nel-policy", "rest.yaml", "--nel-baseline", "base"], 6),
        (["--nel-min", "echo=0.9"], 6),
    ],
)
def test_a_gate_does_not_vanish_where_nothing_was_measured(
    measured: Nel, args: list[str], code: int, how: list[str]
) -> None:
    measured.write("test_plain.py", PLAIN)
    measured.write("rest.yaml", "version: 1\ndefaults: {max_drop: 0.05}\n")

    none = measured.run("test_plain.py", *args, *how, model=False)
    some = measured.run("test_plain.py", "bench_echo.py", "-k", "plain", *args, *how, model=False)

    assert (none.code, some.code) == (code, code), none.text + some.text
    assert "MISSING" in none.out or "INCONCLUSIVE" in none.out or "was not measured" in none.out


def test_what_is_accepted_as_inconclusive_is_said(measured: Nel) -> None:
    ended = gated(measured, "--nel-inconclusive=ok", env={"BAD": "4"})

    assert "gate.yaml::echo is INCONCLUSIVE, accepted by nel_inconclusive=ok" in ended.out


def test_a_users_mark_that_skips_an_attempt_is_a_skip(measured: Nel) -> None:
    text = (measured.folder / "conftest.py").read_text()
    measured.write(
        "conftest.py",
        f"{text}\n\ndef pytest_collection_modifyitems(items):\n"
        '    items[0].add_marker(pytest.mark.skip("not today"))\n',
    )
    measured.write(
        "my.nel.yaml",
        "services: {}\nbenchmarks:\n  - {name: 'bench_echo.py:echo', solver: {type: fixture}}\n",
    )

    ended = measured.run("my.nel.yaml", "-rs", model=False)

    assert "INTERNALERROR" not in ended.text
    assert "not today" in ended.out


def test_the_numbers_of_a_gate_are_properties_in_junit(measured: Nel) -> None:
    ended = gated(measured, "--junitxml=nel.xml")

    (case,) = ended.junit().iterfind("testcase[@classname='gate.yaml']")
    found = {one.attrib["name"]: one.attrib["value"] for one in case.iterfind(".//property")}
    assert found["nel.delta"] == "0.0"
    assert found["nel.max_drop_threshold"] == "0.05"


def test_a_resumption_without_the_policy_takes_no_verdict_back(measured: Nel) -> None:
    assert gated(measured, env={"BAD": "20"}).code == 1

    ended = run(measured, "mine", "--nel-resume", env={"BAD": "20"})

    assert ended.code == 1, ended.text
    assert "gate.yaml: NO-GO: BREACH: echo" in ended.out
    assert checks(measured)["gate"]["verdict"] == "NO-GO"  # type: ignore[index]
