"""2,000 attempts with repeats have the same outcomes with workers and without."""

from pathlib import Path
from typing import Any

from tests.plugin.running import Ended, Nel
from tests.support.endpoint import RunningEndpoint

PROBLEMS, REPEATS = 500, 4
HOW: dict[str, tuple[str, ...]] = {"one": (), "two": ("-p", "xdist", "-n2")}
_OF_THE_CLOCK = {"latency_ms"}


def mixed() -> list[dict[str, str]]:
    """Right, wrong and unreadable answers."""
    says = ["{i}", "-{i}", "no idea", "it is {i}", "{i} or not"]
    return [
        {"say": says[i % 5].format(i=i), "target": str(i if i % 7 else i + 1)}
        for i in range(1, PROBLEMS + 1)
    ]


def rows(ended: Ended) -> list[dict[str, Any]]:
    """results.jsonl without what the clock says."""
    return [
        {name: value for name, value in row.items() if name not in _OF_THE_CLOCK}
        for row in ended.results()
    ]


def scores(ended: Ended) -> dict[str, Any]:
    """What the bundle says about the model."""
    found: dict[str, Any] = ended.bundle()["benchmark"]["scores"]
    return {name: value for name, value in found.items() if name != "runtime"}


def test_the_same_attempts_have_the_same_scores_with_and_without_workers(
    tmp_path: Path, endpoint: RunningEndpoint
) -> None:
    ended, stats = {}, {}
    for name, args in HOW.items():
        folder = tmp_path / name
        folder.mkdir()
        (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
        nel = Nel(folder, endpoint.url)
        nel.bench(mixed())
        endpoint.reset()

        ended[name] = nel.run("bench_sums.py", "--nel-repeats", str(REPEATS), *args)

        stats[name] = endpoint.stats()
    assert [run.code for run in ended.values()] == [0, 0], ended["two"].text
    expected = rows(ended["one"])
    assert len(expected) == PROBLEMS * REPEATS
    assert {row["outcome"] for row in expected} == {"correct", "wrong", "unparsed"}
    assert rows(ended["two"]) == expected
    assert scores(ended["two"]) == scores(ended["one"])
    for counted in stats.values():
        assert counted["requests"] == counted["ok"] == PROBLEMS * REPEATS
        assert counted["distinct"] == stats["one"]["distinct"]
