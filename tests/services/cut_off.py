"""A way to a server that can be cut off: a forwarder that ends its connections and takes no more until it is mended."""

import socket
import threading
from contextlib import suppress


class CutOff:
    def __init__(self, port: int) -> None:
        self._to = port
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._listening = socket.socket()
        self._listening.bind(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self._listening.close()
        self.mend()

    def mend(self) -> None:
        self._listening = socket.socket()
        self._listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._listening.bind(("127.0.0.1", self.port))
        self._listening.listen(64)
        threading.Thread(target=self._accept, args=(self._listening,), daemon=True).start()

    def cut(self) -> None:
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for pair in self._pairs:
            for end in pair:
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
                end.close()
        self._pairs.clear()

    def _accept(self, listening: socket.socket) -> None:
        with suppress(OSError):
            while True:
                near, _address = listening.accept()
                far = socket.create_connection(("127.0.0.1", self._to))
                self._pairs.append((near, far))
                for one, other in ((near, far), (far, near)):
                    threading.Thread(target=self._carry, args=(one, other), daemon=True).start()

    @staticmethod
    def _carry(source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while chunk := source.recv(65536):
                target.sendall(chunk)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
