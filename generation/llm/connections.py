"""The HTTP connections to one endpoint, over aiohttp: whole answers and streamed ones, each of a bounded size."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from generation.llm.protocol.allowed_hosts import Reach, origin_of
from generation.llm.protocol.messages import PROXY_NOT_USED
from generation.llm.protocol.reply_sizes import LARGEST_EVENT, LARGEST_REPLY, LARGEST_STREAM, ReplyRefused, size_refused

if TYPE_CHECKING:
    import aiohttp
    from yarl import URL

STREAM_TYPE = "event-stream"
LAST_EVENT = "[DONE]"
DRAIN_SECONDS = 0.5
"""How long to wait for the end of a body after its last event, so that the connection can be used again."""


@dataclass(frozen=True)
class Answer:
    """A server's answer, read to its end. `headers` ignore case; `reason` may be empty."""

    status: int
    reason: str
    headers: Mapping[str, str]
    content: bytes

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    @property
    def text(self) -> str:
        return self.content.decode("utf-8", errors="replace")


class Connections:
    """A pool of at most `connections` connections, opened as calls need them. Create it inside the event loop using it.

    Only addresses that `reach` allows are connected to. Redirects are not followed, since the key would be sent along;
    None sends no key. Headers that the environment names for OpenAI's library are not sent; a proxy that the environment
    names is used only for hosts that `reach` lists. The libraries are imported here because importing them takes longer
    than a call and would count as part of the first one. Raises BadAddress, HostRefused.
    """

    def __init__(
        self, *, base_url: str, key: str | None, timeout_seconds: float, connections: int, reach: Reach
    ) -> None:
        import aiohttp
        import httpx2

        from generation.llm.transports import ACCEPTED, connector

        self._origin = origin_of(base_url)
        reach.check(self._origin)
        self._proxy_unused = ""
        self.base_url, self.timeout_seconds = base_url, timeout_seconds
        self._urls: dict[str, URL] = {}
        proxy = proxy_to(base_url)
        if proxy and not reach.lists(self._origin):
            self._proxy_unused, proxy = proxy, None
        # Reading all certificates of the authorities takes a time that plain HTTP need not wait for.
        certificates = True if proxy is None and base_url.startswith("http:") else httpx2.create_ssl_context()
        self._session = aiohttp.ClientSession(
            connector=connector(reach, certificates, connections, proxied=proxy is not None),
            timeout=aiohttp.ClientTimeout(sock_connect=timeout_seconds, sock_read=timeout_seconds),
            headers={
                "Accept": "application/json",
                **({} if key is None else {"Authorization": f"Bearer {key}"}),
                "User-Agent": "Plumbline",
                **ACCEPTED,
            },
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            trust_env=False,
            proxy=proxy,
        )

    async def post(self, path: str, body: dict[str, Any]) -> Answer:
        """Raises aiohttp's errors, HostRefused, ReplyRefused, ValueError if the body cannot be written as JSON."""
        async with self._posted(path, body) as response:
            return await _read(response)

    async def notify(self, content: bytes, headers: Mapping[str, str], most: int) -> Answer:
        """Post JSON to the address itself, and read at most the first `most` bytes of what is answered.

        Raises aiohttp's errors, HostRefused.
        """
        sent = {"Content-Type": "application/json", **headers}
        posted = self._session.post(self._url(""), data=content, headers=sent, allow_redirects=False)
        async with posted as response:
            return Answer(response.status, response.reason or "", response.headers, await _beginning(response, most))

    async def get(self, path: str) -> Answer:
        """Raises aiohttp's errors, HostRefused, ReplyRefused."""
        async with self._session.get(self._url(path), allow_redirects=False) as response:
            return await _read(response)

    @asynccontextmanager
    async def stream(self, path: str, body: dict[str, Any]) -> AsyncIterator["Stream"]:
        """Post the body and yield the answer while it comes. Raises as `post`."""
        async with self._posted(path, body) as response:
            stream = Stream(response)
            yield stream
            await stream.drain()

    def _posted(self, path: str, body: dict[str, Any]) -> "aiohttp.client._RequestContextManager":
        content = json.dumps(body, separators=(",", ":"), allow_nan=False).encode()
        headers = {"Content-Type": "application/json"}
        return self._session.post(self._url(path), data=content, headers=headers, allow_redirects=False)

    def away(self, cause: BaseException, unsent: bool) -> str:
        """Describe a call that nobody answered; if it was not sent, say which proxy was not used."""
        words = f"{self.base_url}: {cause}"
        if unsent and self._proxy_unused:
            return PROXY_NOT_USED(words=words, entry=self._origin.place)
        return words

    def _url(self, path: str) -> "URL":
        from yarl import URL

        if path not in self._urls:
            self._urls[path] = URL(self.base_url.rstrip("/") + path if path else self.base_url)
        return self._urls[path]

    async def close(self) -> None:
        await self._session.close()


