"""A study on which people still work: what nobody has rated and what is being written comes along, and work goes on."""

import io
import json
import re
import zipfile
from collections import Counter

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import Event, User
from annotation.authoring.questions import review, start_review, write_questions
from annotation.authoring.voting import close_vote, vote
from annotation.drafting.checklists import DRAFTS, approve, approved_in, ask_for_drafts, drafted
from annotation.importing.undo import undo_import
from annotation.models import Ballot, Checklist, Criterion, QuestionDraft, QuestionReview, Rubric, Score, Study
from core.errors import UserError
from generation.models import Benchmark, GenerationRun, Import, Instruction, LanguageModel, Response
from judging.archive.export import export_study
from judging.archive.importing import import_archive
from judging.archive.recompute import recompute
from tests.annotation.authoring.checklists import chosen, keys_of, new_checklist, opened, proposed, questions_for, voted
from tests.calibration.answered_studies import answered_study
from tests.factories import make_user, make_workspace

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def folder(settings, tmp_path):
    settings.DATA_DIR = tmp_path


def unfinished():
    """A study with ratings, texts that nobody rated, drafts of models, and two checklists that people write."""
    study = answered_study(instructions=3)
    benchmark, lead = study.benchmark, make_user("lead", study.workspace, username="lena")
    run = GenerationRun.objects.create(benchmark=benchmark, name="newer", status="finished")
    model = LanguageModel.objects.create(workspace=study.workspace, name="newcomer")
    for number in range(4):
        asked = Instruction.objects.create(
            benchmark=benchmark, external_id=f"new-{number}", messages=[{"role": "user", "content": f"Tell {number}."}]
        )
        Response.objects.create(instruction=asked, model=model, run=run, text=f"The unrated text {number}.")
    Response.objects.create(instruction=asked, external_id="planted", kind="canary", text="Planted.")
    asking = ask_for_drafts(benchmark, by=lead)
    drafter = LanguageModel.objects.create(workspace=study.workspace, name="drafter")
    for asked in asking.instructions.all():
        Response.objects.create(instruction=asked, model=drafter, text="1. Is it long?\n2. Is it true?")
    approve(Instruction.objects.get(benchmark=benchmark, external_id="new-1"), ["Is it true?"], by=lead)
    reviewed = chosen(study.workspace, lead, benchmark=benchmark)
    write_questions(reviewed, questions_for(reviewed), by=lead)
    start_review(reviewed, by=lead)
    question = QuestionDraft.objects.filter(criterion__checklist=reviewed).order_by("pk").first().pk
    ann, bob = make_user("rater", study.workspace), make_user("rater", study.workspace)
    for person, sound, comment in ((ann, False, "Say what depth is."), (ann, True, ""), (bob, True, "")):
        review(reviewed, question, sound=sound, comment=comment, by=person)
    voting = opened(proposed(new_checklist(study.workspace, lead, benchmark=benchmark), lead), lead)
    voted(voting, ["Depth", "Coverage"], ["Depth", "Tone"])
    return study, reviewed, voting


def emptied():
    call_command("flush", "--no-input", verbosity=0)
    workspace = make_workspace("lab")
    return workspace, make_user("lead", workspace, username="lena")


def words(text):
    """What a page shows: its words without markup."""
    text = re.sub(r"(?s)<(script|style|head)\b.*?</\1>", " ", text)
    return " ".join(re.sub(r"<[^>]+>", " ", text).split())


def pages(study, checklists, language):
    """What a lead who wrote none of them reads on every page of the study's texts, drafts and checklists."""
    browser = Client(headers={"Accept-Language": language})
    reader = User.objects.filter(username="otto").first() or make_user("lead", study.workspace, username="otto")
    browser.force_login(reader)
    benchmark = study.benchmark
    new = Instruction.objects.get(benchmark=benchmark, external_id="new-1")
    addresses = [
        reverse("annotation:desk", args=[study]),
        reverse("generation:benchmark", args=[benchmark]),
        reverse("generation:instruction", args=[new.public_id]),
        reverse("generation:response", args=[new.responses.first().public_id]),
        reverse("generation:curation", args=[benchmark]),
        reverse("library:drafted_checklists", args=[benchmark]),
        reverse("library:drafted_checklist", args=[new.public_id]),
        reverse("library:checklists"),
        *(reverse("library:checklist", args=[one.public_id]) for one in checklists),
    ]
    found = {}
    for address in addresses:
        answer = browser.get(address)
        assert answer.status_code == 200, address
        found[address] = words(answer.content.decode())
    return found


def changed(one, other):
    """The words that one page has and the other has not, in whatever order: that of a vote is drawn for each reader."""
    one, other = Counter(one.split()), Counter(other.split())
    return sorted((one - other).elements()), sorted((other - one).elements())


def without_record(text):
    """A checklist's page without the log of who did what when, which stays behind with the people's names."""
    return re.split(r" (?:Record|记录)(?= |$)", text)[0]


