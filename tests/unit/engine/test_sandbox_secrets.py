"""Values of secret variables that commands print in sandboxes."""

from pathlib import Path

import pytest

from pytest_nel.config.schema import PluginSpec
from pytest_nel.core.errors import NoAnswer
from pytest_nel.core.sandbox import Sandbox
from pytest_nel.core.types import SeedResult, SolveResult, VerifyResult
from pytest_nel.engine.past import Mode, Past
from pytest_nel.engine.run import run_evaluation
from pytest_nel.http.secret import Secrets
from pytest_nel.records.index import index_journals
from tests.unit.engine.parts import KEY, Says, lines
from tests.unit.engine.sandboxed import Reads, attempted, prepared, room_of

RIGHT = "def f(password): return password * 2"


class Prints:
    """A solver whose command prints its environment."""

    def __init__(self, secret: str) -> None:
        self.secret = secret

    async def solve(self, seed: SeedResult, sandbox: Sandbox) -> SolveResult:
        del seed
        said = (await sandbox.exec(f"printf API={self.secret} | tee said.txt")).stdout
        steps = [{"observation": {"content": [said]}}]
        return SolveResult(f"done: {said}", trajectory=steps)


class Quotes(Reads):
    """A verifier that quotes what its tests print."""

    async def verify(
        self, response: str, expected: str, sandbox: Sandbox | None = None, **metadata: object
    ) -> VerifyResult:
        del response, expected, metadata
        assert sandbox is not None
        said = (await sandbox.read("said.txt")).decode()
        return VerifyResult(1.0, scoring_details={"test_stdout": said})


def written(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


@pytest.mark.asyncio
async def test_secrets_that_a_sandbox_prints_are_recorded_nowhere(tmp_path: Path) -> None:
    secret = "tok-5e4b1c77a2"  # noqa: S105 - of this test
    room, _ = room_of()
    made = prepared(tmp_path, Prints(secret), Quotes(), room)
    made.hide = Secrets([secret, "done"]).out_of_line  # of so few letters, a word like others

    record = await attempted(made)

    journal = written(tmp_path)
    assert record.scored.reward == 1.0
    assert record.solved.response == "done: API=[API key]"
    assert record.solved.trajectory == [{"observation": {"content": ["API=[API key]"]}}]
    assert record.scored.details["test_stdout"] == "API=[API key]"
    assert b"API=" in journal
    assert secret.encode() not in journal


class Runs(Reads):
    """A verifier that wants the very text of the right answer."""

    async def verify(
        self, response: str, expected: str, sandbox: Sandbox | None = None, **metadata: object
    ) -> VerifyResult:
        del expected, metadata
        assert sandbox is not None
        await sandbox.exec("true")
        return VerifyResult(float(response == RIGHT), response)


class Breaks(Reads):
    """A verifier that fails."""

    async def verify(
        self, response: str, expected: str, sandbox: Sandbox | None = None, **metadata: object
    ) -> VerifyResult:
        del response, expected, sandbox, metadata
        msg = "broken"
        raise RuntimeError(msg)


@pytest.mark.asyncio
async def test_an_answer_is_judged_with_words_that_are_secrets_elsewhere(tmp_path: Path) -> None:
    room, _ = room_of()
    made = prepared(tmp_path, Says(RIGHT), Runs(), room)
    made.hide = Secrets(["password"]).out_of_line

    record = await attempted(made)

    assert record.scored.outcome == "correct"
    assert record.solved.response == "def f([API key]): return [API key] * 2"
    assert record.scored.extracted == record.solved.response
    assert b"password" not in written(tmp_path)


@pytest.mark.asyncio
async def test_an_answer_that_is_not_written_as_it_was_judged_is_never_judged_again(
    tmp_path: Path,
) -> None:
    room, _ = room_of()
    first = prepared(tmp_path, Says(RIGHT), Runs(), room)
    first.hide = Secrets(["password"]).out_of_line
    await attempted(first)
    again = prepared(tmp_path, Says("another"), Runs(), room)
    again.past = Past(index_journals(tmp_path / "sums" / "journal"), mode=Mode.RESCORE)

    with pytest.raises(NoAnswer, match="secrets that stood in what was judged were taken out"):
        await again.attempt(KEY)
    again.journal.close()

    assert again.past.counts == {"partial": 1, "partial sums[0-r0]": 1}


@pytest.mark.asyncio
async def test_an_answer_that_is_asked_again_for_want_of_its_secrets_is_counted(
    tmp_path: Path,
) -> None:
    room, _ = room_of()
    first = prepared(tmp_path, Says(RIGHT), Breaks(), room)
    first.hide = Secrets(["password"]).out_of_line
    unscored = await attempted(first)
    again = prepared(tmp_path, Says(RIGHT), Runs(), room)
    again.identity = first.identity
    again.past = Past(index_journals(tmp_path / "sums" / "journal"))

    made = await attempted(again)

    assert unscored.scored.outcome == "unscored"
    assert made.scored.outcome == "correct"
    assert again.past.counts == {"again": 1}


@pytest.mark.asyncio
async def test_secrets_that_a_sandbox_is_given_are_taken_out_of_what_is_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_API_KEY", "key-of-sixteen-or-more")
    monkeypatch.setenv("ZONE", "Antarctica/DumontDUrville")
    monkeypatch.setenv("OTHER_TOKEN", "a-token-that-stays-outside")
    seen = []

    class Looks(Runs):
        async def verify(
            self, response: str, expected: str, sandbox: Sandbox | None = None, **metadata: object
        ) -> VerifyResult:
            seen.append(response)
            return await super().verify(response, expected, sandbox, **metadata)

    given = {"KEY": "host:MY_API_KEY", "TZ": "host:ZONE"}
    box = PluginSpec.model_validate({"type": "local", "container_env": given})
    said = Says("key-of-sixteen-or-more a-token-that-stays-outside Antarctica/DumontDUrville")

    await run_evaluation(
        Looks(sandbox_spec=None), said, tmp_path / "run", sandbox=box, max_problems=1
    )

    (row,) = lines(tmp_path / "run" / "reads" / "results.jsonl")
    assert seen == ["[API key] a-token-that-stays-outside Antarctica/DumontDUrville"]
    assert row["model_response"] == "[API key] [API key] [API key]"
