"""Cases about reports: how long a page of many samples takes to be made and to be opened."""

import tempfile
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

from pytest_nel.records.whole import whole
from pytest_nel.reports.bundles import find
from pytest_nel.reports.html import HtmlReport
from pytest_nel.reports.rows import table_of
from tests.browser.page import Page, missing, start
from tests.browser.runs import Kind, write_run
from tests.perf.bench import Bench, median
from tests.perf.figures import Figure


def page(bench: Bench) -> Iterator[Figure]:
    """A page of 15,000 attempts of 2 kB; it is open when the list can be used."""
    count = bench.size(15_000, 1_000)
    with tempfile.TemporaryDirectory(prefix="nelspeed-") as name:
        folder = Path(name)
        run = write_run(folder / "run", Kind(count, chars=2000))
        path = folder / "report.html"
        [made], span = bench.interleaved(lambda: _made(run, path))
        megabytes = path.stat().st_size / 1e6
        yield Figure(
            f"page of {count:,} attempts made",
            median(made),
            "s",
            target=10.0,
            adjust="cpu",
            span=span,
            note=f"{megabytes:.1f} MB, answers of 2 kB",
            detail={"seconds": made, "megabytes": megabytes},
        )
        if missing():
            bench.say(f"page: not opened: {missing()}")
            return
        yield from _opened(bench, path, folder / "profile", count)


def _made(run: Path, path: Path) -> float:
    begun = time.process_time()
    found, notes = find([run])
    with whole(path) as file:
        file.writelines(
            HtmlReport().pieces(table_of(found, version=version("pytest-nel"), notes=notes))
        )
    return time.process_time() - begun


def _opened(bench: Bench, path: Path, profile: Path, count: int) -> Iterator[Figure]:
    driver = start(profile)
    try:
        shown = Page(driver, path)

        def moment(name: str) -> float:
            if name == "ready":
                driver.get(path.as_uri())
            shown.until(lambda: shown.js(f"document.documentElement.dataset.{name}"), 60.0)
            return float(shown.js(f"document.documentElement.dataset.{name}")) / 1000

        [ready, texts], span = bench.interleaved(
            lambda: moment("ready"), lambda: moment("texts"), rounds=max(bench.rounds, 3)
        )
    finally:
        driver.quit()
    yield Figure(
        f"page of {count:,} attempts opened",
        median(ready),
        "s",
        target=2.0,
        span=span,
        note=f"all texts after {median(texts):.1f} s; headless Chromium",
        detail={"ready": ready, "texts": texts},
    )
