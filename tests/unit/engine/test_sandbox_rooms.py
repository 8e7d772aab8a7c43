"""Who shares sandboxes, and what of them belongs to the identity of an answer."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from pytest_nel.config.schema import PluginSpec
from pytest_nel.core.errors import ConfigError, UnknownName
from pytest_nel.core.sandbox import ImageFacts, SandboxSpec
from pytest_nel.core.sandbox_facts import content_digest, spec_facts
from pytest_nel.core.types import SeedResult
from pytest_nel.engine.asked import fill_in
from pytest_nel.engine.fingerprint import in_sandbox, placed
from pytest_nel.engine.identity import Identity
from pytest_nel.engine.sandboxes import Room, Sandboxes
from pytest_nel.engine.validated import validated
from pytest_nel.http.secret import Secrets
from pytest_nel.records.record import Solved
from pytest_nel.records.sandboxed import SandboxTally
from pytest_nel.sandboxes._options import CommonOptions
from tests.support.temp_sandbox import TempBackend
from tests.unit.engine.parts import KEY, Doubles
from tests.unit.engine.sandboxed import Reads, room_of

BOX = SandboxSpec(image="img")
SEED = SeedResult("1+1", "2", sandbox_spec=BOX, verify_sandbox_spec=BOX)


def keys(identity: Identity, seed: SeedResult) -> tuple[str, str]:
    """Those of an answer and of its judgement."""
    solved = Solved(KEY, "0")
    fill_in(solved, seed)
    key = identity.solve_key(seed, 0)
    return key, identity.score_key("k", solved.expected, solved.metadata, solved.judged_in)


@pytest.mark.parametrize(
    ("works", "judges", "changed"),
    [(False, False, (False, False)), (True, False, (True, False)), (False, True, (False, True))],
)
def test_the_image_counts_for_whoever_may_use_it(
    *, works: bool, judges: bool, changed: tuple[bool, bool]
) -> None:
    made = Identity({}, {}, reads_row=False, works_in_sandbox=works, judges_in_sandbox=judges)
    other = SeedResult("1+1", "2", sandbox_spec=SandboxSpec(image="other"))

    one, two = keys(made, SEED), keys(made, other)

    assert (one[0] != two[0], one[1] != two[1]) == changed


def test_a_folder_counts_by_what_is_in_it(tmp_path: Path) -> None:
    for name, text in (("a", "FROM x"), ("b", "FROM x"), ("c", "FROM y")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "Dockerfile").write_text(text)

    a, b, c = (spec_facts(SandboxSpec(environment_dir=str(tmp_path / n))) for n in "abc")

    assert a == b != c
    assert spec_facts(BOX) == {"image": "img", "workdir": "/workspace"}
    assert spec_facts(None) is None
    assert content_digest(str(tmp_path / "nothing")) == "none"


async def _facts(**options: object) -> dict[str, object]:
    room, _ = room_of(**options)
    await room.open([BOX])
    return room.facts([BOX])


@pytest.mark.asyncio
async def test_facts_of_a_room_are_those_that_matter_inside() -> None:
    plain = await _facts(concurrency=2, log=None, verify_timeout=5)
    flavoured = await _facts(flavour="other", stateful=True)

    assert plain == {"type": "temp", "flavour": "plain", "images": plain["images"]}
    assert flavoured["flavour"] == "other"
    assert flavoured["stateful"] is True
    assert placed({"model": "m"}, {"type": "temp"}) == {"model": "m", "sandbox.type": "temp"}
    assert placed({"model": "m"}, None) == {"model": "m"}


@pytest.mark.asyncio
async def test_images_of_one_benchmark_are_not_in_the_facts_of_another() -> None:
    room, _ = room_of()
    await room.open([BOX])
    before = room.facts([BOX])

    await room.open([BOX, SandboxSpec(image="another")])

    assert room.facts([BOX]) == before
    assert room.facts([SandboxSpec(image="another")]) != before


@pytest.mark.asyncio
async def test_an_image_that_only_the_problem_names_counts_by_what_it_is_made_of() -> None:
    found = []
    for content in ("old", "old", "new"):
        room, backend = room_of(image_template="img-{tag}")
        backend.contents["img-a"] = content
        made = Identity(
            {}, {}, reads_row=False, works_in_sandbox=True, judges_in_sandbox=True, images=room
        )
        seed = SeedResult("1+1", "2", {"tag": "a"})
        await made.look(seed)
        found.append((made.solve_key(seed, 0), made.judged_in(seed, "")))

    assert found[0] == found[1]
    assert found[0][0] != found[2][0]
    assert found[0][1] != found[2][1]


class Own(Reads):
    """Every problem has an image of its own."""

    images_by_problem = True
    known: ClassVar[list[tuple[str, ImageFacts]]] = []

    async def seed(self, idx: int) -> SeedResult:
        return replace(await super().seed(idx), sandbox_spec=SandboxSpec(image=f"own-{idx}"))

    def images_known(self, found: Sequence[tuple[SandboxSpec, ImageFacts]]) -> None:
        self.known[:] = [(spec.image, facts) for spec, facts in found]


class Says(TempBackend):
    """Tells its images."""

    async def image_facts(self, spec: SandboxSpec) -> ImageFacts:
        return ImageFacts(workdir=f"/{spec.image}")


@pytest.mark.asyncio
async def test_an_image_of_one_problem_counts_for_that_alone() -> None:
    environment = Own()
    seeds = [await environment.seed(idx) for idx in range(2)]
    found = []
    for content, specs in (("old", (0,)), ("old", (0, 1)), ("new", (0, 1))):
        room, backend = room_of()
        backend.contents["own-1"] = content
        boxes = [seeds[idx].sandbox_spec for idx in specs]
        await room.open_for(environment, [box for box in boxes if box])
        facts = placed({}, room.facts_for(environment, [box for box in boxes if box]))
        images = room.images_of(environment)
        made = Identity(
            facts,
            facts,
            reads_row=False,
            works_in_sandbox=True,
            judges_in_sandbox=True,
            images=images,
        )
        found.append([(made.solve_key(seed, 0), made.judged_in(seed, "")) for seed in seeds])

    assert found[0][0] == found[1][0] == found[2][0]  # whatever other problems the run has
    assert found[1][1][0] != found[2][1][0]
    assert found[1][1][1] != found[2][1][1]


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("template", "known"),
    [
        (None, [("own-0", ImageFacts("/own-0"))]),
        ("all", [("own-0", ImageFacts("/all"))]),  # that is what it runs in
        ("img-{tag}", None),  # only a problem tells it
    ],
)
async def test_an_environment_is_told_what_its_images_say(
    template: str | None, known: list[tuple[str, ImageFacts]] | None
) -> None:
    config = Says.Config(image_template=template)
    room = Room(PluginSpec(type="temp"), Says(config), config, 2)
    environment = Own()
    environment.known.clear()

    await room.open_for(environment, [SandboxSpec(image="own-0")])

    assert environment.known == (known or [])


@pytest.mark.asyncio
@pytest.mark.parametrize("environment", [Reads(), Reads(sandbox_spec=None)])
async def test_a_template_is_refused_only_where_it_can_be_filled_in_for_no_problem(
    environment: Reads,
) -> None:
    room, _ = room_of(image_template="img-{nothing}")
    fits, _ = room_of(image_template="img-{tag}")

    await fits.refuse_template(environment, range(4))
    with pytest.raises(ConfigError, match=r"img-\{nothing\}.*\['tag'\].*no problem of the run"):
        await room.refuse_template(environment, range(4))


@pytest.mark.asyncio
async def test_one_problem_that_fits_a_template_is_enough() -> None:
    room, _ = room_of(image_template="img-{tag}")

    class Some(Reads):
        async def seed(self, idx: int) -> SeedResult:
            found = await super().seed(idx)
            return found if idx == 3 else replace(found, metadata={})

    await room.refuse_template(Some(), range(4))
    with pytest.raises(ConfigError, match="no problem of the run"):
        await room.refuse_template(Some(), range(3))


@pytest.mark.asyncio
async def test_a_template_is_tried_where_problems_that_bring_images_are_prepared() -> None:
    room, _ = room_of(image_template="img-{nothing}")

    class Brings(Reads):
        images_by_problem = True

        async def prepare(self) -> None:
            await super().prepare()

    with pytest.raises(ConfigError, match="no problem of the run"):
        await room.refuse_template(Brings(), range(4))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"concurrency": True}, "sandbox.concurrency: expected a number, got true"),
        ({"image_template": "a{"}, "sandbox.image_template: expected a name with {field}"),
        ({"image_template": "img:{}"}, "sandbox.image_template: expected {field}, the name of"),
        ({"image_template": "img:{0}"}, "sandbox.image_template: expected {field}, the name of"),
    ],
)
def test_options_that_can_mean_nothing_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        validated(CommonOptions, options, "sandbox")

    assert str(caught.value).startswith(said)


def test_a_template_may_have_braces_and_switches_may_be_true() -> None:
    made = validated(CommonOptions, {"image_template": "a{{b}}:{tag}", "stateful": True}, "sandbox")

    assert (made.image_template, made.stateful) == ("a{{b}}:{tag}", True)


def test_solvers_use_a_sandbox_unless_they_say_not() -> None:
    assert in_sandbox(Doubles())
    assert not in_sandbox(None, {"type": "simple"})
    assert not in_sandbox(None, {"type": "completion"})


def test_no_room_is_made_for_none_or_for_what_is_not_there() -> None:
    sandboxes = Sandboxes((0, 1), lambda: Secrets(()))

    assert sandboxes.room(PluginSpec(type="none")) is None
    with pytest.raises(UnknownName, match="type 'slurm' is not there yet"):
        sandboxes.room(PluginSpec(type="slurm"))
    with pytest.raises(UnknownName, match="Did you mean 'docker'"):
        sandboxes.room(PluginSpec(type="doker"))
    assert not sandboxes


def test_what_sandboxes_took_is_summed_up() -> None:
    tally = SandboxTally()
    box = {"started": 1, "wait_ms": 100.0, "start_ms": 200.0, "exec_ms": 300.0}

    tally.add({"solve_ms": 900.0, "sandbox": box}, {"verify_ms": 100.0, "sandbox": box})
    tally.add({"solve_ms": 1000.0}, {})

    assert tally.as_json(4.0) == {
        "attempts": 1,
        "started": 2,
        "started_per_second": 0.5,
        "waiting_seconds": 0.2,
        "starting_seconds": 0.4,
        "working_seconds": 0.6,
        "share_of_attempts": 0.5,
    }
    assert SandboxTally().as_json(1.0) is None
