"""Studies in which everything has happened whose numbers an archive must bring along."""

from io import StringIO

from django.core.management import call_command
from django.utils import timezone

from accounts.models import Event, User
from annotation.answers.recording import Answer
from annotation.assignment.new_slots import make_seats
from annotation.authoring.proposing import close_proposals, propose, withdraw
from annotation.authoring.questions import current_questions, finish, review, start_review, write_questions
from annotation.authoring.voting import close_vote
from annotation.drafting.checklists import approve, ask_for_drafts
from annotation.models import (
    BonusBatch,
    BonusPayment,
    Checklist,
    Cohort,
    Exclusion,
    Guideline,
    MailedInvitation,
    ProlificStudy,
    Study,
    Task,
)
from annotation.monitoring.adjudication import adjudicate
from annotation.monitoring.exclusion import exclude, lift
from annotation.questionnaires.asking import give, save_questions
from annotation.questionnaires.presets import preset
from annotation.recruitment.cohorts import CrowdId, join
from calibration.fits.categories import FIT_REFUSED
from generation.curation.reviews import decide
from generation.models import Endpoint, GenerationRun, LanguageModel, Response
from judging.alignment.looks import take_look
from judging.alignment.records import add_version, begin_alignment
from judging.comparison.review_studies import make_review_study
from judging.comparison.routing.draws import RoutingRequest, freeze_draw, make_tasks
from judging.models import DriftBaseline, JudgeRun, Watch
from tests.annotation.authoring.checklists import chosen, new_checklist, opened, proposed, questions_for, voted
from tests.factories import make_answer, make_checklist_study, make_judge_rater, make_rater, make_user
from tests.judging.alignment.studies import half, judge_right, nearly_all, other_half, rated_study
from tests.large.making import JUDGE, make_large_study

LEVELS = (0, 0.25, 0.5, 0.75, 1)


def rated_and_judged() -> Study:
    """People's ratings with all that happens to them, a judge whose verdicts people reviewed, and texts that change."""
    study, lead = make_large_study(tasks=60, raters=12, judged=30)
    people = list(study.raters.filter(kind="person").order_by("pk"))
    silent = {"workspace": study.workspace.slug, "stdout": StringIO()}
    call_command("watch", new=study.slug, judge=JUDGE, tasks=12, **silent)
    call_command("watch", **silent)
    call_command("watch", now=Watch.objects.get().public_id, **silent)
    watch = Watch.objects.get()
    Watch.objects.update(active=False)  # as it is after loading
    DriftBaseline.objects.create(watch=watch, run=watch.rounds.latest("pk"), flagged=True, created_by=lead)
    exclude(study, people[7], since=None, reason="Copied.", by=lead)
    lift(Exclusion.objects.get(rater=people[7]), by=lead)
    criteria = list(study.rubric.criteria.all())
    decided = {one.key: Answer(one.minimum or 0, level=one.levels[0]["key"] if one.levels else "") for one in criteria}
    other = make_user("lead", study.workspace, username="olga")
    for by, task in zip((lead, other), _plain_tasks(study)[20:22], strict=True):
        adjudicate(task, decided, criteria=criteria, by=by, clock=timezone.now)
    asked = save_questions(study, "before", [*preset("person"), *preset("workload")], by=lead)
    for rater in people[8:11]:
        give(asked, rater, {"age_group": "25_34", "expertise": 4, "effort": 12}, language="en")
    Guideline.objects.create(workspace=study.workspace, key=study.guideline.key, version=2, texts={"en": "Newer."})
    _reviewed(study, lead)
    _drafted(study, lead)
    _written_together(study, lead)
    _decided(study, lead)
    Event.objects.create(
        workspace=study.workspace,
        actor=lead,
        verb=FIT_REFUSED,
        object_type="study",
        object_id=study.public_id,
        after={"message": "Only 7 answers for a reason."},
    )
    return study


