"""The extractor that options and environment variables configure: a model behind an endpoint."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit, urlunsplit

from mnemic.adapters.cli.invocation.options import MemoryOptions, variable
from mnemic.adapters.extras import require
from mnemic.kernel.errors import FieldRefused

if TYPE_CHECKING:
    from mnemic.adapters.extractors.chat import ChatExtractor

URL: Final = "--chat-url"
MODEL: Final = "--chat-model"
KEY_VARIABLES: Final = ("MNEMIC_CHAT_KEY", "OPENAI_API_KEY")
"""Environment variables that the key of the endpoint is read from, the first one that is set. There
is no option for it: others can see the words of a command."""


def chat_extractor(run: MemoryOptions) -> ChatExtractor | None:
    """Return the extractor ``chat``; None: it is not configured.

    Raises:
        FieldRefused: Only one of endpoint and model is given, or one of them is invalid.
        Unavailable: A package that it needs is not installed.
    """
    if not run.chat_url and not run.chat_model:
        return None
    if not run.chat_url or not run.chat_model:
        given, missing = (URL, MODEL) if run.chat_url else (MODEL, URL)
        raise FieldRefused(
            f"{given} is given without {missing}",
            recovery=f"Give both, or set {variable(URL)} and {variable(MODEL)}.",
            field=missing.removeprefix("--"),
        )
    require("httpx", "openai", "the extractor chat needs a package that is not installed")
    from mnemic.adapters.extractors.chat import ChatExtractor

    name = key_variable()
    return ChatExtractor(
        run.chat_url, run.chat_model, api_key="" if name is None else os.environ[name]
    )


def key_variable() -> str | None:
    """Return the environment variable that has the key of the endpoint; None: none is set."""
    return next((name for name in KEY_VARIABLES if os.environ.get(name)), None)


def shown_url(url: str | None) -> str:
    """Return the address of the endpoint without a name and a password that may be in it."""
    if not url:
        return "none"
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
