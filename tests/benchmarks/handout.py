"""Hand-out under fire, under thought, at a million seats, and through the real pages.

    python tests/benchmarks/handout.py [--parts fire,thought,size,pages] [--seats N] [--raters N] ...

A fresh database: a file of SQLite's, or one made on the PostgreSQL server that DATABASE_URL names, dropped after.

fire: simulated raters in several processes answer every seat, while processes are killed with -9, raters hang up, come
back late or never, and send answers twice; the clock runs 600 times as fast, so that leases run out. Ends when nothing
is left. thought: the same number of raters, 1 to 3 s of thought between tasks, each claim timed from its start to its
commit. size: claims in a study of a million seats between claims in one of 10,000. pages: raters signed in through
the page answer texts of 1,000 words under gunicorn with 4 workers, each submit bringing the next task, and before and
after it a bare Django view that only claims, answers with the text and inserts (floor/bare.py), by the same client.

Ends with one line of JSON: seats_over, seats_lost, double_answers, cycles_per_s, floor_ratio, p95_claim_ms,
ratio_1m_10k; floor_ratio_one_request is against a bare view that also does both in one request.
"""

import argparse
import heapq
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit, urlunsplit

ROOT = Path(__file__).resolve().parents[2]
FLOOR = ROOT / "tests" / "benchmarks" / "floor"
SPEED = 600
OVERLAP = 4
CRASHES = 24
PASSWORD = "plumb line bench"
PORT = 8951
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]  # installed packages bring a "tests" of their own


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


@contextmanager
def fresh_database(folder: str) -> Iterator[str]:
    """The address of an empty database, gone afterwards."""
    given = os.environ.get("DATABASE_URL", "")
    if not given.startswith("postgres"):
        yield f"sqlite:///{folder}/handout.sqlite3"
        return
    import psycopg

    name = f"plumbline_handout_{os.getpid()}"
    with psycopg.connect(given, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}")
    try:
        yield urlunsplit(urlsplit(given)._replace(path=f"/{name}"))
    finally:
        with psycopg.connect(given, autocommit=True) as server:
            server.execute(f"DROP DATABASE {name} WITH (FORCE)")


def start_django() -> None:
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()


# ---------------------------------------------------------------------------------------------- studies to hand out


def words(n: int, seed: int) -> str:
    drawn = random.Random(seed)
    parts = ["".join(drawn.choices("etaoinshrdlu", k=drawn.randint(2, 9))) for _ in range(n)]
    return "\n\n".join(" ".join(parts[start : start + 80]).capitalize() + "." for start in range(0, n, 80))