def _reviewed(study: Study, lead: User) -> None:
    """Two people say of verdicts whether they are reasonable."""
    reviewed = make_review_study(JudgeRun.objects.get(study=study, watch=None), sample=6, reviewers=2, by=lead)
    people = [make_rater(reviewed), make_rater(reviewed)]
    for number, task in enumerate(reviewed.tasks.order_by("pk")):
        for rater in people:
            keys = task.answer_rubric.criteria.values_list("key", flat=True)
            make_answer(task, rater, {key: (number + place) % 2 for place, key in enumerate(keys)})


def _drafted(study: Study, lead: User) -> None:
    """Texts that nobody rated, questions that a model drafted, and an approved checklist."""
    model = LanguageModel.objects.create(workspace=study.workspace, name="newcomer")
    run = GenerationRun.objects.create(benchmark=study.benchmark, name="newer", status="finished", created_by=lead)
    instructions = list(study.benchmark.instructions.order_by("pk")[:3])
    for one in instructions:
        Response.objects.create(instruction=one, model=model, run=run, text="A text that nobody has rated.", words=6)
    for one in ask_for_drafts(study.benchmark, by=lead).instructions.order_by("pk")[:3]:
        Response.objects.create(instruction=one, model=model, text="1. Is it long?\n2. Is it true?")
    approve(instructions[0], ["Is it true?", "Is it long?"], by=lead)


def _decided(study: Study, lead: User) -> None:
    """People keep two instructions and drop one; a decision on a fourth was taken back."""
    first, second, third, fourth = study.benchmark.instructions.order_by("pk")[:4]
    for one, choices in ((first, ["keep"]), (second, ["drop"]), (third, ["drop", "keep"]), (fourth, ["drop", "undo"])):
        for choice in choices:
            decide(one, choice, "Asks for 2 things." if choice == "drop" else "", user=lead)


def _written_together(study: Study, lead: User) -> None:
    """A checklist at every stage, to which several people gave something, each more than once."""
    about = {"benchmark": study.benchmark}
    workspace = study.workspace
    ann, bob, cem = (make_user("rater", workspace, username=name) for name in ("ann", "bob", "cem"))
    for person in (ann, bob):
        proposing = Checklist.objects.order_by("pk").first() or new_checklist(workspace, lead, **about)
        propose(proposing, name="Wit", explanation=f"{person} smiled.", by=person)
        propose(proposing, name="Pace", explanation=f"{person} was not bored.", by=person)
    withdraw(proposing, propose(proposing, name="No", explanation="Never.", by=cem).pk, by=cem)
    close_proposals(proposed(proposed(new_checklist(workspace, lead, **about), ann), bob), by=lead)
    voting = opened(proposed(new_checklist(workspace, lead, **about), ann), lead)
    voted(voting, ["Depth", "Coverage"], ["Depth", "Tone"])
    choosing = opened(proposed(new_checklist(workspace, lead, **about), ann), lead)
    voted(choosing, ["Depth"], ["Depth", "Tone"], ["Tone", "Length"])
    close_vote(choosing, by=lead)
    chosen(workspace, lead, **about)
    reviewing = _under_review(study, lead)
    question = current_questions(reviewing)[0].question
    for person, sound in ((ann, False), (ann, True), (bob, False), (bob, True), (bob, False)):
        review(reviewing, question.pk, sound=sound, comment="" if sound else "Say what depth is.", by=person)
    write_questions(reviewing, questions_for(reviewing, ["Coverage"]), by=bob)
    done = _under_review(study, lead)
    for one in current_questions(done):
        review(done, one.question.pk, sound=True, comment="", by=ann)
        review(done, one.question.pk, sound=True, comment="", by=cem)
    finish(done, by=lead)


def _under_review(study: Study, lead: User) -> Checklist:
    checklist = chosen(study.workspace, lead, benchmark=study.benchmark)
    write_questions(checklist, questions_for(checklist), by=lead)
    start_review(checklist, by=lead)
    return checklist


