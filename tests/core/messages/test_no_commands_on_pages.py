"""No page of the product tells a lead to run a command: templates, messages marked for translation, and refusals."""

import ast
import re
from pathlib import Path

import pytest
from django.core.management import get_commands
from django.template.loader import render_to_string

from core.messages.message import Wording

ROOT = Path(__file__).resolve().parents[3]
APPS = ("accounts", "annotation", "calibration", "config", "core", "generation", "judging")
OWN_COMMANDS = {name for name, app in get_commands().items() if str(app) in APPS}
WITH_OTHER_MEANINGS = {
    "audit",
    "backup",
    "bridge",
    "completion",
    "curate",
    "export",
    "generate",
    "import",
    "judge",
    "leaderboard",
    "restore",
    "review",
    "panel",
    "paper",
    "transport",
    "webhooks",
}
NAMES = sorted(OWN_COMMANDS - WITH_OTHER_MEANINGS - {"demo", "flush", "recompute", "serve", "watch"})
COMMAND = re.compile(rf"manage\.py|(?<![\w.'/:-])(?:{'|'.join(NAMES)})(?!\w|['(=/-]|\.\w)")
ONLY_IN_THE_SHELL = {
    "templates/accounts/people.html": "add_person",  # new passwords of accounts that other workspaces share
    "accounts/members/changes.py": "add_person",
    "accounts/sign_in/pages.py": "add_person",  # the demonstration's accounts in production
    "generation/llm/protocol/messages.py": "allow_endpoint",  # code that vLLM may load in a worker
}
"""Where a page names a command, because only who has the server's shell may do it."""
FOR_COMMANDS = (
    "management/",
    "migrations/",
    "config/",
    "core/backup/",
    "core/terminal.py",
    "judging/archive/",  # refuses files that a command reads
    "judging/demonstration/",
)
"""Code whose sentences are read at a terminal alone."""
TRANSLATED = {"_", "gettext", "gettext_lazy", "ngettext", "gettext_noop", "pgettext"}
SAID = {"UserError", "bad", "BadRow", "Absent", "ValidationError", "Wording", *TRANSLATED}


def sources(*kinds):
    for app in (*APPS, "templates"):
        for path in sorted((ROOT / app).rglob("*")):
            name = path.relative_to(ROOT).as_posix()
            if path.suffix in kinds and not any(part in name for part in FOR_COMMANDS):
                yield name, path.read_text(encoding="utf-8")


def texts_said(source):
    """The sentences of a module that somebody may read: what is translated, and what refusals are raised with."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        called = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if called in SAID or called.endswith(("Refused", "Row", "Error")):
            for argument in node.args:
                for part in ast.walk(argument):
                    if isinstance(part, ast.Constant) and isinstance(part.value, str):
                        yield part.value


def test_no_template_names_a_command_that_a_lead_would_run():
    found = {
        name: re.findall(r"command \w+", text)
        for name, text in sources(".html", ".txt")
        if ONLY_IN_THE_SHELL.get(name, "manage.py") in text
    }
    assert found == {"templates/accounts/people.html": ["command add_person"]}


def test_no_sentence_names_a_command_that_a_lead_would_run():
    found = {}
    for name, text in sources(".py"):
        said = [sentence for sentence in texts_said(text) if COMMAND.search(sentence)]
        left = [one for one in said if ONLY_IN_THE_SHELL.get(name, "-") not in one]
        if left:
            found[name] = left
    known = {"annotation/importing/study.py"}  # whose remedy the page replaces (annotation/uploads/remedies.py)
    assert {name: said for name, said in found.items() if name not in known} == {}


def test_no_message_that_is_stored_names_one():
    assert [code for code, wording in Wording.known.items() if "manage.py" in wording.msgid] == []


@pytest.mark.parametrize("sentence", ["run manage.py serve", "load it with load_table ratings", "use load_library."])
def test_the_search_finds_commands(sentence):
    assert COMMAND.search(sentence)


@pytest.mark.parametrize(
    "sentence", ["annotation.load_table", "the table is loaded", "{% url 'judging:load_library' %}"]
)
def test_the_search_passes_over_names_of_addresses_and_tasks(sentence):
    assert not COMMAND.search(sentence)


def test_an_empty_list_of_rubrics_offers_a_button():
    page = render_to_string("annotation/_load_library.html", {"leads_people": True})
    assert "/library/load/" in page and "manage.py" not in page
    assert "/library/load/" not in render_to_string("annotation/_load_library.html", {"leads_people": False})
