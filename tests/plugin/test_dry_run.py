"""A plan says what a run then does, and nothing is started for it."""

import json
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from tests.plugin.running import Nel, sums
from tests.support.endpoint import RunningEndpoint

RUN = ("my.nel.yaml", "--nel-output-dir", "run")


def planned(nel: Nel, *args: str) -> tuple[int, dict[str, Any]]:
    """The exit status and the plan of ``nel eval plan --json``."""
    done = nel.nel("eval", "plan", "my.nel.yaml", "--output-dir", "run", "--json", *args)
    found: dict[str, Any] = json.loads(done.stdout)
    return done.returncode, found


def priced(nel: Nel) -> None:
    nel.bench(sums(12))
    path = nel.suite("bench_sums.py", more="repeats: 2, max_concurrent: 4")
    prices = "prices: {prompt: 1000000, completion: 1000000}"
    path.write_text(path.read_text().replace("model: m}", f"model: m, {prices}}}"))


def test_a_plan_is_what_the_run_then_does(nel: Nel, endpoint: RunningEndpoint) -> None:
    priced(nel)
    sample = nel.run("my.nel.yaml", "--nel-output-dir", "sample", model=False)
    assert sample.code == 0, sample.text
    before = endpoint.stats()["requests"]

    code, plan = planned(nel, "--estimate-from", "sample")
    nothing = (endpoint.stats()["requests"], (nel.folder / "run").exists())
    ended = nel.run(*RUN, model=False)

    assert (code, nothing) == (0, (before, False))
    assert ended.code == 0, ended.text
    [bundle] = (nel.folder / "run" / "sums").glob("eval-*.json")
    took = json.loads(bundle.read_text())["benchmark"]["scores"]["runtime"]
    [entry] = plan["benchmarks"]
    assert (entry["attempts"], entry["estimate"]["from_attempts"]) == (24, 24)
    assert entry["estimate"]["tokens"] == took["total_tokens"]
    assert abs(entry["estimate"]["cost"] - took["cost"]["total"]) < 0.001
    assert plan["total"]["seconds"] is not None
    checks = {
        check["id"] for check in json.loads((nel.folder / "run/checks.json").read_text())["checks"]
    }
    assert set(plan["checks"]) == checks
    files(nel, plan)


def files(nel: Nel, plan: dict[str, Any]) -> None:
    """Each file of the run is one that the plan has; each of the plan but one is there."""
    there = [str(path) for path in Path(nel.folder, "run").rglob("*") if path.is_file()]
    assert [path for path in there if not any(fnmatch(path, one) for one in plan["files"])] == []
    missing = [one for one in plan["files"] if not any(fnmatch(path, one) for path in there)]
    assert [Path(one).name for one in missing] == ["failure_analysis.json"]  # nothing failed


def test_what_a_run_would_be_refused_for_is_said_all_at_once(nel: Nel) -> None:
    priced(nel)
    path = nel.folder / "my.nel.yaml"
    path.write_text(path.read_text().replace("model: m,", "model: m, api_key: '${NOT_SET_9}',"))

    ended = nel.run(*RUN, "--nel-dry-run", "--nel-min", "sums=0.9", model=False)

    assert ended.code == 4, ended.text
    assert "min_score 0.9 cannot be shown with 12 problems" in ended.out
    assert "services.model.api_key: the variable NOT_SET_9 is not set" in ended.out
    assert "sums: 24 attempts" in ended.out
    assert not (nel.folder / "run").exists()


def test_options_of_a_plan_need_one(nel: Nel) -> None:
    priced(nel)

    ended = nel.run(*RUN, "--nel-estimate-from", "x", model=False)

    assert ended.code == 4, ended.text
    assert "--nel-estimate-from belongs to a plan: add --nel-dry-run" in ended.text


def test_a_plan_is_neither_noted_nor_made_in_the_background(nel: Nel) -> None:
    priced(nel)
    home = nel.folder / "home"

    def said(*words: str) -> tuple[int, str]:
        done = nel.nel("eval", *words, env={"XDG_DATA_HOME": str(home)})
        return done.returncode, done.stdout + done.stderr

    planned, behind = (
        said("run", "my.nel.yaml", "--dry-run"),
        said("plan", "--background", "-b", "x"),
    )

    assert planned[0] == 0, planned[1]
    assert "plan: nothing was started" in planned[1]
    assert list(home.rglob("*.json")) == []
    assert behind[0] == 4
    assert "leave out --background" in behind[1]


def test_what_would_not_start_has_a_heading_and_a_status_where_it_is_certain(nel: Nel) -> None:
    nel.bench(sums(2))
    path = nel.suite("bench_sums.py")
    absent = nel.folder / "none.sock"

    def plan(service: str) -> tuple[int, str]:
        lines = path.read_text().splitlines()
        lines[1] = f"  model: {{{service}, protocol: chat_completions}}"
        path.write_text("\n".join(lines) + "\n")
        ended = nel.run(*RUN, "--nel-dry-run", model=False, env={"DOCKER_HOST": f"unix://{absent}"})
        return ended.code, ended.out

    engine, contained = plan("type: vllm, model: a/b"), plan("type: docker_model, image: 'x:1'")

    assert engine[0] == 4, engine[1]
    assert "would not start:\n  service model: 'vllm' is no program here" in engine[1]
    assert "the run is refused" in engine[1]
    assert contained[0] == 0, contained[1]
    said = f"  service model: its container needs a docker daemon: {absent}: No such file"
    assert said in contained[1]
