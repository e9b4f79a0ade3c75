"""Smoke test of an installation, run by its own interpreter outside of the checkout.

It uses what the wheel brings and nothing else: the library, the command, the data files. ``make
smoke`` runs it with a wheel, and with a wheel that pip made from the source distribution, each in
an environment of its own; ``test_wheel`` with both in a folder, under ``python -S``.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import mnemic
from mnemic import SyncMemory

LIMIT_S = 60.0
"""For one command."""
INSTALLED = Path(mnemic.__file__).parents[1]
"""The folder that it was installed into."""


def command(folder: Path, *words: str) -> str:
    """Return what the installed command prints."""
    program = [str(Path(sys.executable).with_name("mnemic"))]
    if sys.flags.no_site:
        program = [sys.executable, "-S", str(INSTALLED / "bin" / "mnemic")]
    done = subprocess.run(
        [*program, *words], capture_output=True, check=True, cwd=folder, timeout=LIMIT_S
    )
    return done.stdout.decode()


def main() -> None:
    """Check the installation.

    Raises:
        AssertionError: Something of it is missing or comes from elsewhere.
    """
    assert [*mnemic.__path__] == [str(INSTALLED / "mnemic")], mnemic.__path__  # no checkout
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with SyncMemory.open(folder / "memory.db") as memory:
            learned = memory.learn("Ines moved the demo to Thursday.")
            answer = memory.recall("When is the demo?")
            assert [block.id for block in answer.blocks] == [learned.block_id]
            assert answer.decision_id is not None
            assert memory.replay(answer.decision_id).outcome == "reproduced"
            assert memory.guide("recall").when
        assert command(folder, "--version").strip() == version("mnemic")
        assert "Thursday" in command(folder, "recall", "When is the demo?")
        assert '"sound": true' in command(folder, "verify", "--json")
        assert "learn" in command(folder, "--help")
    sys.stdout.write(f"mnemic {version('mnemic')} works in {INSTALLED}\n")


if __name__ == "__main__":
    main()
