"""What the image and the compose file run is run here by the same words: static files, web, worker, beat, proxy, health."""

# ruff: noqa: F811

import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tests.deploy.deployment import DEPLOY, ROOT, compose, dockerfile
from tests.services.test_runs import absent, database, free_port, processes, wait_until  # noqa: F401

pytestmark = pytest.mark.services


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    """A folder with what the image would hold, after its own commands as far as they need no root."""
    folder = tmp_path_factory.mktemp("image")
    for line in (ROOT / ".dockerignore").read_text().splitlines():
        if not line.startswith("!"):
            continue
        source, target = ROOT / line[1:], folder / line[1:]
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
    (collect,) = [run for run in dockerfile()[1].all("RUN") if "manage.py" in run]
    done = subprocess.run(
        ["/bin/sh", "-c", collect], cwd=folder, env=environment(folder), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert (folder / "staticfiles" / "staticfiles.json").exists()
    return folder


def environment(folder, **more):
    """That of the image and of the compose file, and nothing of this machine's."""
    inside = {
        **dockerfile()[1].environment,
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        "PLUMBLINE_DATA_DIR": str(folder / "data"),
    }
    return inside | more


@pytest.fixture
def in_compose(image, database, tmp_path):
    """The environment of the compose file's services, with a database, a Redis and a proxy that are here."""
    stated = {name: str(value) for name, value in compose()["services"]["web"]["environment"].items()}
    redis = os.environ.get("TEST_REDIS", "redis://127.0.0.1:6379/14")
    here = {"DATABASE_URL": database, "REDIS_URL": redis, "PLUMBLINE_TRUSTED_PROXIES": "127.0.0.1"}
    return environment(tmp_path, **stated | here)


def command_of(service, port=8000):
    return [word.replace(":8000", f":{port}") for word in compose()["services"][service]["command"]]


def healthy(image, environment, port):
    """The health check of the image and of the compose file."""
    words = [word.replace(":8000", f":{port}") for word in compose()["services"]["web"]["healthcheck"]["test"][1:]]
    return subprocess.run(words, cwd=image, env=environment, capture_output=True, text=True, timeout=30)


def ends_well(process):
    os.kill(process.pid, signal.SIGTERM)
    return process.wait(timeout=60)


def in_image(processes, name, image, command, environment):
    program = shutil.which(command[0], path=environment["PATH"])
    with (processes.folder / f"{name}.log").open("ab") as log:
        process = subprocess.Popen(
            [program, *command[1:]], cwd=image, env=environment, stdout=log, stderr=log, start_new_session=True
        )
    processes.started.append(process)
    return process


def test_the_stack_serves_behind_its_proxy(image, in_compose, processes, tmp_path):
    migrate = subprocess.run(
        command_of("migrate"), cwd=image, env=in_compose, capture_output=True, text=True, timeout=200
    )
    assert migrate.returncode == 0, migrate.stderr
    port, outside, secure = free_port(), free_port(), free_port()
    assert healthy(image, in_compose, port).returncode == 1
    web = in_image(processes, "web", image, command_of("web", port), in_compose)
    wait_until(lambda: healthy(image, in_compose, port).returncode == 0, "the health check passes", seconds=90)

    nginx = shutil.which("nginx") or absent("nginx")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=rate.example.org"]
        + ["-keyout", tmp_path / "privkey.pem", "-out", tmp_path / "fullchain.pem"],
        check=True,
        capture_output=True,
    )
    site = (DEPLOY / "nginx" / "plumbline.conf").read_text().replace("server web:8000", f"server 127.0.0.1:{port}")
    site = site.replace("listen 80;", f"listen 127.0.0.1:{outside};").replace("/etc/plumbline/tls", str(tmp_path))
    site = site.replace("listen 443 ssl;", f"listen 127.0.0.1:{secure} ssl;")
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    folders = " ".join(f"{kind}_temp_path {tmp_path}/{kind};" for kind in kinds)
    begin = f"daemon off; pid {tmp_path}/pid; error_log stderr; events {{}}"
    (tmp_path / "nginx.conf").write_text(f"{begin} http {{ access_log off; {folders}\n{site}\n}}\n")
    checked = subprocess.run([nginx, "-t", "-c", tmp_path / "nginx.conf"], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr
    processes.start("nginx", nginx, "-c", str(tmp_path / "nginx.conf"))

    def ask(path, data=None, to=secure):
        trusting = ssl._create_unverified_context()
        scheme = "https" if to == secure else "http"
        request = urllib.request.Request(f"{scheme}://127.0.0.1:{to}{path}", data, {"Host": "rate.example.org"})

        class Stay(urllib.request.HTTPRedirectHandler):
            def redirect_request(self, *_args):
                return None

        opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=trusting), Stay)
        try:
            with opener.open(request, timeout=30) as reply:
                return reply.status, dict(reply.headers), reply.read()
        except urllib.error.HTTPError as error:
            return error.code, dict(error.headers), error.read()
        except OSError:
            return 0, {}, b""

    wait_until(lambda: ask("/health/live/")[0] == 200, "the proxy serves", seconds=20)
    assert ask("/sign-in/")[1]["Location"] == "/begin/"
    status, headers, page = ask("/begin/")
    assert status == 200 and "Secure" in headers["Set-Cookie"]
    (style,) = [word for word in page.decode().split('"') if word.startswith("/static/plumbline.") and "css" in word]
    assert ask(style)[0] == 200
    assert ask("/sign-in/", to=outside)[:1] == (301,)
    assert ask("/sign-in/", to=outside)[1]["Location"] == "https://rate.example.org/sign-in/"
    assert ask("/metrics")[0] == 404
    assert ask("/sign-in/", b"a" * (8 * 2**20 + 1))[0] == 413
    assert ends_well(web) == 0
    assert healthy(image, in_compose, port).returncode == 1
    assert ask("/sign-in/")[0] == 502


@pytest.mark.parametrize(("service", "ready"), [("runs", "ready."), ("beat", "beat: Starting")])
def test_workers_and_the_scheduler_start_and_end_by_the_words_of_the_compose_file(
    service, ready, image, in_compose, processes, tmp_path
):
    try:
        socket.create_connection(("127.0.0.1", 6379), 3).close()
    except OSError:
        absent("Redis at 127.0.0.1:6379")
    subprocess.run(command_of("migrate"), cwd=image, env=in_compose, check=True, capture_output=True, timeout=200)
    in_compose["PLUMBLINE_DATA_DIR"] = str(tmp_path)
    command = [word.replace("/var/lib/plumbline", str(tmp_path)) for word in command_of(service)]
    process = in_image(processes, service, image, command, in_compose)
    log = processes.folder / f"{service}.log"
    wait_until(lambda: process.poll() is None and ready in log.read_text(), f"{service} is ready", seconds=90)
    time.sleep(0.1)
    assert ends_well(process) == 0
    assert "Traceback" not in log.read_text()
