"""HTTP client of one server, with retries of temporary failures.

1. A time-out, a broken connection, 408, 429 and 5xx may be temporary: the request is sent again
   after a pause that doubles. A server that specifies a pause (``Retry-After``, in seconds) gets
   that one, unless it is longer than ``PAUSE_MAX_S``; then the request fails at once.
2. Any other status than 200 would be returned again, so it is final. Redirects are not followed: a
   key is sent nowhere but to the address that the host configured.
3. The key is in one header and nowhere else: in no message, no `repr`, no log. It is removed from
   what a server quotes back.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, Self

import httpx
import orjson
from tenacity import RetryCallState, Retrying, retry_if_exception_type, wait_exponential

from mnemic.kernel.errors import FieldRefused, Unavailable

KEY_VARIABLE: Final = "OPENAI_API_KEY"
PAUSE_MAX_S: Final = 60.0
ANSWER_BYTES_MAX: Final = 64 * 2**20
"""Enough for any batch; a larger answer is refused."""
QUOTED_MAX: Final = 200
"""Characters of a server's error message that ours repeats."""

_OK: Final = 200
_JSON: Final = {"Content-Type": "application/json", "Accept": "application/json"}
_NO_PROXY: Final[dict[str, None]] = dict.fromkeys(
    ("all://localhost", "all://127.0.0.1", "all://[::1]")
)
"""Models on this machine are reached directly, even if the environment names a proxy."""
_PASSING: Final = frozenset({408, 429, *range(500, 600)})

Sleep = Callable[[float], None]
"""Waits for so many seconds; tests pass a fake."""


class EndpointUnavailable(Unavailable):
    """The server did not answer, or not usably, in all attempts."""

    code = "endpoint-unavailable"
    default_recovery = (
        "Check that the server runs and its address is right, then try again; nothing was lost."
    )
    pause_s: float | None = None
    """The pause that the server asked for before another attempt, in seconds."""


class EndpointRefused(Unavailable):
    """The server refused the request; repeating it changes nothing."""

    code = "endpoint-refused"
    status = 502
    default_recovery = "Check the address, the name of the model and the key, then try again."


