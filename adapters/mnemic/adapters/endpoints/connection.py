"""HTTP client of one server, with retries of temporary failures.

1. A time-out, a broken connection, 408, 429 and 5xx may be temporary: the request is sent again
   after a pause that doubles. A server that specifies a pause (``Retry-After``) gets that one,
   unless it is longer than ``PAUSE_MAX_S``; then the request fails at once.
2. Any other status than 200 would be returned again, so it is final. Redirects are not followed: a
   key is sent nowhere but to the address that the host configured.
3. The key is in one header and nowhere else: in no message, no `repr`, no log. It is removed from
   what a server quotes back.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import urlsplit

import orjson
import urllib3
from attrs import frozen

from mnemic.kernel.errors import FieldRefused, Unavailable

KEY_VARIABLE: Final = "OPENAI_API_KEY"
PAUSE_MAX_S: Final = 60.0
ANSWER_BYTES_MAX: Final = 64 * 2**20
"""Enough for any batch; a larger answer is refused."""
QUOTED_MAX: Final = 200
"""Characters of a server's error message that ours repeats."""

_OK: Final = 200
_PASSING: Final = frozenset({408, 429})
_SERVER_ERRORS: Final = range(500, 600)

Sleep = Callable[[float], None]
"""Waits for so many seconds; tests pass a fake."""


class EndpointUnavailable(Unavailable):
    """The server did not answer, or not usably, in all attempts."""

    code = "endpoint-unavailable"
    default_recovery = (
        "Check that the server runs and its address is right, then try again; nothing was lost."
    )


class EndpointRefused(Unavailable):
    """The server refused the request; repeating it changes nothing."""

    code = "endpoint-refused"
    status = 502
    default_recovery = "Check the address, the name of the model and the key, then try again."


@frozen(kw_only=True)
class _Failure:
    """A failed attempt that may be repeated."""

    complaint: str
    http_status: int | None = None
    """None: there was no answer."""
    pause_s: float | None = None
    """The pause that the server asked for, in seconds; None: none."""


class Endpoint:
    """Sends JSON to one server and returns the bytes of its answer."""

    def __init__(
        self,
        base_url: str,
        *,
        api_key: str | None = None,
        timeout_s: float = 30.0,
        retries: int = 3,
        backoff_s: float = 0.5,
        connections: int = 1,
        sleep: Sleep = time.sleep,
    ) -> None:
        """Prepare for *base_url*; nothing is sent yet.

        Args:
            base_url: Such as ``https://api.openai.com/v1``. Without a path, ``/v1`` is added.
            api_key: None: the environment's ``OPENAI_API_KEY``, if there is one. Empty: no key.
            timeout_s: How long to wait for a connection, and for each piece of an answer. > 0.
            retries: How often to try again. >= 0.
            backoff_s: The first pause; each later one is twice the one before. >= 0.
            connections: How many threads use this at once. >= 1.
            sleep: What waits.
        Raises:
            FieldRefused: One of them is out of range, or not a valid address or key.
        """
        at_least("timeout_s", timeout_s, 0.001)
        at_least("retries", retries, 0)
        at_least("backoff_s", backoff_s, 0)
        self.address = _address(base_url)
        self._key = _key(os.environ.get(KEY_VARIABLE, "") if api_key is None else api_key)
        self._retries = retries
        self._backoff_s = backoff_s
        self._sleep = sleep
        self._pool = urllib3.PoolManager(
            num_pools=1, maxsize=connections, timeout=urllib3.Timeout(timeout_s), retries=False
        )

    def post(self, path: str, document: Mapping[str, Any]) -> bytes:
        """Send *document* as JSON to *path* below the address, and return the answer's body.

        Raises:
            EndpointUnavailable: There was no usable answer in all attempts.
            EndpointRefused: The server refused the request.
        """
        body = orjson.dumps(document)
        attempt = 0
        while True:
            answer = self._try(path, body)
            if isinstance(answer, bytes):
                return answer
            pause_s = answer.pause_s
            if pause_s is None:
                pause_s = min(self._backoff_s * 2**attempt, PAUSE_MAX_S)
            attempt += 1
            if attempt > self._retries or pause_s > PAUSE_MAX_S:
                raise EndpointUnavailable(
                    f"{self.address}{path} failed {attempt} times, at last with {answer.complaint}",
                    http_status=answer.http_status,
                    attempts=attempt,
                )
            self._sleep(pause_s)

    def close(self) -> None:
        """Close the connections. A later request opens new ones."""
        self._pool.clear()

    def _try(self, path: str, body: bytes) -> bytes | _Failure:
        """Return the answer of one attempt, or a failure that may be temporary.

        Raises:
            EndpointRefused: The failure is permanent.
        """
        try:
            status, headers, answer = self._exchange(path, body)
        except urllib3.exceptions.HTTPError as error:
            return _Failure(complaint=self._blotted(str(error)))
        if len(answer) > ANSWER_BYTES_MAX:
            raise EndpointRefused(
                f"{self.address}{path} sent more than {ANSWER_BYTES_MAX} bytes",
                recovery="Ask for less at once: a smaller batch_size, or another server.",
            )
        if status == _OK:
            return answer
        complaint = f"{status} {self._blotted(answer.decode(errors='replace'))}".strip()
        if status in _PASSING or status in _SERVER_ERRORS:
            pause_s = _asked_pause_s(headers)
            return _Failure(complaint=complaint, http_status=status, pause_s=pause_s)
        raise EndpointRefused(f"{self.address}{path} answered {complaint}", http_status=status)

    def _exchange(self, path: str, body: bytes) -> tuple[int, Mapping[str, str], bytes]:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        response = self._pool.request(
            "POST",
            self.address + path,
            body=body,
            headers=headers,
            redirect=False,
            preload_content=False,
        )
        try:
            answer = response.read(ANSWER_BYTES_MAX + 1)
        except BaseException:
            response.close()
            raise
        if len(answer) > ANSWER_BYTES_MAX:
            response.close()
        response.release_conn()
        return response.status, response.headers, answer

    def _blotted(self, complaint: str) -> str:
        """Return the beginning of *complaint* on one line, without the key."""
        if self._key:
            complaint = complaint.replace(self._key, "…")
        return " ".join(complaint[: 2 * QUOTED_MAX].split())[:QUOTED_MAX]


