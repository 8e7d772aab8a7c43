"""The shell of docs/how-to/ci/Jenkinsfile is run, and its table of statuses is read."""

import re
import xml.etree.ElementTree as ET

import pytest

from tests.docs.pipeline import (
    CI,
    QUALITY,
    SECRET,
    Done,
    Repository,
    repository,
    shown,
    written_secrets,
)
from tests.support.endpoint import RunningEndpoint

FILE = (CI / "Jenkinsfile").read_text(encoding="utf-8")
STAGES = dict(
    re.findall(r"stage\('([^']+)'\)(?:(?!stage\().)*?'''(.*?)'''", FILE, re.DOTALL),
)
JENKINS = ["sh", "-xe"]  # how it starts the script of a step
CASES = {int(code): what for code, what in re.findall(r"case (\d+): (\w+)\(", FILE)}


@pytest.fixture(scope="module")
def checked_out(tmp_path_factory: pytest.TempPathFactory, endpoint: RunningEndpoint) -> Repository:
    """A workspace in which the first two stages are over; the first, which needs a package
    index, is replaced by the two programs that it would install."""
    folder = tmp_path_factory.mktemp("jenkins") / "workspace"
    made = repository(folder, endpoint.url, folder / ".venv/bin")
    env = {
        "MODEL_API_KEY": SECRET,
        "BASELINE_ID": "bf16",
        "BASELINE_DIR": str(folder.parent / "baselines/bf16"),
    }
    workspace = Repository(folder, {**made.env, **env})
    done = stage(workspace, "Baseline")
    assert done.code == 0, done.text
    return workspace


def stage(workspace: Repository, name: str, **env: str) -> Done:
    script = STAGES[name].replace("\\\\\n", "\\\n")  # as Groovy reads it
    return workspace.run(JENKINS, script, env)


def gate(workspace: Repository, candidate: str, build: str = "", **env: str) -> Done:
    run = f"runs/{build or candidate}"
    return stage(workspace, "Gate", CANDIDATE_ID=candidate, RUN=run, **env)


def failures(workspace: Repository) -> dict[str, str]:
    suite = ET.parse(workspace.folder / "nel.xml").getroot()  # noqa: S314  # our own
    return {
        f"{case.get('classname')}::{case.get('name')}": failure.get("message", "")
        for case in suite.iterfind(".//testcase[failure]")
        for failure in case.iterfind("failure")
    }


def test_the_page_shows_the_files() -> None:
    files = [(CI / name).read_text(encoding="utf-8") for name in ("Jenkinsfile", *QUALITY)]

    assert set(files) <= shown("gate-in-jenkins.md")


def test_there_is_a_stage_for_each_script() -> None:
    assert list(STAGES) == ["Install (network)", "Baseline", "Gate"]


def test_each_status_has_its_result() -> None:
    assert CASES == {0: "echo", 1: "error", 6: "unstable", 7: "error"}
    assert re.search(r"default: error\(", FILE)


def test_an_equal_candidate_passes_and_the_key_is_written_nowhere(
    checked_out: Repository,
) -> None:
    done = gate(checked_out, "equal")

    assert done.code == 0, done.text
    assert SECRET not in done.text
    assert written_secrets(checked_out.folder.parent) == []
    assert "GO  quality/policy.yaml" in done.text
    assert failures(checked_out) == {}
    assert checked_out.read("gate.md").startswith("# Quality Gate Report: GO")
    assert "<!doctype html>" in checked_out.read("report.html")[:100].lower()


def test_a_worse_candidate_fails_with_its_reason(checked_out: Repository) -> None:
    done = gate(checked_out, "worse")

    assert done.code == 1, done.text
    assert checked_out.read("gate.md").startswith("# Quality Gate Report: NO-GO")
    (found,) = failures(checked_out).items()
    assert found[0] == "quality.policy.yaml::arithmetic"
    assert found[1].startswith("BREACH: 95% CI on damage [0.03")


def test_too_little_evidence_is_unstable(checked_out: Repository) -> None:
    done = gate(checked_out, "unclear")

    assert done.code == 6, done.text
    assert failures(checked_out) == {}
    assert "straddles threshold 0.01" in checked_out.read("gate.md")


def test_what_fails_once_is_asked_again_in_the_same_build(checked_out: Repository) -> None:
    done = gate(checked_out, "flaky", NEL_TRIES="1")

    assert done.code == 0, done.text
    assert done.text.count("test session starts") == 2
    assert "995 taken as recorded" in done.text


def test_a_later_build_goes_on_with_an_incomplete_one(
    checked_out: Repository, endpoint: RunningEndpoint
) -> None:
    first = gate(checked_out, "down", build="7")
    endpoint.reset()

    second = gate(checked_out, "down", build="7")

    assert (first.code, second.code) == (7, 7), first.text + second.text
    assert endpoint.stats()["requests"] == 5


def test_a_baseline_that_is_there_is_not_asked_again(checked_out: Repository) -> None:
    done = stage(checked_out, "Baseline", BASELINE_URL="http://127.0.0.1:9/v1/chat/completions")

    assert done.code == 0, done.text
    assert "1,000 taken as recorded" in done.text


def test_another_max_tokens_is_refused_before_anything_is_asked(
    checked_out: Repository, endpoint: RunningEndpoint
) -> None:
    suite = checked_out.folder / "quality/suite.nel.yaml"
    before = suite.read_text(encoding="utf-8")
    suite.write_text(before.replace("max_tokens: 64", "max_tokens: 32"), encoding="utf-8")
    endpoint.reset()

    done = gate(checked_out, "equal", build="8")
    suite.write_text(before, encoding="utf-8")

    assert done.code == 4, done.text
    assert endpoint.stats()["requests"] == 0
    said = "sampling: max_tokens 64 in the baseline, 32 in the candidate"
    assert said in done.text
    assert any(said in block for block in shown("gate-in-jenkins.md"))


def test_the_pipeline_names_the_file_it_archives() -> None:
    archived = re.search(r'artifacts: "([^"]+)"', FILE)

    assert archived is not None
    assert archived[1].split(", ") == ["gate.md", "report.html", "nel.xml", "${env.RUN}/**"]


def test_the_key_comes_from_the_credentials(checked_out: Repository) -> None:
    assert "MODEL_API_KEY = credentials('nel-model-api-key')" in FILE
    assert "api_key: ${MODEL_API_KEY}" in checked_out.read("quality/suite.nel.yaml")
