"""The quick starts for leads and raters, clicked through as they stand, by the words that they print in bold."""

import re

import pytest
from django.conf import settings

from annotation.models import Guideline, Rater, Score, Study
from annotation.recruitment.cohorts import make_cohort
from annotation.tasks import load_table
from core.models import RequestedTask
from generation.models import Benchmark
from tests.annotation.raters_at_work import make_study
from tests.docs.clicking import Reader
from tests.factories import make_user

pytestmark = pytest.mark.django_db
FOLDER = settings.BASE_DIR / "docs" / "quickstart"
OWNER = {"name": "olga", "new_password1": "my own words 5", "new_password2": "my own words 5"}
LINK = re.compile(r"http://testserver(/join/[^\"<]+)")


@pytest.fixture(autouse=True)
def folder(settings, tmp_path):
    settings.DATA_DIR = tmp_path


def unmet(page, *readers):
    """The words in bold and in italics of a quick start that no page showed to its readers."""
    text = (FOLDER / f"{page}.md").read_text(encoding="utf-8")
    emphasised = {" ".join((a or b).split()) for a, b in re.findall(r"\*\*([^*]+)\*\*|(?<!\*)\*([^*]+)\*(?!\*)", text)}
    assert len(emphasised) > 5
    return sorted(words for words in emphasised if not any(words in seen for one in readers for seen in one.seen))


def uploaded(lead, name):
    """Upload a file of the page, check it and load it, with a worker beside the pages."""
    lead.follow("Library")
    lead.follow("Imports")
    lead.follow("Upload a table")
    lead.press("Upload", files={"table": (name, (FOLDER / name).read_bytes())})
    for button in ("Check without storing", "Load"):
        lead.press(button)
        (task,) = RequestedTask.objects.filter(task="annotation.load_table")
        task.delete()
        load_table(*task.arguments)
        lead.open(lead.address)
        assert "Created 8" in lead.page


def rate(rater, *levels):
    """Submit an answer to the text that is open, of the same levels to all questions that have them."""
    rater.press("Submit and continue ↵", **rater.chosen(*levels))


def test_a_lead_comes_from_nothing_to_an_agreement():
    lead = Reader()
    lead.open("/")
    lead.press("Create the owner and go on", **OWNER)
    assert lead.has_link("Try the demonstration study") and lead.has_link("Upload a file")
    uploaded(lead, "questions.csv")
    uploaded(lead, "answers.csv")
    benchmark = Benchmark.objects.get()
    assert (
        benchmark.slug == "questions" and benchmark.instructions.filter(responses__isnull=False).distinct().count() == 4
    )

    lead.follow("Studies")
    lead.follow("New study")
    lead.press("Create study", **lead.chosen("Checklist"), name_en="Advice")
    setup = lead.address
    lead.press("Preview as a rater")
    lead.follow("Task 1")
    assert "Is the answer correct?" in lead.page
    lead.open(setup)
    for _step in range(4):
        lead.press("Save and continue")
    assert "Nothing is missing. The study can be launched." in lead.page
    lead.press("Launch")
    study = Study.objects.get()
    assert study.status == Study.Status.OPEN and study.tasks.count() == 8

    lead.follow("Raters")
    lead.follow("Cohorts")
    lead.press("Create cohort", name="Friends", kind="Public: anyone with the link, without an account")
    (link,) = set(LINK.findall(lead.html))
    raters = [Reader(), Reader()]
    for rater in raters:
        rater.open(link)
        rater.press("I agree and take part")
        rater.press("Begin")
        assert "How do I" in rater.page and "alder" not in rater.page and "birch" not in rater.page
        for _text in range(8):
            rate(rater, "Largely met")
    assert Score.objects.count() == 2 * 8 * 2

    lead.follow("Overview")
    assert "2 raters have given 16 of the 24 ratings" in lead.page
    lead.follow("Results")
    assert lead.page.index("Agreement") and "Choose a criterion" in lead.page
    lead.follow("Is the answer correct?")
    assert "16 labels for 8 tasks from 2 raters" in lead.page
    assert unmet("lead", lead, *raters) == []


def test_a_rater_comes_from_a_link_to_an_answer():
    study = make_study(tasks=6, overlap=3, probe_rate=0)
    study.guideline = Guideline.objects.create(workspace=study.workspace, key="fair", texts={"en": "# Be fair"})
    study.save()
    link = f"/join/{make_cohort(study, 'everybody', 'public').entry_token}/"
    other = Reader()
    other.open(link)
    other.press("No, thank you")
    assert "nothing about you has been stored" in other.page and not Rater.objects.exists()

    rater = Reader()
    rater.open(link)
    rater.press("I agree and take part")
    assert "Be fair" in rater.page
    rater.press("I have read it")
    rater.press("Begin")
    address = rater.address
    rate(rater, "level 3", "7")
    assert Score.objects.count() == 4 and rater.address != address and "Instruction" in rater.page
    address = rater.address
    rater.open(link)
    rater.press("Continue as R1")
    rater.press("Continue where you left off")
    assert rater.address == address
    assert unmet("rater", rater) == []


def test_a_rater_with_an_account_finds_the_study_on_the_start_page():
    study = make_study(tasks=6, overlap=3, probe_rate=0)
    make_user("rater", study.workspace, username="rosa")
    rater = Reader()
    rater.open("/")
    rater.press("Sign in", username="rosa", password="plumb line 12")
    assert "Studies to rate Essays" in rater.page
    rater.press("Begin")
    assert "Submit and continue" in rater.page
