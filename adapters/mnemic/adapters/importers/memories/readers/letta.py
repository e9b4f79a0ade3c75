"""Letta: agent files (``.af``), and MemFS, a git repository of Markdown, commit by commit."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from shutil import which
from typing import Any, Final

from mnemic.adapters.importers.memories.changes import (
    Forget,
    Found,
    Learn,
    Left,
    Options,
    Revise,
    lesson,
    moment,
)
from mnemic.adapters.importers.memories.json_items import json_items
from mnemic.adapters.importers.memories.texts import FILE_MAX, decoded, front_matter
from mnemic.adapters.importers.messages import message_text
from mnemic.adapters.importers.parsed_items import InputRefused
from mnemic.kernel.decisions.learning import MESSAGE

_ROLES: Final = frozenset({"user", "assistant", "tool", "system"})
_COMMIT: Final = "\x01"
_FIELD: Final = "\x1f"


def read_agent_file(path: Path, _: Options) -> Iterator[Found]:
    """Yield the memory blocks and messages of an agent file."""
    found = False
    for place, block in json_items(path, "blocks.item"):
        found = True
        if not isinstance(block, dict) or not str(block.get("value") or "").strip():
            yield Left(place=place, what="memory block", why="it is empty")
            continue
        key, label = str(block.get("id") or place), str(block.get("label") or "")
        about = {"source_id": key, "description": block.get("description")}
        yield Learn(
            place=place,
            key=key,
            at=None,
            lesson=lesson(
                block["value"],
                category="core-memory",
                thread=label,
                tags=[f"letta/{label}"] if label else None,
                metadata=about,
            ),
        )
    for place, agent in json_items(path, "agents.item"):
        found = True
        if isinstance(agent, dict):
            yield from _messages(place, agent)
    if not found:
        raise InputRefused(
            f"{path} has neither agents nor blocks", recovery="Name an agent file (.af) of Letta."
        )
    for name in ("files", "sources", "tools", "mcp_servers", "groups"):
        for place, _each in json_items(path, f"{name}.item"):
            yield Left(place=place, what=name, why="it is no memory")


def _messages(place: str, agent: Mapping[str, Any]) -> Iterator[Found]:
    thread = str(agent.get("name") or agent.get("id") or place)
    messages = agent.get("messages")
    for number, each in enumerate(messages if isinstance(messages, list) else (), start=1):
        here = f"{place} message {number}"
        text = message_text(each.get("content")) if isinstance(each, dict) else None
        if not text or not text.strip():
            yield Left(place=here, what="message", why="it has no text")
            continue
        role, key = each.get("role"), str(each.get("id") or here)
        yield Learn(
            place=here,
            key=f"{thread}/{key}",
            at=moment(each.get("created_at")),
            lesson=lesson(
                text,
                category=MESSAGE,
                thread=thread,
                role=role if role in _ROLES else None,
                author=each.get("name"),
                metadata={"message_id": key},
            ),
        )


# --- MemFS --------------------------------------------------------------------------------------


def read_memfs(path: Path, _: Options) -> Iterator[Found]:
    """Yield every change of every Markdown file, in the order of the commits."""
    log = _git(
        path,
        "log",
        "--reverse",
        "--first-parent",
        "-m",
        "--no-renames",
        "--name-status",
        "-z",
        f"--format={_COMMIT}%H{_FIELD}%cI{_FIELD}%an",
        "--",
        "*.md",
    )
    commit, when, author = "", None, ""
    known: set[str] = set()
    fields = iter(log.split("\0"))
    for each in fields:
        word = each.strip("\n")
        if word.startswith(_COMMIT):
            commit, written, author = word[1:].split(_FIELD)
            when = moment(written)
        elif word in {"A", "M", "D", "T"}:
            name = next(fields)
            yield from _changed(path, (commit, when, author), (word, name), known)


def _changed(
    path: Path, of: tuple[str, str | None, str], changed: tuple[str, str], known: set[str]
) -> Iterator[Found]:
    (commit, when, author), (status, name) = of, changed
    place = f"{commit[:10]}:{name}"
    if status == "D":
        if name in known:
            yield Forget(place=place, key=name, at=when, reason=f"deleted in {commit[:10]}")
        known.discard(name)
        return
    size = int(_git(path, "cat-file", "-s", f"{commit}:{name}"))
    if size > FILE_MAX:
        yield Left(place=place, what="version of a file", why="it is too long for a page")
        return
    text = decoded(place, _git_bytes(path, "cat-file", "blob", f"{commit}:{name}"))
    about, body = front_matter(place, text)
    if not body:
        yield Left(place=place, what="version of a file", why="it has no text")
        return
    change = Revise if name in known else Learn
    known.add(name)
    given = lesson(
        body,
        author=author,
        thread=name,
        category="core-memory",
        metadata={"path": name, "description": about.get("description")},
    )
    yield change(place=place, key=name, at=when, lesson=given)


def _git(path: Path, *arguments: str) -> str:
    return _git_bytes(path, *arguments).decode(errors="replace")


def _git_bytes(path: Path, *arguments: str) -> bytes:
    # Only commands that run no program that the repository's own settings name.
    git = which("git")
    if git is None:
        raise InputRefused("git is not installed", recovery="Install git: it reads the commits.")
    ran = subprocess.run(  # noqa: S603 - no shell, and fixed arguments
        [git, "-C", str(path), "-c", "core.fsmonitor=false", "--no-pager", *arguments],
        capture_output=True,
        check=False,
    )
    if ran.returncode:
        detail = ran.stderr.decode(errors="replace").strip()
        raise InputRefused(
            f"git cannot read {path}: {detail}",
            recovery="Name the folder of a git repository with at least one commit.",
        )
    return ran.stdout
