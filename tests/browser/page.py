"""A report that is open in a browser."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


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