def aligned() -> Study:
    """Versions of a judge, one of which was measured on the test part."""
    study = rated_study(slug="aligned")
    lead = make_user("lead", study.workspace, username="lena")
    found = begin_alignment(study, judge_right(study, half, name="the prompt in force"))
    first = add_version(found, judge_right(study, other_half, name="the shorter prompt"), by=lead)
    add_version(found, judge_right(study, nearly_all, name="the prompt with examples"), by=lead)
    take_look(first, by=lead)
    return study


def routed() -> Study:
    """Two judges, and instructions that were drawn where they differ, which people rated in a study of their own."""
    study = make_checklist_study(instructions=30, models=2, items=1, slug="routed")
    judges = [make_judge_rater(study.workspace, name) for name in ("one", "two")]
    for number, task in enumerate(_plain_tasks(study)):
        for place, judge in enumerate(judges):
            make_answer(task, judge, {"item0": LEVELS[(number + (place if number > 40 else 0)) % 5]})
    draw = freeze_draw(RoutingRequest(study, tuple(judges), instructions=20, seed=3))
    rated = make_tasks(draw, by=None)
    people = [make_rater(rated), make_rater(rated)]
    for number, task in enumerate(_plain_tasks(rated)):
        for rater in people:
            make_answer(task, rater, {"item0": 1, "overall": 2 + number % 7})
    return study


def _plain_tasks(study: Study) -> list[Task]:
    return list(study.tasks.filter(gold__isnull=True).order_by("pk"))


def recruited() -> Study:
    """Participants of a platform with accounts and payments, people invited by mail, drafts, and a model that wrote."""
    study = make_checklist_study(instructions=6, models=1, slug="recruited")
    lead = make_user("lead", study.workspace, username="lena")
    make_seats(study)
    crowd = Cohort.objects.create(
        study=study, name="Panel", kind="crowd", pay="12.00", pay_per="hour", pay_currency="GBP"
    )
    public = Cohort.objects.create(study=study, name="Spring", kind="public")
    now = timezone.now()
    ProlificStudy.objects.create(cohort=crowd, external_id="s1", made_at=now)
    people = []
    for number in range(4):
        person = CrowdId("prolific", f"prolific:p{number}", {"STUDY_ID": "s1", "SESSION_ID": f"sub{number}"})
        rater = join(crowd, consent="Yes?", clock=timezone.now, crowd=person)
        people.append(rater)
        for task in study.tasks.order_by("pk")[: 2 + number]:
            values = {"item0": 1, "item1": 0.5, "item2": 0, "overall": 2 + number}
            make_answer(task, rater, values, active_seconds=90.0, submitted_at=now)
    member = make_user("rater", study.workspace, username="rita")
    join(
        Cohort.objects.create(study=study, name="Here", kind="onsite"), consent="Yes?", clock=timezone.now, user=member
    )
    MailedInvitation.objects.bulk_create(
        MailedInvitation(cohort=public, address=f"a{n}@example.org", origin="http://here", made_at=now, made_by=lead)
        for n in range(3)
    )
    batch = BonusBatch.objects.create(
        study=study,
        cohort=crowd,
        purpose="Round 1",
        external_study="s1",
        basis="given",
        key="given:1",
        currency="GBP",
        total_minor=150,
        state="sent",
        made_at=now,
        made_by=lead,
        changed_at=now,
    )
    BonusPayment.objects.create(batch=batch, rater=people[0], submission="sub0", minor=150, already_minor=0)
    endpoint = Endpoint.objects.create(workspace=study.workspace, name="scripted", kind="scripted")
    LanguageModel.objects.create(
        workspace=study.workspace,
        name="writer",
        endpoint=endpoint,
        fictional=True,
        parameters={"script": {"seed": 3, "writes": 60}},
    )
    call_command(
        "generate",
        study.benchmark.slug,
        model=["writer"],
        limit=5,
        name="New texts",
        workspace=study.workspace.slug,
        stdout=StringIO(),
    )
    return study