def exported(study, tmp_path, name="study.zip"):
    path = tmp_path / name
    export_study(study, path, texts=True)
    return path


def test_every_page_is_the_same_and_work_goes_on(tmp_path):
    study, reviewed, voting = unfinished()
    before = {language: pages(study, (reviewed, voting), language) for language in ("en", "zh-hans")}
    drafts, approved = drafted(study.benchmark), approved_in(study.benchmark)
    path = exported(study, tmp_path)
    assert recompute(path).same
    with zipfile.ZipFile(path) as archive:
        content = b"".join(archive.read(name) for name in archive.namelist()).decode()
    assert not [name for name in User.objects.values_list("username", flat=True) if f'"{name}' in content]
    assert "Planted." not in content and "Say what depth is." not in content and "The unrated text 3." in content

    workspace, lead = emptied()
    loaded = import_archive(path, workspace, lead)
    study = Study.objects.get(slug=study.slug)
    after = {language: pages(study, (reviewed, voting), language) for language in before}
    for language in before:
        for address, text in before[language].items():
            if "/checklists/" in address and text != after[language][address]:
                gone, new = changed(without_record(text), without_record(after[language][address]))
                assert all(re.fullmatch(r"(lena|user\d+),?|·", word) for word in gone) and not new, (gone, new)
            else:
                assert after[language][address] == text, address
    shown = after["en"][reverse("library:checklist", args=[reviewed.public_id])]
    assert "Does the response have depth?" in shown
    assert (drafted(study.benchmark), approved_in(study.benchmark)) == (drafts, approved) and len(approved) == 1

    checklist = Checklist.objects.get(pk=voting.pk)
    vote(checklist, keys_of(checklist, "Depth", "Length"), by=make_user("rater", workspace))
    close_vote(checklist, by=lead)
    assert dict(checklist.criteria.values_list("name", "votes"))["Depth"] == 3
    approve(Instruction.objects.get(benchmark=study.benchmark, external_id="new-2"), ["Is it long?"], by=lead)
    assert len(approved_in(study.benchmark)) == 2
    with pytest.raises(UserError):
        review(Checklist.objects.get(pk=reviewed.pk), 10**9, sound=True, comment="", by=lead)
    assert loaded.rows["annotation.questionreview"] == QuestionReview.objects.count() == 2


def test_it_is_undone_with_all_that_came_along(tmp_path):
    study, _reviewed, _voting = unfinished()
    path = exported(study, tmp_path)
    workspace, lead = emptied()
    loaded = import_archive(path, workspace, lead)
    undo_import(Import.objects.get(pk=loaded.imported), by=lead, clock=timezone.now)
    for model in (Study, Benchmark, Response, Checklist, Ballot, QuestionDraft, Rubric, Criterion, Score):
        assert not model.objects.exists(), model
    assert Event.objects.filter(verb="checklist approved").count() == 1
    assert import_archive(path, workspace, lead).rows == loaded.rows


def test_a_run_that_wrote_when_it_was_exported_is_over_there(tmp_path):
    study, _reviewed, _voting = unfinished()
    GenerationRun.objects.filter(name="newer").update(status="running")
    path = exported(study, tmp_path)
    import_archive(path, *emptied())
    assert GenerationRun.objects.get(name="newer").status == "cancelled"


def test_a_draft_study_without_tasks_is_set_up_there(tmp_path):
    study = answered_study(instructions=2)
    draft = Study.objects.create(
        workspace=study.workspace,
        slug="draft",
        kind=study.kind,
        benchmark=study.benchmark,
        rubric=Rubric.objects.first(),
    )
    texts = Response.objects.count()
    path = exported(draft, tmp_path)
    workspace, lead = emptied()
    import_archive(path, workspace, lead)
    draft = Study.objects.get()
    assert Response.objects.count() == texts > 0 and draft.rubric is not None and not draft.tasks.exists()


def test_an_archive_brings_no_other_events(tmp_path):
    path, forged = exported(unfinished()[0], tmp_path), tmp_path / "forged.zip"
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(forged, "w") as made:
        for name in source.namelist():
            content = source.read(name)
            if name == "rows/accounts.event.jsonl":
                content = json.dumps({**json.loads(content.splitlines()[0]), "verb": "role"}).encode()
            made.writestr(name, content)
    workspace, lead = emptied()
    with pytest.raises(UserError, match="events that no archive has"):
        import_archive(forged, workspace, lead)
    assert not Event.objects.filter(verb="role").exists() and not Study.objects.exists()


def test_without_texts_nothing_of_it_is_there():
    study, _reviewed, _voting = unfinished()
    content = io.BytesIO()
    counts = export_study(study, content)
    assert counts["generation.instruction"] == 3 and "annotation.checklist" not in counts
    with zipfile.ZipFile(content) as archive:
        assert not [name for name in archive.namelist() if "checklist" in name or "event" in name or DRAFTS in name]
