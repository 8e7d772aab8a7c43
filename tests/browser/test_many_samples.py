"""A page with 15,000 samples opens at once and holds few elements."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.browser.page import Page
from tests.browser.runs import Kind, write_run

MANY = 15_000


@pytest.mark.slow
def test_15000_samples_are_a_few_rows_of_the_page(
    show: Callable[..., Page], tmp_path: Path
) -> None:
    run = write_run(tmp_path / "run", Kind(MANY, chars=2000))

    page = show(run)
    at_first = len(page.all(".row"))
    page.driver.execute_script("document.querySelector('.list').scrollTop = 1e9")
    page.until(lambda: page.all(f"#row-{MANY - 1}"))
    at_last = len(page.all(".row"))
    page.search("certain about this one")

    assert max(at_first, at_last) < 100
    assert page.js("document.querySelectorAll('*').length") < 2_500
    found = int(page.one(".status").text.split()[0].replace(",", ""))
    assert found == int(page.texts("[data-kind=unparsed]")[0].split()[1].replace(",", ""))
    assert page.complaints() == []
