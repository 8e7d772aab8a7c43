"""The page about policies names every key, field, status and verdict, and its example is valid."""

import re
from pathlib import Path
from typing import get_args

import pytest

from pytest_nel.gate.catalog import policies
from pytest_nel.gate.comparable import FIELDS, MUST_MATCH
from pytest_nel.gate.findings import Status
from pytest_nel.gate.policy import Policy, Thresholds, _PolicyFile, parse_policy
from pytest_nel.gate.verdict import VERDICTS, command_code

PAGE = (Path(__file__).parents[3] / "docs/reference/policy.md").read_text(encoding="utf-8")


def rows_below(title: str) -> list[list[str]]:
    """The cells of the tables of a section, without their heads."""
    section = PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]
    lines = re.findall(r"^\| (.*) \|$", section, re.MULTILINE)
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)] for line in lines]


def names_below(title: str) -> list[str]:
    found = [re.fullmatch(r"`(\w+)`", row[0]) for row in rows_below(title)]
    return [one[1] for one in found if one]


def test_the_keys_at_the_top_are_all_there() -> None:
    assert set(names_below("The top of the file")) == set(_PolicyFile.model_fields)


def test_the_keys_of_a_benchmark_are_all_there_with_their_defaults() -> None:
    rows = {
        row[0].strip("`"): row[1].strip("`")
        for row in rows_below("What can be asked of a benchmark")[1:]
    }

    built_in = Thresholds().model_dump().items()
    shown = {name: "" if value is None else str(value) for name, value in built_in}
    assert rows == shown | {"metric": "mean_reward"}  # null means it


def test_the_fields_to_compare_are_all_there() -> None:
    assert names_below("What must be the same") == list(FIELDS)
    assert set(FIELDS) - set(MUST_MATCH) == {"version", "model"}
    assert "By default all but `version` and `model` are compared" in PAGE


def test_statuses_and_verdicts_are_all_there_with_their_codes() -> None:
    rows = rows_below("Statuses and verdicts")

    assert set(names_below("Statuses and verdicts")) == set(get_args(Status))
    codes = {row[0]: (int(row[2]), int(row[3])) for row in rows if row[0] in VERDICTS}
    assert codes == {name: (command_code(name), int(code)) for name, code in VERDICTS.items()}


def test_the_example_is_valid() -> None:
    text = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)[0]

    assert isinstance(parse_policy(text, "docs/reference/policy.md"), Policy)


@pytest.mark.parametrize("name", policies())
def test_the_policies_that_come_along_are_named(name: str) -> None:
    assert f"`{name}`" in PAGE
