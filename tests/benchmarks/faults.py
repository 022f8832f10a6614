"""Faults injected while 64 raters answer through a proxy and a judging run is worked on, and what became of it all.

    python tests/benchmarks/faults.py [--faults 1000] [--minutes 22] [--raters 64] [--seed 1] [--database-restarts 20] ...

Starts everything anew on this machine: a PostgreSQL cluster, Redis, nginx in front of gunicorn, Celery workers, and a model
server that counts the calls which it has answered. Raters work as the rating page does: an answer that meets no network
or a status of 502, 503 or 504 is sent again until it is confirmed. A fault kills with -9, ends with SIGTERM, or stalls
with SIGSTOP: PostgreSQL as a whole or one of its connections, Redis, nginx, gunicorn or one of its workers, a Celery
worker. Restarted are database, broker and proxy as a whole, so many times each; the other faults strike single processes.

Ends with one line of JSON: faults, acknowledged (answers that the page confirmed), stored (of these), lost, doubled, over
(answers above the overlap), http_500, calls_paid_twice, calls_in_flight_at_kills (the bound of the former), and on
standard error the requests with their latencies. The exit status is 1 if anything was lost, doubled, over, answered
with a 500, paid twice beyond the bound, or if the judging run did not end. Needs the programs of PostgreSQL, Redis and
nginx.
"""

import argparse
import asyncio
import json
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import types
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import urlencode

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
PASSWORD = "plumb line bench"
OVERLAP = 3
JUDGE_SECONDS = 0.4
PROXY = """
daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/nginx.log;
events {{ worker_connections 1024; }}
http {{
  access_log off; client_body_temp_path {folder}/nginx; proxy_temp_path {folder}/nginx; fastcgi_temp_path {folder}/nginx;
  uwsgi_temp_path {folder}/nginx; scgi_temp_path {folder}/nginx;
  server {{
    listen 127.0.0.1:{port};
    location / {{
      proxy_pass http://127.0.0.1:{web}; proxy_http_version 1.1; proxy_set_header Host $http_host;
      proxy_set_header X-Forwarded-For $remote_addr; proxy_connect_timeout 3s; proxy_read_timeout 20s;
    }}
  }}
}}
"""


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


