"""The reference memory server of the Model Context Protocol, over its pipes."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from peers.port import (
    TOP_K,
    Item,
    Peer,
    Unfit,
    Vectors,
)

from mnemic.projections.lexical.analysis import terms

PACKAGE = "@modelcontextprotocol/server-memory"
WORD = re.compile(r"\w+")


class ServerMemory(Peer):
    """One entity for each item, its words as the only observation."""

    name: ClassVar[str] = "MCP server-memory"
    npm: ClassVar[str] = f"{PACKAGE}@2026.8.31"
    search: ClassVar[str] = "substring: the whole question"
    durability: ClassVar[str] = "the process"
    note: ClassVar[str] = (
        "an entity for each item; what is found comes in order of creation. The file is read for "
        "every call, and written anew as a whole"
    )

    def __init__(self, folder: Path, vectors: Vectors) -> None:
        """Start the server and shake hands.

        Raises:
            Unfit: There is no node, or the package is not where ``--install`` puts it.
        """
        super().__init__(folder, vectors)
        node, script = shutil.which("node"), _package() / "dist" / "index.js"
        if node is None or not script.is_file():
            raise Unfit("needs node and its npm package")
        self._server = subprocess.Popen(  # noqa: S603 - what was installed for this
            [node, str(script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"MEMORY_FILE_PATH": str(folder / "memory.jsonl")},
        )
        self._number = 0
        who = {"name": "peers", "version": "1"}
        self._request("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=who)
        self._send({"method": "notifications/initialized"})

    @classmethod
    def release(cls) -> str:
        """Return the version that npm installed."""
        found: str = json.loads((_package() / "package.json").read_bytes())["version"]
        return found

    def write(self, item: Item) -> None:
        """Create one entity."""
        self.write_many([item])

    def write_many(self, items: Sequence[Item]) -> None:
        """Create all entities with one call."""
        entities = [
            {"name": item.id, "entityType": "message", "observations": [item.line]}
            for item in items
        ]
        self._call("create_entities", entities=entities)

    def ask(self, question: str) -> list[str]:
        """Search nodes; they come in order of creation."""
        found = self._call("search_nodes", query=question)["structuredContent"]["entities"]
        return [entity["name"] for entity in found[:TOP_K]]

    def close(self) -> None:
        """Stop the server."""
        self._server.communicate()

    def children(self) -> list[int]:
        """Return the process id of the server."""
        return [self._server.pid]

    def _call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        return self._request("tools/call", name=tool, arguments=arguments)

    def _request(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        assert self._server.stdout is not None
        for line in self._server.stdout:
            message = json.loads(line)
            if message.get("id") == self._number:
                result: dict[str, Any] = message["result"]
                return result
        raise Unfit("the server went away")

    def _send(self, message: dict[str, Any]) -> None:
        assert self._server.stdin is not None
        self._server.stdin.write(json.dumps({"jsonrpc": "2.0"} | message).encode() + b"\n")
        self._server.stdin.flush()


class WordByWord(ServerMemory):
    """The same, queried like by a model that tries one word after the other."""

    name: ClassVar[str] = "MCP server-memory, by words"
    home: ClassVar[str] = "server-memory"
    search: ClassVar[str] = "substring: each word"
    note: ClassVar[str] = (
        "one search for each content word, most of them first: our guess at what a model makes "
        "of it. Times are for all searches of a question"
    )

    def ask(self, question: str) -> list[str]:
        """Search for each content word, and rank first the entities with most of them."""
        words = [word for word in WORD.findall(question) if terms(word)]
        hits: Counter[str] = Counter()
        for word in dict.fromkeys(words):
            found = self._call("search_nodes", query=word)["structuredContent"]["entities"]
            hits.update(entity["name"] for entity in found)
        return [name for name, _ in hits.most_common(TOP_K)]


def _package() -> Path:
    return Path(os.environ.get("PEER_HOME", ".")) / "node_modules" / PACKAGE
