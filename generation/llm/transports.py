"""Connect aiohttp only to addresses that may be called, and decompress replies up to a bounded size."""

import asyncio
import socket
import ssl
import zlib
from collections.abc import Iterable, Iterator
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from generation.llm.protocol.allowed_hosts import Reach, address_in
from generation.llm.protocol.messages import OTHER_ENCODING
from generation.llm.protocol.reply_sizes import ReplyRefused, size_refused

PIECE = 2**20
"""The most bytes that are decompressed at once."""
ACCEPTED = {"Accept-Encoding": "gzip"}


class Unpacked:
    """Decompresses a body piece by piece, up to `most` bytes in all. Raises ReplyRefused."""

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
    """Resolves names for aiohttp, which connects to the addresses returned; literal addresses bypass it."""

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


async def _resolved(reach: Reach, host: str, port: int) -> list[str]:
    """Raises HostRefused, OSError."""
    if address_in(host) is not None:
        return reach.checked(host, port, [host])
    loop = asyncio.get_running_loop()
    return reach.checked(host, port, addresses_in(await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)))


def addresses_in(found: Iterable[tuple[Any, ...]]) -> list[str]:
    """Return the different addresses in what `getaddrinfo` found."""
    return list(dict.fromkeys(str(info[4][0]) for info in found))


def connector(
    reach: Reach, certificates: ssl.SSLContext | bool, connections: int, proxied: bool
) -> aiohttp.TCPConnector:
    """Build the pool of connections; with a proxy, names are resolved by the proxy."""
    resolver = None if proxied else CheckedResolver(reach)
    return aiohttp.TCPConnector(limit=connections, ssl=certificates, resolver=resolver)
