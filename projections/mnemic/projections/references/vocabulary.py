"""Vocabulary for comparing texts: negators, opposites, synonyms and other word lists.

Tables only. Words are listed as they are written; ``claims`` reduces them to stems.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _pairs(text: str) -> Mapping[str, str]:
    """Return each word of a line that begins ``word:`` with that first word."""
    found: dict[str, str] = {}
    for line in text.strip().splitlines():
        head, _, others = line.partition(":")
        found.update(dict.fromkeys(others.split(), head.strip()))
    return MappingProxyType(found)


NEGATORS: Final = _words(
    """
    not never no none nobody nothing nowhere neither nor cannot without avoid avoids avoiding stop
    stops stopped refuse refuses refused unable hardly won't don't doesn't didn't isn't aren't
    wasn't weren't can't couldn't shouldn't mustn't wouldn't hasn't haven't hadn't lacks lack
    """
)
"""Each inverts the polarity of a sentence; two of them restore it."""

DENYING_PHRASES: Final = (
    "no longer",
    "not any longer",
    "not any more",
    "not anymore",
    "used to",
    "failed to",
    "fails to",
    "fail to",
)
"""Phrases that invert the polarity once."""

ASSERTING_PHRASES: Final = (
    "not only",
    "not just",
    "not merely",
    "not least",
    "(?:don't|do not|never) forget",
    "no doubt",
    "no wonder",
)
"""Phrases that negate nothing, though one of their words alone would."""

OPPOSITES: Final = _pairs(
    """
    enabled: disabled
    enable: disable
    on: off
    allowed: forbidden prohibited banned disallowed denied
    allow: forbid prohibit ban disallow deny
    allows: forbids prohibits bans disallows denies
    required: optional unnecessary
    public: private confidential
    approved: rejected declined
    approve: reject decline
    approves: rejects declines
    accepted: refused
    succeed: fail failing failure
    succeeds: fails
    succeeded: failed
    faster: slower
    fast: slow
    increase: decrease reduce
    increases: decreases reduces
    increased: decreased reduced fell dropped
    grew: shrank
    open: closed shut close
    opens: closes shuts
    opened: closed
    safe: unsafe dangerous
    secure: insecure
    stable: unstable flaky
    reliable: unreliable
    valid: invalid
    synchronous: asynchronous async
    deterministic: nondeterministic
    encrypted: unencrypted plaintext
    supported: unsupported
    available: unavailable
    visible: hidden invisible
    likes: dislikes hates
    like: dislike hate
    love: loathe
    loves: loathes
    true: false
    correct: incorrect wrong
    compatible: incompatible
    mutable: immutable
    possible: impossible
    known: unknown
    legal: illegal
    empty: full
    present: absent
    online: offline
    alive: dead
    cheap: expensive
    cheaper: dearer
    easy: hard difficult
    hot: cold
    strong: weak
    high: low
    higher: lower
    always: rarely seldom
    include: exclude
    includes: excludes
    included: excluded omitted
    guilty: innocent
    useful: useless
    happy: unhappy
    married: single unmarried
    finished: unfinished
    complete: incomplete
    paid: unpaid
    signed: unsigned
    lock: unlock
    locked: unlocked
    blocking: nonblocking
    stateless: stateful
    manual: automatic
    manually: automatically
    mandatory: voluntary
    upward: downward
    win: lose
    won: lost
    healthy: ill sick unhealthy
    """
)
"""Maps the negative pole to the positive one. A negative pole counts as a denial of the other."""

SAME: Final = _pairs(
    """
    start: begin begins began starts started commence commences beginning
    end: finish finishes ends ended finished expires expire expired
    store: keep keeps kept stored stores save saves saved hold holds held
    delete: erase erases erased deleted deletes remove removes removed removing
    own: owner owns owned owners
    use: rely relies using used uses employ employs utilise utilises utilize
    need: require requires needs required needed
    allow: permit permits permitted allows allowed
    repository: repo repos
    database: db databases
    postgres: postgresql
    kubernetes: k8s
    production: prod
    development: dev
    configuration: config configs settings
    documentation: docs
    authentication: auth authenticate login
    customer: customers client clients
    employee: employees staff
    buy: purchase purchases bought buys
    big: large
    fast: quick rapid faster quicker quickly
    meeting: meetings meet
    javascript: js
    typescript: ts
    maximum: max
    minimum: min
    send: sent sends sending
    build: built builds
    write: written wrote writes writing
    run: runs ran running
    lead: leads led leader
    maintain: maintains maintained maintainer
    manage: manages managed manager
    say: said says
    take: took takes taken
    pay: paid pays
    choose: chose chosen choosing
    eat: ate eaten eats
    go: went goes gone
    speak: spoke spoken speaks
    drive: drove driven drives
    succeed: success successful pass passes passed passing
    like: love loves loved enjoy enjoys likes liked
    earn: earns salary earned
    host: hosted hosts hosting
    deploy: deploys deployed deploying deployment deployments
    upload: uploads uploaded uploading
    order: orders ordered
    """
)
"""Maps a word to its synonym, where stems alone would differ."""

STOP: Final = _words(
    """
    a an the this that these those i me my mine we our ours us you your yours he him his she her
    hers it its they them their theirs who whom whose which what where why how there here one
    am is are was were be been being do does did doing done have has had having will would shall
    should can could might must may ought let lets
    and or but so because although though as of in on at to from by for with about into onto upon
    under between among through out per via than then over before after until till when while once
    if unless except during since within
    all any each every both more most other such only own very just also too always ever
    now currently still already usually really actually today's please instead rather yet anymore
    up down gonna longer again some several few sometimes often there's it's that's per
    make makes made making become becomes became get gets got seem seems since able
    prefer prefers preferred favour favours favor favors
    """
)
"""Function words. Denials are counted before these are removed."""

EXISTENTIAL: Final = _words("some several few sometimes occasionally many part partly half")
"""Two sentences about some can both be true."""

CONDITIONS: Final = _words("if when whenever unless except during while once until till")
"""What follows holds only under a condition."""

SUBORDINATES: Final = _words(
    "because since so if when whenever unless except during while once until till for and but"
)
"""Words that end the value of a simple sentence."""

ALTERNATIVES: Final = tuple(
    map(
        _words,
        (
            "staging production development test tests local sandbox preview",
            "linux windows macos mac",
            "ios android",
            "mobile desktop web tablet",
            "morning afternoon evening night noon midnight",
            "summer winter spring autumn",
            "old new legacy former",
            "north south east west northern southern eastern western",
            "left right",
            "front rear back",
            "read write edit",
            "input output",
            "internal external",
            "frontend backend",
            "yesterday today tomorrow",
            "adults children kids guests members students seniors",
            "weekdays weekends weekday weekend holidays",
            "upper lower",
            "inner outer",
            "first second third fourth fifth last next",
        ),
    )
)
"""Groups of words that exclude each other: sentences with different ones never clash."""

PREFERRING: Final = _words(
    "prefer prefers preferred use uses choose pick favour favor take recommend"
)
GONE: Final = _words(
    """
    deprecated obsolete retired removed discontinued abandoned outdated decommissioned dropped
    dead gone superseded replaced withdrawn scrapped
    abolished cancelled canceled revoked repealed
    """
)
"""Words saying that a thing is no longer valid or used."""

MOVING: Final = _words(
    """
    move moved moves moving switch switched switches switching migrate migrated migrates migrating
    change changed changes changing convert converted port ported upgrade upgraded transition
    transitioned rename renamed went
    """
)
"""Verbs with which ``from Y to X`` says that Y is no longer valid."""

LEAVING: Final = _words("left quit leaves abandoned dropped drops ditched retired scrapped removed")
"""Verbs whose object is no longer valid."""

ATTRIBUTES: Final = _words(
    """
    owner lead leader manager maintainer capital default password address name email birthday
    language status contact host region timezone editor licence license boss director captain
    winner author colour color framework format encoding theme currency protocol reason cause chair
    ceo cto secretary headquarters nickname nationality hometown employer landlord doctor dentist
    supervisor chairman chairwoman treasurer president mayor successor registrar vendor supplier
    """
)
"""Nouns of which a thing has exactly one."""

SINGLING: Final = _words(
    "primary main default preferred current favourite favorite only official sole"
)
"""Adjectives after which a thing has only one of the following noun."""

OWNING: Final = _words("own lead maintain manage chair head")
"""Verbs with one subject for each object, as ``SAME`` writes them."""

PLACED: Final = _words(
    """
    store host locate base deploy write maintain own lead manage born assign build name call develop
    back keep run schedule sponsor fund publish make employ live sit belong report headquarter work
    listen
    """
)
"""Verbs with a single complement, as ``SAME`` writes them: stored in, lives in, reports to."""

POSSESSIVES: Final = _words("my your his her its our their whose")

PREPOSITIONS: Final = _words("in on at by with to for from under behind near as")

VERBS: Final = _words(
    """
    is are was were be has have had do does did can could will would shall should must may might
    need needs require requires allow allows cost costs take takes run runs listen listens use uses
    expire expires start starts begin begins end ends open opens close closes last lasts hold holds
    contain contains support supports return returns send sends resend resends retry retries read
    reads write writes lift lifts weigh weighs measure measures serve serves keep keeps store stores
    live lives work works get gets give gives call set make makes made go goes went wait waits
    accept accepts handle handles handled process processes cover covers charge charges pay pays
    earn earns speak speaks own owns lead leads leave leaves arrive arrives depart departs grow grew
    fell rose reach reaches reached met meet meets produce produces employ employs store wants want
    uses consumes consume draws draw sleeps sleep deliver delivers print prints show shows
    """
)
"""Common verbs. A number before the first one identifies a thing instead of counting it."""

HAPPENED: Final = _words(
    """
    met had went saw said did made took got came ran gave held won lost spoke wrote read paid sent
    bought sold drove flew rang called
    """
)
"""Past tenses without -ed: what they describe can happen again on another day."""

ONCE: Final = _words(
    """
    born founded released launched signed died married shipped started joined moved scheduled
    planned expected published opened retired finished ended due
    """
)
"""Events that happen once, so that two dates of one cannot both be true."""