def make_study(slug: str, seats: int, raters: int, *, length: int = 1000, texts: int = 200) -> Any:
    """A checklist study of `seats` seats, OVERLAP a task, with so many raters; tasks share `texts` texts."""
    from factories import make_checklist_study

    from annotation.models import Rater, Task
    from generation.models import Response

    study = make_checklist_study(instructions=texts, models=1, slug=slug)
    study.policies = {"overlap": OVERLAP, "reading_pace": {"words": 0}}  # nobody reads as fast as they answer here
    study.save()
    responses = list(Response.objects.filter(tasks_as_a__study=study).order_by("pk"))
    for number, response in enumerate(responses):
        response.text, response.words = words(length, number), length
    Response.objects.bulk_update(responses, ["text", "words"])
    rubric = study.tasks.first().answer_rubric
    study.tasks.all().delete()
    made = (
        Task(study=study, kind="single", key=f"n:{number}", answer_rubric=rubric, response_a=responses[number % texts])
        for number in range(seats // OVERLAP)
    )
    Task.objects.bulk_create(made, batch_size=5000)
    Rater.objects.bulk_create(
        Rater(workspace=study.workspace, study=study, label=f"R{n}", pseudonym=f"R{n}") for n in range(raters)
    )
    return study


def fast_clock(began: float) -> Callable[[], datetime]:
    return lambda: datetime.fromtimestamp(began + (time.time() - began) * SPEED, UTC)


# ---------------------------------------------------------------------------------------------- fire


def answer(assignment: Any, clock: Callable[[], datetime], value: float) -> None:
    from annotation.answers.recording import Answer, record_answer

    criteria = CRITERIA or [*assignment.task.answer_rubric.criteria.all()]
    CRITERIA[:] = criteria
    given = {criterion.key: Answer(5.0 if criterion.role == "overall" else value) for criterion in criteria}
    record_answer(assignment=assignment, answers=given, clock=clock, criteria=criteria)


CRITERIA: list[Any] = []


def rate_under_fire(study_id: int, rater_ids: list[int], began: float, calm: bool) -> None:
    """One process's raters in turn until none has a task: some hang up in the middle, some for good."""
    from django.db import connection

    from annotation.assignment.next_task import next_assignment
    from annotation.assignment.rater_progress import NoTaskLeft
    from annotation.models import Rater, Study

    study, clock, drawn = Study.objects.get(pk=study_id), fast_clock(began), random.Random(os.getpid())
    raters = list(Rater.objects.filter(pk__in=rater_ids).order_by("pk"))
    resting = dict.fromkeys(raters, 0)
    while raters:
        rater = drawn.choice(raters)
        if resting[rater]:
            resting[rater] -= 1
            continue
        try:
            assignment, _progress = next_assignment(rater, study, clock=clock)
        except NoTaskLeft:
            raters.remove(rater)
            continue
        fate = 1.0 if calm else drawn.random()
        if fate < 0.02:  # hangs up, and comes back when the lease is over
            connection.close()
            resting[rater] = 40
        elif fate < 0.022 and len(raters) > 1:  # never comes back
            raters.remove(rater)
        else:
            answer(assignment, clock, 0.5)
            if fate < 0.06:  # the answer is sent twice, as after a lost confirmation
                answer(assignment, clock, 0.5)


def under_fire(database: str, study: Any, raters: list[int], processes: int) -> dict[str, int]:
    """Seats over the overlap, seats lost, and double answers after the storm."""
    from annotation.models import Seat

    began, drawn = time.time(), random.Random(7)
    shares = [raters[start::processes] for start in range(processes)]
    total = Seat.objects.filter(study=study).count()
    killed = 0
    job = {"study": study.pk, "began": began}

    def start(share: list[int], calm: bool) -> subprocess.Popen[bytes]:
        return worker(database, job | {"do": "fire", "raters": share, "calm": calm})

    running = [start(share, False) for share in shares]
    for moment in sorted(drawn.uniform(0.02, 0.97) for _crash in range(CRASHES)):
        # By progress and not by the clock: a slow machine would spend its time starting processes to be killed.
        while Seat.objects.filter(study=study, state="taken").count() < moment * total:
            time.sleep(0.1)
        place = drawn.randrange(processes)
        running[place].send_signal(signal.SIGKILL)
        running[place].wait()
        killed += 1
        running[place] = start(shares[place], False)
    for process in running:
        process.kill()
        process.wait()
    while Seat.objects.filter(study=study).exclude(state="taken").exists():
        calm = [start(share, True) for share in shares]
        for process in calm:
            if process.wait() != 0:
                raise SystemExit("A calm process failed; its error stands above.")
        time.sleep(0.5)
        if time.time() - began > 1800:
            break
    say(f"fire: {total} seats, {len(raters)} raters, {killed} processes killed, {time.time() - began:.0f} s")
    return verdict(study, total)


def verdict(study: Any, total: int) -> dict[str, int]:
    from django.db.models import Count, F, Q

    from annotation.models import Assignment, Score, Seat, Task

    answered = Q(assignments__status="submitted", assignments__repeat=0)
    over = Task.objects.filter(study=study).annotate(n=Count("assignments", filter=answered)).filter(n__gt=OVERLAP)
    with_seat = Q(assignment__status="submitted", assignment__rater=F("holder"))
    sound = Seat.objects.filter(with_seat, study=study, state="taken")
    assignments = Assignment.objects.filter(task__study=study)
    twice = (
        assignments.filter(status="submitted", repeat=0)
        .order_by()
        .values("task", "rater")
        .annotate(n=Count("pk"))
        .filter(n__gt=1)
        .count()
    )
    scores = Score.objects.filter(assignment__task__study=study)
    uneven = assignments.filter(status__in=["submitted", "surplus"]).annotate(n=Count("scores")).exclude(n=4)
    say(
        f"fire: {assignments.filter(status='submitted', repeat=0).count()} answers, "
        f"{assignments.filter(status='surplus').count()} surplus, {assignments.filter(repeat__gt=0).count()} probes"
    )
    revised = scores.filter(revision__gt=0).count()
    return {
        "seats_over": sum(task.n - OVERLAP for task in over),
        "seats_lost": total - sound.count(),
        "double_answers": twice + uneven.count() + revised,
    }


# ---------------------------------------------------------------------------------------------- thought and size


def p95(values: list[float]) -> float:
    return sorted(values)[max(0, round(0.95 * len(values)) - 1)]


def rate_with_thought(study_id: int, rater_ids: list[int], seconds: float) -> list[float]:
    """Milliseconds of each claim, start to commit; raters think 1 to 3 s between tasks."""
    from django.utils import timezone

    from annotation.assignment.next_task import next_assignment
    from annotation.models import Rater, Study

    study, drawn = Study.objects.get(pk=study_id), random.Random(os.getpid())
    raters = {rater.pk: rater for rater in Rater.objects.filter(pk__in=rater_ids)}
    began = time.time()
    waiting = [(began + drawn.uniform(0, 3), pk) for pk in raters]
    heapq.heapify(waiting)
    taken = []
    while (due := waiting[0][0]) < began + seconds:
        time.sleep(max(0.0, due - time.time()))
        _due, pk = heapq.heappop(waiting)
        start = time.perf_counter()
        assignment, _progress = next_assignment(raters[pk], study, clock=timezone.now)
        taken.append(1000 * (time.perf_counter() - start))
        answer(assignment, timezone.now, 0.25)
        heapq.heappush(waiting, (time.time() + drawn.uniform(1, 3), pk))
    return taken


def under_thought(database: str, study: Any, raters: list[int], processes: int, seconds: float) -> float:
    job = {"do": "thought", "study": study.pk, "seconds": seconds}
    running = [worker(database, job | {"raters": raters[n::processes]}, pipe=True) for n in range(processes)]
    taken = [ms for process in running for ms in json.loads(process.communicate()[0])]
    say(f"thought: {len(taken)} claims, median {sorted(taken)[len(taken) // 2]:.1f} ms, p95 {p95(taken):.1f} ms")
    return p95(taken)


def fill(study: Any, seats: int) -> None:
    """Bring the study to `seats` seats in statements of the database alone."""
    from django.db import connection

    from annotation.models import Seat, Task

    postgres = connection.vendor == "postgresql"
    first = Task.objects.filter(study=study).first()
    assert first is not None
    have, tasks = Task.objects.filter(study=study).count(), seats // OVERLAP
    series = (
        f"SELECT generate_series({have}, {tasks - 1}) AS n"
        if postgres
        else f"WITH RECURSIVE s(n) AS (SELECT {have} UNION ALL SELECT n + 1 FROM s WHERE n < {tasks - 1}) "
        "SELECT n FROM s"
    )
    draw = "floor(random() * 4611686018427387904)::bigint" if postgres else "abs(random() / 2)"
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO annotation_task (public_id, study_id, kind, key, response_a_id, answer_rubric_id, position) "
            f"SELECT 'bench-{study.pk}-' || n, {study.pk}, 'single', 'n:' || n, {first.response_a_id}, "
            f"{first.answer_rubric_id}, 0 FROM ({series}) AS numbers"
        )
        Seat.objects.filter(study=study).delete()
        places = " UNION ALL ".join(f"SELECT {place} AS place" for place in range(OVERLAP))
        cursor.execute(
            "INSERT INTO annotation_seat (study_id, task_id, place, draw_key, state) "
            f"SELECT {study.pk}, t.id, p.place, {draw}, 'free' FROM annotation_task t, ({places}) AS p "
            f"WHERE t.study_id = {study.pk}"
        )
        cursor.execute("ANALYZE")


