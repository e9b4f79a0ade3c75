"""What becomes of a model's facts: the same endpoint script through mnemic and through mem0.

A local server speaks the protocol of OpenAI's chat completions. Its "model" follows a script: for
each message it finds the facts listed for it, some of which are made up, and says how each relates
to an earlier one, at times wrongly. Both systems get the same messages and the same facts, each in
the format that its own prompt asks for.

    made up and taken in     facts that no message bears out, and that a listing returns
    lost                     true facts that neither the listing nor the history has any more
    outdated and current     facts that were replaced, and that the listing still returns as current
    true and not current     facts that the model wrongly took to be replaced; the history has them
    reconstructed            facts of which it can be told which message and words they rest on

Reading the history counts for both: mem0 keeps one of each memory.

    python benchmarks/extraction.py              mnemic, and mem0 if it is installed
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from threading import Thread
from typing import Any

from attrs import frozen

from mnemic import SyncMemory
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.extractors.chat import ChatExtractor

DIMENSION = 64
EVERYTHING = 1000


@frozen
class Claim:
    """A fact as the scripted model finds it."""

    text: str
    quote: str
    true: bool = True
    replaces: str | None = None
    """Text of the fact that it updates, rightly or wrongly."""
    rightly: bool = True


SCRIPT: tuple[tuple[str, tuple[Claim, ...]], ...] = (
    ("I live in Lisbon and work as a nurse.", (
        Claim("Ines lives in Lisbon", "I live in Lisbon"),
        Claim("Ines works as a nurse", "work as a nurse"),
        Claim("Ines is married to a surgeon", "work as a nurse", true=False),
    )),
    ("I have two cats, and I don't eat fish.", (
        Claim("Ines has two cats", "I have two cats"),
        Claim("Ines does not eat fish", "I don't eat fish"),
        Claim("Ines has 3 dogs", "I have two cats", true=False),
    )),
    ("Do you think I should move to Porto?", (
        Claim("Ines wants to move to Porto", "move to Porto", true=False),
    )),
    ("Good news: I moved to Porto last week.", (
        Claim("Ines moved to Porto", "I moved to Porto", replaces="Ines lives in Lisbon"),
        Claim("Ines moved to Porto in 2019", "I moved to Porto", true=False),
    )),
    ("My brother Rui plays the cello.", (
        Claim("Ines's brother Rui plays the cello", "My brother Rui plays the cello"),
        Claim("Rui is a teacher in Braga", "My brother Rui plays the cello", true=False),
    )),
    ("I don't like opera.", (
        Claim("Ines likes opera", "like opera", true=False),
        Claim("Ines does not like opera", "I don't like opera"),
    )),
    ("I bought a red bicycle.", (
        Claim(
            "Ines bought a red bicycle", "I bought a red bicycle",
            replaces="Ines works as a nurse", rightly=False,
        ),
    )),
    ("My birthday is on 3 March.", (
        Claim("Ines's birthday is on 3 March", "My birthday is on 3 March"),
        Claim("Ines's birthday is on 13 May", "My birthday is on 3 March", true=False),
    )),
    ("Hello again.", (Claim("Ines enjoys sailing at weekends", "Hello again", true=False),)),
)  # fmt: skip


def claims(asked: str) -> list[Claim]:
    """Return the facts that the model finds in the newest message that a prompt contains."""
    found = [(asked.rfind(message), listed) for message, listed in SCRIPT if message in asked]
    return list(max(found)[1]) if found else []


def for_mnemic(material: str) -> dict[str, Any]:
    """Return the answer in the form that mnemic asks for."""
    given = json.loads(material)
    known = [each["content"] for each in given["known"]]
    facts = []
    for place, message in enumerate(given["messages"]):
        for each in next((listed for said, listed in SCRIPT if said == message["content"]), ()):
            other = known.index(each.replaces) if each.replaces in known else None
            facts.append(
                {
                    "text": each.text,
                    "quotes": [{"message": place, "text": each.quote}],
                    "relation": "unrelated" if other is None else "updates",
                    "other": other,
                }
            )
    return {"facts": facts}


def for_mem0(asked: str) -> dict[str, Any]:
    """Return the answer in the form that mem0 asks for: memories to add."""
    section = asked.rpartition("New Messages")[2] or asked
    return {"memory": [{"text": each.text} for each in claims(section)]}


@contextmanager
def endpoint() -> Generator[str]:
    """Run the server, and yield its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.path.endswith("/embeddings"):
                rows = HashEmbedder(DIMENSION).embed(_listed(asked["input"]))
                data = [{"index": n, "embedding": row.tolist()} for n, row in enumerate(rows)]
                return self.reply({"object": "list", "data": data, "model": "hash", "usage": _NONE})
            material = asked["messages"][-1]["content"]
            is_ours = material.startswith('{"messages"')
            answer = for_mnemic(material) if is_ours else for_mem0(material)
            message = {"role": "assistant", "content": json.dumps(answer)}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            return self.reply(
                {
                    "id": "x",
                    "object": "chat.completion",
                    "created": 0,
                    "model": "scripted",
                    "choices": [choice],
                    "usage": _NONE,
                }
            )

        def reply(self, document: object) -> None:
            body = json.dumps(document).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        thread = Thread(target=listening.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.server_address[1]}/v1"
        listening.shutdown()


