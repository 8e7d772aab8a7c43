"""What a disturbed run is held to: its records, and the log of the endpoint that it asked."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pytest_nel.records.journal import journal_files
from tests.plugin.truth import bundle, lines

Attempt = tuple[int, int]
_CHANGES = {"runtime", "failures"}  # times, retries; the rest of the scores must be the same


class Asked(NamedTuple):
    """A request that the endpoint answered in full."""

    prompt: str
    began: float
    ended: float


class Kill(NamedTuple):
    """A signal that met a running process: when it was sent, when all of it was over."""

    sent: float
    over: float


def answered(log: Path) -> list[Asked]:
    """The endpoint's own account, in the order of the answers."""
    rows = (json.loads(line) for line in log.read_text("utf-8").splitlines())
    return [Asked(row["prompt"], row["began"], row["ended"]) for row in rows if row["how"] == "200"]


def scores(folder: Path) -> dict[str, Any]:
    """All that a benchmark's records say about the model; nothing about the way to it."""
    made = bundle(folder)
    kept = {
        name: value for name, value in made["benchmark"]["scores"].items() if name not in _CHANGES
    }
    counts = {name: value for name, value in made.items() if name.startswith("n_")}
    counts.pop("n_overtaken")
    return kept | counts | {"complete": made["complete"]}


def results(folder: Path) -> dict[Attempt, tuple[Any, ...]]:
    """What became of each attempt; that none stands there twice."""
    rows = lines(folder / "results.jsonl")
    names = ("outcome", "reward", "extracted_answer", "model_response", "prompt", "scoring_details")
    found = {
        (row["problem_idx"], row["repeat"]): tuple(json.dumps(row[name]) for name in names)
        for row in rows
    }
    assert len(found) == len(rows)
    return found


class Journals(NamedTuple):
    """What the journals say, counted.

    Attributes:
        scored: Judgements per attempt.
        solved: Answers per attempt.
        lost: Per prompt, how often one process began it and did not record its answer.
    """

    scored: Mapping[Attempt, int]
    solved: Mapping[Attempt, int]
    lost: Mapping[str, int]


def journals(folder: Path) -> Journals:
    """Read all journals of a benchmark, torn last lines aside."""
    scored: Counter[Attempt] = Counter()
    solved: Counter[Attempt] = Counter()
    begun: Counter[Attempt] = Counter()
    prompts: dict[Attempt, str] = {}
    for path in journal_files(folder / "journal"):
        for row in _whole_lines(path):
            key = (row.get("problem_idx", -1), row.get("repeat", -1))
            scored[key] += row["_type"] == "scored"
            solved[key] += row["_type"] == "solved"
            begun[key] += row["_type"] == "started"
            if row["_type"] == "solved":
                prompts[key] = row["prompt"]
    lost: dict[str, int] = defaultdict(int)
    for key, prompt in prompts.items():
        lost[prompt] += begun[key] - solved[key]
    return Journals(+scored, +solved, lost)


def _whole_lines(path: Path) -> Iterable[dict[str, Any]]:
    for line in path.read_bytes().split(b"\n")[:-1]:
        try:
            yield json.loads(line)
        except ValueError:  # torn: its writer was killed, a later one has ended the line
            assert not line.endswith(b'"}'), line


def check_accounts(
    log: Path, folder: Path, kills: list[Kill], *, repeats: int, at_once: int
) -> int:
    """How many answers were paid for twice, after proving that kills account for each of them.

    A surplus answer is one that no record holds. It must have been under way when a process was
    killed: in the endpoint's eyes, and in the journal's, which knows an attempt that was begun.
    """
    asked = answered(log)
    known = journals(folder)
    times: dict[str, list[Asked]] = defaultdict(list)
    for one in asked:
        times[one.prompt].append(one)
    surplus = len(asked) - sum(known.solved.values())
    assert set(known.scored.values()) == set(known.solved.values()) == {1}
    assert 0 <= surplus <= at_once * len(kills), (surplus, len(kills))
    for prompt, answers in times.items():
        extra = len(answers) - repeats
        under_way = [one for one in answers if any(_met(one, kill) for kill in kills)]
        assert extra <= known.lost[prompt], (prompt, answers)
        assert extra <= len(under_way), (prompt, answers, kills)
    return surplus


def _met(asked: Asked, kill: Kill) -> bool:
    """Whether a request was under way at a kill, or its answer not yet written down.

    From the answer's departure to its line in the journal is a turn of the client's loop; half a
    second of it is granted to a machine that does other things.
    """
    return asked.began <= kill.over and asked.ended >= kill.sent - 0.5
