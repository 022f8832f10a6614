"""What carries calls: connections to addresses that may be called, and replies of a bounded size, unpacked here."""

import asyncio
import socket
import ssl
import zlib
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any

import aiohttp
import httpcore2
import httpx2
from aiohttp.abc import AbstractResolver, ResolveResult

from generation.llm.protocol.allowed_hosts import Reach, address_in
from generation.llm.protocol.messages import OTHER_ENCODING
from generation.llm.protocol.reply_sizes import LARGEST_FILE, LARGEST_REPLY, LARGEST_STREAM, ReplyRefused, size_refused

PIECE = 2**20
TRY_SECONDS = 10.0
"""For each address of a host but the last one."""
ACCEPTED = {"Accept-Encoding": "gzip"}
CONTENT = "/content"
"""How the addresses of files end that a batch brings."""


class Unpacked:
    """Takes a body piece by piece and gives it decompressed; never more than `most` bytes. Raises ReplyRefused."""

    def __init__(self, headers: Any, most: int) -> None:
        encoding = str(headers.get("Content-Encoding", "")).strip().lower()
        if encoding not in ("", "identity", "gzip", "x-gzip"):
            raise ReplyRefused(OTHER_ENCODING())
        self._inflater = zlib.decompressobj(16 + zlib.MAX_WBITS) if "gzip" in encoding else None
        self._most, self._size = most, 0

    def pieces(self, raw: bytes) -> Iterator[bytes]:
        if self._inflater is None:
            yield self._counted(raw)
            return
        try:
            while raw and not self._inflater.eof:
                yield self._counted(self._inflater.decompress(raw, PIECE))
                raw = self._inflater.unconsumed_tail
        except zlib.error as error:
            raise ReplyRefused(OTHER_ENCODING()) from error

    def _counted(self, piece: bytes) -> bytes:
        self._size += len(piece)
        if self._size > self._most:
            raise size_refused(self._most)
        return piece


class CheckedResolver(AbstractResolver):
    """Resolves names for aiohttp, which connects to what this gives; addresses themselves do not come here."""

    def __init__(self, reach: Reach) -> None:
        self._reach = reach

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Raises HostRefused, OSError."""
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for address in await _resolved(self._reach, host, port)
        ]

    async def close(self) -> None:
        return None


class CheckedBackend(httpcore2.AsyncNetworkBackend):
    """Connects for httpx2 to addresses that may be called."""

    def __init__(self, reach: Reach) -> None:
        self._reach, self._plain = reach, httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        try:
            addresses = await _resolved(self._reach, host, port)
        except OSError as error:
            raise httpcore2.ConnectError(str(error)) from error
        for address in addresses[:-1]:
            try:
                return await self._plain.connect_tcp(address, port, _short(timeout), local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                continue
        return await self._plain.connect_tcp(addresses[-1], port, timeout, local_address, socket_options)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class CheckedSyncBackend(httpcore2.SyncBackend):
    """The same for code without an event loop."""

    def __init__(self, reach: Reach) -> None:
        self._reach = reach

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        connect = super().connect_tcp
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise httpcore2.ConnectError(str(error)) from error
        addresses = self._reach.checked(host, port, _addresses(found))
        for address in addresses[:-1]:
            try:
                return connect(address, port, _short(timeout), local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                continue
        return connect(addresses[-1], port, timeout, local_address, socket_options)


async def _resolved(reach: Reach, host: str, port: int) -> list[str]:
    """Raises HostRefused, OSError."""
    if address_in(host) is not None:
        return reach.checked(host, port, [host])
    loop = asyncio.get_running_loop()
    return reach.checked(host, port, _addresses(await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)))


def _addresses(found: Iterable[tuple[Any, ...]]) -> list[str]:
    return list(dict.fromkeys(str(info[4][0]) for info in found))


def _short(timeout: float | None) -> float:
    return TRY_SECONDS if timeout is None else min(timeout, TRY_SECONDS)


def connector(reach: Reach, certificates: ssl.SSLContext, connections: int, proxied: bool) -> aiohttp.TCPConnector:
    """Through a proxy it is the proxy that resolves names and is connected to."""
    resolver = None if proxied else CheckedResolver(reach)
    return aiohttp.TCPConnector(limit=connections, ssl=certificates, resolver=resolver)


class _Stream(httpx2.AsyncByteStream):
    def __init__(self, plain: httpx2.AsyncByteStream, unpacked: Unpacked) -> None:
        self._plain, self._unpacked = plain, unpacked

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for raw in self._plain:
            for piece in self._unpacked.pieces(raw):
                yield piece

    async def aclose(self) -> None:
        await self._plain.aclose()


class _SyncStream(httpx2.SyncByteStream):
    def __init__(self, plain: httpx2.SyncByteStream, unpacked: Unpacked) -> None:
        self._plain, self._unpacked = plain, unpacked

    def __iter__(self) -> Iterator[bytes]:
        for raw in self._plain:
            yield from self._unpacked.pieces(raw)

    def close(self) -> None:
        self._plain.close()


class Transport(httpx2.AsyncHTTPTransport):
    """Goes where `reach` lets it, or through the proxy; replies are bounded."""

    def __init__(self, reach: Reach, certificates: ssl.SSLContext, connections: int, proxy: str | None) -> None:
        limits = httpx2.Limits(max_connections=connections, max_keepalive_connections=connections)
        super().__init__(verify=certificates, trust_env=False, limits=limits, proxy=proxy)
        if proxy is None:
            self._pool = httpcore2.AsyncConnectionPool(
                ssl_context=certificates,
                max_connections=connections,
                max_keepalive_connections=connections,
                keepalive_expiry=limits.keepalive_expiry,
                network_backend=CheckedBackend(reach),
            )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        streams = "event-stream" in response.headers.get("content-type", "").lower()
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        try:
            unpacked = Unpacked(response.headers, LARGEST_STREAM if streams else LARGEST_REPLY)
        except ReplyRefused:
            await response.aclose()
            raise
        return _with_stream(response, _Stream(response.stream, unpacked))


class SyncTransport(httpx2.HTTPTransport):
    """The same for code without an event loop, which also reads the files of batches."""

    def __init__(self, reach: Reach, proxy: str | None) -> None:
        certificates = httpx2.create_ssl_context()
        super().__init__(verify=certificates, trust_env=False, proxy=proxy)
        if proxy is None:
            self._pool = httpcore2.ConnectionPool(ssl_context=certificates, network_backend=CheckedSyncBackend(reach))

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        response = super().handle_request(request)
        is_file = request.url.path.endswith(CONTENT) and response.status_code == 200
        most = LARGEST_FILE if is_file else LARGEST_REPLY
        assert isinstance(response.stream, httpx2.SyncByteStream)
        try:
            unpacked = Unpacked(response.headers, most)
        except ReplyRefused:
            response.close()
            raise
        return _with_stream(response, _SyncStream(response.stream, unpacked))


def _with_stream(response: httpx2.Response, stream: Any) -> httpx2.Response:
    """The response with its body unpacked already."""
    headers = [
        (name, value)
        for name, value in response.headers.raw
        if name.lower() not in (b"content-encoding", b"content-length")
    ]
    return httpx2.Response(response.status_code, headers=headers, stream=stream, extensions=response.extensions)
