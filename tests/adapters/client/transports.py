"""Faulty transports of requests, on top of a real one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import httpx


class Lossy(httpx.BaseTransport):
    """A network that loses answers: the server has done the work, but the client gets no answer.

    Args:
        lost: How many of them, the first ones; 0: none.
        of: Whose path ends so; empty: of all.
    """

    def __init__(self, lost: int, *, of: str = "") -> None:
        self.sent: list[httpx.Request] = []
        self._lost = lost
        self._of = of
        self._behind = httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request, and give back its answer unless that is lost."""
        response = self._behind.handle_request(request)
        self.sent.append(request)
        if self._lost and request.url.path.endswith(self._of):
            self._lost -= 1
            response.close()
            raise httpx.ReadError("the answer was lost")
        return response

    def close(self) -> None:
        """Close the sockets."""
        self._behind.close()

    @property
    def keys(self) -> list[str | None]:
        """The command ids of what was sent."""
        return [request.headers.get("Idempotency-Key") for request in self.sent]


class Scripted(httpx.BaseTransport):
    """A proxy before the server with scripted answers, then none."""

    def __init__(self, *answers: tuple[int, Mapping[str, str], bytes]) -> None:
        self.sent: list[httpx.Request] = []
        self._answers = [*answers]

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Answer with the next answer."""
        self.sent.append(request)
        if not self._answers:
            raise httpx.ConnectError("nobody is there")
        status, headers, body = self._answers.pop(0)
        return httpx.Response(status, headers=headers, content=body)


class Breaking(httpx.BaseTransport):
    """A network that breaks in the middle of every stream, behind the same bytes."""

    def __init__(self, begun: bytes) -> None:
        self.sent = 0
        self._begun = begun

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Answer with a stream that breaks."""
        self.sent += 1
        headers = {"content-type": "text/event-stream"}
        return httpx.Response(200, headers=headers, stream=_Broken(self._begun), request=request)


class _Broken(httpx.SyncByteStream):
    def __init__(self, begun: bytes) -> None:
        self._begun = begun

    def __iter__(self) -> Iterator[bytes]:
        yield self._begun
        raise httpx.RemoteProtocolError("peer closed connection")
