"""Every page of a study says the same numbers in the installation that loaded its archive."""

import json
import re
import zipfile

import pytest
from django.core.management import call_command
from django.db import IntegrityError, transaction
from django.utils import timezone

from accounts.models import User
from annotation.authoring.record import participants_of
from annotation.importing.undo import undo_import
from annotation.models import BallotReceipt, BonusBatch, Checklist, ProposedCriterion, QuestionReview, Rater, Study
from generation.models import GenerationItem, Import
from judging.archive.export import export_study
from judging.archive.importing import import_archive
from judging.models import JudgeRun, Watch
from tests.annotation.authoring.checklists import new_checklist, opened, proposed, voted
from tests.calibration.answered_studies import answered_study
from tests.factories import make_user, make_workspace
from tests.judging.archive.lived_in_studies import aligned, rated_and_judged, recruited, routed
from tests.judging.archive.study_pages import pages

pytestmark = pytest.mark.django_db(transaction=True)

DIFFERENT = {
    "annotation:history": "the log tells who did what when, and stays behind with the names",
    "generation:start_run": "models are asked at endpoints, which stay behind",
    "judging:new_judge": "models are asked at endpoints, which stay behind",
    "generation:edit_model": "a model has its endpoint's price as its own, and no parameters of its endpoint",
}
"""Pages that may say other numbers, and why."""
MASKED = {
    "generation:library": (r"\d+ endpoints?\.", "endpoints stay behind"),
    "library:checklist": (r"\buser\d+\b|Record .*", "names stay behind, and with them the log"),
    "annotation:cohorts": (r"Identity \S+ Erase identity", "the identities of raters stay behind"),
    "annotation:platform_values": (r"/join/[-\w]+/", "cohorts get new links"),
    "calibration:desk_figures": (r"\d\d:\d\d UTC", "when the figures were drawn"),
    "calibration:rater_figures": (r"\d\d:\d\d UTC", "when the figures were drawn"),
    "judging:all_judges_table": (r"\d{4}-\d\d-\d\d \d\d:\d\d", "when the values were computed"),
}
"""What is no number of the study in the text of a page, and why."""
SHOWN = {
    rated_and_judged: (
        *("annotation:attention", "annotation:disagreements", "annotation:exclusion", "annotation:rater"),
        *("annotation:task", "calibration:agreement", "calibration:questionnaires", "calibration:weights"),
        *("generation:curation", "library:drafted_checklist", "library:checklist", "library:rubric"),
        *("judging:judges_depth", "judging:leaderboard", "judging:run", "judging:verdict", "judging:watch"),
    ),
    aligned: ("judging:alignment", "judging:judge_table"),
    routed: ("judging:routing",),
    recruited: ("annotation:bonuses", "annotation:payment", "generation:run", "generation:response"),
}
"""The studies, with pages that must be among those that were compared."""


@pytest.fixture(autouse=True)
def folder(settings, tmp_path):
    settings.DATA_DIR = tmp_path
    settings.CELERY_TASK_ALWAYS_EAGER = True


def emptied(slug):
    """An installation with a workspace and an owner who did nothing in any study."""
    call_command("flush", "--no-input", verbosity=0)
    workspace = make_workspace(slug)
    return workspace, make_user("owner", workspace, username="otto")


def numbers_on(page):
    text = re.sub(MASKED[page.route][0], " ", page.text) if page.route in MASKED else page.text
    return re.findall(r"\d+(?:[.,:]\d+)*", text)


