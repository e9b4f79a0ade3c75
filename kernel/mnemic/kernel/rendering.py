r"""The grammar of texts that show blocks to a reader, with its renderer and its parser.

A block takes one line: a head in square brackets that mnemic has written, and the text.

    [38228e32, by Ines, 2026-03-01] The gate is green.
    [5a0c7d11 untrusted, written by mailbox, claims "Ines Roth"] It is red.\nSays the mail.

    text    = {section}                                   separated by line breaks
    section = [heading] {line}
    line    = block | dispute
    block   = "[" cite [" " zone [", written by " label]] {", " item} "] " content
    cite    = id [":" passage]
    item    = status | ("by " | "claims ") label | date | "held until " date
            | "holds from " date | "erased" | "lost"
            | "earlier, contradicted by " id {" and " id}
    dispute = "[" id "] contradicts [" id "]"
    label   = one plain word | '"' escaped '"'

Rules:

1. A line begins with ``[`` if and only if it is about a block. All other lines are headings.
2. In text from a caller, a backslash comes before ``\``, before every opening bracket, before a
   ``<`` that could begin a tag, and within quotes before ``"`` and ``]``. Line breaks and tabs
   become ``\n``, ``\r``, ``\t``, and a hidden character (``visible``) its number, ``\u{202e}``. So
   an opening bracket without a backslash before it is always mnemic's.
3. A zone is given unless it is ``trusted``, and with it the actor that wrote the text, which a
   caller cannot choose. An author is what that actor claimed.
4. ``parse(render(sections)) == sections``, for every text and every label.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from attrs import frozen

from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.late import late_pattern
from mnemic.kernel.model.identity import short
from mnemic.kernel.model.periods import ENDED, HOLDS, LATER
from mnemic.kernel.values import Value
from mnemic.kernel.visible import HIDDEN

TRUSTED: Final = "trusted"
"""The zone that is not named."""

_BRACKETS: Final = "[\uff3b\u3010\u3014\u3016\u301a\u27e6\u2045\u2772\u298b\u298d\u298f"
"""The opening square bracket, and characters that look like it."""
_NAMED: Final = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}
_MEANT: Final = {"n": "\n", "r": "\r", "t": "\t"}
_SPECIAL: Final = late_pattern(rf"[\\{re.escape(_BRACKETS)}]|<(?=[A-Za-z/!?|])|{HIDDEN.pattern}")
_QUOTED: Final = late_pattern(rf'[\\"\]{re.escape(_BRACKETS)}]|<(?=[A-Za-z/!?|])|{HIDDEN.pattern}')
_JSON_STRING: Final = late_pattern(r'"(?:[^"\\]|\\.)*"')
_UNQUOTED: Final = late_pattern(rf"[{re.escape(_BRACKETS)}]|<(?=[A-Za-z/!?|])|{HIDDEN.pattern}")
_ESCAPE: Final = late_pattern(r"\\(?:u\{([0-9a-f]{1,6})\}|(.))")
_LETTER: Final = "0-9A-Za-z\xc0-\xd6\xd8-\xf6\xf8-\u024f"
_WORD: Final = rf"[{_LETTER}](?:[{_LETTER}._@+-]*[{_LETTER}])?"
_PLAIN_WORD: Final = late_pattern(_WORD)
_RESERVED: Final = frozenset(
    "and by claims contradicted contradicts earlier erased lost written "
    "trusted vetted imported external untrusted quarantined inbox active archived".split()
)
"""Words of the grammar and names of zones, which are quoted as labels."""
_LABEL: Final = rf'(?:"(?:[^"\\]|\\.)*"|{_WORD})'
_LABELS: Final = late_pattern(rf"({_LABEL})(?: and |$)")
_DATE: Final = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
STATUSES: Final = ("inbox", "active", "archived")
_HEAD: Final = late_pattern(
    rf"\[(?P<id>{_LABEL})(?::(?P<passage>[0-9]{{1,9}}))?"
    rf"(?: (?P<zone>{_LABEL})(?:, written by (?P<actor>{_LABEL}))?)?"
    rf"(?:, (?P<status>{'|'.join(STATUSES)}))?"
    rf"(?:, (?:by|claims) (?P<author>{_LABEL}))?"
    rf"(?:, (?P<said>{_DATE}))?"
    rf"(?:, held until (?P<ended>{_DATE}))?(?:, holds from (?P<begins>{_DATE}))?"
    rf"(?:, (?P<gone>erased|lost))?"
    rf"(?:, earlier, contradicted by (?P<against>{_LABEL}(?: and {_LABEL})*))?\] "
)
_DISPUTE: Final = late_pattern(rf"\[({_LABEL})\] contradicts \[({_LABEL})\]")


@frozen(kw_only=True)
class Cited(Value):
    """A block as a reader sees it."""

    id: str
    """As cited: the short id."""
    passage: int | None = None
    """Number of the passage that is shown, from 1; None: the whole text is."""
    content: str | None
    """None: it was erased, or is lost."""
    is_lost: bool = False
    """Whether it is missing although it was not erased."""
    zone: str = TRUSTED
    actor: str | None = None
    """Who wrote it; not given of what is trusted."""
    status: str | None = None
    """``inbox``, ``active`` or ``archived``, if it matters."""
    author: str | None = None
    """The author, or the role, that the writer gave."""
    said: str | None = None
    """Day on which it was said, like ``2026-03-01``."""
    ended: str | None = None
    """Day on which its fact ceased to hold; None: it has not, or no end is known."""
    begins: str | None = None
    """Day from which its fact will hold; None: it has begun, or no beginning is known."""
    contradicted_by: tuple[str, ...] = ()
    """Short ids of newer blocks that contradict it."""


@frozen(kw_only=True)
class Dispute(Value):
    """Two blocks that contradict each other, by their short ids."""

    one: str
    other: str


@frozen(kw_only=True)
class Section(Value):
    """A heading, and the lines below it."""

    heading: str | None
    lines: tuple[Cited | Dispute, ...] = ()


def cited(
    block_id: str,
    content: str | None,
    *,
    zone: str,
    actor: str | None,
    author: str | None = None,
    created_at: str | None = None,
    status: str | None = None,
    is_lost: bool = False,
    contradicted_by: Iterable[str] = (),
    passage: int | None = None,
    validity: str = HOLDS,
    valid_from: str | None = None,
    valid_until: str | None = None,
) -> Cited:
    """Return a block as a reader sees it.

    Args:
        block_id: Its full id.
        content: Its text; None: it was erased, or is lost.
        zone: Its trust zone.
        actor: Who wrote it.
        author: The author that the writer gave.
        created_at: When it was said; ISO 8601.
        status: Its status, if the reader is to see it.
        is_lost: Whether its text is missing although it was not erased.
        contradicted_by: Full ids of newer blocks that contradict it.
        passage: Number of the passage that *content* is, from 1; None: it is the whole text.
        validity: ``holds``, ``ended`` or ``later``: what the period says of the moment.
        valid_from: Since when its fact holds; ISO 8601.
        valid_until: Until when its fact holds; ISO 8601.
    """
    return Cited(
        id=short(block_id),
        passage=passage,
        content=content,
        is_lost=is_lost,
        zone=zone,
        actor=None if zone == TRUSTED else actor,
        status=status,
        author=author,
        said=None if created_at is None else created_at[:10],
        ended=valid_until[:10] if validity == ENDED and valid_until else None,
        begins=valid_from[:10] if validity == LATER and valid_from else None,
        contradicted_by=tuple(map(short, contradicted_by)),
    )


# --- rendering ------------------------------------------------------------------------------


def escaped(text: str) -> str:
    r"""Return text from a caller on one line, escaped so that it cannot look like mnemic's own.

    >>> print(escaped("a[0] is" + chr(10) + "<b>bold</b>, x < y"))
    a\[0] is\n\<b>bold\</b>, x < y
    """
    if text.isascii() and text.isprintable() and not any(map(text.__contains__, r"[\<")):
        return text  # nothing hidden, and nothing of the grammar
    return _SPECIAL.sub(_escape, text)


def labelled(label: str, *, reserved: frozenset[str] = frozenset()) -> str:
    """Return a label: as it is if it is one plain word, else in double quotes.

    Args:
        label: What a caller wrote.
        reserved: Words that are quoted too.

    >>> labelled("Ines"), labelled("Ines, by order")
    ('Ines', '"Ines, by order"')
    """
    if _PLAIN_WORD.fullmatch(label) and label.lower() not in reserved:
        return label
    return quoted(label)


def quoted(text: str) -> str:
    """Return text from a caller, escaped and in double quotes."""
    return f'"{_QUOTED.sub(_escape, text)}"'


def on_one_line(text: str) -> str:
    """Return a sentence of mnemic with the numbers of hidden characters in their place."""
    return HIDDEN.sub(_escape, text)


def quoting(text: str) -> str:
    """Return a sentence that quotes what a caller gave, such as a refusal, without such lines.

    Backslashes stay as they are, since a quotation is escaped once already.
    """
    return _UNQUOTED.sub(_escape, text)


def json_escaped(document: str) -> str:
    r"""Return a JSON document of the same value in which no string looks like a line of mnemic.

    >>> print(json_escaped('["[38228e32] x"]'))
    ["\u005b38228e32] x"]
    """
    return _JSON_STRING.sub(lambda found: _UNQUOTED.sub(_json_escape, found[0]), document)


def _json_escape(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def _named(label: str) -> str:
    """Return a label as it is written in a head."""
    return labelled(label, reserved=_RESERVED)


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    if HIDDEN.fullmatch(character) is None:  # it has a shape, so it is one of the grammar
        return "\\" + character
    return _NAMED.get(character) or f"\\u{{{ord(character):x}}}"


def render_line(line: Cited | Dispute) -> str:
    """Return one line of a text."""
    if isinstance(line, Dispute):
        return f"[{_named(line.one)}] contradicts [{_named(line.other)}]"
    head = _named(line.id)
    if line.passage is not None:
        head += f":{line.passage}"
    if line.zone != TRUSTED:
        head += f" {line.zone if _PLAIN_WORD.fullmatch(line.zone) else quoted(line.zone)}"
        if line.actor is not None:
            head += f", written by {_named(line.actor)}"
    content = "" if line.content is None else escaped(line.content)
    return f"[{', '.join([head, *_items(line)])}] {content}"


def _items(line: Cited) -> Iterator[str]:
    if line.status is not None:
        yield line.status
    if line.author is not None:
        yield f"{'by' if line.zone == TRUSTED else 'claims'} {_named(line.author)}"
    if line.said is not None:
        yield line.said
    if line.ended is not None:
        yield f"held until {line.ended}"
    if line.begins is not None:
        yield f"holds from {line.begins}"
    if line.content is None:
        yield "lost" if line.is_lost else "erased"
    if line.contradicted_by:
        yield f"earlier, contradicted by {' and '.join(map(_named, line.contradicted_by))}"


def render(sections: Iterable[Section]) -> str:
    """Return a text of several sections."""
    return "\n".join(_rendered(sections))


def _rendered(sections: Iterable[Section]) -> Iterator[str]:
    for section in sections:
        if section.heading is not None:
            yield section.heading
        yield from map(render_line, section.lines)


# --- parsing --------------------------------------------------------------------------------


def parse(text: str) -> tuple[Section, ...]:
    """Return the sections of a rendered text; blank lines between them are skipped.

    Raises:
        FieldRefused: A line begins like that of a block and cannot be parsed as one.
    """
    heading: str | None = None
    lines: list[Cited | Dispute] = []
    found: list[Section] = []
    for line in text.split("\n"):
        if line.startswith("["):
            lines.append(parse_line(line))
        elif line:
            if heading is not None or lines:
                found.append(Section(heading=heading, lines=tuple(lines)))
            heading, lines = line, []
    if heading is not None or lines:
        found.append(Section(heading=heading, lines=tuple(lines)))
    return tuple(found)


def parse_line(line: str) -> Cited | Dispute:
    """Return the block or the dispute of a rendered line.

    Raises:
        FieldRefused: It is neither.
    """
    dispute = _DISPUTE.fullmatch(line)
    if dispute is not None:
        return Dispute(one=_unlabelled(dispute[1]), other=_unlabelled(dispute[2]))
    head = _HEAD.match(line)
    if head is None:
        raise FieldRefused(
            f"not a rendered line: {line!r:.200}",
            recovery="Give a text as recall() answered it, unchanged.",
            field="text",
        )
    passage, against = head["passage"], head["against"]
    return Cited(
        id=_unlabelled(head["id"]),
        passage=None if passage is None else int(passage),
        content=None if head["gone"] else unescaped(line[head.end() :]),
        is_lost=head["gone"] == "lost",
        zone=TRUSTED if head["zone"] is None else _unlabelled(head["zone"]),
        actor=None if head["actor"] is None else _unlabelled(head["actor"]),
        status=head["status"],
        author=None if head["author"] is None else _unlabelled(head["author"]),
        said=head["said"],
        ended=head["ended"],
        begins=head["begins"],
        contradicted_by=tuple(map(_unlabelled, _LABELS.findall(against or ""))),
    )


def unescaped(text: str) -> str:
    """Return the text that ``escaped`` was given."""
    return _ESCAPE.sub(_unescape, text)


def _unescape(found: re.Match[str]) -> str:
    number, character = found.groups()
    if number is not None:
        return chr(int(number, 16))
    return _MEANT.get(character, character)


def _unlabelled(label: str) -> str:
    return unescaped(label[1:-1]) if label.startswith('"') else label
