"""A server over the store of the story, and Chromium, one of each for all tests of a process."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from attrs import frozen

from mnemic.adapters.http.settings import Settings
from tests.adapters.explorer import story
from tests.adapters.http.live_servers import running

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --use-angle=swiftshader "
    "--enable-unsafe-swiftshader"
).split()
"""No network of its own, and WebGL without a graphics card."""
SIZE = {"width": 1280, "height": 860}
PATIENCE_MS = 20_000
SCREENSHOTS = Path(__file__).parents[3] / "build" / "explorer"


@frozen
class Site:
    """The page over a store."""

    url: str
    ids: dict[str, Any]

    def at(self, space: str = "default", **state: object) -> str:
        """Return the address of a state of the page."""
        return f"{self.url}/explore/?{urlencode({'space': space, **state})}"


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Generator[Site]:
    folder = tmp_path_factory.mktemp("explorer")
    ids = story.write(folder / "store.db")
    settings = Settings(open_loopback=True, read_only=True)
    with running(folder, settings, read_only=True) as served:
        yield Site(served.url, ids)


@pytest.fixture(scope="module")
def chromium() -> Generator[Any]:
    """The browser; tests are skipped where there is none.

    Its driver runs an event loop in this thread, so it ends with the module.
    """
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip("there is no Chromium: apt-get install chromium")
    playwright = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=found, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def opened(
    chromium: Any, site: Site, request: pytest.FixtureRequest
) -> Generator[Callable[..., Any]]:
    """Open a page at an address. No page may report an error, or load anything from elsewhere."""
    faults: list[str] = []
    contexts: list[Any] = []

    def console(message: Any) -> None:
        if message.type == "error" and "Failed to load resource" not in message.text:
            faults.append(message.text)

    def request_sent(sent: Any) -> None:
        if not sent.url.startswith((site.url, "blob:", "data:")):
            faults.append(f"a request to {sent.url}")

    def open_page(address: str, **options: Any) -> Any:
        context = chromium.new_context(**{"viewport": SIZE, "accept_downloads": True, **options})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", console)
        page.on("request", request_sent)
        page.goto(address)
        return page

    yield open_page
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    for context in contexts:
        for page in context.pages:
            page.screenshot(path=SCREENSHOTS / f"{request.node.originalname}.png")
        context.close()
    assert faults == []
