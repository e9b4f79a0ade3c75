"""The extras of this installation: whether one is there, and the command that installs it.

The note of the installer is read with modules that take as long to import as a twentieth of all
others together, so they are imported when such a message is made.
"""

from __future__ import annotations

import json
from importlib.util import find_spec
from typing import Any, Final

from mnemic.kernel.errors import Unavailable

DISTRIBUTION: Final = "mnemic"
RECORD: Final = "direct_url.json"
"""Where an installer notes what was installed by its address. Source: PEP 610."""


def pip_install(extra: str) -> str:
    """Return the command that adds an extra, from the place that mnemic was installed from.

    Args:
        extra: Its name, as in ``pyproject.toml``.
    """
    import shlex

    return f"pip install {shlex.quote(requirement(extra, _origin()))}"


def require(package: str, extra: str, need: str, /, *, instead: str = "", **facts: str) -> None:
    """Refuse to go on without a package.

    Args:
        package: Its name, as it is imported.
        extra: The extra that has it.
        need: What needs it and that it is missing, as the message of the error.
        instead: How to do without, as the end of the recovery: ``; or ...``.
        facts: Facts of the error.

    Raises:
        Unavailable: It is not installed; the recovery says how to install it.
    """
    if find_spec(package) is None:
        raise Unavailable(need, recovery=f"Install it: {pip_install(extra)}{instead}.", **facts)


def requirement(extra: str, origin: dict[str, Any]) -> str:
    """Return what pip has to be given.

    Args:
        extra: The name of the extra.
        origin: The contents of the installer's note; empty if it was installed by its name.
    """
    url = str(origin.get("url", ""))
    if "dir_info" in origin:  # a clone
        from urllib.parse import urlsplit
        from urllib.request import url2pathname

        return f"{url2pathname(urlsplit(url).path)}[{extra}]"
    if "vcs_info" in origin:
        vcs = origin["vcs_info"]
        return f"{DISTRIBUTION}[{extra}] @ {vcs['vcs']}+{url}@{vcs['commit_id']}"
    return f"{DISTRIBUTION}[{extra}] @ {url}" if url else f"{DISTRIBUTION}[{extra}]"


def _origin() -> dict[str, Any]:
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        found = distribution(DISTRIBUTION).read_text(RECORD)
        origin = json.loads(found or "{}")
    except (PackageNotFoundError, ValueError):
        return {}
    return origin if isinstance(origin, dict) else {}
