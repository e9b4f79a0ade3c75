"""``Memory``: the calls of mem0's, with the same arguments and results."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from types import TracebackType
from typing import Any, Final, Self
from uuid import uuid4

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.integrations.mem0 import arguments, memories
from mnemic.adapters.integrations.mem0.configuration import opened
from mnemic.adapters.integrations.mem0.filters import condition, narrowed
from mnemic.adapters.integrations.mem0.payloads import ROOT, item_of, payload_of, put_of
from mnemic.adapters.integrations.records import Put, Records
from mnemic.kernel.policy.ranges import COUNT_MAX
from mnemic.kernel.results import ScoredBlock

Item = dict[str, Any]
THRESHOLD: Final = 0.1
CANDIDATES: Final = 1000
"""Most memories of a search."""
ERASED: Final = 1000
"""Blocks of one ``erase``."""
_UNSET: Final = object()


class Memory:
    """The memories of users, agents and runs.

    Args:
        config: As of mem0, see ``configuration``; None: mem0's default place.
        memory: A memory to use instead; closing leaves it open.
        extract: The extractor of ``add`` with ``infer=True``. None: that of the memory; without a
            configured model ``rules``.
    """

    def __init__(
        self, config: Any = None, *, memory: SyncMemory | None = None, extract: str | None = None
    ) -> None:
        self._extract = extract
        self._opened: SyncMemory | None = None
        if memory is None:
            memory, rules = opened(config)
            self._opened, self._extract = memory, extract or rules
        self.mnemic = memory
        """The memory behind it."""
        self._records = Records(memory, root=ROOT, actor=ROOT, is_shared=True)

    @classmethod
    def from_config(cls, config_dict: Mapping[str, Any]) -> Self:
        """Return the memories that a configuration of mem0 names."""
        return cls(config_dict)

    def add(
        self,
        messages: Any,
        *,
        user_id: Any = None,
        agent_id: Any = None,
        run_id: Any = None,
        metadata: Mapping[str, Any] | None = None,
        timestamp: Any = None,
        expiration_date: Any = None,
        infer: bool = True,
        memory_type: str | None = None,
        prompt: str | None = None,
    ) -> dict[str, list[Item]]:
        """Store messages, or the facts that an extractor finds in them.

        Args:
            messages: A text, a message, or a list of them.
            user_id: The user they belong to. One of the three ids is required.
            agent_id: The agent.
            run_id: The run.
            metadata: Of each stored message.
            timestamp: Not supported, as in mem0 itself.
            expiration_date: The last day on which they are found, as YYYY-MM-DD.
            infer: Whether facts are extracted; else each message is a memory. With it, metadata
                and expiration belong to the messages, which are kept beside the facts.
            memory_type: Only None: no model writes summaries here.
            prompt: Not used: extractors have prompts of their own.

        Raises:
            ValidationError, ValueError: An argument is missing or invalid.
            Refused: A text or its metadata is too large for the space; nothing is written.
        """
        if timestamp is not None:
            raise ValueError("timestamp is not supported: it is of mem0's platform")
        day = arguments.checked_day(expiration_date)
        scope = arguments.required_scope(
            {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        )
        payload = arguments.checked_metadata(metadata, {})
        if day is not None:
            payload["expiration_date"] = day
        arguments.check_kind(memory_type, scope)
        given = arguments.messages_of(messages)
        if infer:
            if prompt is not None:
                arguments.LOGGER.warning("prompt is not used: extractors have their own")
            return {"results": self._extracted(given, scope, payload)}
        return {"results": self._stored(given, payload | arguments.ids_of(scope))}

    def _stored(self, messages: list[Any], common: Mapping[str, Any]) -> list[Item]:
        """Store messages as they are, in one transaction."""
        now = self._records.now().isoformat()
        puts: dict[tuple[str, ...], Put] = {}
        added: list[Item] = []
        for role, text, name in arguments.texts_of(messages):
            payload = {"created_at": now, **common, "role": role, "data": text}
            payload |= {"updated_at": payload["created_at"], **({"actor_id": name} if name else {})}
            memory_id = str(uuid4())
            puts[(memory_id,)] = put_of(payload)
            added.append({"id": memory_id, "memory": text, "event": "ADD"})
            added[-1] |= {"actor_id": name, "role": role}
        self._records.write(puts)
        return added

    def _extracted(
        self, messages: list[Any], scope: Mapping[str, str], metadata: Mapping[str, Any]
    ) -> list[Item]:
        """Add messages and return the new facts."""
        given = [
            {**each, "metadata": {**metadata, **(each.get("metadata") or {})}} for each in messages
        ]
        added = self._records.memory.add(given, extract=self._extract, scope=scope)
        return [
            {"id": fact.block_id, "memory": fact.content, "event": "ADD"}
            for fact in added.facts
            if fact.action == "created"
        ]

    def get(self, memory_id: str) -> Item | None:
        """Return a memory; None: there is none of that id."""
        found = memories.known(self._records, memory_id)
        return None if found is None else item_of(memory_id, found.payload)

    def get_all(
        self,
        *,
        filters: Mapping[str, Any] | None = None,
        top_k: int = 20,
        show_expired: bool = False,
        **extra: Any,
    ) -> dict[str, list[Item]]:
        """Return the memories that filters hold for, in the order of their last change.

        Args:
            filters: At least a user, an agent or a run; see ``filters.condition``.
            top_k: Most memories.
            show_expired: Whether expired ones are among them.
            extra: Ids that are given here are refused.

        Raises:
            ValueError: An argument is invalid.
        """
        given = arguments.checked_filters(filters, extra, "get_all")
        arguments.check_counts(top_k=top_k)
        holds = condition(given)
        found: list[Item] = []
        for each in memories.listed(self._records):
            payload = each.payload
            if holds(payload) and (show_expired or not self._has_expired(payload)):
                found.append(item_of(each.id, payload))
                del found[-1]["score"]
        return {"results": found[:top_k]}

    def search(
        self,
        query: str,
        *,
        top_k: int = 20,
        filters: Mapping[str, Any] | None = None,
        threshold: float | None = THRESHOLD,
        rerank: bool = False,
        explain: bool = False,
        reference_date: Any = None,
        show_expired: bool = False,
        **extra: Any,
    ) -> dict[str, list[Item]]:
        """Return the memories that a recall ranks highest for a question, best first.

        It is a recorded recall, unless a filter has operators: then memories are recalled without
        a record, and filtered afterwards.

        Args:
            query: The question.
            top_k: Most memories; at most 1,000 are returned.
            filters: At least a user, an agent or a run; see ``filters.condition``.
            threshold: Least score of a memory, that of the recall. Range: [0, 1]; None: .1.
            rerank: No effect.
            explain: Whether results have ``score_details``.
            reference_date: Not supported, as in mem0 itself.
            show_expired: Whether expired memories are among them.
            extra: Ids that are given here are refused.

        Raises:
            ValueError: An argument is invalid.
        """
        del rerank
        if reference_date is not None:
            raise ValueError("reference_date is not supported: it is of mem0's platform")
        arguments.check_counts(top_k=top_k, threshold=threshold)
        question = arguments.checked_query(query)
        given = arguments.checked_filters(filters, extra, "search")
        holds = condition(given)
        least = THRESHOLD if threshold is None else threshold
        where, is_exact = narrowed(given)
        if not show_expired:
            yesterday = (self._records.now() - timedelta(days=1)).date().isoformat()
            where["not"] = {"range": {"metadata": {"expiration_date": {"to": yesterday}}}}
        if not top_k:
            return {"results": []}
        answer = self._records.memory.recall(
            question,
            top_k=min(top_k, CANDIDATES) if is_exact else CANDIDATES,
            token_budget=COUNT_MAX,
            where={**where, **memories.FOUND},
            min_probability=0.0,
            record=is_exact,
        )
        found = [self._result(each, least, explain=explain) for each in answer.blocks]
        chosen = [item for payload, item in found if item["score"] >= least and holds(payload)]
        chosen.sort(key=lambda item: item["score"], reverse=True)
        return {"results": chosen[:top_k]}

    def _result(
        self, scored: ScoredBlock, least: float, *, explain: bool
    ) -> tuple[dict[str, Any], Item]:
        """Return the payload of a recalled block, and the result."""
        block = self._records.memory.block(scored.id)
        payload = payload_of(block)
        item = item_of(memories.id_of(block), payload)
        item["score"] = scored.composite_score
        if explain:
            item["score_details"] = {
                "semantic_score": scored.cosine_score,
                "bm25_score": scored.lexical_score,
                "entity_boost": 0.0,
                "raw_score": scored.composite_score,
                "max_possible_score": 1.0,
                "final_score": item["score"],
                "threshold": least,
                "probability": scored.probability,
                "signals": {each.signal: each.contribution for each in scored.contributions},
            }
        return payload, item

    def update(  # noqa: PLR0917 - as of mem0
        self,
        memory_id: str,
        text: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        expiration_date: Any = _UNSET,
        data: str | None = None,
    ) -> dict[str, str]:
        """Change the text, the metadata or the expiration of a memory: a revision of it.

        Args:
            memory_id: Its id.
            text: The new text; None: as it was.
            metadata: What is changed or added.
            expiration_date: As of ``add``; None: it does not expire.
            data: The older name of *text*.

        Raises:
            ValueError: Nothing is to be changed, or there is no such memory.
            Refused: See ``add``.
        """
        text = data if text is None else text
        if text is None and metadata is None and expiration_date is _UNSET:
            raise ValueError("At least one of text, metadata, or expiration_date must be provided.")
        day = {}
        if expiration_date is not _UNSET:
            day = {"expiration_date": arguments.checked_day(expiration_date)}

        def work(records: Records) -> None:
            found = memories.known(records, memory_id)
            if found is None:
                raise ValueError(
                    f"Memory with id {memory_id} not found. Please provide a valid 'memory_id'"
                )
            before = found.payload
            payload = {**before, **arguments.checked_metadata(metadata, before), **day}
            payload |= {
                "data": before["data"] if text is None else text,
                "created_at": before.get("created_at"),
                "updated_at": records.now().isoformat(),
            }
            memories.rewrite(records, found, payload)

        self._records.transaction(work)
        return {"message": "Memory updated successfully!"}

    def delete(self, memory_id: str) -> dict[str, str]:
        """Delete a memory: it stays in the past, until it is erased.

        Raises:
            ValueError: There is no such memory.
        """

        def work(records: Records) -> None:
            found = memories.known(records, memory_id)
            if found is None:
                raise ValueError(f"Memory with id {memory_id} not found")
            records.write({}, forget=[found.block.id])

        self._records.transaction(work)
        return {"message": "Memory deleted successfully!"}

    def delete_all(
        self, user_id: Any = None, agent_id: Any = None, run_id: Any = None
    ) -> dict[str, str]:
        """Delete the memories of a user, an agent, a run, or of what belongs to all that are given.

        Raises:
            ValueError: None is given, or one is invalid.
        """
        given = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        scope = arguments.checked_scope(given)
        if not scope:
            raise ValueError(
                "At least one filter is required to delete all memories. If you want to delete "
                "all memories, use the `reset()` method."
            )
        holds = condition(arguments.ids_of(scope))

        def work(records: Records) -> None:
            gone = [each.block.id for each in memories.listed(records) if holds(each.payload)]
            records.write({}, forget=gone)

        self._records.transaction(work)
        return {"message": "Memories deleted successfully!"}

    def history(self, memory_id: str) -> list[Item]:
        """Return what happened to a memory, from the log.

        The ``id`` of a change is its version: ``mnemic.as_of(version=int(id))`` shows what it left.
        """
        return memories.changes(self._records, memory_id)

    def reset(self) -> None:
        """Erase every text of the space, also those that were deleted."""
        ids = [block.id for block in self._records.blocks() if block.content is not None]
        for start in range(0, len(ids), ERASED):
            self._records.memory.erase(ids[start : start + ERASED])

    def close(self) -> None:
        """Close the memory, unless it was given."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _has_expired(self, payload: Mapping[str, Any]) -> bool:
        day = payload.get("expiration_date")
        return isinstance(day, str) and day < self._records.now().date().isoformat()
