"""The name on the public index is another project's: nothing tells anybody to install it from there."""

import re
import tomllib

from django.conf import settings

APPS = ("core", "accounts", "generation", "annotation", "calibration", "judging", "config")
ROOT = settings.BASE_DIR
FROM_AN_INDEX = re.compile(
    r"""(?:pip3?|pipx|uv\ tool)\ (?:install|run)(?:\ -\S+)*\ ['"]?plumbline\b
    |(?:uvx|uv\ add|--from)\ ['"]?plumbline\b""",
    re.VERBOSE,
)


def test_the_pattern_finds_what_it_should():
    for line in (
        "pip install plumbline",
        "pip install 'plumbline[vllm]'",
        "uvx plumbline demo",
        "uvx --from plumbline demo",
    ):
        assert FROM_AN_INDEX.search(line), line
    for line in ("uvx --from FILE.whl plumbline demo", "pip install FILE.whl", "pip install 'FILE.whl[vllm]'"):
        assert not FROM_AN_INDEX.search(line), line


def test_no_document_page_test_or_code_installs_the_name():
    places = [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "templates").rglob("*.html"),
        ROOT / "Makefile",
    ]
    own = [path for name in (*APPS, "plumbline", "tests") for path in (ROOT / name).rglob("*.py")]
    places += [path for path in own if path.name != "test_distribution_name.py" and "migrations" not in path.parts]
    found = [str(path) for path in places if FROM_AN_INDEX.search(path.read_text(encoding="utf-8"))]
    assert len(places) > 300 and found == []


def test_the_name_of_the_distribution_is_one_line():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["scripts"] == {"plumbline": "plumbline.start:main"}
    lines = (ROOT / "pyproject.toml").read_text(encoding="utf-8").splitlines()
    assert sum(line.startswith("name = ") and project["project"]["name"] in line for line in lines) == 1
