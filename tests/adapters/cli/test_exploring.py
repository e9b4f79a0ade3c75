from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path

import httpx
import pytest

from mnemic.adapters.cli import main
from mnemic.adapters.cli.invocation.context import Invocation
from mnemic.adapters.cli.invocation.failures import Exit
from mnemic.adapters.cli.serving import explore
from mnemic.adapters.inprocess import SyncMemory
from mnemic.kernel.errors import Unavailable

pytestmark = pytest.mark.extended

PROGRAM = "import sys; from mnemic.adapters.cli import main; sys.exit(main())"


@contextmanager
def exploring(store: Path, *options: str) -> Generator[str]:
    """Run ``mnemic explore`` in a process of its own, and yield the address of the page."""
    command = [sys.executable, "-c", PROGRAM, "--json", "--db", str(store)]
    with subprocess.Popen(
        [*command, "explore", *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        try:
            yield json.loads(child.stdout.readline())["url"]
        finally:
            child.send_signal(signal.SIGINT)
            assert child.wait(30) == Exit.OK


@pytest.fixture
def store(tmp_path: Path) -> Path:
    with SyncMemory.open(tmp_path / "agent.db") as memory:
        memory.learn("The boat leaves at nine.")
    return tmp_path / "agent.db"


def test_it_serves_the_page_and_reads_only(store: Path) -> None:
    with exploring(store) as address:
        page, _, query = address.partition("?")
        assert query == "space=default"
        assert httpx.get(address).text.startswith("<!doctype html>")
        base = page.removesuffix("explore/") + "v1/spaces/default"
        assert httpx.get(base).json()["inbox"] == 1
        refused = httpx.post(f"{base}/blocks", json={"content": "The boat is late."})
        assert refused.json()["code"] == "view-read-only"
    with SyncMemory.open(store, read_only=True) as memory:
        assert memory.status().version == 2


def test_with_write_programs_of_this_machine_may_write(store: Path) -> None:
    with exploring(store, "--write") as address:
        base = address.partition("explore/")[0] + "v1/spaces/default"
        made = httpx.post(f"{base}/blocks", json={"content": "The boat is late."})
        assert made.status_code == 201


def test_a_missing_store_and_an_open_address_are_refused(store: Path, tmp_path: Path) -> None:
    assert main(["--db", str(tmp_path / "none.db"), "explore"]) != Exit.OK
    assert not (tmp_path / "none.db").exists()
    assert main(["--db", str(store), "explore", "--host", "0.0.0.0"]) == Exit.REFUSED  # noqa: S104


def test_the_demo_is_built_once(tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    shutil.copytree(Path(__file__).parents[3] / "examples", clone / "examples")
    run = Invocation(path="none.db", space="default")
    run.err.file = said = StringIO()
    store = explore.demo_store(run, clone)
    assert "Building the two-week example" in said.getvalue()
    with SyncMemory.open(store, read_only=True) as memory:
        assert memory.status().decisions > 0
    assert {each.name.partition(".")[0] for each in store.parent.iterdir()} == {store.stem}
    written = store.stat().st_mtime_ns
    assert explore.demo_store(run, clone).stat().st_mtime_ns == written


def test_a_demo_that_fails_or_is_not_there_is_refused(tmp_path: Path) -> None:
    run = Invocation(path="none.db", space="default")
    with pytest.raises(Unavailable, match="part of a clone"):
        explore.demo_store(run, tmp_path)
    (tmp_path / "examples").mkdir()
    (tmp_path / "examples" / "fortnight.py").write_text("raise SystemExit('no diary')")
    with pytest.raises(Unavailable, match="no diary"):
        explore.demo_store(run, tmp_path)
    assert list((tmp_path / "build" / "demo").iterdir()) == []
