"""The numbers of problems in docs/explanation/measure-and-decide.md, counted again."""

import math
import re
from functools import cache

import numpy as np
import pytest

from pytest_nel.stats.paired import p_value
from pytest_nel.stats.power import problems_to_pass
from tests.docs.pipeline import ROOT

PAGE = (ROOT / "docs/explanation/measure-and-decide.md").read_text(encoding="utf-8")
MARGINS = (0.01, 0.02, 0.03)
ROWS = {
    float(share.removesuffix(" %")) / 100: [int(cell.replace(",", "")) for cell in cells.split("|")]
    for share, cells in re.findall(
        r"^\| ([\d.]+ %) \| ([\d,]+ \| [\d,]+ \| [\d,]+) \|$", PAGE, re.MULTILINE
    )
}
CELLS = [
    (share, margin, n)
    for share, counts in ROWS.items()
    for margin, n in zip(MARGINS, counts, strict=True)
]


def chance_of_go(n: int, share: float, margin: float) -> float:
    """That the gate says PASS where each answer differs with chance ``share``, either way alike."""
    from scipy.stats import binom

    @cache
    def passes(worse: int, differing: int) -> bool:
        baseline, candidate = np.zeros(n), np.zeros(n)
        baseline[:worse] = 1.0
        candidate[worse:differing] = 1.0
        return p_value(baseline, candidate, null=-margin, alternative="greater") <= 0.025

    spread = 4 * math.sqrt(n * share)
    total, most = 0.0, -1  # the largest number of worse answers that passes, grown step by step
    for differing in range(max(0, int(n * share - spread)), min(n, int(n * share + spread) + 2)):
        while most < differing and passes(most + 1, differing):
            most += 1
        while most >= 0 and not passes(most, differing):
            most -= 1
        total += binom.pmf(differing, n, share) * binom.cdf(most, differing, 0.5)
    return total


def test_the_table_has_its_rows() -> None:
    assert list(ROWS) == [0.0, 0.005, 0.01, 0.02, 0.05, 0.1]


@pytest.mark.parametrize(("margin", "n"), list(zip(MARGINS, ROWS[0.0], strict=True)))
def test_fewer_can_never_pass(margin: float, n: int) -> None:
    assert n == problems_to_pass(margin)


@pytest.mark.parametrize(("share", "margin", "n"), [cell for cell in CELLS if cell[0] > 0])
def test_so_many_pass_four_times_in_five_and_a_tenth_fewer_do_not(
    share: float, margin: float, n: int
) -> None:
    assert chance_of_go(n, share, margin) >= 0.8
    assert chance_of_go(9 * n // 10, share, margin) < 0.8