def by_size(small: Any, large: Any, claims: int) -> float:
    """p95 of claims in the large study over that in the small one, claim by claim in turn."""
    from django.utils import timezone

    from annotation.assignment.next_task import next_assignment
    from annotation.models import Rater

    raters = {study: list(Rater.objects.filter(study=study)) for study in (small, large)}
    taken: dict[Any, list[float]] = {small: [], large: []}
    for number in range(claims + 50):
        for study in (small, large) if number % 2 else (large, small):
            rater = raters[study][number % len(raters[study])]
            start = time.perf_counter()
            assignment, _progress = next_assignment(rater, study, clock=timezone.now)
            if number >= 50:
                taken[study].append(1000 * (time.perf_counter() - start))
            answer(assignment, timezone.now, 0.75)
    say(f"size: p95 {p95(taken[small]):.2f} ms at 10,000 seats, {p95(taken[large]):.2f} ms at the large study")
    return p95(taken[large]) / p95(taken[small])


# ---------------------------------------------------------------------------------------------- pages


class Connection:
    """One browser's kept connection: requests out, status, headers and body back."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.port = port
        self.cookies: dict[str, str] = {}

    def ask(
        self, method: str, path: str, fields: dict[str, str] | None = None, headers: str = ""
    ) -> tuple[int, dict[str, str], str]:
        body = urlencode(fields or {}).encode()
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n{headers}"
        if cookies:
            head += f"Cookie: {cookies}\r\n"
        if fields is not None:
            head += f"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {len(body)}\r\n"
        self.socket.sendall(head.encode() + b"\r\n" + (body if fields is not None else b""))
        return self._answer()

    def _answer(self) -> tuple[int, dict[str, str], str]:
        data = b""
        while b"\r\n\r\n" not in data:
            more = self.socket.recv(65536)
            if not more:
                raise ConnectionError("the server hung up")
            data += more
        head, _, body = data.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(": ")
            if name.lower() == "set-cookie":
                cookie, _, kept = value.partition(";")[0].partition("=")
                self.cookies[cookie] = kept
            headers[name.lower()] = value
        while len(body) < int(headers.get("content-length", 0)):
            body += self.socket.recv(65536)
        return int(lines[0].split(" ")[1]), headers, body.decode()


class PageRater:
    """A rater signed in through the page, at a task; a cycle is an answer, whose response brings the next task."""

    def __init__(self, port: int, user: str, slug: str) -> None:
        self.browser = Connection(port)
        _status, _headers, page = self.browser.ask("GET", "/sign-in/")
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page)[1]  # type: ignore[index]
        given = {"csrfmiddlewaretoken": token, "username": user, "password": PASSWORD, "next": ""}
        status, *_rest = self.browser.ask("POST", "/sign-in/", given)
        if status != 302:
            raise SystemExit(f"signing in: {status}")
        token = self.browser.cookies["csrftoken"]
        _status, headers, _page = self.browser.ask(
            "POST", f"/w/lab/studies/{slug}/rate/", {"csrfmiddlewaretoken": token}
        )
        self.address = headers["location"]
        self.browser.ask("GET", self.address)
        self.given = {"csrfmiddlewaretoken": token, "c-item0": "2", "c-item1": "3", "c-item2": "4", "c-overall": "7"}
        self.given |= {"active": "30", "idle": "2", "note": ""}

    def cycle(self) -> None:
        headers = "HX-Request: true\r\nHX-Target: task\r\n"
        status, _headers, page = self.browser.ask("POST", self.address, self.given, headers)
        found = re.search(r'data-assignment="([^"]+)"', page)
        if status != 200 or found is None:
            raise SystemExit(f"{status} {page[:300]}")
        self.address = f"/rate/{found[1]}/"


class BareRater:
    """The same work through the bare view: in two requests a cycle, or in one."""

    def __init__(self, port: int, rater: int, study: int, criteria: list[int], *, one: bool) -> None:
        self.browser, self.one = Connection(port), one
        self.path = f"/bare/{study}/{rater}/"
        self.scores = {str(pk): "0.5" for pk in criteria}
        _status, self.headers, _text = self.browser.ask("GET", self.path)

    def cycle(self) -> None:
        given = {"seat": self.headers["x-seat"], "task": self.headers["x-task"]} | self.scores
        status, self.headers, _text = self.browser.ask("POST", self.path + ("?next=1" if self.one else ""), given)
        if not self.one:
            status, self.headers, _text = self.browser.ask("GET", self.path)
        if status != 200:
            raise SystemExit(f"bare view: {status}")


KINDS = ("bare", "pages", "bare-one")
ROUNDS = 4


def browse(job: dict[str, Any]) -> None:
    """One client process: its raters in threads, all kinds in turn, a stretch each; prints the cycles of each kind."""
    done = dict.fromkeys(KINDS, 0)
    stretch, lock = job["seconds"] / ROUNDS, threading.Lock()
    raters: list[dict[str, Any]] = []
    for user, bare, single in job["raters"]:
        raters.append(
            {
                "pages": PageRater(PORT, user, job["slug"]),
                "bare": BareRater(PORT + 1, bare, job["study"], job["criteria"], one=False),
                "bare-one": BareRater(PORT + 1, single, job["study"], job["criteria"], one=True),
            }
        )
    print("ready", flush=True)
    began = float(sys.stdin.readline())

    def work_through(rater: dict[str, Any]) -> None:
        for place in range(ROUNDS * len(KINDS)):
            kind, start = KINDS[place % len(KINDS)], began + place * (stretch + PAUSE)
            time.sleep(max(0.0, start - time.time()))
            while time.time() < start + stretch:
                rater[kind].cycle()
                with lock:
                    done[kind] += 1

    threads = [threading.Thread(target=work_through, args=(rater,)) for rater in raters]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(json.dumps(done))


PAUSE = 0.3


@contextmanager
def gunicorn(database: str, application: str, port: int, workers: int) -> Iterator[None]:
    environment = os.environ | {"DATABASE_URL": database, "PYTHONPATH": f"{ROOT}{os.pathsep}{FLOOR}"}
    server = subprocess.Popen(
        [
            *(sys.executable, "-m", "gunicorn", application, "--bind", f"127.0.0.1:{port}", "--workers", str(workers)),
            *("--worker-class", "gthread", "--threads", "8", "--keep-alive", "75", "--log-level", "error"),
        ],
        cwd=ROOT,
        env=environment,
    )
    try:
        for _attempt in range(300):
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                time.sleep(0.1)
        time.sleep(2)
        yield
    finally:
        server.terminate()
        server.wait()


def throughput(database: str, raters: int, seconds: float, workers: int) -> dict[str, float]:
    """Cycles a second through the pages, and over those of the bare views, in turns of the same run."""
    from accounts.models import Membership, User
    from annotation.assignment.new_slots import make_seats
    from annotation.models import Criterion, Rater

    study, bare = make_study("pages", 60_000, 0), make_study("bare", 120_000, 2 * raters)
    for each in (study, bare):
        make_seats(each)
    for number in range(raters):
        user = User.objects.create_user(f"bench{number}", password=PASSWORD)
        Membership.objects.create(workspace=study.workspace, user=user, role="rater")
    criteria = list(Criterion.objects.filter(rubric__answered_in__study=bare).distinct().values_list("pk", flat=True))
    fresh = list(Rater.objects.filter(study=bare).values_list("pk", flat=True))
    who = [(f"bench{n}", fresh[n], fresh[raters + n]) for n in range(raters)]
    job = {"do": "browse", "slug": study.slug, "study": bare.pk, "criteria": criteria, "seconds": seconds}
    with gunicorn(database, "config.wsgi", PORT, workers), gunicorn(database, "bare", PORT + 1, workers):
        clients = [worker(database, job | {"raters": who[n::2]}, pipe=True) for n in range(2)]
        for client in clients:
            assert client.stdout is not None
            client.stdout.readline()
        began = time.time() + 1
        counts = [json.loads(client.communicate(f"{began}\n".encode())[0]) for client in clients]
    rate = {kind: sum(count[kind] for count in counts) / seconds for kind in KINDS}
    say("pages: " + ", ".join(f"{kind} {value:.0f}" for kind, value in rate.items()) + " cycles a second")
    return {
        "cycles_per_s": round(rate["pages"], 1),
        "floor_ratio": round(rate["pages"] / rate["bare"], 3),
        "floor_ratio_one_request": round(rate["pages"] / rate["bare-one"], 3),
    }


# ---------------------------------------------------------------------------------------------- running it


def worker(database: str, job: dict[str, Any], *, pipe: bool = False) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, __file__, "--worker", json.dumps(job)],
        env=os.environ | {"DATABASE_URL": database},
        stdin=subprocess.PIPE if pipe else None,
        stdout=subprocess.PIPE if pipe else None,
    )


def work(job: dict[str, Any]) -> None:
    if job["do"] == "browse":
        browse(job)
        return
    start_django()
    if job["do"] == "fire":
        rate_under_fire(job["study"], job["raters"], job["began"], job["calm"])
    else:
        print(json.dumps(rate_with_thought(job["study"], job["raters"], job["seconds"])))


def measure(options: argparse.Namespace, database: str) -> dict[str, float]:
    from django.core.management import call_command

    from annotation.assignment.new_slots import make_seats
    from annotation.models import Rater

    call_command("migrate", verbosity=0)
    parts, found = options.parts.split(","), {}

    def raters_of(study: Any) -> list[int]:
        return list(Rater.objects.filter(study=study).order_by("pk").values_list("pk", flat=True))

    if "fire" in parts:
        study = make_study("fire", options.seats, options.raters, length=50)
        make_seats(study)
        found |= under_fire(database, study, raters_of(study), options.processes)
    if "pages" in parts:
        found |= throughput(database, options.browsers, options.seconds, options.workers)
    if "thought" in parts:
        study = make_study("thought", 40_000, options.raters, length=50)
        make_seats(study)
        claim = under_thought(database, study, raters_of(study), options.processes, options.seconds)
        found["p95_claim_ms"] = round(claim, 2)
    if "size" in parts:
        small, large = make_study("small", 10_000, 50), make_study("large", 10_000, 50)
        fill(small, 10_000)
        fill(large, options.large)
        found["ratio_1m_10k"] = round(by_size(small, large, options.claims), 3)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--parts", default="fire,pages,thought,size")
    parser.add_argument("--raters", type=int, default=200)
    parser.add_argument("--seats", type=int, default=10_000)
    parser.add_argument("--large", type=int, default=1_000_000)
    parser.add_argument("--claims", type=int, default=600)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--browsers", type=int, default=32)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--worker", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work(json.loads(options.worker))
        return
    with tempfile.TemporaryDirectory() as folder, fresh_database(folder) as database:
        os.environ |= {"DATABASE_URL": database, "PLUMBLINE_DATA_DIR": folder, "PLUMBLINE_MODE": "local"}
        start_django()
        found = measure(options, database)
        from django.db import connection

        connection.close()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
