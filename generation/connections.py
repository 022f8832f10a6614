"""The HTTP connections of one endpoint: what is only posted goes by aiohttp, all else by the openai client."""

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

if TYPE_CHECKING:
    import httpx2
    from openai import AsyncStream
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


class Connections:
    """Up to `connections` at once, opened as calls need them. Make it inside the event loop that uses it.

    The libraries are read when it is made, for that takes longer than a call and would count as a part of the first.
    """

    def __init__(self, *, base_url: str, key: str, timeout_seconds: float, connections: int) -> None:
        import aiohttp
        import httpx2
        from openai import AsyncOpenAI

        self.base_url, self.timeout_seconds = base_url, timeout_seconds
        self._urls: dict[str, URL] = {}
        certificates = httpx2.create_ssl_context()
        limits = httpx2.Limits(max_connections=connections, max_keepalive_connections=connections)
        self.client = AsyncOpenAI(
            base_url=base_url,
            api_key=key,
            max_retries=0,
            timeout=timeout_seconds,
            http_client=httpx2.AsyncClient(limits=limits, timeout=timeout_seconds, verify=certificates),
        )
        given = {**self.client.default_headers, **self.client.auth_headers}
        # With the client's headers and certificates, and with the proxy that the environment names.
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=connections, ssl=certificates),
            timeout=aiohttp.ClientTimeout(sock_connect=timeout_seconds, sock_read=timeout_seconds),
            headers={name: value for name, value in given.items() if isinstance(value, str)},
            cookie_jar=aiohttp.DummyCookieJar(),
            proxy=proxy_to(base_url),
        )

    async def post(self, path: str, body: dict[str, Any]) -> Answer:
        """Raises what aiohttp raises, ValueError where the body cannot be written as JSON."""
        whole = json.dumps(body, separators=(",", ":"), allow_nan=False).encode()
        async with self._session.post(self._url(path), data=whole, allow_redirects=False) as response:
            return Answer(response.status, response.reason or "", response.headers, await response.read())

    def _url(self, path: str) -> "URL":
        from yarl import URL

        if path not in self._urls:
            self._urls[path] = URL(self.base_url.rstrip("/") + path)
        return self._urls[path]

    async def close(self) -> None:
        await self._session.close()
        await self.client.close()


@cache
def events_with_data() -> "type[AsyncStream[object]]":
    """The openai client's stream, less the events that bear nothing: pings, numbers and waiting times alone."""
    from openai import AsyncStream

    class EventsWithData(AsyncStream[object]):
        async def _iter_events(self) -> "AsyncIterator[ServerSentEvent]":
            async for event in super()._iter_events():
                if event.data.strip():
                    yield event

    return EventsWithData


def proxy_to(base_url: str) -> str | None:
    """The proxy that the environment names for this address, read once: for every call it would be read anew."""
    parts = urlsplit(base_url)
    proxies = getproxies()
    if parts.hostname and proxy_bypass(parts.hostname):
        return None
    return proxies.get(parts.scheme) or proxies.get("all")
