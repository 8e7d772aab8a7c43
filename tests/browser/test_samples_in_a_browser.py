"""The page in a real browser: filters, search, samples, repeats, flips, keys."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.page import Page
from tests.browser.runs import TOPICS, Kind, hostile_run, write_run

Show = Callable[..., Page]
ESCAPE = "\ue00c"
SECOND, REPEATED = "0", "1"  # places of the benchmarks, which are in the order of their names


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two benchmarks, one with repeats."""
    kinds = Kind(40, repeats=3, unscored=0.05), Kind(30, name="second")
    return write_run(tmp_path_factory.mktemp("runs") / "run", *kinds)


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, with other answers."""
    kinds = Kind(40, repeats=3, seed=9, skill=0.8), Kind(30, seed=9, name="second", skill=0.5)
    return write_run(tmp_path_factory.mktemp("runs") / "before", *kinds)


def status(page: Page) -> str:
    said: str = page.one(".status").text
    return said


def choose(page: Page, selector: str, value: str) -> None:
    option = page.one(f"{selector} option[value={value!r}]")
    page.settled(option.click)


def test_it_opens_without_a_complaint(show: Show, run: Path) -> None:
    page = show(run)

    page.until(lambda: page.js("document.documentElement.dataset.texts"))

    assert page.complaints() == []
    assert status(page) == "150 of 150"
    assert page.texts("h1") == ["Evaluation report: qwen-7b-bf16"]


def test_it_asks_for_nothing_else(show: Show, run: Path) -> None:
    page = show(run)

    assert page.js("performance.getEntriesByType('resource').map((one) => one.name)") == []


def test_outcome_benchmark_and_category_filter(show: Show, run: Path) -> None:
    page = show(run)
    every = int(page.one("[data-kind=wrong]").text.split()[1])

    page.settled(page.one("[data-kind=wrong]").click)
    wrong = status(page)
    choose(page, "#set", SECOND)
    choose(page, "#category", TOPICS[0])

    assert wrong == f"{every} of 150"
    shown = page.texts(".row .mark")
    assert shown
    assert set(shown) == {"wrong"}
    assert all(text.startswith("second") for text in page.texts(".row span:nth-child(2)"))
    assert set(page.texts(".row .soft.wide:nth-child(8)")) == {TOPICS[0]}
    assert page.complaints() == []


def test_counts_of_outcomes_follow_the_other_filters(show: Show, run: Path) -> None:
    page = show(run)

    choose(page, "#set", SECOND)

    counts = [int(text.split()[1]) for text in page.texts("[data-kind]")]
    assert sum(counts) == 30


def test_search_finds_text_in_the_chosen_field(show: Show, run: Path) -> None:
    page = show(run)

    page.search("UPSTREAM CONNECT")  # an error is no answer
    nowhere = status(page)
    page.search("not certain about")
    everywhere = int(status(page).split()[0])
    choose(page, "#field", "prompt")
    in_prompts = status(page)

    assert nowhere == "0 of 150"
    assert page.texts(".empty") == ["Nothing matches."]
    assert everywhere == int(page.texts("[data-kind=unparsed]")[0].split()[1])
    assert in_prompts == "0 of 150"


def test_what_was_searched_for_is_marked(show: Show, run: Path) -> None:
    page = show(run)

    page.search("boxes")
    page.one("body").click()
    page.keys(ESCAPE)
    page.one(".row").click()
    page.until(page.opened)

    assert page.texts(".detail pre.prompt mark") == ["boxes"]


def test_rows_are_sorted_by_a_click_on_a_column(show: Show, run: Path) -> None:
    page = show(run)

    def numbers() -> list[int]:
        cells = page.texts(".row span:nth-child(10)")
        return [int(text.replace(",", "")) for text in cells if text]

    page.settled(page.one("[data-column=tokens]").click)
    up = numbers()
    page.settled(page.one("[data-column=tokens]").click)
    down = numbers()

    assert up == sorted(up)
    assert down == sorted(down, reverse=True)
    assert up[0] < down[0]


def test_a_click_shows_a_problem_with_its_repeats_side_by_side(show: Show, run: Path) -> None:
    page = show(run)
    choose(page, "#set", REPEATED)

    page.all(".row")[1].click()
    page.until(page.opened)

    assert page.texts(".side header b") == ["repeat 0", "repeat 1", "repeat 2"]
    assert page.texts(".side.here header b") == ["repeat 1"]
    assert "boxes, each of which holds" in page.texts(".detail pre.prompt")[0]
    lefts = [side.rect["x"] for side in page.all(".side")]
    assert lefts == sorted(set(lefts))
    assert len({side.rect["y"] for side in page.all(".side")}) == 1


def test_only_problems_whose_repeats_disagree(show: Show, run: Path) -> None:
    page = show(run)

    page.settled(page.one("#disagree").click)
    page.one(".row").click()
    page.until(page.opened)

    assert len(set(page.texts(".side header .mark"))) > 1


def test_keys_walk_through_the_list(show: Show, run: Path) -> None:
    page = show(run)

    page.keys("j")
    page.until(page.opened)
    first = page.opened()
    page.keys("jjj")
    page.until(lambda: page.opened() != first)
    place = page.js("document.querySelector('.row[aria-selected=true]').dataset.place")
    page.keys("/")
    focused = page.js("document.activeElement.id")
    page.one("#query").send_keys("j", ESCAPE)
    page.keys(ESCAPE)

    assert (place, focused, page.opened()) == ("3", "query", "")
    assert page.one("#query").get_attribute("value") == "j"


def test_a_sample_has_an_address(show: Show, run: Path) -> None:
    page = show(run)
    page.all(".row")[2].click()
    page.until(page.opened)
    title, address = page.opened(), page.driver.current_url

    page.driver.get("about:blank")
    page.driver.get(address)
    page.until(page.opened)

    assert "#sample-" in address
    assert page.opened() == title


def test_a_failure_leads_to_its_sample(show: Show, run: Path) -> None:
    """Of a benchmark that lost attempts these come first, before answers in another format."""
    page = show(run)

    page.one(f"button.open[data-set={REPEATED!r}]").click()
    page.until(page.opened)

    assert "HTTP 503" in "".join(page.texts(".side pre"))
    assert "unscored" in page.texts(".side.here .mark")


def test_changed_attempts_stand_side_by_side(show: Show, run: Path, before: Path) -> None:
    page = show(run, "--baseline", before)

    page.settled(page.one("#tab-flips").click)
    page.settled(page.one("[data-kind=regression]").click)
    page.one(".row").click()
    page.until(page.opened)

    assert set(page.texts(".row .mark")) == {"regression"}
    titles = [title.partition(",")[0] for title in page.texts(".side header b")]
    assert titles == ["baseline", "candidate"]
    first, second = page.texts(".side header .mark")
    assert first == "correct"
    assert second != "correct"
    assert page.complaints() == []


def test_flips_are_those_of_the_table(show: Show, run: Path, before: Path) -> None:
    page = show(run, "--baseline", before)

    page.settled(page.one("#tab-flips").click)

    cells = page.texts("#flips tbody tr td:nth-child(3), #flips tbody tr td:nth-child(4)")
    listed = [int(text.split()[1]) for text in page.texts("[data-kind]")]
    assert sum(map(int, cells)) == sum(listed) > 0


EVIL = (
    "</script><script>window.hit=1</script><img src=x onerror='window.hit=2'>"
    "<svg onload='window.hit=3'><!--<script>\u2028&lt;b&gt;"
)


def test_nothing_that_others_wrote_can_run(show: Show, tmp_path: Path) -> None:
    page = show(hostile_run(tmp_path / "run", EVIL))

    page.keys("j")
    page.until(page.opened)
    page.search("onerror")
    page.one("body").send_keys(ESCAPE)
    page.one(".row").click()
    page.driver.execute_script("document.querySelectorAll('details').forEach((d) => d.open = true)")

    assert page.js("window.hit") is None
    assert page.all("img, .detail script, main script, svg[onload]") == []
    assert page.complaints() == []
    assert status(page) == "24 of 24"
    assert EVIL in page.texts(".side pre")


def test_the_policy_stops_what_would_be_planted(show: Show, run: Path) -> None:
    """Even where something were not escaped."""
    page = show(run)

    page.driver.execute_script(
        "document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.hit=1\">');"
        "const made = document.createElement('script'); made.textContent = 'window.hit=2';"
        "document.body.append(made);"
    )

    page.until(lambda: len(page.complaints()) > 0)
    assert page.js("window.hit") is None


@pytest.fixture
def narrow(browser: Any) -> Any:
    """A telephone."""
    metrics = {"width": 400, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    yield browser
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.usefixtures("narrow")
def test_on_a_telephone_nothing_sticks_out(show: Show, run: Path, before: Path) -> None:
    page = show(run, "--baseline", before)

    width = page.js("document.documentElement.scrollWidth")
    page.driver.execute_script("document.querySelector('.row').click()")
    page.until(page.opened)

    assert width == 400
    assert page.one(".detail").rect["width"] == 400
    page.one(".detail button[aria-label^=Close]").click()
    assert page.opened() == ""


def test_the_theme_can_be_changed(show: Show, run: Path) -> None:
    page = show(run)

    def colour() -> str:
        said: str = page.js("getComputedStyle(document.body).backgroundColor")
        return said

    before = colour()
    page.one("#theme").click()

    assert colour() != before