@pytest.mark.parametrize("made", SHOWN, ids=lambda made: made.__name__)
def test_every_page_says_the_same_numbers(made, tmp_path):
    study = made()
    before = pages(study, make_user("owner", study.workspace, username="otto"))
    assert set(SHOWN[made]) <= {page.route for page in before.values() if page.status == 200}
    path = tmp_path / "study.zip"
    export_study(study, path, texts=True)
    with zipfile.ZipFile(path) as archive:
        content = b"".join(archive.read(name) for name in archive.namelist()).decode()
    assert not [name for name in User.objects.values_list("username", flat=True) if f'"{name}"' in content]
    assert not [secret for secret in ("prolific:p", '"sub0"', "@example.org") if secret in content]

    workspace, reader = emptied(study.workspace.slug)
    import_archive(path, workspace, reader)
    addresses = {address: page.route for address, page in before.items()}
    after = pages(Study.objects.get(slug=study.slug), reader, addresses)
    different = {
        address: (numbers_on(page), numbers_on(after[address]))
        for address, page in before.items()
        if page.route not in DIFFERENT
        and (page.status, numbers_on(page)) != (after[address].status, numbers_on(after[address]))
    }
    assert different == {}
    undo_import(Import.objects.get(), by=reader, clock=timezone.now)
    kept = (Study, Checklist, GenerationItem, BonusBatch, Watch, JudgeRun, Rater)
    assert not [model for model in kept if model.objects.exists()]


def test_people_are_counted_by_pseudonyms_that_lead_to_nobody(tmp_path):
    study = answered_study(instructions=2)
    lead = make_user("lead", study.workspace)
    ann, bob = make_user("rater", study.workspace), make_user("rater", study.workspace)
    checklists = []
    for _number in range(2):
        checklist = proposed(proposed(new_checklist(study.workspace, lead, benchmark=study.benchmark), ann), bob)
        checklists.append(opened(checklist, lead))
        voted(checklists[-1], ["Depth"], ["Tone"], voters=[ann, bob])
    drawn = []
    for name in ("one.zip", "two.zip"):
        export_study(study, tmp_path / name, texts=True)
        with zipfile.ZipFile(tmp_path / name) as archive:
            for table in ("proposedcriterion", "ballotreceipt"):
                rows = [json.loads(line) for line in archive.read(f"rows/annotation.{table}.jsonl").splitlines()]
                assert {row["by_id"] for row in rows} == {None}
                drawn.append({(row["checklist_id"], row["pseudonym"]) for row in rows})
    # Two people in each of two checklists, under other names in each table, each checklist and each archive.
    assert [len(pairs) for pairs in drawn] == [4, 4, 4, 4]
    assert len({pseudonym for pairs in drawn for _checklist, pseudonym in pairs}) == 16

    workspace, reader = emptied(study.workspace.slug)
    import_archive(tmp_path / "one.zip", workspace, reader)
    loaded = Checklist.objects.get(pk=checklists[0].pk)
    people = participants_of(loaded)
    assert (people.proposers.number, people.voters.number, people.reviewers.number) == (2, 2, 0)
    assert people.voters.names == [] and people.voters.unnamed == 2
    with pytest.raises(IntegrityError), transaction.atomic():
        BallotReceipt.objects.create(checklist=loaded, pseudonym=loaded.receipts.first().pseudonym)

    # A member of the new installation is counted beside those who came along, and in the next archive all are.
    voted(loaded, ["Depth"], voters=[reader])
    assert (participants_of(loaded).voters.number, participants_of(loaded).voters.names) == (3, ["otto"])
    export_study(Study.objects.get(slug=study.slug), tmp_path / "three.zip", texts=True)
    workspace, reader = emptied(study.workspace.slug)
    import_archive(tmp_path / "three.zip", workspace, reader)
    people = participants_of(Checklist.objects.get(pk=loaded.pk))
    assert (people.proposers.number, people.voters.number, people.voters.names) == (2, 3, [])
    assert not [
        model for model in (ProposedCriterion, BallotReceipt, QuestionReview) if model.objects.exclude(by=None).exists()
    ]


def test_a_lead_s_own_answers_come_along_without_the_name_of_the_account(tmp_path):
    study = rated_and_judged()
    names = {"large-lead", "olga"}
    keys = Rater.objects.filter(study=study, kind="key")
    assert set(keys.values_list("pseudonym", flat=True)) == names
    for texts in (True, False):
        export_study(study, tmp_path / "study.zip", texts=texts)
        with zipfile.ZipFile(tmp_path / "study.zip") as archive:
            content = b"".join(archive.read(name) for name in archive.namelist()).decode()
            scores = archive.read("tables/scores.csv").decode()
        assert not [name for name in names if name in content]
        assert "lead A" in scores or "lead B" in scores