def at_least(name: str, value: float, least: float) -> None:
    """Refuse a value that is not a number, or is less than *least*.

    Raises:
        FieldRefused: Naming it.
    """
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not least <= value < float("inf"):
        raise FieldRefused(f"{name} must be at least {least}, got {value!r}", field=name)


def _address(base_url: str) -> str:
    """Return *base_url* without a slash at its end, with a path.

    Raises:
        FieldRefused: It is no plain http or https address.
    """
    # The message must not repeat the address: it may hold a password, which is why it is refused.
    refused = FieldRefused(
        "base_url is not a plain address",
        recovery="Write it like http://localhost:11434/v1, without user, query or fragment.",
        field="base_url",
    )
    if not isinstance(base_url, str):
        raise refused
    try:
        parts = urlsplit(base_url.strip())
        is_plain = parts.port != 0 and "@" not in parts.netloc
    except ValueError as error:
        raise refused from error
    if (
        not (is_plain and parts.hostname and parts.scheme in {"http", "https"})
        or parts.query
        or parts.fragment
    ):
        raise refused
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/') or '/v1'}"


def _key(given: str) -> str:
    """Return a key that fits into a header.

    Raises:
        FieldRefused: It does not, and the message does not repeat it.
    """
    key = given.strip() if isinstance(given, str) else "\n"
    if not (key.isascii() and key.isprintable()):
        raise FieldRefused("api_key is not printable ASCII text", field="api_key")
    return key


def _asked_pause_s(headers: Mapping[str, str]) -> float | None:
    """Return the pause that a server asks for, in seconds; None if it asks for none.

    A date is measured against the server's own clock, so that ours does not matter.
    """
    asked = headers.get("Retry-After", "").strip()
    if asked.isascii() and asked.isdigit():
        return float(asked)
    try:
        until, now = (parsedate_to_datetime(date) for date in (asked, headers.get("Date", "")))
        return max(0.0, (until - now).total_seconds())
    except (TypeError, ValueError):
        return None


class Connected:
    """Base class of what uses an endpoint, and releases it when closed."""

    _endpoint: Endpoint

    def close(self) -> None:
        """Close the connections; using it again opens new ones."""
        self._endpoint.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