def completion_request(
    model: str, instructions: str, material: Mapping[str, Any], options: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the document of a request to ``/chat/completions``.

    Args:
        model: As the server calls it.
        instructions: What the model is to do.
        material: What it is to do it with; sent as JSON in a message of the user, as data.
        options: Further fields of the document.
    """
    return {
        "model": model,
        "messages": [
            {"role": "system", "content": instructions},
            {"role": "user", "content": orjson.dumps(material).decode()},
        ],
        **options,
    }


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
        sleep: Sleep = time.sleep,
    ) -> None:
        """Prepare for *base_url*; nothing is sent yet.

        Args:
            base_url: Such as ``https://api.openai.com/v1``. Without a path, ``/v1`` is added.
            api_key: None: the environment's ``OPENAI_API_KEY``, if there is one. Empty: no key.
            timeout_s: How long to wait for a connection, and for each piece of an answer. > 0.
            retries: How often to try again. >= 0.
            backoff_s: The first pause; each later one is twice the one before. >= 0.
            sleep: What waits.
        Raises:
            FieldRefused: One of them is out of range, or not a valid address or key.
        """
        at_least("timeout_s", timeout_s, 0.001)
        at_least("retries", retries, 0)
        at_least("backoff_s", backoff_s, 0)
        self.address = _address(base_url)
        self._key = _key(os.environ.get(KEY_VARIABLE, "") if api_key is None else api_key)
        self._backoff = wait_exponential(multiplier=backoff_s, max=PAUSE_MAX_S)
        self._retrying = Retrying(
            retry=retry_if_exception_type(EndpointUnavailable),
            wait=self._pause_s,
            stop=lambda state: state.attempt_number > retries or state.upcoming_sleep > PAUSE_MAX_S,
            sleep=sleep,
            reraise=True,
        )
        headers = _JSON | ({"Authorization": f"Bearer {self._key}"} if self._key else {})
        self._client = httpx.Client(headers=headers, timeout=timeout_s, mounts=_NO_PROXY)

    def post(self, path: str, document: Mapping[str, Any]) -> bytes:
        """Send *document* as JSON to *path* below the address, and return the answer's body.

        Raises:
            EndpointUnavailable: There was no usable answer in all attempts.
            EndpointRefused: The server refused the request.
        """
        return self._retrying(self._exchange, self.address + path, orjson.dumps(document))

    def close(self) -> None:
        """Close the connections, finally."""
        self._client.close()

    def _exchange(self, url: str, body: bytes) -> bytes:
        """Return the answer of one attempt.

        Raises:
            EndpointUnavailable: Another attempt may succeed.
            EndpointRefused: No other attempt would.
        """
        answer = bytearray()
        try:
            with self._client.stream("POST", url, content=body) as response:
                for piece in response.iter_bytes():
                    answer += piece
                    if len(answer) > ANSWER_BYTES_MAX:
                        raise EndpointRefused(
                            f"{url} sent more than {ANSWER_BYTES_MAX} bytes",
                            recovery="Ask for less: a smaller batch_size, or another server.",
                        )
        except httpx.RequestError as error:
            raise self._unavailable(url, str(error) or repr(error)) from None
        status = response.status_code
        if status == _OK:
            return bytes(answer)
        complaint = f"{status} {answer.decode(errors='replace')}"
        if status not in _PASSING:
            refusal = f"{url} answered {self._blotted(complaint)}"
            raise EndpointRefused(refusal, http_status=status)
        raise self._unavailable(url, complaint, response)

    def _unavailable(
        self, url: str, complaint: str, response: httpx.Response | None = None
    ) -> EndpointUnavailable:
        attempts = self._retrying.statistics["attempt_number"]
        error = EndpointUnavailable(
            f"{url} failed {attempts} times, at last with {self._blotted(complaint)}",
            http_status=response and response.status_code,
            attempts=attempts,
        )
        asked = "" if response is None else response.headers.get("Retry-After", "")
        error.pause_s = float(asked) if asked.isascii() and asked.isdigit() else None
        return error

    def _pause_s(self, state: RetryCallState) -> float:
        """Return the pause before the next attempt, in seconds."""
        error = None if state.outcome is None else state.outcome.exception()
        if isinstance(error, EndpointUnavailable) and error.pause_s is not None:
            return error.pause_s
        return self._backoff(state)

    def _blotted(self, complaint: str) -> str:
        """Return the beginning of *complaint* on one line, without the key."""
        if self._key:
            complaint = complaint.replace(self._key, "…")
        return " ".join(complaint[: 2 * QUOTED_MAX].split())[:QUOTED_MAX]


class Connected:
    """Base class of what uses an endpoint, and releases it when closed."""

    _endpoint: Endpoint

    def close(self) -> None:
        """Close the connections, finally."""
        self._endpoint.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


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
    try:
        url = httpx.URL(base_url.strip())
    except (AttributeError, httpx.InvalidURL):
        url = httpx.URL()
    extras = url.userinfo or url.query or url.fragment
    if extras or not url.host or url.scheme not in {"http", "https"}:
        # The message must not repeat the address: it may hold a password.
        raise FieldRefused(
            "base_url is not a plain address",
            recovery="Write it like http://localhost:11434/v1, without user, query or fragment.",
            field="base_url",
        )
    return str(url).rstrip("/") + ("/v1" if url.path == "/" else "")


def _key(given: str) -> str:
    """Return a key that fits into a header.

    Raises:
        FieldRefused: It does not, and the message does not repeat it.
    """
    key = given.strip() if isinstance(given, str) else "\n"
    if not (key.isascii() and key.isprintable()):
        raise FieldRefused("api_key is not printable ASCII text", field="api_key")
    return key
