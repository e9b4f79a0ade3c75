"""Every operation has a route, and returns there what it returns in the process."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Any

from mnemic.adapters.http.application import ELSEWHERE
from mnemic.adapters.http.routing.routes import routes
from mnemic.adapters.stores.sqlite import SQLiteStore
from tests.adapters.http.interfaces import interface
from tests.adapters.http.operation_walk import WALK, Step, judged


def test_the_walk_covers_every_operation() -> None:
    assert {step.operation for step in WALK} == set(routes()) - ELSEWHERE


def prepared(step: Step) -> tuple[Step, ...]:
    """Return the steps that *step* needs, which only this walk takes, and the step itself."""
    # So many, outside of a session, that they do for tune too.
    few = (1.0, *(0.0,) * 5)
    return (*judged(*few * 10), step) if step.operation == "calibrate" else (step,)


def test_every_operation_can_be_called(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "walk.db", synchronous="normal")
    kept: dict[str, Any] = {}
    session: dict[str, str] = {}
    with interface(tmp_path, store=store, embedder=None) as opened:
        for step in chain.from_iterable(map(prepared, WALK)):
            method, path, body = step.request(kept, space="notes")
            answer = opened.ask(method, path, by="root", json=body, headers=session)
            assert answer.status_code == routes()[step.operation].status, (
                step.operation,
                answer.text,
            )
            document = answer.json()
            kept |= step.kept(document)
            if step.operation == "start_session":
                session["mnemic-session"] = document["session_id"]
            if step.operation == "end_session":
                session.clear()
    store.close()
