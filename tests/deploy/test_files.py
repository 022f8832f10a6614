"""The image, the compose file and the units say what runs, as whom, from what, and hold no secret."""

import fnmatch
import re
import shlex
import shutil
import subprocess

import pytest
from django.conf import settings

from tests.deploy.deployment import DEPLOY, GIVEN, ROOT, compose, dockerfile, exec_form, units

OURS = ("migrate", "web", "runs", "reports", "sweeps", "beat")
SECRET = re.compile(r"^[ \t]*(?:ENV |- )?([A-Z_]*(?:SECRET|PASSWORD|_KEY|TOKEN)[A-Z_]*)[ \t]*[:=][ \t]*(\S*)", re.M)
PINNED = re.compile(r"[a-z/]+:\d+\.\d+(\.\d+)?(-[a-z-]+)?")


def test_the_image_runs_as_nobody_in_particular_and_says_whether_it_is_healthy():
    libraries, image = dockerfile()
    assert all(PINNED.fullmatch(stage.image) for stage in (libraries, image))
    assert image.last("USER") == "plumbline" and "--uid 10001" in image.all("RUN")[0]
    after = [word for word, _text in image.steps[[word for word, _ in image.steps].index("USER") :]]
    assert "RUN" not in after and "COPY" not in after
    assert image.last("VOLUME") == image.environment["PLUMBLINE_DATA_DIR"] == "/var/lib/plumbline"
    health = image.last("HEALTHCHECK").partition("CMD ")[2]
    assert exec_form(health) == compose()["services"]["web"]["healthcheck"]["test"][1:]
    assert exec_form(image.last("CMD")) == compose()["services"]["web"]["command"]
    assert image.environment["PLUMBLINE_MODE"] == "production"


def test_libraries_are_installed_only_as_pinned_and_hashed():
    (install,) = [run for run in dockerfile()[0].all("RUN") if "pip install" in run]
    assert "--require-hashes -r /tmp/run.txt" in install
    requirements = (ROOT / "requirements" / "run.txt").read_text().replace("\\\n", " ")
    lines = [line for line in requirements.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    assert len(lines) > 50
    for line in lines:
        assert re.match(r"\S+==\S+", line) and "--hash=sha256:" in line, line


def test_no_secret_and_no_address_to_download_from_stands_in_the_files():
    for path in [*DEPLOY.rglob("*"), ROOT / ".dockerignore"]:
        if path.is_dir():
            continue
        text = path.read_text()
        assert not re.search(r"index-url|https?://(?!127\.0\.0\.1|\$host|plumbline;)\S", text), path
        for name, value in SECRET.findall(text):
            assert value == "" or value.startswith("${"), f"{path}: {name}"
    assert not [text for stage in dockerfile() for text in stage.all("ARG")]


def test_a_secret_that_is_not_given_stops_the_start():
    for name in GIVEN:
        with pytest.raises(KeyError, match=f"{name}: set it"):
            compose({**GIVEN, name: ""})
    filled = (DEPLOY / "compose" / "example.env").read_text()
    assert set(re.findall(r"^(\w+)=", filled, re.M)) >= set(GIVEN)


def test_the_image_holds_what_the_program_reads_and_nothing_that_lies_about():
    kept = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    assert all((ROOT / path).exists() for path in kept)
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    tops = {path.split("/")[0] for path in tracked}
    left_out = tops - {path.split("/")[0] for path in kept}
    documents = {path for path in left_out if fnmatch.fnmatch(path, "*.md") or path.startswith(".")}
    # The image runs manage.py; plumbline/ starts what a wheel installs.
    assert left_out - documents == {"Makefile", "docs", "plumbline", "tests"}
    assert not {".git", "var", ".env"} & set(kept)


def test_every_service_is_confined_pinned_and_waits_for_what_it_needs():
    services = compose()["services"]
    assert set(services) == {*OURS, "postgres", "redis", "proxy"}
    for name, service in services.items():
        if name in OURS:
            assert service["build"]["dockerfile"] == "deploy/Dockerfile"
            assert service["read_only"] and service["cap_drop"] == ["ALL"]
            assert service["volumes"] == ["data:/var/lib/plumbline"]
            assert "ports" not in service
            assert name == "migrate" or service["hostname"] == name
            assert name == "migrate" or "migrate" in service["depends_on"]
        else:
            assert PINNED.fullmatch(service["image"]), name
            assert "healthcheck" in service
    assert [name for name, service in services.items() if service.get("ports")] == ["proxy"]
    trusted = services["web"]["environment"]["PLUMBLINE_TRUSTED_PROXIES"]
    assert trusted == compose()["networks"]["inside"]["ipam"]["config"][0]["subnet"]


def test_every_queue_has_a_worker():
    """A task that is routed to a queue nobody takes from would wait for ever."""
    services = compose()["services"]
    taken = {
        queue
        for service in services.values()
        if "worker" in service.get("command", [])
        for queue in service["command"][service["command"].index("--queues") + 1].split(",")
    }
    routes = getattr(settings, "CELERY_TASK_ROUTES", {})
    used = {route["queue"] for route in routes.values()} | {getattr(settings, "CELERY_TASK_DEFAULT_QUEUE", "celery")}
    assert used <= taken
    documented = (ROOT / "docs" / "operations.md").read_text()
    assert all(f"plumbline-worker@{queue}" in documented for queue in used - {"celery"})


def test_units_start_the_same_programs_confined():
    found = units()
    for name, unit in found.items():
        if name.endswith(".timer"):
            assert unit["Timer"]["Persistent"] == ["true"]
            continue
        service = unit["Service"]
        assert service["User"] == ["plumbline"] and service["UMask"] == ["0077"]
        assert service["NoNewPrivileges"] == ["yes"] and service["ProtectSystem"] == ["strict"]
        (command,) = service["ExecStart"]
        program = shlex.split(command)[0]
        assert (ROOT / program.removeprefix("/opt/plumbline/")).exists() or program.startswith(
            "/opt/plumbline/.venv/bin/"
        )
    web = shlex.split(found["plumbline-web.service"]["Service"]["ExecStart"][0])[1:]
    assert web[: web.index("--bind")] == ["config.wsgi"] and "--preload" not in web
    assert all(found[name]["Service"]["Restart"] == ["always"] for name in found if "web" in name or "worker" in name)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_accepts_the_units(tmp_path):
    for name in units():
        text = (DEPLOY / "systemd" / name).read_text()
        for program in re.findall(r"/opt/plumbline/\.venv/bin/\w+", text):
            text = text.replace(program, "/bin/true")
        (tmp_path / name).write_text(text.replace("WorkingDirectory=/opt/plumbline", "WorkingDirectory=/"))
    names = [name.replace("@.", "@runs.") for name in units()]
    (tmp_path / "plumbline-worker@.service").rename(tmp_path / "plumbline-worker@runs.service")
    done = subprocess.run(
        ["systemd-analyze", "verify", *(str(tmp_path / name) for name in names)], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