_NONE = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}


def _listed(given: str | list[str]) -> list[str]:
    return [given] if isinstance(given, str) else given


def report(
    name: str, *, current: Sequence[str], kept: Sequence[str], reconstructed: Sequence[str]
) -> dict[str, Any]:
    """Return the figures of one system.

    Args:
        name: The system.
        current: Texts that a listing returns as current.
        kept: Texts that it has in any form, its history included.
        reconstructed: Texts of which it can be told on which words of which message they rest.
    """
    every = [each for _, listed in SCRIPT for each in listed]
    true = [each.text for each in every if each.true]
    replaced = {each.replaces for each in every if each.replaces and each.rightly}
    return {
        "system": name,
        "made up and taken in": sum(not each.true and each.text in kept for each in every),
        "of made up": sum(not each.true for each in every),
        "lost": sum(text not in kept for text in true),
        "of true": len(true),
        "outdated and current": sum(text in current for text in replaced),
        "true and not current": sum(text not in current and text not in replaced for text in true),
        "current facts": len(current),
        "reconstructed": sum(text in reconstructed for text in kept),
        "of kept": len(kept),
    }


def ours(url: str) -> dict[str, Any]:
    """Put the script through mnemic."""
    chat = ChatExtractor(url, "scripted", api_key="")
    embedder = HashEmbedder(DIMENSION)
    with SyncMemory.open(":memory:", extractor=chat, embedder=embedder) as memory:
        for number, (content, _) in enumerate(SCRIPT):
            at = f"2026-03-{number + 1:02}T09:00:00Z"
            message = {"role": "user", "name": "Ines", "content": content, "created_at": at}
            memory.add([message])
        facts = memory.blocks(category="fact", limit=EVERYTHING).items
        traced = [
            each
            for each in facts
            if all(quote.text for source in memory.sources(each.id) for quote in source.quotes)
            and memory.sources(each.id)
        ]
        result = report(
            "mnemic",
            current=[str(each.content) for each in facts if each.status != "archived"],
            kept=[str(each.content) for each in facts],
            reconstructed=[str(each.content) for each in traced],
        )
        assert memory.verify().sound
    chat.close()
    return result


def theirs(url: str) -> dict[str, Any] | None:
    """Put the script through mem0, if it is installed."""
    os.environ["MEM0_TELEMETRY"] = "False"
    with tempfile.TemporaryDirectory() as folder:
        os.environ["MEM0_DIR"] = folder
        try:
            memory_class = import_module("mem0").Memory
        except ImportError:
            return None
        key = {"api_key": "none", "openai_base_url": url}
        place = {"path": str(Path(folder) / "qdrant"), "embedding_model_dims": DIMENSION}
        memory: Any = memory_class.from_config(
            {
                "llm": {"provider": "openai", "config": {"model": "scripted", **key}},
                "embedder": {
                    "provider": "openai",
                    "config": {"model": "hash", "embedding_dims": DIMENSION, **key},
                },
                "vector_store": {"provider": "qdrant", "config": place},
                "history_db_path": str(Path(folder) / "history.db"),
            }
        )
        for content, _ in SCRIPT:
            message = {"role": "user", "name": "Ines", "content": content}
            memory.add([message], user_id="ines", infer=True)
        found = memory.get_all(filters={"user_id": "ines"}, top_k=EVERYTHING)["results"]
        history = [
            text
            for each in found
            for entry in memory.history(each["id"])
            for text in (entry.get("old_memory"), entry.get("new_memory"))
            if text
        ]
        quoting = [each for each in found if "quote" in str(each.get("metadata"))]
        return report(
            f"mem0 {version('mem0ai')} (infer=True)",
            current=[each["memory"] for each in found],
            kept=list(dict.fromkeys([*(each["memory"] for each in found), *history])),
            reconstructed=[each["memory"] for each in quoting],
        )


def main() -> None:
    """Print a line per figure and system."""
    with endpoint() as url:
        results = [ours(url), theirs(url)]
    for result in results:
        if result is None:
            print("mem0 is not installed: pip install mem0ai", file=sys.stderr)
            continue
        print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
