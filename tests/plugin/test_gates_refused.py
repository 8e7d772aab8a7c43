"""What is refused before a token is spent, and a baseline that cannot be trusted."""

import pytest

from tests.plugin.gating import BENCH, POLICY, asked_nothing, gated, measured, measured_once, run
from tests.plugin.running import Nel

__all__ = ["measured", "measured_once"]


def test_a_limit_that_no_candidate_can_meet_is_refused_first(measured: Nel, how: list[str]) -> None:
    measured.write("gate.yaml", POLICY.replace("0.05", "0.01"))

    ended = gated(measured, *how)

    assert asked_nothing(measured, ended), ended.text
    assert "gate.yaml:2: echo: max_drop: 0.01 cannot be shown with 100 problems" in ended.out
    assert "at least 381 are needed" in ended.out


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("min_score: 0.99", "0.99 cannot be shown with 100 problems"),
        ("metric: pass@4", "pass@4 needs 4 repeats, there are 1"),
        ("metric: 'scorer:x'", "no further scorer 'x'"),
        ("max_cost: 1", "the service has no prices"),
        ("per_category: {c: {min_score: 0.1}}", "no problem has this category; there are: a, b"),
        ("must_pass: [p1, zz]", "no problem that is planned has the id zz"),
        ("min_pass_rate: {q: 1}", "no problem that is planned has the id q"),
    ],
)
def test_what_cannot_be_decided_is_refused_first(measured: Nel, key: str, said: str) -> None:
    measured.write("gate.yaml", POLICY.replace("echo: {}", f"echo: {{{key}}}"))

    ended = gated(measured)

    assert asked_nothing(measured, ended), ended.text
    assert "gate.yaml:4: echo: " in ended.out
    assert said in ended.out


def test_a_policy_with_a_mistake_is_refused_with_its_line(measured: Nel, how: list[str]) -> None:
    measured.write("gate.yaml", POLICY.replace("echo: {}", "echo: {max_dorp: 1}"))

    ended = gated(measured, *how)

    assert asked_nothing(measured, ended), ended.text
    assert "gate.yaml:4: benchmarks.echo.max_dorp: unknown key. Did you mean 'max_drop'" in (
        ended.err
    )


def test_a_baseline_of_other_questions_is_refused_first(measured: Nel, how: list[str]) -> None:
    measured.write("bench_echo.py", BENCH.format(say="tell", count=100))

    ended = gated(measured, *how)

    assert asked_nothing(measured, ended), ended.text
    assert "echo: prompts: sha256:" in ended.out
    assert "--nel-allow-different" in ended.out


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--nel-policy", "gate.yaml"], "max_drop needs a baseline"),
        (["--nel-baseline", "base"], "add --nel-policy FILE"),
        (["--nel-policy", "gate.yaml", "--nel-baseline", "nix"], "no such directory"),
        (["--nel-policy", "gaet.yaml", "--nel-baseline", "base"], "Gate policy not found"),
        (["--nel-policy", "gate.yaml", "--nel-baseline", "."], "holds runs, name one: base"),
        (["--nel-min", "echo=2"], "expected NAME=SCORE"),
        (["--nel-min", "ehco=0.5"], "Did you mean 'echo'"),
        (["--nel-min", "echo=0.99"], "at least 381 are needed"),
        (["--nel-allow-different", "prompt"], "Did you mean 'prompts'"),
        (["--nel-policy", "gate.yaml", "--nel-shard", "0/2"], "merge the shards"),
    ],
)
def test_what_makes_no_sense_is_one_line(measured: Nel, args: list[str], said: str) -> None:
    ended = run(measured, "mine", *args)

    assert asked_nothing(measured, ended), ended.text
    assert said in ended.text


def test_a_baseline_that_changes_meanwhile_decides_nothing(measured: Nel) -> None:
    text = (measured.folder / "conftest.py").read_text()
    touch = '        if number == 5:\n            os.utime("base/echo/results.jsonl", (1, 1))\n'
    measured.write(
        "conftest.py", text.replace("        return Solve", f"{touch}        return Solve")
    )
    measured.write("more.yaml", POLICY.replace("echo: {}", "echo: {}"))

    ended = gated(measured, "--nel-allow-different", "solver")

    assert ended.code == 4, ended.text
    assert "the baseline has changed while this run was under way" in ended.out


def test_a_baseline_whose_own_answers_could_not_pass_is_refused_first(
    measured: Nel, how: list[str]
) -> None:
    path = measured.folder / "base" / "echo" / "results.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:60]))

    ended = gated(measured, *how)

    assert asked_nothing(measured, ended), ended.text
    assert "even the baseline's own answers could not pass" in ended.out


@pytest.mark.parametrize("name", ["policy", "baseline", "markdown", "output-dir"])
def test_an_option_that_names_nothing_is_no_name_of_this_directory(
    measured: Nel, name: str
) -> None:
    ended = measured.run("bench_echo.py", f"--nel-{name}", "", model=False)

    assert ended.code == 4, ended.text
    assert "expected a name, got nothing: is a variable of the shell unset?" in ended.err
