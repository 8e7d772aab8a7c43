"""The steps of docs/how-to/ci/nel-gate.yml are run in their order, as GitHub runs them."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest
import yaml

from tests.docs.pipeline import CI, QUALITY, SECRET, repository, shown, written_secrets
from tests.docs.workflow import TEXT, Job, notes
from tests.support.endpoint import RunningEndpoint

Start: TypeAlias = Callable[..., Job]


@pytest.fixture(scope="module")
def caches(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository's caches, which outlive a job."""
    return tmp_path_factory.mktemp("github") / "caches"


@pytest.fixture
def start(tmp_path: Path, endpoint: RunningEndpoint, caches: Path) -> Start:
    """Runs the job on a fresh checkout with a candidate of that name."""

    def job(candidate: str, *, attempt: int = 1, comments: str = "", policy: str = "") -> Job:
        folder, github = tmp_path / f"checkout{attempt}", tmp_path / f"github{attempt}"
        made = repository(folder, endpoint.url, github / "bin")
        if policy:
            (folder / "quality/policy.yaml").write_text(policy, encoding="utf-8")
        (github / "caches").symlink_to(caches)
        (github / "gh_comments").write_text(comments, encoding="utf-8")
        return Job(made, github, candidate, attempt).run()

    caches.mkdir(exist_ok=True)
    return job


def test_the_page_shows_the_files() -> None:
    files = [(CI / name).read_text(encoding="utf-8") for name in ("nel-gate.yml", *QUALITY)]

    assert set(files) <= shown("gate-in-github-actions.md")


def test_an_equal_candidate_is_green_and_no_key_is_written(start: Start) -> None:
    job = start("equal")

    assert not job.failed, job.text("Gate")
    assert job.text("Verdict") == "GO\n"
    assert job.summaries["Gate"].startswith("# Quality Gate Report: GO")
    assert job.uploaded == ["gate.md", "report.html", "nel.xml", "candidate"]
    assert notes(job.text("Gate")) == []
    assert written_secrets(job.repository.folder) == []
    assert SECRET not in "".join(done.text for done in job.done.values())
    listed, sent = job.file("gh_calls").splitlines()
    assert listed.startswith("api --paginate repos/me/models/issues/12/comments --jq")
    assert sent == "api --method POST repos/me/models/issues/12/comments --field body=@comment.md"


def test_a_worse_candidate_is_red_and_says_why_in_four_places(start: Start) -> None:
    job = start("worse", comments="4711\n")

    assert job.done["Verdict"].code == 1, job.text("Gate")
    assert job.text("Verdict").startswith("NO-GO")
    (note,) = notes(job.text("Gate"))
    assert note.startswith("::error title=quality/policy.yaml%3A%3Aarithmetic::BREACH: 95%25 CI")
    assert r"95% CI on damage \[0.03" in job.summaries["Gate"]
    assert 'message="BREACH: 95% CI on damage [0.03' in job.repository.read("nel.xml")
    sent = job.file("gh_sent")
    log = "https://github.example/me/models/actions/runs/worse"
    assert sent.startswith("<!-- nel gate -->\n# Quality Gate Report: NO-GO")
    assert sent.endswith(f"[Log, JUnit and report]({log})\n")
    changed = "api --method PATCH repos/me/models/issues/comments/4711 --field body=@comment.md"
    assert job.file("gh_calls").splitlines()[1] == changed


def test_too_little_evidence_is_red_with_a_warning(start: Start) -> None:
    job = start("unclear")

    assert job.done["Verdict"].code == 6, job.text("Gate")
    assert job.text("Verdict").startswith("INCONCLUSIVE")
    (note,) = notes(job.text("Gate"))
    assert note.startswith("::warning title=quality/policy.yaml%3A%3Aarithmetic::INCONCLUSIVE")


def test_a_baseline_is_measured_once_and_a_job_that_is_run_again_goes_on(
    start: Start, endpoint: RunningEndpoint
) -> None:
    first = start("down")
    endpoint.reset()

    second = start("down", attempt=2)

    assert first.done["Verdict"].code == 7, first.text("Gate")
    assert first.text("Verdict").startswith("INCOMPLETE")
    assert "Measure the baseline" not in second.done
    assert "995 taken as recorded" in second.text("Gate")
    assert endpoint.stats()["requests"] == 5


def test_a_policy_with_a_mistake_is_red_and_nothing_is_asked(start: Start) -> None:
    job = start("equal", policy="version: 1\nbenchmarks: {arithmetic: {max_dorp: 1}}\n")

    assert job.done["Verdict"].code == 4, job.text("Gate")
    assert "quality/policy.yaml:2: benchmarks.arithmetic.max_dorp" in job.text("Gate")
    assert not (job.repository.folder / "candidate").exists()
    assert "Nothing was decided." in job.file("gh_sent")


def test_the_key_is_given_only_to_the_steps_that_measure() -> None:
    steps = yaml.safe_load(TEXT)["jobs"]["gate"]["steps"]

    given = [step["name"] for step in steps if "secrets." in str(step)]

    assert given == ["Measure the baseline", "Gate"]


def test_scripts_hold_no_expression() -> None:
    steps = yaml.safe_load(TEXT)["jobs"]["gate"]["steps"]

    assert [step["name"] for step in steps if "${{" in step.get("run", "")] == []


def test_the_job_may_read_the_code_and_write_comments_and_no_more() -> None:
    workflow = yaml.safe_load(TEXT)

    assert workflow["permissions"] == {"contents": "read", "pull-requests": "write"}
    assert re.findall(r"uses: (?!actions/[\w/-]+@v\d+$).*$", TEXT, re.MULTILINE) == []