async def _read(response: "aiohttp.ClientResponse") -> Answer:
    from generation.llm.transports import Unpacked

    unpacked = Unpacked(response.headers, LARGEST_REPLY)
    parts = [piece async for raw in response.content.iter_any() for piece in unpacked.pieces(raw)]
    return Answer(response.status, response.reason or "", response.headers, b"".join(parts))


async def _beginning(response: "aiohttp.ClientResponse", most: int) -> bytes:
    """Return the first `most` bytes, fewer if the rest is compressed in a way that was not requested."""
    from generation.llm.transports import Unpacked

    found = b""
    try:
        unpacked = Unpacked(response.headers, LARGEST_REPLY)
        async for raw in response.content.iter_any():
            for piece in unpacked.pieces(raw):
                found += piece
                if len(found) >= most:
                    return found[:most]
    except ReplyRefused:
        return found
    return found


class Stream:
    """An answer that is read while it comes. `is_events`: its content type says that it is a stream of events."""

    def __init__(self, response: "aiohttp.ClientResponse") -> None:
        self._response = response
        self.ok = 200 <= response.status < 300
        self.is_events = STREAM_TYPE in response.headers.get("Content-Type", "").lower()

    async def whole(self) -> Answer:
        """Read the answer to its end. Raises aiohttp's errors, ReplyRefused."""
        return await _read(self._response)

    async def events(self) -> AsyncIterator[str]:
        """Yield the data of each event up to the last one, which says "[DONE]".

        Raises aiohttp's errors, ReplyRefused, and ValueError if an event is not UTF-8.
        """
        from generation.llm.transports import Unpacked

        unpacked, events = Unpacked(self._response.headers, LARGEST_STREAM), Events()
        async for raw in self._response.content.iter_any():
            for piece in unpacked.pieces(raw):
                for _name, data in events.read(piece):
                    if data.startswith(LAST_EVENT):
                        return
                    yield data

    async def drain(self) -> None:
        """Read what follows the last event, for a moment: a connection whose body was read to its end is used again."""
        import aiohttp

        try:
            async with asyncio.timeout(DRAIN_SECONDS):
                async for _raw in self._response.content.iter_any():
                    continue
        except (TimeoutError, aiohttp.ClientError):
            return


async def events_in(content: bytes) -> AsyncIterator[str]:
    """Yield the same from a body that was read to its end. Raises ReplyRefused, ValueError."""
    for _name, data in Events().read(content):
        if data.startswith(LAST_EVENT):
            return
        yield data


class Events:
    """Server-sent events put together from the pieces of a body, each with its name (None if it has none) and its data.

    Every byte is read once, no matter how many lines an event has or where the pieces are cut. Events without data are
    left out.
    """

    def __init__(self) -> None:
        self._line = bytearray()
        self._data: list[bytes] = []
        self._size = 0
        self._name: str | None = None
        self._after_return = False

    def read(self, piece: bytes) -> Iterator[tuple[str | None, str]]:
        """Yield the events that end in this piece. Raises ReplyRefused, and ValueError if an event is not UTF-8."""
        if not piece:
            return
        ends_in_return = piece.endswith(b"\r")
        if self._after_return and piece.startswith(b"\n"):
            piece = piece[1:]
        self._after_return = ends_in_return
        for line in piece.splitlines(keepends=True):
            self._line += line
            self._size += len(line)
            if self._size > LARGEST_EVENT:
                raise size_refused(LARGEST_EVENT)
            if line.endswith((b"\n", b"\r")):
                whole = bytes(self._line.rstrip(b"\r\n"))
                self._line.clear()
                if whole:
                    self._take(whole)
                elif (event := self._ended())[1].strip():
                    yield event

    def _take(self, line: bytes) -> None:
        name, _colon, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
        elif name == b"event":
            self._name = value.decode()

    def _ended(self) -> tuple[str | None, str]:
        event = self._name, b"\n".join(self._data).decode()
        self._data, self._name, self._size = [], None, 0
        return event


def proxy_to(base_url: str) -> str | None:
    """Return the proxy that the environment names for this address, None if there is none."""
    parts = urlsplit(base_url)
    proxies = getproxies()
    if parts.hostname and proxy_bypass(parts.hostname):
        return None
    return proxies.get(parts.scheme) or proxies.get("all")
