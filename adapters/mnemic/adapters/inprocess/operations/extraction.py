"""The operation ``add``: messages in, and the facts that an extractor finds in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attrs import asdict

from mnemic.adapters.inprocess.engine.commands import Command, Progress
from mnemic.adapters.inprocess.operations.blocks import BATCH_MAX
from mnemic.adapters.inprocess.operations.host import Host
from mnemic.adapters.inprocess.registry import operation
from mnemic.kernel.decision import Decision
from mnemic.kernel.errors import FieldRefused, Refused

if TYPE_CHECKING:
    from mnemic.adapters.extractors.messages import Labels
    from mnemic.adapters.inprocess.extraction.running import Runner
    from mnemic.kernel.decisions.learning import Lesson
    from mnemic.kernel.model.identity import BlockId
    from mnemic.kernel.ports import Extractor, Message
    from mnemic.kernel.results import AddResult, LearnManyResult, LearnResult, Refusal
    from mnemic.kernel.timestamps import Instant
    from mnemic.projections.view import View

NONE = "none"
"""Name of the extractor that finds nothing."""
KNOWN_MAX = 8
"""Existing blocks that an extractor is shown beside one window."""
QUESTION_MAX = 2000
"""Characters of a window with which they are looked up."""
TOKENS_MAX = 100_000
"""Enough for all of them."""


class ExtractionOperations(Host):
    """Operations on messages, and what runs an extractor over them."""

    @operation("POST ./messages", "Blocks", "write", destructive=True, same_twice=True)
    def add(
        self,
        messages: Iterable[Mapping[str, Any]],
        *,
        extract: str | None = None,
        thread: str | None = None,
        scope: Mapping[str, str] | None = None,
        zone: str | None = None,
        progress: Progress | None = None,
        command_id: str | None = None,
    ) -> AddResult:
        """Learn the messages of a conversation, and the facts that an extractor finds in them.

        The messages are learned first, in one transaction for every 10,000, and stay if the
        extractor fails. Each becomes a block of the category ``message``. Added again, a message
        with an id is known, and is only read by an extractor that has not read it yet. A fact is a
        block of the category ``fact``; it is accepted only if the words that it quotes bear it out.

        Args:
            messages: In the order in which they were said: objects with ``role`` and ``content``,
                and ``name``, ``created_at``, ``id`` if they are known. Messages of OpenAI,
                Anthropic and LangChain are taken as they are.
            extract: The extractor: ``none``, ``rules``, or the name of the one that the host has
                configured, such as ``chat``. None: the host's, and ``none`` without one.
            thread: The conversation that they belong to, unless a message names another.
            scope: The ``user``, ``agent`` or ``run`` that they belong to; None: that of this
                handle.
            zone: Trust zone; None: the policy's zone for the source, which follows from the role.
            progress: Called with the number of messages read and the total.
            command_id: See the class.

        Raises:
            FieldRefused: They are no list, or there is no such extractor.
            InboxFull: The inbox has no room for any of them; see ``learn``.
        """
        from mnemic.adapters.extractors.messages import Labels
        from mnemic.adapters.inprocess.extraction.results import extraction_result
        from mnemic.kernel.results import AddResult

        if isinstance(messages, str | bytes | Mapping) or not isinstance(messages, Iterable):
            raise FieldRefused(
                f"add takes a list of messages, got {messages!r:.100}", field="messages"
            )
        extractor = self._extractor(extract)
        labels = Labels(thread=thread, scope=self._scoped(scope), zone=zone)
        given = [_lesson(each, labels) for each in messages]
        results: list[LearnResult] = []
        refused: list[Refusal] = []
        for first in range(0, len(given), BATCH_MAX):
            part = f"{command_id}/{first}" if first and command_id is not None else command_id
            learned = self._added(given[first : first + BATCH_MAX], part)
            results += learned.results
            refused += learned.refused
        if extractor.name == NONE:
            return AddResult(results=tuple(results), refused=tuple(refused))
        run = self._runner(extractor, labels.scope, command_id).run(
            [each.block_id for each in results], progress
        )
        return AddResult(
            results=tuple(results),
            refused=tuple(refused),
            extraction=extraction_result(self._open().state, run),
        )

    def _added(self, given: Sequence[Lesson | Refused], command_id: str | None) -> LearnManyResult:
        """Learn messages in one transaction."""
        from mnemic.adapters.inprocess.results import learn_many_result
        from mnemic.kernel.decisions.archiving import decide_learn_many

        def decide(view: View, _: Instant) -> Decision[LearnManyResult]:
            learned = decide_learn_many(view, given)
            return Decision(learned.events, learn_many_result(view, learned))

        identifying = [
            {"refused": each.code} if isinstance(each, Refused) else asdict(each) for each in given
        ]
        arguments = {} if command_id is None else {"messages": identifying}
        with self._emptying_full_inbox():
            result: LearnManyResult = (
                self._open().execute(Command("add", arguments, command_id), decide).result
            )
        for each in result.results:
            self._recent.learn(each.block_id, known=each.is_known)
        return result

    def _extractor(self, name: str | None) -> Extractor:
        """Return an extractor by name.

        Raises:
            FieldRefused: There is none of that name.
        """
        from mnemic.adapters.extractors.absent import NoExtractor
        from mnemic.adapters.extractors.rules import RulesExtractor

        own = self._models.extractor
        known: dict[str, Extractor] = {NONE: NoExtractor(), "rules": RulesExtractor()}
        if own is not None:
            known[own.name] = own
        if name is None:
            return own or known[NONE]
        if not isinstance(name, str) or name not in known:
            raise FieldRefused(
                f"no extractor is called {name!r:.100}",
                recovery=f"Choose from {', '.join(known)}; a host configures another one with "
                "open(extractor=ChatExtractor(...)), or --chat-url and --chat-model.",
                field="extract",
            )
        return known[name]

    def _runner(
        self, extractor: Extractor, scope: Mapping[str, str] | None, command_id: str | None
    ) -> Runner:
        from mnemic.adapters.inprocess.extraction.running import Runner

        return Runner(
            space=self._open(),
            extractor=extractor,
            near=lambda shown: self._near(shown, scope),
            timeout_s=self._models.extractor_timeout_s,
            command_id=command_id,
        )

    def _near(self, shown: Sequence[Message], scope: Mapping[str, str] | None) -> Sequence[BlockId]:
        """Return the blocks nearest to what messages say, without messages, best first."""
        from mnemic.adapters.inprocess.recall import recalling
        from mnemic.kernel.decisions.learning import MESSAGE
        from mnemic.projections.retrieval.request import Request, within_scope

        space = self._open()
        snapshot = self._auto_consolidate()
        others = [name for name in space.state.catalogue.categories if name != MESSAGE]
        if not others:
            return ()
        request = Request(
            query="\n".join(each.content for each in shown)[:QUESTION_MAX],
            top_k=KNOWN_MAX,
            token_budget=TOKENS_MAX,
            where=within_scope({"category": others}, scope),
            session=space.session,
            min_probability=0.0,
        ).checked()
        answer = self._at(
            snapshot,
            lambda models, latest: recalling.recall(
                space, models, request, latest, record=False, command_id=None
            ),
        )
        return answer.block_ids


def _lesson(given: object, labels: Labels) -> Lesson | Refused:
    """Return a message as a lesson, or the refusal if it is invalid."""
    from mnemic.adapters.extractors.messages import lesson_of

    try:
        return lesson_of(given, labels)
    except FieldRefused as refusal:
        return refusal
