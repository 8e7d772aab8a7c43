"""``sandbox=`` of a benchmark: what it takes, what it refuses, what its problems ask for."""

from pathlib import Path
from typing import Any

import pytest

from pytest_nel.authoring.benchmark import Benchmark
from pytest_nel.core.errors import ConfigError
from pytest_nel.core.sandbox import SandboxSpec
from pytest_nel.core.types import ScorerInput, SeedResult
from pytest_nel.environments.builtin import BenchmarkEnvironment

ROWS = [{"question": "1+1", "target": "2"}, {"question": "2+2", "target": "4"}]


async def awaits(sample: ScorerInput) -> bool:
    """An async scorer."""
    assert sample.sandbox is not None
    return (await sample.sandbox.exec("true")).return_code == 0


def plain(sample: ScorerInput) -> bool:
    """A plain one."""
    return bool(sample.response)


def made(**changes: Any) -> Benchmark:
    given: dict[str, Any] = {"name": "b", "dataset": ROWS, "prompt": "{question}"}
    return Benchmark(**given | {"scorer": awaits, "sandbox": "img"} | changes)


@pytest.mark.asyncio
async def test_an_images_name_is_the_sandbox_of_every_problem(tmp_path: Path) -> None:
    environment = BenchmarkEnvironment(made(), base=tmp_path)

    seed = await environment.seed(1)

    assert seed.sandbox_spec == seed.verify_sandbox_spec == SandboxSpec(image="img")
    assert environment.needs_sandbox
    assert await environment.sandbox_specs() == [SandboxSpec(image="img")]


@pytest.mark.asyncio
async def test_paths_of_a_spec_are_relative_to_the_benchmark(tmp_path: Path) -> None:
    spec = SandboxSpec(environment_dir="env", files={"a.txt": "/a.txt"})
    environment = BenchmarkEnvironment(made(sandbox=spec), base=tmp_path)

    (found,) = await environment.sandbox_specs()

    assert found.environment_dir == str(tmp_path / "env")
    assert found.files == {str(tmp_path / "a.txt"): "/a.txt"}


@pytest.mark.asyncio
async def test_a_seed_function_may_name_its_own(tmp_path: Path) -> None:
    def seeded(row: dict[str, Any], idx: int) -> SeedResult:
        own = SandboxSpec(image="own") if idx else None
        return SeedResult(row["question"], row["target"], sandbox_spec=own, capture_cmd="c")

    environment = BenchmarkEnvironment(made(seed_fn=seeded, prompt=""), base=tmp_path)

    first, second = await environment.seed(0), await environment.seed(1)

    assert first.sandbox_spec == first.verify_sandbox_spec == SandboxSpec(image="img")
    assert second.sandbox_spec == SandboxSpec(image="own")
    assert (second.verify_sandbox_spec, second.capture_cmd) == (None, "c")
    assert [spec.image for spec in await environment.sandbox_specs()] == ["img", "own"]
    assert environment.images_by_problem
    environment.problems_chosen([1])
    assert [spec.image for spec in await environment.sandbox_specs()] == ["own"]
    assert not BenchmarkEnvironment(made(), base=tmp_path).images_by_problem


@pytest.mark.parametrize("scorer", [plain, None])
def test_a_scorer_that_cannot_await_is_refused(scorer: Any) -> None:
    with pytest.raises(ConfigError, match="sandbox: its scorer is plain"):
        made(scorer=scorer)


@pytest.mark.parametrize("sandbox", [" ", 5, {"image": "x"}])
def test_what_is_no_sandbox_is_refused(sandbox: Any) -> None:
    with pytest.raises(ConfigError, match="sandbox: expected an image's name or a SandboxSpec"):
        made(sandbox=sandbox)


def test_another_image_is_another_way_of_judging(tmp_path: Path) -> None:
    one = BenchmarkEnvironment(made(), base=tmp_path)
    two = BenchmarkEnvironment(made(sandbox="other"), base=tmp_path)

    assert one.judging() != two.judging()
