"""A small HTTP server that speaks as much of Prolific's API v1 as the product uses.

Written from the public description of the API; nobody has compared it with the real service.
"""

import json
import re
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

TOKEN = "a token of the operator"


class FakeProlific:
    """What the account holds; `requests` are the requests that came, `failing` a status that every answer has."""

    def __init__(self):
        self.studies, self.submissions, self.requests, self.failing = {}, {}, [], 0
        self.answer_with = None
        self.address = ""

    def add(self, study, number, status, participant=""):
        submission = f"66a1f0c2d3e4b5a69788{number:04}"
        row = {"id": submission, "participant_id": participant or f"p{number}", "status": status, "study": study}
        self.submissions[submission] = row | {"study_code": "DONE"}
        return submission

    def respond(self, method, path, query, body):
        if method == "POST" and path == "/api/v1/studies/":
            name = f"study{len(self.studies) + 1}"
            self.studies[name] = body | {"id": name, "status": "UNPUBLISHED"}
            return 201, self.studies[name]
        if method == "GET" and (found := re.fullmatch(r"/api/v1/studies/(\w+)/", path)):
            return (200, self.studies[found[1]]) if found[1] in self.studies else (404, {})
        if method == "GET" and (found := re.fullmatch(r"/api/v1/studies/(\w+)/submissions/", path)):
            rows = [row for row in self.submissions.values() if row["study"] == found[1]]
            start, most = int(query["offset"][0]), int(query["limit"][0])
            return 200, {"results": rows[start : start + most]}
        if method == "POST" and (found := re.fullmatch(r"/api/v1/submissions/(\w+)/transition/", path)):
            row = self.submissions.get(found[1])
            if row is None or row["status"] != "AWAITING REVIEW":
                return 400, {"error": "not awaiting review"}
            row["status"] = {"APPROVE": "APPROVED", "REJECT": "REJECTED"}[body["action"]]
            return 200, row
        return 404, {}


@contextmanager
def fake_prolific():
    """Serve on a free port of this machine."""
    fake = FakeProlific()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.handle_one("GET")

        def do_POST(self):
            self.handle_one("POST")

        def handle_one(self, method):
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else {}
            parts = urlsplit(self.path)
            fake.requests.append((method, parts.path, body))
            if self.headers.get("Authorization") != f"Token {TOKEN}":
                status, said = 401, {}
            elif fake.failing:
                status, said = fake.failing, {}
            else:
                status, said = fake.respond(method, parts.path, parse_qs(parts.query), body)
            text = fake.answer_with if fake.answer_with is not None else json.dumps(said).encode()
            self.send_response(status)
            if 300 <= status < 400:
                self.send_header("Location", f"{fake.address}/elsewhere/")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_given):
            """Tests print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        fake.address = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield fake
        server.shutdown()
        thread.join()
