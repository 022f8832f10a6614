"""The shape of the code: no folder too full, no file too long, and every name by which a setting names code resolves."""

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest
from celery import current_app
from django.conf import settings
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils.module_loading import import_string

ROOT = Path(__file__).resolve().parents[2]
APPS = ("core", "accounts", "generation", "annotation", "calibration", "judging", "config")
MOST_FILES, MOST_COMMANDS = 16, 24
MOST_LINES = 500


def product_files():
    for app in APPS:
        for file in (ROOT / app).rglob("*.py"):
            if "migrations" not in file.parts:
                yield file


def test_no_folder_holds_more_than_a_reader_can_scan():
    folders = {}
    for file in product_files():
        if file.name != "__init__.py":
            folders.setdefault(file.parent, []).append(file.name)
    too_full = {
        str(folder.relative_to(ROOT)): len(files)
        for folder, files in folders.items()
        if len(files) > (MOST_COMMANDS if folder.name == "commands" else MOST_FILES)
    }
    assert len(folders) > 50 and too_full == {}


def test_no_file_is_too_long():
    lengths = {str(file.relative_to(ROOT)): len(file.read_text().splitlines()) for file in product_files()}
    assert {name for name, lines in lengths.items() if lines > MOST_LINES} == set()


POLICIES = re.compile(r"""(?<!annotation)(?<!annotation\.policies)\.policies\b|policies__|["']policies["'](?!:)""")
"""An attribute, a lookup or the name of the column; `policies=` and a key of defaults only store what was made."""


def test_the_policies_of_a_study_are_read_and_written_in_one_package():
    templates = (ROOT / "templates").rglob("*.html")
    own = ROOT / "annotation" / "policies"
    readers = [
        f"{file.relative_to(ROOT)}:{number}"
        for file in [*product_files(), *templates]
        if own not in file.parents
        for number, line in enumerate(file.read_text().splitlines(), 1)
        if POLICIES.search(line)
    ]
    assert readers == []
    assert POLICIES.search((own / "policies.py").read_text())


def test_every_folder_of_python_files_is_a_package():
    folders = {file.parent for file in product_files()}
    assert [str(folder) for folder in folders if not (folder / "__init__.py").exists()] == []


def _strings(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from _strings(key)
            yield from _strings(one)
    elif isinstance(value, list | tuple | set):
        for one in value:
            yield from _strings(one)


def _resolves(name):
    try:
        import_module(name)
    except ImportError:
        return _attribute(name)
    return True


def _attribute(name):
    try:
        import_string(name)
    except ImportError:
        return False
    return True


def test_every_dotted_name_in_the_settings_resolves():
    ours = re.compile(rf"(?:{'|'.join(APPS)})\.[a-z_.]+[A-Za-z_]*")
    current_app.loader.import_default_modules()
    models = {settings.AUTH_USER_MODEL}
    named = {
        text
        for name in dir(settings)
        if name.isupper()
        for text in _strings(getattr(settings, name))
        if ours.fullmatch(text) and text not in models and text not in current_app.tasks
    }
    assert {"accounts.signed_in", "config.urls"} < named
    assert [name for name in sorted(named) if not _resolves(name)] == []


def test_every_address_leads_to_code():
    def leaves(patterns):
        for one in patterns:
            if isinstance(one, URLResolver):
                yield from leaves(one.url_patterns)
            elif isinstance(one, URLPattern):
                yield one

    found = list(leaves(get_resolver().url_patterns))
    assert len(found) > 150 and all(callable(one.callback) for one in found)


@pytest.mark.parametrize("name", ["accounts.public_ids.new_public_id", "accounts.append_only.forbid_update"])
def test_names_that_migrations_use_stay(name):
    assert callable(import_string(name))


def test_a_text_that_names_a_file_names_one_that_exists():
    """Docstrings, comments and docs name files by their path from the root."""
    named = re.compile(rf"(?<![\w/.-])((?:{'|'.join(APPS)}|tests)/[\w/.-]+\.py)\b")
    files = [*product_files(), *(ROOT / "tests").rglob("*.py"), *(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
    missing = {
        f"{file.relative_to(ROOT)}: {name}"
        for file in files
        for name in named.findall(file.read_text(encoding="utf-8"))
        if not (ROOT / name).exists()
    }
    assert missing == set()


def test_every_public_module_says_what_it_holds():
    plain = {"admin.py", "apps.py", "asgi.py", "models.py", "urls.py", "wsgi.py", "__init__.py"}
    silent = [
        str(file.relative_to(ROOT))
        for file in product_files()
        if file.name not in plain and not ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))
    ]
    assert silent == []


def test_a_name_of_a_class_means_one_thing_in_an_app():
    places = {}
    for file in product_files():
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and node.name not in ("Meta", "Command", "Config"):
                places.setdefault((file.relative_to(ROOT).parts[0], node.name), []).append(str(file.relative_to(ROOT)))
    assert len(places) > 500 and {name: files for name, files in places.items() if len(files) > 1} == {}


@pytest.mark.parametrize(
    ("mark", "folder"),
    [("services", "services"), ("browser", "e2e"), ("realserver", "real_server"), ("wheel", "installed")],
)
def test_a_suite_of_its_own_lies_in_one_folder(mark, folder):
    """`make` collects these suites from their folders alone: a test marked elsewhere would never run."""
    marked = {
        file.relative_to(ROOT / "tests").parts[0]
        for file in (ROOT / "tests").rglob("test_*.py")
        if re.search(rf"pytest\.mark\.{mark}\b", file.read_text(encoding="utf-8"))
    }
    assert marked == {folder}
