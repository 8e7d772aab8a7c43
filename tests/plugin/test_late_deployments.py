"""A run that goes on starts a server with the first attempt that needs it, and none otherwise."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.plugin.running import Nel, rows
from tests.plugin.test_deployments import SERVED, served

__all__ = ["served"]  # a fixture
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="servers are tried on Linux")

SUPPORT = Path(__file__).parents[1] / "support"
JUDGE = (
    f"{sys.executable} {SUPPORT / 'endpoint.py'} --port {{port}} --script {SUPPORT / 'grader.py'}"
)
MODEL = f"{sys.executable} {SERVED} {{port}}"
GRADED = ", scoring: {metrics: [{name: grade, type: judge, service: judge}]}"
ON = ("my.nel.yaml", "--nel-resume")


def suite(nel: Nel, *, scoring: str = "", model: str = MODEL) -> None:
    """A suite whose model and judge each note that they were started."""
    services = "".join(
        f"  {name}: {{type: command, protocol: chat_completions, health_path: null, "
        f'command: "echo {name} >>started; exec {command}"}}\n'
        for name, command in (("mine", model), ("judge", JUDGE))
    )
    nel.write(
        "my.nel.yaml",
        f"services:\n{services}benchmarks:\n  - {{name: bench_sums.py, max_problems: null, "
        f"shuffle_seed: null, solver: {{type: simple, service: mine}}{scoring}}}\n"
        "output: {dir: run, timestamped: false}\n",
    )


def started(nel: Nel) -> list[str]:
    """What was started since this was asked last."""
    path = nel.folder / "started"
    names = path.read_text(encoding="utf-8").split() if path.exists() else []
    path.unlink(missing_ok=True)
    return names


def results(nel: Nel) -> list[dict[str, Any]]:
    """The lines of results.jsonl."""
    text = (nel.folder / "run/sums/results.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def verdicts(nel: Nel) -> list[float | None]:
    """Of the judge, in the order of the problems."""
    return [row["scoring_details"]["scorer:grade"]["reward"] for row in results(nel)]


def test_a_server_is_started_only_for_what_is_to_be_asked_again(
    served: Nel, how: list[str]
) -> None:
    served.untested()
    says = ["7", "8", "grade=5", "grade=1"]
    bench = served.bench(rows(*says))
    suite(served)

    first = served.run("my.nel.yaml", *how)
    begun = started(served)
    bench.write_text(bench.read_text().replace("return numeric_match", "return 1.0  #"))
    scored = served.run(*ON, *how)
    rescored = served.run("my.nel.yaml", "--nel-rescore", *how)
    kept = [row["reward"] for row in results(served)]
    for_nothing = started(served)
    suite(served, scoring=GRADED)
    graded = served.run(*ON, *how)
    for_the_judge = started(served)
    served.bench(rows(*says, "7"))
    more = served.run(*ON, *how)

    assert [each.code for each in (first, scored, rescored, graded, more)] == [0] * 5, more.text
    assert begun == ["mine"]
    assert kept == [1.0] * 4
    assert for_nothing == []
    assert for_the_judge == ["judge"]
    assert verdicts(served)[2:4] == [1.0, 0.0]
    assert sorted(started(served)) == ["judge", "mine"]
    assert len(verdicts(served)) == 5
    assert not list((served.folder / "run").glob(".[sw]*.json"))


def test_one_that_does_not_come_up_late_is_one_message_and_fails_no_attempt(
    served: Nel, how: list[str]
) -> None:
    served.bench(rows("7", "7"))
    suite(served, model=f"{MODEL} early")

    lost = served.run(*ON, *how)

    assert lost.code == 7, lost.text
    assert lost.out.count("services.mine: the model server ended before it was ready") == 1
    assert "Traceback" not in lost.text
    assert results(served) == []
    assert started(served) == ["mine"]
