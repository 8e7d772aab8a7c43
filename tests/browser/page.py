"""A browser without a window, and a report that is open in it."""

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
_ARGUMENTS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--window-size=1400,1000", "--disable-dev-shm-usage"),
)


def missing() -> str:
    """What a browser lacks here; empty where it can be started."""
    found = _program() and shutil.which("chromedriver") and find_spec("selenium")
    return "" if found else "needs selenium (group 'test'), chromium and chromedriver"


def _program() -> str | None:
    return next(filter(None, map(shutil.which, _BROWSERS)), None)


def start(profile: Path) -> Any:  # Any: selenium's driver
    """A browser of our own, with an empty profile; the caller quits it."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = _program() or ""
    for argument in (*_ARGUMENTS, f"--user-data-dir={profile}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))


@dataclass
class Page:
    """A report in the browser.

    Attributes:
        driver: Selenium's; Any, since it has no types where it is not installed.
        path: The file.
    """

    driver: Any
    path: Path

    def js(self, code: str, *arguments: object) -> Any:  # Any: what the script returns
        """The value of an expression."""
        return self.driver.execute_script(f"return {code}", *arguments)

    def all(self, selector: str) -> list[Any]:
        """Elements by CSS selector."""
        found: list[Any] = self.driver.find_elements("css selector", selector)
        return found

    def one(self, selector: str) -> Any:
        """The only element, or the first."""
        return self.driver.find_element("css selector", selector)

    def texts(self, selector: str) -> list[str]:
        """What they say."""
        found: list[str] = self.js(
            "[...document.querySelectorAll(arguments[0])].map((one) => one.textContent)", selector
        )
        return found

    def keys(self, *keys: str) -> None:
        """Type into the page itself."""
        self.one("body").send_keys(*keys)

    def until(self, true: Callable[[], object], timeout: float = 20.0) -> None:
        """Wait until it holds."""
        end = time.monotonic() + timeout
        while not true():
            assert time.monotonic() < end, f"not within {timeout} s"
            time.sleep(0.02)

    def settled(self, act: Callable[[], object]) -> None:
        """Do it, and wait until the list was made anew."""
        before = self.js("document.querySelector('.status').dataset.done")
        act()
        self.until(lambda: self.js("document.querySelector('.status').dataset.done") != before)

    def search(self, words: str) -> None:
        """Type into the search box."""
        box = self.one("#query")
        self.settled(lambda: (box.clear(), box.send_keys(words)))

    def opened(self) -> str:
        """The title of the sample that is open, empty where none is."""
        said: str = self.js(
            "(document.querySelector('.detail:not([hidden]) h3') || {}).textContent"
        )
        return said or ""

    def complaints(self) -> list[str]:
        """What the console says, of any level."""
        return [entry["message"] for entry in self.driver.get_log("browser")]
