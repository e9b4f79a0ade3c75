"""The settings of one host of a cluster."""

from __future__ import annotations

from typing import Literal

from attrs import field, frozen
from attrs.validators import ge, gt

LEASE_S = 5.0
LEASE_MIN_S = 0.5
RENEWALS = 3
"""How often a lease is renewed while it lasts."""
MIN_VERSION_S = 2.0


@frozen(kw_only=True)
class ClusterSettings:
    """How one host takes part in a cluster. It can be pickled, for workers."""

    id: str
    """Of the host, the same for all its workers; another after a restart."""
    url: str
    """Where the other hosts reach its HTTP interface, without a slash at the end."""
    is_shared: bool = False
    """Whether several workers have the lease, which does not end with the first of them."""
    lease_s: float = field(default=LEASE_S, validator=ge(LEASE_MIN_S))
    """For how long a host that is not heard of keeps its spaces."""
    is_home: bool = True
    """Whether spaces are made in this database; if not, others were only moved to it."""
    elsewhere: Literal["forward", "redirect"] = "forward"
    """What is done with a write to a space that another host leads: it is passed on, or the client
    is sent there (307)."""
    read_from: str | None = None
    """Address of a hot standby that answers reads of spaces led elsewhere; None: the database."""
    min_version_s: float = field(default=MIN_VERSION_S, validator=gt(0))
    """How long a read waits until this host has the version that it wants."""
