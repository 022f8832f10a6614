"""What a command imports before it begins: the time in which manage.py starts is that of its imports."""

import subprocess
import sys

import pytest
from django.conf import settings

SLOW = ("numpy", "scipy", "rich", "judging.urls", "aiohttp")
RUN = f"""
import sys
from config.command_line import run
try:
    run(["manage.py", *sys.argv[1:]])
except SystemExit:
    pass
print([name for name in {SLOW!r} if name in sys.modules])
"""


def imported(tmp_path, *arguments):
    done = subprocess.run(
        [sys.executable, "-c", RUN, *arguments],
        cwd=settings.BASE_DIR,
        env={"PATH": "", "PLUMBLINE_DATA_DIR": str(tmp_path), "PLUMBLINE_MODE": "local"},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return done.stdout.splitlines()[-1]


@pytest.mark.parametrize("arguments", [("help",), ("load_instructions", "--help"), ("load_table", "--help")])
def test_a_command_that_shows_its_help_imports_no_library_of_statistics_and_no_page(tmp_path, arguments):
    assert imported(tmp_path, *arguments) == "[]"


def test_a_command_that_runs_imports_no_page(tmp_path):
    found = imported(tmp_path, "load_instructions", "nowhere.csv", "--benchmark", "essays")
    assert "judging.urls" not in found
    assert "scipy" not in found


def test_the_pages_import_no_library_of_statistics_before_one_of_them_needs_it(tmp_path):
    found = imported(tmp_path, "check")
    assert "judging.urls" in found
    assert "scipy" not in found
