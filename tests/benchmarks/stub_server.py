"""A chat completions server that always gives the same checklist answer after a fixed time; fast, and nothing else.

    python tests/benchmarks/stub_server.py --items 5 --seconds 0.02

Prints its port and serves until it is ended. It reads no more of a request than where it ends.
"""

import argparse
import asyncio
import json


def answer(items: int) -> bytes:
    verdict = {f"item{n}": {"reason": f"Seen where item {n} asks for it.", "score": 0.75} for n in range(items)}
    body = json.dumps(
        {
            "id": "stub",
            "object": "chat.completion",
            "created": 0,
            "model": "stub",
            "choices": [
                {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": json.dumps(verdict)}}
            ],
            "usage": {"prompt_tokens": 400, "completion_tokens": 120, "total_tokens": 520},
        }
    ).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


class Connection(asyncio.Protocol):
    """One request after the other on a connection that stays open."""

    def __init__(self, reply: bytes, seconds: float) -> None:
        self._reply, self._seconds = reply, seconds
        self._read = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._read += data
        head, found, body = self._read.partition(b"\r\n\r\n")
        if not found:
            return
        length = next(int(line[15:]) for line in head.split(b"\r\n") if line[:15].lower() == b"content-length:")
        if len(body) < length:
            return
        self._read = body[length:]
        asyncio.get_running_loop().call_later(self._seconds, self._say)

    def _say(self) -> None:
        if not self._transport.is_closing():
            self._transport.write(self._reply)


async def serve(items: int, seconds: float) -> None:
    reply = answer(items)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(reply, seconds), "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.02)
    arguments = parser.parse_args()
    asyncio.run(serve(arguments.items, arguments.seconds))
