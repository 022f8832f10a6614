"""The name on the public index is another project's: nothing tells anybody to install it from there.

Nor does anything that the program says name manage.py, which a wheel has not.
"""

import ast
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


IN_CHECKOUTS = {
    "config/settings.py",
    "config/places.py",
    "judging/management/commands/demo.py",
    "judging/management/commands/paper.py",
}
"""Code that asks whether the program runs from a checkout."""


def test_no_sentence_of_the_program_names_a_file_that_only_a_checkout_has():
    code = [path for name in APPS for path in (ROOT / name).rglob("*.py") if "migrations" not in path.parts]
    naming = {str(path.relative_to(ROOT)) for path in code if any("manage.py" in text for text in _texts(path))}
    pages = [path for path in (ROOT / "templates").rglob("*.html") if "manage.py" in path.read_text(encoding="utf-8")]
    assert len(code) > 500 and naming == IN_CHECKOUTS and pages == []


def _texts(path):
    """The texts in a file of Python but for its docstrings and comments."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    alone = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    return [
        node.value
        for node in nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in alone
    ]
