"""A receiver of webhooks on a real socket, which keeps what came and answers as it is told."""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Says:
    """`seconds` before the answer; without a `status`, no answer at all."""

    status: int | None = 200
    body: bytes = b"ok"
    headers: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0


@dataclass
class Came:
    path: str
    headers: Any
    body: bytes


class Receiver:
    """`with Receiver(play) as receiver:`; play(what came, its number from 0) -> Says."""

    def __init__(self, play: Callable[[Came, int], Says] = lambda _came, _number: Says()) -> None:
        self.came: list[Came] = []
        self.at_once = self.most_at_once = 0
        lock, outer = threading.Lock(), self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                came = Came(self.path, self.headers, self.rfile.read(int(self.headers["Content-Length"])))
                with lock:
                    number = len(outer.came)
                    outer.came.append(came)
                    outer.at_once += 1
                    outer.most_at_once = max(outer.most_at_once, outer.at_once)
                says = play(came, number)
                time.sleep(says.seconds)
                with lock:
                    outer.at_once -= 1
                if says.status is None:
                    return
                self.send_response(says.status)
                for name, value in says.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(says.body)))
                self.end_headers()
                self.wfile.write(says.body)

            do_GET = do_POST

            def log_message(self, *_: Any) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/hooks/"

    def __enter__(self) -> "Receiver":
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
