"""A real browser without a window, and pages opened in it from files."""

import os
import shutil
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from pytest_nel.cli.main import main
from tests.browser.page import Page

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
_ARGUMENTS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--window-size=1400,1000", "--disable-dev-shm-usage"),
)


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """One browser for all tests; without one they are skipped, but not in CI."""
    program = next(filter(None, map(shutil.which, _BROWSERS)), None)
    driver = shutil.which("chromedriver")
    if program is None or driver is None or find_spec("selenium") is None:
        why = "needs selenium (group 'test'), chromium and chromedriver"
        if os.environ.get("CI"):
            pytest.fail(why)
        pytest.skip(why)
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = program
    for argument in (*_ARGUMENTS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    started = webdriver.Chrome(options=options, service=Service(driver))
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
