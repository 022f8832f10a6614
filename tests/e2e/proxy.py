"""A small reverse proxy over TCP between a browser and the server, which can be killed, restarted and made to fail."""

import http.client
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HOP = {"connection", "transfer-encoding", "keep-alive"}


class Proxy:
    """Listens on one port for as long as it is started; `fail` says how a request for an answer is treated, if at all.

    A status answers without asking the server, "hang" neither asks nor answers, and "lose" asks and does not answer. With
    `piece`, a page for rating arrives in pieces of so many bytes, as over a slow network.
    """

    def __init__(self, server):
        self.server = server
        self.port = 0
        self.fail = None
        self.piece = 0
        self.headers = {}
        self.refused = []
        self.passed = []
        self.listening = None
        self.start()

    @property
    def url(self):
        return f"http://localhost:{self.port}"

    def start(self):
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.0"

            def handle_any(self):
                proxy.handle(self)

            do_GET = do_POST = do_HEAD = handle_any

            def log_message(self, *_args):
                pass

        class Listening(ThreadingHTTPServer):
            allow_reuse_address = True
            daemon_threads = True
            block_on_close = False

        self.listening = Listening(("localhost", self.port), Handler)
        self.port = self.listening.server_address[1]
        threading.Thread(target=self.listening.serve_forever, args=(0.02,), daemon=True).start()

    def kill(self):
        """Close the port: whoever connects is refused."""
        self.listening.shutdown()
        self.listening.server_close()

    def handle(self, request):
        length = int(request.headers.get("Content-Length", 0))
        body = request.rfile.read(length)
        gives_answer = request.command == "POST" and request.path.startswith("/rate/") and request.path.count("/") == 3
        fail = self.fail if gives_answer else None
        if fail is not None:
            self.refused.append((time.monotonic(), fail, request.path))
        if isinstance(fail, int):
            request.send_response(fail)
            for name, value in self.headers.items():
                request.send_header(name, value)
            request.send_header("Content-Length", "0")
            request.end_headers()
            return
        while fail == "hang" and self.fail == "hang":
            time.sleep(0.02)
        if fail == "hang":
            return
        reply, content = self._forward(request, body)
        if gives_answer:
            self.passed.append(request.path)
        if fail == "lose":
            request.connection.close()
            return
        request.send_response(reply.status)
        for name, value in reply.getheaders():
            if name.lower() not in HOP | {"content-length"}:
                request.send_header(name, value)
        request.send_header("Content-Length", str(len(content)))
        request.end_headers()
        if not self.piece or request.command != "GET" or not request.path.startswith("/rate/"):
            request.wfile.write(content)
            return
        for start in range(0, len(content), self.piece):
            request.wfile.write(content[start : start + self.piece])
            time.sleep(0.02)

    def _forward(self, request, body):
        host, port = self.server
        connection = http.client.HTTPConnection(host, port, timeout=60)
        headers = {name: value for name, value in request.headers.items() if name.lower() not in HOP}
        connection.request(request.command, request.path, body, headers)
        reply = connection.getresponse()
        content = reply.read()
        connection.close()
        return reply, content
