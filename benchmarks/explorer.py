"""Measures the explorer in a real Chromium, on a long history; or takes the pictures of the docs.

The life of ``synthetic_life.py`` with a million events has 100,000 blocks and 10,000 decisions. It
is served by ``mnemic explore``, as anyone would; a checkpoint is made first, since a space that is
used has one. Chromium opens the page, once while the server loads the space and once more; then a
decision, and steps with the arrow keys, event by event, from the moment that it read. A step is
timed in the page, from the key to the frame in which the answer at that version is drawn. On a
machine with other work that measures the others too, so the processor time of server and page is
shown beside it. Then all panes are opened.

    python benchmarks/explorer.py [--file STORE] [--events 1000000]
    python benchmarks/explorer.py --pictures   # docs/pictures, of the two-week example

Building the life takes many minutes; with ``--file`` it is kept there. Chromium has to be
installed; playwright is among the extras ``dev``.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles
from typing import Any
from urllib.parse import urlencode

import synthetic_life
from pages import machine
from playwright.sync_api import Browser, CDPSession, Page, Response, sync_playwright
from replay import Found

from mnemic.adapters.inprocess import SyncMemory

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"
EVENTS = 1_000_000
STEPS = 60
WARM_UP = 5
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --use-angle=swiftshader "
    "--enable-unsafe-swiftshader --enable-precise-memory-info"
).split()
SIZE: Any = {"width": 1280, "height": 860}
PATIENCE_MS = 300_000

# When the first decision was drawn, in milliseconds from the navigation.
WATCH = """
const seen = new MutationObserver(() => {
  if (document.querySelector('.decision')) {
    requestAnimationFrame(() => { window.firstDecisions = performance.now(); });
    seen.disconnect();
  }
});
seen.observe(document, {childList: true, subtree: true});
"""
# One step of the scrubber: from the key to the frame that shows the answer at the next version.
STEP = """async key => {
  const before = Number(document.querySelector('.track').getAttribute('aria-valuenow'));
  const wanted = before + (key === 'ArrowRight' ? 1 : -1);
  const start = performance.now();
  document.body.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}));
  for (;;) {
    await new Promise(requestAnimationFrame);
    const now = document.querySelector('.moment-note.other b');
    if (performance.now() - start > 30_000) throw new Error('a step was never drawn');
    const drawn = now && Number(now.textContent) === wanted;
    if (drawn && !document.querySelector('#pane .stale, #pane .waiting')) break;
  }
  return performance.now() - start;
}"""


@contextmanager
def exploring(store: Path, *options: str) -> Generator[tuple[str, int]]:
    """Run ``mnemic explore`` on a store, and yield the address of the page and its process."""
    program = str(Path(sys.executable).with_name("mnemic"))
    command = [program, "--json", "--db", str(store), "explore", "--no-browser", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:  # noqa: S603
        assert child.stdout is not None
        try:
            yield json.loads(child.stdout.readline())["url"], child.pid
        finally:
            child.terminate()


@contextmanager
def chromium() -> Generator[Browser]:
    """Run the browser of the system."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        sys.exit("there is no Chromium: apt-get install chromium")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=found, args=FLAGS)
        yield browser
        browser.close()


def prepare(store: Path, events: int) -> tuple[int, int]:
    """Build the life if there is none, make a checkpoint, and return blocks and events."""
    if not store.exists():
        synthetic_life.live(store, events, range(synthetic_life.session_count(events)))
    with SyncMemory.open(store, embedder=synthetic_life.embedder()) as memory:
        if not any(each.state == "valid" for each in memory.checkpoints()):
            memory.checkpoint()
        status = memory.status()
    return status.active + status.archived + status.inbox, status.version + 1


