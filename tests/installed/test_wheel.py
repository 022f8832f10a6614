"""The wheel has all that the program needs and nothing else, and runs where there is no checkout, writing only its data."""

import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
import zipfile
from contextlib import contextmanager

import pytest

from tests.installed.built_wheel import ROOT, bare_environment, wait_for_address

pytestmark = pytest.mark.wheel

FOLDERS = ("accounts", "annotation", "calibration", "config", "core", "generation", "judging")
DATA = ("fixtures", "locale", "static", "templates")
SECONDS = 240
SECRET = "zA9-kd_2LmQpXr7vTfUe5WcYbNhGs1iJo4BtEw-6jH8q"


@pytest.fixture
def elsewhere(tmp_path):
    """A folder in which others' packages have the names of ours and of a library's part."""
    for name in ("core", "config", "judging"):
        (tmp_path / "work" / name).mkdir(parents=True)
        (tmp_path / "work" / name / "__init__.py").write_text("raise SystemExit('the wrong one')\n")
    (tmp_path / "work" / "email.py").write_text("raise SystemExit('the wrong one')\n")
    return tmp_path / "work"


def run(programs, arguments, folder, home, **variables):
    return subprocess.run(
        [str(programs / "plumbline"), *arguments],
        cwd=folder,
        env=bare_environment(home, **variables),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def files_below(folder):
    """Each file with its size and time, but for what Python itself caches of the code that it imports."""
    found = {}
    for path in folder.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            stat = path.stat()
            found[str(path.relative_to(folder))] = (stat.st_size, stat.st_mtime_ns)
    return found


def expected_files():
    for name in FOLDERS + DATA:
        for path in (ROOT / name).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts and path.suffix not in (".pyc", ".po"):
                yield f"plumbline/project/{path.relative_to(ROOT)}"
    for path in (ROOT / "plumbline").rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            yield str(path.relative_to(ROOT))


def test_it_holds_one_package_and_every_file_of_the_program(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        catalogue = archive.read("plumbline/project/locale/zh_Hans/LC_MESSAGES/django.mo")
        points = archive.read(next(name for name in names if name.endswith("entry_points.txt"))).decode()
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"plumbline"} and len(tops) == 2
    assert {name for name in names if name.startswith("plumbline/")} == set(expected_files())
    assert not [name for name in names if "/tests/" in name or name.endswith((".po", ".sqlite3"))]
    assert catalogue == (ROOT / "locale" / "zh_Hans" / "LC_MESSAGES" / "django.mo").read_bytes()
    assert "plumbline = plumbline.start:main" in points


def test_the_demonstration_is_made_and_served_and_nothing_is_written_into_the_package(programs, elsewhere, tmp_path):
    (package,) = programs.parent.glob("lib/python*/site-packages/plumbline")
    before, around = files_below(package), files_below(elsewhere)
    data, home = tmp_path / "data", tmp_path / "home"
    made = run(programs, ["demo", "--no-serve", "--data", str(data)], elsewhere, home)
    assert made.returncode == 0, made.stdout + made.stderr
    assert (data / "plumbline.sqlite3").stat().st_size > 100_000
    assert f"plumbline serve --data '{data}'" in made.stdout

    with served(programs, data, elsewhere, home) as address:
        page = answer(address + "sign-in/")
        assert "<title>" in page and "plumbline.css" in page
        assert "--" in answer(address + "static/plumbline.css")
        assert "登录" in answer(address + "sign-in/", **{"Accept-Language": "zh-hans"})
        wait_for_workers(address)
    assert files_below(package) == before
    assert files_below(elsewhere) == around
    assert not home.exists()


def test_serving_makes_the_database_of_a_new_folder(programs, elsewhere, tmp_path):
    with served(programs, tmp_path / "data", elsewhere, tmp_path / "home") as address:
        assert "Create the owner and go on" in answer(address)
    assert (tmp_path / "data" / "plumbline.sqlite3").stat().st_size > 100_000


def test_what_production_renders_goes_beside_the_data_and_unnamed_data_to_the_home(programs, elsewhere, tmp_path):
    (package,) = programs.parent.glob("lib/python*/site-packages/plumbline")
    before, home = files_below(package), tmp_path / "home"
    settings = {"PLUMBLINE_MODE": "production", "PLUMBLINE_SECRET_KEY": SECRET, "PLUMBLINE_ALLOWED_HOSTS": "a.example"}
    done = run(programs, ["collectstatic", "--no-input", "--verbosity", "0"], elsewhere, home, **settings)
    assert done.returncode == 0, done.stdout + done.stderr
    place = home / ".local" / "share" / "plumbline"
    assert list((place / "static").glob("plumbline.*.css"))
    assert files_below(package) == before


def test_a_command_says_how_commands_are_called_here(programs, elsewhere, tmp_path):
    done = run(programs, ["judge_runs", "--data", "new"], elsewhere, tmp_path / "home")
    assert done.returncode != 0 and "run `plumbline migrate` first" in done.stderr
    assert (elsewhere / "new").is_dir()


def test_a_table_is_audited_in_an_empty_folder_without_data_of_its_own(programs, elsewhere, tmp_path):
    people = [[item % 5 + (item * 7 + rater * 3) % 10 / 10 for rater in range(3)] for item in range(200)]
    rows = [f"i{item},gpt-4o,{one},{two},{three},{4 - item % 5}" for item, (one, two, three) in enumerate(people)]
    (elsewhere / "t.csv").write_text("\n".join(["item_id,model,human_1,human_2,human_3,gpt4", *rows]))
    home = tmp_path / "home"
    done = run(programs, ["audit", "t.csv", "--html", "page.html", "--language", "zh-hans"], elsewhere, home)
    assert done.returncode == 2 and "这是一个问题" in done.stdout, done.stdout + done.stderr
    assert "<svg" in (elsewhere / "page.html").read_text(encoding="utf-8")
    assert run(programs, ["audit", "--wrong"], elsewhere, home).returncode == 1
    assert not home.exists()


@contextmanager
def served(programs, data, folder, home):
    """The address of a server with its workers, on the data of a folder."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = str(one.getsockname()[1])
    server = subprocess.Popen(
        [str(programs / "plumbline"), "serve", "--port", port, f"--data={data}"],
        cwd=folder,
        env=bare_environment(home),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        address = wait_for_address(server, SECONDS)
        assert address == f"http://127.0.0.1:{port}/"
        yield address
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.communicate(timeout=60)


def answer(address, **headers):
    """The page, as soon as the server answers at all."""
    until = time.monotonic() + SECONDS
    while True:
        try:
            with urllib.request.urlopen(urllib.request.Request(address, headers=headers), timeout=30) as response:
                return response.read().decode()
        except OSError as error:
            if isinstance(error, urllib.error.HTTPError) or time.monotonic() > until:
                raise
            time.sleep(0.3)


def wait_for_workers(address):
    """Until the three workers have said that they live, which they do only if they found the program's packages."""
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        try:
            if '"worker": "ok"' in answer(address + "health/ready/"):
                return
        except urllib.error.HTTPError as error:
            if '"worker": "ok"' in error.read().decode():
                return
        time.sleep(0.5)
    raise AssertionError("no worker has said that it lives")