def answers_at(port: int, seconds: float = 30.0) -> None:
    """Wait until something listens at the port. Raises SystemExit."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        with suppress(OSError):
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        time.sleep(0.05)
    raise SystemExit(f"Nothing listens at port {port} after {seconds:.0f} s; see the logs of the processes.")


def children(pid: int) -> list[int]:
    with suppress(OSError):
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


# ---------------------------------------------------------------------------------------------- the model server


class Judge:
    """A model server in this process: it answers after JUDGE_SECONDS and counts what it has answered."""

    def __init__(self, items: int) -> None:
        from tests.benchmarks.stub_server import answer

        self.reply = answer(items)
        self.answered: Counter[bytes] = Counter()
        self.in_flight = 0
        ready = threading.Event()
        threading.Thread(target=lambda: asyncio.run(self._serve(ready)), daemon=True).start()
        ready.wait()

    async def _serve(self, ready: threading.Event) -> None:
        server = await asyncio.start_server(self._talk, "127.0.0.1", 0, limit=2**20, backlog=512)
        self.port = server.sockets[0].getsockname()[1]
        ready.set()
        await server.serve_forever()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = re.search(rb"content-length: *(\d+)", head.lower())
                body = await reader.readexactly(int(length[1]) if length else 0)
                number = re.search(rb"Number (\d+)\.", body)
                self.in_flight += 1
                try:
                    await asyncio.sleep(JUDGE_SECONDS)
                finally:
                    self.in_flight -= 1
                # A model server has done its work when it has the reply, whether or not anybody is left to read it.
                if number:
                    self.answered[number[1]] += 1
                writer.write(self.reply)
                await writer.drain()
        writer.close()


# ---------------------------------------------------------------------------------------------- the installation


class Installation:
    """The processes of an installation, each of which can be killed, stalled and started again."""

    def __init__(self, folder: Path, options: argparse.Namespace) -> None:
        self.folder, self.options = folder, options
        self.ports = {name: free_port() for name in ("postgres", "redis", "web", "proxy")}
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self.ended = False
        binaries = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
        self.postgres_bin = binaries[-1] if binaries else Path()
        self.needed = {name: shutil.which(name) for name in ("redis-server", "nginx")}
        missing = [name for name, path in self.needed.items() if path is None]
        if missing or not binaries:
            raise SystemExit(f"This benchmark needs {', '.join(missing) or 'the server programs of PostgreSQL'}.")
        self.environment = os.environ | {
            "DATABASE_URL": f"postgres://postgres@127.0.0.1:{self.ports['postgres']}/postgres",
            "REDIS_URL": f"redis://127.0.0.1:{self.ports['redis']}/0",
            "PLUMBLINE_DATA_DIR": str(folder / "data"),
            "PLUMBLINE_TRUSTED_PROXIES": "127.0.0.1",
            "PLUMBLINE_SWEEP_SECONDS": "5",
            "PLUMBLINE_BIND": "127.0.0.1",
            "DJANGO_SETTINGS_MODULE": "config.settings",
        }

    def log(self, name: str) -> Any:
        return (self.folder / f"{name}.log").open("ab")

    def start(self, name: str, *command: str, user: str | None = None) -> None:
        with self.log(name) as log:
            self.running[name] = subprocess.Popen(
                command,
                cwd=ROOT,
                env=self.environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
                user=user,
                # A shell's background job ignores it, and so would all of these.
                preexec_fn=lambda: signal.signal(signal.SIGQUIT, signal.SIG_DFL),
            )

    def make_database(self) -> None:
        cluster = self.folder / "postgres"
        cluster.mkdir()
        self.owner = pwd.getpwnam("postgres").pw_name if os.getuid() == 0 else None
        if self.owner:
            shutil.chown(cluster, self.owner)
        subprocess.run(
            [self.postgres_bin / "initdb", "-D", cluster, "-U", "postgres", "-A", "trust", "--no-sync"],
            check=True,
            user=self.owner,
            stdout=subprocess.DEVNULL,
            cwd="/",
        )

    def start_one(self, name: str) -> None:
        ports = self.ports
        if name == "postgres":
            settings = [
                f"port={ports[name]}",
                "listen_addresses=127.0.0.1",
                "unix_socket_directories=",
                "max_connections=200",
            ]
            flags = [part for setting in settings for part in ("-c", setting)]
            self.start(
                name, str(self.postgres_bin / "postgres"), "-D", str(self.folder / "postgres"), *flags, user=self.owner
            )
        elif name == "redis":
            self.start(
                name, str(self.needed["redis-server"]), "--port", str(ports[name]), "--save", "", "--bind", "127.0.0.1"
            )
        elif name == "proxy":
            (self.folder / "nginx").mkdir(exist_ok=True)
            text = PROXY.format(folder=self.folder, port=ports["proxy"], web=ports["web"])
            (self.folder / "nginx.conf").write_text(text)
            self.start(
                name,
                str(self.needed["nginx"]),
                "-c",
                str(self.folder / "nginx.conf"),
                "-e",
                str(self.folder / "nginx.log"),
            )
        elif name == "web":
            self.start(
                name,
                sys.executable,
                "-m",
                "gunicorn",
                "config.wsgi",
                "--bind",
                f"127.0.0.1:{ports['web']}",
                "--worker-class",
                "gthread",
                "--threads",
                "8",
                "--workers",
                "3",
                "--log-level",
                "error",
            )
        else:
            self.start(
                name,
                sys.executable,
                "-W",
                "ignore",
                "-m",
                "celery",
                "-q",
                "-A",
                "config.celery",
                "worker",
                "--pool",
                "threads",
                "--concurrency",
                "4",
                "--loglevel",
                "WARNING",
                "--hostname",
                f"{name}@faults",
                *self.options.worker_flags.split(),
            )

    def keep_up(self) -> None:
        """Start again whatever has ended, as systemd or a container engine would."""
        while not self.ended:
            for name, process in list(self.running.items()):
                if process.poll() is not None and not self.ended:
                    self.start_one(name)
            time.sleep(0.25)

    def end(self) -> None:
        self.ended = True
        time.sleep(0.5)
        for process in self.running.values():
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGCONT)
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


# ---------------------------------------------------------------------------------------------- raters


class Browser:
    """Requests on a kept connection, with cookies; ConnectionError or TimeoutError if there is no answer."""

    def __init__(self, port: int) -> None:
        self.port, self.cookies = port, dict[str, str]()
        self.socket: socket.socket | None = None

    def ask(
        self, method: str, path: str, fields: dict[str, str] | None = None, headers: str = ""
    ) -> tuple[int, dict[str, str], str]:
        try:
            if self.socket is None:
                self.socket = socket.create_connection(("127.0.0.1", self.port), 25)
            body = urlencode(fields or {}).encode()
            cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
            head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n{headers}Cookie: {cookies}\r\n"
            if fields is not None:
                head += f"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {len(body)}\r\n"
            self.socket.sendall(head.encode() + b"\r\n" + body)
            return self._answer()
        except OSError as error:
            self.close()
            raise ConnectionError(str(error)) from error

    def close(self) -> None:
        if self.socket is not None:
            self.socket.close()
        self.socket = None

    def _answer(self) -> tuple[int, dict[str, str], str]:
        data = self._more()
        while b"\r\n\r\n" not in data:
            data += self._more()
        head, _, body = data.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(": ")
            if name.lower() == "set-cookie":
                cookie, _, kept = value.partition(";")[0].partition("=")
                self.cookies[cookie] = kept
            headers[name.lower()] = value
        if headers.get("transfer-encoding") == "chunked":
            while not body.endswith(b"0\r\n\r\n"):
                body += self._more()
        while len(body) < int(headers.get("content-length", 0)):
            body += self._more()
        if headers.get("connection", "").lower() == "close":
            self.close()
        return int(lines[0].split(" ")[1]), headers, body.decode("utf-8", "replace")

    def _more(self) -> bytes:
        assert self.socket is not None
        data = self.socket.recv(65536)
        if not data:
            raise ConnectionError("the server hung up")
        return data


class Rater:
    """A rater who answers until told to stop, and sends an answer again until it is confirmed."""

    def __init__(self, port: int, user: str, begin: str, seed: int, stop: threading.Event) -> None:
        self.browser, self.user, self.begin, self.stop = Browser(port), user, begin, stop
        self.random = Random(seed)
        self.acknowledged: list[str] = []
        self.statuses: Counter[str] = Counter()
        self.milliseconds: list[float] = []
        self.refused: list[str] = []

    def patiently(
        self, method: str, path: str, fields: dict[str, str] | None = None, headers: str = ""
    ) -> tuple[int, dict[str, str], str]:
        """Ask until there is an answer that is not about a fault."""
        while True:
            if fields is not None and "csrftoken" in self.browser.cookies:
                fields = fields | {"csrfmiddlewaretoken": self.browser.cookies["csrftoken"]}
            began = time.monotonic()
            try:
                status, told, page = self.browser.ask(method, path, fields, headers)
            except ConnectionError:
                self.statuses["no answer"] += 1
            else:
                self.statuses[str(status)] += 1
                if status < 500:
                    self.milliseconds.append(1000 * (time.monotonic() - began))
                    return status, told, page
                if status == 500:
                    self.refused.append(f"500 {method} {path}")
            time.sleep(self.random.uniform(0.2, 0.8))

    def sign_in(self) -> None:
        self.patiently("GET", "/sign-in/")
        status, *_rest = self.patiently("POST", "/sign-in/", {"username": self.user, "password": PASSWORD, "next": ""})
        if status != 302:
            raise SystemExit(f"signing in: {status}")

    def task(self) -> str:
        """The id of the task at hand."""
        while not self.stop.is_set():
            status, told, _page = self.patiently("POST", self.begin, {})
            found = re.search(r"/rate/([^/]+)/", told.get("location", ""))
            if status == 302 and found:
                self.patiently("GET", f"/rate/{found[1]}/")
                return found[1]
            self.refused.append(f"{status} POST {self.begin}")
            time.sleep(0.5)
        return ""

    def work(self) -> None:
        self.sign_in()
        assignment = self.task()
        given = {
            "c-item0": "2",
            "c-item1": "3",
            "c-item2": "4",
            "c-overall": "7",
            "active": "1",
            "idle": "0",
            "note": "",
        }
        headers = "HX-Request: true\r\nHX-Target: task\r\n"
        while assignment and not self.stop.is_set():
            time.sleep(self.random.uniform(0.5, 1.5))
            status, _told, page = self.patiently("POST", f"/rate/{assignment}/", given, headers)
            found = re.search(r'data-assignment="([^"]+)"', page)
            if status == 200 and found and found[1] != assignment:
                self.acknowledged.append(assignment)
                assignment = found[1]
            else:
                self.refused.append(f"{status} POST /rate/")
                assignment = self.task()


# ---------------------------------------------------------------------------------------------- faults


class Faults:
    """Draws faults, injects them one after the other, and counts the calls in flight when a worker might lose them."""

    def __init__(self, installation: Installation, judge: Judge, random: Random) -> None:
        self.here, self.judge, self.random = installation, judge, random
        self.done: Counter[str] = Counter()
        self.in_flight = 0
        self.kinds: dict[str, tuple[int, Callable[[], bool]]] = {
            "gunicorn worker stalled": (10, lambda: self.stall(self.child("web"))),
            "Celery worker stalled": (8, lambda: self.stall(self.pid(self.worker()))),
            "Redis stalled": (5, lambda: self.stall(self.pid("redis"))),
            "nginx stalled": (5, lambda: self.stall(self.child("proxy"))),
            "database connection stalled": (8, lambda: self.stall(self.connection())),
            "database connection ended": (12, lambda: self.send(self.connection(), signal.SIGTERM)),
            "gunicorn worker killed": (7, lambda: self.send(self.child("web"), signal.SIGKILL)),
            "nginx worker killed": (6, lambda: self.send(self.child("proxy"), signal.SIGKILL)),
            "Celery worker killed": (2, lambda: self.lose_worker(signal.SIGKILL)),
            "Celery worker ended": (1, lambda: self.lose_worker(signal.SIGTERM)),
            "gunicorn killed": (1, lambda: self.restart("web")),
        }

    def pid(self, name: str) -> int:
        return self.here.running[name].pid

    def worker(self) -> str:
        return self.random.choice([name for name in self.here.running if name.startswith("worker")])

    def child(self, name: str) -> int:
        found = children(self.pid(name))
        return self.random.choice(found) if found else 0

    def connection(self) -> int:
        """A process of PostgreSQL that serves a connection."""
        serving = []
        for pid in children(self.pid("postgres")):
            with suppress(OSError):
                if b"127.0.0.1(" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    serving.append(pid)
        return self.random.choice(serving) if serving else 0

    def send(self, pid: int, number: signal.Signals) -> bool:
        with suppress(ProcessLookupError):
            if pid:
                os.kill(pid, number)
                return True
        return False

    def stall(self, pid: int) -> bool:
        if not self.send(pid, signal.SIGSTOP):
            return False
        time.sleep(self.random.uniform(0.1, 1.5))
        self.send(pid, signal.SIGCONT)
        return True

    def lose_worker(self, number: signal.Signals) -> bool:
        self.in_flight += self.judge.in_flight
        return self.send(self.pid(self.worker()), number)

    def restart(self, name: str) -> bool:
        """Kill all of a service at once; the installation starts it again."""
        process = self.here.running[name]
        if process.poll() is not None:
            return False
        if name == "postgres":  # its workers may end for want of a database, with calls under way
            self.in_flight += self.judge.in_flight
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL if self.random.random() < 0.6 else signal.SIGQUIT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(10)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return True

    def plan(self, faults: int, restarts: dict[str, int]) -> list[tuple[str, Callable[[], bool]]]:
        planned: list[tuple[str, Callable[[], bool]]] = [
            (f"{name} restarted", partial(self.restart, name)) for name, n in restarts.items() for _ in range(n)
        ]
        names = list(self.kinds)
        drawn = self.random.choices(names, [self.kinds[name][0] for name in names], k=faults - len(planned))
        planned += [(name, self.kinds[name][1]) for name in drawn]
        self.random.shuffle(planned)
        return planned

    def inject(self, faults: int, restarts: dict[str, int], seconds: float) -> None:
        """Inject all of them, evenly over the time, two side by side where a stall takes longer than its share."""
        planned = self.plan(faults, restarts)
        began, lock, waiting = time.monotonic(), threading.Lock(), list(enumerate(planned))

        def strike() -> None:
            while True:
                with lock:
                    if not waiting:
                        return
                    number, (name, fault) = waiting.pop(0)
                time.sleep(max(0.0, began + number * seconds / len(planned) - time.monotonic()))
                while not fault():
                    time.sleep(0.3)
                with lock:
                    self.done[name] += 1
                    if sum(self.done.values()) % 100 == 0:
                        say(f"{sum(self.done.values())} faults after {time.monotonic() - began:.0f} s")

        threads = [threading.Thread(target=strike) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


# ---------------------------------------------------------------------------------------------- studies and counting


def make_work(raters: int, judged: int, judge: Judge) -> tuple[str, Any, Any]:
    """The study that raters answer and a judging run; return where raters begin, the study and the run."""
    from django.contrib.auth.hashers import make_password
    from django.core.management import call_command
    from django.db import transaction
    from django.urls import reverse
    from django.utils import timezone

    call_command("migrate", verbosity=0)
    from accounts.models import Membership, User
    from annotation.assignment.new_slots import make_seats
    from annotation.models import Task
    from generation.models import Endpoint, LanguageModel, Response
    from judging.judges.making import create_judge
    from judging.runs.life_cycle import JUDGING, start_run
    from tests.factories import make_checklist_study, plan_run

    study = make_checklist_study(instructions=60, models=1, slug="rated")
    study.policies = {"overlap": OVERLAP, "reading_pace": {"words": 0}}  # nobody reads as fast as they answer here
    study.save()
    rubric = study.tasks.all()[0].answer_rubric
    responses = list(Response.objects.filter(tasks_as_a__study=study))
    Task.objects.bulk_create(
        [
            Task(study=study, kind="single", key=f"n:{n}", answer_rubric=rubric, response_a=responses[n % 60])
            for n in range(raters * 500)
        ],
        batch_size=5000,
    )
    make_seats(study)
    hashed = make_password(PASSWORD)
    users = User.objects.bulk_create(User(username=f"bench{n}", password=hashed) for n in range(raters))
    Membership.objects.bulk_create(Membership(workspace=study.workspace, user=user, role="rater") for user in users)
    with transaction.atomic():
        other = make_checklist_study(instructions=judged // 2, models=2, slug="judged")
        texts = list(Response.objects.filter(tasks_as_a__study=other))
        for response in texts:
            response.text = f"Some words about it. Number {response.pk}."
        Response.objects.bulk_update(texts, ["text"], batch_size=500)
        endpoint = Endpoint.objects.create(
            workspace=study.workspace, name="judge", base_url=f"http://127.0.0.1:{judge.port}/v1"
        )
        model = LanguageModel.objects.create(workspace=study.workspace, name="judge", endpoint=endpoint)
        run = plan_run(judge=create_judge(model=model), study=other, concurrency=8)
    start_run(run, clock=timezone.now)
    for _ in range(4):
        JUDGING.hand_over(run)
    begin = reverse("annotation:start", args=[study])
    return begin, study, run


def stored_of(study: Any, acknowledged: list[str]) -> dict[str, int]:
    """Compare what the pages confirmed with the rows."""
    from django.db.models import Count, F, Q

    from annotation.models import Assignment, Score, Task

    own = Assignment.objects.filter(task__study=study)
    kept = set(own.filter(status__in=["submitted", "surplus"]).values_list("public_id", flat=True))
    answered = own.filter(status="submitted", repeat=0)
    twice = answered.order_by().values("task", "rater").annotate(n=Count("pk")).filter(n__gt=1).count()
    uneven = own.filter(status__in=["submitted", "surplus"]).annotate(n=Count("scores")).exclude(n=4).count()
    revised = Score.objects.filter(assignment__task__study=study, revision__gt=0).count()
    first = Q(assignments__status="submitted", assignments__repeat=0)
    over = Task.objects.filter(study=study).annotate(n=Count("assignments", filter=first)).filter(n__gt=OVERLAP)
    return {
        "acknowledged": len(acknowledged),
        "stored": len(kept & set(acknowledged)),
        "lost": len(set(acknowledged) - kept),
        "doubled": twice + uneven + revised + len(acknowledged) - len(set(acknowledged)),
        "over": over.aggregate(n=Count("pk"))["n"]
        and sum(over.annotate(m=F("n") - OVERLAP).values_list("m", flat=True)),
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--faults", type=int, default=1000)
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--raters", type=int, default=64)
    parser.add_argument(
        "--judged", type=int, default=0, help="Items of the judging run; 0 is as many as last the time."
    )
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--worker-flags", default="")
    parser.add_argument("--restarts", type=int, default=22, help="Restarts each of database, broker and proxy.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", default="", help="Folder in which the logs stay.")
    options = parser.parse_args()
    sys.modules["tests"] = types.ModuleType("tests")  # installed packages bring a "tests" of their own
    sys.modules["tests"].__path__ = [str(ROOT / "tests")]
    with tempfile.TemporaryDirectory() as made:
        folder = Path(options.keep or made)
        folder.mkdir(exist_ok=True)
        folder.chmod(0o711)
        sys.exit(run_all(options, folder))


def run_all(options: argparse.Namespace, folder: Path) -> int:
    here = Installation(folder, options)
    os.environ.update(here.environment)
    try:
        here.make_database()
        for name in ("postgres", "redis"):
            here.start_one(name)
            answers_at(here.ports[name])
        import django

        django.setup()
        from django.db import connections

        judge, random = Judge(items=3), Random(options.seed)
        judged = options.judged or int(options.minutes * 60 * 10)
        begin, study, run = make_work(options.raters, judged, judge)
        connections.close_all()
        for name in ("web", "proxy", *(f"worker{n}" for n in range(options.workers))):
            here.start_one(name)
        answers_at(here.ports["proxy"])
        threading.Thread(target=here.keep_up, daemon=True).start()
        stop = threading.Event()
        raters = [Rater(here.ports["proxy"], f"bench{n}", begin, n, stop) for n in range(options.raters)]
        threads = [threading.Thread(target=rater.work, daemon=True) for rater in raters]
        for thread in threads:
            thread.start()
            time.sleep(0.1)
        while sum(len(rater.acknowledged) for rater in raters) < options.raters:
            time.sleep(0.2)
        say(f"{options.raters} raters answer, {judged} responses are judged")
        faults = Faults(here, judge, random)
        restarts = dict.fromkeys(("postgres", "redis", "proxy"), options.restarts)
        faults.inject(options.faults, restarts, options.minutes * 60)
        stop.set()
        for thread in threads:
            thread.join(60)
        answers_at(here.ports["postgres"])
        ended = finished(run)
        say(", ".join(f"{name}: {n}" for name, n in faults.done.most_common()))
        return report(study, run, raters, faults, judge, ended=ended)
    finally:
        here.end()


def finished(run: Any, seconds: float = 240.0) -> bool:
    """Wait until the judging run has ended; return whether each of its items has one verdict."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends and run.status != "finished":
        time.sleep(1)
        run.refresh_from_db()
    states = Counter(run.items.values_list("status", flat=True))
    say(f"the judging run is {run.status}: " + ", ".join(f"{n} {status}" for status, n in states.items()))
    verdicts = run.items.exclude(assignment=None).values("assignment").distinct().count()
    return bool(run.status == "finished" and set(states) == {"scored"} and verdicts == states["scored"])


