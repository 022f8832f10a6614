"""How long a lead waits for the pages of a study of 100,000 tasks x 3 ratings, and how many queries a page makes.

    DATABASE_URL=postgres://user@host:5432/name make bench NAME=lead_pages ARGS="--tasks 100000"

Makes the study in a database of its own on the server of DATABASE_URL (without one, in an SQLite file), which is gone
afterwards, computes every report, and asks for every address of the study twice as its lead, in this process. The last
line is JSON: lead_pages_p95_ms and lead_pages_queries_max over the second views, and the pages that are slowest.
"""

import argparse
import json
import os
import sys
import tempfile
import time
import types
from collections.abc import Iterator
from contextlib import contextmanager
from math import ceil
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

ROOT = Path(__file__).resolve().parent.parent.parent
NAMED = 8


@contextmanager
def database_of_its_own(folder: str) -> Iterator[str]:
    """The address of an empty database, gone afterwards."""
    given = os.environ.get("DATABASE_URL", "")
    if not given.startswith("postgres"):
        yield f"sqlite:///{folder}/lead_pages.sqlite3"
        return
    import psycopg

    name = f"plumbline_lead_pages_{os.getpid()}"
    with psycopg.connect(given, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}")
    try:
        yield urlunsplit(urlsplit(given)._replace(path=f"/{name}"))
    finally:
        from django.db import connections

        connections.close_all()
        with psycopg.connect(given, autocommit=True) as server:
            server.execute(f"DROP DATABASE {name} WITH (FORCE)")


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def measure(tasks: int, ratings: int, raters: int) -> dict[str, object]:
    """Make the study, look at every page twice, and return what the second views cost."""
    import django

    django.setup()
    from celery import current_app
    from django.core.management import call_command
    from django.db import connection

    from tests.large.making import make_large_study
    from tests.large.pages import Visit, visits

    current_app.conf.task_always_eager = True  # the first view of a page computes what a worker would
    call_command("migrate", verbosity=0)
    began = time.perf_counter()
    study, lead = make_large_study(tasks=tasks, ratings=ratings, raters=raters)
    say(f"made in {time.perf_counter() - began:.0f} s")

    def seen(first: Visit) -> None:
        say(f"  first view {first.ms:8.0f} ms {first.queries:4} queries  {first.status} {first.address}")

    found = visits(study, lead, seen=seen)
    for one in sorted(found, key=lambda one: -one.ms):
        say(f"{one.ms:8.0f} ms {one.queries:4} queries {one.bytes // 1000:6} kB  {one.name} {one.address}")
    times = sorted(one.ms for one in found)
    slowest = sorted(found, key=lambda one: -one.ms)[:NAMED]
    asking = sorted(found, key=lambda one: -one.queries)[:NAMED]
    return {
        "lead_pages_p95_ms": round(times[ceil(0.95 * len(times)) - 1]),
        "lead_pages_queries_max": asking[0].queries,
        "pages": len(found),
        "tasks": tasks,
        "ratings": ratings,
        "database": connection.vendor,
        "slowest_ms": {_short(one.address): round(one.ms) for one in slowest},
        "most_queries": {_short(one.address): one.queries for one in asking},
    }


def _short(address: str) -> str:
    return address.removeprefix("/w/large/studies/large")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=100_000)
    parser.add_argument("--ratings", type=int, default=3)
    parser.add_argument("--raters", type=int, default=300)
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    # Installed packages bring a "tests" of their own, which would come before a folder without __init__.py.
    sys.modules["tests"] = own = types.ModuleType("tests")
    own.__path__ = [str(ROOT / "tests")]
    with tempfile.TemporaryDirectory() as folder, database_of_its_own(folder) as address:
        os.environ |= {
            "PLUMBLINE_DATA_DIR": folder,
            "DATABASE_URL": address,
            "DJANGO_SETTINGS_MODULE": "config.settings",
        }
        result = measure(options.tasks, options.ratings, options.raters)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
