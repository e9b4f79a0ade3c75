"""Opening a space: which store, which models, and the first events of a new log."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol, runtime_checkable

from attrs import frozen

from mnemic.adapters.analysts.absent import NoAnalyst
from mnemic.adapters.analysts.rules import RulesAnalyst
from mnemic.adapters.checkpoints.shelf import Shelf, Wanted, shelf
from mnemic.adapters.clocks import SystemClock
from mnemic.adapters.entropy import SystemEntropy
from mnemic.adapters.exchange.copying import Hands
from mnemic.adapters.inprocess.analysing import TimedAnalyst
from mnemic.adapters.inprocess.commands import Command, Written
from mnemic.adapters.inprocess.space import Space
from mnemic.adapters.inprocess.whereabouts import Whereabouts, are_on_server, far_of, mend
from mnemic.adapters.proximity.files import GraphFolder
from mnemic.adapters.proximity.keeper import GraphKeeper, Graphs, Retriever, wanted_graphs
from mnemic.adapters.stores.mixing import check_unmixed
from mnemic.adapters.stores.opening import Address, open_store
from mnemic.kernel.decisions.learning import checked_name
from mnemic.kernel.errors import EmbedderMismatch, FieldRefused, PointOutOfRange, PolicyRefused
from mnemic.kernel.events import EmbedderIdentity, PolicyAdopted, SpaceOpened
from mnemic.kernel.policy import DEFAULT, Policy
from mnemic.kernel.ports import Analyst, Clock, Embedder, Entropy, Log, Store, TokenCounter
from mnemic.kernel.reading import Moment
from mnemic.kernel.texts import Salt
from mnemic.kernel.tokens import EstimatedTokens
from mnemic.kernel.vectors import DIMENSION_MAX
from mnemic.projections import recipes
from mnemic.projections.index import VectorIndex
from mnemic.projections.recipes import Recipe
from mnemic.projections.views import View

ANALYST_TIMEOUT_MAX_S = 86_400
NONCE_SIZE = 16
SALT_SIZE = 32


@runtime_checkable
class _Forgetful(Protocol):
    """A log that may have lost words by an erasure that it does not know: an encrypted one."""

    def accounted(self, hands: Hands, *, read_only: bool) -> Log:
        """Return it with every such erasure told in it."""
        ...


@frozen(kw_only=True)
class Models:
    """What a host plugs in beside the store."""

    embedder: Embedder | None
    """None: a model of ours, loaded when first needed."""
    coming: Embedder | None = None
    """To which the space is being moved; it serves from the event on that adopts it."""
    analyst: Analyst | None
    """None: nobody is asked."""
    tokens: TokenCounter
    recipe: Recipe = recipes.CURRENT
    """How relevance comes about."""


def open_space(  # each argument is one thing that a host may plug in
    path: Address | Store,
    *,
    space: str,
    policy: Policy | None,
    clock: Clock | None,
    entropy: Entropy | None,
    actor: str,
    synchronous: str,
    read_only: bool,
    checkpoints: Wanted = None,
    retriever: Retriever = "exact",
    keys: str | Path | None = None,
    vectors: Whereabouts = "process",
) -> tuple[Store | None, Space]:
    """Return an open space, and its store if it was opened here and is ours to close.

    Raises:
        NotAStore, StoreTooNew, StoreFailed, LogCorrupt: See each.
        FieldRefused, PolicyRefused: An argument is none of what it should be.
        PointOutOfRange: The space does not exist, and reading only does not make one.
    """
    checked_name("space", space)
    checked_name("actor", actor)
    are_far = are_on_server(vectors, retriever=retriever)
    graphs = None if are_far else wanted_graphs(retriever)
    if policy is not None and not isinstance(policy, Policy):
        raise PolicyRefused(f"not a policy: {policy!r:.100}")
    store, owned = _store(
        path, synchronous=synchronous, read_only=read_only, keys=keys, vectors=are_far
    )
    hands = Hands(clock=clock or SystemClock(), entropy=entropy or SystemEntropy(), actor=actor)
    try:
        if not (read_only or space in store.spaces()):
            check_unmixed(store, space)
        opened = Space(
            _accounted(store.log(space, create=not read_only), hands, read_only=read_only),
            clock=hands.clock,
            entropy=hands.entropy,
            actor=actor,
            read_only=read_only,
        )
        opened.store = store
        if are_far:
            opened.far_of = far_of(
                store,
                space,
                folded=lambda: opened.state.version,
                erasures=lambda: opened.erasures,
            )
        place = shelf(store, checkpoints, read_only=read_only)
        _keep_checkpoints(opened, place)
        _keep_graphs(opened, place, graphs)
        opened.restore()
        if are_far and not read_only:
            mend(store, space, opened.state)
        if opened.state.version < 0:
            _begin(opened, policy or DEFAULT)
        if opened.keeper is not None:
            opened.keeper.settle()
    except BaseException:
        if owned:
            store.close()
        raise
    return (store if owned else None), opened


def _store(
    path: Address | Store,
    *,
    synchronous: str,
    read_only: bool,
    keys: str | Path | None,
    vectors: bool,
) -> tuple[Store, bool]:
    """Return the store, and whether it was opened here."""
    if keys is not None and not isinstance(keys, str | Path):
        raise FieldRefused(f"keys must be the path of a file, got {keys!r:.100}", field="keys")
    if isinstance(path, str | Path):
        file = None if keys is None else Path(keys)
        opened = open_store(
            path, synchronous=synchronous, read_only=read_only, keys=file, vectors=vectors
        )
        return opened, True
    if not callable(getattr(path, "log", None)):
        raise FieldRefused(f"neither a path nor a store: {path!r:.100}", field="path")
    if keys is not None:
        raise FieldRefused(
            "keys go with an address, and this store is open already",
            recovery="Give EncryptedStore(store, KeyTable(keys)), or the address.",
            field="keys",
        )
    return path, False


def _accounted(log: Log, hands: Hands, *, read_only: bool) -> Log:
    """Return *log*, telling of every erasure that its words have met."""
    if isinstance(log, _Forgetful):
        return log.accounted(hands, read_only=read_only)
    return log


def _keep_checkpoints(opened: Space, place: Shelf | None) -> None:
    """Give the space somebody who keeps its checkpoints, if there is a place for them."""
    if place is not None:
        from mnemic.adapters.checkpoints.keeper import Keeper

        opened.keeper = Keeper(
            opened.log,
            place,
            guard=opened.guard,
            state=lambda: opened.state,
            far_of=opened.far_of,
            is_as_folded=opened.is_as_folded,
        )


def _keep_graphs(opened: Space, place: Shelf | None, wanted: Graphs | None) -> None:
    """Give the space somebody who keeps graphs over its vectors, in files beside checkpoints."""

    def folder() -> GraphFolder | None:
        genesis = opened.log.digest_at(0)
        if place is None or genesis is None:
            return None
        return GraphFolder(place, space=opened.log.name, genesis=genesis)

    def index() -> VectorIndex | None:
        embedder = opened.state.timeline.embedder
        return None if embedder is None else opened.state.indexes.get(embedder)

    opened.graphs = GraphKeeper(wanted, guard=opened.guard, index=index, folder=folder)


def _begin(opened: Space, policy: Policy) -> None:
    """Write the first events, unless another process did so meanwhile.

    Raises:
        LogCorrupt, StoreTooNew: There are events, and the first of them cannot be read.
        PointOutOfRange: There are none, and whoever only reads writes none.
    """
    if opened.damage is not None:
        raise opened.damage
    if opened.read_only:
        raise PointOutOfRange(f"space {opened.log.name!r} is empty", point="version", head=-1)

    def decide(view: View, _: Moment) -> Written:
        if view.point.version >= 0:
            return Written(())
        nonce = opened.entropy.token(NONCE_SIZE).hex()
        salt = Salt(value=opened.entropy.token(SALT_SIZE))
        return Written(
            (
                SpaceOpened(nonce=nonce, salt=salt),
                PolicyAdopted(policy_id=policy.id, body=policy.body),
            )
        )

    opened.execute(Command("open", {}), decide)


def models(
    space: Space,
    *,
    embedder: Embedder | None,
    analyst: Analyst | None,
    analyst_timeout_s: float,
    tokens: TokenCounter | None,
) -> Models:
    """Return the models of a host, after checking that the space takes them.

    Raises:
        EmbedderMismatch: The space was built with another embedder than the one given.
        FieldRefused: One of them is none, or has no name that a log could hold, or the time limit
            is none.
    """
    if embedder is not None:
        check_identity(embedder)
        check_embedder(space.state.timeline.embedder, embedder.identity)
    if tokens is not None:
        checked_name("name of the token counter", getattr(tokens, "name", None))
    return Models(
        embedder=embedder,
        analyst=_analyst(analyst, analyst_timeout_s),
        tokens=tokens or EstimatedTokens(),
    )


def _analyst(given: Analyst | None, timeout_s: float) -> Analyst | None:
    """Return who is asked: the rules if the host brought nobody, anyone else with a time limit.

    Raises:
        FieldRefused: It is no analyst, or the limit is none.
    """
    is_number = isinstance(timeout_s, int | float) and not isinstance(timeout_s, bool)
    if not is_number or not 0 < timeout_s <= ANALYST_TIMEOUT_MAX_S:
        raise FieldRefused(
            f"analyst_timeout_s must be a number above 0 and at most {ANALYST_TIMEOUT_MAX_S}, "
            f"got {timeout_s!r}",
            field="analyst_timeout_s",
        )
    if given is None:
        return RulesAnalyst()  # takes microseconds and waits for nothing
    if isinstance(given, NoAnalyst):
        return None
    if not callable(getattr(given, "analyse", None)):
        raise FieldRefused(
            f"not an analyst: {given!r:.100}",
            recovery="Give one, None for the rules, or NoAnalyst() for nobody.",
            field="analyst",
        )
    checked_name("name of the analyst", getattr(given, "name", None))
    return TimedAnalyst(given, timeout_s)


def check_identity(embedder: Embedder) -> None:
    """Refuse an embedder whose name a log could not hold.

    Raises:
        FieldRefused: It has no identity, or one with a field of another type or out of range.
    """
    identity = getattr(embedder, "identity", None)
    if not isinstance(identity, EmbedderIdentity):
        raise FieldRefused(f"not an embedder: {embedder!r:.100}", field="embedder")
    checked_name("name of the embedder", identity.name)
    fits = type(identity.dimension) is int and 1 <= identity.dimension <= DIMENSION_MAX
    if not fits or not isinstance(identity.weights, str):
        raise FieldRefused(f"not the identity of an embedder: {identity}", field="embedder")


def check_embedder(adopted: EmbedderIdentity | None, given: EmbedderIdentity) -> None:
    """Refuse a model that a space was not built with.

    Raises:
        EmbedderMismatch: Naming both.
    """
    if adopted is not None and adopted != given:
        raise EmbedderMismatch(
            f"the space holds vectors of {adopted.name} ({adopted.dimension}-d), "
            f"not of {given.name} ({given.dimension}-d)",
            adopted=adopted.name,
            given=given.name,
        )
