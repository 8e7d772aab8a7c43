"""What an attempt does with sandboxes: which it gets, when they start, what their faults cost."""

import asyncio
from pathlib import Path

import pytest

from pytest_nel.core.errors import GracefulError
from pytest_nel.core.sandbox import Sandbox, SandboxError, SandboxSpec
from pytest_nel.core.types import AttemptKey, SeedResult, SolveResult
from pytest_nel.engine.slots import Slots
from tests.unit.engine.parts import KEY
from tests.unit.engine.sandboxed import (
    CARRIED,
    FRESH,
    PACK,
    Blind,
    Idle,
    Reads,
    Swallows,
    Writes,
    attempted,
    prepared,
    room_of,
)

UNTAR = "tar -xf /input/workspace.tar"
pytestmark = pytest.mark.asyncio


async def test_without_a_spec_for_verifying_the_answer_is_judged_where_it_was_given(
    tmp_path: Path,
) -> None:
    room, backend = room_of()

    record = await attempted(prepared(tmp_path, Writes(), Reads(), room))

    assert (record.scored.reward, record.scored.details["image"]) == (1.0, "solving")
    assert record.solved.workspace == {"live": True}
    assert not record.solved.whole  # no later process can judge it
    assert (len(backend.made), backend.most, len(backend.running)) == (1, 1, 0)
    assert record.solved.sandbox["started"] == 1
    assert record.solved.sandbox["exec_ms"] > 0


async def test_a_sandbox_that_nobody_uses_is_never_started(tmp_path: Path) -> None:
    room, backend = room_of()
    made = prepared(tmp_path, Idle(), Blind(), room)

    record = await attempted(made)

    assert record.scored.reward == 1.0
    assert (backend.most, record.solved.sandbox, record.scored.sandbox) == (0, {}, {})


async def test_a_spec_for_verifying_means_a_fresh_sandbox_without_what_the_solver_did(
    tmp_path: Path,
) -> None:
    room, backend = room_of()

    record = await attempted(prepared(tmp_path, Writes(), Reads(**FRESH), room))

    assert (record.scored.reward, record.scored.details["image"]) == (0.0, "fresh")
    assert record.scored.outcome == "wrong"
    assert [spec.image for spec in backend.made] == ["solving", "fresh"]
    assert backend.most == 1  # never two at once
    assert record.solved.workspace is None
    assert record.scored.sandbox["started"] == 1


async def test_what_is_captured_is_kept_and_brought_into_the_fresh_sandbox(tmp_path: Path) -> None:
    room, backend = room_of(concurrency=1)

    record = await attempted(prepared(tmp_path, Writes(), Reads(**CARRIED), room))

    assert (record.scored.reward, backend.most) == (1.0, 1)
    kept = tmp_path / "artifacts" / "0-r0.tar"
    assert record.solved.workspace is not None
    assert record.solved.workspace["file"] == kept.name
    assert record.solved.workspace["bytes"] == kept.stat().st_size
    assert record.solved.whole
    assert [path.name for path in kept.parent.iterdir()] == [kept.name]


async def test_a_workspace_is_carried_where_paths_of_commands_are_those_of_this_machine(
    tmp_path: Path,
) -> None:
    room, _ = room_of(real_paths=True)
    places = {**CARRIED, "capture_cmd": "tar -cf /output/workspace.tar .", "apply_cmd": UNTAR}

    record = await attempted(prepared(tmp_path, Writes(), Reads(**places), room))

    assert (record.scored.reward, record.scored.error) == (1.0, None)


async def test_the_suites_capture_cmd_stands_before_the_benchmarks(tmp_path: Path) -> None:
    room, _ = room_of(capture_cmd=f"echo 7 > answer.txt; {PACK}")

    record = await attempted(prepared(tmp_path, Writes(), Reads(**CARRIED), room))

    assert record.scored.extracted == "7"


async def test_stateful_judges_where_it_was_solved_whatever_the_problem_says(
    tmp_path: Path,
) -> None:
    room, backend = room_of(stateful=True, capture_cmd=PACK, scrub_git_history=True)

    record = await attempted(prepared(tmp_path, Writes(), Reads(**CARRIED), room))

    assert (record.scored.reward, record.scored.details["image"]) == (1.0, "solving")
    assert len(backend.made) == 1
    assert [line.split("so ")[1].split(" ")[0] for line in room.warnings] == [
        "capture_cmd",
        "scrub_git_history",
    ]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"capture_cmd": "echo no room >&2; exit 7"}, "capture_cmd failed in the sandbox (exit 7)"),
        ({"capture_cmd": "true"}, "/output/workspace.tar: is missing or empty"),
        ({"apply_cmd": "echo bad tar >&2; exit 2"}, "apply_cmd failed in the sandbox (exit 2)"),
    ],
)
async def test_what_cannot_be_captured_or_applied_is_unscored(
    tmp_path: Path, changes: dict[str, str], said: str
) -> None:
    room, backend = room_of()
    solver = Writes()

    record = await attempted(prepared(tmp_path, solver, Reads(**CARRIED | changes), room))

    assert (record.scored.outcome, record.scored.failure) == ("unscored", "infra_error")
    assert said in str(record.scored.error)
    assert solver.calls == 1  # the same would happen again
    assert not backend.running


