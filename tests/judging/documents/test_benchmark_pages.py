"""Every command of docs/benchmarks, typed in the order of its page into an empty installation beside small files."""

import io
import re
import shlex

import pytest
from django.conf import settings as project
from django.core.management import CommandError, call_command

from annotation.models import Assignment, Study
from generation.models import GenerationRun
from judging.models import JudgeRun
from judging.published.registry import paper_tables, table_numbered
from tests.judging.documents.files_of_pages import CUT_WRITERS, WRITERS, write_files

FOLDER = project.BASE_DIR / "docs" / "benchmarks"

PAGES = sorted(path.stem for path in FOLDER.glob("*.md"))

PLACEHOLDERS = {
    "BENCHMARK": lambda: "hellobench",
    "NUMBER": lambda: "2",
    "STUDY": lambda: Study.objects.order_by("-id")[0].slug,
    "RUN": lambda: newest(JudgeRun),
    "RUN OF GENERATION": lambda: newest(GenerationRun),
}
"""What is typed in place of a word in capitals; models that are written so are added under that name."""

SMALLER = {"make_longgenbench --seed 7": "--each 2"}
"""What is added to a command, so that it takes less time here."""

REFUSED = {
    "draft_checklists --resume RUN": "is finished; plan a new one",
    "draw_checks STUDY --report": "Nobody has answered the checks",
}
"""Commands that need what cannot be typed, the stop of a run and answers of people in the browser; what they say else."""


def newest(model):
    return model.objects.order_by("-created_at")[0].public_id


def text_of(page):
    return (FOLDER / f"{page}.md").read_text(encoding="utf-8")


def commands_of(text):
    """The commands of a page's blocks as they are written there; a loop of the shell is one command for each value."""
    found = []
    for line in re.sub(r" *\\\n\s*", " ", text).splitlines():
        loop = re.fullmatch(r"\s*for (\w+) in ([^;]+); do (.+); done", line)
        for value in loop[2].split() if loop else [""]:
            typed = (loop[3].replace(f"${loop[1]}", value) if loop else line).strip()
            if re.match(r"(python )?manage\.py ", typed):
                words = shlex.split(typed.partition("manage.py ")[2], comments=True)
                found.append(shlex.join(words))
    return found


def as_typed(command):
    """The words of a command here: a script stands in for every server, and placeholders have their values."""
    text = f"{command} {SMALLER.get(command, '')}"
    script = "--script script.json" if command.startswith("add_model") else ""
    text = re.sub(r"--base-url \S+( --key-variable \S+)?", script, text)
    if command.startswith("draft_checklists"):
        text = text.replace(" RUN", " 'RUN OF GENERATION'")
    return [PLACEHOLDERS[word]() if word in PLACEHOLDERS else word for word in shlex.split(text)]


def said(*words):
    out = io.StringIO()
    call_command(*words, stdout=out, stderr=out)
    return out.getvalue()


def test_every_page_of_a_benchmark_is_typed():
    assert sorted(["README", *WRITERS]) == PAGES


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("page", WRITERS)
def test_the_commands_of_a_page_do_their_work(page, tmp_path, monkeypatch, settings):
    type_page(page, WRITERS[page], tmp_path, monkeypatch, settings)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("page", CUT_WRITERS)
def test_the_commands_of_a_page_do_their_work_on_the_cut_repository(page, tmp_path, monkeypatch, settings):
    writer, model = CUT_WRITERS[page]
    type_page(page, writer, tmp_path, monkeypatch, settings)
    verdicts = Assignment.objects.verdicts().filter(task__response_a__model__name=model)
    assert verdicts.filter(task__response_a__instruction__benchmark__slug=page).exists()


def type_page(page, writer, tmp_path, monkeypatch, settings):
    settings.DATA_DIR = tmp_path / "data"
    settings.DATA_DIR.mkdir()
    monkeypatch.chdir(tmp_path)
    write_files(writer, tmp_path)
    commands = commands_of(text_of(page))
    assert len(commands) > 5
    for model in {word for command in commands for word in re.findall(r"--model ([A-Z]+)(?= |$)", command)}:
        said("add_model", model, "--script", "script.json")
    for command in commands:
        if command in REFUSED:
            with pytest.raises(CommandError, match=REFUSED[command]):
                said(*as_typed(command))
            continue
        printed = said(*as_typed(command))
        assert printed.strip(), command
        if command.startswith(("judge ", "generate ")):
            assert not re.search(r"\b0 of \d+ (scored|responses)", printed), (command, printed)


@pytest.mark.django_db
def test_the_commands_of_the_overview_do_their_work():
    call_command("load_library", stdout=io.StringIO())
    for command in commands_of(text_of("README")):
        assert said(*as_typed(command)).strip(), command


@pytest.mark.parametrize("slug", WRITERS)
def test_the_tables_that_pages_list_are_those_of_the_command(slug):
    row = re.search(rf"\({slug}\.md\).*\| ([^|]+) \|$", text_of("README"), re.MULTILINE)
    listed = numbers_of(row[1])
    for command in commands_of(text_of(slug)):
        if command.startswith("published_table"):
            listed.add(" ".join(word for word in shlex.split(command)[2:] if not word.startswith("--")))
    for block in re.findall(r"^\| table \|.*\n\|[-| ]+\n((?:\|.*\n)+)", text_of(slug), re.MULTILINE):
        for first in re.findall(r"^\| ([^|]+) \|", block, re.MULTILINE):
            listed |= numbers_of(first)
    listed = {table_numbered(slug, number).number for number in listed}
    assert listed == {table.number for table in paper_tables()[slug]}


def numbers_of(text):
    """The tables of a cell such as "2 to 4, figure 3": {"2", "3", "4", "figure 3"}; other words are passed over."""
    found = set()
    for part in text.split(", "):
        if span := re.fullmatch(r"(\d+) to (\d+)", part):
            found |= {str(number) for number in range(int(span[1]), int(span[2]) + 1)}
        elif re.fullmatch(r"\d+|(figure|section) [\d.]+", part):
            found.add(part)
    return found
