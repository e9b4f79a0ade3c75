"""Translation of arguments that are objects in the process into values for a server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

from mnemic.adapters.embedders.shipped import EmbedderName, embedder_named
from mnemic.kernel.errors import FieldRefused, PolicyRefused
from mnemic.kernel.policy import Policy
from mnemic.kernel.ports import Embedder


def embedder_name(embedder: Embedder | EmbedderName) -> str:
    """Return the name of a shipped embedder; another name is for the server to refuse.

    Raises:
        FieldRefused: It is an embedder of the caller's own.
    """
    if isinstance(embedder, str):
        return embedder
    name = next((each for each in get_args(EmbedderName) if _is(embedder, each)), None)
    if name is None:
        raise FieldRefused(
            f"the embedder {type(embedder).__name__} cannot be sent to a server",
            recovery="Name bundled or minilm; another one has to be adopted by its own host.",
            field="embedder",
        )
    return str(name)


def _is(embedder: Embedder, name: EmbedderName) -> bool:
    """Whether it is a shipped one. No model is loaded: it may be installed on the server alone."""
    return type(embedder) is type(embedder_named(name))


def policies_by_name(policies: Any) -> Any:
    """Return the policies of a backtest by name; any value of another kind is returned unchanged.

    Raises:
        PolicyRefused: Two have the same name, or one is not a policy.
    """
    if isinstance(policies, Policy):
        return {policies.name: policies}
    if not isinstance(policies, Sequence) or isinstance(policies, str):
        return policies
    found: dict[str, Policy] = {}
    for policy in policies:
        if not isinstance(policy, Policy):
            raise PolicyRefused(f"not a policy: {policy!r:.100}")
        if policy.name in found:
            raise PolicyRefused(
                f"two policies have the name {policy.name!r}",
                recovery="Give a mapping with a different name for each.",
            )
        found[policy.name] = policy
    return found
