"""The HTTP connections of one endpoint, in lanes of a few: a pool is searched from end to end at every call."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx2
    from openai import AsyncOpenAI

WIDTH = 8
"""Connections a lane. In one pool of 128, finding a connection cost as much processor time as the call."""


@dataclass
class Lane:
    """`client` sends over `http`, and what is only posted goes over `http` directly, in half of the time."""

    client: "AsyncOpenAI"
    http: "httpx2.AsyncClient"
    busy: int = 0

    async def post(self, path: str, body: dict[str, Any]) -> "httpx2.Response":
        """Raises what the HTTP library raises, ValueError where the body cannot be written as JSON."""
        whole = json.dumps(body, separators=(",", ":"), allow_nan=False).encode()
        return await self.http.post(path, content=whole)


class Lanes:
    """Opens lanes as calls need them, up to `connections` in all. Make it inside the event loop that uses it."""

    def __init__(self, *, base_url: str, key: str, timeout_seconds: float, connections: int) -> None:
        import httpx2

        self.base_url, self.timeout_seconds = base_url, timeout_seconds
        self._key, self._most = key, max(1, -(-connections // WIDTH))
        # Reading the certificates takes longer than a call, so all lanes share them.
        self._certificates = httpx2.create_ssl_context()
        self._lanes = [self._opened()]

    def _opened(self) -> Lane:
        import httpx2
        from openai import AsyncOpenAI

        limits = httpx2.Limits(max_connections=WIDTH, max_keepalive_connections=WIDTH)
        http = httpx2.AsyncClient(
            base_url=self.base_url, limits=limits, timeout=self.timeout_seconds, verify=self._certificates
        )
        client = AsyncOpenAI(
            base_url=self.base_url,
            api_key=self._key,
            max_retries=0,
            timeout=self.timeout_seconds,
            http_client=http,
        )
        given = {**client.default_headers, **client.auth_headers}
        http.headers.update({name: value for name, value in given.items() if isinstance(value, str)})
        return Lane(client, http)

    @property
    def busy(self) -> list[int]:
        """Calls on their way, lane by lane."""
        return [lane.busy for lane in self._lanes]

    @contextmanager
    def lane(self) -> Iterator[Lane]:
        """A lane for one call: the first with room, so that connections are used again."""
        lane = next((lane for lane in self._lanes if lane.busy < WIDTH), None)
        if lane is None and len(self._lanes) < self._most:
            lane = self._opened()
            self._lanes.append(lane)
        lane = lane or min(self._lanes, key=lambda one: one.busy)
        lane.busy += 1
        try:
            yield lane
        finally:
            lane.busy -= 1

    async def close(self) -> None:
        for lane in self._lanes:
            await lane.client.close()
