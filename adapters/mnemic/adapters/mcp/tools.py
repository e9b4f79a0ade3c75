"""The tools: which verbs each holds, and what becomes of a call.

Whatever a client lists stands in the context of its agent, at every step. So the verbs of an
agent's daily work have a tool each, named after them; verbs that look at one thing, or that are
done in one breath, share one and are told apart by ``verb``; the rare ones lie in
``mnemic_upkeep``, where their arguments stand apart and only the guide describes them. Verbs share
a tool only where that leaves its annotations worth something: what only looks never stands beside
what writes, except in that drawer of rare ones. Every verb is reached by exactly one tool; files
of the server's machine are nobody's to name over a wire, so ``export`` and ``import_space`` are
reached by none.

Names of arguments, fields of answers and codes of refusals are those of the verbs, whichever tool
they are in. Beside them stand ``verb``, ``as_of`` and ``now`` (a point of the past, where the verb
can be asked of one) and ``command_id`` (to send a command again, where it writes).
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Any

from attrs import frozen

from mnemic.adapters.wire.calls import Call
from mnemic.adapters.wire.verbs import SCOPES, Scope, Verb, verbs
from mnemic.kernel.errors import FieldRefused

VERB = "verb"
ARGUMENTS = "arguments"
AS_OF = "as_of"
NOW = "now"
COMMAND_ID = "command_id"
UNREACHED = frozenset({"export", "import_space"})
"""What needs a file of the server's machine: for the command line and HTTP."""

Allows = Callable[[Scope], bool]
"""Whether a caller is allowed a scope."""


@frozen(kw_only=True)
class Tool:
    """One tool, before it is known who will call it."""

    name: str
    title: str
    told: str
    """When to use it and when not."""
    verbs: Mapping[str, str]
    """What each of its verbs is for, by name; empty words where ``told`` says it all."""
    nested: bool = False
    """Whether arguments stand in an object of their own."""

    @property
    def is_shared(self) -> bool:
        """Whether several verbs share it, told apart by ``verb``."""
        return len(self.verbs) > 1

    def allowed(self, allows: Allows) -> tuple[Verb, ...]:
        """Return those of its verbs that a caller may use, if need be without leaving a trace."""
        return tuple(verbs()[name] for name in self.verbs if allows(least_scope(name)))

    def call(self, arguments: Mapping[str, Any]) -> Call:
        """Return the call that arguments of this tool stand for; what is null is not given.

        Raises:
            FieldRefused: They name no verb of it, or an envelope is none.
        """
        given = {name: value for name, value in arguments.items() if value is not None}
        verb = self._verb(given)
        as_of, now, command_id = (_word(given, name, verb) for name in (AS_OF, NOW, COMMAND_ID))
        if self.nested:
            given = self._unfolded(given)
        return Call(verb=verb.name, arguments=given, as_of=as_of, now=now, command_id=command_id)

    def arguments(self, call: Call) -> dict[str, Any]:
        """Return the arguments of this tool that stand for a call: the inverse of ``call``."""
        envelope = {VERB: call.verb if self.is_shared else None}
        envelope |= {AS_OF: call.as_of, NOW: call.now, COMMAND_ID: call.command_id}
        told = {name: word for name, word in envelope.items() if word is not None}
        return (
            {**told, ARGUMENTS: {**call.arguments}} if self.nested else {**told, **call.arguments}
        )

    def _verb(self, given: dict[str, Any]) -> Verb:
        if not self.is_shared:
            (name,) = self.verbs
            return verbs()[name]
        name = given.pop(VERB, None)
        if not isinstance(name, str) or name not in self.verbs:
            raise FieldRefused(
                f"{self.name} has no verb {name!r:.80}" if name else f"{self.name} needs a verb",
                recovery=f"Give verb, one of: {', '.join(self.verbs)}.{_elsewhere(name)}",
                field=VERB,
            )
        return verbs()[name]

    def _unfolded(self, given: dict[str, Any]) -> dict[str, Any]:
        inner = given.pop(ARGUMENTS, {})
        if not isinstance(inner, Mapping) or given:
            strange = ", ".join(given) or f"{ARGUMENTS} {inner!r:.80}"
            raise FieldRefused(
                f"{self.name} cannot read {strange:.200}",
                recovery="Give the arguments of the verb as an object in arguments.",
                field=ARGUMENTS,
            )
        return dict(inner)


def _word(given: dict[str, Any], name: str, verb: Verb) -> str | None:
    """Take a word out of the arguments that is for the door, not for the verb.

    Raises:
        FieldRefused: It is no text, or means nothing to this verb.
    """
    if name not in given:
        return None
    word = given.pop(name)
    if not isinstance(word, str):
        raise FieldRefused(f"{name} {word!r:.80} is no text", recovery="Give a text.", field=name)
    if name == COMMAND_ID and not verb.repeatable:
        raise FieldRefused(
            f"{verb.name} takes no command_id", recovery="Leave it out.", field=COMMAND_ID
        )
    return word


def _elsewhere(name: object) -> str:
    """Return where a verb is to be found that was asked of the wrong tool."""
    tool = reaching().get(name) if isinstance(name, str) else None
    return f" {name} is called by {tool.name}." if tool is not None else ""


@cache
def least_scope(verb: str) -> Scope:
    """Return what a caller has to be allowed for a verb in its mildest form."""
    unrecorded = Call(verb=verb, arguments={"record": False})
    needed = {verbs()[verb].scope, unrecorded.scope}
    return next(scope for scope in SCOPES if scope in needed)


@cache
def tools() -> Mapping[str, Tool]:
    """Return every tool by name, in the order of listing."""
    page = resources.files("mnemic.adapters.mcp") / "tools.toml"
    return MappingProxyType(
        {
            name: Tool(
                name=name,
                title=entry["title"],
                told=entry["told"].strip(),
                verbs=MappingProxyType(entry["verbs"]),
                nested=entry.get("nested", False),
            )
            for name, entry in tomllib.loads(page.read_text("utf-8")).items()
        }
    )


@cache
def reaching() -> Mapping[str, Tool]:
    """Return which tool a verb is called by, by the verb's name."""
    return MappingProxyType({verb: tool for tool in tools().values() for verb in tool.verbs})
