"""The HTTP connections of one endpoint: what is only posted goes by aiohttp, all else by the openai client."""

import json
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from generation.llm.protocol.allowed_hosts import Reach, origin_of
from generation.llm.protocol.messages import PROXY_NOT_USED
from generation.llm.protocol.reply_sizes import LARGEST_EVENT, LARGEST_REPLY, size_refused

if TYPE_CHECKING:
    import aiohttp
    import httpx2
    from openai import AsyncOpenAI, AsyncStream, OpenAI
    from openai._streaming import ServerSentEvent
    from yarl import URL


@dataclass(frozen=True)
class Answer:
    """What a server answered, read to its end. `headers` are found whatever their case; `reason` may be empty."""

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


def answer_of(response: "httpx2.Response") -> Answer:
    """The same of the openai client's library; the response must have been read."""
    return Answer(response.status_code, response.reason_phrase, response.headers, response.content)


def forget_environment(client: "OpenAI | AsyncOpenAI") -> None:
    """Drops the headers that the library takes from the environment, since no grant lets them go anywhere."""
    client.organization = client.project = None
    client._custom_headers = {}


class Connections:
    """Up to `connections` at once, opened as calls need them. Make it inside the event loop that uses it.

    Only addresses that `reach` allows are connected to. No redirect is followed, since the key would go with it. The
    libraries are read when it is made, for that takes longer than a call and would count as a part of the first.
    Raises BadAddress, HostRefused.
    """

    def __init__(self, *, base_url: str, key: str, timeout_seconds: float, connections: int, reach: Reach) -> None:
        import aiohttp
        import httpx2
        from openai import AsyncOpenAI

        from generation.llm.transports import ACCEPTED, Transport, connector

        self._origin = origin_of(base_url)
        reach.check(self._origin)
        self._proxy_unused = ""
        self.base_url, self.timeout_seconds = base_url, timeout_seconds
        self._urls: dict[str, URL] = {}
        proxy = proxy_to(base_url)
        if proxy and not reach.lists(self._origin):
            self._proxy_unused, proxy = proxy, None
        certificates = httpx2.create_ssl_context()
        self.client = AsyncOpenAI(
            base_url=base_url,
            api_key=key,
            max_retries=0,
            timeout=timeout_seconds,
            http_client=httpx2.AsyncClient(
                timeout=timeout_seconds,
                transport=Transport(reach, certificates, connections, proxy),
                headers=ACCEPTED,
                trust_env=False,
                follow_redirects=False,
            ),
        )
        forget_environment(self.client)
        given = {**self.client.default_headers, **self.client.auth_headers, **ACCEPTED}
        # With the client's headers and certificates, and with the proxy that the environment names.
        self._session = aiohttp.ClientSession(
            connector=connector(reach, certificates, connections, proxied=proxy is not None),
            timeout=aiohttp.ClientTimeout(sock_connect=timeout_seconds, sock_read=timeout_seconds),
            headers={name: value for name, value in given.items() if isinstance(value, str)},
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            proxy=proxy,
        )

    async def post(self, path: str, body: dict[str, Any]) -> Answer:
        """Raises what aiohttp raises, HostRefused, ReplyRefused, ValueError where the body cannot be written as JSON."""
        whole = json.dumps(body, separators=(",", ":"), allow_nan=False).encode()
        async with self._session.post(self._url(path), data=whole, allow_redirects=False) as response:
            return await _read(response)

    async def get(self, path: str) -> Answer:
        """Raises what aiohttp raises, HostRefused, ReplyRefused."""
        async with self._session.get(self._url(path), allow_redirects=False) as response:
            return await _read(response)

    def away(self, cause: BaseException, unsent: bool) -> str:
        """The words for a call that nobody answered."""
        words = f"{self.base_url}: {cause}"
        if unsent and self._proxy_unused:
            return PROXY_NOT_USED(words=words, entry=self._origin.place)
        return words

    def _url(self, path: str) -> "URL":
        from yarl import URL

        if path not in self._urls:
            self._urls[path] = URL(self.base_url.rstrip("/") + path)
        return self._urls[path]

    async def close(self) -> None:
        await self._session.close()
        await self.client.close()


async def _read(response: "aiohttp.ClientResponse") -> Answer:
    from generation.llm.transports import Unpacked

    unpacked = Unpacked(response.headers, LARGEST_REPLY)
    parts = [piece async for raw in response.content.iter_any() for piece in unpacked.pieces(raw)]
    return Answer(response.status, response.reason or "", response.headers, b"".join(parts))


@cache
def events_with_data() -> "type[AsyncStream[object]]":
    """The openai client's stream with a reader of our own: one event is bounded, and what bears no data is passed over."""
    from openai import AsyncStream
    from openai._streaming import ServerSentEvent

    class EventsWithData(AsyncStream[object]):
        async def _iter_events(self) -> "AsyncIterator[ServerSentEvent]":
            events = Events()
            async for piece in self.response.aiter_bytes():
                for name, data in events.read(piece):
                    yield ServerSentEvent(event=name, data=data)

    return EventsWithData


class Events:
    """Server-sent events put together from the pieces of a body: each with its name, None for none, and its data.

    Every byte is looked at once, however many lines an event has and however the pieces are cut.
    """

    def __init__(self) -> None:
        self._line = bytearray()
        self._data: list[bytes] = []
        self._size = 0
        self._name: str | None = None
        self._after_return = False

    def read(self, piece: bytes) -> Iterator[tuple[str | None, str]]:
        """Those that end in this piece. Raises ReplyRefused, ValueError for what is no UTF-8."""
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
    """The proxy that the environment names for this address, read once: for every call it would be read anew."""
    parts = urlsplit(base_url)
    proxies = getproxies()
    if parts.hostname and proxy_bypass(parts.hostname):
        return None
    return proxies.get(parts.scheme) or proxies.get("all")
