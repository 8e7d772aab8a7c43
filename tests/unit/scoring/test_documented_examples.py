import json
import re
from pathlib import Path
from typing import Any

import pytest

from pytest_nel.core.types import ScorerInput
from pytest_nel.scoring.catalog import SCORERS, get_scorer

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "scorers.md"
ROW = re.compile(
    r"^\| `(?P<response>[^`]*)` \| `(?P<target>[^`]*)` "
    r"\| (?P<outcome>correct|wrong|unparsed) \| (?:`(?P<extracted>[^`]*)`)? ?\|$"
)


def documented() -> list[tuple[str, dict[str, Any], dict[str, str | None]]]:
    """Scorer, its config and the row, of every row of the examples."""
    rows = []
    scorer = ""
    config: dict[str, Any] = {}
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if heading := re.match(r"## `(\w+)`", line):
            scorer, config = heading[1], {}
        elif settings := re.fullmatch(r"With the settings `(.*)`:", line):
            config = json.loads(settings[1])
        elif row := ROW.match(line):
            rows.append((scorer, config, row.groupdict()))
    return rows


@pytest.mark.parametrize(("scorer", "config", "row"), documented())
def test_an_example_of_the_reference_page_is_true(
    scorer: str, config: dict[str, Any], row: dict[str, str | None]
) -> None:
    response = (row["response"] or "").replace("⏎", "\n")

    result = get_scorer(scorer)(ScorerInput(response, row["target"], config=config))

    outcome = "correct" if result.reward == 1 else "wrong" if result.parsed else "unparsed"
    assert (outcome, result.extracted_answer) == (row["outcome"], row["extracted"])


def test_every_scorer_has_documented_examples() -> None:
    assert {scorer for scorer, _, _ in documented()} == set(SCORERS)


def test_no_row_of_the_example_tables_is_skipped_by_this_test() -> None:
    text = PAGE.read_text(encoding="utf-8")
    rows = [
        line for line in text.splitlines() if re.search(r"\| (correct|wrong|unparsed) \|", line)
    ]

    assert len(documented()) == len([row for row in rows if row.startswith("| `")])