def report(study: Any, run: Any, raters: list[Rater], faults: Faults, judge: Judge, *, ended: bool) -> int:
    statuses: Counter[str] = sum((rater.statuses for rater in raters), Counter())
    taken = sorted(ms for rater in raters for ms in rater.milliseconds)
    say("answers of the server: " + ", ".join(f"{status}: {n}" for status, n in statuses.most_common()))
    say(
        "latency: "
        + ", ".join(f"p{share} {taken[int(share / 100 * (len(taken) - 1))]:.0f} ms" for share in (50, 95, 99, 100))
    )
    for text, n in Counter(text for rater in raters for text in rater.refused).most_common(8):
        say(f"refused {n} times: {text}")
    acknowledged = [assignment for rater in raters for assignment in rater.acknowledged]
    found = {"faults": sum(faults.done.values())} | stored_of(study, acknowledged)
    found["http_500"] = statuses["500"]
    found["calls_paid_twice"] = sum(n - 1 for n in judge.answered.values())
    found["calls_in_flight_at_kills"] = faults.in_flight
    print(json.dumps(found))
    wrong = any(found[name] for name in ("lost", "doubled", "over", "http_500"))
    return int(wrong or not ended or found["calls_paid_twice"] > found["calls_in_flight_at_kills"])


if __name__ == "__main__":
    main()
