"""Fuzzed input of interfaces: bytes at a socket, lines of a pipe, arguments of a command line."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import IO, Any

import orjson
from hypothesis import strategies as st

from mnemic.adapters.cli import main
from mnemic.adapters.cli.invocation.failures import Exit
from mnemic.adapters.remote.operations import operations
from mnemic.kernel.errors import Refused
from tests.adapters.http.servers import Served, served
from tests.fuzz.bounded import Attempt, Target
from tests.fuzz.values import changed, documents, texts

# --- HTTP -----------------------------------------------------------------------------------------

SPACE = b"/v1/spaces/default"
BODY = b'{"content": "The gate sticks."}'
LENGTH = b"Content-Length: %d\r\n" % len(BODY)
CHUNKED = b"Transfer-Encoding: chunked\r\n"
JSON = b"Content-Type: application/json\r\n"
CHUNKS = b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)


def request(head: bytes, headers: bytes = b"", body: bytes = b"") -> bytes:
    """Return the bytes of a request; the secret is inserted later."""
    return (
        head
        + b" HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer @\r\n"
        + headers
        + (b"\r\n" + body)
    )


REQUESTS = (
    request(b"GET " + SPACE),
    request(b"GET " + SPACE + b"/log?after=3&limit=5"),
    request(b"GET " + SPACE + b"/blocks?as_of=hour:1.5&tag=a%2Fb"),
    request(b"GET " + SPACE + b"/events", b"Last-Event-ID: 3\r\nAccept: text/event-stream\r\n"),
    request(b"POST " + SPACE + b"/blocks", JSON + LENGTH, BODY),
    request(b"POST " + SPACE + b"/blocks", JSON + CHUNKED, CHUNKS),
    request(b"POST " + SPACE + b"/recall", JSON + b"Content-Length: 17\r\n", b'{"query": "gate"}'),
    request(b"PUT " + SPACE, b'If-Match: "1"\r\nContent-Length: 0\r\n'),
    request(b"POST /mcp", JSON + b"Content-Length: 2\r\n", b"{}"),
)
SMUGGLED = (
    request(b"POST " + SPACE + b"/blocks", JSON + LENGTH + b"Content-Length: 0\r\n", BODY),
    request(b"POST " + SPACE + b"/blocks", JSON + LENGTH + CHUNKED, CHUNKS),
    request(b"POST " + SPACE + b"/blocks", JSON + CHUNKED + LENGTH, CHUNKS),
    request(b"POST " + SPACE + b"/blocks", JSON + b"Transfer-Encoding: x, chunked\r\n", CHUNKS),
    request(b"POST " + SPACE + b"/blocks", JSON + b"Transfer-Encoding : chunked\r\n", CHUNKS),
    request(b"POST " + SPACE + b"/blocks", JSON + b"Content-Length: +31\r\n", BODY),
    request(b"POST " + SPACE + b"/blocks", JSON + b"Content-Length: -1\r\n", BODY),
    request(b"POST " + SPACE + b"/blocks", JSON + b"Content-Length: 9" + b"9" * 30 + b"\r\n", BODY),
    request(b"POST " + SPACE + b"/blocks", JSON + CHUNKED, b"ffffffffffffffff\r\n" + BODY),
    request(b"POST " + SPACE + b"/blocks", JSON + CHUNKED, b"-1\r\n" + BODY),
    request(b"GET " + SPACE, b"X: " + b"x" * 100_000 + b"\r\n"),
    request(b"GET " + SPACE, b"".join(b"X-%d: x\r\n" % number for number in range(5000))),
    request(b"GET " + SPACE, b"X: a\r\n folded\r\n"),
    request(b"GET " + SPACE + b"/" + b"a" * 100_000),
    request(b"GET http://example.org/v1/spaces"),
    request(b"GET /v1/spaces/../../etc/passwd"),
    request(b"GET /v1/spaces/%2e%2e%2f%2e%2e%2fetc%2fpasswd"),
    request(b"GET /v1/spaces/a\0b"),
    b"GET /v1/spaces\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
)
WAIT_S = 0.05
"""An incomplete request gets no answer, so the test does not wait for long."""


@contextmanager
def over_a_socket(folder: Path) -> Generator[Attempt]:
    """Send bytes to a server; it never answers with an internal error, and continues to serve."""
    with served(folder) as server, server.client() as client:
        client.put("/v1/spaces/default").raise_for_status()

        def attempt(given: bytes) -> None:
            answers = sent(server, given.replace(b"@", server.secret.encode()))
            statuses = [int(line.split()[1]) for line in answers]
            assert all(status < 500 for status in statuses), answers
            assert client.get("/v1/spaces").status_code == 200
            if not statuses or statuses[0] >= 400:
                raise Refused("it was not taken")

        yield attempt


def sent(server: Served, data: bytes) -> list[bytes]:
    """Return the first lines of all answers to some bytes that arrive in time."""
    with server.connect() as connection:
        connection.settimeout(WAIT_S)
        got = b""
        try:
            connection.sendall(data)
            while piece := connection.recv(1 << 16):
                got += piece
        except (TimeoutError, ConnectionError):
            pass
    return [line for line in got.split(b"\r\n") if line.startswith(b"HTTP/1.")]


# --- MCP over a pipe ------------------------------------------------------------------------------

RUN = (sys.executable, "-c", "import sys; from mnemic.adapters.cli import main; sys.exit(main())")


def line(method: str, number: int | None = 7, **params: Any) -> bytes:
    """Return one message."""
    told: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
    return orjson.dumps(told if number is None else {**told, "id": number})


HELLO = line(
    "initialize",
    1,
    protocolVersion="2025-11-25",
    capabilities={},
    clientInfo={"name": "somebody", "version": "1"},
)
MESSAGES = (
    HELLO,
    line("tools/list"),
    line("ping"),
    line("tools/call", name="mnemic_learn", arguments={"content": "The gate sticks."}),
    line("tools/call", name="mnemic_recall", arguments={"query": "gate", "as_of": "hour:0"}),
    line("resources/list"),
    line("resources/read", uri="mnemic://blocks/0000000000000000"),
    line("prompts/get", name="recall", arguments={"query": "gate"}),
    line("completion/complete", ref={"type": "ref/prompt", "name": "x"}, argument={"name": "a"}),
    line("notifications/initialized", None),
    line("notifications/cancelled", None, requestId=7),
    b"[" + line("ping") + b"]",
    b'{"jsonrpc": "2.0", "id": 7, "result": {}}',
)


@contextmanager
def over_a_pipe(folder: Path) -> Generator[Attempt]:
    """Write lines to ``mnemic mcp``; it continues, and answers valid requests."""
    with (
        (folder / "said").open("wb") as said,
        subprocess.Popen(
            [*RUN, "--db", str(folder / "agent.db"), "mcp"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said,
        ) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        tell(process.stdin, HELLO)
        heard(process.stdout, 1)
        tell(process.stdin, line("notifications/initialized", None))
        numbers = iter(range(1000, 10**9))

        def attempt(given: bytes) -> None:
            assert process.stdin is not None
            assert process.stdout is not None
            number = next(numbers)
            tell(process.stdin, given.replace(b"\n", b" "))
            tell(process.stdin, line("ping", number))
            if any("error" in each for each in heard(process.stdout, number)):
                raise Refused("it was answered by an error")

        yield attempt
        process.stdin.close()
        assert process.wait(20) == 0
    assert b"Traceback" not in (folder / "said").read_bytes()


def tell(pipe: IO[bytes], message: bytes) -> None:
    """Write one line."""
    pipe.write(message + b"\n")
    pipe.flush()


def heard(pipe: IO[bytes], number: int) -> list[dict[str, Any]]:
    """Return the answers up to the one to message *number*."""
    found: list[dict[str, Any]] = []
    while True:
        answer = json.loads(pipe.readline())
        if answer.get("id") == number:
            assert "result" in answer, answer
            return found
        found.append(answer)


# --- the command line -----------------------------------------------------------------------------

ODD_OPTIONS = (
    "--json --limit --as-of --version --hour --tag --top-k --where --space --actor -- -".split()
)
COMMANDS = sorted(
    {name.replace("_", "-") for name in operations()} - {"export", "fork", "re-extract", "reembed"}
)


@contextmanager
def at_a_shell(folder: Path) -> Generator[Attempt]:
    """Run the command line with invalid arguments; an internal error would exit with 70."""
    store = str(folder / "agent.db")
    assert told(["--db", store, "learn", "The gate sticks."]) == Exit.OK

    def attempt(given: list[str]) -> None:
        if told(["--db", store, *given]) != Exit.OK:
            raise Refused("it was not taken")

    yield attempt


def told(words: list[str]) -> int:
    """Return the exit code of the command line, with empty input and discarded output."""
    nothing = TextIOWrapper(BytesIO())
    with redirect_stdout(TextIOWrapper(BytesIO())), redirect_stderr(TextIOWrapper(BytesIO())):
        before, sys.stdin = sys.stdin, nothing
        try:
            code = main(words)
        except SystemExit as leaving:
            code = int(leaving.code or 0)
        finally:
            sys.stdin = before
    assert code != Exit.INTERNAL
    return code


WORDS = (
    texts.filter(lambda word: "\ud800" not in word and not word.startswith(("..", "-")))
    | st.sampled_from(ODD_OPTIONS)
    | documents.map(lambda value: json.dumps(value, default=str))
)

TARGETS = {
    "bytes at a socket": Target(
        inputs=st.sampled_from(SMUGGLED) | changed(REQUESTS), opened=over_a_socket
    ),
    "lines of a pipe": Target(inputs=changed(MESSAGES), opened=over_a_pipe),
    "words of a command line": Target(
        inputs=st.tuples(st.sampled_from(COMMANDS), st.lists(WORDS, max_size=4)).map(
            lambda given: [given[0], *given[1]]
        ),
        opened=at_a_shell,
    ),
}
"""By name."""
