"""Every verb stands at its place, and answers there what it answers in the process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mnemic.adapters.http.application import ELSEWHERE
from mnemic.adapters.http.routes import routes
from mnemic.adapters.stores.sqlite import SQLiteStore
from tests.adapters.http.doors import door
from tests.adapters.http.walks import WALK


def test_the_walk_passes_every_verb() -> None:
    assert {step.verb for step in WALK} == set(routes()) - ELSEWHERE


def test_every_verb_can_be_asked(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "walk.db", synchronous="normal")
    kept: dict[str, Any] = {}
    session: dict[str, str] = {}
    with door(tmp_path, store=store, embedder=None) as opened:
        for step in WALK:
            method, path, body = step.request(kept, space="notes")
            answer = opened.ask(method, path, by="root", json=body, headers=session)
            assert answer.status_code == routes()[step.verb].status, (step.verb, answer.text)
            document = answer.json()
            kept |= step.kept(document)
            if step.verb == "start_session":
                session["mnemic-session"] = document["session_id"]
            if step.verb == "end_session":
                session.clear()
    store.close()