@pytest.mark.parametrize("what", ["start", "exec"])
async def test_a_fault_of_the_sandbox_is_tried_again_in_a_fresh_one(
    tmp_path: Path, what: str
) -> None:
    room, backend = room_of(concurrency=1)
    backend.broken = {what: 2}

    record = await attempted(prepared(tmp_path, Writes(), Reads(), room, max_system_retries=3))

    assert (record.scored.reward, record.solved.tries) == (1.0, 3)
    assert (len(backend.made), backend.most, len(backend.running)) == (3, 1, 0)


async def test_a_sandbox_that_never_starts_is_unscored_even_if_the_solver_goes_on(
    tmp_path: Path,
) -> None:
    class GoesOn(Writes):
        async def solve(self, seed: SeedResult, sandbox: Sandbox) -> SolveResult:
            try:
                return await super().solve(seed, sandbox)
            except SandboxError:
                return SolveResult("nothing worked")

    room, backend = room_of()
    backend.broken = {"start": 9}

    record = await attempted(prepared(tmp_path, GoesOn(), Reads(), room, max_system_retries=2))

    assert (record.scored.outcome, record.scored.failure) == ("unscored", "infra_error")
    assert (record.scored.error, record.solved.tries) == ("start is broken", 2)


@pytest.mark.parametrize(("times", "reward"), [(1, 1.0), (9, None)])
async def test_a_verifier_cannot_make_a_wrong_answer_of_a_broken_sandbox(
    tmp_path: Path, times: int, reward: float | None
) -> None:
    room, backend = room_of()
    made = prepared(tmp_path, Idle(), Swallows(**FRESH), room, max_system_retries=2)
    backend.broken = {"start": times}

    record = await attempted(made)

    assert record.scored.reward == reward
    assert len(backend.made) == 2


async def test_a_sandbox_that_dies_with_the_workspace_in_it_is_unscored_at_once(
    tmp_path: Path,
) -> None:
    room, backend = room_of()

    class Last(Writes):
        async def solve(self, seed: SeedResult, sandbox: Sandbox) -> SolveResult:
            said = await super().solve(seed, sandbox)
            backend.broken["exec"] = 9
            return said

    record = await attempted(prepared(tmp_path, Last(), Swallows(), room))

    assert (record.scored.outcome, record.scored.error) == ("unscored", "exec is broken")
    assert len(backend.made) == 1


async def test_an_answer_that_took_too_long_leaves_no_sandbox(tmp_path: Path) -> None:
    class Hangs(Writes):
        async def solve(self, seed: SeedResult, sandbox: Sandbox) -> SolveResult:
            await super().solve(seed, sandbox)
            await asyncio.sleep(60)
            return SolveResult("late")

    room, backend = room_of()

    record = await attempted(prepared(tmp_path, Hangs(), Reads(), room, timeout=0.5))

    assert (record.scored.failure, backend.running) == ("solve_timeout", set())


async def test_a_cancelled_attempt_removes_its_sandbox(tmp_path: Path) -> None:
    room, backend = room_of(concurrency=1)
    made = prepared(tmp_path, Writes("sleep 5"), Reads(), room)
    attempt = asyncio.create_task(made.attempt(KEY))
    while not backend.running:  # noqa: ASYNC110 - as a user would, from outside
        await asyncio.sleep(0.01)

    attempt.cancel()
    await asyncio.wait([attempt])

    assert attempt.cancelled()
    assert backend.running == set()
    assert room.slots.free == 1
    made.journal.close()


async def test_waiting_for_a_slot_is_not_on_the_clock_of_an_attempt(tmp_path: Path) -> None:
    room, backend = room_of(concurrency=1)
    solver = Writes("sleep 0.6")
    made = prepared(tmp_path, solver, Reads(), room, timeout=1.2)

    pending = await asyncio.gather(*(made.attempt(AttemptKey("sums", idx, 0)) for idx in range(4)))
    records = [made.finish(each) for each in pending]
    made.journal.close()

    assert [record.scored.reward for record in records] == [1.0] * 4
    assert backend.most == 1
    assert max(record.solved.sandbox["wait_ms"] for record in records) > 1200


async def test_a_problem_the_model_gave_up_is_wrong_and_its_sandbox_gone(tmp_path: Path) -> None:
    room, backend = room_of()

    record = await attempted(
        prepared(tmp_path, Writes(error=GracefulError("gave up")), Reads(), room)
    )

    assert (record.scored.outcome, backend.running) == ("wrong", set())


