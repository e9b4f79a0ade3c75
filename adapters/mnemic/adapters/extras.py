"""The command that installs an extra of this installation, for messages that recommend it.

The note of the installer is read with modules that take as long to import as a twentieth of all
others together, so they are imported when such a message is made.
"""

from __future__ import annotations

import json
import shlex
from typing import Any, Final

DISTRIBUTION: Final = "mnemic"
RECORD: Final = "direct_url.json"
"""Where an installer notes what was installed by its address. Source: PEP 610."""


def pip_install(extra: str) -> str:
    """Return the command that adds an extra, from the place that mnemic was installed from.

    Args:
        extra: Its name, as in ``pyproject.toml``.
    """
    return f"pip install {shlex.quote(requirement(extra, _origin()))}"


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
