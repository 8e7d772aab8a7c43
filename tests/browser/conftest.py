"""A real browser without a window, and pages opened in it from files."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_nel.cli.main import main
from tests.browser.page import Page, missing, start


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """One browser for all tests; without one they are skipped, but not in CI."""
    why = missing()
    if why and os.environ.get("CI"):
        pytest.fail(why)
    if why:
        pytest.skip(why)
    started = start(tmp_path_factory.mktemp("profile"))
    yield started
    started.quit()


@pytest.fixture
def show(browser: Any, tmp_path: Path) -> Callable[..., Page]:
    """Make a report of a run and open it."""

    def opened(run: Path, *words: str | Path) -> Page:
        path = tmp_path / "report.html"
        assert main(["report", str(run), "-o", str(path), *map(str, words)]) == 0
        browser.get_log("browser")
        browser.get(path.as_uri())
        page = Page(browser, path)
        page.until(lambda: page.js("document.documentElement.dataset.ready"))
        return page

    return opened