async def test_the_command_before_the_solver_may_fail_and_the_record_says_so(
    tmp_path: Path,
) -> None:
    room, _ = room_of()
    environment = Reads(pre_agent_cmd="echo 41 > hint.txt; echo oh >&2; exit 3")
    solver = Writes("test -e hint.txt && cp hint.txt answer.txt")

    record = await attempted(prepared(tmp_path, solver, environment, room))

    assert record.scored.extracted == "41"
    assert record.solved.sandbox["pre_agent_cmd"] == "exit 3: oh"


async def test_images_come_from_the_template_then_the_problem_then_the_suite(
    tmp_path: Path,
) -> None:
    room, backend = room_of(image="suites", image_template="img-{tag}")
    plain, of_plain = room_of(image="suites")

    await attempted(prepared(tmp_path / "a", Writes(), Reads(), room))
    await attempted(prepared(tmp_path / "b", Writes(), Reads(), plain))
    await attempted(prepared(tmp_path / "c", Writes(), Reads(sandbox_spec=None), plain))

    assert [spec.image for spec in backend.made] == ["img-t0"]
    assert [spec.image for spec in of_plain.made] == ["solving", "suites"]


async def test_a_template_that_fits_no_problem_is_unscored(tmp_path: Path) -> None:
    room, _ = room_of(image_template="img-{nothing}")

    record = await attempted(prepared(tmp_path, Writes(), Reads(), room))

    assert record.scored.outcome == "unscored"
    assert "img-{nothing}" in str(record.scored.error)


async def test_an_image_is_fetched_once_however_many_want_it(tmp_path: Path) -> None:
    room, backend = room_of()
    made = prepared(tmp_path, Writes(), Reads(), room)

    await asyncio.gather(*(made.attempt(AttemptKey("sums", idx, 0)) for idx in range(4)))
    made.journal.close()

    assert backend.prepared == ["solving"]


async def test_an_image_that_cannot_be_had_is_unscored(tmp_path: Path) -> None:
    room, _ = room_of()
    environment = Reads(sandbox_spec=SandboxSpec(image="missing"))

    record = await attempted(prepared(tmp_path, Writes(), environment, room))

    assert (record.scored.outcome, record.solved.tries) == ("unscored", 1)
    assert record.scored.error == "there is no image 'missing'"


async def test_without_a_sandbox_in_the_suite_using_one_is_unscored(tmp_path: Path) -> None:
    record = await attempted(prepared(tmp_path, Writes(), Reads(), None))

    assert record.scored.outcome == "unscored"
    assert "there is no sandbox" in str(record.scored.error)


async def test_future_commits_are_gone_before_the_solver_looks(tmp_path: Path) -> None:
    history = (
        "git init -q . && git config user.email a@b && git config user.name n && "
        "git add -A && git commit -qm one && git tag base && git commit -q --allow-empty -m fix && "
        "git tag future && git branch later && git reset -q --hard base && git remote add o ."
    )
    room, _ = room_of(scrub_git_history=True)
    environment = Reads(pre_agent_cmd=history, **CARRIED)
    solver = Writes(
        "git log --all --format=%s > log.txt; git reflog >> log.txt; git tag >> log.txt; "
        "git remote >> log.txt; git cat-file --batch-all-objects --batch-check >> log.txt; "
        "git status --porcelain -uno >> log.txt; "
        "grep -c commit log.txt > answer.txt; head -1 log.txt >> answer.txt"
    )

    record = await attempted(prepared(tmp_path, solver, environment, room))

    assert record.scored.extracted == "1\none"
    audit = record.solved.sandbox["git_history"]
    assert (audit["commits_before"], audit["commits_after"]) == ("2", "1")
    assert audit["non_ancestor_left"] == "0"


async def test_a_history_that_cannot_be_scrubbed_is_unscored_and_unseen(tmp_path: Path) -> None:
    room, _ = room_of(scrub_git_history=True)
    solver = Writes()
    environment = Reads(pre_agent_cmd="mkdir .git && echo broken > .git/HEAD", **CARRIED)

    record = await attempted(prepared(tmp_path, solver, environment, room))

    assert record.scored.outcome == "unscored"
    assert "unreadable-repository" in str(record.scored.error)


async def test_who_verifies_goes_before_who_solves() -> None:
    slots, order = Slots(1), []

    async def take(name: str, *, first: bool = False) -> None:
        await slots.acquire(first=first)
        order.append(name)
        await asyncio.sleep(0)
        slots.release()

    await slots.acquire()
    takers = [asyncio.create_task(take(name)) for name in ("a", "b", "c")]
    takers.append(asyncio.create_task(take("verifier", first=True)))
    await asyncio.sleep(0)
    takers[1].cancel()
    await asyncio.sleep(0)
    slots.release()
    await asyncio.gather(*takers, return_exceptions=True)

    assert (order, slots.free) == (["verifier", "a", "c"], 1)


async def test_a_slot_that_comes_with_a_cancellation_is_given_on() -> None:
    slots = Slots(1)
    await slots.acquire()
    late = asyncio.create_task(slots.acquire())
    await asyncio.sleep(0)

    slots.release()
    late.cancel()
    await asyncio.wait([late])

    assert (late.cancelled(), slots.free) == (True, 1)
