"""The default analyst: three rules for English text that do nothing when in doubt.

1. An inline hashtag is a tag: ``#Harbour`` in prose becomes ``harbour``. Headings, issue numbers,
   colours, anchors of addresses, preprocessor lines and code between backticks are none.
2. A short block in which the agent explicitly states one of its own principles
   (``STATEMENTS``), gets the ``self/…`` tag of that kind. Only what the agent itself learned counts
   (`is_own`): another's "my goal is" must not become the agent's.
3. A long block is summed up by its first sentences.

What the caller declared is never repeated, and a block with a ``self/…`` tag gets no other one. An
alignment is a judgement, so no rule gives one. The same passage always has the same analysis.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from mnemic.kernel.late import late_pattern
from mnemic.kernel.ports import Analysis, Passage

HASHTAGS_MAX: Final = 8
"""Maximum number of tags from one text; further hashtags are decoration."""
STATEMENT_LENGTH_MAX: Final = 300
"""Characters. A principle is short; a longer text is about something else as well."""
LONG: Final = 600
"""Characters above which a block is summed up."""
SUMMARY_LENGTH_MAX: Final = 200
SENTENCE_LENGTH_MIN: Final = 40
"""A summary that ends before that has stopped at an abbreviation."""

OWN_SOURCES: Final = frozenset({"agent", "api"})
OTHERS_WORDS: Final = "message"
"""The category of messages in a conversation."""

STATEMENTS: Final = tuple(
    (tag, late_pattern(pattern, re.IGNORECASE))
    for tag, pattern in (
        ("self/constraint", r"i (must (never|not|always)|am (never|not) (allowed|permitted) to) "),
        ("self/constraint", r"i refuse to "),
        ("self/constraint", r"my (own |first )?(constraint|limit|rule) is "),
        ("self/constraint", r"one of my (constraints|limits|rules) is "),
        ("self/value", r"i (deeply )?(value|believe in|stand for) "),
        ("self/value", r"my (own |core |guiding )?(value|principle)(s are| is) "),
        ("self/value", r"one of my (own |core |guiding )?(values|principles) is "),
        ("self/goal", r"my (own |main |long-term )?(goal|aim|mission|purpose) is "),
        ("self/goal", r"one of my (own |main |long-term )?(goals|aims) is "),
        ("self/goal", r"i strive to "),
    )
)
"""How a statement begins, and what kind of principle it is. The first that matches counts."""

_CODE = late_pattern(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_HASHTAG = late_pattern(r"(?<![\w#&/.@'\"-])#([^\W\d_][\w-]{1,63})(?![\w/#=(])")
_COLOUR = late_pattern(r"[0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8}", re.IGNORECASE)
_DIRECTIVES = frozenset(
    "define elif else endif error if ifdef ifndef include line pragma undef".split()
)
_SENTENCE_END = late_pattern(r"[.!?…][\"'”’)\]]*(?= )")


class RulesAnalyst:
    """Reads a passage in some microseconds, without a model."""

    name = "rules"

    def analyse(self, passages: Sequence[Passage]) -> list[Analysis]:
        """Return one analysis per passage; an empty one where no rule applies."""
        return [_analysis(passage) for passage in passages]


def is_own(passage: Passage) -> bool:
    """Whether the agent itself speaks: no author, no message, not from elsewhere."""
    return (
        passage.author is None
        and passage.category != OTHERS_WORDS
        and passage.source in OWN_SOURCES
    )


def _analysis(passage: Passage) -> Analysis:
    declared = {tag.lower() for tag in passage.tags}
    found = {tag for tag in hashtags(passage.content) if tag not in declared}
    principle = _principle(passage)
    if principle is not None and not any(tag.startswith("self/") for tag in declared):
        found.add(principle)
    return Analysis(tags=tuple(sorted(found)), summary=summary(passage.content))


def hashtags(text: str) -> list[str]:
    """Return the first inline hashtags of *text*, in lower case."""
    if "#" not in text:
        return []
    return list(islice(_hashtags(_CODE.sub(" ", text)), HASHTAGS_MAX))


def _hashtags(text: str) -> Iterator[str]:
    for match in _HASHTAG.finditer(text):
        word = match[1].rstrip("-_").lower()
        if not _COLOUR.fullmatch(word) and word not in _DIRECTIVES:
            yield word


def _principle(passage: Passage) -> str | None:
    """Return the kind of principle that the agent states, if it does."""
    content = passage.content
    if not is_own(passage) or len(content) > STATEMENT_LENGTH_MAX:
        return None
    words = " ".join(content.split())
    if words.endswith("?"):
        return None
    return next((tag for tag, begins in STATEMENTS if begins.match(words)), None)


def summary(text: str) -> str | None:
    """Return the first sentences of a long text, None for any other.

    Returns:
        Whole sentences of up to 200 characters; the beginning of the first one, if it is longer.
    """
    if len(text) <= LONG:
        return None
    # Enough to fill a summary, for any amount of white space.
    flat = " ".join(text[: 2 * LONG].split())
    if len(flat) <= SUMMARY_LENGTH_MAX:
        return flat or None
    ends = [match.end() for match in _SENTENCE_END.finditer(flat[: SUMMARY_LENGTH_MAX + 1])]
    if ends and ends[-1] >= SENTENCE_LENGTH_MIN:
        return flat[: ends[-1]]
    words = flat[: SUMMARY_LENGTH_MAX - 1]
    return (words.rpartition(" ")[0] or words).rstrip(",;:") + "…"
