"""``nel gate``: exit codes, what is printed and written, and one line where something is wrong."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import command
from tests.support.stored import write_run

SECRET = "sk-do-not-print-me"  # noqa: S105  looked for in what is printed
_CI = ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY")


def environment(**more: str) -> dict[str, str]:
    keys = {"NEL_API_KEY": SECRET, "OPENAI_API_KEY": SECRET}
    own = {key: value for key, value in command.environment().items() if key not in _CI}
    return own | keys | more


def nel_gate(*words: object, cwd: Path | None = None, **env: str) -> command.Done:
    """Run the command in a process of its own; nothing of the environment may show."""
    done = command.nel("gate", *words, cwd=cwd, env=environment(**env))
    assert SECRET not in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done


POLICY = """\
version: 1
benchmarks:
  mmlu: {tier: critical, metric: mean_reward, max_drop: 0.05}
"""
GOOD, BAD, OPEN = [1.0] * 400, [1.0] * 300 + [0.0] * 100, [1.0] * 380 + [0.0] * 20


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs called base, good, bad and open, and a policy."""
    folder = tmp_path_factory.mktemp("gate")
    for name, rewards in (("base", GOOD), ("good", GOOD), ("bad", BAD), ("open", OPEN)):
        write_run(folder / name, rewards)
    (folder / "p.yaml").write_text(POLICY)
    return folder


@pytest.mark.parametrize(
    ("candidate", "verdict", "code"),
    [("good", "GO", 0), ("bad", "NO-GO", 1), ("open", "INCONCLUSIVE", 2)],
)
def test_the_exit_status_is_the_verdict(
    place: Path, candidate: str, verdict: str, code: int
) -> None:
    done = nel_gate("base", candidate, "-p", "p.yaml", cwd=place)

    assert (done.returncode, done.stderr) == (code, "")
    assert done.stdout.splitlines()[0] == f"{verdict}  p.yaml"
    assert re.search(r"^mmlu +critical +\w+ +1\.0000 +\d\.\d{4} ", done.stdout, re.MULTILINE)


def test_a_run_against_itself_is_a_mistake(place: Path, tmp_path: Path) -> None:
    (tmp_path / "latest").symlink_to(place / "base")

    done = nel_gate(tmp_path / "latest", "base", "-p", "p.yaml", cwd=place)

    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr.startswith("nel gate: baseline and candidate are the same run: ")


@pytest.mark.parametrize("candidate", ["good", "bad", "open"])
def test_no_strict_says_0_for_any_verdict(place: Path, candidate: str) -> None:
    done = nel_gate("base", candidate, "-p", "p.yaml", "--no-strict", cwd=place)

    assert done.returncode == 0


def test_a_mistake_is_no_verdict_even_without_strict(place: Path) -> None:
    done = nel_gate("base", "nothing", "-p", "p.yaml", "--no-strict", cwd=place)

    assert done.returncode == 4


def test_a_candidate_alone_is_held_against_absolute_limits(place: Path, tmp_path: Path) -> None:
    policy = tmp_path / "p.yaml"
    policy.write_text(POLICY.replace("max_drop: 0.05", "max_drop: null, min_score: 0.9"))

    good, bad = (nel_gate(place / name, "--policy", policy) for name in ("good", "bad"))

    assert (good.returncode, bad.returncode) == (0, 1)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["base", "nothing", "-p", "p.yaml"], "no such directory: nothing"),
        (["nothing", "good", "-p", "p.yaml"], "no such directory: nothing"),
        (["base", "p.yaml", "-p", "p.yaml"], "holds no results"),
        (["base", "good", "-p", "nothing.yaml"], "Gate policy not found: nothing.yaml"),
        (["base", "good", "-p", "relase"], "unknown gate policy 'relase'. Did you mean 'release'?"),
        (["base", "good", "-p", "."], "cannot read this gate policy"),
        (["good", "-p", "p.yaml"], "p.yaml:3: mmlu: max_drop needs a baseline: name one"),
        (["base", "good", "-p", "p.yaml", "-o", "no/where.json"], "cannot be read or written"),
        (["base", "good", "-p", "p.yaml", "--report", "no/where.md"], "cannot be read or written"),
        (
            ["base", "good", "-p", "p.yaml", "-o", "same.x", "--report", "same.x"],
            "--report and --output are both same.x",
        ),
    ],
)
def test_what_is_wrong_is_one_line_and_status_4(place: Path, words: list[str], said: str) -> None:
    done = nel_gate(*words, cwd=place)

    assert done.returncode == 4
    decided = "cannot be read or written" in said and "no/where" in " ".join(words)
    assert bool(done.stdout) == decided  # what was decided is printed, though not written
    assert done.stderr.startswith("nel gate: ")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "the following arguments are required"),
        (["a", "b", "c", "-p", "p.yaml"], "takes a baseline and a candidate, got 3 runs"),
        (["base", "good", "-p", "p.yaml", "--", "-k", "x"], "takes nothing after --"),
        (["base", "good", "-p", "p.yaml", "--allow-different", "all"], "invalid choice: 'all'"),
        (["base", "good", "-p", "p.yaml", "--format", "xml"], "invalid choice: 'xml'"),
        (["base", "good"], "the following arguments are required: -p/--policy"),
    ],
)
def test_a_line_that_cannot_be_meant(place: Path, words: list[str], said: str) -> None:
    done = nel_gate(*words, cwd=place)

    assert done.returncode in {2, 4}
    assert said in done.stderr


