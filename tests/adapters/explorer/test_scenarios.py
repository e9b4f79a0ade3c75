"""The eight points of the explorer, each in a real Chromium."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.adapters.explorer import story
from tests.adapters.explorer.conftest import PATIENCE_MS, Site

pytestmark = pytest.mark.extended

Opened = Callable[..., Any]
SERIOUS = {"serious", "critical"}
PAUSE_MS = 50
QUIET = """() => document.querySelector('#app').getAttribute('aria-busy') === 'false'
    && !document.querySelector('.waiting, .stale')"""
NARROW = {"width": 900, "height": 800}


def state(page: Any) -> dict[str, str]:
    """Return the state of the page, which is its address."""
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}


def until(page: Any, expression: str, argument: object = None) -> None:
    """Wait until a function of JavaScript returns something true.

    The driver's own way evaluates text in the page, which its policy forbids.
    """
    for _ in range(PATIENCE_MS // PAUSE_MS):
        if page.evaluate(expression, argument):
            return
        page.wait_for_timeout(PAUSE_MS)
    raise AssertionError(f"never true: {expression}")


def settled(page: Any) -> Any:
    """Wait until nothing is asked or computed any more, and return the page."""
    page.locator("#pane").wait_for()
    page.wait_for_timeout(PAUSE_MS)  # a question is asked after the page was drawn
    until(page, QUIET)
    return page


def decisions(page: Any) -> list[str]:
    return [each.strip() for each in page.locator(".decision .question").all_inner_texts()]


def test_it_opens_on_the_bad_answer(opened: Opened, site: Site) -> None:
    page = settled(opened(site.at()))
    assert decisions(page)[0] == "What did the crew leave?"
    page.locator("#filter-text").fill("FERRY")
    page.keyboard.press("Enter")
    until(page, "() => document.querySelectorAll('.decision').length === 2")
    assert all("ferry" in each.lower() for each in decisions(page))
    page.get_by_label("Outcome").select_option("bad")
    settled(page)  # what was chosen is drawn, with the words in it
    page.locator("#filter-text").fill("")
    page.keyboard.press("Enter")
    until(page, "() => document.querySelectorAll('.decision').length === 1")

    page.locator(".decision").first.click()
    settled(page)
    assert state(page)["decision"] == site.ids["bad"]
    returned = page.locator(".section", has_text="Returned").locator(".blocks > li")
    assert returned.count() == 2
    assert returned.first.locator(".bar rect").count() >= 2
    near = page.locator(".blocks.near > li")
    assert 1 <= near.count() <= 10
    assert re.search(r"\d\.\d{3} (short|above)", near.first.inner_text())

    returned.first.locator("button.block").click()
    details = page.locator(".details")
    details.get_by_text("block-learned").wait_for()
    settled(page)
    text = details.inner_text()
    assert "written by" in text
    assert "zone trusted" in text
    assert "Edges" in details.inner_text() or "EDGES" in text
    assert "hours old" in text or "hour old" in text

    page.get_by_placeholder("words of the block").fill("crates of twelve")
    found = page.locator(".section", has_text="What is missing?").locator("button.row")
    found.filter(has_text=story.MISSING).click()
    why = page.locator(".why .badge.stage")
    why.wait_for()
    assert why.inner_text() in {"top_k", "min_probability", "candidates"}


def test_an_address_of_an_unknown_space_shows_the_first_one(opened: Opened, site: Site) -> None:
    page = opened(site.at("gone"))
    until(page, "() => document.querySelectorAll('.decision').length > 0")
    settled(page)
    chosen = page.locator("header.top select")
    assert chosen.input_value() == chosen.locator("option").first.inner_text()
    assert not page.locator(".problem").count()


def test_one_scrubber_drives_every_pane(opened: Opened, site: Site) -> None:
    page = settled(opened(site.at()))
    head = int(page.locator(".track").get_attribute("aria-valuenow"))
    page.keyboard.press("ArrowLeft")
    assert state(page)["at"] == str(head - 1)
    page.keyboard.press("ArrowRight")
    assert "at" not in state(page)
    page.keyboard.press("Shift+ArrowLeft")
    second = int(state(page)["at"])
    assert page.locator(".moment .kind").inner_text() or settled(page)
    settled(page)
    assert page.locator(".moment .kind").inner_text() == "session-started"
    page.keyboard.press("Shift+ArrowLeft")
    assert int(state(page)["at"]) < second
    page.keyboard.press("Home")
    settled(page)
    assert page.locator(".moment .kind").inner_text() == "space-opened"
    page.keyboard.press("End")

    page.locator(".decision", has_text="What did the crew leave?").click()
    settled(page)
    read = int(state(page)["at"])
    assert "As it answered" in page.locator("#pane").inner_text()
    page.locator(".decision", has_text=story.QUESTION).first.click()
    settled(page)
    assert story.RULE in page.locator(".blocks").first.inner_text()
    page.keyboard.press("End")
    settled(page)
    # Computed as of then: the revised text, which the recorded answer did not have.
    assert story.REVISED in page.locator(".blocks").first.inner_text()
    page.go_back()  # steps of the scrubber are not in the history of the browser
    settled(page)
    assert int(state(page)["at"]) == read
    again = settled(opened(page.url))
    assert again.locator("#pane").inner_text() == page.locator("#pane").inner_text()

    page.locator(".track svg").hover(position={"x": 2, "y": 20})
    assert "UTC" in page.locator(".tip").inner_text()
    page.goto(site.at(pane="block", block=site.ids["revised"], at=read))
    settled(page)
    assert "Not known yet" in page.locator("#pane").inner_text()


def test_the_same_question_then_now_and_under_another_policy(opened: Opened, site: Site) -> None:
    page = settled(opened(site.at(decision=site.ids["good"], pane="compare")))
    columns = page.locator(".column")
    assert columns.count() == 3
    assert story.RULE in columns.nth(0).inner_text()
    assert story.REVISED in columns.nth(1).inner_text()
    before = columns.nth(2).inner_text()
    run = page.get_by_role("button", name="Run the backtest")
    assert run.is_disabled()
    slider = page.locator(".sliders label", has_text="recency").locator("input")
    slider.fill("1")
    until(page, "before => document.querySelectorAll('.column')[2]?.innerText !== before", before)
    run.click()
    page.locator("table caption", has_text="95 % intervals").wait_for()
    page.locator(".plot canvas").wait_for()
    rows = page.locator("table", has_text="95 % intervals").locator("tbody th").all_inner_texts()
    assert rows == ["recorded", "trial"]
    page.get_by_role("button", name="Show the command").click()
    assert "policy trial.json" in page.get_by_label("Command").inner_text()


def test_the_history_of_a_block_is_a_diff(opened: Opened, site: Site) -> None:
    page = settled(opened(site.at(pane="block", block=site.ids["revised"])))
    change = page.locator(".diff").first
    assert change.locator("ins").all_inner_texts() == ["half past "]
    assert change.locator("del").count() == 0
    pane = page.locator("#pane").inner_text()
    assert "block-superseded" in pane
    page.locator(".plot canvas").wait_for()
    returned = page.locator(".section", has_text="Decisions that returned it").locator("button.row")
    returned.first.click()
    assert state(page)["pane"] == "decision"
    page.goto(site.at(pane="block", block=site.ids["rule"]))
    settled(page)
    assert "archived: superseded" in page.locator("#pane").inner_text()


def test_the_graph_is_that_of_the_moment(opened: Opened, site: Site) -> None:
    page = settled(opened(site.at(pane="graph", block=site.ids["gossip"])))
    page.locator(".graph canvas").first.wait_for()
    edges = page.get_by_role("region", name="Edges").inner_text()
    assert "contradicts" in edges
    assert page.locator(".legend .relation-contradicts").count() == 1
    drawn = int(page.locator(".graph").get_attribute("data-drawn"))
    assert 2 <= drawn <= 60
    page.keyboard.press("Shift+ArrowLeft")
    settled(page)
    assert "contradicts" not in page.locator("#pane").inner_text()


def test_the_ledger_has_lanes_and_the_frontier_reasons(opened: Opened, site: Site) -> None:
    page = settled(opened(site.at(pane="ledger")))
    worked, failed = (page.locator(f".lane.{name}") for name in ("worked", "failed"))
    assert "how to plan a trip" in worked.inner_text()
    assert "dead_end" in failed.inner_text()
    assert page.locator(".frontier li, .empty").count() >= 1
    page.keyboard.press("Home")
    settled(page)
    assert "Nothing was composed by this moment" in page.locator("#pane").inner_text()


def test_code_receipts_and_one_file(opened: Opened, site: Site) -> None:
    page = settled(opened(site.at(decision=site.ids["bad"])))
    for place in range(1, 6):
        page.keyboard.press(str(place))
        settled(page)
        code = page.locator("#pane details.code")
        assert code.count() >= 1 or place == 3
    page.keyboard.press("1")
    page.get_by_role("button", name="Back to what it read").click()
    settled(page)
    code = page.locator("#pane details.code").last
    code.locator("summary").click()
    for name in ("Python", "CLI", "curl"):
        assert site.ids["bad"] in code.get_by_label(f"{name} code").inner_text() or name == "curl"
    page.get_by_role("button", name="Make a receipt").click()
    until(page, "() => document.getElementById('receipt').value.includes('mnemic.receipt')")
    page.get_by_role("button", name="Check it").click()
    page.locator(".note.good", has_text="confirmed").wait_for()
    receipt = json.loads(page.locator("#receipt").input_value())
    page.locator("#receipt").fill(json.dumps({**receipt, "answer_digest": "0" * 16}))
    page.get_by_role("button", name="Check it").click()
    page.locator(".note.bad", has_text="differs").wait_for()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save as HTML").click()
    text = saved.value.path().read_text(encoding="utf-8")
    assert story.GOSSIP in text
    assert "<script" not in text
    assert not re.search(r"(src|href)\s*=", text)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_accessible(opened: Opened, site: Site, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = opened(
        site.at(), color_scheme=scheme, bypass_csp=True, viewport={"width": 900, "height": 800}
    )
    addresses = [
        site.at(decision=site.ids["bad"]),
        site.at(decision=site.ids["good"], pane="compare"),
        site.at(pane="block", block=site.ids["revised"]),
        site.at(pane="graph", block=site.ids["gossip"]),
        site.at(pane="ledger"),
        site.at("sealed", decision=site.ids["sealed"]),
        site.at("empty"),
    ]
    for address in addresses if scheme == "light" else addresses[:3]:
        page.goto(address)
        settled(page)
        found = axe.run(page).response["violations"]
        serious = [each for each in found if each["impact"] in SERIOUS]
        assert [(each["id"], each["nodes"][0]["html"]) for each in serious] == []
        wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0


def test_nothing_that_a_memory_contains_runs_or_breaks_out(opened: Opened, site: Site) -> None:
    decision = site.ids["hostile"]
    page = settled(opened(site.at("hostile", decision=decision)))
    for place in range(page.locator("#pane button.block").count()):
        page.locator("#pane button.block").nth(place).click()
        settled(page)
    pane = page.locator("#pane").inner_text()
    assert "<script>window.broken = 1</script>" in pane
    assert "⟨U+202E⟩" in pane
    assert "\u202e" not in pane
    for other in ("compare", "block", "graph", "ledger"):
        page.goto(site.at("hostile", decision=decision, pane=other))
        settled(page)
    page.goto(site.at("hostile", decision=decision))
    settled(page)
    width = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert width <= 0
    assert page.locator("#app a[href]:not(.skip), #app img, #app iframe, #app script").count() == 0
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save as HTML").click()
    text = saved.value.path().read_text(encoding="utf-8")
    assert "<script" not in text
    assert "<img" not in text
    alone = opened("about:blank")
    alone.set_content(text)
    assert alone.evaluate("window.broken") is None
    page.goto(site.at("hostile", decision=decision))
    settled(page)
    assert page.evaluate("window.broken") is None
    strange = site.at("<img src=x onerror=alert(1)>", decision="d<script>", block="../x", at="9e9")
    page.goto(strange)
    settled(page)
    assert page.locator(".decision").count() >= 1


def test_empty_erased_and_sealed_say_what_they_are(opened: Opened, site: Site) -> None:
    page = settled(opened(site.at("empty")))
    assert "No decision was recorded" in page.locator(".list").inner_text()
    page.goto(site.at("sealed", decision=site.ids["sealed"]))
    settled(page)
    assert "Sealed." in page.locator("#pane").inner_text()
    page.keyboard.press("2")
    settled(page)
    assert "cannot be asked again" in page.locator("#pane").inner_text()
    page.goto(site.at("sealed", pane="block", block=site.ids["erased"]))
    settled(page)
    assert "Text erased" in page.locator("#pane").inner_text()
