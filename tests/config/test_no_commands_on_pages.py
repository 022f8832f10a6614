"""No page tells its reader to run a command, where a page does the same."""

import re

from django.conf import settings
from django.core.management import get_commands

COMMAND = re.compile(r"(?:manage\.py|plumbline|the command:?) (\w+)")
NO_PAGE = {
    "load_library": "the rubrics and guidelines of the program are loaded when it is installed, or with the demonstration",
    "serve": "it starts the workers that a page cannot start",
    "text_statistics": "the page counts a sample; all responses of a large benchmark take minutes",
    "add_person": "only the server administrator can renew the password of an owner or of an account of other workspaces",
    "allow_endpoint": "the operator of the server decides what may run inside it",
    "curate": "a page curates 5,000 instructions, and comparing more with each other takes minutes",
    "draft_checklists": "a page reviews what models have drafted; the run that drafts is planned by the command",
    "load_benchmark": "files that are larger than the limit of uploads are on the server already",
}
"""Commands that pages may name, with the reason for which no page does what they do."""


def named_on(text):
    return set(COMMAND.findall(text)) & get_commands().keys()


def test_no_template_names_another_command():
    templates = [*(settings.BASE_DIR / "templates").rglob("*.html")]
    named = {command for path in templates for command in named_on(path.read_text(encoding="utf-8"))}
    assert len(templates) > 100
    assert named <= NO_PAGE.keys()


SENTENCE = re.compile(r'(?:gettext|gettext_lazy|marked|Wording|_)\(\s*((?:"[^"]*"[\s,]*)+)')
"""A sentence that pages show, in the code that makes it, perhaps after its code and in pieces."""


def test_no_sentence_of_a_page_names_another_command():
    apps = ("accounts", "annotation", "calibration", "config", "core", "generation", "judging")
    files = [path for app in apps for path in (settings.BASE_DIR / app).rglob("*.py") if "migrations" not in path.parts]
    named = set()
    for path in files:
        for sentence in SENTENCE.findall(path.read_text(encoding="utf-8")):
            named |= named_on(re.sub(r'"\s*"', "", sentence))
    assert "add_person" in named
    assert named <= NO_PAGE.keys()


def test_no_page_says_to_use_the_command_line():
    said = {
        str(path.relative_to(settings.BASE_DIR))
        for path in (settings.BASE_DIR / "templates").rglob("*.html")
        if re.search(r"(use|on|from) the command line", path.read_text(encoding="utf-8"), re.IGNORECASE)
    }
    assert said == set()
