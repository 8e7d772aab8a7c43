"""Suites composed of several files run like any other, and their snapshot alone runs again."""

import pytest

from tests.plugin.running import Nel, rows

BASE = """\
services:
  model:
    type: api
    url: ${._url}
    protocol: chat_completions
    api_key: ${MODEL_KEY}
benchmarks:
  - name: bench_sums.py
    repeats: 4
    max_problems: ???
    solver: {type: simple, service: model}
output: {report: [markdown, html]}
_url: ???
"""


def test_a_composed_suite_runs_with_overrides_and_again_from_its_snapshot(
    nel: Nel, how: list[str]
) -> None:
    nel.bench(rows("7", "8"), file="bench_sums.py")
    nel.write("base.yaml", BASE)
    nel.write("conf/services/fast.yaml", "model: {timeout: 30}\n")
    nel.write(
        "my.nel.yaml",
        f"defaults: [{{_base_: base}}, services/fast]\n_url: {nel.url}/chat/completions\n",
    )
    key = {"MODEL_KEY": "t0p-s3cr3t"}

    first = nel.run(
        "my.nel.yaml",
        "--nel-override=benchmarks[0].repeats=2",
        "--nel-override=benchmarks[0].max_problems=2",
        "--nel-override=services.model.model=ours",
        *how,
        model=False,
        env=key,
    )

    assert first.code == 0, first.text
    assert first.bundle("sums")["n_attempted"] == 4
    snapshot = (first.run_dir / "suite.nel.yaml").read_text(encoding="utf-8")
    assert "# override: benchmarks[0].repeats=2\n" in snapshot
    assert "timeout: 30" in snapshot
    assert "api_key: ${MODEL_KEY}" in snapshot
    assert "defaults" not in snapshot
    assert (first.run_dir / "report.md").read_text(encoding="utf-8").startswith("#")
    assert (first.run_dir / "report.html").is_file()
    assert not any(
        b"t0p-s3cr3t" in path.read_bytes() for path in first.run_dir.rglob("*") if path.is_file()
    )
    (nel.folder / "elsewhere").mkdir()
    nel.folder = nel.folder / "elsewhere"
    again = nel.run(str(first.run_dir / "suite.nel.yaml"), model=False, env=key)
    assert again.code == 0, again.text
    assert again.outcomes() == first.outcomes()
    assert again.bundle("sums")["n_attempted"] == 4


@pytest.mark.parametrize(
    ("suite", "args", "said"),
    [
        (
            "defaults: [{_base_: base}]\n_url: http://h/v1\n",
            ["--nel-override=benchmarks[0].max_problems=1", "--nel-override=services.model.x=1"],
            "override services.model.x: services.model.x: unknown option",
        ),
        (
            "defaults: [{_base_: base}]\n_url: x\n",
            ["--nel-override=benchmarks[0].max_problems=1", "--nel-override=output.report=[pdf]"],
            "output.report: unknown reports 'pdf'",
        ),
    ],
)
def test_a_mistake_is_status_4_with_the_file_and_line_where_it_stands(
    nel: Nel, suite: str, args: list[str], said: str
) -> None:
    nel.bench(rows("7"), file="bench_sums.py")
    nel.write("base.yaml", BASE)
    nel.write("my.nel.yaml", suite)

    ended = nel.run("my.nel.yaml", *args, model=False, env={"MODEL_KEY": "x"})

    assert ended.code == 4, ended.text
    assert said in ended.text
    assert "Traceback" not in ended.text


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["bench_sums.py"], "--nel-override benchmarks[0].repeats=…: it changes suite files"),
        (["--nel-bench", "basics"], "--nel-override benchmarks[0].repeats=…: it changes suite"),
        (["my.nel.yaml", "sub"], "--nel-override changes suites that are named on the command"),
    ],
)
def test_an_override_that_would_be_ignored_is_refused(nel: Nel, args: list[str], said: str) -> None:
    nel.bench(rows("7"), file="bench_sums.py")
    nel.suite("bench_sums.py")
    nel.bench(rows("7"), file="sub/bench_sums.py")
    nel.suite("bench_sums.py", file="sub/other.nel.yaml")

    ended = nel.run(*args, "--nel-override=benchmarks[0].repeats=2", model=False)

    assert ended.code == 4, ended.text
    assert said in ended.text
