"""Two servers: an empty one as a user starts it, with its own processes, its first owner and a token made on its pages,
and one in the tests' own process and database."""

import html
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

import pytest
import requests

from accounts.api.tokens import issue_token
from accounts.models import ApiToken, User
from plumbline.client import Plumbline
from tests.factories import make_user, make_workspace

ROOT = Path(__file__).resolve().parents[2]
MANAGE = [sys.executable, str(ROOT / "manage.py")]
OWNER = {"name": "olga", "new_password1": "a plumb line 12", "new_password2": "a plumb line 12"}
SECONDS = 120


@dataclass(frozen=True)
class Served:
    """`token` may do everything."""

    url: str
    token: str
    workspace: str
    folder: Path
    environment: dict[str, str]

    def command(self, *arguments: str) -> str:
        done = subprocess.run(
            [*MANAGE, *arguments], env=self.environment, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


def post(browser: requests.Session, address: str, sent: dict[str, object]) -> str:
    """Send the form of a page as a browser does, and return the page that follows."""
    page = browser.get(address, timeout=SECONDS).text
    (secret,) = set(re.findall(r'name="csrfmiddlewaretoken" value="([^"]+)"', page))
    answer = browser.post(
        address, data={**sent, "csrfmiddlewaretoken": secret}, headers={"Referer": address}, timeout=SECONDS
    )
    assert answer.status_code == 200, re.sub(r"<[^>]+>|\s+", " ", answer.text)[:2000]
    return answer.text


def make_token(browser: requests.Session, url: str, scopes: list[str]) -> str:
    page = post(browser, f"{url}/account/tokens/", {"name": "script", "scopes": scopes, "days": "30"})
    return html.unescape(re.search(r"plumbline_[\w-]+", page)[0])


@pytest.fixture(scope="session")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PLUMBLINE_")}
    environment |= {"PLUMBLINE_DATA_DIR": str(folder), "DATABASE_URL": f"sqlite:///{folder}/plumbline.sqlite3"}
    subprocess.run([*MANAGE, "migrate", "--verbosity", "0"], env=environment, cwd=ROOT, check=True, timeout=SECONDS)
    server = subprocess.Popen(
        [*MANAGE, "serve", "--port", str(port)],
        env=environment,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    said: list[str] = []
    ready = threading.Event()

    def listen():
        for line in server.stdout:
            said.append(line)
            if "Plumbline is at" in line:
                ready.set()

    threading.Thread(target=listen, daemon=True).start()
    try:
        assert ready.wait(SECONDS), said
        url, browser = f"http://127.0.0.1:{port}", requests.Session()
        wait_for(url)
        post(browser, f"{url}/begin/", OWNER)
        token = make_token(browser, url, ApiToken.Scope.values)
        made = Served(url, token, "", folder, environment)
        slug = made.command(
            "shell", "--verbosity", "0", "-c", "from accounts.models import Workspace as W; print(W.objects.get().slug)"
        )
        yield Served(url, token, slug.strip(), folder, environment)
    finally:
        server.send_signal(signal.SIGTERM)
        try:
            server.wait(30)
        except subprocess.TimeoutExpired:
            server.kill()


def wait_for(url: str) -> None:
    """Wait until the web server answers: the command says its address before that."""
    with requests.Session() as asking:
        asking.mount(
            "http://", requests.adapters.HTTPAdapter(max_retries=requests.adapters.Retry(60, backoff_factor=0.1))
        )
        assert asking.get(f"{url}/health/live/", timeout=SECONDS).status_code == 200


@dataclass(frozen=True)
class Live:
    """A server in the tests' own process, without workers; `lead` leads the workspace lab."""

    url: str
    lead: User

    def client(self, scopes=tuple(ApiToken.Scope.values), **options) -> Plumbline:
        _token, secret = issue_token(user=self.lead, name="script", scopes=scopes)
        return Plumbline(self.url, secret, **options)


@pytest.fixture
def live(live_server, transactional_db, settings, tmp_path):
    settings.DATA_DIR = tmp_path
    return Live(live_server.url, make_user("lead", make_workspace("lab"), username="lena"))


@pytest.fixture
def server(live):
    with live.client() as found:
        yield found
