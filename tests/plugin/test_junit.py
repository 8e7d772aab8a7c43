"""The JUnit file: read by machines that choke on what models say."""

import json
from decimal import Decimal

import pytest

from tests.plugin.running import Ended, Nel, rows, sums

NASTY = {
    "controls": "no \x00\x01\x08\x0b\x0c\x0e\x1f\x7f\x85 end",
    "ansi": "no \x1b[31mred\x1b[0m \x1b]0;title\x07 end",
    "markup": "no ]]> <b> & \" ' </testcase> end",
    "emoji": "no 😀 𠀀 日本 end",
    "noncharacter": "no \ufffe\uffff end",
}


def properties(ended: Ended, item: str) -> dict[str, str]:
    case = next(case for case in ended.junit().iter("testcase") if case.get("name") == item)
    return {found.get("name", ""): found.get("value", "") for found in case.iter("property")}


@pytest.mark.parametrize("count", [4, 260], ids=["few", "many"])
def test_items_and_the_suite_have_properties(nel: Nel, how: list[str], count: int) -> None:
    nel.bench(sums(count))

    ended = nel.run("bench_sums.py", "--junitxml", "nel.xml", *how)

    assert ended.code == 0, ended.text
    shown = properties(ended, "sums[0-r0]")
    assert shown["outcome"] == "correct"
    assert shown["reward"] == "1.0"
    assert shown["extracted"] == "1"
    assert int(shown["tokens"]) > 0
    assert float(shown["latency_ms"]) > 0
    assert all(properties(ended, f"sums[{i}-r0]")["outcome"] for i in range(count))
    suite = ended.junit()
    top = {
        found.get("name", ""): found.get("value", "")
        for found in suite.findall("properties/property")
    }
    score = ended.bundle()["benchmark"]["scores"]["mean_reward"]["value"]
    assert float(top["nel.sums.score"]) == score
    assert top["nel.sums.model"] == "m"
    assert top["nel.run_id"] == ended.run_dir.name
    assert int(top["nel.sums.n_scored"]) == count


def test_outcomes_are_told_apart(nel: Nel, how: list[str]) -> None:
    nel.bench(rows("7", "8", "no idea", "crash"))

    ended = nel.run("bench_sums.py", "--junitxml", "nel.xml", *how)

    cases = {case.get("name"): case for case in ended.junit().iter("testcase")}
    assert [child.tag for child in cases["sums[0-r0]"] if child.tag != "properties"] == []
    for number, word in ((1, "wrong"), (2, "unparsed")):
        skipped = cases[f"sums[{number}-r0]"].find("skipped")
        assert skipped is not None
        assert skipped.get("type") == "pytest.xfail"
        assert word in skipped.get("message", "")
    failure = cases["sums[3-r0]"].find("failure")
    assert failure is not None
    assert "the scorer broke" in (failure.text or "") + failure.get("message", "")
    health = cases["health"].find("failure")
    assert health is not None
    assert ended.junit().get("failures") == "2"


@pytest.mark.parametrize("how", [[], ["-p", "xdist", "-n1"]], ids=["plain", "n1"])
@pytest.mark.parametrize("strict", [[], ["--nel-strict"]], ids=["skipped", "failed"])
def test_the_file_can_be_read_whatever_the_model_says(
    nel: Nel, how: list[str], strict: list[str]
) -> None:
    nel.bench(rows(*NASTY.values(), "crash"))

    ended = nel.run("bench_sums.py", "--junitxml", "nel.xml", *strict, *how)

    assert ended.code == (1 if strict else 7), ended.text
    text = (nel.folder / "nel.xml").read_text(encoding="utf-8")
    assert len(list(ended.junit().iter("testcase"))) == len(NASTY) + 2
    assert "\x1b" not in text
    assert "#x1B" not in text
    assert "#x0" not in text
    assert "😀 𠀀 日本" in text
    assert "\x1b[31mred" not in ended.out
    assert [
        row["model_response"] for row in sorted(ended.results(), key=lambda row: row["problem_idx"])
    ][:5] == list(NASTY.values())


def test_a_lone_surrogate_does_no_harm(nel: Nel) -> None:
    nel.write("data.jsonl", json.dumps({"say": "8 \ud800 end", "target": "7"}) + "\n")
    bench = nel.bench([])
    text = bench.read_text(encoding="utf-8").replace("dataset=ROWS", 'dataset="data.jsonl"')
    bench.write_text(text, encoding="utf-8")

    ended = nel.run("bench_sums.py", "--junitxml", "nel.xml", "--nel-show", "all")

    assert ended.code == 0, ended.text
    assert len(list(ended.junit().iter("testcase"))) == 2
    assert "1 wrong" in ended.out


@pytest.mark.parametrize("strict", [[], ["--nel-strict"]], ids=["skipped", "failed"])
def test_a_reply_of_a_megabyte_is_an_excerpt_in_xml_and_on_the_terminal(
    nel: Nel, strict: list[str]
) -> None:
    nel.bench([{"say": "x" * 1_000_000 + " the end", "target": "7"}])

    ended = nel.run("bench_sums.py", "--junitxml", "nel.xml", "--nel-show", "unparsed", *strict)

    assert ended.code == (1 if strict else 0), ended.text[-3000:]
    (case, _) = ended.junit().iter("testcase")
    texts = [(child.text or "") + child.get("message", "") for child in case]
    assert 0 < max(map(len, texts)) <= 4000
    assert all(len(child.text or "") <= 2000 for child in case)
    assert all(len(child.get("message", "")) <= 2000 for child in case)
    assert len(ended.out) < 12_000
    assert "the end" in ended.out
    assert "sums/results.jsonl line 1" in ended.out
    assert len(ended.results()[0]["model_response"]) > 100_000


def test_strange_values_of_a_scorer_cross_to_the_controller(nel: Nel) -> None:
    nel.untested()
    nel.write(
        "bench_odd.py",
        '''"""Returns what only looks like plain types."""
import enum, pathlib, datetime, decimal
from pytest_nel import benchmark

class Colour(enum.IntEnum):
    RED = 1

class Count(int):
    pass

class Word(str):
    pass

def odd(sample):
    return {
        "reward": Count(1), "extracted": Word("x"), "colour": Colour.RED,
        "path": pathlib.Path("/a"), "when": datetime.date(2026, 1, 1),
        "price": decimal.Decimal("1.5"),
    }

odd = benchmark("odd", [{"say": "x", "target": Word("x")}], "{say}")(odd)
''',
    )

    ended = nel.run("bench_odd.py", "--junitxml", "nel.xml", "-p", "xdist", "-n1")

    assert ended.code == 0, ended.text
    assert "1 passed" in ended.out
    shown = properties(ended, "odd[0-r0]")
    assert shown["reward"] == "1.0"
    assert shown["extracted"] == "x"
    assert Decimal(str(ended.results("odd")[0]["reward"])) == 1


def test_a_terminal_of_another_encoding_gets_what_it_can_show(nel: Nel) -> None:
    nel.bench(rows("no → 日本 end"))

    ended = nel.run("bench_sums.py", "--nel-show", "all", "-vv", env={"PYTHONIOENCODING": "cp1252"})

    assert ended.code == 0, ended.text
    assert "UnicodeEncodeError" not in ended.text
    assert ended.outcomes() == {(0, 0): "unparsed"}
    assert ended.results()[0]["model_response"] == "no → 日本 end"
