"""A chat completions server on a real socket that does what it is told: good answers, and every kind of bad one."""

import json
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from generation.llm.protocol.allowed_hosts import Reach

HERE = Reach(nearby=True)
"""Servers of tests listen on 127.0.0.1."""
SCORES = ("0", "0.25", "0.5", "0.75", "1")


@dataclass
class Act:
    """What the server does with one request. `cut` sends only so many bytes of the body and hangs up;
    `silent_after` so many bytes is silence for `silent_seconds`.
    """

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    cut: int | None = None
    drip: float = 0.0
    silent_after: int | None = None
    silent_seconds: float = 0.0


def completion(text: str, *, finish_reason: str = "stop", read: int = 100, written: int = 20) -> dict[str, Any]:
    return {
        "id": "c",
        "object": "chat.completion",
        "created": 0,
        "model": "m",
        "choices": [{"index": 0, "finish_reason": finish_reason, "message": {"role": "assistant", "content": text}}],
        "usage": {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written},
    }


def says(text: str, **more: Any) -> Act:
    return Act(body=completion(text, **more))


def streams(text: str, *, finish_reason: str = "stop", read: int = 100, written: int = 20, **more: Any) -> Act:
    """The text word by word, as server-sent events; finish_reason '' leaves the end off."""
    chunks: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "delta": {"content": word}, "finish_reason": None}]}
        for word in re.findall(r"\S+\s*", text)
    ]
    if finish_reason:
        chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish_reason}]})
        chunks.append({"choices": [], "usage": {"prompt_tokens": read, "completion_tokens": written}})
    lines = [f"data: {json.dumps({'object': 'chat.completion.chunk', **chunk})}\n\n" for chunk in chunks]
    body = "".join([*lines, "data: [DONE]\n\n"] if finish_reason else lines)
    return Act(body=body.encode(), headers={"Content-Type": "text/event-stream"}, **more)


def responds(
    text: str,
    *,
    refusal: str = "",
    comment: str = "",
    status: str = "completed",
    why: str = "",
    read: int = 100,
    written: int = 20,
) -> Act:
    """The text in the responses form, after some reasoning; `why` is the reason of one that is incomplete."""
    parts = [{"type": "output_text", "text": text, "annotations": []}] if text else []
    parts += [{"type": "refusal", "refusal": refusal}] if refusal else []
    message = {"id": "m1", "type": "message", "role": "assistant", "status": status, "content": parts}
    output: list[dict[str, Any]] = [{"id": "r1", "type": "reasoning", "summary": [], "content": []}]
    if comment:
        said = [{"type": "output_text", "text": comment, "annotations": []}]
        output.append({"id": "m0", "type": "message", "role": "assistant", "phase": "commentary", "content": said})
        message["phase"] = "final_answer"
    return Act(
        body={
            "id": "resp_1",
            "object": "response",
            "model": "pro-2026",
            "status": status,
            "error": None,
            "incomplete_details": {"reason": why} if why else None,
            "output": [*output, message],
            "usage": {"input_tokens": read, "output_tokens": written, "total_tokens": read + written},
        }
    )


def responds_streamed(act: Act) -> Act:
    """The same as server-sent events: the text word by word, and the whole response at the end."""
    whole = act.body
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": {**whole, "status": "in_progress", "output": []}}
    ]
    for place, item in enumerate(whole["output"]):
        events.append({"type": "response.output_item.added", "output_index": place, "item": {**item, "content": []}})
        for part in item["content"]:
            kind, name = ("refusal", "refusal") if part["type"] == "refusal" else ("output_text", "text")
            words = re.findall(r"\S+\s*", part[name])
            events += [{"type": f"response.{kind}.delta", "output_index": place, "delta": word} for word in words]
            events.append({"type": f"response.{kind}.done", "output_index": place, name: part[name]})
    events.append({"type": f"response.{whole['status']}", "response": whole})
    numbered = [{**event, "sequence_number": n} for n, event in enumerate(events)]
    body = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in numbered)
    return Act(body=body.encode(), headers={"Content-Type": "text/event-stream"})


def says_or_streams(request: dict[str, Any], text: str, **more: Any) -> Act:
    """The text in the way the request asks for."""
    return streams(text, **more) if request.get("stream") else says(text, **more)


def fails(status: int, words: str, code: str | None = None, **headers: str) -> Act:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Act(status, {"error": {"message": words, "type": "x", "code": code}}, named)


def names_asked(request: dict[str, Any]) -> list[str]:
    """The names of the questions in a checklist prompt."""
    text = next(m["content"] for m in request["messages"] if m["role"] == "user")
    listed = text.split("each after its name:")[1].split("The conversation.")[0]
    return re.findall(r"^\d+\. (\S+?):", listed, re.MULTILINE)


def good_answer(request: dict[str, Any], score: float = 0.75) -> Act:
    """A right answer to a checklist prompt."""
    return says(json.dumps({name: {"reason": f"seen {name}", "score": score} for name in names_asked(request)}))


Play = Callable[[dict[str, Any], int], Act]


class HostileServer:
    """`with HostileServer(play) as server:`; play(request body, number of the request from 0) -> Act.

    A GET, which asks for the list of models, has the body {}.
    """

    def __init__(self, play: Play) -> None:
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.cookies: list[str] = []
        self.headers: list[str] = []
        """All that came with each request."""
        self.at_once = self.most_at_once = 0
        lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self._answer({})

            def do_POST(self) -> None:
                self._answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

            def _answer(self, request: dict[str, Any]) -> None:
                with lock:
                    number = len(outer.requests)
                    outer.requests.append(request)
                    outer.keys.append(self.headers.get("Authorization", ""))
                    outer.cookies.append(self.headers.get("Cookie", ""))
                    outer.headers.append(str(self.headers))
                    outer.at_once += 1
                    outer.most_at_once = max(outer.most_at_once, outer.at_once)
                try:
                    self._perform(play(request, number))
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True
                finally:
                    with lock:
                        outer.at_once -= 1

            def _perform(self, act: Act) -> None:
                time.sleep(act.seconds)
                body = act.body if isinstance(act.body, bytes) else json.dumps(act.body).encode()
                self.send_response(act.status)
                self.send_header("Content-Type", act.headers.pop("Content-Type", "application/json"))
                self.send_header("Content-Length", str(len(body)))
                for name, value in act.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                if act.drip:
                    for byte in body:
                        self.wfile.write(bytes([byte]))
                        self.wfile.flush()
                        time.sleep(act.drip)
                    return
                if act.silent_after is not None:
                    self.wfile.write(body[: act.silent_after])
                    self.wfile.flush()
                    time.sleep(act.silent_seconds)
                    body = body[act.silent_after :]
                self.wfile.write(body if act.cut is None else body[: act.cut])
                if act.cut is not None:
                    self.close_connection = True

            def log_message(self, *_: Any) -> None:
                return

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 256

            def handle_error(self, *_: Any) -> None:
                return

        self._server = Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> "HostileServer":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
