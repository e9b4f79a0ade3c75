"""The first screen of help: the commands of every day, and where to find the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from cyclopts.help import HelpPanel
    from rich.console import Console

EVERYDAY: Final[Mapping[str, Mapping[str, str]]] = {
    "Remember": {
        "learn": "put one text into memory",
        "ingest": "learn files and folders: Markdown, text, chats, JSON lines",
        "revise": "replace the text of a block",
        "erase": "destroy the text of blocks for good, in the past too",
    },
    "Ask": {
        "recall": "find what is relevant to a question; --text: for a prompt",
        "outcome": "say how useful an answer was, so that later ones are better",
    },
    "Look": {
        "status": "show counts, the clock, and what is in force",
        "blocks": "list what is in memory",
        "history": "show how a block reached its present state",
    },
    "Look back": {
        "as-of": "ask the memory as it was",
        "replay": "compute a recorded answer again, and compare",
    },
    "Sessions": {"session": "begin, end or list them; active time passes in them only"},
}
"""The commands of every day, each with what it does, by group."""
FOLDED: Final = "Also --db, --space, --session, --json and others: see mnemic help options."
"""What the help of a command says of the options that every command has."""

_BEGINNING: Final = """\
Usage: mnemic COMMAND [OPTIONS]

Memory for AI agents: ask what it knows, what it knew then, and why it said so.
"""
_END: Final = """
mnemic learn "The demo is on Thursday." && mnemic recall "When is the demo?"

mnemic COMMAND --help    one command
mnemic help all          all commands
mnemic help options      --db, --space, --json and others; exit codes
mnemic doctor            if something is wrong"""


def overview() -> str:
    """Return the first screen: at most 24 lines of at most 80 characters."""
    return "\n".join((_BEGINNING, *_everyday(), _END))


def _everyday() -> Iterator[str]:
    for title, commands in EVERYDAY.items():
        for place, (name, does) in enumerate(commands.items()):
            yield f"{'' if place else title:<10} {name:<8} {does}"


def fold(console: Console, _: Any, panel: HelpPanel) -> None:
    """Print one line in place of the panel of the options that every command has."""
    if panel.entries:
        console.print(FOLDED)
