"""One call of a verb, as it comes in from a wire: looked at, let in, and made on a memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import field, frozen

from mnemic.adapters.embedders.shipped import embedder_named
from mnemic.adapters.inprocess.memory import Memory
from mnemic.adapters.inprocess.snapshot import SyncView
from mnemic.adapters.inprocess.sync import SyncMemory
from mnemic.adapters.wire.documents import arguments_of
from mnemic.adapters.wire.points import view_named
from mnemic.adapters.wire.verbs import Scope, Verb, verbs
from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.ports import Embedder

Progress = Callable[[int, int], None]
"""Called on a worker thread with what is done and what there is to do."""
RECORDERS = frozenset({"recall", "deep_reference"})
"""Verbs that only read where they are told not to record."""


@frozen(kw_only=True)
class Call:
    """A verb with everything that a caller said."""

    verb: str
    arguments: Mapping[str, Any] = field(factory=dict)
    """By name, as they stand in the document."""
    as_of: str | None = None
    """A point of the past in one word; None: now."""
    now: str | None = None
    """For a point of the past: evaluate ages at this instant."""
    command_id: str | None = None

    @property
    def spec(self) -> Verb:
        """What the table says of the verb.

        Raises:
            FieldRefused: There is no such verb.
        """
        found = verbs().get(self.verb)
        if found is None:
            raise FieldRefused(
                f"no verb is called {self.verb!r:.80}",
                recovery=f"Call one of: {', '.join(verbs())}.",
                field="verb",
            )
        return found

    @property
    def scope(self) -> Scope:
        """What a caller has to be allowed for it: a recall that records nothing only reads."""
        unrecorded = self.arguments.get("record") is False
        if self.as_of is not None or (self.verb in RECORDERS and unrecorded):
            return "read"
        if self.verb == "composed_graph" and self.arguments.get("action") != "label":
            return "read"
        return self.spec.scope


async def perform(memory: Memory, call: Call, progress: Progress | None = None) -> Any:
    """Make a call on an async memory. See ``answered``, which runs on its worker thread."""
    return await memory.run(answered, call, progress)


def answered(memory: SyncMemory, call: Call, progress: Progress | None = None) -> Any:
    """Make a call, and return what the verb answers.

    Args:
        memory: Whose verb.
        call: What is called.
        progress: Told how far long work is, on this thread.

    Raises:
        FieldRefused: The arguments are not those of the verb, or it has no view of the past.
        MnemicError: Whatever the verb refuses or fails at.
    """
    verb = call.spec
    if call.as_of is not None:
        view = _view(memory, verb, call)
        return getattr(view, verb.name)(**arguments_of(verb, call.arguments, past=True))
    arguments = arguments_of(verb, call.arguments)
    if call.now is not None:
        raise FieldRefused(
            "now belongs to a point of the past", recovery="Give as_of too.", field="now"
        )
    if verb.name == "policy":
        return memory.policy
    if verb.name == "reembed":
        arguments["embedder"] = _embedder(arguments["embedder"])
    if verb.repeatable:
        arguments["command_id"] = call.command_id
    if verb.long:
        arguments["progress"] = progress
    return getattr(memory, verb.name)(**arguments)


def _view(memory: SyncMemory, verb: Verb, call: Call) -> SyncView:
    if verb.past_parameters is None:
        raise FieldRefused(
            f"{verb.name} is no question to the past",
            recovery="Leave out as_of; what a decision saw is asked by its id.",
            field="as_of",
        )
    return view_named(memory, call.as_of or "", call.now)


def _embedder(name: object) -> Embedder:
    match name:
        case "bundled":
            return embedder_named("bundled")
        case "minilm":
            return embedder_named("minilm")
        case _:
            raise FieldRefused(
                f"no shipped embedder is called {name!r:.40}",
                recovery="Name bundled or minilm; another one has to be adopted by its own host.",
                field="embedder",
            )