def measure(base: str, server: int) -> list[Found]:
    """Open the page, step through the log, and open all panes."""
    largest: list[tuple[int, str]] = []

    def note(response: Response) -> None:
        largest.append((int(response.headers.get("content-length", "0")), response.url))

    with chromium() as browser:
        paints = [_first_decisions(browser, base, note) for _ in range(4)]
        page = _page(browser, note)
        page.goto(base)
        page.locator(".decision").first.click()
        page.locator("#pane .blocks > li").first.wait_for()
        for _ in range(WARM_UP):
            page.evaluate(STEP, "ArrowRight")
        pages = _renderers(browser)
        spent = _processor_ms(server), sum(map(_processor_ms, pages))
        timed: list[float] = [page.evaluate(STEP, "ArrowRight") for _ in range(STEPS)]
        spent = _processor_ms(server) - spent[0], sum(map(_processor_ms, pages)) - spent[1]
        for place in ("2", "4", "5", "1"):
            page.keyboard.press(place)
            _quiet(page)
        page.locator("#pane button.block").first.click()
        _quiet(page)
        page.get_by_role("button", name="Open the block").first.click()
        _quiet(page)
        heap, private = _memory(browser, page)
    size, where = max(largest)
    print(f"largest answer: {size:,} bytes, {where.partition('/v1/')[2][:80]}")
    late = quantiles(timed, n=20)[-1]
    return [
        Found(what="first decisions, while the space loads", value=paints[0] / 1e3, unit="s"),
        Found(what="first decisions", value=median(paints[1:]) / 1e3, unit="s", limit=1),
        Found(what="a step, median", value=median(timed), unit="ms"),
        Found(what="a step, 95th percentile", value=late, unit="ms", limit=150),
        Found(what="its processor time, server", value=spent[0] / STEPS, unit="ms"),
        Found(what="its processor time, page", value=spent[1] / STEPS, unit="ms"),
        Found(what="heap of the page's scripts", value=heap / 1e6, unit="MB", limit=200),
        Found(what="private memory of its process", value=private / 1e6, unit="MB", limit=200),
        Found(what="largest answer", value=size / 1e3, unit="kB", limit=250),
    ]


def _page(browser: Browser, note: Any) -> Page:
    page = browser.new_context(viewport=SIZE).new_page()
    page.set_default_timeout(PATIENCE_MS)
    page.add_init_script(WATCH)
    page.on("response", note)
    return page


def _first_decisions(browser: Browser, base: str, note: Any) -> float:
    """Return how long a new page takes to show decisions, in milliseconds."""
    page = _page(browser, note)
    page.goto(base)
    page.locator(".decision").first.wait_for()
    page.wait_for_timeout(200)
    found: float = page.evaluate("() => window.firstDecisions")
    page.context.close()
    return found


def _quiet(page: Page) -> None:
    """Wait until nothing is computed any more."""
    page.wait_for_timeout(100)
    while page.evaluate(
        "() => document.querySelector('#app').getAttribute('aria-busy') === 'true'"
    ):
        page.wait_for_timeout(50)


def _memory(browser: Browser, page: Page) -> tuple[float, float]:
    """Return the heap of the page's scripts and the private memory of its process, in bytes."""
    session: CDPSession = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    session.send("Performance.enable")
    metrics = session.send("Performance.getMetrics")["metrics"]
    heap = next(each["value"] for each in metrics if each["name"] == "JSHeapUsedSize")
    return heap, max(map(_private, _renderers(browser)))


def _renderers(browser: Browser) -> list[int]:
    """Return the processes of the pages, spare ones included."""
    processes = browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
    return [each["id"] for each in processes if each["type"] == "renderer"]


def _processor_ms(process: int) -> float:
    """Return the processor time that a process has used so far, all threads."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1e3 / os.sysconf("SC_CLK_TCK")


def _private(process: int) -> float:
    lines = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="ascii").splitlines()
    return 1024 * sum(int(line.split()[1]) for line in lines if line.startswith("Private_"))


def pictures() -> None:
    """Take the pictures of the documentation."""
    moments = {
        "explorer-decision": {"decision": "d43", "at": 120},
        "explorer-compare": {"decision": "d43", "at": 42, "pane": "compare"},
    }
    with exploring(ROOT / "unused.db", "--demo") as (base, _), chromium() as browser:
        for name, state in moments.items():
            page = browser.new_context(viewport=SIZE).new_page()
            page.goto(f"{base}&{urlencode(state)}")
            page.locator("#pane .rank").first.wait_for()
            _quiet(page)
            page.screenshot(path=PICTURES / f"{name}.png")


def main(argv: list[str] | None = None) -> int:
    """Measure, print, and return the exit code: 0 if every limit is kept."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--file", type=Path, help="keep the space here, and use what is there")
    parser.add_argument("--events", type=int, default=EVENTS)
    parser.add_argument("--pictures", action="store_true", help="take the pictures of the docs")
    options = parser.parse_args(argv)
    if options.pictures:
        pictures()
        return 0
    with tempfile.TemporaryDirectory() as folder:
        store = options.file or Path(folder) / "life.db"
        blocks, events = prepare(store, options.events)
        print(f"{machine()}\n{blocks:,} blocks, {events:,} events")
        with exploring(store) as (base, server):
            found = measure(base, server)
    for each in found:
        print(f"{each.what:<42} {each.value:>9.3f} {each.unit:<3} {each.goal}")
    return int(any(each.missed for each in found))


if __name__ == "__main__":
    sys.exit(main())
