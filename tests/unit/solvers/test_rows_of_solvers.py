"""Solver types and options of the reference system that mean nothing here."""

from pathlib import Path

import pytest

from pytest_nel.cli.main import main
from pytest_nel.solvers import REGISTRY

SUITE = """services:
  m: {type: api, url: "http://h.test/v1/chat/completions", protocol: chat_completions}
benchmarks:
  - name: basics
    sandbox: {type: docker%s}
    solver:
      type: %s
      service: m
"""


def checked(file: Path, solver: str, sandbox: str = "") -> int:
    file.write_text(SUITE % (sandbox, solver), encoding="utf-8")
    return main(["config", "check", str(file)])


@pytest.mark.parametrize(
    ("kind", "way_out"),
    [
        ("container", "give its bundles to `nel report`"),
        ("custom", "define a session fixture nel_solver in conftest.py"),
        ("gym_delegation", "name the server as the benchmark's `verifier`"),
        ("nat", "in a session fixture nel_solver"),
        ("openclaw", "by type agent with a folder that has a run.sh.j2"),
    ],
)
def test_a_solver_of_the_reference_is_refused_with_its_line_and_the_way_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, way_out: str
) -> None:
    file = tmp_path / "s.nel.yaml"

    status = checked(file, kind)

    said = capsys.readouterr().err
    assert status == 4
    assert f"{file}:7: benchmarks[0].solver.type: {kind!r} " in said
    assert way_out in said


def test_no_type_is_both_there_and_refused() -> None:
    assert [name for name in REGISTRY if REGISTRY.refusal(name)] == []


@pytest.mark.parametrize("kind", ["agent", "harbor"])
@pytest.mark.parametrize("option", ["cmd_timeout: 5", "skill: s", "skill_dir: /s"])
def test_an_option_of_its_agents_is_refused_with_the_way_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, option: str
) -> None:
    file = tmp_path / "s.nel.yaml"

    status = checked(file, f"{kind}\n      agent: ./mine\n      {option}")

    said = capsys.readouterr().err
    assert status == 4
    assert f"{file}:9: benchmarks[0].solver.{option.partition(':')[0]}: not supported: " in said
    assert "Known:" not in said


def test_a_time_of_a_container_is_refused_with_the_times_there_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = checked(tmp_path / "s.nel.yaml", "simple", ", timeout: 5")

    said = capsys.readouterr().err
    assert status == 4
    assert "benchmarks[0].sandbox.timeout: not supported: nothing would read it" in said
    assert "verify_timeout" in said
