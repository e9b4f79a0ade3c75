"""Routes: method and path of each operation.

Arguments that the path does not hold are in the query of a GET or a DELETE, and in a JSON object
otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from http import HTTPStatus
from types import MappingProxyType

from attrs import frozen

from mnemic.adapters.access import EVERY_SPACE
from mnemic.adapters.remote.operations import Operation, operations
from mnemic.kernel.errors import FieldRefused

ROOT = "/v1"
SPACE = f"{ROOT}/spaces/{{space}}"
MADE = {"learn": "block_id", "compose": "composition_id"}
"""Ids that an operation returns and that can be appended to its path to get what it made."""
UNREACHABLE = frozenset({".", "..", EVERY_SPACE})
"""Names that a client would take for relative path segments, and the wildcard of token scopes."""

_TABLE = """
status               GET     .
erase_space          DELETE  .
guide                GET     /v1/guide

learn                POST    ./blocks                                   201
learn_many           POST    ./blocks/batch
blocks               GET     ./blocks
block                GET     ./blocks/{block_id}
forget               DELETE  ./blocks/{block_id}
erase                POST    ./blocks/{block_id}/erase
revise               POST    ./blocks/{block_id}/revise
rezone               POST    ./blocks/{block_id}/rezone
edges                GET     ./blocks/{block_id}/edges
composed_with        GET     ./blocks/{block_id}/composed-with
analogies            GET     ./blocks/{block_id}/analogies
compare              GET     ./blocks/{block_id}/compare/{other_id}
near_duplicates      GET     ./near-duplicates

connect              POST    ./edges
connects             POST    ./edges/batch
connect_by_query     POST    ./edges/by-query
disconnect           POST    ./edges/disconnect
pending_connections  GET     ./edges/pending

recall               POST    ./recall
deep_reference       POST    ./deep-reference
outcome              POST    ./outcomes

explain              GET     ./decisions/{decision_id}/explain
why_not              GET     ./decisions/{decision_id}/why-not/{block_id}
replay               GET     ./decisions/{decision_id}/replay
what_if              POST    ./decisions/{decision_id}/what-if
receipt              GET     ./decisions/{decision_id}/receipt
replay_all           POST    ./decisions/replay
verify_receipt       POST    ./receipts/verify
backtest             POST    ./backtest

compose              POST    ./compositions                             201
ledger               GET     ./compositions
composition          GET     ./compositions/{composition_id}
label                POST    ./compositions/{composition_id}/labels     201
retract_label        POST    ./labels/{label_id}/retract
composed_graph       POST    ./composed-graph
frontier             GET     ./frontier

start_session        POST    ./sessions                                 201
end_session          POST    ./sessions/end
consolidate          POST    ./consolidate
curate               POST    ./curate
reembed              POST    ./reembed

log                  GET     ./log
history              GET     ./history
timeline             GET     ./timeline
diff                 GET     ./diff
revert               POST    ./revert
descent              POST    ./descent
quarantine           POST    ./quarantine
revert_source        POST    ./revert-source
verify               POST    ./verify

policy               GET     ./policy
adopt_policy         PUT     ./policy
calibrate            POST    ./calibrate
checkpoints          GET     ./checkpoints
checkpoint           POST    ./checkpoints                              201
drop_checkpoints     DELETE  ./checkpoints

export               GET     ./export
import_space         POST    ./import                                   201
fork                 POST    ./fork                                     201
"""
"""Operation, method, path (``.`` is that of the space), and the status of success if not 200."""


@frozen(kw_only=True)
class Route:
    """The HTTP route of one operation."""

    operation: Operation
    method: str
    path: str
    status: int = HTTPStatus.OK
    """Of a successful response."""

    @property
    def in_path(self) -> tuple[str, ...]:
        """Names of the arguments in the path, except the space."""
        return tuple(name for name in re.findall(r"{(\w+)}", self.path) if name != "space")

    @property
    def of_space(self) -> bool:
        """Whether the operation belongs to one space."""
        return self.path.startswith(SPACE)

    @property
    def by_query(self) -> bool:
        """Whether the other arguments are in the query."""
        return self.method in {"GET", "DELETE"}


@cache
def routes() -> Mapping[str, Route]:
    """Return the route of every operation, by its name."""
    found = [_route(*line.split()) for line in _TABLE.splitlines() if line]
    return MappingProxyType({route.operation.name: route for route in found})


def _route(name: str, method: str, path: str, status: str = "200") -> Route:
    return Route(
        operation=operations()[name],
        method=method,
        path=SPACE + path.removeprefix(".") if path.startswith(".") else path,
        status=int(status),
    )


def check_name(space: str) -> None:
    """Refuse a name by which no client could reach the space, or no token could name it alone.

    Raises:
        FieldRefused: It has surrounding white space, or is a relative path segment or the wildcard.
    """
    if space != space.strip() or space in UNREACHABLE:
        raise FieldRefused(
            f"a space cannot be called {space!r:.200} here",
            recovery="Give a name without white space around it that is more than dots, and not *.",
            field="space",
        )