def test_a_bad_policy_is_a_line_for_each_mistake(place: Path, tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("version: 1\nmax_drop: 1\ndefaults:\n  tier: x\n")

    done = nel_gate(place / "base", place / "good", "-p", "p.yaml", cwd=tmp_path)

    assert done.returncode == 4
    assert done.stderr.splitlines() == [
        "nel gate: p.yaml:2: max_drop: unknown key; it belongs in defaults or in a benchmark",
        "p.yaml:4: defaults.tier: expected one of 'critical', 'supporting' or 'advisory', got 'x'",
    ]


def test_runs_that_differ_are_refused_unless_allowed(place: Path, tmp_path: Path) -> None:
    write_run(tmp_path / "warm", GOOD, fingerprint={"sampling": [{"temperature": 1.0}]})
    words = (place / "base", tmp_path / "warm", "-p", place / "p.yaml")

    refused = nel_gate(*words)
    allowed = nel_gate(*words, "--allow-different", "sampling")

    assert refused.returncode == 4
    assert "mmlu: sampling: temperature 0.0 in the baseline, 1.0 in the candidate" in refused.stderr
    assert allowed.returncode == 0
    assert "allowed to differ: sampling" in allowed.stdout


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_rows_that_may_not_be_read_are_one_line(tmp_path: Path, place: Path) -> None:
    write_run(tmp_path / "cand", GOOD)
    (tmp_path / "cand" / "mmlu" / "results.jsonl").chmod(0)

    done = nel_gate(place / "base", tmp_path / "cand", "-p", place / "p.yaml")

    assert done.returncode == 4
    assert "cannot be read or written" in done.stderr


def test_a_bundle_that_cannot_be_read_is_one_line(tmp_path: Path, place: Path) -> None:
    run = write_run(tmp_path / "cand", GOOD)
    next(run.glob("mmlu/eval-*.json")).write_bytes(b"\xff\xfe{")

    done = nel_gate(place / "base", run, "-p", place / "p.yaml")

    assert done.returncode == 4
    assert "this bundle cannot be read: UnicodeDecodeError" in done.stderr


def test_output_is_the_report_as_json_and_markdown_beside_it(place: Path, tmp_path: Path) -> None:
    done = nel_gate("base", "bad", "-p", "p.yaml", "-o", tmp_path / "gate.json", cwd=place)

    report = json.loads((tmp_path / "gate.json").read_text())
    text = (tmp_path / "gate.md").read_text()
    assert done.returncode == 1
    assert report["verdict"] == "NO-GO"
    assert report["benchmarks"][0]["status"] == "BREACH"
    assert text.startswith("# Quality Gate Report: NO-GO\n\nGenerated 20")


@pytest.mark.parametrize(
    ("words", "files"),
    [
        (["-o", "g.json"], {"g.json", "g.md"}),
        (["-o", "g.json", "--no-report"], {"g.json"}),
        (["-o", "g.json", "--format", "json"], {"g.json"}),
        (["-o", "g.json", "--report", "r.md"], {"g.json", "r.md"}),
        (["--report", "r.md"], {"r.md"}),
        (["--report", "r.md", "--no-report", "--format", "json"], {"r.md"}),
        (["-o", "g.md"], {"g.md"}),
        ([], set()),
    ],
)
def test_only_what_is_asked_for_is_written(
    place: Path, tmp_path: Path, words: list[str], files: set[str]
) -> None:
    runs = (place / "base", place / "good", "-p", place / "p.yaml")

    done = nel_gate(*runs, *words, cwd=tmp_path)

    if words == ["-o", "g.md"]:  # the Markdown beside it would be the same file
        assert (done.returncode, list(tmp_path.iterdir())) == (4, [])
        return
    assert done.returncode == 0
    assert {path.name for path in tmp_path.iterdir()} == files


def test_the_formats_say_the_same(place: Path) -> None:
    text, markdown, whole = (
        nel_gate("base", "open", "-p", "p.yaml", "--format", name, cwd=place).stdout
        for name in ("text", "markdown", "json")
    )

    report = json.loads(whole)
    reason = report["benchmarks"][0]["reasons"][0]
    assert report["verdict"] == "INCONCLUSIVE"
    assert f"mmlu: {reason}" in text
    assert "# Quality Gate Report: INCONCLUSIVE" in markdown
    assert "| mmlu | critical | ⚠️ INSUFFICIENT_EVIDENCE |" in markdown


def test_verbose_says_why_what_passed_has_passed(place: Path) -> None:
    quiet, loud = (
        nel_gate("base", "good", "-p", "p.yaml", *words, cwd=place).stdout for words in ([], ["-v"])
    )

    assert "is within threshold" not in quiet
    assert "mmlu: 95% CI on damage [-0.0095, 0.0095] is within threshold 0.05" in loud


def test_a_github_job_gets_annotations_and_a_summary(place: Path, tmp_path: Path) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    env = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary)}

    bad = nel_gate("base", "bad", "-p", "p.yaml", cwd=place, **env)
    unsure = nel_gate("base", "open", "-p", "p.yaml", cwd=place, **env)
    quiet = nel_gate("base", "bad", "-p", "p.yaml", "--format", "json", cwd=place, **env)

    assert re.search(r"^::error title=p\.yaml%3A%3Ammlu::BREACH", bad.stdout, re.MULTILINE)
    assert re.search(r"^::warning title=p\.yaml%3A%3Ammlu::INCONCL", unsure.stdout, re.MULTILINE)
    assert json.loads(quiet.stdout)["verdict"] == "NO-GO"
    written = summary.read_text()
    assert written.startswith("before\n# Quality Gate Report: NO-GO")
    assert written.count("# Quality Gate Report") == 3


