"""Where the data lie: in a checkout beside the code, else where --data, the variable or the platform says."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from config import places


@pytest.fixture
def checkout(tmp_path):
    (tmp_path / "manage.py").touch()
    return tmp_path


def test_a_checkout_keeps_its_data_beside_the_code(checkout):
    assert places.own_data_folder(checkout) == checkout / "var"
    assert places.static_folder(checkout, checkout / "elsewhere") == checkout / "staticfiles"
    assert settings.PROGRAM == "manage.py"


@pytest.mark.parametrize(
    ("platform", "variables", "folder"),
    [
        ("linux", {}, ".local/share/plumbline"),
        ("linux", {"XDG_DATA_HOME": "/srv/own"}, "/srv/own/plumbline"),
        ("linux", {"XDG_DATA_HOME": "relative"}, ".local/share/plumbline"),
        ("darwin", {"XDG_DATA_HOME": "/srv/own"}, "Library/Application Support/plumbline"),
        ("win32", {}, "AppData/Local/plumbline"),
        ("win32", {"LOCALAPPDATA": "/srv/local"}, "/srv/local/plumbline"),
    ],
)
def test_installed_code_leaves_its_folder_alone(tmp_path, monkeypatch, platform, variables, folder):
    for name in ("XDG_DATA_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"HOME": str(tmp_path / "home"), **variables}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", platform)
    assert places.own_data_folder(tmp_path) == tmp_path / "home" / folder
    assert places.static_folder(tmp_path, tmp_path / "data") == tmp_path / "data" / "static"


@pytest.mark.parametrize(
    ("arguments", "left", "folder"),
    [
        (["demo", "--data", "here", "--no-serve"], ["demo", "--no-serve"], "here"),
        (["--data=here", "demo"], ["demo"], "here"),
        (["demo", "--data", "one", "--data", "two"], ["demo"], "two"),
        (["load_table", "--", "--data", "x"], ["load_table", "--", "--data", "x"], None),
        (["migrate", "--database", "default"], ["migrate", "--database", "default"], None),
    ],
)
def test_the_option_is_taken_wherever_it_stands(tmp_path, monkeypatch, arguments, left, folder):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(places.VARIABLE, "unchanged")
    assert places.take_data_option(arguments) == left
    assert os.environ[places.VARIABLE] == (str(tmp_path / folder) if folder else "unchanged")


@pytest.mark.parametrize("arguments", [["demo", "--data"], ["demo", "--data="], ["demo", "--data", "--no-serve"]])
def test_an_option_without_a_folder_is_refused(monkeypatch, arguments):
    monkeypatch.setenv(places.VARIABLE, "unchanged")
    with pytest.raises(ImproperlyConfigured, match="--data names no folder; write it as --data DIR"):
        places.take_data_option(arguments)


def test_manage_py_takes_the_option_too(tmp_path):
    code = "from django.conf import settings; print(settings.DATA_DIR)"
    done = subprocess.run(
        [sys.executable, "manage.py", "shell", "--no-imports", "--data", str(tmp_path / "own"), "--command", code],
        cwd=settings.BASE_DIR,
        env={name: value for name, value in os.environ.items() if name != "PLUMBLINE_DATA_DIR"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert Path(done.stdout.strip()) == tmp_path / "own"
    done = subprocess.run(
        [sys.executable, "manage.py", "shell", "--data"],
        cwd=settings.BASE_DIR,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1 and done.stderr.strip() == "--data names no folder; write it as --data DIR."
