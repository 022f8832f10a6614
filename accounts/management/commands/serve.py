"""Run the web server and the workers: all that a single machine needs."""

import os
import signal
import subprocess
import sys
import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import connection
from django.utils import timezone

from accounts.members.first_owner import has_no_account, new_code

WEB = "web server"
LOOPBACK = ("127.0.0.1", "localhost", "::1")
THREADS = {settings.RUNS: 2, settings.REPORTS: 2, settings.SWEEPS: 2}
"""How much work of each queue is done at once. Each queue has a process of its own: computing a report, which may need all
the memory there is, then neither delays the calls of a run nor ends them."""
RUN_MODULE = (
    "import os, runpy, sys; sys.path.append(os.getcwd()); "
    "runpy.run_module(sys.argv.pop(1), run_name='__main__', alter_sys=True)"
)
"""gunicorn and celery put the current folder first on the path unless it is there already: it is there, as the last one."""
QUICK_SECONDS = 20.0
"""A worker that ends sooner is not restarted, since it would end again."""


class Command(BaseCommand):
    help = "Run the Plumbline web server and a worker for each queue, until Ctrl+C. A new database is made first."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument("--threads", type=int, default=8, help="Number of threads of the web server.")
        parser.add_argument("--without-worker", action="store_true", help="Run only the web server.")

    def handle(self, *args: Any, **options: Any) -> None:
        programs = {WEB: _web(options["host"], options["port"], options["threads"])}
        if not options["without_worker"]:
            programs |= _workers()
        if not connection.introspection.table_names():
            self._make_database()
        if has_no_account():
            self._say_how_to_begin(f"http://{options['host']}:{options['port']}/begin/", options["host"])
        # All learn what the server listens on: what a single user's machine allows, one that others reach does not.
        path = [str(settings.BASE_DIR), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**os.environ, "PLUMBLINE_BIND": options["host"], "PYTHONPATH": os.pathsep.join(path)}
        running = {name: _started(command, environment) for name, command in programs.items()}
        begun = dict.fromkeys(running, time.monotonic())
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        self.stdout.write(f"Plumbline is at http://{options['host']}:{options['port']}/ (press Ctrl+C to stop)")
        self.stdout.flush()
        try:
            while (ended := _first_to_end(running)) != WEB and time.monotonic() - begun[ended] > QUICK_SECONDS:
                # Killed for its memory, say: nothing is lost, and raters go on.
                code, begun[ended] = running[ended].returncode, time.monotonic()
                self.stderr.write(f"The {ended} ended with code {code}; starting another one.")
                running[ended] = _started(programs[ended], environment)
            raise CommandError(
                f"The {ended} ended with code {running[ended].returncode}; its last lines above say why "
                "(a port in use is the usual reason: choose another with --port)."
            )
        except KeyboardInterrupt:
            self.stdout.write("Stopping.")
        finally:
            _end(list(running.values()))

    def _make_database(self) -> None:
        """Make the tables of a new database. One of another version is left as it is; its operator decides about it."""
        self.stdout.write(f"Making a new database: {settings.DATABASES['default']['NAME']}")
        self.stdout.flush()
        call_command("migrate", verbosity=0)

    def _say_how_to_begin(self, address: str, host: str) -> None:
        """Say where the first owner is made, and with which code unless only this machine can reach the page."""
        if settings.ON_LOOPBACK and host in LOOPBACK:
            self.stdout.write(f"There are no accounts yet; make the first owner at {address}")
            return
        code = new_code(clock=timezone.now)
        self.stdout.write(f"There are no accounts yet; make the first owner at {address} within an hour.")
        self.stdout.write(f"The one-time code is {code}")


def _started(command: list[str], environment: dict[str, str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command, env=environment)  # nosec B603 # the commands are ours


def _python(module: str, *options: str) -> list[str]:
    """How to run a module of a library so that it finds our packages before any in the folder where serve was started."""
    return [sys.executable, "-P", *options, "-c", RUN_MODULE, module]


def _web(host: str, port: int, threads: int) -> list[str]:
    # Threads, not forks of a loaded parent: a figure rendered before a fork would hang the child.
    return [
        *(*_python("gunicorn"), "config.wsgi", "--bind", f"{host}:{port}", "--chdir", str(Path.cwd())),
        *("--worker-class", "gthread", "--threads", str(threads), "--log-level", "warning", "--no-control-socket"),
    ]


def _workers() -> dict[str, list[str]]:
    return {f"worker of {queue}": _worker(queue, threads) for queue, threads in THREADS.items()}


def _worker(queue: str, threads: int) -> list[str]:
    return [
        # A warning about running as root is no news to whoever serves a demonstration from a container.
        *(*_python("celery", "-W", "ignore"), "-q", "-A", "config.celery", "worker", "-Q", queue),
        *("-n", f"{queue}@%h", "--pool", "threads", "--concurrency", str(threads), "--loglevel", "WARNING"),
        # Workers on one machine have nothing to tell each other, and each message would be a file.
        *("--without-gossip", "--without-mingle", "--without-heartbeat"),
    ]


def _first_to_end(running: dict[str, subprocess.Popen[bytes]]) -> str:
    while True:
        for name, program in running.items():
            if program.poll() is not None:
                return name
        time.sleep(0.3)


def _end(programs: list[subprocess.Popen[bytes]]) -> None:
    for program in programs:
        if program.poll() is None:
            program.terminate()
    for program in programs:
        try:
            program.wait(timeout=10)
        except subprocess.TimeoutExpired:
            program.kill()