def test_elsewhere_there_are_no_annotations(place: Path) -> None:
    assert "::error" not in nel_gate("base", "bad", "-p", "p.yaml", cwd=place).stdout


def test_a_summary_that_cannot_be_written_is_one_line(place: Path) -> None:
    done = nel_gate("base", "good", "-p", "p.yaml", cwd=place, GITHUB_STEP_SUMMARY="/nowhere/s.md")

    assert done.returncode == 4
    assert "cannot be read or written" in done.stderr


def test_nothing_beside_the_runs_is_touched(place: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in place.rglob("*")}

    nel_gate("base", "good", "-p", "p.yaml", cwd=place)

    assert {path: path.stat().st_mtime_ns for path in place.rglob("*")} == before


def test_the_reader_may_go_away(place: Path) -> None:
    """As ``nel gate … | head -1`` does."""
    command = f"{sys.executable} -m pytest_nel.cli.main gate base bad -p p.yaml -v | head -1"

    done = subprocess.run(
        ["bash", "-c", command],
        check=False,
        cwd=place,
        capture_output=True,
        text=True,
        env=environment(),
    )

    assert done.stdout == "NO-GO  p.yaml\n"
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("words", [["", "good"], ["base", ""], ["base", "good", "--report", ""]])
def test_an_empty_word_is_no_name_of_this_directory(place: Path, words: list[str]) -> None:
    done = nel_gate(*words, "-p", "p.yaml", cwd=place)

    assert (done.returncode, done.stdout) == (4, "")
    assert "one of the words is empty: is a variable of the shell unset?" in done.stderr


def printing_to(where: str, place: Path) -> subprocess.CompletedProcess[str]:
    line = f"{sys.executable} -m pytest_nel.cli.main gate base good -p p.yaml {where}"
    return subprocess.run(
        ["sh", "-c", line],
        cwd=place,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="there is no /dev/full")
def test_what_cannot_be_printed_is_no_verdict(place: Path) -> None:
    done = printing_to("> /dev/full", place)

    assert done.returncode == 4
    assert done.stderr.startswith("nel gate: cannot be read or written: ")
    assert done.stderr.count("\n") == 1


def test_a_closed_output_leaves_the_verdict_to_the_exit_status(place: Path) -> None:
    done = printing_to(">&-", place)

    assert (done.returncode, done.stderr) == (0, "")
