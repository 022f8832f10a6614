"""The audit of packages: a vulnerability fails it, and an unreachable service is said and fails nothing."""

import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
VULNERABILITY = {
    "id": "PYSEC-0000-1",
    "summary": "An invented one.",
    "affected": [{"package": {"name": "x", "ecosystem": "PyPI"}, "ranges": [], "versions": []}],
}


class Service(BaseHTTPRequestHandler):
    """A service of OSV's protocol that knows a vulnerability of jinja2, and of `vulnerable`."""

    vulnerable = ""

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["package"]["name"]
        body = json.dumps({"vulns": [VULNERABILITY]} if asked in ("jinja2", self.vulnerable) else {}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


@pytest.fixture
def service():
    with ThreadingHTTPServer(("127.0.0.1", 0), Service) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1/query"
        server.shutdown()


def audit(url):
    return subprocess.run(
        [sys.executable, "tests/audit.py"],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "AUDIT_URL": url},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_vulnerable_package_fails_the_audit(service, monkeypatch):
    monkeypatch.setattr(Service, "vulnerable", "django")
    done = audit(service)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "django 5.2" in done.stdout and "PYSEC-0000-1" in done.stdout
    assert "1 vulnerable." in done.stdout


def test_an_unreachable_service_is_said_and_fails_nothing():
    with HTTPServer(("127.0.0.1", 0), Service) as server:
        port = server.server_port
    done = audit(f"http://127.0.0.1:{port}/v1/query")
    assert (done.returncode, done.stdout.startswith("SKIPPED the audit")) == (0, True), done.stderr
