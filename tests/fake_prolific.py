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
    """What the account holds; `requests` are the requests that came, `failing` a status that every answer has.

    Bonuses are paid as the real service says it pays them: as often as it is asked to. `paid` are the bonuses that went
    out, (submission, minor units) each. `faults` leads from a part of a path to what goes wrong with such requests.
    """

    def __init__(self):
        self.studies, self.submissions, self.requests, self.failing = {}, {}, [], 0
        self.payments, self.paid, self.faults = {}, [], {}
        self.lock, self.released = threading.Lock(), threading.Event()
        self.answer_with = None
        self.address = ""

    def add(self, study, number, status, participant=""):
        submission = f"66a1f0c2d3e4b5a69788{number:04}"
        row = {"id": submission, "participant_id": participant or f"p{number}", "status": status, "study": study}
        self.submissions[submission] = row | {"study_code": "DONE"}
        return submission

    def break_at(self, part, what, *, carried_out):
        """Let requests go wrong: `what` is a status, "drop" (the connection ends) or "silent" (no answer comes)."""
        self.faults[part] = (what, carried_out)

    def set_up_bonuses(self, body):
        lines = [line.split(",") for line in body["csv_bonuses"].splitlines() if line]
        if any(self.submissions.get(name, {}).get("study") != body["study_id"] for name, _amount in lines):
            return 400, {"error": {"detail": "not in the study"}}
        bonuses = [(name, round(100 * float(amount))) for name, amount in lines]
        payment, amount = f"8f14e45f-ceea-4d3a-9f2b-{len(self.payments):012}", sum(minor for _name, minor in bonuses)
        self.payments[payment] = bonuses
        said = {"id": payment, "study": body["study_id"], "amount": amount, "fees": amount / 3, "vat": 0}
        return 201, said | {"total_amount": round(amount + amount / 3, 2)}

    def pay(self, payment):
        if payment not in self.payments:
            return 404, {}
        with self.lock:
            self.paid += self.payments[payment]
        return 202, f"Bulk bonus payment with ID {payment} is being processed asynchronously."

    def respond(self, method, path, query, body):
        if method == "POST" and path == "/api/v1/submissions/bonus-payments/":
            return self.set_up_bonuses(body)
        if method == "POST" and (found := re.fullmatch(r"/api/v1/bulk-bonus-payments/([\w-]+)/pay/", path)):
            return self.pay(found[1])
        if method == "GET" and (found := re.fullmatch(r"/api/v1/submissions/(\w+)/", path)):
            if found[1] not in self.submissions:
                return 404, {}
            shown = [float(minor) for name, minor in self.paid if name == found[1]]
            return 200, self.submissions[found[1]] | {"bonus_payments": shown}
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
            what, carried_out = next((one for part, one in fake.faults.items() if part in parts.path), (None, True))
            if self.headers.get("Authorization") != f"Token {TOKEN}":
                status, said = 401, {}
            elif fake.failing:
                status, said = fake.failing, {}
            elif not carried_out:
                status, said = 500, {}
            else:
                status, said = fake.respond(method, parts.path, parse_qs(parts.query), body)
            if what in ("drop", "silent"):
                if what == "silent":
                    fake.released.wait(20)
                self.close_connection = True
                return
            status = what or status
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
        fake.released.set()
        server.shutdown()
        thread.join()
