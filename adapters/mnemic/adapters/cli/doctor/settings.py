"""The settings in force: the value of each, and where it comes from."""

from __future__ import annotations

import os
from collections.abc import Iterator

from mnemic.adapters.cli.doctor.findings import About, Finding
from mnemic.adapters.cli.invocation.extractors import key_variable, shown_url
from mnemic.adapters.cli.invocation.opening import actor_of
from mnemic.adapters.cli.invocation.options import VALUED, MemoryOptions, variable

TRACEBACK = "MNEMIC_TRACEBACK"
_ABOUT = About(name="settings")


def settings(run: MemoryOptions) -> Iterator[Finding]:
    """Yield each setting with its value and its origin: option, environment variable or default."""
    for option, value in _values(run).items():
        yield _ABOUT.ok(option.removeprefix("--"), f"{value} ({_origin(run, option)})")
    key = key_variable()
    yield _ABOUT.ok("chat-key", f"set ({key})" if key else "none (default)")
    on = bool(os.environ.get(TRACEBACK))
    yield _ABOUT.ok("traceback", f"on ({TRACEBACK})" if on else "off (default)")


def _values(run: MemoryOptions) -> dict[str, object]:
    """Return the values in force, as a person reads them; no password is among them."""
    chosen: dict[str, object] = {
        "--db": run.store,
        "--keys": run.keys or "none: texts are not encrypted",
        "--space": run.space,
        "--actor": actor_of(run),
        "--session": run.session or "none",
        "--embedder": run.embedder or "that of the space",
        "--tokens": run.counter,
        "--retriever": run.retriever,
        "--chat-url": shown_url(run.chat_url),
        "--chat-model": run.chat_model or "none",
    }
    assert chosen.keys() == VALUED  # noqa: S101 - a new option has to be shown here
    return chosen


def _origin(run: MemoryOptions, option: str) -> str:
    if option in run.given:
        return option
    name = variable(option)
    return name if name in os.environ else "default"
