"""The client for an endpoint's batch API: openai's own, connecting only where it may and reading bounded replies.

Files, pages of lists and retries are what the library adds; calls themselves go through `connections`.
"""

import socket
from collections.abc import Iterable, Iterator
from typing import Any

import httpcore2
import httpx2
from openai import OpenAI

from generation.llm.connections import Answer, proxy_to
from generation.llm.protocol.allowed_hosts import Reach, origin_of
from generation.llm.protocol.reply_sizes import LARGEST_FILE, LARGEST_REPLY, ReplyRefused
from generation.llm.transports import ACCEPTED, Unpacked, addresses_in

TRY_SECONDS = 10.0
"""The longest time to connect to an address of a host that has further addresses."""
CONTENT = "/content"
"""The end of the paths of a batch's files."""
RETRIES = 3


def batch_client(*, base_url: str, key: str, timeout_seconds: float, reach: Reach) -> OpenAI:
    """Open the client. It follows no redirect and sends no header that the environment names."""
    proxy = proxy_to(base_url) if reach.lists(origin_of(base_url)) else None
    client = OpenAI(
        base_url=base_url,
        api_key=key,
        timeout=timeout_seconds,
        max_retries=RETRIES,
        http_client=httpx2.Client(
            timeout=timeout_seconds,
            transport=SyncTransport(reach, proxy),
            headers=ACCEPTED,
            trust_env=False,
            follow_redirects=False,
        ),
    )
    client.organization = client.project = None
    client._custom_headers = {}
    return client


def answer_of(response: httpx2.Response) -> Answer:
    """Convert a response that has been read."""
    return Answer(response.status_code, response.reason_phrase, response.headers, response.content)


class CheckedSyncBackend(httpcore2.SyncBackend):
    """Connects for httpx2 only to addresses that may be called."""

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
        addresses = self._reach.checked(host, port, addresses_in(found))
        for address in addresses[:-1]:
            try:
                return connect(address, port, _short(timeout), local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                continue
        return connect(addresses[-1], port, timeout, local_address, socket_options)


def _short(timeout: float | None) -> float:
    return TRY_SECONDS if timeout is None else min(timeout, TRY_SECONDS)


class _SyncStream(httpx2.SyncByteStream):
    def __init__(self, plain: httpx2.SyncByteStream, unpacked: Unpacked) -> None:
        self._plain, self._unpacked = plain, unpacked

    def __iter__(self) -> Iterator[bytes]:
        for raw in self._plain:
            yield from self._unpacked.pieces(raw)

    def close(self) -> None:
        self._plain.close()


class SyncTransport(httpx2.HTTPTransport):
    """Connects where `reach` allows, or through the proxy; replies, and files of batches, are of a bounded size."""

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
    """Return the response with a body that decompresses itself."""
    headers = [
        (name, value)
        for name, value in response.headers.raw
        if name.lower() not in (b"content-encoding", b"content-length")
    ]
    return httpx2.Response(response.status_code, headers=headers, stream=stream, extensions=response.extensions)
